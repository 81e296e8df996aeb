"""Attention by name: scores, aligners and terms from plain values."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from torch import nn

from regard.constraints import dot_fits
from regard.models.config_values import mapping
from regard.nn.aligners import Aligner, Hard, LinearAligner, LocalM, LocalP, Softmax
from regard.nn.attention import Attention
from regard.nn.checks import positive
from regard.nn.key_value import KeyValue
from regard.nn.multi_head import MultiHead
from regard.nn.reader import Reader
from regard.nn.scores import Additive, Bilinear, Concat, Cosine, Dot, Location, ScaledDot, Score
from regard.nn.terms import Fertility, History, LocationFeatures, Markov, Position, Term
from regard.registry import Kind, registered

Spec = str | Mapping[str, Any]
"""A part by its name, or by a mapping with `name` and its own arguments."""

Attender = Reader | KeyValue
Factory = Callable[[int, int], Attender]
"""(width of queries, width of keys) -> attention."""

SCORES: dict[str, type[Score]] = {
    "additive": Additive,
    "bilinear": Bilinear,
    "concat": Concat,
    "cosine": Cosine,
    "dot": Dot,
    "general": Bilinear,
    "location": Location,
    "scaled_dot": ScaledDot,
}
ALIGNERS: dict[str, type[Aligner]] = {
    "hard": Hard,
    "local_m": LocalM,
    "local_p": LocalP,
    "linear": LinearAligner,
    "softmax": Softmax,
}
TERMS: dict[str, type[Term]] = {
    "fertility": Fertility,
    "location": LocationFeatures,
    "markov": Markov,
    "position": Position,
    "history": History,
}

M = TypeVar("M", bound=nn.Module)


def nearest(what: str, name: object, names: Iterable[str]) -> str:
    """The sentence for a name that does not exist, with the nearest one that does."""
    known = sorted(names)
    close = difflib.get_close_matches(str(name), known, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return f"there is no {what} {name!r}{hint}; there are: {', '.join(known)}"


def named(spec: Spec) -> dict[str, Any]:
    """A part as a mapping with its `name`."""
    return {"name": spec} if isinstance(spec, str) else mapping("a score, an aligner or a term", spec)


def make(what: str, table: Mapping[str, type[M]], spec: Spec, given: Mapping[str, Any]) -> M:
    """One part: its class by name, its arguments from the spec first and then from `given`.

    >>> make("score", SCORES, {"name": "additive", "hidden_dim": 7}, {"query_dim": 3, "key_dim": 5}).weight.shape
    torch.Size([1, 7])
    >>> make("score", SCORES, "aditive", {})
    Traceback (most recent call last):
    ValueError: there is no score 'aditive' (did you mean 'additive'?); there are: additive, bilinear, ...
    """
    options = named(spec)
    name = str(options.pop("name", None))
    if name not in table:
        raise ValueError(nearest(what, name, table))
    accepted = set(inspect.signature(table[name].__init__).parameters) - {"self"}
    for option in options:
        if option not in accepted:
            raise ValueError(nearest(f"argument of the {what} {name!r} called", option, accepted))
    return table[name](**{key: value for key, value in given.items() if key in accepted} | options)


@dataclass(frozen=True, kw_only=True)
class Attending:
    """An attention as plain values: called with the widths of queries and keys, it makes one.

    Attributes:
        score: one of `SCORES`, or a mapping with `name` and the score's own arguments.
        hidden_dim: width of one head inside the score, for scores that have one; None for the query's (over heads).
        num_heads: more than one makes it multi-head, the context as wide as the values.
        align: one of `ALIGNERS`, likewise.
        terms: some of `TERMS`, for the additive score.
        max_length: how many places the location score knows.
        key_value: read only the first half of each vector as the key, and only the second as the value.
        dropout: probability of dropping a weight in training.

    >>> Attending(score="dot", align="local_p")(6, 6).align.window
    10
    """

    score: Spec = "additive"
    hidden_dim: int | None = None
    num_heads: int = 1
    align: Spec = "softmax"
    terms: Sequence[Spec] = ()
    max_length: int = 256
    key_value: bool = False
    dropout: float = 0.0

    def __post_init__(self) -> None:
        positive("attention", hidden_dim=self.hidden_dim, num_heads=self.num_heads, max_length=self.max_length)

    def __call__(self, query_dim: int, key_dim: int) -> Attender:
        if not self.key_value:
            return self._reader(query_dim, key_dim, key_dim)
        half = key_dim // 2
        return KeyValue(self._reader(query_dim, half, key_dim - half), half)

    def make_score(self, query_dim: int, key_dim: int) -> Score:
        """The score alone."""
        options = named(self.score)
        name = options.pop("name", None)
        given: dict[str, Any] = {"query_dim": query_dim, "key_dim": key_dim, "num_heads": self.num_heads}
        given["max_length"] = self.max_length
        hidden = self.hidden_dim
        if name == "dot" and hidden is None and "hidden_dim" not in options and self.num_heads == 1:
            dot_fits(query_dim, key_dim)
            del given["query_dim"], given["key_dim"]  # without maps the score knows no widths
        elif not options.get("identity_key"):
            given["hidden_dim"] = max(1, query_dim // self.num_heads) if hidden is None else hidden
        if self.terms:
            if name != "additive":
                raise ValueError(f"terms stand inside the additive score; the score {name!r} has no place for them")
            given["terms"] = [make("term", TERMS, term, {}) for term in self.terms]
        scores: dict[str, type[Score]] = {**SCORES, **_plugged("score")}
        return make("score", scores, self.score, given)

    def _reader(self, query_dim: int, key_dim: int, value_dim: int) -> Reader:
        score = self.make_score(query_dim, key_dim)
        align = make("aligner", {**ALIGNERS, **_plugged("aligner")}, self.align, {"query_dim": query_dim})
        if self.num_heads == 1:
            return Attention(score, align, dropout=self.dropout)
        head = max(1, value_dim // self.num_heads)
        return MultiHead(score, align, value_dim=value_dim, head_dim=head, output_dim=value_dim, dropout=self.dropout)


def _plugged(kind: Kind) -> dict[str, Any]:
    """Return the parts of a kind that plug-ins registered, by name."""
    return {name: one.made for name, one in registered(kind).items()}


def attender(
    attention: Attender | Factory | None, query_dim: int, key_dim: int, default: Attending
) -> tuple[Attender, int]:
    """An attention that was given as a module, as a factory or not at all, and the width of its contexts."""
    if attention is None:
        attention = default
    made = attention if isinstance(attention, (Reader, KeyValue)) else attention(query_dim, key_dim)
    return made, _context_dim(made, key_dim)


def _context_dim(attention: Attender, width: int) -> int:
    """The width of a context, given that of the vectors that are remembered."""
    if isinstance(attention, KeyValue):
        return _context_dim(attention.attention, width - attention.key_dim)
    if not isinstance(attention, MultiHead):
        return width
    if attention.output_map is not None:
        return attention.output_map.out_features
    return attention.score.num_heads * width if attention.value_map is None else attention.value_map.out_features

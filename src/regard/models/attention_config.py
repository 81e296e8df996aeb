"""Attention by name: scores, aligners and terms from plain values."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from torch import nn

from regard.arguments import AlignerSpec, ScoreSpec, Share, Size, Spec, TermSpec, checked
from regard.constraints import dot_fits, heads_of_aligner, terms_fit
from regard.nn.aligners import Aligner
from regard.nn.attention import Attention
from regard.nn.attention_module import AttentionModule
from regard.nn.key_value import KeyValue
from regard.nn.multi_head import MultiHead
from regard.nn.scores import Score
from regard.nn.terms import Term
from regard.parts import Classes
from regard.registry import RegisteredKind, registered

AttentionLike = AttentionModule | KeyValue
SCORES: Mapping[str, type[Score]] = Classes("score")
ALIGNERS: Mapping[str, type[Aligner]] = Classes("aligner")
TERMS: Mapping[str, type[Term]] = Classes("term")

M = TypeVar("M", bound=nn.Module)


def unknown_name(what: str, name: object, names: Iterable[str]) -> str:
    """Return the error message for an unknown name, with the nearest known one."""
    known = sorted(names)
    close = difflib.get_close_matches(str(name), known, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return f"there is no {what} {name!r}{hint}; there are: {', '.join(known)}"


def mapping(what: str, value: Any) -> dict[str, Any]:
    """Check that `value` is a mapping of argument names to values, and return it."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{what} is given by a mapping of its arguments; got {value!r}")
    return dict(value)


def as_mapping(spec: Spec) -> dict[str, Any]:
    """Return the spec of a part as a mapping with its `name`."""
    return {"name": spec} if isinstance(spec, str) else mapping("a score, an aligner or a term", spec)


def build_part(what: str, table: Mapping[str, type[M]], spec: Spec, given: Mapping[str, Any]) -> M:
    """Construct a part: look up its class by name; arguments of the spec override those in `given`.

    >>> build_part("score", SCORES, {"name": "additive", "hidden_dim": 7}, {"query_dim": 3, "key_dim": 5}).weight.shape
    torch.Size([1, 7])
    >>> build_part("score", SCORES, "aditive", {})
    Traceback (most recent call last):
    ValueError: there is no score 'aditive' (did you mean 'additive'?); there are: additive, bilinear, ...
    """
    options = as_mapping(spec)
    name = str(options.pop("name", None))
    if name not in table:
        raise ValueError(unknown_name(what, name, table))
    accepted = set(inspect.signature(table[name].__init__).parameters) - {"self"}
    for option in options:
        if option not in accepted:
            raise ValueError(unknown_name(f"argument of the {what} {name!r} called", option, accepted))
    return table[name](**{key: value for key, value in given.items() if key in accepted} | options)


@checked(terms_fit)
@dataclass(frozen=True, kw_only=True)
class ScoreConfig:
    """Configuration of a score, built for given widths of queries and keys.

    Attributes:
        score: a name, or a mapping of `name` and the arguments of the score.
        hidden_dim: width of one head of the score; None for the query width divided by the number of heads.
        terms: names of further terms inside the additive score, or mappings of `name` and arguments.
        max_length: maximum number of keys of the location score.

    >>> ScoreConfig(score="dot").make_score(6, 6)
    Dot()
    """

    score: ScoreSpec = "additive"
    hidden_dim: Size | None = None
    terms: Sequence[TermSpec] = ()
    max_length: Size = 256

    def make_score(self, query_dim: int, key_dim: int, *, num_heads: int = 1) -> Score:
        """Return the score with its terms."""
        options = as_mapping(self.score)
        name = options.pop("name", None)
        given: dict[str, Any] = {"query_dim": query_dim, "key_dim": key_dim, "num_heads": num_heads}
        given["max_length"] = self.max_length
        hidden = self.hidden_dim
        if name == "dot" and hidden is None and "hidden_dim" not in options and num_heads == 1:
            dot_fits(query_dim, key_dim)
            del given["query_dim"], given["key_dim"]  # a score without maps takes no widths
        elif not options.get("identity_key"):
            given["hidden_dim"] = max(1, query_dim // num_heads) if hidden is None else hidden
        if self.terms:
            given["terms"] = [build_part("term", TERMS, term, {}) for term in self.terms]
        scores: dict[str, type[Score]] = {**SCORES, **_plugged("score")}
        return build_part("score", scores, self.score, given)


@checked(terms_fit, heads_of_aligner)
@dataclass(frozen=True, kw_only=True)
class AttentionConfig(ScoreConfig):
    """Configuration of an attention; calling it with the widths of queries and keys builds the module.

    Attributes:
        num_heads: number of heads; with more than one it is multi-head attention, and contexts have the values' width.
        align: a name, or a mapping of `name` and the arguments of the aligner.
        key_value: split each vector: the first half is the key, the second half the value.
        dropout: dropout of attention weights.

    >>> AttentionConfig(score="dot", align="local_p")(6, 6).align.window
    10
    """

    num_heads: Size = 1
    align: AlignerSpec = "softmax"
    key_value: bool = False
    dropout: Share = 0.0

    def __call__(self, query_dim: int, key_dim: int) -> AttentionLike:
        if not self.key_value:
            return self._reader(query_dim, key_dim, key_dim)
        half = key_dim // 2
        return KeyValue(self._reader(query_dim, half, key_dim - half), half)

    def _reader(self, query_dim: int, key_dim: int, value_dim: int) -> AttentionModule:
        score = self.make_score(query_dim, key_dim, num_heads=self.num_heads)
        align = build_part("aligner", {**ALIGNERS, **_plugged("aligner")}, self.align, {"query_dim": query_dim})
        if self.num_heads == 1:
            return Attention(score, align, dropout=self.dropout)
        head = max(1, value_dim // self.num_heads)
        return MultiHead(score, align, value_dim=value_dim, head_dim=head, output_dim=value_dim, dropout=self.dropout)


AttentionFactory = Callable[[int, int], AttentionLike] | AttentionConfig
"""(width of queries, width of keys) -> attention."""


def _plugged(kind: RegisteredKind) -> dict[str, Any]:
    """Return the parts of a kind registered by plug-ins, by name."""
    return {name: one.made for name, one in registered(kind).items()}


def build_attention(
    attention: AttentionLike | AttentionFactory | None, query_dim: int, key_dim: int, default: AttentionConfig
) -> tuple[AttentionLike, int]:
    """Return the attention, built from a factory or the default where needed, and the width of its contexts."""
    if attention is None:
        attention = default
    made = attention if isinstance(attention, (AttentionModule, KeyValue)) else attention(query_dim, key_dim)
    return made, _context_dim(made, key_dim)


def _context_dim(attention: AttentionLike, width: int) -> int:
    """Return the width of contexts, given the width of the memory's vectors."""
    if isinstance(attention, KeyValue):
        return _context_dim(attention.attention, width - attention.key_dim)
    if not isinstance(attention, MultiHead):
        return width
    if attention.output_map is not None:
        return attention.output_map.out_features
    return attention.score.num_heads * width if attention.value_map is None else attention.value_map.out_features

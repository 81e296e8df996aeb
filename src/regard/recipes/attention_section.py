"""Attention in a recipe: its score, its aligner, its terms, each by name or by a mapping of its arguments."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from regard.constraints import dot_fits, identity_fits
from regard.recipes.plugin_sections import Plugged
from regard.recipes.section import Section

Size = Annotated[int, Field(ge=1, le=2**24)]
"""How many or how wide; what is wider is a slip of the finger, and its square no number of PyTorch's."""
Share = Annotated[float, Field(ge=0, lt=1)]
"""A probability of dropping something."""


def named(key: str) -> BeforeValidator:
    """A part that is given by a name alone is a mapping with nothing else."""

    def spelled(value: Any) -> Any:
        return {key: value} if isinstance(value, str) else value

    return BeforeValidator(spelled)


class AdditiveSection(Section):
    """v·tanh(W q + U k)."""

    name: Literal["additive"]
    """Says that it is this score."""
    hidden_dim: Size | None = None
    """Width of one head inside; None for that of the attention."""
    bias: bool = False
    """Whether there is one inside the tanh."""


class BilinearSection(Section):
    """q·W k, which Luong calls general."""

    name: Literal["bilinear", "general"]
    """Says that it is this score."""


class ConcatSection(Section):
    """v·tanh(W [q; k])."""

    name: Literal["concat"]
    """Says that it is this score."""
    hidden_dim: Size | None = None
    """Width of one head inside; None for that of the attention, and with `identity_key` for a key's."""
    identity_key: bool = False
    """Whether keys are added to the hidden layer as they are, as in Luong's own program."""


class CosineSection(Section):
    """The cosine of query and key, times a learned strength."""

    name: Literal["cosine"]
    """Says that it is this score."""
    softness: float = Field(0.0, ge=0)
    """ε of keys that count as √(|k|² + ε²) long; 0 for their length."""


class DotSection(Section):
    """q·k, or W q·U k; scaled_dot divides it by the root of the width."""

    name: Literal["dot", "scaled_dot"]
    """Says which of them."""
    hidden_dim: Size | None = None
    """Width of one head of both maps; None for that of the attention, which of one head's dot means no maps."""
    bias: bool = False
    """Whether the maps have one."""


class LocationSection(Section):
    """W q: a query alone says where to look."""

    name: Literal["location"]
    """Says that it is this score."""
    max_length: Size | None = None
    """How many places it knows; None for what the attention says."""


class SoftmaxSection(Section):
    """All of the memory, by a softmax; linear takes the energies as they are."""

    name: Literal["softmax", "linear"]
    """Says which of them."""


class LocalMSection(Section):
    """A window around the place that a decoder is at itself (Luong's local-m)."""

    name: Literal["local_m"]
    """Says that it is this aligner."""
    window: int = Field(10, ge=0)
    """Keys on either side."""
    hold: bool = False
    """Whether the window stays at the last key once the decoder is past it, as in the authors' code."""


class LocalPSection(Section):
    """A window around a place that the query predicts (Luong's local-p)."""

    name: Literal["local_p"]
    """Says that it is this aligner."""
    hidden_dim: Size | None = None
    """Width of what predicts the place; None for the query's."""
    window: Size = 10
    """Keys on either side."""
    num_heads: Size = 1
    """A place for each head of the attention, or one for all."""


class HardAlignSection(Section):
    """One key, drawn."""

    name: Literal["hard"]
    """Says that it is this aligner."""
    expectation_probability: float = Field(0.5, ge=0, le=1)
    """How often training takes the expectation instead of a draw."""
    at_test: Literal["expectation", "argmax", "sample"] = "expectation"
    """What is read without training."""


class ReachSection(Section):
    """Cohn's features of past weights: markov of the last ones, fertility of their sums."""

    name: Literal["markov", "fertility"]
    """Says which of them."""
    reach: int = Field(1, ge=0)
    """Neighbours on either side that are looked at."""


class PositionSection(Section):
    """Cohn's features of how far query and key have come."""

    name: Literal["position"]
    """Says that it is this term."""


class LocationTermSection(Section):
    """Filters over past weights, as speech recognisers have them."""

    name: Literal["location"]
    """Says that it is this term."""
    num_filters: Size = 10
    """How many."""
    reach: int = Field(15, ge=0)
    """Neighbours on either side that a filter sees."""
    cumulative: bool = False
    """Whether the weights are those of all steps before, summed, or of the last one."""


class HistorySection(Section):
    """A recurrent network over the past weights of each key."""

    name: Literal["history"]
    """Says that it is this term."""
    hidden_dim: Size = 8
    """Its width."""
    reach: int = Field(1, ge=0)
    """Neighbours on either side that it sees."""


Score = Annotated[
    AdditiveSection | BilinearSection | ConcatSection | CosineSection | DotSection | LocationSection,
    Field(discriminator="name"),
    named("name"),
    Plugged("score"),
]
Align = Annotated[
    SoftmaxSection | LocalMSection | LocalPSection | HardAlignSection,
    Field(discriminator="name"),
    named("name"),
    Plugged("aligner"),
]
Term = Annotated[
    ReachSection | PositionSection | LocationTermSection | HistorySection, Field(discriminator="name"), named("name")
]


def check_identity(score: Section, key_dim: int) -> None:
    """Keys that concat adds as they are fit its hidden layer."""
    if isinstance(score, ConcatSection) and score.identity_key:
        identity_fits(score.hidden_dim or key_dim, key_dim)


class PastSection(Section):
    """How a model looks at its own past; a word alone is the score."""

    score: Score = AdditiveSection(name="additive")
    """What tells how well query and key go together; a name, or a mapping with `name` and its arguments."""
    hidden_dim: Size | None = None
    """Width of one head inside the score, for scores that have one; None for the query's (over heads)."""
    terms: Annotated[tuple[Term, ...], BeforeValidator(lambda terms: () if terms is None else terms)] = ()
    """What else stands inside the additive score; names, or mappings with `name` and their arguments."""
    max_length: Size = 256
    """How many places the location score knows."""

    @model_validator(mode="after")
    def _inside(self) -> Self:
        if self.terms and self.score.name != "additive":
            raise ValueError(
                f"terms stand inside the additive score; the score {self.score.name!r} has no place for them"
            )
        return self


class AttentionSection(PastSection):
    """How a decoder looks at its source; a word alone is the score."""

    num_heads: Size = 1
    """More than one makes it multi-head."""
    align: Align = SoftmaxSection(name="softmax")
    """Which part of the memory is read; a name, or a mapping with `name` and its arguments."""
    key_value: bool = False
    """Whether only the first half of a vector is the key, and only the second the value."""
    dropout: Share = 0.0
    """Of dropping a weight in training."""

    @property
    def draws(self) -> bool:
        """Whether one key is drawn."""
        return self.align.name == "hard"

    def fits(self, query_dim: int, key_dim: int) -> None:
        """Whether queries and keys of these widths can be read together."""
        key_dim = key_dim // 2 if self.key_value else key_dim
        if key_dim < 1:
            raise ValueError("key_value halves a vector, which has one channel; hidden_dim is at least 2")
        if isinstance(self.align, LocalPSection) and self.align.num_heads not in (1, self.num_heads):
            raise ValueError(f"num_heads of align is 1 or that of the attention, {self.num_heads}")
        inside = getattr(self.score, "hidden_dim", None) or self.hidden_dim
        if self.score.name == "dot" and inside is None and self.num_heads == 1:
            dot_fits(query_dim, key_dim)
        check_identity(self.score, key_dim)


Attention = Annotated[AttentionSection, named("score")]

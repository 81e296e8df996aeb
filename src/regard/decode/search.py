"""Search settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from regard.decode.penalties import Length, Penalty
from regard.specials import BOS, PAD

Strategy = Literal["greedy", "beam", "sample"]


@dataclass(frozen=True, kw_only=True)
class Search:
    """Settings of a search. A setting that the strategy would ignore is an error.

    Lengths are numbers of tokens, including EOS.

    Attributes:
        strategy: "greedy", "beam" or "sample".
        n_best: number of hypotheses per input; at most `beam_size` for a beam, any number of samples.
        length_penalty: divisor of the summed log-probability of n tokens: "none", "average" (n^α) or "gnmt"
            (((5 + n) / 6)^α); see `Penalty`.
        alpha: α of the length penalty.
        coverage: weight β of the coverage penalty (Wu et al. 2016).
        min_length: minimal length.
        max_length: maximal length.
        min_ratio: minimal length as a multiple of the source length, rounded up; the tighter bound applies.
        max_ratio: maximal length as a multiple of the source length, rounded up; the tighter bound applies.
        forbid: ids that are never generated.
        beam_size: number of open hypotheses per step.
        exact: search until no open hypothesis can enter the `n_best`, whatever its final length. Otherwise also stop
            when no open hypothesis would enter the `beam_size` best finished ones by ending at the next step. Both
            agree without a length penalty; with one the latter stops much earlier.
        groups: number of groups in diverse beam search (Vijayakumar et al. 2016).
        diversity: strength λ of the penalty on tokens that earlier groups chose at the same step.
        temperature: sampling temperature: softmax(log p / temperature).
        top_k: sample among the k most probable tokens.
        top_p: sample among the fewest tokens whose probabilities sum to p.
        seed: seed of the samples.

    >>> Search(n_best=3, length_penalty="gnmt", alpha=0.6).penalty
    Penalty(length='gnmt', alpha=0.6, coverage=0.0)
    >>> Search(strategy="greedy", n_best=3)
    Traceback (most recent call last):
    ValueError: n_best=3 with strategy "greedy", which gives one hypothesis; use "beam" or "sample"
    """

    strategy: Strategy = "beam"
    n_best: int = 1
    length_penalty: Length = "average"
    alpha: float = 1.0
    coverage: float = 0.0
    min_length: int = 1
    max_length: int = 200
    min_ratio: float | None = None
    max_ratio: float | None = None
    forbid: tuple[int, ...] = (PAD, BOS)
    beam_size: int = 5
    exact: bool = False
    groups: int = 1
    diversity: float = 0.0
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0

    @property
    def penalty(self) -> Penalty:
        """Formula of the scores."""
        return Penalty(self.length_penalty, self.alpha, self.coverage)

    @property
    def width(self) -> int:
        """k, number of open hypotheses per group."""
        return self.beam_size // self.groups

    def __post_init__(self) -> None:
        if self.strategy not in get_args(Strategy):
            raise ValueError(f"strategy is one of {', '.join(get_args(Strategy))}; got {self.strategy!r}")
        _ = self.penalty
        self._check_lengths()
        self._check_beam()
        self._check_sample()

    def _check_lengths(self) -> None:
        if not 1 <= self.min_length <= self.max_length:
            raise ValueError(f"lengths need 1 <= min_length <= max_length; got {self.min_length} and {self.max_length}")
        for name, ratio in (("min_ratio", self.min_ratio), ("max_ratio", self.max_ratio)):
            if ratio is not None and ratio <= 0:
                raise ValueError(f"{name} multiplies the source's length and must be positive; got {ratio}")
        if None not in (self.min_ratio, self.max_ratio) and self.min_ratio > self.max_ratio:  # type: ignore[operator]
            raise ValueError(f"min_ratio={self.min_ratio} is greater than max_ratio={self.max_ratio}")

    def _check_beam(self) -> None:
        if self.n_best < 1 or self.beam_size < 1:
            raise ValueError(f"n_best and beam_size are at least 1; got {self.n_best} and {self.beam_size}")
        if self.strategy == "greedy" and self.n_best > 1:
            raise ValueError(
                f'n_best={self.n_best} with strategy "greedy", which gives one hypothesis; use "beam" or "sample"'
            )
        if self.strategy == "beam" and self.n_best > self.beam_size:
            raise ValueError(f"n_best={self.n_best} is more than beam_size={self.beam_size} can give; widen the beam")
        if self.groups < 1 or self.beam_size % self.groups:
            raise ValueError(f"beam_size={self.beam_size} cannot be split into {self.groups} groups of one size")
        if any(number < 0 for number in self.forbid):
            raise ValueError(f"forbid holds ids, which are at least 0; got {list(self.forbid)}")
        if self.diversity < 0:
            raise ValueError(f"diversity is at least 0; got {self.diversity}")
        if self.groups > 1 and self.strategy != "beam":
            raise ValueError(f'groups={self.groups} is for strategy "beam"; the strategy is "{self.strategy}"')
        if self.diversity > 0 and self.groups == 1:
            raise ValueError(f"diversity={self.diversity} acts between groups; set groups to 2 or more")

    def _check_sample(self) -> None:
        if self.temperature <= 0:
            raise ValueError(f'temperature must be positive; got {self.temperature} (the limit 0 is "greedy")')
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k is at least 1 (None: all tokens); got {self.top_k}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ValueError(f"top_p is a probability in (0, 1]; got {self.top_p}")
        if self.strategy != "sample":
            for name, given in (
                ("temperature", self.temperature != 1),
                ("top_k", self.top_k is not None),
                ("top_p", self.top_p is not None),
            ):
                if given:
                    raise ValueError(
                        f'{name}={getattr(self, name)} is for strategy "sample"; the strategy is "{self.strategy}"'
                    )

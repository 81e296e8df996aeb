"""The trace of a search, step by step, and the hypotheses in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from regard.decode.hypothesis import Hypothesis
from regard.decode.penalties import Penalty
from regard.decode.request import Request
from regard.ops.weights import Weights


class TraceLeaf(NamedTuple):
    """End of a hypothesis: node `node` among the choices of step `step`; step 0 is the empty hypothesis."""

    row: int
    step: int
    node: int
    finished: bool


class TraceStep(NamedTuple):
    """The choices of one step. N rows went through the model, M nodes came out.

    Attributes:
        came: [N], the node of the step before that each row continues.
        row: [M], the row that each node continues.
        tokens, log_probs: [M].
    """

    came: Tensor
    row: Tensor
    tokens: Tensor
    log_probs: Tensor


class Trace:
    """The choices of all steps, kept where they were made, with back-pointers.

    Nothing is copied when a beam is reordered: a hypothesis, its log-probabilities and its alignment are read off
    backwards from its leaf, once the search is over.
    """

    def __init__(self) -> None:
        self._choices: list[TraceStep] = []
        self._seen: list[Tensor] = []
        self._recent: list[Tensor] = []

    def add(self, choice: TraceStep, attended: Weights | None) -> None:
        """One more step, with its weights over the source, [N, (H,) 1, S], if it has any."""
        self._choices.append(choice)
        if attended is not None:
            self._recent.append(attended.weights())
            if len(self._recent) == _TOGETHER:
                self._average()

    def hypotheses(self, leaves: Sequence[TraceLeaf], request: Request, penalty: Penalty) -> list[Hypothesis]:
        """The hypothesis of each leaf."""
        steps = [_TraceStepLists(*(column.tolist() for column in choice)) for choice in self._choices]
        attention, first = self._attention()
        made = []
        for leaf in leaves:
            path = _path(steps, leaf)
            positions = [first[step] + row for step, (_, _, row) in enumerate(path)]
            size = None if request.lengths is None else request.lengths[leaf.row]
            hypothesis = Hypothesis.of(
                tuple(token for token, _, _ in path),
                tuple(log_prob for _, log_prob, _ in path),
                penalty,
                finished=leaf.finished,
                alignment=None if attention is None else attention[positions, :size],
            )
            made.append(hypothesis)
        return made

    def _attention(self) -> tuple[Tensor | None, list[int]]:
        """The weights of all steps below each other on the CPU, and where each step begins."""
        first, total = [], 0
        for choice in self._choices:
            first.append(total)
            total += len(choice.came)
        self._average()
        return (torch.cat(self._seen).cpu() if self._seen else None), first

    def _average(self) -> None:
        """The mean over the heads of recent weights, [N, S] in float32: of several steps at once, and not of all."""
        if self._recent:
            self._seen.append(torch.cat(self._recent).float().flatten(1, -2).mean(1))
            self._recent.clear()


_TOGETHER = 16  # steps whose weights are averaged together


class _TraceStepLists(NamedTuple):
    """A `TraceStep` as lists."""

    came: list[int]
    row: list[int]
    tokens: list[int]
    log_probs: list[float]


def _path(steps: Sequence[_TraceStepLists], leaf: TraceLeaf) -> list[tuple[int, float, int]]:
    """Token, log-probability and row of the model's batch at each step on the way to a leaf."""
    path, node = [], leaf.node
    for step in reversed(steps[: leaf.step]):
        row = step.row[node]
        path.append((step.tokens[node], step.log_probs[node], row))
        node = step.came[row]
    return path[::-1]

"""Trace of a search: the choices of each step, with back-pointers."""

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
    """End of a hypothesis: node `node` of step `step`; step 0 is the empty hypothesis."""

    row: int
    step: int
    node: int
    finished: bool


class TraceStep(NamedTuple):
    """Choices of one step: the model read N rows, which M nodes continue.

    Attributes:
        came: [N], node of the previous step that each row continues.
        row: [M], row that each node continues.
        tokens, log_probs: [M], token of each node and its log-probability.
    """

    came: Tensor
    row: Tensor
    tokens: Tensor
    log_probs: Tensor


class Trace:
    """Choices of all steps, on the device, with back-pointers.

    Reordering a beam copies nothing. After the search, each hypothesis with its log-probabilities and alignment is
    collected by following the back-pointers from its leaf.
    """

    def __init__(self) -> None:
        self._choices: list[TraceStep] = []
        self._seen: list[Tensor] = []
        self._recent: list[Tensor] = []

    def add(self, choice: TraceStep, attended: Weights | None) -> None:
        """Append a step, with its attention over the source, [N, (H,) 1, S], if any."""
        self._choices.append(choice)
        if attended is not None:
            self._recent.append(attended.weights())
            if len(self._recent) == _TOGETHER:
                self._average()

    def hypotheses(self, leaves: Sequence[TraceLeaf], request: Request, penalty: Penalty) -> list[Hypothesis]:
        """Return the hypothesis of each leaf."""
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
        """Return the weights of all steps, concatenated on the CPU, and the first row of each step."""
        first, total = [], 0
        for choice in self._choices:
            first.append(total)
            total += len(choice.came)
        self._average()
        return (torch.cat(self._seen).cpu() if self._seen else None), first

    def _average(self) -> None:
        """Average recent weights over heads, [N, S] in float32.

        Several steps together need fewer kernel launches; all steps together would need the memory of every head.
        """
        if self._recent:
            self._seen.append(torch.cat(self._recent).float().flatten(1, -2).mean(1))
            self._recent.clear()


_TOGETHER = 16  # number of steps whose weights are averaged together


class _TraceStepLists(NamedTuple):
    """A `TraceStep` as lists."""

    came: list[int]
    row: list[int]
    tokens: list[int]
    log_probs: list[float]


def _path(steps: Sequence[_TraceStepLists], leaf: TraceLeaf) -> list[tuple[int, float, int]]:
    """Return token, log-probability and batch row of each step on the path to a leaf."""
    path, node = [], leaf.node
    for step in reversed(steps[: leaf.step]):
        row = step.row[node]
        path.append((step.tokens[node], step.log_probs[node], row))
        node = step.came[row]
    return path[::-1]

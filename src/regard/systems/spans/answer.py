"""Answer of a span reader, with the reader's attention."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torch import Tensor

from regard.models.model_output import ModelOutput
from regard.systems.spans.pointers import iterations_of
from regard.tasks.prediction import Prediction


class ReaderTrace(NamedTuple):
    """Estimates and attention of a reader in one window of a passage, in half precision.

    Attributes:
        path: [K, 2, S], distributions of start and end in each iteration that ran.
        passage: A^D [S, Q + 1], attention of each window position to the question, sentinel last; None without
            attention.
        question: A^Q [Q, S + 1], attention of each question position to the window, sentinel last; None likewise.
    """

    path: Tensor
    passage: Tensor | None = None
    question: Tensor | None = None


@dataclass(frozen=True)
class SpanAnswer(Prediction):
    """One answer; `source_tokens` are the tokens of the window that contains it.

    Attributes:
        question_tokens: tokens of the question.
        looked: estimates and attention of the reader in that window.
    """

    question_tokens: tuple[str, ...] = ()
    looked: ReaderTrace | None = field(default=None, repr=False, compare=False)

    def as_json(self, *, alignment: bool = False) -> dict[str, Any]:
        """Return plain values for JSONL; with `alignment` also the iterations and both attention matrices."""
        row = super().as_json(alignment=alignment)
        if alignment and self.looked is not None:
            row |= {"question_tokens": list(self.question_tokens), "iterations": self.looked.path.tolist()}
            for name, weights in (("passage", self.looked.passage), ("question", self.looked.question)):
                if weights is not None:
                    row[f"{name}_attention"] = weights.tolist()
        return row


def reader_trace(predicted: ModelOutput, row: int, asked: int, told: int) -> ReaderTrace:
    """Return the estimates and attention of a reader in one window of a batch.

    Args:
        predicted: output of the reader for the batch.
        row: index of the window in the batch.
        asked, told: lengths of its question and of the window in tokens.
    """
    logits, running = iterations_of(predicted)
    path = logits[row, running[row], :told].float().softmax(1).mT  # [K, S, 2] -> [K, 2, S]
    passage, question = (predicted.extras.get(name) for name in ("passage_weights", "question_weights"))
    return ReaderTrace(
        path.half().cpu(),
        None if passage is None else _true(passage[row], told, asked),
        None if question is None else _true(question[row], asked, told),
    )


def _true(weights: Tensor, queries: int, keys: int) -> Tensor:
    """Remove the padding from weights [T, S + 1]; the sentinel follows the last key: [queries, keys + 1]."""
    return weights[:queries, [*range(keys), -1]].half().cpu()

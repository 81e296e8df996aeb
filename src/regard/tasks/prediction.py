"""Prediction: an answer of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from regard.alignment.links import Links, pharaoh
from regard.deferred import deferrable


@deferrable("score", "log_probs", "alignment")
@dataclass(frozen=True)
class Prediction:
    """One answer, with its score, its tokens and their attention.

    Attributes:
        source: the text that was asked.
        text: the answer.
        score: what it was ranked by.
        penalty: the formula of the score, of what was searched for: `Σ log p / ((5 + n) / 6)^0.6`; None for others.
        source_tokens: the pieces of the source.
        tokens: the pieces of the answer, the end among them if it was reached.
        log_probs: of each piece.
        alignment: [T, S], the weight of piece t on source piece s; of a label [r, S], a row for each hop; None without
            attention.
        finished: whether the end was reached.
        reference: what would have been right, several with " / " between; None where nobody said.
        labels: the labels that the answer consists of, of a text that can have several; None for others.
        scores: the probability of every label of such a text, by name.
        links: between words of the source and of the answer (`Task.links`); None where nobody asked.
        ranking: all that was found, best first, of an answer that is the first of a ranking; None for others.
        confidence: the calibrated probability that the answer is right; None where nothing was calibrated.
    """

    source: str
    text: str
    score: float
    source_tokens: tuple[str, ...]
    tokens: tuple[str, ...]
    log_probs: tuple[float, ...]
    alignment: Tensor | None = field(default=None, repr=False, compare=False)
    finished: bool = True
    reference: str | None = None
    penalty: str | None = None
    labels: tuple[str, ...] | None = None
    scores: Mapping[str, float] | None = None
    ranking: tuple[str, ...] | None = field(default=None, repr=False)
    confidence: float | None = None
    links: Links | None = None

    def said(self) -> str:
        """Return the answer for people: no label of several is an answer too."""
        return "(no label)" if self.labels == () else self.text

    def drawn(self) -> tuple[Tensor, tuple[str, ...]] | None:
        """Return the weights [R, S] to draw, and a name per row; None without attention.

        A row is a piece of the answer. Of a label that was found in several hops there is a row for each of them, and
        one for their mean.

        >>> import torch
        >>> Prediction("a gem", "good", 0.0, ("a", "gem"), ("good",), (0.0,), torch.eye(2)).drawn()
        (tensor([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]), ('hop 1', 'hop 2', 'all'))
        """
        if self.alignment is None:
            return None
        if len(self.alignment) == len(self.tokens):
            return self.alignment, self.tokens
        hops = tuple(f"hop {number}" for number in range(1, len(self.alignment) + 1))
        return torch.cat((self.alignment, self.alignment.mean(0, keepdim=True))), (*hops, "all")

    def as_json(self, *, alignment: bool = False) -> dict[str, Any]:
        """Return plain values, for JSONL."""
        row: dict[str, Any] = {"source": self.source, "text": self.text, "score": self.score}
        if self.penalty is not None:
            row["penalty"] = self.penalty
        row |= {"tokens": list(self.tokens), "log_probs": list(self.log_probs), "finished": self.finished}
        if self.confidence is not None:
            row["confidence"] = self.confidence
        if self.labels is not None and self.scores is not None:
            row |= {"labels": list(self.labels), "scores": dict(self.scores)}
        if self.links is not None:
            row["links"] = pharaoh(self.links)
        if alignment:
            row["source_tokens"] = list(self.source_tokens)
            row["alignment"] = None if self.alignment is None else self.alignment.tolist()
        return row

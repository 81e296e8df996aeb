"""Predictions of a model, with scores, tokens and attention."""

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
        source: the input text.
        text: the answer.
        score: the score of its ranking.
        penalty: formula of the score in beam search, `Σ log p / ((5 + n) / 6)^0.6`; None without a search.
        source_tokens: tokens of the source.
        tokens: tokens of the answer, including EOS if it was reached.
        log_probs: log-probability per token.
        alignment: [T, S], attention weight of answer token t on source token s; for a label [r, S], one row per hop;
            None without attention.
        finished: True if EOS was reached.
        reference: the references, joined by " / "; None if unknown.
        labels: predicted labels in multi-label classification; None otherwise.
        scores: probability of every label in multi-label classification, by name.
        links: word alignment links between source and answer (`Task.links`); None if not requested.
        ranking: all candidates, best first, in ranking tasks; None otherwise.
        confidence: calibrated probability that the answer is correct; None without calibration.
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
        """Return the answer in readable form; an empty set of labels is a valid answer as well."""
        return "(no label)" if self.labels == () else self.text

    def drawn(self) -> tuple[Tensor, tuple[str, ...]] | None:
        """Return the weights [R, S] to draw and the row names; None without attention.

        A row is a token of the answer. A label predicted in several hops has one row per hop, and one for their mean.

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
        """Return JSON-serialisable values, for JSONL."""
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

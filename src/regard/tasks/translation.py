"""From one text to another: translation, transliteration, dates, pronunciations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from regard.data.batch import Batch
from regard.data.tokenizer import Tokenizer
from regard.decode.generate import generate
from regard.decode.hypothesis import Hypothesis
from regard.decode.search import Search
from regard.models.predicted import Predicted
from regard.specials import PAD, UNK
from regard.tasks.exposure import Exposure
from regard.tasks.loss import Loss, token_loss
from regard.tasks.prediction import Prediction

EXTRAS = ("fertility", "backward", "symmetry")
"""What models add to the loss: Cohn's global fertility, the other direction, and the agreement of both."""


@dataclass(frozen=True)
class Translation:
    """How an encoder-decoder learns from pairs, and how it answers.

    Attributes:
        source: the tokenizer of what is read.
        target: the tokenizer of what is written.
        smoothing: of the labels.
        exposure: what is fed to the decoder in training.
    """

    source: Tokenizer
    target: Tokenizer
    smoothing: float = 0.0
    exposure: Exposure = field(default_factory=Exposure)

    def loss(self, model: nn.Module, batch: Batch, *, update: int | None = None) -> Loss:
        """The loss of a batch; `update` counts updates from 0 in training and is None in evaluation."""
        given, wanted = batch.target[:, :-1], batch.target[:, 1:]
        predicted = self._predicted(model, batch, given, update)
        smoothing = 0.0 if update is None else self.smoothing
        total, nll = token_loss(predicted.logits, wanted, padding=PAD, smoothing=smoothing)
        if update is not None:
            total = total + sum(predicted.extras[name].sum() for name in EXTRAS if name in predicted.extras)
        return Loss(total, nll.detach(), int(batch.tokens))

    def _predicted(self, model: nn.Module, batch: Batch, given: Tensor, update: int | None) -> Predicted:
        if update is None:
            return _forward(model, batch, given)
        given = self.exposure.disturbed(given, vocabulary=self.target.size)
        teacher = self.exposure.teacher(update)
        if teacher >= 1.0:
            return _forward(model, batch, given)
        return self.exposure.sampled(model, batch, given, teacher)

    def predict(self, model: Any, texts: Sequence[str], search: Search, *, batch: int = 32) -> list[list[Prediction]]:
        """The n best answers to each text, whatever the batch they are computed in."""
        encoded = self.source.encode_all(list(texts)) if texts else []
        device = next(model.parameters()).device
        answers: list[list[Prediction]] = [[] for _ in texts]
        order = sorted(range(len(texts)), key=lambda index: len(encoded[index]))
        for begin in range(0, len(order), batch):
            part = order[begin : begin + batch]
            source, lengths = _padded([encoded[index] or [UNK] for index in part], device)
            with torch.inference_mode():
                found = generate(model, source, lengths, search)
            for index, hypotheses in zip(part, found, strict=True):
                pieces = self.source.tokens(encoded[index] or [UNK])
                answers[index] = [self._prediction(texts[index], pieces, one) for one in hypotheses]
        return answers

    def _prediction(self, source: str, pieces: list[str], hypothesis: Hypothesis) -> Prediction:
        return Prediction(
            source=source,
            text=self.target.decode(hypothesis.output),
            score=hypothesis.score,
            source_tokens=tuple(pieces),
            tokens=tuple(self.target.tokens(hypothesis.tokens)),
            log_probs=hypothesis.log_probs,
            alignment=hypothesis.alignment,
            finished=hypothesis.finished,
        )


def _forward(model: nn.Module, batch: Batch, given: Tensor) -> Predicted:
    predicted: Predicted = model(batch.source, batch.source_lengths, given)
    return predicted


def _padded(rows: list[list[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    lengths = torch.tensor([len(row) for row in rows], device=device)
    table = torch.full((len(rows), int(lengths.max())), PAD, device=device)
    for place, row in enumerate(rows):
        table[place, : len(row)] = torch.tensor(row, device=device)
    return table, lengths

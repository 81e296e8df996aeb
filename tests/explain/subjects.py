"""Properties that every model has as explanations see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from regard.explain.importance import MEASURES, gradient, leave_one_out
from regard.explain.interventions import adversary, permuted, uniform
from regard.explain.study import Study, study
from regard.explain.subject import StagedSubject, Subject
from tests.mechanism import assert_close


def random_model(model: nn.Module, seed: int = 3, std: float = 0.7) -> nn.Module:
    """Return a model in float64 with large parameters, so that no two words are alike."""
    generator = torch.Generator().manual_seed(seed)
    model = model.double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=std, generator=generator)
    return model


def check_subject(subject: Subject, inputs: Sequence[Any]) -> Study:
    """Check batches, padding, names, and that the three steps are what the model computes; return a short study."""
    texts = subject.read(inputs)
    probabilities = subject.probabilities(texts)
    assert_close(probabilities.sum(1), torch.ones_like(probabilities[:, 0]))
    assert_close(subject.probabilities(texts.keep(texts.inside)), probabilities)
    measures = [
        *MEASURES.values(),
        *(lambda _, texts, one=one: one.measure(texts) for one in subject.extras().values()),
    ]
    for measure in measures:
        scores = measure(subject, texts)
        assert scores.shape == texts.inside.shape
        assert scores.isfinite().all()
    for name, measure in MEASURES.items():
        if name != "random":
            row = torch.tensor([int(texts.lengths.argmin())])
            alone = texts.rows(row).shortened()
            assert_close(measure(subject, alone)[0], measure(subject, texts)[row[0], : alone.ids.shape[1]])
            assert not measure(subject, texts)[~texts.inside].any()
    assert gradient(subject, texts)[texts.inside].any()
    assert leave_one_out(subject, texts)[texts.inside].any()
    if isinstance(subject, StagedSubject):
        encoded = subject.encode(texts)
        weights = subject.attend(encoded)
        assert_close(subject.answer(encoded, weights), probabilities)
        assert_close(subject.answers(encoded, torch.stack((weights, weights)))[1], probabilities)
        assert not weights.masked_fill(subject.support(texts), 0.0).any()
        assert (uniform(subject, texts) >= 0).all()
        assert permuted(subject, texts, draws=2).shape == texts.lengths.shape
        if subject.searched:
            assert adversary(subject, texts, starts=2, steps=2).weights.shape == weights.shape
    for number, given in enumerate(inputs):
        row = number if texts.source is None else texts.source.tolist().index(number)
        one = texts.rows(torch.tensor([row]))
        assert len(subject.words(given)) == int(one.lengths)
        assert subject.name(given, one, int(probabilities[row].argmax()))
    return study(subject, inputs, starts=2, steps=2, draws=2, examples=1)

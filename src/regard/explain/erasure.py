"""Erasure (ERASER): drop in answer probability without the most important words, and with them alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from regard.explain.agreement import largest
from regard.explain.importance import answers
from regard.explain.subject import Subject, SubjectBatch

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)
"""Fractions of a text to erase, as in ERASER."""


class Erasure(NamedTuple):
    """Drop in the probability of the answer, [B, shares].

    Attributes:
        comprehensiveness: without the most important words; large for a faithful measure.
        sufficiency: with the most important words alone; small for a faithful measure.
    """

    comprehensiveness: Tensor
    sufficiency: Tensor


def erasure(subject: Subject, texts: SubjectBatch, scores: Tensor, shares: Sequence[float] = SHARES) -> Erasure:
    """Compute the drop after erasing the words with the largest `scores` [B, T], and after erasing all others.

    Erases at least one word, and leaves at least one in texts of two or more.

    DeYoung et al. 2020, ERASER, section 4: comprehensiveness p(x) - p(x without r), sufficiency p(x) - p(r).
    """
    with torch.no_grad():
        chosen = answers(subject, texts).unsqueeze(1)
        before = subject.probabilities(texts).gather(1, chosen)  # [B, 1]
        falls: list[list[Tensor]] = [[], []]
        counted: Tensor | None = None
        for share in shares:
            count = (texts.sizes * share).ceil().long().clamp(min=1).unsqueeze(1)
            if counted is not None and torch.equal(count, counted):  # short texts: same words
                falls = [[*parts, parts[-1]] for parts in falls]
                continue
            important, counted = largest(scores, texts.inside, count), count
            for place, kept in enumerate((~important, important)):
                left = texts.keep(kept).shortened()
                falls[place].append(before - subject.probabilities(left).gather(1, chosen))
    return Erasure(*(torch.cat(parts, 1) for parts in falls))

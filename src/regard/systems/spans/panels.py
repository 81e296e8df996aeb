"""Visualisation of answers: distributions of start and end per iteration, and both attention matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from rich.text import Text
from torch import Tensor

from regard.explain.panel import Panel
from regard.systems.spans.answer import SpanAnswer
from regard.view.terminal import heat_map
from regard.view.text import isolated

AROUND = 8
"""Number of context tokens on each side of an answer in a drawing."""
WHOLE = 60
"""Maximum number of tokens of a window that a picture shows completely."""
SENTINEL = "∅"
PASSAGE_TITLE = "A^D: what each word of the passage reads in the question"
QUESTION_TITLE = "A^Q: what each word of the question reads in the passage"


class Map(NamedTuple):
    """Labelled matrix.

    Attributes:
        title: title; empty for the estimates of the span.
        weights: [R, C].
        rows, columns: labels.
    """

    title: str
    weights: Tensor
    rows: tuple[str, ...]
    columns: tuple[str, ...]


def attention_maps(answer: SpanAnswer, *, whole: int = 0) -> Iterator[Map]:
    """Yield the estimates of the span and any attention matrices, cropped to the neighbourhood of the answer.

    Args:
        answer: answer with its window.
        whole: maximum number of tokens of a window that is shown completely.
    """
    assert answer.alignment is not None
    part = slice(None) if len(answer.source_tokens) <= whole else answer_neighbourhood(answer.alignment)
    pieces = answer.source_tokens[part]
    looked = answer.looked
    path = answer.alignment.unsqueeze(0) if looked is None else looked.path.float()  # [K, 2, S]
    numbers = [""] if len(path) == 1 else [f" {number}" for number in range(1, len(path) + 1)]
    names = tuple(f"{end}{number}" for number in numbers for end in ("begins", "ends"))
    yield Map("", path.flatten(0, 1)[:, part], names, pieces)
    if looked is not None and looked.passage is not None:
        weights = looked.passage[part].T.float()  # [Q + 1, S]
        yield Map(PASSAGE_TITLE, weights, (*answer.question_tokens, SENTINEL), pieces)
    if looked is not None and looked.question is not None:
        weights = torch.cat((looked.question[:, :-1][:, part], looked.question[:, -1:]), dim=1).float()
        yield Map(QUESTION_TITLE, weights, answer.question_tokens, (*pieces, SENTINEL))


def answer_neighbourhood(alignment: Tensor) -> slice:
    """Return the range of tokens around an answer, given its distributions of start and end, [2, S].

    >>> answer_neighbourhood(torch.eye(2, 30) + torch.eye(2, 30).roll(9, 1) * 2)
    slice(1, 19, None)
    """
    likely = alignment.max(dim=1).indices.tolist()
    return slice(max(0, min(likely) - AROUND), max(likely) + AROUND + 1)


def render_maps(answer: SpanAnswer) -> Text:
    """Render the matrices for a terminal, one below the other."""
    drawn = []
    for title, weights, rows, columns in attention_maps(answer):
        heading = [Text(title)] if title else []
        drawn += [*heading, heat_map(weights, columns, rows)]
    return Text("\n").join(drawn)


def panels(answer: SpanAnswer, question: str) -> list[Panel]:
    """Return the matrices as panels of a figure."""
    title = f"{isolated(question)}\n{isolated(answer.text)}"
    return [
        Panel(one.title or title, one.weights, rows=one.rows, columns=one.columns)
        for one in attention_maps(answer, whole=WHOLE)
    ]

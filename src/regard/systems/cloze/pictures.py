"""Visualisation of cloze questions: weights of the passage, candidates, and maps of attention over attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import torch
from rich.text import Text
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from regard.explain.panel import Panel, TextPanel
from regard.systems.cloze.reading import Numbered
from regard.tasks.prediction import Prediction
from regard.view.terminal import marked_text
from regard.view.text import isolated

_ENDS = (".", "!", "?")
_SHOWN = 20  # maximum number of words in the maps, and of candidates in a list
_BARS = 30  # width of the bar of probability 1, in characters


class PointerTargets(NamedTuple):
    """Attention of a model over one passage.

    Attributes:
        weights: s [S], over the words of the passage.
        alpha: attention [T, S] of each word of the question over the passage; None for the attention sum reader.
        beta: attention [S, T] of each word of the passage over the question; None for the attention sum reader.
        importance: weight [T] of each word of the question, the mean of beta; None for the attention sum reader.
    """

    weights: Tensor
    alpha: Tensor | None = None
    beta: Tensor | None = None
    importance: Tensor | None = None


def render_answer(prediction: Prediction) -> Text:
    """Render the candidates with their probabilities, and the passage with its weights, for a terminal."""
    assert prediction.alignment is not None
    sizes = _line_sizes(prediction.source_tokens)
    words, values, sums = _lines(prediction.source_tokens, prediction.alignment[0], sizes)
    return Text("\n").join((render_candidates(prediction.scores or {}), marked_text(values, words, sums)))


def render_candidates(scores: Mapping[str, float]) -> Text:
    """Render one bar per candidate, in descending order of probability.

    >>> print(render_candidates({"Ann": 0.8, "Bo": 0.2}).plain)
    Ann  0.80 ████████████████████████
    Bo   0.20 ██████
    """
    best = list(scores.items())[:_SHOWN]
    wide = max((len(name) for name, _ in best), default=0) + 1
    lines = [f"{isolated(name):{wide}} {share:.2f} {'█' * round(_BARS * share)}".rstrip() for name, share in best]
    return Text("\n".join(lines))


def answer_panels(question: str, prediction: Prediction, row: Numbered, pointed: PointerTargets) -> list[Panel]:
    """Return panels of the passage with s, and of attention over attention around the words with the largest s.

    Args:
        question: question with its blank.
        prediction: answer of the model.
        row: encoded question.
        pointed: attention of the model.
    """
    names = list(row.names.values())
    tokens = [names[number] for number in row.words]
    words, values, sums = _lines(tokens, pointed.weights, row.lines)
    best = ", ".join(f"{name} {share:.2f}" for name, share in list((prediction.scores or {}).items())[:5])
    panels: list[Panel] = [
        TextPanel(f"{isolated(question)}\n{isolated(best)}", values, words=words, line_weights=tuple(sums), columns=())
    ]
    if pointed.alpha is None or pointed.beta is None or pointed.importance is None:
        return panels
    columns = pointed.weights.topk(min(_SHOWN, len(tokens))).indices.sort().values
    rows = pointed.importance.topk(min(_SHOWN, len(row.asked))).indices.sort().values
    named = tuple(tokens[place] for place in columns.tolist())
    asked = tuple(f"{row.asked[place]} {pointed.importance[place]:.2f}" for place in rows.tolist())
    titles = (
        "α: where each word of the question points; the number is its vote, the mean of β",
        "β: where each word of the passage points in the question",
    )
    maps = (pointed.alpha[rows][:, columns], pointed.beta[columns][:, rows].T)
    return panels + [Panel(title, one, rows=asked, columns=named) for title, one in zip(titles, maps, strict=True)]


def _lines(
    tokens: Sequence[str], weights: Tensor, sizes: Sequence[int]
) -> tuple[tuple[tuple[str, ...], ...], Tensor, list[float]]:
    """Return the words by line, their weights [R, C], and the sum of each line."""
    ends = list(accumulate(sizes))
    spans = [(end - size, end) for end, size in zip(ends, sizes, strict=True) if size]
    rows = [weights[begin:end] for begin, end in spans]
    values = pad_sequence(rows, batch_first=True) if rows else torch.zeros(0, 0)
    return tuple(tuple(tokens[begin:end]) for begin, end in spans), values, [float(one.sum()) for one in rows]


def _line_sizes(tokens: Sequence[str]) -> list[int]:
    """Return the number of words of each sentence; punctuation ends a sentence.

    >>> _line_sizes(["Ann", "left", ".", "Bo", "stayed"])
    [3, 2]
    """
    ends = [place for place, token in enumerate(tokens, start=1) if token.endswith(_ENDS) and place < len(tokens)]
    bounds = [0, *ends, len(tokens)]
    return [end - begin for begin, end in pairwise(bounds)]

"""Drawings of the attention between the words of two texts."""

from __future__ import annotations

from rich.text import Text

from regard.explain.panel import Panel
from regard.specials import EOS, SPECIALS
from regard.tasks.prediction import Prediction
from regard.view.terminal import heat_map
from regard.view.text import isolated


def pair_panels(prediction: Prediction) -> list[Panel]:
    """Return two panels: attention from the first text to the second, and from the second to the first.

    >>> import torch
    >>> tokens = ("a", "</s>", "b", "c")
    >>> weights = torch.tensor([[0, 0, 0.3, 0.7], [0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
    >>> panels = pair_panels(Prediction("a\\tb c", "yes", 0.0, tokens, ("yes",), (0.0,), weights))
    >>> panels[0].values, panels[1].rows, panels[1].columns
    (tensor([[0.3000, 0.7000]]), ('b', 'c'), ('a',))
    """
    weights, tokens = prediction.alignment, prediction.source_tokens
    assert weights is not None
    end = tokens.index(SPECIALS[EOS])
    asked = " | ".join(map(isolated, prediction.source.split("\t")))
    first, second = slice(0, end), slice(end + 1, len(tokens))
    return [
        Panel(
            f"{asked} → {isolated(prediction.text)}" if rows is first else f"{asked}: the second text reads the first",
            weights[rows, columns],
            down=f"{name} text",
            along="attends to",
            rows=tokens[rows],
            columns=tokens[columns],
        )
        for name, rows, columns in (("first", first, second), ("second", second, first))
    ]


def pair_map(prediction: Prediction) -> Text:
    """Return a terminal drawing of both directions, one below the other."""
    maps = [heat_map(one.values, one.columns, one.rows) for one in pair_panels(prediction)]
    return Text("\n\n").join(maps)

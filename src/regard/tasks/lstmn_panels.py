"""Which words before it each word looked at, in models that keep tapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.explain.capture import capture
from regard.explain.panel import Panel
from regard.nn.lstmn import LSTMNCell
from regard.ops.weights import Weights
from regard.view.text import isolated


@contextmanager
def taped(model: Any, part: str) -> Iterator[list[Tensor]]:
    """Inside, a model reads one text from its beginning; afterwards there are the weights [T, T] of each layer's tape.

    Args:
        model: any; without an LSTMN nothing is found.
        part: where in the model the tapes are: `"encoder"`.

    >>> from regard.models import LSTMNLM
    >>> model = LSTMNLM(11, embedding_dim=3, hidden_dim=5, num_layers=2, window=2)
    >>> with taped(model, "layers") as tapes:
    ...     _ = model(torch.tensor([[4, 5, 6, 7]]))
    >>> len(tapes), tapes[0][3] > 0
    (2, tensor([False,  True,  True, False]))
    """
    modules = model.named_modules() if isinstance(model, nn.Module) else ()
    names = [
        f"{name}.attention" for name, module in modules if isinstance(module, LSTMNCell) and name.split(".")[0] == part
    ]
    found: list[Tensor] = []
    if not names:
        yield found
        return
    with capture(model, names) as seen:
        yield found
    found += [_placed(seen[name]) for name in names]


def tape_panels(tapes: Sequence[Tensor], text: str, words: Sequence[str]) -> list[Panel]:
    """A panel for each layer: a row for each word, a column for each word that it may have looked at."""
    named = tuple(words) if tapes and len(words) == len(tapes[0]) else ()
    layers = [""] if len(tapes) == 1 else [f", layer {number}" for number in range(1, len(tapes) + 1)]
    return [
        Panel(f"{isolated(text)}{layer}", weights, "a word", "looks back at", named, named)
        for weights, layer in zip(tapes, layers, strict=True)
    ]


def _placed(reads: Sequence[Weights]) -> Tensor:
    """Reads one after the other of a tape whose last word is the one before: weights [T, T], each in its place."""
    rows = [read.weights()[0].float().cpu() for read in reads]
    return torch.cat([F.pad(row, (place - row.shape[-1], len(rows) - place)) for place, row in enumerate(rows)])

"""Self-attention panels: tapes of an LSTMN, layers of a BERT, and all layers and heads of a Transformer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.data.fields.tokenizer import Tokenizer
from regard.explain.capture import Captured, capture
from regard.explain.layers import panels_by_kind
from regard.explain.panel import HeadsPanel, Panel
from regard.models.bert import BertEncoder
from regard.models.copying import Copying
from regard.nn.attention_module import CapturableModule
from regard.nn.lstmn import LSTMNCell
from regard.ops.weights import Weights
from regard.specials import BOS, EOS, UNK
from regard.view.text import isolated


@contextmanager
def record_tapes(model: Any, part: str) -> Iterator[list[Tensor]]:
    """Yield a list that is filled with the weights [T, T] of each layer's tape when a model processes one text inside.

    Args:
        model: any model; the list stays empty without an LSTMN.
        part: attribute of the model that contains the tapes: `"encoder"`.

    >>> from regard.models import build
    >>> model = build("lstmn_lm", 11, embedding_dim=3, hidden_dim=5, num_layers=2, window=2)
    >>> with record_tapes(model, "layers") as tapes:
    ...     _ = model(torch.tensor([[4, 5, 6, 7]]))
    >>> len(tapes), tapes[0][3] > 0
    (2, tensor([False,  True,  True, False]))
    """
    if isinstance(model, Copying):
        model = model.model
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
    """Return a panel per layer, with a row per word and a column per word it can attend to."""
    named = tuple(words) if tapes and len(words) == len(tapes[0]) else ()
    layers = [""] if len(tapes) == 1 else [f", layer {number}" for number in range(1, len(tapes) + 1)]
    return [
        Panel(f"{isolated(text)}{layer}", weights, "a word", "looks back at", named, named)
        for weights, layer in zip(tapes, layers, strict=True)
    ]


def _placed(reads: Sequence[Weights]) -> Tensor:
    """Stack the weights of successive steps over a growing tape, aligned by position: [T, T]."""
    rows = [read.weights()[0].float().cpu() for read in reads]
    return torch.cat([F.pad(row, (place - row.shape[-1], len(rows) - place)) for place, row in enumerate(rows)])


def layers_panel(encoder: BertEncoder, tokenizer: Tokenizer, text: str, *, title: str, pooling: str) -> Panel:
    """Return a panel with a row per layer, averaged over heads, and a column per token including `<s>` and `</s>`.

    Args:
        encoder: the BERT encoder.
        tokenizer: its tokenizer.
        text: one text, or two separated by a tab.
        title: title of the panel.
        pooling: `"last"` shows the attention of `<s>`, from which the label is predicted; others the mean over words.
    """
    ids = tokenizer.encode(text) or [UNK]
    with torch.inference_mode(), capture(encoder) as seen:
        encoder(torch.tensor([ids], device=next(encoder.parameters()).device))
    looked = [calls[0].weights()[0].mean(0).float().cpu() for calls in seen.values()]  # [T, T] per layer
    return Panel(
        title,
        torch.stack([_looking(weights, pooling) for weights in looked]),  # [L, T]
        along="<s> looks at" if pooling == "last" else "words look at, the mean",
        rows=tuple(f"layer {number}" for number in range(1, len(looked) + 1)),
        columns=tuple(tokenizer.tokens([BOS, *ids, EOS])),
    )


def _looking(weights: Tensor, pooling: str) -> Tensor:
    return weights[0] if pooling == "last" else weights[1:-1].mean(0)


def head_panels(
    model: nn.Module, run: Callable[[], object], rows: Sequence[str], columns: Sequence[str] | None = None
) -> list[HeadsPanel]:
    """Return a panel per kind of attention with several layers or heads.

    Args:
        model: any model; there are no panels if every kind has a single map.
        run: runs the model once on one text.
        rows: decoder input tokens, or those of the only text.
        columns: source tokens; None for the same text.
    """
    with torch.inference_mode(), watched_heads(model) as seen:
        run()
    return seen_heads(seen, rows, columns)


@contextmanager
def watched_heads(model: Any) -> Iterator[Captured]:
    """Capture weights, queries and keys of a model; the capture is empty without attention."""
    if not isinstance(model, nn.Module) or not any(isinstance(module, CapturableModule) for module in model.modules()):
        yield Captured(())
        return
    with capture(model, vectors=True) as seen:
        yield seen


def seen_heads(
    seen: Captured, rows: Sequence[str], columns: Sequence[str] | None = None, *, title: str = ""
) -> list[HeadsPanel]:
    """Return a panel per kind of attention with several layers or heads; none for incremental decoding.

    Args:
        seen: the capture of a single run.
        rows, columns: as in `head_panels`.
        title: prefix of each panel's title.
    """
    if any(len(calls) > 1 or name.startswith("models.") for name, calls in seen.items()):
        return []  # several calls are decoding steps or ensemble members, not layers of one model
    found = [panel for panel in panels_by_kind(seen, rows, columns) if panel.weights[..., 0, 0].numel() > 1]
    return [replace(panel, title=f"{title}: {panel.title}") if title else panel for panel in found]

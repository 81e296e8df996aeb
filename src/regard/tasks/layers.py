"""What the layers of a BERT look at while it reads a text."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.data.tokenizer import Tokenizer
from regard.explain.capture import capture
from regard.explain.panel import Panel
from regard.models.bert import BertEncoder
from regard.specials import BOS, EOS, UNK


def layers_panel(encoder: BertEncoder, tokenizer: Tokenizer, text: str, *, title: str, pooling: str) -> Panel:
    """A row for each layer, the mean of its heads, over the text in its frame.

    Args:
        encoder: what reads.
        tokenizer: of the text.
        text: one, or two with a tab between.
        title: of the panel.
        pooling: `"last"` shows what `<s>` looks at, which the label is of; any other what the words look at, the mean.
    """
    ids = tokenizer.encode(text) or [UNK]
    with torch.inference_mode(), capture(encoder) as seen:
        encoder(torch.tensor([ids], device=next(encoder.parameters()).device))
    looked = [calls[0].weights()[0].mean(0).float().cpu() for calls in seen.values()]  # of each layer [T, T]
    return Panel(
        title,
        torch.stack([_looking(weights, pooling) for weights in looked]),
        along="<s> looks at" if pooling == "last" else "words look at, the mean",
        rows=tuple(f"layer {number}" for number in range(1, len(looked) + 1)),
        columns=tuple(tokenizer.tokens([BOS, *ids, EOS])),
    )


def _looking(weights: Tensor, pooling: str) -> Tensor:
    return weights[0] if pooling == "last" else weights[1:-1].mean(0)

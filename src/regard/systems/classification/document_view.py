"""Drawing of a document with its sentence and word attention."""

from __future__ import annotations

import torch
from torch.nn.utils.rnn import pad_sequence

from regard.data.problems import shortened
from regard.explain.panel import TextPanel
from regard.specials import EOS, SPECIALS
from regard.tasks.prediction import Prediction
from regard.view.text import isolated


def document_panel(prediction: Prediction) -> TextPanel:
    """Return a panel of sentences with weight α_i per sentence and √α_i α_it per word (Yang et al. 2016).

    The square root keeps important words of less important sentences visible.

    Raises:
        ValueError: the model does not attend.
    """
    if prediction.alignment is None:
        raise ValueError("the model attends to nothing that could be drawn; set model.pooling=attention")
    words, sentences = prediction.alignment  # [S], [S]
    ends = [place for place, token in enumerate(prediction.source_tokens) if token == SPECIALS[EOS]]
    begins = [0, *(end + 1 for end in ends)][: len(ends)]
    spans = list(zip(begins, ends, strict=True))
    rows = [words[begin:end] / sentences[end].clamp(min=1e-9).sqrt() for begin, end in spans]
    return TextPanel(
        f"{isolated(shortened(prediction.source))} → {isolated(prediction.text)}",
        pad_sequence(rows, batch_first=True) if rows else torch.zeros(0, 0),
        words=tuple(prediction.source_tokens[begin:end] for begin, end in spans),
        line_weights=tuple(sentences[end].item() for end in ends),
    )

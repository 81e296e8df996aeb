"""CTC speech recogniser: an encoder with a CTC head."""

from __future__ import annotations

from torch import Tensor, nn

from regard.arguments import Share, checked
from regard.models.encoded import Encoded, width_of
from regard.models.model_output import ModelOutput
from regard.nn.ctc import CTC
from regard.nn.dropout import Dropout
from regard.specials import PAD
from regard.systems.speech.frames import FrameEncoderConfig, frames_encoder, state_counts


class CTCRecogniser(nn.Module):
    r"""Recogniser that emits a symbol or a blank per encoder state, trained on transcripts without alignments.

    .. math:: h = \mathrm{encode}(x), \quad p(v \mid h_t) = \mathrm{softmax}(W h_t + b)_v, \quad
              p(y \mid x) = \sum_{\pi : \mathrm{collapse}(\pi) = y} \prod_t p(\pi_t \mid h_t)

    PAD serves as the blank, since it does not occur in transcripts.

    Args:
        input_dim: F, features per frame.
        target_size: V, number of symbols, special ones included.
        encoder: encoder of the recording; here also any module that returns `Encoded`.
        dropout: dropout of the inputs of the head.

    Shapes: source [B, T, F], lengths [B] -> logits [B, T', V], with T' states of the encoder.

    Graves, Fernández, Gomez & Schmidhuber 2006; see `regard.nn.CTC`.

    >>> import torch
    >>> model = CTCRecogniser(7, 13, encoder=FrameEncoderConfig(hidden_dim=6, pyramid=1))
    >>> model(torch.zeros(2, 11, 7), torch.tensor([11, 4])).logits.shape
    torch.Size([2, 6, 13])
    """

    @checked()
    def __init__(
        self,
        input_dim: int,
        target_size: int,
        *,
        encoder: FrameEncoderConfig | nn.Module | None = None,
        dropout: Share = 0.0,
    ) -> None:
        super().__init__()
        self.encoder = frames_encoder(encoder, input_dim)
        self.dropout = Dropout(dropout)
        self.ctc = CTC(width_of(self, self.encoder), target_size, blank=PAD)

    def forward(self, source: Tensor, lengths: Tensor | None = None) -> ModelOutput:
        """Return the logits of all states; `state` of the output is the number of states per sequence, [B]."""
        encoded: Encoded = self.encoder(source, lengths)
        logits: Tensor = self.ctc.label_map(self.dropout(encoded.states))
        return ModelOutput(logits, state=state_counts(encoded))

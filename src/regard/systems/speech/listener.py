"""Listen, Attend and Spell, optionally trained and decoded jointly with CTC."""

from __future__ import annotations

from torch import Tensor, nn

from regard.arguments import EmbeddingScale, Probability, Share, Size, checked
from regard.models.attention_config import AttentionConfig, AttentionFactory, AttentionLike
from regard.models.bahdanau import Bahdanau
from regard.models.encoded import Encoded
from regard.models.generator import NextInput
from regard.models.model_output import ModelOutput
from regard.nn.cells import CellKind, Cells
from regard.nn.ctc import CTC
from regard.ops.ctc import ctc_lengths, ctc_losses
from regard.specials import EOS, PAD, UNK
from regard.systems.speech.frames import FrameEncoderConfig, frames_encoder, state_counts


class Listener(Bahdanau):
    r"""Attentional speech recogniser with location-aware attention.

    .. math:: e_{is} = v^\top \tanh(W s_{i-1} + V h_s + U f_{is}), \quad f_i = F * a_{i-1}

    With `ctc` the encoder is trained with both losses:
    :math:`L = (1 - \lambda) L_{att} + \lambda L_{ctc}`.

    Args:
        input_dim: F, features per frame.
        target_size: V, number of symbols, special ones included.
        encoder: encoder of the recording; here also any module that returns `Encoded`.
        embedding_dim: width of the embeddings of symbols.
        hidden_dim: width of the decoder.
        attention: attention to the states: in a recipe a score by name or all options; in Python also a reader, or a
            function (query width, key width) -> reader; null for the additive score with location features.
        cells: recurrent cells of the decoder, by kind or with all their arguments.
        dropout: dropout of the embeddings and of the readout.
        scale: largest entry of an embedding at initialisation; null in a recipe for 0.1.
        ctc: λ, the weight of CTC in the loss; 0 for attention alone.

    Chan et al. 2016, "Listen, Attend and Spell"; Chorowski et al. 2015, "Attention-Based Models for Speech
    Recognition", equation 9 (location features); Kim, Hori & Watanabe 2017, "Joint CTC-Attention Based End-to-End
    Speech Recognition", equation 8. The decoder is that of Bahdanau; in the paper, the query is the state after the
    symbol.

    >>> import torch
    >>> encoder = FrameEncoderConfig(hidden_dim=6, pyramid=1)
    >>> model = Listener(7, 13, encoder=encoder, embedding_dim=3, hidden_dim=5, ctc=0.3)
    >>> predicted = model(torch.zeros(2, 11, 7), torch.tensor([11, 4]), torch.tensor([[2, 5, 6], [2, 5, 3]]))
    >>> predicted.logits.shape, predicted.attended.weights().shape, predicted.extras["ctc"].shape
    (torch.Size([2, 3, 13]), torch.Size([2, 3, 6]), torch.Size([2]))
    """

    @checked()
    def __init__(
        self,
        input_dim: int,
        target_size: int,
        *,
        encoder: FrameEncoderConfig | nn.Module | None = None,
        embedding_dim: Size = 64,
        hidden_dim: Size = 128,
        attention: AttentionLike | AttentionFactory | None = None,
        cells: Cells | CellKind = "gru",
        dropout: Share = 0.0,
        scale: EmbeddingScale = 0.1,
        ctc: Probability = 0.0,
    ) -> None:
        super().__init__(
            frames_encoder(encoder, input_dim),
            target_size,
            embedding_dim=embedding_dim,
            hidden_dim=hidden_dim,
            attention=AttentionConfig(hidden_dim=hidden_dim, terms=("location",)) if attention is None else attention,
            cells=cells,
            dropout=dropout,
            scale=scale,
        )
        self.weight = ctc
        self.ctc = None if ctc == 0 else CTC(int(self.encoder.output_dim), target_size, blank=PAD)  # type: ignore[arg-type]

    def forward(
        self, source: Tensor, source_lengths: Tensor | None, target: Tensor, feed: NextInput | None = None
    ) -> ModelOutput:
        """Teacher forcing; the extra `"ctc"` [B] is the CTC loss -log p(target | source) per sequence."""
        encoded = self.encode(source, source_lengths)
        predicted = self.unroll(target, self._start(encoded), feed)
        if self.ctc is None:
            return predicted
        labels = target[:, 1:]  # without BOS
        # The decoder input lacks the last symbol of the longest row. That is EOS, which is no CTC label either.
        counts = (labels > EOS).sum(1) + (labels == UNK).sum(1)
        return predicted._replace(extras={**predicted.extras, "ctc": self._ctc_losses(encoded, labels, counts)})

    def emissions(self, source: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the CTC log-probabilities of all states, [B, T', V], and the number of states, [B]."""
        assert self.ctc is not None, "the listener was trained without CTC"
        encoded = self.encode(source, lengths)
        return self.ctc.log_probs(encoded.states), state_counts(encoded)

    def _ctc_losses(self, encoded: Encoded, labels: Tensor, counts: Tensor) -> Tensor:
        assert self.ctc is not None
        log_probs = self.ctc.log_probs(encoded.states)
        lengths = ctc_lengths(log_probs, labels, state_counts(encoded), counts, blank=self.ctc.blank)
        return ctc_losses(log_probs, labels, *lengths, blank=self.ctc.blank)

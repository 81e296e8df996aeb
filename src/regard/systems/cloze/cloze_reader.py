"""Cloze readers that point to a word of the passage: attention sum, and attention over attention."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Literal

from torch import Tensor, nn

from regard.arguments import checked
from regard.models.encoded import AnyEncoder, Encoded, width_of
from regard.models.model_output import NOTHING, ModelOutput
from regard.nn.attention import Attention
from regard.nn.pointers import AttentionOverAttention
from regard.nn.scores.dot import Dot
from regard.ops.attended import Attended

_TINY = 1e-30  # clamps weights before the logarithm; smaller ones get no gradient


class ClozeReader(nn.Module):
    r"""Reader that returns a distribution s over the words of a passage, given a question with a blank.

    .. math:: h_D = \mathrm{encoder}_D(\text{passage}), \quad h_Q = \mathrm{encoder}_Q(\text{question}), \quad
              s = \mathrm{softmax}(h_D\, q) \text{ or } \textstyle\sum_t \bar\beta_t\, \alpha(t), \quad
              P(w) = \sum_{i\,:\,d_i = w} s_i

    The attention sum reader scores the words of the passage against the summary q of the question (Kadlec et al. 2016,
    equation 1). In attention over attention each word of the question attends to the passage, and the mean attention
    of the passage over the question weights these distributions (Cui et al. 2017, section 3). Neither attention has
    parameters, so the two readers have the same parameters. The task sums the probabilities of equal words.

    Args:
        encoder: encoder of the passage, by `kind` and its arguments in a recipe. The question has a separate encoder
            with the same embeddings.
        attention: `sum` (attention sum) or `over` (attention over attention).
        share_encoder: encode the question with the encoder of the passage.
        orthogonal: initialise recurrent matrices as orthogonal (Saxe et al. 2014), as both papers do.

    Shapes: passage [B, S], its lengths [B], question [B, T], its lengths [B] -> logits log s [B, S], and the attention
    s [B, 1, S] over the passage. Extras of `over`: `alpha` [B, T, S], `beta` [B, S, T], `importance` [B, T].

    >>> import torch
    >>> from regard.models import RecurrentEncoder
    >>> reader = ClozeReader(RecurrentEncoder(11, embedding_dim=3, hidden_dim=6, bidirectional=True))
    >>> out = reader(torch.ones(2, 7).long(), torch.tensor([7, 4]), torch.ones(2, 5).long(), torch.tensor([3, 5]))
    >>> out.attended.weights()[1, 0].count_nonzero(), out.extras["importance"].shape
    (tensor(4), torch.Size([2, 5]))
    """

    @checked()
    def __init__(
        self,
        encoder: AnyEncoder,
        *,
        attention: Literal["sum", "over"] = "over",
        share_encoder: bool = False,
        orthogonal: bool = True,
    ) -> None:
        super().__init__()
        width_of(self, encoder)
        self.encoder = encoder
        self.question_encoder = encoder if share_encoder else _with_same_words(encoder)
        self.over = AttentionOverAttention() if attention == "over" else None
        self.sum = Attention(Dot()) if attention == "sum" else None
        if orthogonal:
            make_orthogonal(self)

    def forward(
        self, passage: Tensor, passage_lengths: Tensor, question: Tensor, question_lengths: Tensor
    ) -> ModelOutput:
        """Return log s [B, S] for passages [B, S] and questions [B, T]."""
        read: Encoded = self.encoder(passage, passage_lengths)
        asked: Encoded = self.question_encoder(question, question_lengths)
        attended, extras = self.point(read, asked)
        weights = attended.weights()[:, 0]  # [B, S]
        return ModelOutput(weights.clamp(min=_TINY).log(), attended=attended, extras=extras)

    def point(self, read: Encoded, asked: Encoded) -> tuple[Attended, Mapping[str, Tensor]]:
        """Return the attention s [B, 1, S] over the passage, and the extras of attention over attention."""
        if self.over is not None:
            found = self.over(read.states, asked.states, read.mask, asked.mask)
            return found.attended, {"alpha": found.alpha, "beta": found.beta, "importance": found.importance}
        assert self.sum is not None
        pointed: Attended = self.sum(asked.summary.unsqueeze(1), read.states, mask=read.mask)  # one query per passage
        return pointed, NOTHING


def make_orthogonal(model: nn.Module) -> None:
    """Initialise the hidden-to-hidden matrices of recurrent layers as orthogonal, each gate separately.

    >>> import torch
    >>> layer = nn.GRU(3, 5)
    >>> make_orthogonal(layer)
    >>> gate = layer.weight_hh_l0[:5].detach()
    >>> bool(torch.allclose(gate @ gate.T, torch.eye(5), atol=1e-5))
    True
    """
    for layer in model.modules():
        if isinstance(layer, nn.RNNBase):
            for name, weight in layer.named_parameters():
                if name.startswith("weight_hh"):
                    # PyTorch stacks the gates in one matrix, which is not square; each block is.
                    for gate in weight.detach().split(layer.hidden_size):
                        nn.init.orthogonal_(gate)


def _with_same_words(encoder: nn.Module) -> nn.Module:
    """Return a newly initialised copy of an encoder that shares its embeddings."""
    made = copy.deepcopy(encoder)
    for layer in made.modules():
        reset = getattr(layer, "reset_parameters", None)
        if callable(reset) and not isinstance(layer, nn.Embedding):
            reset()
    if hasattr(encoder, "words"):
        made.words = encoder.words
    return made

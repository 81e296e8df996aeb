"""BERT: a bidirectional Transformer encoder, pretrained by predicting masked words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.arguments import Choice, Scale, Size, checked
from regard.constraints import heads_divide, sentences_need_pooling
from regard.masks import Mask
from regard.models.embeddings import check_ids
from regard.models.encoded import Encoded
from regard.models.model_output import NOTHING, ModelOutput
from regard.nn.positions import LearnedPositions
from regard.nn.rnn import token_mask
from regard.nn.transformer_layer import LayerConfig, TransformerLayer
from regard.specials import BOS, EOS, FRAME, PAD

SEGMENTS = 2
"""Texts that can stand side by side."""
_SPREAD, _WIDTH = 0.02, 768


class BertEmbeddings(nn.Module):
    r"""Sum of word, position and segment embeddings, then LayerNorm and dropout.

    .. math:: x_t = \mathrm{norm}(E_{w_t} + P_t + S_{g_t})

    The segment g_t is 0 up to and including the first `</s>`, and 1 after it, so it follows from the ids alone.

    Args:
        size: V, size of the vocabulary.
        blocks: `dim`, `dropout` and `epsilon` of the Transformer.
        max_length: maximum number of ids of an input, including `<s>` and `</s>`.

    Shapes: ids [B, T] -> [B, T, C]. Devlin et al. 2019, figure 2.
    """

    def __init__(self, size: int, blocks: LayerConfig, *, max_length: int) -> None:
        super().__init__()
        self.table = nn.Embedding(size, blocks.dim, padding_idx=PAD)
        self.places = LearnedPositions(max_length, blocks.dim)
        self.segments = nn.Embedding(SEGMENTS, blocks.dim)
        self.norm = nn.LayerNorm(blocks.dim, eps=blocks.epsilon)
        self.dropout = nn.Dropout(blocks.dropout)

    def forward(self, ids: Tensor) -> Tensor:
        summed = self.places(self.table(ids)) + self.segments(segments(ids))
        vectors: Tensor = self.dropout(self.norm(summed))
        return vectors


@checked(heads_divide)
@dataclass(frozen=True, kw_only=True)
class BertLayerConfig(LayerConfig):
    """Configuration of the layers of BERT.

    Attributes:
        norm: position of the LayerNorms; BERT has post-norm.
    """

    norm: Literal["post"] = "post"
    activation: Literal["relu", "gelu"] = "gelu"
    epsilon: Scale = 1e-12


class BertEncoder(nn.Module):
    """BERT without its pretraining heads, as an encoder; it adds `<s>` and `</s>` to each text itself.

    Args:
        size: V, how many words.
        blocks: widths, heads and dropout of the layers; None for those of BERT-base. The paper has no dropout of hidden
            units of the feed-forward network: `activation_dropout=0.0`.
        num_layers: number of layers.
        max_length: maximum number of ids of an input, including `<s>` and `</s>`.
        pooled: use tanh(W h_<s> + b) as the summary of a text, instead of the state of `<s>`.

    Shapes: source [B, S], lengths [B] -> `Encoded` with the states [B, S, C] of the text's own words, zero at padding,
    and the summary [B, C]. `</s>` separates two texts. Weights are initialised from a normal distribution with
    standard deviation 0.02 √(768 / C), the paper's 0.02 at its width of 768; with 0.02 a narrow model does not start
    to learn. Positions are initialised as sinusoids with that deviation (see `LearnedPositions`).

    Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding".

    >>> encoder = BertEncoder(11, LayerConfig(dim=6, num_heads=2, norm="post"), num_layers=2)
    >>> encoded = encoder(torch.full((2, 7), 5), torch.tensor([7, 4]))
    >>> encoded.states.shape, encoded.summary.shape, encoded.states[1, 4:].abs().sum().item()
    (torch.Size([2, 7, 6]), torch.Size([2, 6]), 0.0)
    """

    @checked()
    def __init__(
        self,
        size: int,
        blocks: BertLayerConfig | LayerConfig | None = None,
        *,
        num_layers: Size = 12,
        max_length: Size = 512,
        pooled: bool = False,
    ) -> None:
        super().__init__()
        if blocks is None:
            blocks = BertLayerConfig(dim=768, num_heads=12)
        if blocks.norm != "post":
            raise ValueError(f"BertEncoder: BERT's norm is post; got {blocks.norm!r}")
        self.output_dim = blocks.dim
        self.blocks = blocks
        self.words = BertEmbeddings(size, blocks, max_length=max_length)
        self.layers = nn.ModuleList(TransformerLayer(blocks) for _ in range(num_layers))
        self.pool_map = nn.Linear(blocks.dim, blocks.dim) if pooled else None
        init_bert_weights(self, blocks.dim)

    def forward(self, source: Tensor, lengths: Tensor | None = None) -> Encoded:
        """Encode token ids [B, S] with true `lengths` [B]; None without padding."""
        ids, ends = add_special_tokens(check_ids(self, source), lengths)
        mask = None if ends is None else Mask.padding(ends)
        states: Tensor = self.words(ids)
        for layer in self.layers:
            states = layer(states, mask)
        own = states[:, 1 : 1 + source.shape[1]]
        if lengths is None:
            return Encoded(own, self._summary(states[:, 0]), None)
        words = lengths.to(own.device)
        own = own.masked_fill(~token_mask(words, source.shape[1]).unsqueeze(2), 0.0)
        return Encoded(own, self._summary(states[:, 0]), Mask.padding(words))

    def _summary(self, first: Tensor) -> Tensor:
        return first if self.pool_map is None else torch.tanh(self.pool_map(first))


class Bert(nn.Module):
    r"""BERT with its pretraining heads: masked words and next-sentence prediction.

    .. math:: p(w_t) = \mathrm{softmax}(E\, \mathrm{norm}(\mathrm{gelu}(W h_t + b)) + c), \quad
              p(\text{next}) = \mathrm{softmax}(U \tanh(W_p h_{<s>} + b_p) + d)

    E is the word embedding (tied weights), with its own bias c.

    Args:
        encoder: encoder of the text, by its arguments in a recipe.
        next_sentence: predict whether the second text follows the first; needs a `pooled` encoder.

    `extras["next"]` [B, 2]: logits of two classes, 0 if the second text follows the first and 1 if it does not.

    Devlin et al. 2019, section 3.1.

    >>> model = Bert(BertEncoder(11, LayerConfig(dim=6, num_heads=2, norm="post"), num_layers=1))
    >>> text = torch.tensor([[5, 4, 7], [4, 8, 0]])                       # 4 is the mask
    >>> model(text, torch.tensor([3, 2])).logits.shape, model(text, torch.tensor([3, 2]), text == 4).logits.shape
    (torch.Size([2, 3, 11]), torch.Size([2, 11]))
    """

    @checked(sentences_need_pooling)
    def __init__(
        self, encoder: Annotated[BertEncoder, Choice("encoder", only=("bert",))], *, next_sentence: bool = False
    ) -> None:
        super().__init__()
        width = encoder.output_dim
        self.encoder = encoder
        self.word_map = nn.Linear(width, width)
        self.word_norm = nn.LayerNorm(width, eps=encoder.blocks.epsilon)
        self.output_map = nn.Linear(width, encoder.words.table.num_embeddings)
        self.next_map = nn.Linear(width, 2) if next_sentence else None
        for part in (self.word_map, self.output_map, self.next_map):
            if part is not None:
                init_bert_weights(part, width)
        self.output_map.weight = encoder.words.table.weight

    def forward(self, text: Tensor, lengths: Tensor | None = None, chosen: Tensor | None = None) -> ModelOutput:
        """Return logits [B, T, V] of words [B, T] with true `lengths` [B]; [N, V] of the N positions in `chosen`."""
        encoded: Encoded = self.encoder(text, lengths)
        states = encoded.states if chosen is None else encoded.states[chosen]
        logits: Tensor = self.output_map(self.word_norm(F.gelu(self.word_map(states))))
        extras = NOTHING if self.next_map is None else {"next": self.next_map(encoded.summary)}
        return ModelOutput(logits, extras=extras)


def add_special_tokens(source: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Add `<s>` before each text and `</s>` after it.

    >>> add_special_tokens(torch.tensor([[5, 6], [7, 0]]), torch.tensor([2, 1]))[0].tolist()
    [[2, 5, 6, 3], [2, 7, 3, 0]]
    """
    batch, size = source.shape
    ids = source.new_full((batch, size + FRAME), PAD)
    ids[:, 0].fill_(BOS)
    ids[:, 1 : size + 1] = source
    if lengths is None:
        ids[:, -1].fill_(EOS)
        return ids, None
    ends = lengths.to(source.device)
    ids.scatter_(1, (ends + 1).unsqueeze(1), EOS)
    return ids, ends + FRAME


def segments(ids: Tensor) -> Tensor:
    """Return the segment of each id: 0 up to and including the first `</s>`, 1 after it.

    >>> segments(torch.tensor([[2, 5, 3, 6, 7, 3]])).tolist()
    [[0, 0, 0, 1, 1, 1]]
    """
    ended = (ids == EOS).long()
    return (ended.cumsum(1) - ended).clamp(max=SEGMENTS - 1)


def init_bert_weights(module: nn.Module, width: int) -> None:
    """Initialise weights as BERT does, with the standard deviation scaled to the width of the model."""
    spread = _SPREAD * (_WIDTH / width) ** 0.5
    for part in module.modules():
        if isinstance(part, nn.Linear | nn.Embedding):
            nn.init.normal_(part.weight, std=spread)
        if isinstance(part, LearnedPositions):
            part.begin(spread)
        if isinstance(part, nn.Linear) and part.bias is not None:
            nn.init.zeros_(part.bias)
        if isinstance(part, nn.Embedding) and part.padding_idx is not None:
            with torch.no_grad():
                part.weight[part.padding_idx].zero_()

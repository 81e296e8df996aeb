"""Describer: a record encoder with an attentional decoder."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import torch
from torch import Tensor, nn

from regard.arguments import EmbeddingScale, NotInRecipe, Share, Size, checked
from regard.constraints import directions_halve
from regard.masks import Mask
from regard.models.attention_config import AttentionFactory, AttentionLike
from regard.models.bahdanau import Bahdanau
from regard.models.embeddings import WordEmbeddings
from regard.models.encoded import Encoded
from regard.models.generator import AttendingDecoder, DecoderOutput, EncoderDecoder
from regard.models.luong import Luong
from regard.models.simple_attention import SimpleAttention
from regard.models.transformer import Transformer
from regard.nn.attention_module import AttentionModule
from regard.nn.cells import CellKind, Cells
from regard.nn.dropout import Dropout
from regard.nn.key_value import KeyValue
from regard.nn.rnn import Recurrent
from regard.nn.transformer_layer import LayerConfig, TransformerLayer
from regard.protocol import Selectable
from regard.specials import PAD

Values = Literal["mean", "rnn"]
FieldReading = Literal["attention", "rnn", "none"]


class RecordEncoder(nn.Module):
    r"""Encoder of records: one state per value token, in the context of its field and of the other fields.

    .. math:: x_s = \tanh(W_x [E w_s; N n_s]), \quad v_r = \mathrm{mean}_{s \in r}\, x_s, \quad
              f = \mathrm{read}(v), \quad h_s = \tanh(W_h [x_s; f_{r(s)}])

    w is a token, n the name of its field r. With values "mean" and fields "attention" or "none" the encoding is
    invariant to the order of the fields.

    Args:
        size: number of words in values.
        num_names: number of field names.
        embedding_dim: width of the embeddings of words and of names.
        dim: width of the states.
        values: encoding of values: "mean" of their tokens, or "rnn", a bidirectional RNN over all tokens before the
            mean.
        fields: interaction of fields: "attention" between them, "rnn", a bidirectional RNN over them, or "none".
        dropout: dropout of embeddings and states.
        scale: largest entry of an embedding at initialisation.

    Shapes: source [B, S, 3] (ids of token and field name, index of the field), lengths [B] -> `Encoded`.

    >>> encoder = RecordEncoder(11, 5, embedding_dim=3, dim=6)
    >>> record = torch.tensor([[[7, 2, 0], [8, 2, 0], [9, 3, 1]]])
    >>> encoder(record, torch.tensor([3])).states.shape
    torch.Size([1, 3, 6])
    """

    def __init__(
        self,
        size: int,
        num_names: int,
        *,
        embedding_dim: int,
        dim: int,
        values: Values = "mean",
        fields: FieldReading = "attention",
        dropout: float = 0.0,
        scale: float = 0.1,
    ) -> None:
        super().__init__()
        self.output_dim = dim
        if "rnn" in (values, fields):
            directions_halve(dim)
        self.words = WordEmbeddings(size, embedding_dim, dropout=dropout, scale=scale)
        self.names = WordEmbeddings(num_names, embedding_dim, dropout=dropout, scale=scale)
        self.token_map = nn.Linear(2 * embedding_dim, dim)
        self.values = Recurrent(dim, dim // 2, "gru", bidirectional=True) if values == "rnn" else None
        self.fields: nn.Module | None = None
        if fields == "rnn":
            self.fields = Recurrent(dim, dim // 2, "gru", bidirectional=True)
        if fields == "attention":
            self.fields = TransformerLayer(LayerConfig(dim=dim, num_heads=1, hidden_dim=2 * dim, dropout=dropout))
        self.state_map = nn.Linear(2 * dim if fields != "none" else dim, dim)
        self.dropout = Dropout(dropout)

    def forward(self, source: Tensor, lengths: Tensor | None = None) -> Encoded:
        """Encode records [B, S, 3]."""
        if source.dim() != 3 or source.shape[2] != 3:
            raise ValueError(f"RecordEncoder: records are [B, S, 3]; got {list(source.shape)}")
        ids, names, number = source.unbind(2)
        present = ids != PAD
        tokens = self.token_map(torch.cat((self.words(ids), self.names(names)), dim=-1)).tanh()  # [B, S, D]
        if self.values is not None:
            tokens, _ = self.values(tokens, lengths)
        numbers = torch.arange(source.shape[1], device=source.device)  # R, S at most
        member = ((number.unsqueeze(2) == numbers) & present.unsqueeze(2)).to(tokens.dtype)  # [B, S, R]
        counts = member.sum(1)  # [B, R]
        fields = member.mT @ tokens / counts.clamp(min=1).unsqueeze(2)  # [B, R, D]
        there = counts > 0
        if self.fields is not None:
            fields = self._read(fields, there)
            tokens = torch.cat((tokens, member @ fields), dim=-1)
        states = self.dropout(self.state_map(tokens).tanh()) * present.unsqueeze(2)
        total = (fields * there.unsqueeze(2)).sum(1)
        summary = total / there.sum(1, keepdim=True).clamp(min=1)
        return Encoded(states, summary, None if lengths is None else Mask.padding(lengths))

    def _read(self, fields: Tensor, there: Tensor) -> Tensor:
        """Contextualise field vectors [B, R, D] by the other fields of the record."""
        if isinstance(self.fields, Recurrent):
            states: Tensor = self.fields(fields, there.sum(1))[0]
            return states
        assert self.fields is not None
        read: Tensor = self.fields(fields, Mask.of(there.unsqueeze(1)))
        return read


class Describer(AttendingDecoder[Any]):
    """Encoder-decoder from records to text.

    Args:
        size: number of words in values.
        target_size: number of target words.
        num_names: number of field names.
        decoder: the decoder: `luong`, `bahdanau`, `simple_attention` or `transformer`.
        embedding_dim: width of the embeddings; a Transformer uses `hidden_dim` instead.
        hidden_dim: width of the states of encoder and decoder.
        values: encoding of values: `mean` of their tokens, or `rnn`, a bidirectional RNN over all tokens.
        fields: interaction of fields: `attention` between them, `rnn`, a bidirectional RNN over them, or `none`.
        attention: attention of recurrent decoders to the value tokens; null for the decoder's default.
        cells: recurrent cells of the decoder.
        num_layers, num_heads: layers and heads of a Transformer.
        dropout: dropout of embeddings, states and outputs.
        scale: largest entry of an embedding at initialisation; null in a recipe for 1 with characters, and 0.1
            otherwise.

    >>> model = Describer(11, 13, num_names=5, embedding_dim=3, hidden_dim=6)
    >>> record = torch.tensor([[[7, 2, 0], [8, 2, 0], [9, 3, 1]]])
    >>> model(record, torch.tensor([3]), torch.ones(1, 2).long()).attended.weights().shape
    torch.Size([1, 2, 3])
    """

    @checked()
    def __init__(
        self,
        size: int,
        target_size: int,
        *,
        num_names: Annotated[int, NotInRecipe()] = 8,
        decoder: Literal["luong", "bahdanau", "simple_attention", "transformer"] = "luong",
        embedding_dim: Size = 64,
        hidden_dim: Size = 128,
        values: Values = "mean",
        fields: FieldReading = "attention",
        attention: AttentionLike | AttentionFactory | None = None,
        cells: Cells | CellKind = "lstm",
        num_layers: Size = 2,
        num_heads: Size = 4,
        dropout: Share = 0.0,
        scale: EmbeddingScale = 0.1,
    ) -> None:
        super().__init__()
        encoder = RecordEncoder(
            size,
            num_names,
            embedding_dim=embedding_dim,
            dim=hidden_dim,
            values=values,
            fields=fields,
            dropout=dropout,
            scale=scale,
        )
        self.decoder: AttendingDecoder[Any]
        if decoder == "transformer":
            if attention is not None:
                raise ValueError("attention is of recurrent decoders; a Transformer has its own, leave it out")
            blocks = LayerConfig(dim=hidden_dim, num_heads=num_heads, dropout=dropout)
            self.decoder = Transformer(encoder, target_size, blocks, num_layers=num_layers)
        else:
            made: Any = {"luong": Luong, "bahdanau": Bahdanau, "simple_attention": SimpleAttention}[decoder]
            widths: dict[str, Any] = {"embedding_dim": embedding_dim, "hidden_dim": hidden_dim, "scale": scale}
            self.decoder = made(encoder, target_size, attention=attention, cells=cells, dropout=dropout, **widths)
        self.at_once = self.decoder.at_once

    @property
    def encoder(self) -> nn.Module:  # type: ignore[override]  # registered once, with the decoder that it belongs to
        """Return the encoder, a submodule of the decoder."""
        return self.decoder.encoder

    @property
    def output_layer(self) -> nn.Linear:
        return self.decoder.output_layer

    @property
    def source_reader(self) -> AttentionModule | KeyValue:
        return self.decoder.source_reader

    @property
    def feature_dim(self) -> int:
        return self.decoder.feature_dim

    def start(self, source: Tensor | None, lengths: Tensor | None = None, *, batch: int | None = None) -> Selectable:
        started: Selectable = self.decoder.start(source, lengths, batch=batch)
        return started

    def embed(self, tokens: Tensor, state: Any) -> Tensor:
        return self.decoder.embed(tokens, state)

    def advance(self, words: Tensor, state: Any) -> DecoderOutput[Any]:
        return self.decoder.advance(words, state)

    def output(self, *features: Tensor) -> Tensor:
        return self.decoder.output(*features)


def decoder_of(model: nn.Module) -> EncoderDecoder[Any] | None:
    """Return the decoder of a describer, with or without a copy mechanism; None for other models."""
    inner = getattr(model, "model", model)
    return inner.decoder if isinstance(inner, Describer) else None

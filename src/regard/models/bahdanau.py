"""RNNsearch: the encoder-decoder with attention of Bahdanau, Cho & Bengio."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.cuda_capture import is_recording
from regard.masks import Mask
from regard.models.attending import Attender, Attending, Factory, attender
from regard.models.decoder_state import DecoderState
from regard.models.embeddings import Words, is_word, output_layer, word_counts
from regard.models.encoder import Encoded, Encoder
from regard.models.generator import Advanced, EncoderDecoder, Feed, needs_source, padded_lengths
from regard.models.outputs import Predicted
from regard.nn.aligners import Softmax
from regard.nn.attention import Attention
from regard.nn.cells import Cells
from regard.nn.dropout import Dropout
from regard.nn.rnn import Recurrent, RecurrentState
from regard.nn.scores import Additive
from regard.nn.shared_memory import SharedMemory
from regard.nn.structure_losses import GlobalFertility
from regard.ops.attending_gru import attending_gru
from regard.ops.softmax import weigh_values
from regard.ops.weights import Weights


class Bahdanau(EncoderDecoder[DecoderState]):
    r"""RNNsearch: the *previous* decoder state asks, and the answer goes into the next one.

    .. math:: h = \mathrm{biRNN}(x), \quad s_0 = \tanh(W_s \overleftarrow{h}_1) \\
              c_i = \mathrm{attend}(s_{i-1}, h), \quad s_i = \mathrm{GRU}([E y_{i-1}; c_i], s_{i-1}) \\
              t_i = \mathrm{maxout}_2(U_o s_i + V_o E y_{i-1} + C_o c_i), \quad p(y_i) = \mathrm{softmax}(W_o t_i)

    Args:
        source_size: how many source words.
        target_size: V, how many target words.
        embedding_dim: width of the embeddings.
        hidden_dim: D, width of the decoder and of each direction of the encoder.
        readout_dim: width of t after the maxout; None for `embedding_dim`.
        attention: a reader, or (query width D, key width 2D) -> reader, see `Attending`; None for the paper's additive
            score of width D. Multi-head, key-value, Cohn's terms, local and hard attention all come in here.
        cells: what the recurrent layers are made of; with several, the uppermost asks.
        dropout: on embeddings, encoder states and t.
        tied: whether W_o is the target embedding; it needs `readout_dim` = `embedding_dim`.
        scale: the largest entry of an embedding at first. Small ones make rare words little noise; of few symbols, all
            of them frequent, such as characters, a model learns sooner with 1.
        fertility: width of the hidden layer of Cohn's global fertility; None for none. Its negative log-likelihood
            of each sentence, [B], is then the extra `"fertility"`.

    Bahdanau, Cho & Bengio 2015, section 3 and appendix A.2. The output layer reads s_i, as equation 4 of the paper
    has it. A torch GRU has a second bias for each gate, which the paper has not.

    >>> model = Bahdanau(11, 13, embedding_dim=3, hidden_dim=5)
    >>> predicted = model(torch.ones(2, 7).long(), torch.tensor([7, 4]), torch.ones(2, 6).long())
    >>> predicted.logits.shape, predicted.attended.weights().shape
    (torch.Size([2, 6, 13]), torch.Size([2, 6, 7]))
    """

    def __init__(
        self,
        source_size: int,
        target_size: int,
        *,
        embedding_dim: int = 256,
        hidden_dim: int = 512,
        readout_dim: int | None = None,
        attention: Attender | Factory | None = None,
        cells: Cells | str = "gru",
        dropout: float = 0.0,
        tied: bool = False,
        scale: float = 0.1,
        fertility: int | None = None,
    ) -> None:
        super().__init__()
        self.encoder = Encoder(
            source_size,
            embedding_dim=embedding_dim,
            hidden_dim=2 * hidden_dim,
            cells=cells,
            bidirectional=True,
            dropout=dropout,
            scale=scale,
        )
        self.words = Words(target_size, embedding_dim, dropout=dropout, scale=scale)
        self.attention, context = attender(attention, hidden_dim, 2 * hidden_dim, Attending(hidden_dim=hidden_dim))
        self.layers = Recurrent(embedding_dim + context, hidden_dim, cells)
        self.bridge = nn.Linear(hidden_dim, self.layers.cells.num_layers * hidden_dim)
        readout = embedding_dim if readout_dim is None else readout_dim
        self.readout = nn.Linear(hidden_dim + embedding_dim + context, 2 * readout)
        self.dropout = Dropout(dropout)
        self.output_map = output_layer(readout, self.words, tied=tied)
        self.fertility = None if fertility is None else GlobalFertility(2 * hidden_dim, fertility)

    def start(self, source: Tensor | None, lengths: Tensor | None = None, *, batch: int | None = None) -> DecoderState:
        words = needs_source(self, source)
        return self._start(self.encoder(words, padded_lengths(words, lengths)))

    def forward(
        self, source: Tensor, source_lengths: Tensor | None, target: Tensor, feed: Feed | None = None
    ) -> Predicted:
        encoded: Encoded = self.encoder(needs_source(self, source), source_lengths)
        predicted = self.unroll(target, self._start(encoded), feed)
        if self.fertility is None or predicted.attended is None:
            return predicted
        coverage = predicted.attended.coverage(lengths=word_counts(target))  # the row behind them is of EOS
        coverage = coverage if coverage.dim() == 2 else coverage.mean(1)
        loss = self.fertility(coverage, encoded.states, Mask.of(is_word(source).unsqueeze(1)))
        return predicted._replace(extras={**predicted.extras, "fertility": loss})

    def unroll(self, tokens: Tensor, state: DecoderState, feed: Feed | None = None) -> Predicted:
        if feed is None and tokens.shape[1] and is_recording() and self._plain():
            return self._in_one_loop(tokens, state)
        return super().unroll(tokens, state, feed)

    def embed(self, tokens: Tensor, state: DecoderState) -> Tensor:
        words: Tensor = self.words(tokens)
        return words

    def advance(self, words: Tensor, state: DecoderState) -> Advanced[DecoderState]:
        attended = state.shared.read(self.attention, state.layers.top.unsqueeze(1), state.read)
        new, layers = self.layers.step(torch.cat((words, attended.context), dim=-1).squeeze(1), state.layers)
        features = (new.unsqueeze(1), words, attended.context)
        return Advanced(features, DecoderState(layers, state.memory, attended.state), attended)

    def output(self, *features: Tensor) -> Tensor:
        pairs: Tensor = self.readout(torch.cat(features, dim=-1))
        logits: Tensor = self.output_map(self.dropout(pairs.unflatten(-1, (-1, 2)).amax(-1)))
        return logits

    def _start(self, encoded: Encoded) -> DecoderState:
        backward = encoded.summary[:, self.layers.hidden_dim :]
        first = torch.tanh(self.bridge(backward)).unflatten(1, (-1, self.layers.hidden_dim))
        memory = self.attention.remember(encoded.states, mask=encoded.mask)
        return DecoderState(self.layers.start(len(first), first), SharedMemory(memory), self.attention.start(memory))

    def _plain(self) -> bool:
        """Whether the decoder is that of the paper, whose loop is an op of its own: `regard.ops.attending_gru`."""
        reader, cells = self.attention, self.layers.cells
        return (
            type(reader) is Attention
            and reader.impl is None
            and type(reader.score) is Additive
            and type(reader.align) is Softmax
            and not (len(reader.score.terms) or reader.dropout or cells.recurrent_dropout)
            and (cells.kind, cells.num_layers) == ("gru", 1)
        )

    def _in_one_loop(self, tokens: Tensor, state: DecoderState) -> Predicted:
        """Teacher forcing with all that does not depend on the step outside the loop; the same up to rounding."""
        assert isinstance(self.attention, Attention)
        assert isinstance(self.attention.score, Additive)
        words, width = self.embed(tokens, state), self.words.table.embedding_dim
        from_inputs, from_state, input_bias, state_bias = self.layers.weights(0)
        asks = self.attention.score.query_map
        assert asks is not None
        ask_bias = asks.weight.new_zeros(len(asks.weight)) if asks.bias is None else asks.bias
        memory = state.shared.memory
        batch, _, size, _ = memory.key.shape
        values = memory.value.squeeze(1)
        allowed = torch.ones(batch, size, dtype=torch.bool, device=tokens.device)
        if memory.mask is not None:
            allowed = allowed & memory.mask.allowed((batch, 1, 1, size), device=tokens.device)[:, 0, 0]
        hidden, weights = attending_gru(
            F.linear(words.transpose(0, 1), from_inputs[:, :width], input_bias),
            state.layers.top,
            memory.key.squeeze(1),
            F.linear(values, from_inputs[:, width:]),
            allowed,
            torch.cat((asks.weight, from_state)),
            torch.cat((ask_bias, state_bias)),
            self.attention.score.weight.squeeze(0),
        )
        hidden, weights = hidden.transpose(0, 1), weights.transpose(0, 1)
        assert state.read is not None
        read = replace(state.read, step=state.read.step + tokens.shape[1])
        after = DecoderState(RecurrentState(hidden[:, -1:]), state.memory, read)
        seen = Weights.of(weights.unsqueeze(1), has_heads=False)
        return Predicted(self.output(hidden, words, weigh_values(weights, values)), after, seen)

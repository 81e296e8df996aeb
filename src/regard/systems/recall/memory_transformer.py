"""A Transformer whose decoder also attends to a precomputed external memory, which can be exchanged after training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from torch import Tensor

from regard.arguments import Size, checked
from regard.constraints import embeddings_are_own, heads_attend, memory_alone, no_letters, rotary_scores
from regard.models.encoded import AnyEncoder
from regard.models.generator import NextInput
from regard.models.model_output import ModelOutput
from regard.models.signature import signature
from regard.models.transformer import Ties, Transformer, TransformerState
from regard.models.transformer_encoder import Positions
from regard.nn.external_memory import ExternalMemory
from regard.nn.memory import Memory
from regard.nn.rnn import token_mask
from regard.nn.shared_memory import SharedMemory
from regard.nn.transformer_layer import LayerConfig, LayerState
from regard.protocol import Step
from regard.systems.recall.text_store import TextStore

Reads = Literal["both", "memory"]
Remembered = tuple[Memory, ...]
"""An external memory in the form that the decoder uses: projected keys and values per layer that reads it."""


class MemoryTransformer(Transformer):
    r"""The encoder-decoder Transformer with an external memory beside its source.

    .. math:: M = [\mathrm{encoder}(x^1); \mathrm{encoder}(x^2); \dots], \quad
              p(y \mid x, M) = \prod_t p(y_t \mid y_{<t}, \mathrm{encoder}(x), M)

    The encoder of the source encodes each of the texts x^1, x^2, ... separately. Their states form one memory that all
    sequences of a batch share. Its content can be exchanged without training, because the model has learned to look
    answers up.

    Args:
        encoder: encoder of the source and of the memory: in a recipe `kind` and its arguments, in Python any module
            that returns `Encoded`. Null (in Python the number of source words) creates a `TransformerEncoder` with the
            same blocks, layers and positions.
        target_size: number of target words.
        blocks: widths, heads and dropout of the layers; None for the base model of the paper.
        num_layers: number of layers of the decoder, and of its own encoder.
        positions: position encoding: `"sinusoidal"` or `"learned"` vectors added to the embeddings, `"rotary"` in
            self-attention, or `"none"`.
        max_length: maximum length of a text, for learned positions.
        tied: weight tying: the output matrix is the target embedding (`"output"`), and the source embedding of a joint
            vocabulary too (`"all"`).
        reads: cross-attention to the memory: `"both"`, source and memory under one softmax in each layer, or
            `"memory"`, the memory alone in the last layer and the source alone in those before it.
        nearest: number of memory entries per query: those with the largest energies in each head; None for all.

    Without a memory (`external=None`) this is a plain Transformer. `attended` is the attention of the last layer, with
    the source positions before the memory entries. Decoding steps return no `attended`: it would be as wide as the
    memory at every step.

    After Wu et al. 2022, "Memorizing Transformers" (nearest entries of one layer) and Khandelwal et al. 2020. Here the
    memory contains other texts, and one softmax over source and memory replaces the gate between them.

    >>> import torch
    >>> model = MemoryTransformer(11, 11, LayerConfig(dim=6, num_heads=2), num_layers=2).eval()
    >>> stored = model.store(torch.randint(4, 11, (100, 3)), torch.full((100,), 3))    # a hundred texts of three words
    >>> source, target = torch.randint(4, 11, (2, 7)), torch.randint(4, 11, (2, 5))
    >>> predicted = model(source, None, target, external=model.remember(stored.states))
    >>> predicted.logits.shape, predicted.attended.shape
    (torch.Size([2, 5, 11]), (2, 2, 5, 307))
    """

    @checked(embeddings_are_own, heads_attend, memory_alone, no_letters, rotary_scores)
    def __init__(
        self,
        encoder: AnyEncoder | int,
        target_size: int,
        blocks: LayerConfig | None = None,
        *,
        num_layers: Size = 6,
        positions: Positions = "sinusoidal",
        max_length: Size = 1024,
        tied: Ties = "output",
        reads: Reads = "both",
        nearest: Size | None = None,
    ) -> None:
        super().__init__(
            encoder,
            target_size,
            blocks,
            num_layers=num_layers,
            positions=positions,
            max_length=max_length,
            tied=tied,
        )
        self.reads = reads
        self.nearest = nearest

    def store(self, texts: Tensor, lengths: Tensor, names: Sequence[str] | None = None) -> TextStore:
        """Encode texts [M, J] with `lengths` [M] without padding; gradients flow to the encoder if enabled.

        `names` are the texts in readable form; None for their indices.
        """
        states = self.encode(texts, lengths).states  # [M, J, C]
        present = token_mask(lengths.to(states.device), states.shape[1])  # [M, J]
        written = tuple(names) if names is not None else tuple(map(str, range(len(texts))))
        return TextStore(states[present], lengths.to(states.device).cumsum(0), written)

    def remember(self, states: Tensor) -> Remembered:
        """Project stored states [N, C] to keys and values, once for each layer that reads them.

        Raises:
            ValueError: `states` is empty, or its width does not match the model.
        """
        width = self.words.table.embedding_dim
        if states.dim() != 2 or states.shape[1] != width:
            raise ValueError(
                f"MemoryTransformer: its memory has states of width {width}, [N, {width}]; got {list(states.shape)}"
            )
        if not len(states):
            raise ValueError("MemoryTransformer: the memory is empty; store at least one text")
        layers = self.decoder._layers()
        found = []
        for layer in layers if self.reads == "both" else layers[-1:]:
            assert layer.cross is not None
            found.append(layer.cross.remember(states.unsqueeze(0)))
        return tuple(found)

    @property
    def signature(self) -> str:
        """Return a hash of the encoder's parameters, which identifies the states that it computed."""
        found = self.encoder.state_dict()
        if self.source_map is not None:
            found |= {f"source_map.{name}": tensor for name, tensor in self.source_map.state_dict().items()}
        return signature(found)

    def forward(
        self,
        source: Tensor,
        source_lengths: Tensor | None,
        target: Tensor,
        feed: NextInput | None = None,
        texts: tuple[Tensor, Tensor] | None = None,
        external: Remembered | None = None,
    ) -> ModelOutput:
        """Teacher forcing, as in `EncoderDecoder`.

        The memory is either `external`, the result of `remember`, or `texts` [M, J] with their lengths [M], which are
        encoded for this call only, with gradient.
        """
        if texts is not None and external is None:
            external = self.remember(self.store(*texts).states)
        return self.unroll(target, self.start(source, source_lengths, external=external), feed)

    def start(
        self,
        source: Tensor | None,
        lengths: Tensor | None = None,
        *,
        batch: int | None = None,
        external: Remembered | None = None,
    ) -> TransformerState:
        state = super().start(source, lengths, batch=batch)
        if external is None:
            return state
        own = len(state.layers) - len(external)
        read = (self._beside(layer, memory) for layer, memory in zip(state.layers[own:], external, strict=True))
        return TransformerState((*state.layers[:own], *read))

    def step(self, token: Tensor, state: TransformerState) -> Step:
        return super().step(token, state)._replace(attended=None)

    def _beside(self, layer: LayerState, memory: Memory) -> LayerState:
        """Return the initial state of a layer, with the memory appended to its source or in place of it."""
        source = layer.source if self.reads == "both" else None
        assert source is None or isinstance(source, SharedMemory)
        return LayerState(source=ExternalMemory(source, memory, self.nearest), source_read=layer.source_read)

"""ONNX Runtime engine: encoder and decoder step in onnxruntime, search by `regard.decode`."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.cpu_settings import threads_for
from regard.decode.generation import generate
from regard.decode.hypothesis import Hypothesis
from regard.decode.request import Request
from regard.decode.search import Search
from regard.engines.layout import TransformerLayout
from regard.ops.weights import Weights
from regard.protocol import Step

_HIDDEN = -1e30  # added to an energy: its softmax weight underflows to exactly zero
_SPARE = 16  # positions by which a full cache grows, so that it is not reallocated at every step
_KINDS = {torch.float32: np.float32, torch.int64: np.int64}


class Onnx:
    """Encoder-decoder Transformer in onnxruntime, on the CPU.

    Args:
        model: the Transformer; it is copied.
        device: None or the CPU.

    The encoder is one graph, a decoder step another. The search is that of `regard.decode`, so all strategies and
    settings are supported. Log-probabilities equal the model's up to rounding.

    Raises:
        ValueError: a package is missing, the model is not supported, or the device is not the CPU.
    """

    def __init__(self, model: nn.Module, *, device: str | torch.device | None = None) -> None:
        if device is not None and torch.device(device).type != "cpu":
            raise ValueError(f"the engine onnx computes on cpu; got {str(device)!r}")
        self._layout = TransformerLayout.of(model, "onnx")
        threads = threads_for(model)
        for package in ("onnx", "onnxruntime"):
            if importlib.util.find_spec(package) is None:
                raise ValueError(
                    f"the engine onnx needs the package {package}, which is not installed; pip install 'regard[export]'"
                )
        self._model = _Model(self._layout, threads)

    def search(self, request: Request, search: Search) -> list[list[Hypothesis]]:
        """Return up to `n_best` hypotheses per source, best first."""
        source, lengths, places = request.source, request.lengths, self._layout.places
        if source is None or source.dim() != 2 or lengths is None:
            raise ValueError("the engine onnx reads ids, [B, S]")
        if places is not None and max(lengths, default=0) > places:
            raise ValueError(f"a source has {max(lengths)} tokens; the engine onnx has positions for {places}")
        return generate(self._model, source, torch.tensor(lengths, device="cpu"), search)


class _Model:
    """Adapter of both graphs to the decoding interface of models."""

    def __init__(self, layout: TransformerLayout, threads: int) -> None:
        from regard.engines import onnx_graph

        self._layout = layout
        self._encoder = _Runner(onnx_graph.encoder(layout), threads)
        self._step = _Runner(onnx_graph.step(layout), threads)

    def start(self, source: Tensor | None, lengths: Tensor | None, *, batch: int | None = None) -> OnnxState:
        """Encode source ids [B, S] and return the initial decoder state."""
        assert source is not None
        assert lengths is not None
        size = source.shape[1]
        present = torch.arange(size, device="cpu") < lengths.unsqueeze(1)
        bias = torch.zeros(present.shape, device="cpu").masked_fill(~present, _HIDDEN)[:, None, None]
        given = {"source": source.cpu(), "bias": bias, **self._positions("encoder", 0, size)}
        empty = torch.zeros(len(source), self._layout.num_heads, 0, self._width, device="cpu")
        cache = {f"past_{part}_{layer}": empty for layer in range(self._layout.num_layers) for part in ("key", "value")}
        encoded = self._encoder.run(given, b=len(source), s=size)
        return OnnxState({**encoded, "source_bias": bias}, cache, 0, 1)

    def step(self, token: Tensor, state: OnnxState) -> Step:
        """Advance the decoder by one token per row, [N]."""
        state = state.with_room()
        given = {"token": token, "past_bias": state.past_bias(), **state.source, **state.cache}
        given |= self._positions("decoder", state.size, 1)
        rows, _, _, size = state.source["source_bias"].shape
        found = self._step.run(given, n=len(token), r=rows, k=len(token) // rows, s=size)
        weights = found["weights"].view(len(token), 1, 1, -1)  # [r, n / r, s] -> [N, 1, 1, S]
        return Step(found["log_probs"], state.written(found), Weights.of(weights))

    @property
    def _width(self) -> int:
        return self._layout.weights["decoder/projection/weight"].shape[1] // self._layout.num_heads

    def _positions(self, side: str, start: int, size: int) -> dict[str, Tensor]:
        """Return the position inputs: rows of the position table, or rotary angles."""
        base = self._layout.rotary_base
        if base is None:
            table = self._layout.weights[f"{side}/position_encodings/encodings"]
            if start + size >= len(table):
                raise ValueError(f"max_length is beyond the model's {len(table) - 1} positions; lower max_length")
            return {"places": table[start : start + size]}
        positions = torch.arange(start, start + size, dtype=torch.float64, device="cpu")
        speeds = base ** -(torch.arange(0, self._width, 2, dtype=torch.float64, device="cpu") / self._width)
        angles = torch.outer(positions, speeds).repeat_interleave(2, 1)  # [t, D]
        return {"cosines": angles.cos().float(), "sines": angles.sin().float()}


@dataclass(frozen=True)
class OnnxState:
    """Decoder state: projected sources, and the key-value caches of all layers with spare capacity.

    Attributes:
        source: cross-attention keys and values of the sources, and their padding bias.
        cache: self-attention keys and values of the generated tokens, [N, H, c, D] each.
        size: number of the c cache positions in use.
        copies: number of adjacent sequences (hypotheses) per source.
    """

    source: dict[str, Tensor]
    cache: dict[str, Tensor]
    size: int
    copies: int

    def select(self, rows: Tensor) -> OnnxState:
        """Select, repeat or reorder the sequences of the batch by indices `rows` [B']."""
        numbers = rows.tolist()
        cache, count = self.cache, len(next(iter(self.cache.values())))
        if numbers != list(range(count)):
            cache = {name: each.index_select(0, rows) for name, each in cache.items()}
        owners = [row // self.copies for row in numbers]
        kept = list(dict.fromkeys(owners))
        copies = len(owners) // len(kept)
        if owners != [row for row in kept for _ in range(copies)]:
            kept, copies = owners, 1
        source = self.source
        if kept != list(range(len(source["source_bias"]))):
            chosen = torch.tensor(kept, device="cpu")
            source = {name: each.index_select(0, chosen) for name, each in source.items()}
        return OnnxState(source, cache, self.size, copies)

    def with_room(self) -> OnnxState:
        """Return a state whose caches have at least one free position."""
        if self.size < next(iter(self.cache.values())).shape[2]:
            return self
        return replace(
            self, cache={name: nn.functional.pad(each, (0, 0, 0, _SPARE)) for name, each in self.cache.items()}
        )

    def past_bias(self) -> Tensor:
        """Return the additive bias [c] that masks free cache positions."""
        bias = torch.full((next(iter(self.cache.values())).shape[2],), _HIDDEN, device="cpu")
        bias[: self.size] = 0.0
        return bias

    def written(self, found: dict[str, Tensor]) -> OnnxState:
        """Return the state after a step; new keys and values are written in place to the free position."""
        for name, each in self.cache.items():
            each[:, :, self.size] = found[name.removeprefix("past_")].squeeze(2)
        return replace(self, size=self.size + 1)


class _Runner:
    """Session of a graph that reads and writes torch tensors without copies."""

    def __init__(self, model: Any, threads: int) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        # Disable spinning: idle onnxruntime threads would otherwise take CPU time from torch's threads.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        self._outputs = [(output.name, output.shape) for output in self._session.get_outputs()]

    def run(self, given: dict[str, Tensor], **sizes: int) -> dict[str, Tensor]:
        """Compute the outputs; `sizes` are the dynamic dimensions by letter."""
        binding = self._session.io_binding()
        held = {name: each.contiguous() for name, each in given.items()}
        for name, each in held.items():
            binding.bind_input(name, "cpu", 0, _KINDS[each.dtype], each.shape, each.data_ptr())
        found = {}
        for name, letters in self._outputs:
            shape = [sizes[one] if isinstance(one, str) else one for one in letters]
            each = found[name] = torch.empty(shape, device="cpu")
            binding.bind_output(name, "cpu", 0, np.float32, shape, each.data_ptr())
        self._session.run_with_iobinding(binding)
        return found

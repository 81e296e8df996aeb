"""Modules of `regard.nn` with inputs of any length: what a compiled or exported program is compared with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from regard import Mask
from regard.nn import (
    CTC,
    LSTMN,
    Additive,
    Addressing,
    Aligner,
    Attention,
    AttentionOverAttention,
    Bilinear,
    Cells,
    Coattention,
    Concat,
    Cosine,
    DeepLSTMN,
    Dot,
    DoublyStochastic,
    ExternalMemory,
    Fertility,
    GlobalFertility,
    GraphAttention,
    Hard,
    History,
    KeyValue,
    LayerConfig,
    LayerState,
    LearnedPositions,
    LinearAligner,
    LocalM,
    LocalP,
    Location,
    LocationFeatures,
    LSTMNCell,
    Markov,
    MemoryHops,
    MultiHead,
    NTMHeads,
    NTMMemory,
    PairFactors,
    PointerSentinel,
    Position,
    Recurrent,
    Rotary,
    RowColumnLayer,
    ScaledDot,
    Score,
    ShallowFusion,
    SinusoidalPositions,
    SlotSoftmax,
    StructuredSelfAttention,
    Symmetry,
    TransformerLayer,
)
from regard.nn.shared_memory import SharedMemory

B, C, V = 3, 6, 11
Inputs = tuple[Tensor, ...]
Call = Callable[[Any, Inputs, "Mask | None", "Tensor | None"], object]


@dataclass(frozen=True)
class ModuleCase:
    """One module and a call of it.

    Attributes:
        make: the module.
        inputs: of a length.
        call: (module, inputs, mask, true lengths) -> whatever comes out; no mask comes with no lengths.
        masks: "any", "padding" (no causal one) or "none".
        unrolled: whether its program has a piece for each word, so that each length is compiled anew.
    """

    make: Callable[[], nn.Module]
    inputs: Callable[[int], Inputs]
    call: Call
    masks: str = "any"
    unrolled: bool = False


def words(count: int = 1, dim: int = C) -> Callable[[int], Inputs]:
    return lambda length: tuple(torch.randn(B, length, dim) for _ in range(count))


def _read(module: Any, given: Inputs, mask: Mask | None, lengths: Tensor | None) -> object:
    return module(given[0], mask=mask)


def _both_masked(module: Any, given: Inputs, mask: Mask | None, lengths: Tensor | None) -> object:
    return module(*given, mask, mask)


def _unmasked(module: Any, given: Inputs, mask: Mask | None, lengths: Tensor | None) -> object:
    return module(*given)


def _masked(module: Any, given: Inputs, mask: Mask | None, lengths: Tensor | None) -> object:
    return module(*given, mask)


def _external(module: Any, given: Inputs, mask: Mask | None, lengths: Tensor | None) -> object:
    own = SharedMemory(module.remember(given[0], mask=mask))
    return ExternalMemory(own, module.remember(given[1])).read(module, given[0], None)


def _recurrent(module: Any, given: Inputs, mask: Mask | None, lengths: Tensor | None) -> object:
    outputs, state = module(given[0], lengths)
    return outputs, state.hidden


def _ctc_loss(module: Any, given: Inputs, mask: Mask | None, lengths: Tensor | None) -> object:
    return module.loss(*given, lengths)


def _pointer(module: Any, given: Inputs, mask: Mask | None, lengths: Tensor | None) -> object:
    hidden, ids, logits = given
    out = module(hidden, hidden, ids, logits.log_softmax(-1), mask)
    return out.log_probs, out.gate


def _decode(module: Any, given: Inputs, mask: Mask | None, lengths: Tensor | None) -> object:
    step = module.extend(given[0], module.remember(given[1], mask))
    return step.output, step.attended


def _fused(module: Any, given: Inputs, mask: Mask | None, lengths: Tensor | None) -> object:
    return module(given[0][:, :1], module.start(given[0], mask)).output


SCORES: dict[str, Callable[[int], Score]] = {
    "additive": lambda heads: Additive(C, C, 5, num_heads=heads),
    "additive-position": lambda heads: Additive(C, C, 5, num_heads=heads, terms=[Position()]),
    "concat": lambda heads: Concat(C, C, 5, num_heads=heads),
    "bilinear": lambda heads: Bilinear(C, C, num_heads=heads),
    "dot": lambda heads: Dot(C, C, 4, num_heads=heads),
    "scaled-dot": lambda heads: ScaledDot(C, C, 4, num_heads=heads),
    "cosine": lambda heads: Cosine(C, C, num_heads=heads),
    "location": lambda heads: Location(C, 20, num_heads=heads),
    "rotary": lambda heads: Rotary(ScaledDot(C, C, 4, num_heads=heads)),
}
ALIGNERS: dict[str, Callable[[], Aligner]] = {
    "linear": LinearAligner,
    "local-m": lambda: LocalM(2),
    "local-m-held": lambda: LocalM(2, hold=True),
    "local-p": lambda: LocalP(C, window=2),
    "hard": Hard,
    "slots": lambda: SlotSoftmax(20),
}
PAST = [Markov, Fertility, lambda: History(2), lambda: LocationFeatures(3, reach=1)]


def _attention(score: str) -> Callable[[], nn.Module]:
    return lambda: Attention(SCORES[score](1))


def _heads(score: str) -> Callable[[], nn.Module]:
    return lambda: MultiHead(SCORES[score](2), value_dim=C, head_dim=3, output_dim=C)


def _aligned(aligner: str) -> Callable[[], nn.Module]:
    return lambda: Attention(Additive(C, C, 5), ALIGNERS[aligner]())


def _layer(cells: str) -> Callable[[], nn.Module]:
    return lambda: Recurrent(C, 5, Cells(kind=cells, num_layers=2), bidirectional=True)


def story(length: int) -> Inputs:
    return torch.randint(1, V, (B, length, 4)), torch.randint(1, V, (B, 3))


def frames(length: int) -> Inputs:
    return torch.randn(B, length + 8, C), torch.randint(1, 5, (B, 3))


def pointed(length: int) -> Inputs:
    return torch.randn(B, length, C), torch.randint(V, (B, length)), torch.randn(B, length, V)


def graph(length: int) -> Inputs:
    return torch.randn(length, C), torch.randint(0, length, (2, 4 * length))


def _blocks(**options: Any) -> LayerConfig:
    return LayerConfig(dim=8, num_heads=2, dropout=0.0, **options)


MODULES: dict[str, ModuleCase] = {
    **{f"attention-{name}": ModuleCase(_attention(name), words(), _read) for name in SCORES},
    **{f"multi-head-{name}": ModuleCase(_heads(name), words(), _read) for name in SCORES},
    **{f"aligner-{name}": ModuleCase(_aligned(name), words(), _read) for name in ALIGNERS},
    "aligner-addressing": ModuleCase(
        lambda: Attention(Additive(C, C, 5), Addressing(C)), words(), _read, unrolled=True
    ),
    "terms-of-the-past": ModuleCase(
        lambda: Attention(Additive(C, C, 5, terms=[make() for make in PAST])), words(), _read, unrolled=True
    ),
    "key-value": ModuleCase(
        lambda: KeyValue(Attention(Additive(C, 2, 5)), 2), words(), lambda m, x, mask, _: m(x[0], x[0], mask)
    ),
    "structured": ModuleCase(lambda: StructuredSelfAttention(C, 5, 2), words(), _masked, "padding"),
    "coattention": ModuleCase(lambda: Coattention(C), words(2), _both_masked, "padding"),
    "attention-over-attention": ModuleCase(AttentionOverAttention, words(2), _both_masked, "padding"),
    "memory-hops": ModuleCase(lambda: MemoryHops(V, 5, 2, noise=0.0), story, _masked, "padding"),
    "memory-hops-layerwise": ModuleCase(
        lambda: MemoryHops(V, 5, 2, tying="layerwise", noise=0.0), story, _masked, "padding"
    ),
    "lstmn": ModuleCase(lambda: LSTMN(C, 5), words(), _masked, "padding", unrolled=True),
    "deep-lstmn": ModuleCase(lambda: DeepLSTMN(C, 5, num_layers=2), words(), _masked, "padding", unrolled=True),
    "lstmn-cell": ModuleCase(
        lambda: LSTMNCell(C, 5), lambda _: (torch.randn(B, 1, C),), lambda m, x, mask, _: m(x[0], m.start(B)), "none"
    ),
    "pointer-sentinel": ModuleCase(lambda: PointerSentinel(C), pointed, _pointer),
    "sinusoidal": ModuleCase(lambda: SinusoidalPositions(C), words(), _unmasked, "none"),
    "learned-positions": ModuleCase(lambda: LearnedPositions(30, C), words(), _unmasked, "none"),
    "transformer-layer": ModuleCase(lambda: TransformerLayer(_blocks()), words(dim=8), _masked),
    "transformer-layer-rotary": ModuleCase(
        lambda: TransformerLayer(_blocks(rotary=True, norm="post")), words(dim=8), _masked
    ),
    "transformer-decoder-layer": ModuleCase(
        lambda: TransformerLayer(_blocks(), cross=True), words(2, dim=8), _decode, "padding"
    ),
    "transformer-past": ModuleCase(
        lambda: TransformerLayer(_blocks()), words(dim=8), lambda m, x, mask, _: m.extend(x[0], LayerState()).output,
        "none",
    ),
    **{
        f"recurrent-{name}": ModuleCase(_layer(name), words(), _recurrent, "padding", unrolled=True)
        for name in ("elman", "gru", "lstm")
    },
    "recurrent-step": ModuleCase(
        lambda: Recurrent(C, 5, "lstm"), lambda _: (torch.randn(B, C),),
        lambda m, x, mask, _: m.step(x[0], m.start(B))[0], "none",
    ),
    "ctc-read": ModuleCase(lambda: CTC(C, 5), frames, _unmasked, "none", unrolled=True),
    "ctc-loss": ModuleCase(lambda: CTC(C, 5), frames, _ctc_loss, "padding"),
    "graph": ModuleCase(lambda: GraphAttention(C, 3, 2, self_loops=False), graph, _unmasked, "none"),
    "doubly-stochastic": ModuleCase(DoublyStochastic, lambda n: (torch.rand(B, n),), _masked, "padding"),
    "global-fertility": ModuleCase(
        lambda: GlobalFertility(C, 5), lambda n: (torch.rand(B, n), torch.randn(B, n, C)), _masked, "padding"
    ),
    "symmetry": ModuleCase(Symmetry, lambda n: (torch.rand(B, n, n), torch.rand(B, n, n)), _unmasked, "none"),
    "pruned": ModuleCase(
        lambda: RowColumnLayer(3, C, row_units=2, column_units=2), lambda _: (torch.randn(B, 3, C),), _unmasked, "none"
    ),
    "factored": ModuleCase(
        lambda: PairFactors(3, C, factors=2), lambda _: tuple(torch.randn(2, B, 3, C)), _unmasked, "none"
    ),
    "heads-of-a-tape": ModuleCase(
        lambda: NTMHeads(C, 5), lambda n: (torch.randn(B, 1, C), torch.randn(B, n, 5)),
        lambda m, x, mask, _: m(x[0], NTMMemory(x[1])).read, "none",
    ),
    "shallow-fusion": ModuleCase(lambda: ShallowFusion(C, 5, source_dim=C), words(), _fused, "padding"),
    "external-memory": ModuleCase(
        lambda: Attention(Additive(C, C, 5)), lambda n: (torch.randn(B, n, C), torch.randn(1, 40, C)), _external,
        "padding",
    ),
}  # fmt: skip


def tensors(out: object) -> list[Tensor]:
    """The numbers of an outcome, its weights among them."""
    if isinstance(out, Tensor):
        return [out]
    if isinstance(out, tuple | list):
        return [tensor for part in out for tensor in tensors(part)]
    found = [part for name in ("context", "output") if isinstance(part := getattr(out, name, None), Tensor)]
    weights = getattr(out, "weights", None)
    return [*found, weights() if callable(weights) else cast(Tensor, weights)] if weights is not None else found

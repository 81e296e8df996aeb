"""Recurrent decoders with attention: an update that is computed as it comes, and one that is replayed.

    python benchmarks/recurrent.py

First a gate: losses and gradients of replayed updates against float64, beside those of plain PyTorch; a red gate
prints no times. Then forward and backward of a Bahdanau GRU (128 pairs of 30 words, 512 wide, 8,000 words), where its
time goes, other decoders, and batches as long and short as those of image descriptions. Two minutes at most. Without a
GPU the sizes are small and nothing is recorded: "replayed" is then what would be, computed again.
"""

from __future__ import annotations

import copy
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from regard.cuda_capture import recording
from regard.data.batching.batch import Batch
from regard.data.fields.tokenizer import Tokenizer
from regard.models import AttentionConfig, Bahdanau, Luong, SimpleAttention
from regard.nn.rnn import without_tf32
from regard.ops.attending_gru import attending_gru
from regard.specials import BOS, EOS, PAD
from regard.systems.translation.task import Translation
from regard.tasks.loss import token_loss
from regard.train.cuda_graphs import CudaUpdateGraphs, Recorder, UpdateGraphs
from regard.train.objective import Objective

CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if CUDA else "cpu")
BATCH, WORDS, WIDTH, VOCABULARY = (128, 30, 512, 8000) if CUDA else (16, 8, 64, 500)
GATE: dict[str, int] = {"batch": 14, "source": 11, "target": 11}
REPEATS = 15 if CUDA else 5


def main() -> None:
    torch.manual_seed(0)
    if not CUDA:
        torch.set_num_threads(2)
    print(f"{torch.cuda.get_device_name() if CUDA else 'CPU, 2 threads'}, torch {torch.__version__}\n")
    green = [*map(gate, MODELS), fresh_draws()]
    if not all(green):
        sys.exit("the gate is red; no times")
    rows = [row for name in MODELS for row in whole(name)]
    rows += narrower() + parts()
    rows += mixed()
    print(f"\nforward and backward, B={BATCH}, S=T={WORDS}, {WIDTH} wide, {VOCABULARY} words, float32, ms")
    print(f"{'':50}{'as it comes':>12}{'replayed':>10}{'ratio':>7}")
    for label, plain, replayed in rows:
        left = "" if plain is None else f"{plain:.2f}"
        ratio = "" if plain is None else f"{plain / replayed:.1f}"
        print(f"{label:50}{left:>12}{replayed:>10.2f}{ratio:>7}")


Row = tuple[str, float | None, float]
MODELS: dict[str, Callable[[int, float], nn.Module]] = {
    "Bahdanau, GRU": lambda width, dropout: Bahdanau(*sizes(width, dropout)[0], **sizes(width, dropout)[1]),
    "Bahdanau, LSTM, 4 heads": lambda width, dropout: Bahdanau(
        *sizes(width, dropout)[0], **sizes(width, dropout)[1], cells="lstm", attention=AttentionConfig(num_heads=4)
    ),
    "Luong with feeding, LSTM": lambda width, dropout: Luong(*sizes(width, dropout)[0], **sizes(width, dropout)[1]),
    "SimpleAttention": lambda width, dropout: SimpleAttention(*sizes(width, dropout)[0], **sizes(width, dropout)[1]),
}


def sizes(width: int, dropout: float) -> tuple[tuple[int, int], dict[str, Any]]:
    return (VOCABULARY, VOCABULARY), {"embedding_dim": width // 2, "hidden_dim": width, "dropout": dropout}


def objective(name: str, *, width: int = WIDTH, dropout: float = 0.0) -> Objective:
    words = Tokenizer.train([" ".join(str(number) for number in range(9))], kind="words")
    task = Translation({"source": words, "target": words}, smoothing=0.1)
    return Objective(MODELS[name](width, dropout).to(DEVICE).train(), task)


def some_batch(batch: int, source: int, target: int, *, full: bool = False) -> Batch:
    """Random pairs; the first is as long as can be, and all of them with `full`."""
    lengths = torch.randint(1, source + 1, (batch,))
    wanted = torch.randint(1, target + 1, (batch,))
    lengths[0], wanted[0] = source, target
    if full:
        lengths[:], wanted[:] = source, target
    ids = torch.randint(EOS + 1, VOCABULARY, (batch, source))
    said = torch.randint(EOS + 1, VOCABULARY, (batch, target + 1))
    said[:, 0] = BOS
    tensors = {
        "source": ids.masked_fill(torch.arange(source) >= lengths.unsqueeze(1), PAD),
        "source_lengths": lengths,
        "target": said.masked_fill(torch.arange(target + 1) > wanted.unsqueeze(1), PAD),
    }
    return Batch(tensors, tuple(range(batch)), int(wanted.sum())).to(DEVICE)


def recorder() -> Recorder:
    """CUDA graphs; on a CPU what is to be recorded is done again."""

    def again(run: Callable[[], None]) -> Callable[[], None]:
        run()
        return run

    return CudaUpdateGraphs() if CUDA else again


def learned(made: Objective, batch: Batch) -> list[Tensor]:
    """The loss and all gradients, as they come."""
    total, _, _ = made(batch, 0)
    return [total.detach(), *torch.autograd.grad(total, list(made.parameters()))]


def gate(name: str) -> bool:
    """Whether a replayed update errs no more than twice what plain PyTorch does, and a few rounding steps."""
    made = objective(name, width=64)
    wide = copy.deepcopy(made).double()
    batch = some_batch(GATE["batch"], GATE["source"], GATE["target"])
    graphs = UpdateGraphs(made, record=recorder())
    with without_tf32():
        truth, plain = learned(wide, batch), learned(made, batch)
        graphs.learn(some_batch(GATE["batch"] - 1, GATE["source"] - 1, GATE["target"] - 2), 0, 1.0)  # of the same shape
        made.zero_grad(set_to_none=False)
        total, _, _ = graphs.learn(batch, 0, 1.0)
    replayed = [total, *(parameter.grad for parameter in made.parameters() if parameter.grad is not None)]
    scale = max(float(part.abs().max()) for part in truth[1:])
    green = len(replayed) == len(truth)
    worst = 0.0
    for place, (ours, theirs, true) in enumerate(zip(replayed, plain, truth, strict=True)):
        steps = 8 * torch.finfo(torch.float32).eps * (scale if place else float(true.abs()))
        mine, other = (float((part.double() - true).abs().max()) for part in (ours, theirs))
        worst = max(worst, mine / (2 * other + steps))
    green = green and worst <= 1.0
    print(f"gate, {name}: {'green' if green else 'RED'}, {worst:.2f} of the error that is allowed", flush=True)
    return green


def fresh_draws() -> bool:
    """Whether two replays drop other channels, and the same after the same seed."""
    graphs = UpdateGraphs(objective("Bahdanau, GRU", width=64, dropout=0.5), record=recorder())
    batch = some_batch(GATE["batch"], GATE["source"], GATE["target"])
    losses = []
    for seed in (1, None, 1):
        if seed is not None:
            torch.manual_seed(seed)
        losses.append(float(graphs.learn(batch, 0, 1.0)[0]))
    green = losses[0] != losses[1] and losses[0] == losses[2]
    print(f"gate, dropout: {'green' if green else 'RED'}, losses {', '.join(f'{loss:.3f}' for loss in losses)}")
    return green


def timed(*runs: Callable[[], object]) -> list[float]:
    """Milliseconds of each, the median of interleaved readings."""
    for run in runs:
        run()
        run()
    readings: list[list[float]] = [[] for _ in runs]
    for _ in range(REPEATS):
        for run, found in zip(runs, readings, strict=True):
            synchronize()
            begin = time.perf_counter()
            run()
            synchronize()
            found.append(1000 * (time.perf_counter() - begin))
    return [statistics.median(found) for found in readings]


def synchronize() -> None:
    if CUDA:
        torch.cuda.synchronize()


def whole(name: str, *, narrow: bool = False) -> list[Row]:
    made = objective(name)
    made.narrow = narrow
    batch = some_batch(BATCH, WORDS, WORDS, full=True)
    graphs = UpdateGraphs(made, record=recorder())
    plain, replayed = timed(lambda: learned(made, batch), lambda: graphs.learn(batch, 0, 1.0))
    return [(name, plain, replayed)]


def narrower() -> list[Row]:
    """The Bahdanau GRU with products that are rounded: to TF32 on a GPU, to bfloat16."""
    name, found = "Bahdanau, GRU", []
    if CUDA:
        settings: Any = torch.backends.cuda.matmul
        before, settings.fp32_precision = settings.fp32_precision, "tf32"
        found += [(f"{name}, TF32", *whole(name)[0][1:])]
        settings.fp32_precision = before
    return [*found, (f"{name}, bfloat16", *whole(name, narrow=True)[0][1:])]


def parts() -> list[Row]:
    """Where the time of the Bahdanau GRU goes: each part recorded alone."""
    made = objective("Bahdanau, GRU")
    model, batch = made.model, some_batch(BATCH, WORDS, WORDS, full=True)
    assert isinstance(model, Bahdanau)
    target = batch["target"][:, 1:]

    def leaf(*shape: int) -> Tensor:
        return (0.1 * torch.randn(shape, device=DEVICE)).requires_grad_()

    def encode(*, back: bool) -> None:
        with recording():
            encoded = model.encoder(batch["source"], batch["source_lengths"])
        if back:
            torch.autograd.grad(encoded.states.sum(), list(model.encoder.parameters()))

    embedded, both = leaf(BATCH, WORDS, WIDTH // 2), model.encoder.layers.layers

    def at_once() -> None:
        torch.autograd.grad(both(embedded)[0].sum(), [embedded, *both.parameters()])

    given = [leaf(WORDS, BATCH, 3 * WIDTH), leaf(BATCH, WIDTH), leaf(BATCH, WORDS, WIDTH)]
    given += [leaf(BATCH, WORDS, 3 * WIDTH), leaf(4 * WIDTH, WIDTH), leaf(4 * WIDTH), leaf(WIDTH)]
    every = torch.ones(BATCH, WORDS, dtype=torch.bool, device=DEVICE)

    def loop(*, back: bool, impl: str | None = None) -> None:
        states, _ = attending_gru(*given[:4], every, *given[4:], impl=impl)
        if back:
            torch.autograd.grad(states.sum(), given)

    features = [leaf(BATCH, WORDS, size) for size in (WIDTH, WIDTH // 2, 2 * WIDTH)]
    layers = [*features, *model.readout.parameters(), *model.output_map.parameters()]

    def say(*, back: bool) -> None:
        total, _ = token_loss(model.output(*features), target, padding=PAD, smoothing=0.1)
        if back:
            torch.autograd.grad(total, layers)

    record = recorder()
    runs: dict[str, Callable[[], None]] = {
        "  encoder, forward": lambda: encode(back=False),
        "  encoder, forward and backward": lambda: encode(back=True),
        "  its layers in one call, without lengths": at_once,
        "  loop, forward": lambda: loop(back=False),
        "  loop, forward and backward": lambda: loop(back=True),
        "  loop in plain PyTorch, forward and backward": lambda: loop(back=True, impl="reference"),
        "  output layer and loss, forward": lambda: say(back=False),
        "  output layer and loss, forward and backward": lambda: say(back=True),
    }
    found = timed(*(record(run) for run in runs.values()))
    return [(label, None, each) for label, each in zip(runs, found, strict=True)]


def mixed() -> list[Row]:
    """Batches of pairs of similar length, of 4 to 40 words, 13 on average."""
    made = objective("Bahdanau, GRU", dropout=0.5)
    count = 40 if CUDA else 6
    lengths = (torch.randn(count * BATCH) * 4.5 + 13).clamp(4, 40).round().long().sort().values.view(count, BATCH)
    batches = [some_batch(BATCH, int(row[-1]), max(3, int(row[-1]) - number % 3)) for number, row in enumerate(lengths)]
    graphs = UpdateGraphs(made, record=recorder())

    def plain() -> None:
        for batch in batches:
            learned(made, batch)

    def replayed() -> None:
        for batch in batches:
            graphs.learn(batch, 0, 1.0)

    synchronize()
    begin = time.perf_counter()
    replayed()
    synchronize()
    first = time.perf_counter() - begin
    one, other = timed(plain, replayed)
    print(f"\nmixed lengths: {len(graphs)} shapes of {count} batches recorded in {first:.1f} s")
    if CUDA:
        print(f"memory reserved: {torch.cuda.max_memory_reserved() / 2**30:.1f} GiB")
    return [(f"Bahdanau, GRU, {count} batches of mixed lengths, each", one / count, other / count)]


if __name__ == "__main__":
    main()

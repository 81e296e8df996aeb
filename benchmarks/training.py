"""Target tokens a second in training: our models beside those of other toolkits.

    python -m benchmarks.training --threads 1 --rounds 5
    python -m benchmarks.training --updates 100 --warm 400 --precision bfloat16      on a GPU, where there is one

First the gate: our loss of a fixed batch is that of PyTorch's formula. Then every system makes complete updates
(forward, backward, clipping, Adam) in turn, each in a process of its own and with its own batches of about the same
size, and the tokens that are no padding are counted. Smoothing, dropout and widths are the same where a toolkit has
them; the number of parameters says where they are not. transformers, JoeyNMT and OpenNMT-py take part where they can
be imported; on a GPU transformers alone. Every process keeps freed memory, as ours does by itself; `--memory shipped`
leaves the others as they come. Ours records its updates there, so `--warm` must be long enough for most
shapes to come by.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import logging
import os
import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import BatchSampler, RandomSampler

from benchmarks.worker import CLOCKS, Timed, Worker
from regard.recipes.load import check
from regard.recipes.yaml_document import RecipeDocument
from regard.runs.checkpoint import Progress
from regard.runs.run import Run
from regard.specials import PAD, SPECIALS
from regard.train.screen import Screen
from regard.train.trainer import Trainer

PAIRS, WORDS, DIM, HEADS, HIDDEN, LAYERS, EMBEDDING, STATE = 29_000, 8000, 256, 4, 1024, 3, 256, 512
TOKENS = 4096
"""Target tokens of a batch, at most."""
DROPOUT, SMOOTHING, CLIP, RATE = 0.1, 0.1, 1.0, 1e-4
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

Pair = tuple[list[int], list[int]]
"""The ids of a source and a target, without beginning and end, none of them special."""

RECIPE = """\
run: training
data:
  format: pairs
  train: {{source: {source}, target: {target}}}
  valid: {{source: {source}, target: {target}}}
tokenizer: {{kind: words, split: whitespace, size: {words}, joint: true}}
model: {model}
train:
  steps: 1000000
  batch: {{tokens: {tokens}}}
  optimizer: {{name: adam, rate: {rate}}}
  label_smoothing: {smoothing}
  clip: {clip}
  precision: {precision}
evaluate: {{metrics: [bleu]}}
"""


class System(NamedTuple):
    """A model that learns, and what one complete update does; it gives the number of target tokens."""

    model: nn.Module
    update: Callable[[], int]

    def updates(self, count: int) -> tuple[int, int]:
        """So many of them: the parameters of the model, and the tokens of all updates."""
        tokens = sum(self.update() for _ in range(count))
        wait()
        return sum(parameter.numel() for parameter in self.model.parameters()), tokens


def main() -> None:
    options = parse()
    with tempfile.TemporaryDirectory() as folder:
        if options.data is None:
            source, target = synthetic(Path(folder))
        else:
            source, target = options.data
        for kind in options.models:
            with contextlib.ExitStack() as stack:
                runs = make_runs(kind, source, target, Path(folder) / kind, options, stack)
                print(table(kind, timed(runs, options), options), flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=1, help="threads of every system")
    parser.add_argument("--rounds", type=int, default=5, help="times that each is timed; the median counts")
    parser.add_argument("--updates", type=int, default=2, help="updates of a round")
    parser.add_argument("--warm", type=int, default=2, help="updates of each before the first round")
    parser.add_argument(
        "--memory",
        choices=["same", "shipped"],
        default="same",
        help="freed memory kept by every system, or by ours alone",
    )
    parser.add_argument("--precision", choices=["float32", "tf32", "bfloat16"], default="float32")
    parser.add_argument("--models", nargs="+", default=["transformer", "bahdanau"])
    parser.add_argument("--data", type=Path, nargs=2, metavar=("SOURCE", "TARGET"), help="texts; None to make some up")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu, for one thread on a busy machine")
    return parser.parse_args()


def synthetic(folder: Path) -> tuple[Path, Path]:
    """Pairs of texts as long as image descriptions: 14 words, give or take 4, and the two of a pair alike."""
    random = np.random.default_rng(0)
    source = random.normal(14, 4, PAIRS)
    target = 14 + 0.8 * (source - 14) + random.normal(0, 2.4, PAIRS)
    paths = folder / "source", folder / "target"
    for path, lengths in zip(paths, (source, target), strict=True):
        rows = (random.integers(0, WORDS - len(SPECIALS), max(3, round(length))) for length in lengths)
        path.write_text("".join(" ".join(f"w{word}" for word in row) + "\n" for row in rows))
    return paths


def make_runs(
    kind: str, source: Path, target: Path, folder: Path, options: argparse.Namespace, stack: contextlib.ExitStack
) -> dict[str, Timed]:
    """Ours, which must pass its gate, and those of the others that are here."""
    trainer = make_trainer(kind, source, target, folder / "gate", options.precision)
    gate(trainer)
    pairs = pairs_of(trainer)
    ours = (make_ours, kind, source, target, folder / "run", options.precision)
    peers = {name: (make_peer, name, kind, pairs, options.precision) for name in PEERS}
    wanted: dict[str, tuple[Any, ...]] = {"regard": ours, **peers}
    runs: dict[str, Timed] = {}
    for name, how in wanted.items():
        try:
            worker = stack.enter_context(
                Worker(*how, threads=options.threads, clock=options.clock, reuse=options.memory == "same")
            )
        except ImportError as error:
            print(f"{name} is left out: {error}")
            continue
        if worker.able:
            runs[name] = worker
    return runs


def make_ours(kind: str, source: Path, target: Path, folder: Path, precision: str) -> Callable[[int], tuple[int, int]]:
    """Our updates, so many at a call."""
    return ours(make_trainer(kind, source, target, folder, precision)).updates


def make_peer(name: str, kind: str, pairs: list[Pair], precision: str) -> Callable[[int], tuple[int, int]] | None:
    """Those of another; None where it has no such model."""
    system = PEERS[name](kind, pairs, precision)
    return None if system is None else system.updates


def make_trainer(kind: str, source: Path, target: Path, folder: Path, precision: str) -> Trainer:
    model = {
        "transformer": f"{{kind: transformer, num_layers: {LAYERS}, dim: {DIM}, num_heads: {HEADS}, "
        f"hidden_dim: {HIDDEN}, dropout: {DROPOUT}, tied: all}}",
        "bahdanau": f"{{kind: bahdanau, embedding_dim: {EMBEDDING}, hidden_dim: {STATE}, dropout: {DROPOUT}}}",
    }[kind]
    text = RECIPE.format(
        source=source.resolve(), target=target.resolve(), words=WORDS, model=model, tokens=2 * TOKENS, rate=RATE,
        smoothing=SMOOTHING, clip=CLIP, precision=precision,
    )  # fmt: skip
    return Trainer(check(RecipeDocument.parse(text, "training.yaml")).recipe, Run(folder), screen=Screen(quiet=True))


def gate(trainer: Trainer) -> None:
    """Nothing is timed whose loss is not PyTorch's, of the same logits."""
    batch = trainer.feed.batch(next(iter(trainer.feed.after(0, 0)))).to(DEVICE)
    model: Any = trainer.model.eval()
    with torch.no_grad():
        logits = model(batch["source"], batch["source_lengths"], batch["target"][:, :-1]).logits
        wanted = F.cross_entropy(
            logits.flatten(0, 1), batch["target"][:, 1:].flatten(), ignore_index=PAD, label_smoothing=SMOOTHING,
            reduction="sum",
        )  # fmt: skip
        got = trainer.task.loss(model, batch, update=0).total
    if not torch.allclose(got, wanted, rtol=1e-5):
        raise SystemExit(f"gate: our loss is {got.item()}, that of PyTorch {wanted.item()}")
    model.train()


def ours(trainer: Trainer) -> System:
    """The updates of our training loop, as `regard train` makes them."""
    progress = Progress()
    places = trainer.feed.after(0, 0)

    def update() -> int:
        tokens = trainer.updater.update([next(places)], progress).tokens
        progress.step += 1
        return tokens

    return System(trainer.model, update)


def pairs_of(trainer: Trainer) -> list[Pair]:
    """The corpus that our training reads."""
    corpus, first = trainer.setup.train.corpus, len(SPECIALS)
    fields = [(one["source"], one["target"]) for one in (corpus[index] for index in range(len(corpus)))]
    return [(source.clip(first).tolist(), target.clip(first).tolist()) for source, target in fields]


def marian(kind: str, pairs: list[Pair], precision: str) -> System | None:
    """Marian in transformers, batches and smoothing as its Trainer has them with `group_by_length`."""
    if kind != "transformer":
        return None
    transformers: Any = importlib.import_module("transformers")
    parts: Any = importlib.import_module("transformers.trainer_pt_utils")
    pad, eos = 0, 3
    config = transformers.MarianConfig(
        vocab_size=WORDS, d_model=DIM, encoder_layers=LAYERS, decoder_layers=LAYERS, encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS, encoder_ffn_dim=HIDDEN, decoder_ffn_dim=HIDDEN, pad_token_id=pad,
        eos_token_id=eos, decoder_start_token_id=pad, forced_eos_token_id=None, max_position_embeddings=512,
        scale_embedding=True, dropout=DROPOUT, attention_dropout=DROPOUT, activation_dropout=DROPOUT,
    )  # fmt: skip
    model = transformers.MarianMTModel(config).to(DEVICE).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, fused=True)
    smoother = parts.LabelSmoother(epsilon=SMOOTHING)
    size = round(TOKENS / (1 + statistics.mean(len(target) for _, target in pairs)))
    sampler = parts.LengthGroupedSampler(size, lengths=[len(source) for source, _ in pairs])
    batches = endless(BatchSampler(sampler, size, drop_last=True))

    def update() -> int:
        some = [pairs[index] for index in next(batches)]
        source = padded([[*source, eos] for source, _ in some], pad).to(DEVICE)
        labels = padded([[*target, eos] for _, target in some], -100).to(DEVICE)
        with torch.autocast(DEVICE.type, torch.bfloat16, enabled=precision == "bfloat16"):
            said = model(
                input_ids=source,
                attention_mask=(source != pad).long(),
                decoder_input_ids=model.prepare_decoder_input_ids_from_labels(labels),
            )
            loss = smoother(said, labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        model.zero_grad()
        return sum(len(target) + 1 for _, target in some)

    return System(model, update)


def joey(kind: str, pairs: list[Pair], precision: str) -> System | None:
    """JoeyNMT, batches of its `TokenBatchSampler` in random order, which is what it trains with."""
    if DEVICE.type == "cuda" or precision != "float32":
        return None
    building: Any = importlib.import_module("joeynmt.model")
    batching: Any = importlib.import_module("joeynmt.batch")
    sampling: Any = importlib.import_module("joeynmt.datasets")
    vocabularies: Any = importlib.import_module("joeynmt.vocabulary")
    bos, eos, pad = 2, 3, 1
    specials = SimpleNamespace(
        unk_token="<unk>", pad_token="<pad>", bos_token="<s>", eos_token="</s>", sep_token=None, lang_tags=[],
        unk_id=0, pad_id=pad, bos_id=bos, eos_id=eos, sep_id=None,
    )  # fmt: skip
    words = vocabularies.Vocabulary([f"w{word}" for word in range(WORDS - 4)], specials)
    model = building.build_model(JOEY[kind](), words, words).train()
    model.loss_function = "crossentropy", SMOOTHING
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    data = Numbered(pairs)
    sampler = RandomSampler(data, generator=torch.Generator().manual_seed(0))
    batches = endless(sampling.TokenBatchSampler(sampler, TOKENS, drop_last=True, seed=0))

    def update() -> int:
        some = [pairs[index] for index in next(batches)]
        batch = batching.Batch(
            padded([[*source, eos] for source, _ in some], pad),
            torch.tensor([len(source) + 1 for source, _ in some]), None,
            padded([[bos, *target, eos] for _, target in some], pad), None,
            torch.arange(len(some)), torch.device("cpu"), pad, eos,
        )  # fmt: skip
        batch.sort_by_src_length()
        loss, *_ = model(return_type="loss", **vars(batch))
        batch.normalize(loss, "tokens").backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        model.zero_grad()
        return int(batch.ntokens)

    return System(model, update)


class Numbered:
    """Pairs as the data set of JoeyNMT gives them: number, source, target."""

    def __init__(self, pairs: list[Pair]) -> None:
        self.pairs = pairs

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, index: int) -> tuple[int, list[int], list[int]]:
        return (index, *self.pairs[index])


def _joey_transformer() -> dict[str, Any]:
    words = {"embedding_dim": DIM, "scale": True, "dropout": DROPOUT}
    layers = {
        "type": "transformer", "num_layers": LAYERS, "num_heads": HEADS, "hidden_size": DIM, "ff_size": HIDDEN,
        "dropout": DROPOUT, "embeddings": words, "layer_norm": "pre",
    }  # fmt: skip
    return {"encoder": layers, "decoder": layers, "tied_embeddings": True, "tied_softmax": True}


def _joey_bahdanau() -> dict[str, Any]:
    words = {"embedding_dim": EMBEDDING, "dropout": DROPOUT}
    layers = {"rnn_type": "gru", "hidden_size": STATE, "num_layers": 1, "dropout": DROPOUT, "embeddings": words}
    decoder = {"attention": "bahdanau", "input_feeding": True, "hidden_dropout": DROPOUT, "init_hidden": "bridge"}
    return {
        "encoder": {"type": "recurrent", "bidirectional": True, **layers},
        "decoder": {"type": "recurrent", **layers, **decoder},
    }


def opennmt(kind: str, pairs: list[Pair], precision: str) -> System | None:
    """OpenNMT-py, all pairs in one bucket, which is sorted by length and cut into batches in random order.

    The two directions of its recurrent encoder are together as wide as its decoder; ours are so each.
    """
    if DEVICE.type == "cuda" or precision != "float32":
        return None
    parsing: Any = importlib.import_module("onmt.utils.parse")
    options: Any = importlib.import_module("onmt.opts")
    building: Any = importlib.import_module("onmt.model_builder")
    losses: Any = importlib.import_module("onmt.utils.loss")
    vocabularies: Any = importlib.import_module("pyonmttok")
    parser = parsing.ArgumentParser()
    options.train_opts(parser)
    needed = "-data {} -src_vocab none -save_model none"
    given = parser.parse_args(f"{needed} {OPENNMT[kind]()} -dropout {DROPOUT} -label_smoothing {SMOOTHING}".split())
    parser.update_model_opts(given)
    specials = ["<unk>", "<blank>", "<s>", "</s>"]
    words = vocabularies.build_vocab_from_tokens(
        [f"w{word}" for word in range(WORDS - len(specials))], maximum_size=0, special_tokens=specials
    )
    both = {"src": words, "tgt": words, "data_task": "seq2seq"}
    model = building.build_model(given, given, both, None, -1).train()
    compute = losses.LossCompute.from_opts(given, model, words)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    batches = endless(Bucket(pairs))
    pad, bos, eos = (words[special] for special in specials[1:])

    def update() -> int:
        some = next(batches)
        source = padded([source for source, _ in some], pad).unsqueeze(2)
        target = padded([[bos, *target, eos] for _, target in some], pad).unsqueeze(2)
        lengths = torch.tensor([len(source) for source, _ in some])
        tokens = sum(len(target) + 1 for _, target in some)
        optimizer.zero_grad(set_to_none=True)
        said, attended = model(source, target, lengths, with_align=False)
        loss, _ = compute({"src": source, "tgt": target, "srclen": lengths}, said, attended)
        (loss / tokens).backward()
        if model.decoder.state != {}:
            model.decoder.detach_state()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        return tokens

    return System(model, update)


class Bucket:
    """The batches that OpenNMT-py cuts from its bucket."""

    def __init__(self, pairs: list[Pair]) -> None:
        self.pairs = pairs
        self.random = np.random.default_rng(0)

    def __iter__(self) -> Iterator[list[Pair]]:
        iterating: Any = importlib.import_module("onmt.inputters.dynamic_iterator")
        texts: Any = importlib.import_module("onmt.inputters.text_utils")
        bucket = [
            ({"src": {"src": number, "src_ids": source}, "tgt": {"tgt_ids": [2, *target, 3]}}, number)
            for number, (source, target) in enumerate(self.pairs)
        ]
        bucket.sort(key=lambda one: texts.text_sort_key(one[0]))
        owner = SimpleNamespace(task=iterating.CorpusTask.TRAIN)
        batches = list(iterating.DynamicDatasetIter.batch_iter(owner, bucket, TOKENS, "tokens"))
        for place in self.random.permutation(len(batches)):
            # Longest first, which packed sequences ask for.
            yield [self.pairs[number] for _, number in reversed(batches[place])]


def _opennmt_transformer() -> str:
    return (
        f"-encoder_type transformer -decoder_type transformer -layers {LAYERS} -hidden_size {DIM} -word_vec_size {DIM} "
        f"-heads {HEADS} -transformer_ff {HIDDEN} -attention_dropout {DROPOUT} -position_encoding -param_init 0 "
        "-param_init_glorot -share_embeddings -share_decoder_embeddings -share_vocab"
    )


def _opennmt_bahdanau() -> str:
    return (
        f"-encoder_type brnn -decoder_type rnn -rnn_type GRU -layers 1 -hidden_size {STATE} "
        f"-word_vec_size {EMBEDDING} -global_attention mlp"
    )


JOEY = {"transformer": _joey_transformer, "bahdanau": _joey_bahdanau}
OPENNMT = {"transformer": _opennmt_transformer, "bahdanau": _opennmt_bahdanau}
PEERS: dict[str, Callable[[str, list[Pair], str], System | None]] = {
    "transformers": marian,
    "joeynmt": joey,
    "OpenNMT-py": opennmt,
}


def endless(batches: Iterable[Any]) -> Iterator[Any]:
    """One epoch after the other."""
    while True:
        yield from batches


def padded(rows: list[list[int]], padding: int) -> Tensor:
    """[B, T]."""
    return nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=padding)


class Speed(NamedTuple):
    """The parameters of a system, and its tokens a second in each round."""

    parameters: int
    rounds: list[float]


def timed(runs: dict[str, Timed], options: argparse.Namespace) -> dict[str, Speed]:
    """All systems in turn."""
    speeds = {name: Speed(run(options.warm)[1][0], []) for name, run in runs.items()}
    for _ in range(options.rounds):
        for name, run in runs.items():
            seconds, (_, tokens) = run(options.updates)
            speeds[name].rounds.append(tokens / seconds)
    return speeds


def wait() -> None:
    """Until the device has done what was asked of it."""
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()


def table(kind: str, speeds: dict[str, Speed], options: argparse.Namespace) -> str:
    """The median of each, and how many times as fast ours is."""
    load = os.getloadavg()[0]
    machine = torch.cuda.get_device_name() if DEVICE.type == "cuda" else f"{options.threads} thread(s), load {load:.1f}"
    lines = [f"{kind}, {options.precision}: {machine}, {options.clock} clock, torch {torch.__version__}"]
    ours = speeds["regard"].rounds
    for name, (parameters, rounds) in speeds.items():
        speed = statistics.median(rounds)
        ratios = sorted(one / other for one, other in zip(ours, rounds, strict=True))
        lines.append(
            f"{name:14}{parameters:14,} parameters{speed:10,.0f} tokens/s   ours {statistics.median(ours) / speed:.2f} "
            f"times as fast (rounds: {ratios[0]:.2f} to {ratios[-1]:.2f})"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    logging.disable()
    main()

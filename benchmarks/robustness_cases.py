"""Cases of `robustness.py`: a command, how the folder is damaged before it, and how it has to end."""

from __future__ import annotations

import signal
from typing import NamedTuple

from benchmarks.robustness_lab import (
    Damage,
    aliases,
    all_of,
    cached,
    copied,
    flipped,
    held,
    in_all,
    not_a_number,
    packed,
    pattern,
    put,
    tensors,
)


class Case(NamedTuple):
    """One command of a user.

    Attributes:
        name: what is wrong, or tried.
        command: arguments of `regard`.
        says: part of what is printed.
        status: how it exits.
        damage: done to the folder before.
        stdin: standard input.
        memory: bytes of address space; None for no limit.
        stop: signal sent once there is a checkpoint.
        terminal: whether it prints to a terminal.
        process: whether it needs a process of its own although none of these is set: it would leave something behind.
    """

    name: str
    command: tuple[str, ...]
    says: str
    status: int = 2
    damage: Damage = lambda folder: None
    stdin: bytes | None = None
    memory: int | None = None
    stop: signal.Signals | None = None
    terminal: bool = False
    process: bool = False

    @property
    def alone(self) -> bool:
        """True if it needs a process of its own."""
        return self.process or self.terminal or self.memory is not None or self.stop is not None

    @property
    def quick(self) -> bool:
        """True if it takes a fraction of a second in a process that has imported PyTorch: nothing is trained."""
        return not self.alone and (self.status != 0 or self.command[0] != "train")


_RUN, _LABELS = "runs/digits", "runs/reviews"
_MORE = "train.steps=30"
_SQUAD = """\
run: squad
task: spans
data: {format: squad, train: squad.json, split: {valid: 0.1}}
tokenizer: {kind: wordpiece, size: 300}
model: {kind: span_reader, encoder: {kind: transformer, dim: 16, num_heads: 2, num_layers: 1, hidden_dim: 16}}
train: {steps: 5, batch: {sentences: 4}}
"""


def train(*overrides: str, recipe: str = "digits.yaml") -> tuple[str, ...]:
    """Arguments of `regard train`."""
    return ("train", recipe, *overrides)


def predict(*arguments: str, run: str = _RUN) -> tuple[str, ...]:
    """Arguments of `regard predict`."""
    return ("predict", run, *arguments)


def _tensor(name: str, says: str, damage: Damage) -> tuple[Case, ...]:
    """Weights that do not fit, for a run that answers and one that resumes."""
    spoilt = copied("digits", "other", damage)
    return (
        Case(f"{name}, to predict", predict("1 2", run="runs/other"), says, damage=spoilt),
        Case(f"{name}, to resume", train(_MORE, recipe="other.yaml"), says, damage=spoilt),
    )


def _cache(name: str, damage: Damage) -> tuple[Case, ...]:
    """Cached corpora that are no good: built again, for a run that is evaluated and one that resumes."""
    evaluate = ("evaluate", _LABELS, "--split", "valid")
    return (
        Case(f"{name}, to evaluate", evaluate, "accuracy", 0, damage),
        Case(f"{name}, to resume", train(_MORE), "finished after step 30", 0, damage),
    )


RUNS = (
    Case("a second training of one run", train(_MORE), "process 4711 on elsewhere", damage=held("digits")),
    Case("removing a run in training", ("runs", "digits", "--remove", "--yes"), "under way", damage=held("digits")),
    *(
        Case(f"{one.name}", train("run=stopped", "train.steps=100000"), "goes on from there", 128 + one, stop=one)
        for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
    ),
    Case("a time between checkpoints that is none", train("train.checkpoint_every=5x"), "write 90s, 5m or 1h"),
    Case("a time between checkpoints", train("run=other", "train.checkpoint_every=5m"), "finished after step 20", 0),
    Case("changed training data", train(_MORE, recipe="reviews.yaml"), "reviews.csv (train)", damage=put("reviews.csv",
         "text,label\n" + "".join(f"film {n} is new,{('good', 'very bad')[n % 2]}\n" for n in range(50)))),
    Case("the same, with --changed-data", (*train(_MORE, recipe="reviews.yaml"), "--changed-data"), "after step 30", 0,
         put("reviews.csv", "text,label\n" + "".join(f"film {n} is {('fine,good', 'dull,very bad')[n % 2]}\n"
                                                     for n in range(80)))),
    Case("a run that ended, again", train(), "ended before", 0),
    Case("an edited recipe", predict("1"), "take its lines out of", damage=flipped("runs/digits/recipe.yaml")),
    Case("a flipped byte in the model", predict("1"), "model.safetensors", damage=flipped(f"{_RUN}/model.safetensors")),
    Case("a flipped byte in the newest checkpoint", train(_MORE), "going on from", 0,
         flipped(f"{_RUN}/checkpoints/*/optimizer.safetensors")),
    Case("a flipped byte in every cache", train(_MORE), "finished after step 30", 0, flipped("runs/.cache/*/*.ids")),
    Case("a bad line in the log", train(_MORE), "metrics.damaged", 0,
         put(f"{_RUN}/metrics.jsonl", '{"step": 10, "split": "train", "loss": 2.0}\n\x00{"step"\n')),
)  # fmt: skip

TEXTS = (
    Case("a date that does not exist", train("run=2021-13-45"), "2021-13-45"),
    Case("a number that is none", train("train.steps=0x_"), "0x_"),
    Case("an integer of 5,000 digits", train(f"train.steps={'9' * 5000}"), "too long"),
    Case("half of a surrogate pair in a recipe", train(recipe="bad.yaml"), "bad.yaml, line 1",
         damage=put("bad.yaml", 'run: "\\ud800"\n')),
    Case("half of a surrogate pair in data", (*predict("--file", "bad.jsonl", "--source", "text", run=_LABELS),),
         "bad.jsonl:1", damage=put("bad.jsonl", '{"text": "\\ud800"}\n')),
    Case("a recipe that is not UTF-8", train(recipe="bad.yaml"), "not UTF-8", damage=put("bad.yaml", b"run: \xff\n")),
    Case("a byte that is not UTF-8 as a text", predict("a \udcff"), "not UTF-8"),
    Case("a byte that is not UTF-8 as a run", predict("1", run="runs/\udcff"), "is not a run"),
    Case("a folder named [/]", (*train(), "--runs", "[/]"), "[/]/digits", 0),
    Case("JSON nested 100,000 deep", predict("--file", "deep.jsonl", "--source", "text", run=_LABELS),
         "nested too deep", damage=put("deep.jsonl", '{"text": ' + "[" * 100_000 + "\n")),
    Case("SQuAD of another shape", train(recipe="squad.yaml"), "SQuAD",
         damage=all_of(put("squad.yaml", _SQUAD), put("squad.json", '{"data": 3}'))),
    Case("a .gz that is none", train("data.train=squad.json.gz", recipe="squad.yaml"), "gzip",
         damage=all_of(put("squad.yaml", _SQUAD), put("squad.json.gz", "hello"))),
    Case("escape sequences on a terminal", predict("a fine film", run="runs/other"), "␛[31m", 0, terminal=True,
         damage=copied("reviews", "other", put("labels.label.json", '["\\u001b[31mgood", "\\u001b[31mbad"]'))),
    Case("escape sequences in a pipe", predict("a fine film", run="runs/other"), "\x1b[31m", 0,
         damage=copied("reviews", "other", put("labels.label.json", '["\\u001b[31mgood", "\\u001b[31mbad"]'))),
    Case("multiword lines and empty nodes of CoNLL-U", train(recipe="tags.yaml"), "ADP DET", 0),
    Case("a regular expression that does not end", predict("1", run="runs/other"), "tokenizer",
         damage=copied("digits", "other", pattern("("))),
    Case("a regular expression that takes exponential time", predict("1" * 40, run="runs/other"), "regular expression",
         damage=copied("digits", "other", pattern("^(([0-9])+.)+[^0-9]$"))),
)  # fmt: skip

FILES = (
    *_tensor("a missing tensor", "is missing", tensors(lambda found, name: found.pop(name))),
    *_tensor("a tensor too many", "has no place", tensors(lambda found, name: found.update(x=found[name].clone()))),
    *_tensor("a misnamed tensor", "did you mean",
             tensors(lambda found, name: found.update({f"{name}x": found.pop(name)}))),
    *_tensor("a tensor of another type", "float16",
             tensors(lambda found, name: found.update({name: found[name].half()}))),
    *_tensor("a tensor of another shape", "is needed",
             tensors(lambda found, name: found.update({name: found[name].flatten()[:1].clone()}))),
    *_tensor("a tensor with NaN", "not finite", tensors(not_a_number)),
    Case("progress.json of another shape", train(_MORE, recipe="other.yaml"), "progress.json is damaged",
         damage=copied("digits", "other", in_all("checkpoints/*/progress.json", "[]"))),
    *_cache("corpus.json of another shape", in_all("runs/.cache/*/corpus.json", "[]")),
    *_cache("an id beyond the vocabulary in the cache", cached("ids", 1_000_000)),
    *_cache("a negative id in the cache", cached("ids", -7)),
    *_cache("offsets beyond the rows in the cache", cached("offsets", 10**12)),
    *_cache("a cache without checksums", cached("ids", 1_000_000, sealed=False)),
)  # fmt: skip

LIMITS = (
    Case("memory that runs out in training", train("run=other", "model.hidden_dim=20000"), "out of memory; make",
         memory=6 * 10**9),
    Case("memory that runs out in an answer", predict("--file", "long.txt", "--decode", "beam_size=3000", "--decode",
         "strategy=beam", "--decode", "max_length=50000", "--decode", "min_length=50000"), "out of memory",
         damage=put("long.txt", "1 2 3 " * 8000 + "\n"), memory=3 * 10**9),
    Case("1,000 bytes of YAML with aliases", train(recipe="bad.yaml"), "100,000 values",
         damage=put("bad.yaml", aliases())),
    Case("YAML nested 5,000 deep", train(recipe="bad.yaml"), "levels", damage=put("bad.yaml", "[" * 5000 + "]" * 5000)),
    Case("a text of 1 MB", predict("--file", "long.txt"), "decode.max_text",
         damage=put("long.txt", "3 1 4 " * 170_000)),
    Case("a text of 1 MB on standard input", predict(), "decode.max_text", stdin=b"3 1 4 " * 170_000),
    Case("a line of 256 MB in a .gz of 1 MB", predict("--file", "wide.txt.gz"), "10,000,000 bytes",
         damage=packed("wide.txt.gz", 256_000_000), process=True),
    Case("the same line, left out", predict("--file", "wide.txt.gz", "--bad-lines", "skip"), "1 line skipped", 0,
         packed("wide.txt.gz", 256_000_000), process=True),
    Case("/dev/zero to predict", predict("--file", "/dev/zero"), "1,000,000,000 bytes", process=True),
    Case("/dev/zero to train on", train("run=other", "data.train=/dev/zero", recipe="reviews.yaml"),
         "a pipe or a device"),
    Case("/dev/zero to evaluate on", ("evaluate", _LABELS, "/dev/zero"), "a pipe or a device"),
    Case("/dev/zero as a recipe", train(recipe="/dev/zero"), "a pipe or a device"),
)  # fmt: skip

FIRST_HOUR = (
    Case("a misspelt recipe", train(recipe="datse"), "did you mean dates?"),
    Case("a misspelt recipe of one's own", train(recipe="digit.yaml"), "did you mean digits.yaml?"),
    Case("a misspelt run", predict("1", run="runs/digts"), "did you mean runs/digits?"),
    Case("a run without its folder", predict("1", run="digits"), "did you mean runs/digits?"),
    Case("a misspelt key", train("train.stpes=3"), "did you mean steps?"),
    Case("a misspelt value", train("model.attention=aditive"), "did you mean additive?"),
    Case("a misspelt search setting", predict("1", "--decode", "beam_sise=3"), "did you mean beam_size?"),
    Case("a misspelt file to predict", predict("--file", "nwe.csv", run=_LABELS), "did you mean new.csv?"),
    Case("a misspelt file to evaluate", ("evaluate", _LABELS, "nwe.csv"), "did you mean new.csv?"),
    Case("another recipe for a run", train("model.hidden_dim=77"), "model.hidden_dim"),
    Case("a column that is not there, in a recipe", train("run=other", "data.source=txt", recipe="reviews.yaml"),
         "data.source"),
    Case("a column that is not there, to predict", predict("--file", "new.csv", "--source", "bdy", run=_LABELS),
         "--source"),
    Case("a column that is not there, to evaluate",
         ("evaluate", _LABELS, "new.csv", "--source", "body", "--target", "x"), "--target"),
    Case("columns of a CSV file", predict("--file", "new.csv", "--source", "body", run=_LABELS), "good\n\n", 0),
    Case("a blank line to evaluate on", ("evaluate", _LABELS, "new.csv", "--source", "body", "--target", "kind"),
         "--bad-lines skip"),
    Case("the same file, without that line", ("evaluate", _LABELS, "new.csv", "--source", "body", "--target", "kind",
         "--bad-lines", "skip", "--predictions", "kept.jsonl"), "macro", 0),
    Case("another encoding, in a recipe", train("run=other", "data.train=latin.csv", recipe="reviews.yaml"),
         "data.encoding=cp1252 reads 'na\u00efve,good'",
         damage=put("latin.csv", "text,label\nna\u00efve,good\n".encode("cp1252"))),
    Case("another encoding, to predict", predict("--file", "latin.txt", "--format", "lines"), "--encoding cp1252",
         damage=put("latin.txt", "na\u00efve\n".encode("cp1252"))),
    Case("several answers for several texts", predict("fine", "dull", "--n-best", "2", run=_LABELS), "\n\n-", 0),
    Case("several answers of greedy search", predict("1", "--n-best", "3"), "beam"),
    Case("runs, side by side", ("runs", "--compare"), "runs/reviews", 0),
    Case("a run to remove that is not there", ("runs", "digts", "--remove", "--yes"), "did you mean"),
    Case("removing a run", ("runs", "digits", "--remove", "--yes"), "removed runs/digits", 0),
    Case("time, before training", (*train("run=other"), "--dry-run"), "updates and all measurements, about", 0),
    Case("a metric that is not asked for selects", train("run=other", "evaluate.select=f1"),
         "it can be loss, exact_match"),
)  # fmt: skip

PARTS = (
    Case("a score of one's own", train("run=other", "plugins=[near]", "model.attention.score=distance"),
         "after step 20", 0, process=True),
    Case("a misspelt score of one's own", train("run=other", "plugins=[near]", "model.attention.score=distanc"),
         "did you mean distance?", process=True),
    Case("a misspelt plug-in", train("run=other", "plugins=[naer]"), "did you mean near?", process=True),
    Case("a plug-in with an error", train("run=other", "plugins=[wrong]"), "wrong.py:1", process=True,
         damage=put("wrong.py", "1 / 0\n")),
    Case("a module of Python as a plug-in", train("run=other", "plugins=[os]"), "a module of Python itself",
         process=True),
    Case("a CRF and letters of words", train("model.crf=true", "model.encoder.characters=lstm", recipe="tags.yaml"),
         "finished after step 10", 0),
    Case("BPE-dropout", train("run=other", "tokenizer.kind=bpe", "tokenizer.size=300", "tokenizer.dropout=0.1"),
         "finished after step 20", 0),
    Case("BPE-dropout of words", train("run=other", "tokenizer.dropout=0.1"), "merges of kind 'bpe'"),
    Case("a tokenizer's file",
         train("run=other", "tokenizer.kind=file", f"tokenizer.path={_RUN}/tokenizer.source.json"),
         "finished after step 20", 0),
    Case("a tokenizer's file that is none", train("run=other", "tokenizer.kind=file", "tokenizer.path=reviews.csv"),
         "neither a tokenizer.json nor a SentencePiece model"),
    Case("several corpora with weights", train("run=other", "data.train=[{file: reviews.csv, weight: 3}, "
         "{file: reviews.csv, weight: 0.5}]", recipe="reviews.yaml"), "finished after step 20", 0),
    Case("a weight below zero",
         train("run=other", "data.train=[{file: reviews.csv, weight: -3}]", recipe="reviews.yaml"),
         "data.train.0.weight"),
    Case("a misspelt tracker", train("run=other", "train.trackers=[wnadb]"), "did you mean wandb?"),
    Case("gradient checkpointing", train("run=other", "model={kind: transformer, dim: 16, num_heads: 2, num_layers: 2, "
         "hidden_dim: 32}", "train.gradient_checkpointing=true"), "finished after step 20", 0),
    Case("gradient checkpointing without layers", train("run=other", "train.gradient_checkpointing=true"),
         "the model luong has none"),
)  # fmt: skip

GROUPS = {
    "Runs: locks, signals, damage, changed data": RUNS,
    "Texts and values": TEXTS,
    "Files of a run and its cache": FILES,
    "Memory, size and time": LIMITS,
    "The first hour": FIRST_HOUR,
    "Parts of one's own and options": PARTS,
}

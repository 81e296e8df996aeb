"""Check of results: each row of the table of `docs/notebook/results.md`, measured again.

    python -m benchmarks.results --list                                      # rows, commands, and rows without one
    python -m benchmarks.results --run airs                                  # trains its seeds, prints both figures
    python -m benchmarks.results --run cora --data PATH/planetoid --only 1  # the first command alone

A row is named by the recipe or the benchmark that makes it. What is measured stands in the folder `--runs`, one run per
seed; runs that have ended are not trained again. Nothing is judged: the figures of the row and those of the runs stand
below each other.
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from regard.runs.metrics_log import MetricsLog

RESULTS = Path(__file__).parents[1] / "docs" / "notebook" / "results.md"
_DATA = "PATH"


@dataclass(frozen=True)
class Claim:
    """One row of the table, and the command that makes it.

    Attributes:
        name: by which it is run.
        row: beginnings of its cells: system, data, model.
        command: words behind `regard train`, or a whole `python -m ...`; PATH stands for the folder of the data.
        seeds: one run each; none for benchmarks, which have their own.
    """

    name: str
    row: tuple[str, str, str]
    command: str
    seeds: tuple[int, ...] = (1,)

    def commands(self, data: str, runs: Path) -> list[list[str]]:
        """Return the commands, one per seed, with the place of the data."""
        words = [word.replace(_DATA, data) for word in shlex.split(self.command)]
        if words[0] == "python":
            return [[sys.executable, *words[1:]]]
        train = [sys.executable, "-m", "regard", "train", *words, "--runs", str(runs)]
        return [[*train, f"run={self.run(seed)}", f"train.seed={seed}"] for seed in self.seeds]

    def run(self, seed: int) -> str:
        """Return the name of the run of a seed."""
        return f"{self.name}-{seed}"


_THREE = (1, 2, 3)
_GLOVE = "tokenizer.vectors=PATH/glove.6B.100d.txt"
_JAIN_WALLACE = (
    'sst2 data.root=PATH "tokenizer.vectors={file: PATH/glove.6B.100d.txt, tuned: true}" '
    '"model.encoder={kind: rnn, cells: lstm, embedding_dim: 100, hidden_dim: 256, bidirectional: true}" '
    "model.attention_dim=128 model.dropout=0 model.word_dropout=0 train.steps=864 train.batch.sentences=32 "
    '"train.optimizer={name: adam, rate: 1.0e-3, weight_decay: 1.0e-5}" "train.schedule={name: constant}" '
    "train.valid_every=216 train.checkpoint_every=432"
)
CLAIMS = (
    Claim("dates", ("translate", "dates", "Bahdanau"), "dates", _THREE),
    Claim("multi30k_seq2seq", ("translate", "Multi30k de-en", "seq2seq, 2 x LSTM"), "multi30k_seq2seq data.root=PATH"),
    Claim(
        "multi30k_gru",
        ("translate", "Multi30k de-en", "seq2seq, 2 x GRU"),
        "multi30k_seq2seq data.root=PATH model.cells.kind=gru model.context=input train.optimizer.rate=1e-3",
    ),
    Claim("multi30k_bahdanau", ("translate", "Multi30k de-en", "Bahdanau"), "multi30k_bahdanau data.root=PATH"),
    Claim(
        "multi30k_luong",
        ("translate", "Multi30k de-en", "Luong"),
        "multi30k_luong data.root=PATH model.feeding=false",
        _THREE,
    ),
    Claim(
        "multi30k_transformer", ("translate", "Multi30k de-en", "Transformer"), "multi30k_transformer data.root=PATH"
    ),
    Claim("multi30k_tiny", ("translate", "Multi30k en-de", "Transformer-Tiny"), "multi30k_tiny data.root=PATH", (2, 1)),
    Claim(
        "cmudict_lstm",
        ("translate", "CMUdict", "Luong"),
        "cmudict_lstm data.root=PATH train.steps=5000 train.valid_every=2500 decode.strategy=greedy",
    ),
    Claim(
        "cmudict_transformer",
        ("translate", "CMUdict", "Transformer"),
        "cmudict_transformer data.root=PATH decode.strategy=greedy",
    ),
    Claim("ptb_small", ("language_model", "Penn Treebank", "LSTM 2 x 200"), "ptb_small data.root=PATH"),
    Claim("ptb_medium", ("language_model", "Penn Treebank", "LSTM 2 x 650"), "ptb_medium data.root=PATH"),
    Claim("ptb_elman", ("language_model", "Penn Treebank", "Elman"), "ptb_elman data.root=PATH"),
    Claim("shakespeare", ("language_model", "tinyshakespeare", "CharRNN"), "shakespeare data.root=PATH"),
    Claim("airs", ("melody", "airs", "CharRNN"), "airs", _THREE),
    Claim("nottingham", ("melody", "Nottingham", "CharRNN"), "nottingham data.root=PATH", _THREE),
    Claim("smalltalk", ("reply", "smalltalk", "Bahdanau"), "smalltalk", _THREE),
    Claim("scenes", ("caption", "scenes, generated, `data.seed=101`", "soft"), "scenes data.seed=101", _THREE),
    Claim("inns", ("describe", "inns", "Luong"), "inns data.seed=101", _THREE),
    Claim("e2e", ("describe", "E2E", "Bahdanau"), "e2e data.root=PATH", _THREE),
    Claim("notices", ("summarise", "notices", "Bahdanau"), "notices", _THREE),
    Claim("aeslc", ("summarise", "AESLC", "Luong"), f"aeslc data.root=PATH {_GLOVE}"),
    Claim(
        "pretraining",
        ("masked_language_model", "TREC", "pretrained"),
        "python -m benchmarks.pretraining --wikitext PATH/wikitext2 --sentiment PATH/sentiment --device cpu",
        (),
    ),
    Claim("sst2", ("classify", "SST-2", "BiLSTM 100"), "sst2 data.root=PATH", (1, 2, 3, 4, 5)),
    Claim("sst2_vectors", ("classify", "SST-2", "BiLSTM 128"), _JAIN_WALLACE, _THREE),
    Claim("sst2_lstmn", ("classify", "SST-2", "LSTMN"), "sst2_lstmn data.root=PATH", tuple(range(1, 11))),
    Claim(
        "sick",
        ("classify", "SICK", "decomposable"),
        f"sick data.root=PATH {_GLOVE.replace('vectors=', 'vectors.file=')}",
        (1, 2, 3, 4),
    ),
    Claim(
        "trec",
        ("classify", "TREC", "text CNN"),
        f"trec data.root=PATH {_GLOVE.replace('vectors=', 'vectors.file=')}",
        _THREE,
    ),
    Claim(
        "trec_r_drop",
        ("classify", "TREC", "convolutions with R-Drop"),
        f"trec data.root=PATH {_GLOVE.replace('vectors=', 'vectors.file=')} train.r_drop=1",
        _THREE,
    ),
    Claim("claims", ("classify", "claims", "ESIM"), "claims", _THREE),
    Claim("verdicts", ("classify", "verdicts", "hierarchical"), "verdicts", _THREE),
    Claim("emotion", ("classify", "DailyDialog", "LSTM"), f"emotion data.root=PATH {_GLOVE}", (1, 3)),
    Claim(
        "conll2000_pos",
        ("tag", "CoNLL-2000, parts of speech", "BiLSTM"),
        f"conll2000_pos data.root=PATH {_GLOVE.replace('vectors=', 'vectors.file=')}",
        _THREE,
    ),
    Claim(
        "conll2000_chunks",
        ("tag", "CoNLL-2000, chunks", "the same"),
        f"conll2000_chunks data.root=PATH {_GLOVE.replace('vectors=', 'vectors.file=')}",
        (1, 2),
    ),
    Claim("stories_entities", ("answer", "world", "entity network"), "stories_entities", _THREE),
    Claim("whodunit", ("cloze", "whodunit", "attention over"), "whodunit"),
    Claim("cloze_books", ("cloze", "children's books", "attention over"), "cloze_books data.root=PATH", _THREE),
    Claim("small_ads", ("retrieve", "small ads", "two encoders"), "small_ads", _THREE),
    Claim(
        "squad_search",
        ("retrieve", "SQuAD dev", "two encoders"),
        f"squad_search data.root=PATH {_GLOVE.replace('vectors=', 'vectors.file=')}",
        _THREE,
    ),
    Claim("clauses", ("align", "clauses", "Bahdanau"), "clauses", _THREE),
    Claim(
        "alignment",
        ("align", "Europarl", "HMM"),
        "python -m benchmarks.alignment --data PATH --folder runs/alignment",
        (),
    ),
    Claim(
        "alignment_hansards",
        ("align", "Hansards", "diagonal"),
        "python -m benchmarks.alignment --data PATH --folder runs/alignment --languages enfr --pairs 5000 --models",
        (),
    ),
    Claim(
        "diaries_coattention",
        ("spans", "diaries of two", "dynamic coattention"),
        "diaries_coattention",
        _THREE,
    ),
    Claim("babi", ("answer", "bAbI", "memory network"), "python -m benchmarks.babi PATH --restarts 3", ()),
    Claim("cora", ("nodes", "Cora", "GAT"), "cora data.root=PATH", (1, 2, 3, 4, 5)),
    Claim("citeseer", ("nodes", "Citeseer", "GAT"), "citeseer data.root=PATH", (1, 2, 3, 4, 5)),
    Claim("ntm_copy_long", ("bits", "copy", "NTM"), "ntm_copy_long", _THREE),
    Claim("repeat_copy", ("bits", "repeat copy", "NTM"), 'python -m benchmarks.turing --only "repeat copy, NTM"', ()),
    Claim("recall", ("bits", "associative recall", "NTM"), 'python -m benchmarks.turing --only "recall, NTM"', ()),
    Claim("ntm_ngrams", ("bits", "N-grams", "NTM"), "ntm_ngrams", (1, 2, 3, 4, 5)),
    Claim("sort", ("bits", "sorting", "NTM"), 'python -m benchmarks.turing --only "sort, NTM" --seeds 8', ()),
    Claim("glossary", ("recall", "glossary", "Transformer"), "glossary"),
    Claim("diaries", ("spans", "diaries", "span reader"), "diaries"),
    Claim("tones", ("transcribe", "syllables", "CTC"), "tones", _THREE),
    Claim("tones_listener", ("transcribe", "syllables", "listener"), "tones_listener"),
    Claim("fsdd_words", ("transcribe", "FSDD, single digits", "CTC"), "fsdd_words data.root=PATH", _THREE),
    Claim("fsdd_strings", ("transcribe", "FSDD, strings of", "the same"), "fsdd_strings data.root=PATH", (1, 2)),
)


def table() -> list[tuple[str, ...]]:
    """Return the rows of the table: system, data, model and result, with the cells that a row leaves to those above."""
    found: list[tuple[str, ...]] = []
    text = RESULTS.read_text(encoding="utf-8").partition("\n## ")[0]
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or cells[0] in ("system", "---"):
            continue
        system = cells[0].partition("]")[0].lstrip("[")
        above = found[-1] if found else ("", "")
        found.append((system or above[0], cells[1] or above[1], *cells[2:]))
    return found


def row_of(claim: Claim) -> tuple[str, ...] | None:
    """Return the row of a claim; None if the table has none, or several."""
    fits = [row for row in table() if all(cell.startswith(begin) for cell, begin in zip(row, claim.row, strict=False))]
    exact = [row for row in fits if row[0] == claim.row[0]]
    return exact[0] if len(exact) == 1 else None


def without_command() -> list[tuple[str, ...]]:
    """Return the rows that no claim is about."""
    claimed = [row_of(claim) for claim in CLAIMS]
    return [row for row in table() if row not in claimed]


def measured(claim: Claim, runs: Path) -> list[str]:
    """Return the figures of the runs of a claim, a line per measure: each seed, then mean and deviation."""
    rows = [[row for row in MetricsLog(runs / claim.run(seed) / "metrics.jsonl") if row["split"] == "test"]
            for seed in claim.seeds]  # fmt: skip
    last = [found[-1] for found in rows if found]
    lines = []
    for name in last[0] if last else ():
        if name not in ("step", "split"):
            values = [float(row[name]) for row in last if name in row]
            spread = f" ± {statistics.stdev(values):.4g}" if len(values) > 1 else ""
            listed = ", ".join(f"{value:.4g}" for value in values)
            lines.append(f"  {name}: {listed}; mean {statistics.fmean(values):.4g}{spread}")
    return lines


def main() -> None:
    """List the rows, or measure one again."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print all rows with their commands")
    parser.add_argument("--run", metavar="NAME", help="the row to measure")
    parser.add_argument("--data", default=_DATA, help="folder that stands for PATH in the commands")
    parser.add_argument("--runs", type=Path, default=Path("runs/results"), help="folder of the runs")
    parser.add_argument("--only", type=int, help="so many of the commands")
    arguments = parser.parse_args()
    if arguments.run is None:
        for claim in CLAIMS:
            print(f"{claim.name:22} {claim.command}  ({len(claim.seeds) or 'its own'} seeds)")
        for row in without_command():
            print(f"{'(no command)':22} {' | '.join(row[:4])}")
        return
    named = {claim.name: claim for claim in CLAIMS}
    if arguments.run not in named:
        parser.error(f"there is no row {arguments.run!r}; there are {', '.join(named)}")
    claim = named[arguments.run]
    if _DATA in claim.command and arguments.data == _DATA:
        parser.error(f"{claim.name} needs data: --data FOLDER, which stands for PATH in: {claim.command}")
    for command in claim.commands(arguments.data, arguments.runs)[: arguments.only]:
        print(shlex.join(command), flush=True)
        subprocess.run(command, check=True)
    row = row_of(claim)
    print("table:", "no such row any more" if row is None else " | ".join(row[1:4]))
    print("\n".join(["measured:", *measured(claim, arguments.runs)]))


if __name__ == "__main__":
    main()

"""A folder with two small runs and their data, and ways to damage it, for `robustness_cases.py`."""

from __future__ import annotations

import fcntl
import gzip
import json
import shutil
from collections.abc import Callable
from io import IOBase
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from regard.checksum import NAME, write_checksum

Damage = Callable[[Path], object]
"""Changes a copy of the folder; what it returns is kept until the command has ended, and then released."""

DIGITS = """\
run: digits
data: {format: digits, task: copy, train_size: 200, valid_size: 16, test_size: 16, longest: 4}
tokenizer: {kind: words}
model: {kind: luong, embedding_dim: 16, hidden_dim: 16}
train: {steps: 20, batch: {sentences: 16}, optimizer: {rate: 0.02}, valid_every: 10, checkpoint_every: 10}
decode: {strategy: greedy, max_length: 6}
evaluate: {metrics: [exact_match]}
"""
REVIEWS = """\
run: reviews
task: classify
data: {format: table, header: true, train: reviews.csv, source: text, target: label, split: {valid: 0.2, test: 0.2}}
tokenizer: {kind: words, lowercase: true}
model: {kind: acceptor, pooling: attention, encoder: {embedding_dim: 16, hidden_dim: 16}}
train: {steps: 20, batch: {sentences: 32}, optimizer: {rate: 0.01}, valid_every: 10}
evaluate: {metrics: [accuracy, f1]}
"""
TAGS = """\
run: tags
task: tag
data: {format: conllu, train: tags.conllu, target: upos, split: {by: order, valid: 0.1}}
tokenizer: {kind: words}
model: {kind: transducer, encoder: {embedding_dim: 16, hidden_dim: 16}}
train: {steps: 10, batch: {sentences: 8}, optimizer: {rate: 0.01}}
"""
PLUGIN = """\
import math
import torch
import regard
from regard.nn import Score

@regard.register("distance")
class Distance(Score):
    def energy(self, query, memory, state):
        return -torch.cdist(query, memory.key).square() / math.sqrt(query.shape[-1])
"""
_RECIPES = {"digits.yaml": DIGITS, "reviews.yaml": REVIEWS, "tags.yaml": TAGS}


def write_files(folder: Path) -> None:
    """Write recipes and data."""
    for name, text in _RECIPES.items():
        (folder / name).write_text(text)
    words = {"good": ("fine", "lovely", "great"), "very bad": ("dull", "awful", "poor")}
    rows = [f"The film {n} was {words[kind][n % 3]}!,{kind}" for n in range(60) for kind in words]
    (folder / "reviews.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    (folder / "new.csv").write_text("id,body,kind\n1,a fine film,good\n2,,good\n3,dull,very bad\n")
    rest = "\t_" * 6
    lines = (f"1-2\tim\t_\t_{rest}", f"1\tin\tin\tADP{rest}", f"2\tdem\tder\tDET{rest}", f"2.1\tx\t_\tX{rest}")
    (folder / "tags.conllu").write_text("\n".join(("# text = im", *lines, "", "")) * 20)
    (folder / "near.py").write_text(PLUGIN)


def release(kept: object) -> None:
    """End what a damage returned."""
    if isinstance(kept, IOBase):
        kept.close()


def put(name: str, content: bytes | str) -> Damage:
    """Write a file."""
    raw = content.encode() if isinstance(content, str) else content

    def damage(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(raw)

    return damage


def packed(name: str, size: int) -> Damage:
    """Write a small `.gz` with one line of many bytes, and a good one behind it."""

    def damage(folder: Path) -> None:
        with gzip.open(folder / name, "wb", 1) as file:
            for _ in range(size // 1_000_000):
                file.write(b"1" * 1_000_000)
            file.write(b"\n1 2 3\n")

    return damage


def copied(run: str, name: str, change: Damage) -> Damage:
    """Copy a run without its checksums, as earlier versions wrote it, and change the copy and its recipe."""

    def damage(folder: Path) -> None:
        made = shutil.copytree(folder / "runs" / run, folder / "runs" / name)
        for sums in made.rglob(NAME):
            sums.unlink()
        recipe = folder / f"{run}.yaml"
        (folder / f"{name}.yaml").write_text(recipe.read_text().replace(f"run: {run}", f"run: {name}"))
        for file in made.rglob("recipe.yaml"):
            file.write_text(file.read_text().replace(f"run: {run}\n", f"run: {name}\n"))
        change(made)

    return damage


def tensors(change: Callable[[dict[str, Tensor], str], object]) -> Damage:
    """Change the first tensor of each file of weights of a run."""

    def damage(run: Path) -> None:
        for path in (run / "model.safetensors", *run.glob("checkpoints/*/model.safetensors")):
            found = load_file(path)
            change(found, min(found))
            save_file(found, path, metadata={"format": "pt"})

    return damage


def pattern(regular_expression: str) -> Damage:
    """Give the source tokenizer of a run another regular expression."""

    def damage(run: Path) -> None:
        path = run / "tokenizer.source.json"
        content = json.loads(path.read_text())
        content["pre_tokenizer"]["pattern"]["Regex"] = regular_expression
        path.write_text(json.dumps(content))

    return damage


def in_all(files: str, content: str) -> Damage:
    """Write the same content into all files of a pattern."""

    def damage(folder: Path) -> None:
        for path in folder.glob(files):
            path.write_text(content)

    return damage


def flipped(files: str) -> Damage:
    """Flip a byte of the last file of a pattern."""

    def damage(folder: Path) -> None:
        path = max(folder.glob(files))
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 0x55
        path.write_bytes(content)

    return damage


def cached(part: str, value: int, *, sealed: bool = True) -> Damage:
    """Write a value into the middle of a part of each cached corpus, with checksums that agree, or with none."""

    def damage(folder: Path) -> None:
        for path in folder.glob(f"runs/.cache/*/*.{part}"):
            values = np.memmap(path, "int64" if part.endswith("offsets") else "int32", "r+")
            values[len(values) // 2] = value
            values.flush()
            (path.parent / NAME).unlink(missing_ok=True)
            if sealed:
                write_checksum(path.parent)

    return damage


def held(run: str) -> Damage:
    """Hold the lock of a run, as another process does."""

    def damage(folder: Path) -> object:
        file = (folder / "runs" / run / ".lock").open("w")
        about = {"pid": 4711, "host": "elsewhere", "since": "2026-11-19 12:00", "command": "regard train"}
        file.write(json.dumps(about))
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX)
        return file

    return damage


def all_of(*damages: Damage) -> Damage:
    """Do one after another."""
    return lambda folder: [damage(folder) for damage in damages]


def aliases() -> str:
    """Return YAML of a thousand bytes that stands for 10¹⁹ values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 20)]
    return "\n".join(lines) + "\n"


def not_a_number(found: dict[str, Tensor], name: str) -> None:
    """Make a tensor one of NaN."""
    found[name] = torch.full_like(found[name], torch.nan)

"""A run that takes a second: digits to copy, a model of width 16."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch

from regard.recipes.load import check
from regard.recipes.sections import Recipe
from regard.recipes.yaml_document import RecipeDocument
from regard.runs.run import Run
from regard.train.screen import Screen
from regard.train.trainer import Outcome, Trainer

TEXT = """\
run: tiny
data: {format: digits, task: copy, train_size: 200, valid_size: 16, test_size: 16, longest: 4}
tokenizer: {kind: words}
model: {kind: bahdanau, embedding_dim: 16, hidden_dim: 16, attention: additive, dropout: 0.1}
train:
  steps: 40
  batch: {sentences: 16}
  optimizer: {rate: 0.02}
  log_every: 5
  valid_every: 10
  checkpoint_every: 10
decode: {strategy: greedy, max_length: 6}
evaluate: {metrics: [exact_match, cer]}
"""

os.environ["ACCELERATE_USE_CPU"] = "true"  # runs are compared to the bit


def recipe(*overrides: str) -> Recipe:
    """The recipe, with assignments."""
    return check(RecipeDocument.parse(TEXT, "tiny.yaml").overridden(list(overrides))).recipe


def train(folder: Path, *overrides: str, screen: Screen | None = None) -> Outcome:
    """Train it, or go on."""
    with on_cpu():
        return Trainer(recipe(*overrides), Run(folder), screen=screen or Screen(quiet=True)).fit()


def on_cpu() -> AbstractContextManager[object]:
    """Tensors on the CPU, whatever --device says; no context where they are there anyway, since one takes time."""
    return nullcontext() if torch.get_default_device().type == "cpu" else torch.device("cpu")


def metrics(folder: Path) -> str:
    """What was measured, to the last bit."""
    return (folder / "metrics.jsonl").read_text()


def without_checksums(folder: Path) -> None:
    """Make a run of it as it was before there were checksums, and recipes in checkpoints."""
    for path in (*folder.rglob("checksums.json"), *folder.glob("checkpoints/*/recipe.yaml")):
        path.unlink()

"""A linear start that is cut in two is the one that was not."""

from __future__ import annotations

from pathlib import Path

from regard.recipes.load import check
from regard.recipes.yaml_document import RecipeDocument
from regard.runs.run import Run
from regard.train.screen import Screen
from regard.train.trainer import Trainer

TEXT = """\
run: stories
task: answer
data: {format: world, asked: two_facts, train_size: 64, valid_size: 16, test_size: 16, longest: 5}
tokenizer: {kind: words}
model: {kind: memory_network, dim: 6, num_hops: 2, linear_start: true}
train: {steps: 24, batch: {sentences: 16}, optimizer: {rate: 0.01}, log_every: 4, valid_every: 4, checkpoint_every: 12}
"""


class Heard(Screen):
    """Keeps what it is told to say."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.notices: list[str] = []

    def notice(self, sentence: str) -> None:
        self.notices.append(sentence)


def train(folder: Path, *overrides: str) -> tuple[str, bool]:
    """What was measured, to the last bit, and whether the hops have no softmax yet after the last step."""
    recipe = check(RecipeDocument.parse(TEXT, "stories.yaml").overridden(list(overrides))).recipe
    heard = Heard()
    trainer = Trainer(recipe, Run(folder), screen=heard)
    trainer.fit()
    linear = bool(Run(trainer.checkpointing.checkpoints.last()[-1]).tensors()["linear"])
    assert any("linear start is over" in notice for notice in heard.notices) != linear
    return (folder / "metrics.jsonl").read_text(), linear


def test_it_ends_at_the_same_validation_when_it_is_resumed(tmp_path: Path) -> None:
    whole, linear = train(tmp_path / "whole")
    assert not linear
    _, linear = train(tmp_path / "parts", "train.steps=12")
    assert linear  # it ends in the second part, by a loss that the first has seen
    parts, linear = train(tmp_path / "parts")
    assert not linear
    measured = [line for line in whole.splitlines() if '"test"' not in line]
    assert [line for line in parts.splitlines() if '"test"' not in line] == measured

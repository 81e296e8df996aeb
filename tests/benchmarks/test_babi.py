"""Many memory networks side by side are the network of the package, many times."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from benchmarks.babi import Fleet, Questions, Text, chosen, read, train

from regard.nn.hops import StoryEncoder
from regard.systems.answering.memory_network import MemoryNetwork
from tests.cli.test_stories import babi
from tests.mechanism import assert_close


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("babi") / "en"
    made.mkdir()
    for task, size in ((1, 90), (2, 70)):
        babi(made / f"qa{task}_told_train.txt", size)
        babi(made / f"qa{task}_told_test.txt", size // 2)
    return made


def alone(fleet: Fleet, run: int, text: Text) -> MemoryNetwork:
    """A run of the fleet as a network of the package."""
    model = MemoryNetwork(text.words, text.words, dim=fleet.dim, num_hops=fleet.hops, memory_size=text.slots).eval()
    with torch.no_grad():
        for number, encoder in enumerate(model.hops.encoders):
            assert isinstance(encoder, StoryEncoder)
            encoder.sentence.embedding.weight.copy_(fleet.tables[run, : text.words, number])
            encoder.time.copy_(fleet.times[run, : text.slots, number])
    return model


@pytest.mark.parametrize("linear", [False, True])
def test_a_fleet_says_what_its_networks_say(folder: Path, linear: bool) -> None:
    texts = [read(folder, [1]), read(folder, [2])]
    fleet = Fleet(texts, 2, 5, 3, device=torch.device("cpu"))
    logits = fleet.logits(Questions(*(column[:, :7] for column in fleet.together("test"))), linear=linear)
    for run in range(4):
        text = texts[run // 2]
        asked = text.test.at(torch.arange(7))
        story = torch.zeros(7, int(asked.count.max()), text.sentences.shape[1], dtype=torch.long)
        for row, count in enumerate(asked.count.tolist()):
            story[row, :count] = text.sentences[asked.story[row, :count].flip(0)]
        model = alone(fleet, run, text)
        model.linear.fill_(linear)
        said = model(story, text.sentences[asked.question], asked.count).logits
        assert_close(logits[run, :, 1 : text.words], said[:, 1:], tolerance=1e-5)


def test_runs_learn_and_the_best_by_training_error_is_chosen(folder: Path) -> None:
    torch.manual_seed(0)
    fleet = Fleet([read(folder, [1])], 3, 8, 2, device=torch.device("cpu"))
    before = fleet.errors("train").mean(1)
    train(fleet, epochs=6, linear_epochs=6)
    after = fleet.errors("train").mean(1)
    assert (after < before).all()
    [row] = chosen(fleet)
    assert row.task == 1
    assert row.train == pytest.approx(100 * float(after.min()), abs=1e-3)
    assert not fleet.tables[:, 0].any()  # the null word stays nothing


def test_the_command_prints_a_table_of_all_tasks(folder: Path) -> None:
    command = [sys.executable, "benchmarks/babi.py", str(folder), "--joint", "--restarts", "2", "--dim", "4"]
    done = subprocess.run([*command, "--epochs", "1", "--linear", "1"], check=True, capture_output=True, text=True)
    assert "task 3: there are no training questions" in done.stdout
    assert "2 networks on" in done.stdout
    assert "en joint: 3 hops, d = 4, best of 2 by training error" in done.stdout

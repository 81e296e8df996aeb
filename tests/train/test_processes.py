"""Two processes learn what one learns, whether each holds a copy of the model or a part of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.utils._pytree import tree_leaves

from regard.models.build import build
from regard.models.transformer_encoder import TransformerEncoder
from regard.nn.external_memory import ExternalMemory
from regard.nn.memory import Memory
from regard.nn.shared_memory import SharedMemory
from regard.nn.transformer_layer import LayerConfig, LayerState, TransformerLayer
from regard.runs.folder import RunError
from regard.runs.run import Run
from regard.train.screen import Screen
from regard.train.sharding import by_layer, show_states
from regard.train.trainer import Trainer
from tests.train.tiny import TEXT, metrics, recipe, train

PLAIN = ("model.dropout=0.0", "train.steps=20", "train.batch.sentences=3", "train.batch.accumulate=2")
TRANSFORMER = "{kind: transformer, dim: 16, num_heads: 2, num_layers: 2, dropout: 0.0, tied: all}"
STREAM = "{kind: char_rnn, embedding_dim: 8, hidden_dim: 8, attention: dot, window: 7}"


def settings(name: str, root: Path) -> tuple[str, ...]:
    """The tiny recipe made one that is sharded."""
    if name == "transformer":
        return *PLAIN, f"model={TRANSFORMER}", "tokenizer.joint=true"
    if name == "stream":
        text = f"{{format: text, root: {root}, train: text.txt, valid: text.txt}}"
        one_row = "train.batch={sentences: 1, window: 5}"  # so that the second process has none
        return "task=language_model", f"data={text}", f"model={STREAM}", one_row, "train.steps=20", "evaluate={}"
    return PLAIN


def processes(*arguments: str) -> str:
    """What two processes of a module print."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m"]
    environment = {name: value for name, value in os.environ.items() if name != "ACCELERATE_USE_CPU"}
    done = subprocess.run(
        [*command, *arguments],
        capture_output=True,
        text=True,
        env={**environment, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONWARNINGS": "error::UserWarning"},
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def assert_same_losses(several: Path, one: Path) -> None:
    mine, theirs = ([json.loads(line) for line in metrics(run).splitlines()] for run in (several, one))
    assert [(row["step"], row["split"]) for row in mine] == [(row["step"], row["split"]) for row in theirs]
    assert [row["loss"] for row in mine] == pytest.approx([row["loss"] for row in theirs], rel=1e-5)


def test_two_processes_have_the_losses_of_one(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TEXT)
    said = processes("regard", "train", str(tmp_path / "tiny.yaml"), "--runs", str(tmp_path), *PLAIN)
    assert said.count("finished after step 20") == 1
    train(tmp_path / "one", *PLAIN)
    assert_same_losses(tmp_path / "tiny", tmp_path / "one")


def test_two_processes_with_a_part_each_have_the_losses_of_one(tmp_path: Path) -> None:
    """Each run once in one process, and once in turns: one goes on where two with parts stopped, or the other way."""
    (tmp_path / "text.txt").write_text("a rose is a rose is a rose\n" * 5)
    for name in ("bahdanau", "transformer", "stream"):
        train(tmp_path / "one" / name, *settings(name, tmp_path))
    train(tmp_path / "turns/bahdanau", *PLAIN, "train.steps=10")
    said = processes("tests.train.test_processes", str(tmp_path))
    assert set(said.splitlines()) == {"bahdanau: 1 unit, 0.5", "transformer: 5 units, 0.5", "stream: 1 unit, 0.5"}
    for name in ("transformer", "stream"):
        train(tmp_path / "turns" / name, *settings(name, tmp_path))
    for name in ("bahdanau", "transformer", "stream"):
        assert_same_losses(tmp_path / "turns" / name, tmp_path / "one" / name)


def test_layers_are_units_where_all_processes_call_them_alike() -> None:
    sampling = "train.exposure={sampling: {decay: linear, k: 0.1}}"
    layers = TransformerEncoder(5, LayerConfig(dim=4, num_heads=2), num_layers=1)
    assert by_layer(layers, recipe())
    assert not by_layer(layers, recipe(sampling))
    both = build("bidirectional", 7, 7, model={"kind": "transformer", "dim": 4, "num_heads": 2, "num_layers": 1})
    assert not by_layer(both, recipe())


def test_torch_sees_every_tensor_of_a_state() -> None:
    """Older versions look only into classes they were told of, and let parameters go while gradients need them."""
    show_states()
    layer = TransformerLayer(LayerConfig(dim=4, num_heads=2), cross=True)
    source = layer.remember(torch.randn(2, 3, 4)).source
    state = layer.extend(torch.randn(2, 5, 4), LayerState(source=source)).state
    assert isinstance(source, SharedMemory)
    assert state.past is not None
    memories = [state.past, source.memory]
    assert _seen(state) == {id(part) for memory in memories for part in (memory.key, memory.value)}
    stored = Memory(torch.randn(1, 2, 7, 2), torch.randn(1, 2, 7, 2))
    memories = [source.memory, stored]
    beside = LayerState(source=ExternalMemory(source, stored))
    assert _seen(beside) == {id(part) for memory in memories for part in (memory.key, memory.value)}


def _seen(state: LayerState) -> set[int]:
    return {id(leaf) for leaf in tree_leaves(state) if isinstance(leaf, torch.Tensor)}


def test_sharding_beside_the_recipe_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    with pytest.raises(RunError, match=r"leave --use_fsdp out and set train\.sharding=full"):
        train(tmp_path / "run")


def sharded(root: Path, name: str, steps: int) -> None:
    """Train with a part of the model in each process; say in how many units, and how much of it this process holds."""
    from torch.distributed.fsdp import FSDPModule

    chosen = recipe(*settings(name, root), f"train.steps={steps}", "train.sharding=full")
    trainer = Trainer(chosen, Run(root / "turns" / name), screen=Screen(quiet=True))
    trainer.fit()
    units = sum(isinstance(module, FSDPModule) for module in trainer.objective.modules())
    parameters = list(trainer.model.parameters())
    held = sum(parameter.to_local().numel() for parameter in parameters)  # type: ignore[operator]
    share = held / sum(parameter.numel() for parameter in parameters)
    sys.stdout.write(f"{name}: {units} unit{'s' if units > 1 else ''}, {share:.1f}\n")


if __name__ == "__main__":
    for each, until in (("bahdanau", 20), ("transformer", 10), ("stream", 10)):
        sharded(Path(sys.argv[1]), each, until)

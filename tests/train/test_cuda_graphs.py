"""Recorded updates: bookkeeping, padding and gradients, with a recorder that computes again instead of a GPU's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
import torch
from torch import Tensor

from regard.data.batching.batch import Batch
from regard.recipes.load import check, load
from regard.recipes.yaml_document import RecipeDocument
from regard.runs.folder import RunError
from regard.runs.run import Run
from regard.specials import IGNORE
from regard.tasks.setup import prepare
from regard.train import cuda_graphs
from regard.train.cuda_graphs import (
    CudaUpdateGraphs,
    UpdateGraphs,
    is_host_bound,
    obstacle,
    padding_batch,
    recorded_sizes,
    round_up_size,
)
from regard.train.objective import Objective
from regard.train.screen import Screen
from regard.train.state_io import named_tensors
from regard.train.trainer import Trainer
from tests.mechanism import assert_close, on_the_device
from tests.train.tiny import metrics, recipe, train


class Again:
    """Records nothing: does it once, as a recorder must, and again at each replay."""

    def __init__(self) -> None:
        self.recorded = 0

    def __call__(self, run: Callable[[], None]) -> Callable[[], None]:
        self.recorded += 1
        with on_the_device():
            run()
        return run


def trainer(folder: Path, *overrides: str, most: int = 64) -> Trainer:
    """A run whose updates are recorded."""
    made = Trainer(recipe(*overrides), Run(folder), screen=Screen(quiet=True))
    assert made.graphs is None  # on a CPU nothing waits for Python
    assert isinstance(made.objective, Objective)
    made.graphs = UpdateGraphs(made.objective, record=Again(), most=most)
    return made


def recordings(made: Trainer) -> int:
    assert made.graphs is not None
    assert isinstance(made.graphs.record, Again)
    return made.graphs.record.recorded


def batches(made: Trainer, count: int) -> list[Batch]:
    places = made.feed.after(0, 0)
    return [made.feed.batch(next(places)) for _ in range(count)]


def slopes(made: Trainer) -> list[Tensor]:
    return [parameter.grad.clone() for parameter in made.model.parameters() if parameter.grad is not None]


def learned(made: Trainer, batch: Batch, *, recorded: bool) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Loss, -log p and gradients of half the loss."""
    made.optimizer.zero_grad(set_to_none=not recorded)
    if recorded:
        assert made.graphs is not None
        total, nll, _ = made.graphs.learn(batch, 0, 0.5)
    else:
        total, nll, _ = made.objective(batch, 0)
        (0.5 * total).backward()
    return total, nll, slopes(made)


MODELS = {
    "bahdanau": "{kind: bahdanau, embedding_dim: 16, hidden_dim: 16}",
    "multi-head": "{kind: bahdanau, embedding_dim: 16, hidden_dim: 16, attention: {num_heads: 2}, cells: lstm}",
    "luong": "{kind: luong, embedding_dim: 16, hidden_dim: 16, attention: {align: local_p}}",
    "simple": "{kind: simple_attention, embedding_dim: 16, hidden_dim: 16}",
    "lstmn deep": "{kind: lstmn, embedding_dim: 16, hidden_dim: 16}",
    "lstmn shallow": "{kind: lstmn, embedding_dim: 16, hidden_dim: 16, fusion: shallow}",
    "transformer": "{kind: transformer, dim: 16, num_heads: 2, hidden_dim: 32, num_layers: 2, dropout: 0}",
    "fertility": "{kind: bahdanau, embedding_dim: 16, hidden_dim: 16, fertility: 4}",
    "fertility of heads": "{kind: bahdanau, embedding_dim: 16, hidden_dim: 8, fertility: 4, attention: {num_heads: 2}}",
    "symmetry": "{kind: bidirectional, model: {kind: bahdanau, embedding_dim: 16, hidden_dim: 16}}",
    "symmetry of Luong": "{kind: bidirectional, model: {kind: luong, embedding_dim: 16, hidden_dim: 16}}",
    "seq2seq": "{kind: seq2seq, embedding_dim: 16, hidden_dim: 16, cells: lstm, reverse: true}",
}


@pytest.mark.parametrize("model", MODELS)
def test_loss_and_gradients_are_those_of_the_batch_itself(model: str, tmp_path: Path) -> None:
    made = trainer(tmp_path, f"model={MODELS[model]}", "train.label_smoothing=0.1", "train.batch.sentences=13")
    made.model.train()
    for batch in batches(made, 3):
        sizes = dict(recorded_sizes(batch))
        for name in ("source", "target"):
            assert sizes[name] > tuple(batch[name].shape)  # rows and words are padded
        expected = learned(made, batch, recorded=False)
        total, nll, gradients = learned(made, batch, recorded=True)
        assert_close(total, expected[0].detach(), tolerance=1e-5)
        assert_close(nll, expected[1], tolerance=1e-5)
        assert len(gradients) == len(expected[2]) == len(list(made.model.parameters()))
        for ours, theirs in zip(gradients, expected[2], strict=True):
            assert_close(ours, theirs, tolerance=2e-5)


def test_a_whole_run_is_the_same_up_to_rounding(tmp_path: Path) -> None:
    settings = ("model.dropout=0", "train.batch.accumulate=2", "train.batch.sentences=11", "train.steps=10")
    train(tmp_path / "plain", *settings)
    made = trainer(tmp_path / "recorded", *settings, most=1)  # so that some batches are computed as they come
    made.fit()
    assert recordings(made) == 1
    plain, recorded = (losses(tmp_path / name) for name in ("plain", "recorded"))
    assert recorded == pytest.approx(plain, rel=1e-4)


def losses(folder: Path) -> list[float]:
    return [row["loss"] for row in map(json.loads, metrics(folder).splitlines())]


def test_a_shape_is_recorded_once_and_each_replay_draws_anew(tmp_path: Path) -> None:
    made = trainer(tmp_path, "train.exposure.word_dropout=0.1", "train.exposure.corruption=0.1", "model.dropout=0.5")
    made.model.train()
    assert made.graphs is not None
    (batch,) = batches(made, 1)
    torch.manual_seed(7)
    first, second = (float(made.graphs.learn(batch, 0, 1.0)[0]) for _ in range(2))
    assert first != second
    torch.manual_seed(7)  # the draws are those of the seed, whether or not something was recorded on the way
    assert float(made.graphs.learn(batch, 0, 1.0)[0]) == first
    assert recordings(made) == 1


def test_gradients_are_added_and_recording_adds_nothing(tmp_path: Path) -> None:
    made = trainer(tmp_path, "model.dropout=0")
    one, other = batches(made, 2)
    parts = [learned(made, batch, recorded=True)[2] for batch in (one, other)]
    fresh = trainer(tmp_path / "again", "model.dropout=0")
    assert fresh.graphs is not None
    held = []
    for batch in (one, other):
        fresh.graphs.learn(batch, 0, 0.5)
        held.append([id(parameter.grad) for parameter in fresh.model.parameters()])
    assert held[0] == held[1]
    for total, *summands in zip(slopes(fresh), *parts, strict=True):
        assert_close(total, sum(summands), tolerance=1e-5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("override", "why"),
    [
        ("train.exposure.sampling={}", "train.exposure.sampling"),
        ("model.attention={align: hard}", "hard attention"),
        ("model.fertility=4", None),
    ],
)
def test_what_cannot_be_recorded_says_why(override: str, why: str | None, tmp_path: Path) -> None:
    made = Trainer(recipe(override), Run(tmp_path), screen=Screen(quiet=True))
    assert is_host_bound(made.model, made.task)
    found = obstacle(made.model, made.task)
    assert found is None if why is None else why in (found or "")


def test_activations_that_are_computed_again_cannot_be_recorded(tmp_path: Path) -> None:
    transformer = "model={kind: transformer, dim: 8, num_heads: 2, num_layers: 1}"
    made = Trainer(recipe(transformer, "train.gradient_checkpointing=true"), Run(tmp_path), screen=Screen(quiet=True))
    assert "gradient_checkpointing" in (obstacle(made.model, made.task) or "")


MACHINE = """\
run: machine
task: bits
data: {format: copy, bits: 3, longest: 4, valid_size: 8, test_size: 8}
model: {kind: ntm, controller: CONTROLLER, hidden_dim: 5, rows: 7, row_dim: 3, write_heads: 2}
train: {steps: 6, batch: {sentences: 3}, valid_every: 6}
"""


@pytest.mark.parametrize("controller", ["feedforward", "lstm"])
def test_machines_with_a_tape_are_recorded_length_by_length(controller: str, tmp_path: Path) -> None:
    made = Trainer(
        check(RecipeDocument.parse(MACHINE.replace("CONTROLLER", controller), "machine.yaml")).recipe,
        Run(tmp_path),
        screen=Screen(quiet=True),
    )
    assert is_host_bound(made.model, made.task)
    assert obstacle(made.model, made.task) is None
    assert isinstance(made.objective, Objective)
    made.graphs = UpdateGraphs(made.objective, record=Again())
    found = batches(made, 6)
    for batch in found:
        expected = learned(made, batch, recorded=False)
        total, _, gradients = learned(made, batch, recorded=True)
        assert_close(total, expected[0].detach(), tolerance=1e-5)
        for ours, theirs in zip(gradients, expected[2], strict=True):
            assert_close(ours, theirs, tolerance=1e-5)
    assert recordings(made) == len({batch["inputs"].shape for batch in found})


TEXT_MODELS = {
    "tapes": "{kind: lstmn_lm, embedding_dim: 6, hidden_dim: 7, num_layers: 2, window: 8}",
    "lstm": "{kind: language_model, embedding_dim: 6, hidden_dim: 7, cells: {kind: lstm, num_layers: 2}}",
    "characters": "{kind: char_rnn, embedding_dim: 6, hidden_dim: 7, window: 8}",
    "pointer": "{kind: pointer_lm, embedding_dim: 6, hidden_dim: 7, window: 8}",
    "transformer": "{kind: transformer_lm, dim: 8, num_heads: 2, hidden_dim: 12, num_layers: 1, dropout: 0}",
}


def text_settings(folder: Path, model: str, batch: str) -> tuple[str, ...]:
    """The tiny recipe made one of a language model with tapes; an epoch has some 7 batches."""
    (folder / "text.txt").write_text(
        "\n".join(" ".join(str(place % 7) for place in range(2 + n % 9)) for n in range(60))
    )
    data = f"data={{format: text, train: {folder}/text.txt, split: {{by: order, valid: 0.1}}}}"
    plain = ("evaluate={examples: 0}", "decode={}", "train.steps=10", "train.log_every=1", "train.valid_every=10")
    return ("task=language_model", data, f"model={TEXT_MODELS[model]}", f"train.batch={batch}", *plain)


@pytest.mark.parametrize("batch", ["{sentences: 7}", "{sentences: 7, window: 5}"])
@pytest.mark.parametrize("model", TEXT_MODELS)
def test_language_models_are_recorded_and_go_on_from_their_state(model: str, batch: str, tmp_path: Path) -> None:
    """Texts by themselves, and windows: the first has no state, the second begins with half a tape, others a whole."""
    settings = text_settings(tmp_path, model, batch)
    train(tmp_path / "plain", *settings)
    made = trainer(tmp_path / "recorded", *settings)
    assert is_host_bound(made.model, made.task)
    assert obstacle(made.model, made.task) is None
    made.fit()
    assert losses(tmp_path / "recorded") == pytest.approx(losses(tmp_path / "plain"), rel=1e-4)
    if "window" not in batch or model != "tapes":
        return
    assert made.graphs is not None
    replayed = {name: tensor.data_ptr() for one in made.graphs._recorded.values() for name, tensor in kept(one)}
    assert not set(replayed.values()) & {tensor.data_ptr() for tensor in named_tensors(made.carried).values()}
    starts = {dict(shape).get("before.layers.0.memory.key", (0, 0, 0))[2] for shape in made.graphs._recorded}
    assert starts >= {0, 5, 8}


def kept(recorded: cuda_graphs.CapturedUpdate) -> list[tuple[str, Tensor]]:
    """The tensors that a replay writes its state into."""
    return list(named_tensors(recorded.after).items())


ENCODERS = {
    "lstm": "{kind: rnn, cells: lstm, embedding_dim: 6, hidden_dim: 8}",
    "transformer": "{kind: transformer, dim: 8, num_heads: 2, hidden_dim: 12, num_layers: 1, dropout: 0}",
    "bert": "{kind: bert, dim: 8, num_heads: 2, num_layers: 1, dropout: 0}",
    "lstmn": "{kind: lstmn, embedding_dim: 6, hidden_dim: 7}",
}


@pytest.mark.parametrize("encoder", ENCODERS)
def test_labels_of_texts_are_recorded(encoder: str, tmp_path: Path) -> None:
    """Rows that fill up a recording have no label, and hops that look at no words cost nothing."""
    settings = [
        "data.train_size=60", "data.valid_size=8", "data.test_size=8", "train.batch={sentences: 7}",
        f"model={{kind: acceptor, num_hops: 2, penalty: 0.5, encoder: {ENCODERS[encoder]}}}",
    ]  # fmt: skip
    made = Trainer(load("sentence_opinions", settings).recipe, Run(tmp_path), screen=Screen(quiet=True))
    assert is_host_bound(made.model, made.task)
    assert isinstance(made.objective, Objective)
    made.graphs = UpdateGraphs(made.objective, record=Again())
    found = batches(made, 4)
    assert any(dict(recorded_sizes(batch))["label"] > (batch.size,) for batch in found)
    for batch in found:
        expected = learned(made, batch, recorded=False)
        total, nll, gradients = learned(made, batch, recorded=True)
        assert_close(total, expected[0].detach(), tolerance=1e-5)
        assert_close(nll, expected[1], tolerance=1e-5)
        for ours, theirs in zip(gradients, expected[2], strict=True):
            assert_close(ours, theirs, tolerance=1e-5)


def sizes_by_name(batch: Batch) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Sizes by the rules of the time when they followed from the names of fields: graphs of today stay as they are."""
    found = {name: tuple(tensor.shape) for name, tensor in batch.tensors.items()}
    if "source" in found:
        (rows, source), read = found["source"], found["target"][1] - 1
        rows = round_up_size(rows)
        found |= {"source": (rows, round_up_size(source)), "target": (rows, round_up_size(read) + 1)}
        found |= {name: (rows,) for name in found if name.endswith("_lengths")}
    elif "label" in found:
        (rows, read), rows = found["text"], round_up_size(found["text"][0])
        found |= {"text": (rows, round_up_size(read)), "text_lengths": (rows,), "label": (rows,)}
    elif "text_lengths" in found:
        (rows, read), rows = found["text"], round_up_size(found["text"][0])
        found |= {"text": (rows, round_up_size(read - 1) + 1), "text_lengths": (rows,)}
    return tuple(found.items())


@pytest.mark.parametrize("system", ["pairs", "texts", "windows", "labels", "episodes"])
def test_sizes_are_those_that_names_of_fields_gave(system: str, tmp_path: Path) -> None:
    few = ["data.train_size=60", "data.valid_size=8", "data.test_size=8", "train.batch={sentences: 7}"]
    made = {
        "pairs": lambda: recipe("train.batch.sentences=13"),
        "texts": lambda: recipe(*text_settings(tmp_path, "lstm", "{sentences: 7}")),
        "windows": lambda: recipe(*text_settings(tmp_path, "lstm", "{sentences: 7, window: 5}")),
        "labels": lambda: load("sentence_opinions", few).recipe,
        "episodes": lambda: check(RecipeDocument.parse(MACHINE.replace("CONTROLLER", "lstm"), "machine.yaml")).recipe,
    }[system]()
    feed = prepare(made, tmp_path / "cache").feed
    places = feed.after(0, 0)
    found = [feed.batch(next(places)) for _ in range(5)]
    for batch in found:
        assert recorded_sizes(batch) == sizes_by_name(batch)
        filled = padding_batch(batch, recorded_sizes(batch), torch.device("cpu"))
        fillers = {"label": IGNORE}
        assert all((tensor == fillers.get(name, 0)).all() for name, tensor in filled.tensors.items())
        assert filled.size == len(next(iter(filled.tensors.values())))
    grown = any(recorded_sizes(batch) != tuple((name, tuple(batch[name].shape)) for name in batch) for batch in found)
    assert grown == (system in ("pairs", "texts", "labels"))


def test_large_models_that_learn_all_words_at_once_need_no_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_graphs, "LARGE", 1000)
    for feeding, waits in (("false", False), ("true", True)):
        model = f"model={{kind: luong, embedding_dim: 16, hidden_dim: 16, feeding: {feeding}}}"
        made = Trainer(recipe(model), Run(tmp_path / feeding), screen=Screen(quiet=True))
        assert is_host_bound(made.model, made.task) == waits


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("train.exposure.sampling={}", ["train.exposure.sampling"]),
        ("train.cuda_graphs=false", []),
    ],
)
def test_on_a_gpu_a_note_says_why_nothing_is_recorded(override: str, said: list[str], tmp_path: Path) -> None:
    made = Trainer(recipe(override), Run(tmp_path), screen=Screen(quiet=True))
    notes: list[str] = []
    made.screen.notice = notes.append  # type: ignore[method-assign]
    made.accelerator = SimpleNamespace(device=torch.device("cuda"), num_processes=1)
    assert made._cuda_graphs() is None
    assert len(notes) == len(said)
    assert all(part in note for part, note in zip(said, notes, strict=True))


def test_what_a_gpu_refuses_to_record_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda, done = MagicMock(), []
    cuda.graph.return_value.__exit__.return_value = False
    monkeypatch.setattr(cuda_graphs.torch, "cuda", cuda)
    replay = CudaUpdateGraphs()(lambda: done.append("run"))
    assert done == ["run", "run"]  # once beside, once recorded
    assert replay is cuda.CUDAGraph.return_value.replay
    runs = iter([None, RuntimeError("operation not permitted\nand a long story")])

    def refused() -> None:
        outcome = next(runs)
        if outcome is not None:
            raise outcome

    with pytest.raises(RunError, match=r"CUDA graph \(operation not permitted\); give train.cuda_graphs=false"):
        CudaUpdateGraphs()(refused)

"""What a run does: learns, stops, averages, complains, reports."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import pytest
import torch
from rich.console import Console
from torch import Tensor, nn

from regard.data.fields.tokenizer import Tokenizer
from regard.data.problems import DataError
from regard.evaluate.metric_result import MetricResult
from regard.recipes.errors import RecipeError
from regard.recipes.sections import EvaluateSection
from regard.runs.checkpoint import average
from regard.runs.files import read_tensors
from regard.runs.folder import RunError
from regard.runs.metrics_log import MetricsLog
from regard.runs.run import Run
from regard.tasks.measurement import Measurement, measure
from regard.tasks.nan_locator import NotFiniteError
from regard.tasks.prediction import Prediction
from regard.train.dry_run import plan
from regard.train.report import report, summary
from regard.train.screen import Screen
from regard.train.trainer import Trainer
from regard.train.updater import tf32_products
from regard.train.warnings import ValidationWarnings
from tests.train.tiny import metrics, recipe, train


def rows(folder: Path, split: str) -> list[dict[str, float]]:
    return [row for row in map(json.loads, metrics(folder).splitlines()) if row["split"] == split]


def test_it_learns_to_copy(tmp_path: Path) -> None:
    outcome = train(tmp_path, "train.steps=150", "data.train_size=1000", "train.valid_every=150")
    losses = [row["loss"] for row in rows(tmp_path, "train")]
    assert losses[-1] < 0.3 * losses[0]
    assert outcome.test is not None
    assert outcome.test.values()["exact_match"] > 0.2


@pytest.mark.parametrize("kind", ["luong", "seq2seq", "transformer", "bidirectional"])
def test_every_kind_of_model_learns(kind: str, tmp_path: Path) -> None:
    sizes = {
        "transformer": "{kind: transformer, dim: 16, num_heads: 2, num_layers: 1}",
        "bidirectional": "{kind: bidirectional, model: {kind: bahdanau, embedding_dim: 16, hidden_dim: 16}}",
    }
    model = sizes.get(kind, f"{{kind: {kind}, embedding_dim: 16, hidden_dim: 16}}")
    train(tmp_path, f"model={model}", "train.steps=30")
    losses = [row["loss"] for row in rows(tmp_path, "train")]
    assert losses[-1] < 0.9 * losses[0]


def test_a_run_that_computes_activations_again_is_the_same_run(tmp_path: Path) -> None:
    model = "model={kind: transformer, dim: 8, num_heads: 2, num_layers: 2}"
    train(tmp_path / "kept", model, "train.steps=20")
    train(tmp_path / "again", model, "train.steps=10", "train.gradient_checkpointing=true")
    train(tmp_path / "again", model, "train.steps=20")  # and goes on either way
    assert metrics(tmp_path / "kept") == metrics(tmp_path / "again")


def test_only_layers_of_transformers_compute_activations_again() -> None:
    with pytest.raises(RecipeError, match=r"gradient_checkpointing.*bahdanau"):
        recipe("train.gradient_checkpointing=true")
    recipe("train.gradient_checkpointing=true", "model={kind: bidirectional, model: {kind: transformer}}")


def test_both_directions_are_trained(tmp_path: Path) -> None:
    model = "model={kind: bidirectional, model: {kind: bahdanau, embedding_dim: 16, hidden_dim: 16}}"
    trainer = Trainer(recipe(model, "train.steps=2"), Run(tmp_path), screen=Screen(quiet=True))
    before = {name: value.detach().clone() for name, value in trainer.model.named_parameters()}
    trainer.fit()
    moved = {name for name, value in trainer.model.named_parameters() if not torch.equal(value, before[name])}
    assert moved == set(before)


@pytest.mark.parametrize("precision", ["float32", "tf32"])
def test_tf32_is_for_updates_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: str) -> None:
    """On a GPU; here the setting alone is looked at. Validation is exact, and nobody else's setting changes."""
    seen: list[str] = []
    monkeypatch.setattr(torch, "set_float32_matmul_precision", seen.append)
    with tf32_products(torch.device("cuda"), allowed=precision == "tf32"):
        assert seen == (["high"] if precision == "tf32" else [])
    assert seen[-1] == "highest"
    train(tmp_path / precision, "train.steps=2", f"train.precision={precision}")
    assert "high" not in seen[2:]


def test_bfloat16(tmp_path: Path) -> None:
    train(tmp_path / "wide", "train.steps=20")
    train(tmp_path / "narrow", "train.steps=20", "train.precision=bfloat16")
    wide, narrow = (rows(tmp_path / name, "train")[-1]["loss"] for name in ("wide", "narrow"))
    assert narrow != wide
    assert narrow == pytest.approx(wide, rel=0.05)
    assert all(tensor.dtype == torch.float32 for tensor in read_tensors(tmp_path / "narrow/model.safetensors").values())


def test_patience_ends_a_run_for_good(tmp_path: Path) -> None:
    settings = ("train.optimizer.rate=1e-30", "train.patience=2", "evaluate.select=exact_match", "train.valid_every=4")
    outcome = train(tmp_path, *settings)
    assert (outcome.reason, outcome.progress.step, outcome.progress.best_step) == ("patience", 12, 4)
    before = metrics(tmp_path)
    assert train(tmp_path, *settings).progress.step == 12
    assert metrics(tmp_path) == before


def test_the_best_model_is_kept_or_the_last_are_averaged(tmp_path: Path) -> None:
    outcome = train(tmp_path / "mean", "train.average=3", "train.steps=45")
    run = Run(tmp_path / "mean")
    paths = run.checkpoints(keep=3, every=10).last()
    assert [int(path.name) for path in paths] == [30, 40, 45]
    kept = read_tensors(run.folder / "model.safetensors")
    assert all(torch.equal(kept[name], tensor) for name, tensor in average(paths).items())
    assert outcome.valid is not None
    assert rows(run.folder, "valid_averaged") == [{"step": 45, "split": "valid_averaged", **outcome.valid.values()}]
    assert outcome.valid.loss not in [row["loss"] for row in rows(run.folder, "valid")]
    best = train(tmp_path / "best")
    assert rows(tmp_path / "best", "valid_averaged") == []
    assert best.valid is not None
    assert best.valid.loss == min(row["loss"] for row in rows(tmp_path / "best", "valid"))


def test_data_that_cannot_be_read_leave_no_run_behind(tmp_path: Path) -> None:
    """So that what the sentence says to do, another setting, is not another recipe in the same folder."""
    file = tmp_path / "pairs.tsv"
    file.write_text("a\tb\nno second column\n" * 20)
    data = f"data={{format: table, train: {file}, valid: {file}}}"
    with pytest.raises(DataError, match="set bad_lines to skip"):
        train(tmp_path / "run", data, "train.steps=1")
    assert train(tmp_path / "run", data, "data.bad_lines=skip", "train.steps=1").progress.step == 1


def test_a_validation_that_is_not_finite_is_one_sentence(tmp_path: Path) -> None:
    trainer = Trainer(recipe(), Run(tmp_path), screen=Screen(quiet=True))
    with torch.no_grad():
        next(trainer.model.parameters()).fill_(math.nan)
    where = r"it arose in parameter encoder.words.table.weight, in batch 0 \(examples .*\); try a smaller"
    with pytest.raises(NotFiniteError, match=f"the loss of a validation is not finite: {where}"):
        measure(trainer.model, trainer.task, trainer.setup.valid, trainer.recipe)


class Broken(nn.Module):
    """Is well for two calls."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner
        self.calls = 0

    def forward(self, *given: Tensor) -> Tensor:
        self.calls += 1
        output: Tensor = self.inner(*given)
        return output * math.nan if self.calls > 2 else output


def test_a_loss_that_is_not_finite_names_module_and_batch(tmp_path: Path) -> None:
    trainer = Trainer(recipe("train.seed=3"), Run(tmp_path), screen=Screen(quiet=True))
    words = next(name for name, module in trainer.model.named_modules() if isinstance(module, nn.Embedding))
    parent = trainer.model.get_submodule(words.rpartition(".")[0])
    setattr(parent, words.rpartition(".")[2], Broken(trainer.model.get_submodule(words)))
    with pytest.raises(NotFiniteError) as caught:
        trainer.fit()
    sentence = str(caught.value)
    assert f"it arose in module {words} (Broken), in the batch at epoch 0, position 2 (examples " in sentence
    assert "try a smaller train.optimizer.rate" in sentence


def overflowing(trainer: Trainer, updates: set[int]) -> Trainer:
    """With a gradient that is infinite in these updates, though the loss is finite."""
    counted = iter(range(1, 1000))
    first = next(trainer.model.parameters())
    first.register_hook(lambda gradient: gradient * (math.inf if next(counted) in updates else 1.0))
    return trainer


def test_an_update_whose_gradients_overflow_is_left_out(tmp_path: Path) -> None:
    settings = recipe("train.steps=6", "train.clip=1.0", "train.valid_every=6")
    trainer = overflowing(Trainer(settings, Run(tmp_path), screen=Screen(quiet=True)), {3})
    outcome = trainer.fit()
    assert (outcome.reason, outcome.progress.step, outcome.progress.overflows) == ("finished", 6, 0)
    assert all(torch.isfinite(parameter).all() for parameter in trainer.model.parameters())
    taken = {int(state["step"]) for state in trainer.optimizer.state.values()}
    assert taken == {5}


def test_gradients_that_always_overflow_end_the_run(tmp_path: Path) -> None:
    settings = recipe("train.steps=40", "train.clip=1.0", "train.valid_every=40")
    trainer = overflowing(Trainer(settings, Run(tmp_path), screen=Screen(quiet=True)), set(range(10, 1000)))
    with pytest.raises(NotFiniteError, match=r"overflowed in 21 updates in a row, up to step 30; try a smaller"):
        trainer.fit()


def test_the_folder_holds_what_the_run_is(tmp_path: Path) -> None:
    settings = recipe("train.steps=10")
    trainer = Trainer(settings, Run(tmp_path), screen=Screen(quiet=True))
    outcome = trainer.fit()
    report(trainer.run, settings, outcome)
    names = {path.name for path in tmp_path.iterdir()}
    tokenizers = {"tokenizer.source.json", "tokenizer.target.json"}
    assert (
        names
        == {
            "recipe.yaml",
            "metrics.jsonl",
            "checkpoints",
            "model.safetensors",
            "checksums.json",
            "report.md",
            "curves.png",
        }
        | tokenizers
    )
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "report.md").read_text()
    for part in (
        "finished after step 10",
        "| test | exact match |",
        "| valid | perplexity |",
        "| source | prediction |",
    ):
        assert part in page
    assert Run(tmp_path).recipe() == settings
    kept = Run(tmp_path).encoders()
    assert kept is not None
    assert dict(kept) == dict(trainer.task.encoders)
    assert isinstance(kept["source"], Tokenizer)
    assert any(
        "finished after step 10" in str(getattr(part, "title", part))
        for part in summary(trainer.run, settings, trainer.task, outcome)
    )


def test_a_folder_that_is_no_run_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"is not a run: it has no recipe.yaml"):
        Run(tmp_path).recipe()
    with pytest.raises(RunError, match=r"has no model.safetensors yet"):
        Run(tmp_path).load_model(nn.Linear(1, 1))


def test_metrics_are_rewound(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / "metrics.jsonl")
    log.rewind(3)
    for step in (1, 2, 3):
        log.add(step, "train", loss=float(step))
    log.add(2, "test", loss=0.5)
    with log.path.open("a") as file:
        file.write('{"step": 2, "spl')  # killed here
    log.rewind(2)
    assert [row["step"] for row in log] == [1, 2]
    assert log.path.read_text().endswith('"loss": 2.0}\n')


def measured(loss: float, flatness: float | None) -> Measurement:
    return Measurement(loss, {"perplexity": MetricResult("perplexity", math.exp(loss), "", 1)}, (), flatness)


def test_warnings_of_learning() -> None:
    warnings = ValidationWarnings(unigram_loss=2.0)
    assert warnings.after(5, 100, measured(9.0, 1.0)) == []  # too early to say
    assert warnings.after(50, 100, measured(1.0, 0.3)) == []
    assert warnings.after(50, 100, measured(1.0, None)) == []
    (low,) = warnings.after(50, 100, measured(1.95, 0.3))
    assert "the loss 1.95 is not clearly below the unigram loss 2.00" in low
    assert warnings.after(60, 100, measured(1.95, 0.3)) == []  # each thing once
    (flat,) = warnings.after(50, 100, measured(1.0, 0.97))
    assert "attention is flat (97% of the entropy" in flat
    (overfitted,) = ValidationWarnings(unigram_loss=2.0).after(50, 100, measured(2.4, 0.3), 0.1)
    assert "its loss is 0.10 on training data and 2.40 in validation" in overfitted


def test_the_unigram_loss_counts_ends(tmp_path: Path) -> None:
    trainer = Trainer(recipe(), Run(tmp_path), screen=Screen(quiet=True))
    targets = trainer.setup.train.texts("target")
    tokens = [token for text in targets for token in [*text.split(), "</s>"]]
    shares = [tokens.count(token) / len(tokens) for token in set(tokens)]
    assert trainer.validator.warnings.unigram_loss == pytest.approx(-sum(share * math.log(share) for share in shares))


def test_a_prediction_as_json() -> None:
    one = Prediction("a b", "c", -0.5, ("a", "b"), ("c", "</s>"), (-0.4, -0.6), torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    assert json.loads(json.dumps(one.as_json(alignment=True)))["alignment"] == [[1.0, 0.0], [0.0, 1.0]]
    assert "alignment" not in one.as_json()


def test_a_batch_too_small_for_most_examples_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"of 200 examples are longer than a batch of 9 tokens; raise train\.batch\.tokens"
    ):
        train(tmp_path, "train.batch={tokens: 9}", "data.longest=7")


def test_labels_are_chosen_by_their_metric() -> None:
    texts = recipe()
    assert texts.select == ("loss",)
    labels = texts.model_copy(update={"task": "classify", "evaluate": EvaluateSection()})
    assert labels.select == ("accuracy",)
    assert texts.model_copy(update={"task": "nodes", "evaluate": EvaluateSection()}).select == ("accuracy", "loss")
    assert labels.model_copy(update={"evaluate": EvaluateSection(select="loss")}).select == ("loss",)


def test_a_metric_that_stands_twice_has_two_numbers(tmp_path: Path) -> None:
    twice = "evaluate={metrics: [{note_bleu: {order: 1}}, {note_bleu: {order: 2}}], select: 'note_bleu:order=2'}"
    train(tmp_path, twice, "train.steps=10")
    assert {"note_bleu:order=1", "note_bleu:order=2"} <= rows(tmp_path, "valid")[0].keys()


def test_lines_that_were_left_out_are_named(tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text("1 2\t1 2\n" * 20 + "no second column\n" + "3 4\t3 4\n" * 20)
    data = f"data={{format: table, train: {file}, valid: {file}, bad_lines: skip}}"
    outcome = train(tmp_path / "run", data, "train.steps=1")
    sentence = f"train: 1 line skipped: {file}:21: the row has 1 column"
    assert outcome.skipped[0].startswith(sentence)
    report(Run(tmp_path / "run"), recipe(data), outcome)
    assert "| left out | train: 1 line skipped: " in (tmp_path / "run/report.md").read_text()
    shown = Console(width=400, file=io.StringIO())
    for part in plan(recipe(data)):
        shown.print(part)
    assert sentence in shown.file.getvalue()  # type: ignore[attr-defined]


def test_a_model_that_no_memory_holds_is_not_made_to_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.train.dry_run.memory", lambda: 1000)
    *tables, said = plan(recipe())
    assert len(tables) == 1
    assert str(said).startswith("[bold red]too large:[/] 1.0 KiB of memory are free, and the weights alone need ")

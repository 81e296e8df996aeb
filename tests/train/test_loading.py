"""A run that is loaded answers as it did in training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import regard
from regard.predictor import Predictor
from regard.runs.folder import RunError
from tests.train.tiny import metrics, train

TEXTS = ["1 2 3", "4 5 6 7", "9 8 7", "1 1 1 1", "5 0 2"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("loading") / "tiny"
    train(folder, "train.steps=60")
    return folder


@pytest.fixture(scope="module")
def translator(run: Path) -> Predictor:
    return regard.load(run, device="cpu")


@pytest.mark.parametrize("settings", [{}, {"strategy": "beam", "beam_size": 3}])
def test_a_batch_is_its_rows_one_by_one(translator: Predictor, settings: dict[str, object]) -> None:
    together = translator.predict(TEXTS, **settings)
    alone = [translator.predict(text, **settings)[0] for text in TEXTS]
    for one, other in zip(together, alone, strict=True):
        assert (one.source, one.text, one.tokens) == (other.source, other.text, other.tokens)
        assert one.score == pytest.approx(other.score, abs=1e-5)
        assert one.alignment is not None
        assert other.alignment is not None
        assert one.alignment.shape == (len(one.tokens), len(one.source_tokens))
        torch.testing.assert_close(one.alignment, other.alignment, atol=1e-5, rtol=0)


def test_n_best_is_ordered_and_begins_with_the_best(translator: Predictor) -> None:
    found = translator.n_best(TEXTS, 3, strategy="beam")
    best = translator.predict(TEXTS, strategy="beam")
    assert [answers[0].text for answers in found] == [one.text for one in best]
    for answers in found:
        scores = [one.score for one in answers]
        assert len(answers) == 3
        assert scores == sorted(scores, reverse=True)


def test_answers_are_those_of_the_model_itself(translator: Predictor) -> None:
    """Weights laid out for answering, over the same parameters: another rounding and nothing else."""
    plain = translator.task.predict(translator.model, TEXTS, translator.search)
    for (one, *_), quick in zip(plain, translator.predict(TEXTS), strict=True):
        assert (one.text, one.tokens) == (quick.text, quick.tokens)
        assert one.score == pytest.approx(quick.score, abs=1e-5)
    assert translator.quick is not translator.model
    mine = [parameter.data_ptr() for parameter in translator.model.parameters()]
    assert [parameter.data_ptr() for parameter in translator.quick.parameters()] == mine


def test_a_capture_of_the_model_sees_its_answers(translator: Predictor) -> None:
    with regard.capture(translator.model) as seen:
        translator.predict(TEXTS[0])
    assert all(seen.weights(name).numel() for name in seen)


def test_nothing_is_answered_with_nothing(translator: Predictor) -> None:
    assert translator.predict([]) == []
    first, middle, last = translator.predict(["", "1 2 3", " \t"])
    assert (first.text, last.text, last.source, last.tokens) == ("", "", " \t", ())
    assert middle.text == translator.predict("1 2 3")[0].text


def test_a_setting_that_would_be_ignored_is_an_error(translator: Predictor) -> None:
    with pytest.raises(ValueError, match=r'n_best=3 with strategy "greedy"'):
        translator.n_best(TEXTS, 3)
    with pytest.raises(ValueError, match=r"predict: there is no setting 'beamsize'; did you mean 'beam_size'\?"):
        translator.predict(TEXTS, beamsize=3)


@pytest.mark.parametrize("texts", [3, ["1 2 3", 3]])
def test_what_is_not_a_text_is_one_sentence(translator: Predictor, texts: list[str]) -> None:
    with pytest.raises(ValueError, match="3 is not a text"):
        translator.predict(texts)


def test_printed_it_is_one_line(translator: Predictor, run: Path) -> None:
    count = sum(parameter.numel() for parameter in translator.model.parameters())
    assert repr(translator) == f"Predictor({run}, translate, {count:,} parameters)"


def test_the_model_is_in_evaluation_mode(translator: Predictor) -> None:
    assert not translator.model.training
    assert translator.predict(TEXTS) == translator.predict(TEXTS)


def test_a_name_in_runs_is_offered(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    Path("runs/tr").symlink_to(run)
    with pytest.raises(RunError, match=r"tr is not a run: it has no recipe.yaml; did you mean runs/tr\?"):
        regard.load("tr")


def test_unfinished_and_missing_runs_are_sentences(tmp_path: Path, run: Path) -> None:
    with pytest.raises(RunError, match=r"is not a run"):
        regard.load(tmp_path)
    (tmp_path / "recipe.yaml").write_text((run / "recipe.yaml").read_text())
    with pytest.raises(RunError, match=r"has no tokenizers yet; train it first"):
        regard.load(tmp_path)
    for name in ("source", "target"):
        (tmp_path / f"tokenizer.{name}.json").write_text((run / f"tokenizer.{name}.json").read_text())
    with pytest.raises(RunError, match=r"has no model.safetensors yet"):
        regard.load(tmp_path)


def test_evaluate_gives_the_number_of_training(run: Path) -> None:
    from typer.testing import CliRunner

    from regard.cli import app

    rows = [json.loads(line) for line in metrics(run).splitlines()]
    best = min((row for row in rows if row["split"] == "valid"), key=lambda row: row["loss"])
    for split, row in (("valid", best), ("test", rows[-1])):
        done = CliRunner().invoke(app, ["evaluate", str(run), "--split", split, "--json"])
        assert done.exit_code == 0, done.output
        found = json.loads(done.output)
        for name in row.keys() - {"step"}:  # a GPU may add up in another order
            expected = pytest.approx(row[name], rel=1e-6, abs=0) if torch.cuda.is_available() else row[name]
            assert found[name] == expected, name
        assert found["signatures"]["exact_match"].startswith("nrefs:1|")

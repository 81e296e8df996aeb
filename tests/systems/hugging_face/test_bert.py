"""BERTs to and from Hugging Face's transformers."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file
from typer.testing import CliRunner

from regard.cli import app
from regard.runs.run import Run
from regard.systems.masked_language_model.hugging_face import import_bert
from regard.systems.masked_language_model.hugging_face.names import ours
from regard.systems.masked_language_model.hugging_face.vocabulary import read
from tests.systems.hugging_face.folders import answered

RUN = CliRunner(env={"COLUMNS": "200"})


def test_there_and_back_is_the_same_model(saved: Path, tmp_path: Path) -> None:
    done = RUN.invoke(app, ["import", str(saved), str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    ids, predicted = answered(tmp_path / "run")
    assert RUN.invoke(app, ["export", str(tmp_path / "run"), str(tmp_path / "back")]).exit_code == 0
    import_bert(tmp_path / "back", Run(tmp_path / "again"))
    other_ids, again = answered(tmp_path / "again")
    assert ids == other_ids
    assert torch.equal(predicted.logits, again.logits)
    assert torch.equal(predicted.extras["next"], again.extras["next"])
    order = read(saved).order
    words = "bert.embeddings.word_embeddings.weight"
    before, after = load_file(saved / "model.safetensors"), load_file(tmp_path / "back" / "model.safetensors")
    assert before.keys() == after.keys()
    assert torch.equal(before[words][order], after[words])
    asked = RUN.invoke(app, ["predict", str(tmp_path / "run"), "the <mask> played"])
    assert asked.exit_code == 0, asked.output


def test_names_of_old_checkpoints() -> None:
    zero = torch.zeros(1)
    old = {"bert.embeddings.LayerNorm.gamma": zero, "bert.embeddings.position_ids": torch.arange(7)}
    assert list(ours(old, "a file")) == ["encoder.words.norm.weight"]


def test_a_bias_may_have_either_of_its_names() -> None:
    bias = torch.randn(5)
    names = ("cls.predictions.bias", "cls.predictions.decoder.bias")
    for given in ({names[0]: bias}, {names[1]: bias}, {names[0]: bias, names[1]: bias.clone()}):
        found = ours(given, "a file")
        assert list(found) == ["output_map.bias"]
        assert torch.equal(found["output_map.bias"], bias)

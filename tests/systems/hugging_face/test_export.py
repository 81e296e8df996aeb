"""What is exported says all that transformers needs, and what it cannot say is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors import safe_open
from typer.testing import CliRunner

from regard.cli import app
from regard.runs.folder import RunError
from regard.runs.run import Run
from regard.systems.masked_language_model.hugging_face import export_bert, import_bert
from regard.systems.masked_language_model.hugging_face.names import theirs
from tests.systems.hugging_face.folders import CONFIG


def changed(run: Path, **encoder: Any) -> None:
    """The recipe of a run, its encoder another."""
    content = yaml.safe_load((run / "recipe.yaml").read_text())
    content["model"]["encoder"] |= encoder
    (run / "recipe.yaml").write_text(yaml.safe_dump(content))
    (run / "checksums.json").unlink(missing_ok=True)


def test_the_config_says_what_the_model_is(saved: Path, tmp_path: Path) -> None:
    told = {"layer_norm_eps": 0.01, "hidden_dropout_prob": 0.2, "attention_probs_dropout_prob": 0.3}
    (saved / "config.json").write_text(json.dumps(CONFIG | told))
    import_bert(saved, Run(tmp_path / "run"))
    export_bert(Run(tmp_path / "run"), tmp_path / "back")
    said = json.loads((tmp_path / "back" / "config.json").read_text())
    wanted = CONFIG | told | {"hidden_act": "gelu", "type_vocab_size": 2, "architectures": ["BertForPreTraining"]}
    assert {key: said[key] for key in wanted} == wanted


def test_the_tokenizer_says_which_text_a_word_is_of(saved: Path, tmp_path: Path) -> None:
    import_bert(saved, Run(tmp_path / "run"))
    export_bert(Run(tmp_path / "run"), tmp_path / "back")
    settings = json.loads((tmp_path / "back" / "tokenizer_config.json").read_text())
    assert settings["model_input_names"] == ["input_ids", "token_type_ids", "attention_mask"]
    assert settings["model_max_length"] == CONFIG["max_position_embeddings"]


def test_weights_are_marked_as_transformers_4_wants_them(saved: Path, tmp_path: Path) -> None:
    import_bert(saved, Run(tmp_path / "run"))
    export_bert(Run(tmp_path / "run"), tmp_path / "back")
    with safe_open(tmp_path / "back" / "model.safetensors", framework="pt") as file:
        assert file.metadata() == {"format": "pt"}


def test_a_model_that_transformers_has_not_is_one_sentence(saved: Path, tmp_path: Path) -> None:
    import_bert(saved, Run(tmp_path / "run"))
    changed(tmp_path / "run", activation="relu")
    with pytest.raises(RunError, match=r"model.encoder.activation is 'relu', and its head for words has gelu; a BERT"):
        export_bert(Run(tmp_path / "run"), tmp_path / "back")
    changed(tmp_path / "run", score="cosine")
    with pytest.raises(RunError, match=r"model.encoder.score is 'cosine', which no BERT of transformers has; only one"):
        export_bert(Run(tmp_path / "run"), tmp_path / "back")
    assert not (tmp_path / "back").exists()


def test_a_weight_without_a_name_there_is_one_sentence() -> None:
    with pytest.raises(RunError, match=r"a weight 'encoder.layers.0.attention.score.scale', which no BERT of transf"):
        theirs({"encoder.layers.0.attention.score.scale": torch.ones(1)})


def test_a_run_of_another_task_and_a_file_in_the_way_are_one_sentence(saved: Path, tmp_path: Path) -> None:
    import_bert(saved, Run(tmp_path / "run"))
    (tmp_path / "file").touch()
    failed = CliRunner(env={"COLUMNS": "400"}).invoke(app, ["export", str(tmp_path / "run"), str(tmp_path / "file")])
    assert failed.exit_code == 2
    assert "cannot be written" in failed.output
    (tmp_path / "run" / "recipe.yaml").write_text("task: classify\n")
    (tmp_path / "run" / "checksums.json").unlink()
    with pytest.raises(RunError, match="the task 'classify'; only a BERT of the task 'masked_language_model' can be"):
        export_bert(Run(tmp_path / "run"), tmp_path / "back")

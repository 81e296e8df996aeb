"""`regard recipes --reference` describes every key with type, range, default and sentence."""

from __future__ import annotations

import dataclasses

import pytest
from typer.testing import CliRunner

from regard.cli import app
from regard.decode.search import Search
from regard.recipes.reference import markdown, reference
from regard.recipes.schema import recipe_class
from regard.recipes.system import systems

RUNNER = CliRunner(env={"COLUMNS": "200"})


def printed(*arguments: str) -> str:
    done = RUNNER.invoke(app, ["recipes", "--reference", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_every_key_has_a_sentence() -> None:
    chapters = reference()
    assert [f"{one.path}.{key.name}" for one in chapters for key in one.keys if not key.sentence] == []
    assert len(chapters) == len({one.path for one in chapters})


def test_every_format_model_and_section_is_there() -> None:
    paths = {one.path for one in reference()}
    for system in systems().values():
        assert {f"data.{form}" for form in system.formats} <= paths
        assert {f"model.{kind}" for kind in system.models} <= paths
    assert {"recipe", "tokenizer", "train", "train.batch", "decode", "evaluate", "encoder.bert", "score.dot"} <= paths


def test_one_key_says_type_range_default_and_sentence() -> None:
    (chapter,) = reference("model.luong.hidden_dim")
    assert chapter.path == "model.luong"
    (key,) = chapter.keys
    assert (key.name, key.type, key.default) == ("hidden_dim", "whole number ≥ 1", "512")
    assert "idth" in key.sentence


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("model.luong.attention", {"score", "align", "num_heads", "terms"}),
        ("model.char_rnn.attention", {"score", "hidden_dim", "terms", "max_length"}),
        ("model.luong.attention.score.concat", {"name", "hidden_dim", "identity_key"}),
        ("model.acceptor.encoder.bert", {"kind", "pooled", "norm", "dim"}),
        ("train.batch", {"tokens", "sentences", "window", "accumulate"}),
        ("data.digits", {"format", "task", "train_size"}),
    ],
)
def test_a_section_has_its_keys(path: str, names: set[str]) -> None:
    (chapter,) = reference(path)
    assert names <= {key.name for key in chapter.keys}
    assert all(name in printed(path) for name in names)


def test_train_has_the_keys_of_all_systems() -> None:
    (chapter,) = reference("train")
    assert {"steps", "masking", "hard"} <= {key.name for key in chapter.keys}


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("modle", "'modle'; did you mean model?"),
        ("model.loung", "'model.loung'; did you mean luong?"),
        ("model.luong.atention", "did you mean attention?"),
        ("train.steps.more", "'train.steps' has a plain value"),
    ],
)
def test_an_unknown_key_is_one_sentence(path: str, part: str) -> None:
    done = RUNNER.invoke(app, ["recipes", "--reference", path])
    assert done.exit_code == 2
    assert part in done.output


def test_the_page_has_a_table_per_section() -> None:
    page = markdown(reference())
    assert page.count("\n## ") == len(reference())
    assert "| `num_heads` | whole number ≥ 1 | `8` | " in page
    assert printed("--markdown").strip() == page.strip()


def test_decode_has_the_keys_of_a_search_and_those_of_answers() -> None:
    decode = recipe_class(systems()["translate"]).model_fields["decode"].annotation
    assert decode is not None
    assert {field.name for field in dataclasses.fields(Search)} <= set(decode.model_fields)

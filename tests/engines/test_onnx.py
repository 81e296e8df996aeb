"""onnxruntime computes what our own model computes, whatever the search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

import regard
from regard.cli import app
from regard.decode import Search, generate
from regard.models import Bahdanau, Transformer
from tests.engines.test_ctranslate2 import LENGTHS, SOURCE, agree, model, run

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'regard[export]'")
pytest.importorskip("onnx", reason="onnx is not installed: pip install 'regard[export]'")

__all__ = ["run"]


@pytest.fixture(autouse=True)
def _on_cpu(_on_device: None) -> None:
    torch.set_default_device("cpu")


def engine(made: Transformer) -> Any:
    from regard.engines import Onnx

    return Onnx(made)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"norm": "post", "tied": "none"},
        {"positions": "learned", "max_length": 9, "activation": "gelu"},
        {"norm": "post", "positions": "rotary", "activation": "gelu"},
        {"tied": "all", "source_size": 13},
    ],
    ids=lambda arguments: " ".join(map(str, arguments.values())) or "default",
)
def test_the_same_hypotheses_as_our_own_model(arguments: dict[str, Any]) -> None:
    made = model(**arguments)
    other = engine(made)
    for search in (
        Search(strategy="greedy", max_length=8),
        Search(beam_size=5, n_best=5, max_length=8),
        Search(beam_size=4, groups=2, diversity=0.5, coverage=0.2, min_length=3, max_length=8),
        Search(strategy="sample", n_best=3, max_length=8),
    ):
        agree(generate(made, SOURCE, LENGTHS, search), generate(other, SOURCE, LENGTHS, search))


def test_outputs_longer_than_a_block_of_the_cache() -> None:
    made = model(sure=0.5)
    with torch.no_grad():
        made.output_map.bias[3] -= 50.0
    search = Search(beam_size=3, max_length=37)
    ours, theirs = (generate(each, SOURCE, LENGTHS, search) for each in (made, engine(made)))
    assert {len(row[0].tokens) for row in ours} == {37}
    agree(ours, theirs)


def test_an_empty_source_is_read_as_nothing() -> None:
    made, search = model(), Search(strategy="greedy", max_length=5)
    lengths = torch.tensor([5, 0, 1, 0])
    agree(generate(made, SOURCE, lengths, search), generate(engine(made), SOURCE, lengths, search))


def test_outputs_may_fill_the_table_of_positions() -> None:
    made, search = model(positions="learned", max_length=6), Search(strategy="greedy", max_length=6)
    with torch.no_grad():
        made.output_map.bias[3] -= 50.0
    agree(generate(made, SOURCE, LENGTHS, search), generate(engine(made), SOURCE, LENGTHS, search))
    with pytest.raises(ValueError, match="max_length is beyond the model's 6 positions; lower max_length"):
        generate(engine(made), SOURCE, LENGTHS, Search(strategy="greedy", max_length=7))
    short = engine(model(positions="learned", max_length=4))
    with pytest.raises(ValueError, match="a source has 5 tokens; the engine onnx has positions for 4"):
        generate(short, SOURCE, LENGTHS, search)


def test_what_it_cannot_run_is_a_sentence() -> None:
    from regard.engines import Onnx, make_engine

    with pytest.raises(ValueError, match="the engine onnx runs encoder-decoder Transformers; Bahdanau is none"):
        Onnx(Bahdanau(11, 13))
    with pytest.raises(ValueError, match="the engine onnx computes on cpu; got 'cuda'"):
        Onnx(model(), device="cuda")
    with pytest.raises(ValueError, match="the engine onnx computes in float32; got 'int8'"):
        make_engine("onnx", model(), compute="int8")


def test_a_run_answers_the_same(run: Path) -> None:
    own, other = (regard.load(run, device="cpu", engine=name) for name in ("own", "onnx"))
    texts = ["1 2 3", "", "4 5 6 7", "9 8 7"]
    for ours, theirs in zip(
        own.n_best(texts, 2, strategy="beam"), other.n_best(texts, 2, strategy="beam"), strict=True
    ):
        assert [one.tokens for one in ours] == [one.tokens for one in theirs]
        assert [one.score for one in ours] == pytest.approx([one.score for one in theirs], abs=1e-5)

    def said(*arguments: str) -> str:
        done = CliRunner().invoke(app, [*arguments])
        assert done.exit_code == 0, done.output
        return done.output

    asked = ("predict", str(run), "1 2 3", "4 5 6 7")
    assert said(*asked, "--engine", "onnx") == said(*asked)

"""CTranslate2 finds what our own search finds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

import regard
from regard.cli import app
from regard.decode import Hypothesis, Search, generate
from regard.engines import CTranslate2
from regard.models import Transformer
from regard.nn.transformer_layer import LayerConfig
from tests.train.tiny import train

pytest.importorskip("ctranslate2", reason="ctranslate2 is not installed: pip install 'regard[ctranslate2]'")

SOURCE = torch.tensor([[5, 6, 7, 8, 9], [4, 10, 4, 0, 0], [9, 0, 0, 0, 0], [8, 7, 6, 5, 0]])
LENGTHS = torch.tensor([5, 3, 1, 4])


@pytest.fixture(autouse=True)
def _on_cpu(_on_device: None) -> None:
    torch.set_default_device(None)


def model(*, sure: float = 2.0, source_size: int = 11, target_size: int = 13, **arguments: Any) -> Transformer:
    """A Transformer that was never trained, with weights of a size that lets it prefer some words."""
    torch.manual_seed(1)
    blocks = {"dim": 16, "num_heads": 4, "hidden_dim": 24}
    blocks |= {name: arguments.pop(name) for name in ("norm", "activation") if name in arguments}
    made = Transformer(source_size, target_size, LayerConfig(**blocks), num_layers=2, **arguments)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        made.output_map.weight.mul_(sure)
        made.output_map.bias[3] += 1.0  # so that some outputs end
    return made.eval()


def agree(ours: list[list[Hypothesis]], theirs: list[list[Hypothesis]]) -> None:
    """The same hypotheses in the same order, with the same numbers."""
    assert [[one.tokens for one in row] for row in ours] == [[one.tokens for one in row] for row in theirs]
    for own, other in zip([one for row in ours for one in row], [one for row in theirs for one in row], strict=True):
        assert own.finished == other.finished
        assert own.score == pytest.approx(other.score, abs=1e-5)
        assert own.log_probs == pytest.approx(other.log_probs, abs=1e-5)
        assert other.recompute() == other.score
        assert own.alignment is not None
        assert other.alignment is not None
        torch.testing.assert_close(own.alignment, other.alignment, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"norm": "post", "tied": "none"},
        {"positions": "learned", "max_length": 9, "activation": "gelu"},
        {"positions": "rotary"},
        {"norm": "post", "positions": "rotary", "activation": "gelu"},
        {"tied": "all", "source_size": 13},
    ],
    ids=lambda arguments: " ".join(map(str, arguments.values())) or "default",
)
@pytest.mark.parametrize(
    "search",
    [
        Search(strategy="greedy", max_length=8),
        Search(beam_size=5, n_best=5, exact=True, max_length=8, forbid=()),
        Search(beam_size=3, n_best=3, exact=True, max_length=8, forbid=(), length_penalty="gnmt", alpha=0.6),
        Search(beam_size=5, length_penalty="none", exact=True, max_length=8, forbid=()),
        Search(strategy="greedy", max_length=8, max_ratio=1.5),
    ],
    ids=["greedy", "beam 5", "gnmt", "sum", "ratio"],
)
def test_the_same_hypotheses_as_our_own_search(arguments: dict[str, Any], search: Search) -> None:
    made = model(**arguments)
    agree(generate(made, SOURCE, LENGTHS, search), generate(CTranslate2(made), SOURCE, LENGTHS, search))


def test_only_what_is_read_is_computed() -> None:
    engine, calls = CTranslate2(model()), []

    class Counted:
        def __getattr__(self, name: str) -> Any:
            calls.append(name)
            return getattr(program, name)

    program, engine._program = engine._program, Counted()
    found = generate(engine, SOURCE, LENGTHS, Search(beam_size=3, max_length=8))
    assert [len(row) for row in found] == [1, 1, 1, 1]
    assert calls == ["translate_batch"]
    assert [row[0].score == row[0].recompute() for row in found] == [True] * 4
    assert calls == ["translate_batch", "score_batch"]
    assert [row[0].alignment.shape[1] for row in found if row[0].alignment is not None] == LENGTHS.tolist()
    assert calls == ["translate_batch", "score_batch", "translate_batch", "translate_batch"]


def test_outputs_may_fill_the_table_of_positions() -> None:
    made, search = model(positions="learned", max_length=6), Search(strategy="greedy", max_length=6)
    ours = generate(made, SOURCE, LENGTHS, search)
    assert max(len(row[0].tokens) for row in ours) == 6
    agree(ours, generate(CTranslate2(made), SOURCE, LENGTHS, search))


def test_there_are_fewer_where_nothing_else_may_be_said() -> None:
    made, search = model(target_size=5), Search(beam_size=5, n_best=5, exact=True, max_length=3, forbid=(0, 1, 2))
    for program in (made, CTranslate2(made)):
        for row in generate(program, SOURCE, LENGTHS, search):
            assert {one.tokens for one in row} == {(3,), (4, 3), (4, 4, 3), (4, 4, 4)}
            assert len(row) == 4


def test_what_is_forbidden_is_never_said() -> None:
    made = model(sure=0.2)
    search = Search(beam_size=4, n_best=4, forbid=(0, 2, 5, 6, 7), max_length=6)
    said = {
        token for row in generate(CTranslate2(made), SOURCE, LENGTHS, search) for one in row for token in one.tokens
    }
    assert said
    assert not said & {0, 2, 5, 6, 7}
    with pytest.raises(ValueError, match="forbid has the id 13; the model knows 13 ids"):
        generate(CTranslate2(made), SOURCE, LENGTHS, Search(forbid=(13,)))


def test_eight_bits_are_near() -> None:
    made = model()
    engine, search = CTranslate2(made, compute="int8"), Search(strategy="greedy", max_length=8)
    [[ours]], [[theirs]] = (generate(each, SOURCE[:1], LENGTHS[:1], search) for each in (made, engine))
    assert ours.log_probs[0] != theirs.log_probs[0]
    assert ours.log_probs[0] == pytest.approx(theirs.log_probs[0], abs=0.2)


def test_what_is_too_long_is_a_sentence() -> None:
    engine = CTranslate2(model(positions="learned", max_length=4))
    with pytest.raises(ValueError, match="a source has 5 tokens; the engine ctranslate2 has positions for 4"):
        generate(engine, SOURCE, LENGTHS, Search(max_length=4))
    with pytest.raises(ValueError, match="max_length=8 is beyond the model's 4 positions; lower max_length"):
        generate(engine, SOURCE[1:2, :3], LENGTHS[1:2], Search(max_length=8))


def test_an_unknown_type_of_numbers_is_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"computes in .*float32.* on cpu; got 'int3'"):
        CTranslate2(model(), compute="int3", device="cpu")
    with pytest.raises(ValueError, match="computes on cpu or cuda; got 'mps'"):
        CTranslate2(model(), device="mps")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("engines") / "tiny"
    train(folder, "model={kind: transformer, dim: 16, num_heads: 2, num_layers: 1}", "train.steps=30")
    return folder


@pytest.mark.parametrize("decode", ["decode.strategy=greedy", "decode.strategy=beam"])
def test_a_run_answers_the_same(run: Path, decode: str) -> None:
    own, other = (regard.load(run, device="cpu", overrides=[decode], engine=name) for name in ("own", "ctranslate2"))
    texts = ["1 2 3", "", "4 5 6 7", "9 8 7"]
    for ours, theirs in zip(own.predict(texts), other.predict(texts), strict=True):
        assert (ours.text, ours.tokens, ours.finished) == (theirs.text, theirs.tokens, theirs.finished)
        assert ours.score == pytest.approx(theirs.score, abs=1e-5)


def test_commands_take_it(run: Path) -> None:
    def said(*arguments: str) -> str:
        done = CliRunner().invoke(app, [*arguments])
        assert done.exit_code == 0, done.output
        return done.output

    asked = ("predict", str(run), "1 2 3", "4 5 6 7")
    assert said(*asked, "--engine", "ctranslate2") == said(*asked)
    assert len(said(*asked, "--engine", "ctranslate2", "--compute", "int8").splitlines()) == 2
    measured = [json.loads(said("evaluate", str(run), "--json", "--engine", name)) for name in ("own", "ctranslate2")]
    assert measured[0] == measured[1]


def test_what_an_engine_cannot_do_is_a_sentence(run: Path) -> None:
    predictor = regard.load(run, device="cpu", engine="ctranslate2")
    with pytest.raises(ValueError, match="predict: only is for our own search; leave it or the engine out"):
        predictor.predict("1 2 3", only=["1 2 3"])
    with pytest.raises(ValueError, match="the engine ctranslate2 runs one model; leave the engine or the other runs"):
        regard.load(run, run, device="cpu", engine="ctranslate2")
    done = CliRunner().invoke(app, ["predict", str(run), "1 2 3", "--compute", "int4"])
    assert done.exit_code == 2
    assert done.output == "error: compute is float32 or int8; got 'int4'\n"

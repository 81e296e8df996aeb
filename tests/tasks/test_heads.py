"""All layers and heads of a Transformer, whatever the task, and a report that says a title once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from regard.data import Labels, Tokenizer
from regard.decode.search import Search
from regard.explain.panel import HeadsPanel, Panel
from regard.models import build
from regard.predictor import Predictor
from regard.report.attention import attention
from regard.report.examples import ExampleRow
from regard.systems.classification.task import Classification
from regard.systems.language_model.task import LanguageModelling
from regard.systems.tagging.task import Tagging
from regard.systems.translation.task import Translation
from regard.tasks.task import Task

WORDS = Tokenizer.train(["a gem every dog too long"], kind="words")
SIZES: dict[str, Any] = {"dim": 6, "num_heads": 2, "num_layers": 3}
ENCODER = {"kind": "transformer", **SIZES}
LABELS = Labels(("bad", "good"))


def made(kind: str) -> tuple[Task, Any]:
    torch.manual_seed(0)
    size = WORDS.size
    if kind == "classify":
        model = build("acceptor", size, 2, encoder=ENCODER, pooling="mean")
        return Classification({"text": WORDS, "label": LABELS}), model.eval()
    if kind == "tag":
        return Tagging({"text": WORDS, "tags": LABELS}), build("transducer", size, 2, encoder=ENCODER).eval()
    if kind == "language_model":
        return LanguageModelling({"text": WORDS}, None), build("transformer_lm", size, **SIZES).eval()
    return Translation({"source": WORDS, "target": WORDS}), build("transformer", size, size, **SIZES).eval()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("classify", ["self"]),
        ("tag", ["self"]),
        ("language_model", ["causal"]),
        ("translate", ["self", "causal", "cross"]),
    ],
)
def test_a_transformer_of_any_task_shows_its_layers_and_heads(kind: str, expected: list[str]) -> None:
    task, model = made(kind)
    panels = [one for one in task.panels(model, "every gem a dog", Search(max_length=3)) if isinstance(one, HeadsPanel)]
    assert [one.kind for one in panels] == expected
    assert all(one.weights.shape[:2] == (3, 2) and one.rows and one.columns for one in panels)
    assert all(one.queries is not None for one in panels)


def test_neurons_are_drawn_where_they_are_asked_for_and_there_are_some() -> None:
    recipe: Any = SimpleNamespace(decode=SimpleNamespace(max_text=99))
    task, model = made("classify")
    run: Any = None
    predictor = Predictor(run, recipe, model, task, Search())
    (plain,) = predictor.view("every gem").panels
    assert isinstance(plain, HeadsPanel)
    assert plain.queries is None
    view = predictor.view("every gem", neurons=True)
    assert view.style == "neurons"
    assert view.panels[0].queries.shape == (3, 2, 2, 3)  # type: ignore[attr-defined]
    recurrent = build("bahdanau", WORDS.size, WORDS.size, embedding_dim=3, hidden_dim=4).eval()
    translation, _ = made("translate")
    with pytest.raises(ValueError, match="neurons are of attention by inner products"):
        Predictor(run, recipe, recurrent, translation, Search(max_length=3)).view("every gem", neurons=True)


def test_a_report_shows_the_title_of_an_example_once(monkeypatch: pytest.MonkeyPatch) -> None:
    task, model = made("translate")
    (prediction,) = task.predict(model, ["every gem"], Search(max_length=3))[0]
    row = ExampleRow(prediction=prediction, references=("a dog",), loss=None, right=False, asked="every gem")
    title = f"{prediction.source} → {prediction.text}"
    for shown, times in ((title, 1), ("something else", 0)):
        monkeypatch.setattr(type(task), "panels", lambda *_, shown=shown: [Panel(shown, torch.eye(2))])
        page = str(attention(model, task, Search(), [row]))
        assert page.count('class="regard-unseen"') == times
        assert "<h4" in page

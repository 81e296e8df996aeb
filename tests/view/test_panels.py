"""Pictures of several tables, and what `regard view` draws of any task."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from matplotlib import figure as figures

from regard.data.batching.batch import Batch
from regard.decode.search import Search
from regard.explain.panel import Panel
from regard.recipes.sections import Recipe
from regard.tasks.loss import Loss
from regard.tasks.prediction import Prediction
from regard.tasks.task import FieldEncoders, Task
from regard.view.panels import draw


class Fixed(Task):
    """A task with one answer."""

    question, answer = "source", "target"

    @classmethod
    def of(cls, recipe: Recipe, encoders: FieldEncoders) -> Fixed:
        raise NotImplementedError

    def __init__(self, alignment: torch.Tensor | None) -> None:
        self.alignment = alignment

    def loss(self, model: Any, batch: Batch, *, update: int | None = None, state: Any = None) -> Loss:
        raise NotImplementedError

    def predict(self, model: Any, texts: Sequence[str], search: Search, *, batch: int = 32) -> list[list[Prediction]]:
        return [[Prediction(texts[0], "ab", 0.0, ("x", "y", "$z$"), ("a", "b"), (0.0, 0.0), self.alignment)]]


def test_letters_without_a_font_are_said_to_be_boxes(tmp_path: Path) -> None:
    panel = Panel("weights", torch.eye(2), rows=("a", "\U000fff00"))
    said = draw([panel], tmp_path / "a.png")
    assert said is not None
    assert said.startswith(f"some letters in {tmp_path}/a.png are boxes")
    assert draw([panel], tmp_path / "a.html") is None
    assert draw([Panel("weights", torch.eye(2))], tmp_path / "b.png") is None


def test_an_alignment_is_one_panel() -> None:
    (panel,) = Fixed(torch.eye(3)[:2]).panels(None, "xyz", Search())
    assert (panel.title, panel.rows, panel.columns) == ("xyz → ab", ("a", "b"), ("x", "y", "$z$"))
    with pytest.raises(ValueError, match="the model attends to nothing that could be drawn"):
        Fixed(None).panels(None, "xyz", Search())


def test_each_panel_has_its_names_its_numbers_and_its_scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    titles: list[str] = []

    def keep(figure: figures.Figure, *_: object, **__: object) -> None:
        titles.extend(part.get_suptitle() for part in figure.subfigs)
        drawn.extend(part.axes[0] for part in figure.subfigs)

    monkeypatch.setattr(figures.Figure, "savefig", keep)
    weights, tape = torch.tensor([[0.0, 0.5], [0.25, 0.0]]), torch.tensor([[-2.0, 1.0, 0.0]])
    draw([Panel("weights", weights, "row", "step", ("a", "$b$"), ("", "x")), Panel("tape", tape)], tmp_path / "a.png")
    first, second = drawn
    assert titles == ["weights", "tape"]
    assert [label.get_text() for label in first.get_yticklabels()] == ["a", r"\$b\$"]
    assert (first.get_ylabel(), first.get_xlabel()) == ("row", "step")
    assert first.images[0].get_array().tolist() == weights.tolist()
    assert first.images[0].get_clim() == (0.0, 0.5)
    assert second.images[0].get_clim() == (-2.0, 2.0)  # white is zero


def test_bad_places_are_one_sentence(tmp_path: Path) -> None:
    panels = [Panel("zeros", torch.zeros(2, 3))]
    with pytest.raises(ValueError, match=r"a\.gif: a picture's name ends in \.png, \.svg, \.pdf"):
        draw(panels, tmp_path / "a.gif")
    with pytest.raises(ValueError, match=r"cannot be written \(No such file or directory\)"):
        draw(panels, tmp_path / "none" / "a.png")


def test_outlined_cells_have_a_frame(tmp_path: Path) -> None:
    panel = Panel("gold", torch.eye(3), columns=("a", "b", "c"), outlined=((0, 1), (2, 2)))
    plain = Panel("gold", torch.eye(3), columns=("a", "b", "c"))
    for suffix in (".png", ".svg", ".html"):
        for name, one in (("framed", panel), ("plain", plain)):
            draw([one], tmp_path / f"{name}{suffix}")
        assert (tmp_path / f"framed{suffix}").read_bytes() != (tmp_path / f"plain{suffix}").read_bytes()

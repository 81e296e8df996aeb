"""Views as numbers: what is read back is what was written, and the same view is the same file."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import regard
from regard.view.view import View
from tests.view.test_document import EVERY


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".json"])
def test_every_panel_comes_back(tmp_path: Path, suffix: str) -> None:
    panels = [panel for panel in EVERY if "\ud800" not in panel.rows + panel.columns] if suffix != ".npz" else EVERY
    View(tuple(panels)).save(tmp_path / f"a{suffix}")
    View(tuple(panels)).save(tmp_path / f"b{suffix}")
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()
    for panel, found in zip(panels, regard.view.load(tmp_path / f"a{suffix}").panels, strict=True):
        assert type(found) is type(panel)
        for field in fields(panel):
            one, other = getattr(panel, field.name), getattr(found, field.name)
            if isinstance(one, Tensor):
                assert torch.equal(one.float(), other)
            else:
                assert one == other


def test_other_programs_read_the_numbers(tmp_path: Path) -> None:
    view = regard.view.heatmap([[0.25, 0.75]], ["a"], ["x", "y"])
    view.save(tmp_path / "a.npz")
    assert np.load(tmp_path / "a.npz")["0.values"].tolist() == [[0.25, 0.75]]
    view.save(tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["about"][0]["columns"] == ["x", "y"]
    view.save(tmp_path / "a.pharaoh")
    assert (tmp_path / "a.pharaoh").read_text() == "1-0\n"


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".json"])
def test_what_is_no_view_is_one_sentence(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(b"{}")
    for one in (path, tmp_path / f"none{suffix}", tmp_path / "a.gif"):
        with pytest.raises(ValueError, match="no stored view"):
            regard.view.load(one)


def test_rows_that_are_made_while_they_are_drawn_are_not_stored(tmp_path: Path) -> None:
    view = regard.view.heatmap(regard.view.LazyRows((2, 2), lambda first, last: torch.eye(2)[first:last]))
    with pytest.raises(ValueError, match=r"a\.npz: the rows of a panel are made while it is drawn"):
        view.save(tmp_path / "a.npz")

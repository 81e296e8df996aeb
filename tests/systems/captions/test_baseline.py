"""Baselines of captions: the most frequent caption, and a caption of the nearest picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from regard.recipes.load import load
from regard.systems.captions.baseline import baselines, nearest


def test_the_nearest_row_is_that_of_all_distances() -> None:
    rng = np.random.default_rng(1)
    known, asked = rng.integers(0, 256, (4099, 7), np.uint8), rng.integers(0, 256, (5, 7), np.uint8)  # several chunks
    known[4098] = asked[3]
    distances = np.square(asked[:, None].astype(int) - known[None].astype(int)).sum(2)
    assert nearest(known, asked).tolist() == distances.argmin(1).tolist()
    assert nearest(known, asked)[3] == 4098


def test_baselines_of_two_colours(tmp_path: Path) -> None:
    """The nearest picture knows the colour; the most frequent caption is right for one picture of three."""
    for number, colour in enumerate(((250, 0, 0), (240, 9, 3), (0, 0, 250), (230, 0, 9), (9, 9, 230), (0, 9, 255))):
        Image.new("RGB", (9, 11), colour).save(tmp_path / f"{number}.png")
    (tmp_path / "train.tsv").write_text("0.png\tred\n0.png\ta thing\n1.png\tred\n2.png\tblue\n")
    (tmp_path / "test.tsv").write_text("3.png\tred\n4.png\tblue\n5.png\tblue\n")
    (tmp_path / "mine.yaml").write_text(
        "task: caption\ndata: {format: pictures, train: train.tsv, valid: test.tsv, root: "
        f"{tmp_path}, height: 40, width: 40}}\n"
        "tokenizer: {kind: words}\nmodel: {kind: captioner}\ntrain: {steps: 1}\nevaluate: {metrics: [exact_match]}\n"
    )
    found = dict(baselines(load(str(tmp_path / "mine.yaml"), []).recipe))
    assert {name: values["exact_match"] for name, values in found.items()} == {
        "most frequent": 1 / 3,
        "nearest picture": 1.0,
    }

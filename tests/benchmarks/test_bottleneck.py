"""The curve of BLEU against length."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.bottleneck import join, joined

from tests.train.tiny import train


def test_neighbours_are_joined_and_the_rest_is_left_out() -> None:
    assert joined(["a", "b", "c", "d", "e"], 2) == ["a b", "c d"]
    assert joined(["a", "b"], 3) == []


def test_both_sides_are_joined_alike(tmp_path: Path) -> None:
    (tmp_path / "de").write_text("a b\nc\nd\n")
    (tmp_path / "en").write_text("A B\nC\nD\n")
    join(tmp_path / "de", tmp_path / "en", tmp_path / "joined", most=2)
    assert (tmp_path / "joined/source").read_text() == "a b\nc\nd\na b c\n"
    assert (tmp_path / "joined/target").read_text() == "A B\nC\nD\nA B C\n"


def test_a_point_for_every_length_and_a_picture(tmp_path: Path) -> None:
    train(tmp_path / "tiny", "train.steps=10")
    for name in ("source", "target"):
        (tmp_path / name).write_text("1 2 3\n4 5 6\n7 8 9\n1 1 1\n")
    command = [sys.executable, "benchmarks/bottleneck.py", "draw", str(tmp_path / "tiny"), "--most", "2"]
    files = ["--source", str(tmp_path / "source"), "--target", str(tmp_path / "target")]
    subprocess.run([*command, *files, "--picture", str(tmp_path / "curve.png")], check=True)
    points = json.loads((tmp_path / "curve.json").read_text())["tiny"]
    assert [point[:2] for point in points] == [[1, 3.0], [2, 6.0]]
    assert (tmp_path / "curve.png").stat().st_size > 1000

"""The labels that the benchmark of pretraining hands out."""

from __future__ import annotations

from pathlib import Path

from benchmarks.pretraining import lines, subset


def test_labels_are_chosen_by_the_seed_and_splits_are_apart(tmp_path: Path) -> None:
    for name, count in (("TREC.train.all", 50), ("TREC.test.all", 7)):
        (tmp_path / name).write_text("".join(f"1 {name} {number}\n" for number in range(count)))
    folders = [
        subset("trec", tmp_path, tmp_path / "labels", labels, seed) for labels, seed in ((9, 1), (9, 2), (None, 1))
    ]
    some, others, everything = (set(lines(folder / "train.txt")) for folder in folders)
    valid = set(lines(folders[0] / "valid.txt"))
    assert (len(some), len(others), len(everything), len(valid)) == (9, 9, 45, 5)
    assert some != others
    assert some < everything
    assert not everything & valid
    assert valid == set(lines(folders[1] / "valid.txt"))
    assert len(lines(folders[2] / "test.txt")) == 7

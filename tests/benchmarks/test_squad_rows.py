"""Tokenised rows of SQuAD as SQuAD's JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import squad_rows
from regard.data import Squad


def test_rows_become_one_article(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {
        "context": ["Ada left Turin .", "Carl , too , came .", "No one ."],
        "question": ["What did Ada leave ?", "Who came ?", "Who ?"],
        "span": ["2 2", "0 2", "2 1"],
    }
    for name, lines in columns.items():
        (tmp_path / f"val.{name}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["squad_rows.py", str(tmp_path), str(tmp_path / "rows.json")])
    squad_rows.main()
    examples = list(Squad(tmp_path / "rows.json"))
    assert [one.fields["answer"] for one in examples] == ["Turin", "Carl , too"]
    assert {one.fields["article"] for one in examples} == {squad_rows.TITLE}
    assert len(json.loads((tmp_path / "rows.json").read_text())["data"]) == 1

"""The benchmark of alignments: its texts, its statistical part on small data, and its tables."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest
from benchmarks.alignment import MODELS, aer, cut, main, table

from regard.alignment.links import GoldLinks


def test_texts_are_cut_at_punctuation() -> None:
    assert cut("L'été, c'est fini !") == "l'été , c'est fini !"


def test_there_is_a_model_of_each_score_and_scope_plain_and_guided() -> None:
    assert len(MODELS) == 2 * (1 + 3 * 3 + 1 + 1)
    assert {"bahdanau", "luong_dot_local_p_guided", "luong_location_softmax", "transformer_guided"} <= set(MODELS)


def test_error_rate() -> None:
    gold = [GoldLinks(frozenset({(0, 0)}), frozenset({(0, 0), (1, 1)}))]
    assert aer([frozenset({(0, 0), (1, 1)})], gold) == 0.0


def test_statistics_of_small_data_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "word_alignment").mkdir()
    (tmp_path / "word_alignment" / "enfr.src-tgt").write_text("the house ||| la maison\n" * 5)
    (tmp_path / "word_alignment" / "enfr.gold").write_text("1-1 2-2\n" * 5)
    (tmp_path / "tatoeba_fra_eng").mkdir()
    with gzip.open(tmp_path / "tatoeba_fra_eng" / "fra.txt.gz", "wt") as file:
        file.write("The book.\tLe livre.\tlicence\n" * 600)
    arguments = ["--data", tmp_path, "--folder", tmp_path / "runs", "--quick", "--pairs", "50", "--languages", "enfr"]
    monkeypatch.setattr(sys, "argv", ["alignment", *map(str, arguments), "--models", "--aligners", "diagonal"])
    main()
    first = capsys.readouterr().out
    assert "| enfr | 50 | diagonal | " in first
    main()
    assert capsys.readouterr().out.strip() == first[first.index("| languages") :].strip()  # nothing is done again
    assert len((tmp_path / "runs" / "enfr_50" / "train.source").read_text().splitlines()) == 55


def test_attention_has_a_row_with_mean_and_deviation() -> None:
    rows = [
        {
            **{"language": "deen", "pairs": 9, "name": "luong", "seed": seed, "seconds": 7},
            **{"perplexity": 3.0, "bleu": 20.0, "aer": {"shift 0": 0.5 + seed / 10, "shift 1": 0.4}},
            "offsets": [{"offset": 0, "match": 0.25, "mass": 0.5, "words": 4}],
        }
        for seed in (0, 1)
    ]
    *_, row = table(rows)
    assert row.startswith("| deen | 9 | luong | 2 | 0.550 ± 0.071 | 0.400 ± 0.000 | 3.0 ± 0.0 | 20.0 ± 0.0 | 0.25")

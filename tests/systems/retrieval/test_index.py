"""Words, vectors and texts of an index: ranked as by definition, written and mapped, and damage that is noticed."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from regard.data.problems import DataError
from regard.systems.retrieval import bm25, index
from regard.systems.retrieval.bm25 import BM25, words_of
from regard.systems.retrieval.index import Index, nearest
from regard.systems.retrieval.ranking import Ranking, fused

PASSAGES = ["A red car, a red roof.", "a blue car", "ein Haus für dich", "the boat", "red"]


def plain_bm25(query: str, passages: list[str], k1: float = 1.2, b: float = 0.75) -> list[float]:
    """Equation by equation."""
    texts = [words_of(one) for one in passages]
    mean = sum(map(len, texts)) / len(texts)
    scores = []
    for text in texts:
        total = 0.0
        for word in words_of(query):
            having = sum(word in other for other in texts)
            rarity = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
            often = text.count(word)
            total += rarity * often * (k1 + 1) / (often + k1 * (1 - b + b * len(text) / mean))
        scores.append(total)
    return scores


@pytest.mark.parametrize("chunk", [2, 20_000])
@pytest.mark.parametrize("query", ["red", "the red car", "red red boat", "für"])
def test_bm25_is_its_formula(query: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bm25, "_CHUNK", chunk)
    wanted = plain_bm25(query, PASSAGES)
    ranked = BM25.of(PASSAGES).rank(query, len(PASSAGES))
    assert dict(zip(ranked.numbers.tolist(), ranked.scores.tolist(), strict=True)) == pytest.approx(
        {number: score for number, score in enumerate(wanted) if score}, rel=1e-5
    )
    assert list(ranked.scores) == sorted(ranked.scores, reverse=True)


def test_no_common_word_and_no_passage_find_nothing() -> None:
    assert not len(BM25.of(PASSAGES).rank("zebra", 3).numbers)
    assert not len(BM25.of([]).rank("red", 3).numbers)


@pytest.mark.parametrize("block", [1, 7 * 5, 1 << 20])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_blocks_find_the_nearest(block: int, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_BLOCK", block)
    vectors, queries = torch.randn(53, 5).to(dtype), torch.randn(3, 5)
    wanted = (queries @ vectors.float().mT).topk(11, dim=1)
    for row, ranked in enumerate(nearest(queries, vectors, 11)):
        assert ranked.numbers.tolist() == wanted.indices[row].tolist()
        np.testing.assert_allclose(ranked.scores, wanted.values[row].cpu(), rtol=1e-5, atol=1e-6)
    assert len(nearest(queries, vectors, 100)[0].numbers) == 53


def test_fusion_by_hand() -> None:
    ranked = fused([Ranking(np.array([3, 1]), np.ones(2)), Ranking(np.array([1]), np.ones(1))], 5)
    assert ranked.numbers.tolist() == [1, 3]
    assert ranked.scores.tolist() == pytest.approx([1 / 62 + 1 / 61, 1 / 61])


def test_of_equal_scores_the_first_passage_wins() -> None:
    assert Ranking.best(np.array([9, 2, 4]), np.array([1, 1, 1], np.float32), 2).numbers.tolist() == [2, 4]


@pytest.mark.parametrize("vectors", [None, torch.float32, torch.float16])
def test_what_was_written_ranks_the_same(vectors: torch.dtype | None, tmp_path: Path) -> None:
    numbers = None if vectors is None else torch.randn(len(PASSAGES), 3).to(vectors)
    index = Index(PASSAGES, numbers, "me")
    index.save(tmp_path / "index.safetensors")
    again = Index.load(tmp_path / "index.safetensors")
    assert (list(again.passages), again.passages[1:3], again.model) == (PASSAGES, PASSAGES[1:3], "me")
    one, other = (found.by_words(["the red car"], 3)[0] for found in (index, again))
    assert (one.numbers.tolist(), one.scores.tolist()) == (other.numbers.tolist(), other.scores.tolist())
    if numbers is None:
        with pytest.raises(ValueError, match="no vectors"):
            again.by_vectors(torch.randn(1, 3), 2)
    else:
        query = torch.randn(1, 3)
        found = (found.by_both(["red"], query, 2)[0].numbers.tolist() for found in (index, again))
        assert next(found) == next(found)


def test_damage_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "index.safetensors"
    with pytest.raises(DataError, match=r"index.safetensors: cannot be read"):
        Index.load(path)
    Index(PASSAGES, torch.randn(5, 3), "me").save(path)
    whole = load_file(path)
    for name, tensor in (
        ("vectors", whole["vectors"][:4]),
        ("vectors", whole["vectors"].double()),
        ("texts", whole["texts"][:-1]),
        ("postings", whole["postings"] + 5),
        ("offsets", whole["offsets"].flip(0)),
        ("weights", whole["weights"].double()),
    ):
        save_file({**whole, name: tensor.contiguous()}, path, {"kind": "regard.index", "model": "me"})
        with pytest.raises(DataError, match=r"index.safetensors is damaged"):
            Index.load(path)
    save_file(whole, path, {"kind": "another"})
    with pytest.raises(DataError, match="is no index; `regard index` writes one"):
        Index.load(path)
    path.write_bytes(b"nothing")
    with pytest.raises(DataError, match="cannot be read"):
        Index.load(path)

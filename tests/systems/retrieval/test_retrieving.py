"""Search as a task: losses by hand, wrong passages, an index of a split, rankings, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from regard.data import Batch, DataError, Tokenizer
from regard.data.batching.batch import padded
from regard.decode.search import Search
from regard.models import build
from regard.models.model_output import ModelOutput
from regard.systems.retrieval.index import Index
from regard.systems.retrieval.negatives import MinedNegatives
from regard.systems.retrieval.ranking import Ranking
from regard.systems.retrieval.small_ads import SmallAds
from regard.systems.retrieval.task import Retrieving
from tests.mechanism import assert_close

EXAMPLES = list(SmallAds(size=12))
WORDS = Tokenizer.train([str(value) for one in EXAMPLES for value in one.fields.values()], kind="words")
QUERIES = [str(one.fields["query"]) for one in EXAMPLES]
PASSAGES = [str(one.fields["passage"]) for one in EXAMPLES]
RNN = {"kind": "rnn", "embedding_dim": 5, "hidden_dim": 6}


class Fixed(torch.nn.Module):
    """Gives the same logits to whatever it reads."""

    def __init__(self, logits: list[list[float]]) -> None:
        super().__init__()
        self.logits = torch.tensor(logits)

    def forward(self, *given: torch.Tensor) -> ModelOutput:
        return ModelOutput(self.logits)


def task(**given: object) -> Retrieving:
    return replace(Retrieving(dict.fromkeys(("query", "passage"), WORDS)), **given)  # type: ignore[arg-type]


def model(kind: str = "dual_encoder", **arguments: object) -> torch.nn.Module:
    return build(kind, WORDS.size, **{"encoder": RNN, **arguments}).eval()


def batch(queries: list[list[int]], passages: list[list[int]], negatives: list[list[int]] | None = None) -> Batch:
    rows = {"query": queries, "passage": passages}
    tensors = {name: padded(ids, 0) for name, ids in rows.items()}
    tensors |= {f"{name}_lengths": torch.tensor([len(one) for one in ids]) for name, ids in rows.items()}
    if negatives is not None:
        shape = (len(queries), len(negatives) // len(queries))
        tensors["negative"] = padded(negatives, 0).view(*shape, -1)
        tensors["negative_sizes"] = torch.tensor([len(one) for one in negatives]).view(shape)
    return Batch(tensors, tuple(range(len(queries))), len(queries)).to(torch.get_default_device())


def test_the_loss_of_a_batch_by_hand_both_ways() -> None:
    logits = [[1.0, 2.0], [0.5, 3.0]]
    loss = task().loss(Fixed(logits), batch([[5], [6]], [[7], [8]]))
    there = F.cross_entropy(torch.tensor(logits), torch.arange(2), reduction="sum")
    back = F.cross_entropy(torch.tensor(logits).T, torch.arange(2), reduction="sum")
    assert_close(loss.total, float(there + back) / 2)
    assert_close(loss.nll, float(there))
    assert loss.tokens == 2


def test_an_equal_passage_and_that_of_an_equal_query_are_no_negatives() -> None:
    equal_passages = batch([[5], [6], [9]], [[7], [7], [8, 8]])
    equal_queries = batch([[5], [5], [9]], [[7], [6], [8, 8]])
    for logits in ([[1.0, 50.0, 2.0], [50.0, 1.0, 2.0], [0.0, 0.0, 4.0]],):
        wanted = 2 * F.cross_entropy(torch.tensor([[1.0, 2.0]]), torch.tensor([0])) + F.cross_entropy(
            torch.tensor([[4.0, 0.0, 0.0]]), torch.tensor([0])
        )
        for one in (equal_passages, equal_queries):
            assert_close(task().loss(Fixed(logits), one).nll, float(wanted), tolerance=1e-5)


def test_wrong_passages_join_those_of_the_batch_but_for_right_ones() -> None:
    given = batch([[5], [6]], [[7], [8]], [[9, 9], [7]])  # the second is the passage of the first query
    loss = task().loss(Fixed([[1.0, 2.0, 3.0, 60.0], [0.5, 3.0, 1.0, 2.0]]), given)
    wanted = F.cross_entropy(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([0]))
    wanted = wanted + F.cross_entropy(torch.tensor([[3.0, 0.5, 1.0, 2.0]]), torch.tensor([0]))
    assert_close(loss.nll, float(wanted), tolerance=1e-5)


def test_a_cross_encoder_learns_from_its_own_candidates() -> None:
    given = batch([[5], [6]], [[7], [8]], [[9, 9], [7], [8], [9]])
    loss = task(reranks=True).loss(Fixed([[1.0, 2.0, 40.0], [0.5, 60.0, 2.0]]), given)
    wanted = F.cross_entropy(torch.tensor([[1.0, 2.0]]), torch.tensor([0]))  # 7 is right for the first query
    wanted = wanted + F.cross_entropy(torch.tensor([[0.5, 2.0]]), torch.tensor([0]))  # and 8 for the second
    assert_close(loss.nll, float(wanted), tolerance=1e-4)


def test_wrong_passages_are_found_once_and_never_right() -> None:
    asked: list[str] = []

    def rank(queries: list[str], k: int) -> list[Ranking]:
        asked.extend(queries)
        return [Ranking(np.arange(k), np.ones(k, np.float32))]

    mined = MinedNegatives(["a", "a", "b"], np.array([0, 2, 1]), rank, among=3)  # type: ignore[arg-type]
    assert mined(0).tolist() == mined(1).tolist() == [1, 3, 4]
    assert mined(2).tolist() == [0, 2, 3]
    assert asked == ["a", "b"]


@pytest.mark.parametrize("by", ["vectors", "bm25", "hybrid"])
def test_the_index_is_the_passages_of_the_split(by: str) -> None:
    mine = model()
    ready = task(by=by, depth=5).bind(mine, EXAMPLES)
    assert ready.searcher is not None
    assert list(ready.searcher.index.passages) == list(dict.fromkeys(PASSAGES))
    answers = ready.predict(mine, QUERIES[:3], Search(n_best=2, beam_size=2))
    for query, found in zip(QUERIES, answers, strict=False):
        assert [one.source for one in found] == [query] * 2
        assert found[0].ranking is not None
        assert [one.text for one in found] == list(found[0].ranking[:2])
        assert len(found[0].ranking) == 5
        assert found[0].score >= found[1].score
    alone = ready.predict(mine, QUERIES[2:3], Search())
    assert alone[0][0].ranking == answers[2][0].ranking
    assert task().bind(mine) == task()


def test_a_cross_encoder_reranks_what_bm25_finds() -> None:
    mine = model("cross_encoder")
    ready = task(candidates=4, reranks=True).bind(mine, EXAMPLES)
    assert ready.searcher is not None
    first = Index(PASSAGES).by_words(QUERIES[:2], 4)
    for query, words, (answer,) in zip(QUERIES, first, ready.predict(mine, QUERIES[:2], Search()), strict=False):
        assert answer.ranking is not None
        assert set(answer.ranking) == {PASSAGES[number] for number in words.numbers}
        scores = ready.searcher.reranker.scores(query, answer.ranking)  # type: ignore[union-attr]
        assert scores.tolist() == sorted(scores.tolist(), reverse=True)


def test_a_query_that_no_passage_matches_has_a_blank_answer() -> None:
    mine = model("cross_encoder")
    (found,) = task(reranks=True).bind(mine, EXAMPLES).predict(mine, ["zebra"], Search())
    assert (found[0].text, found[0].ranking) == ("", ())


def test_a_view_has_the_words_of_both() -> None:
    mine = model()
    ready = task().bind(mine, EXAMPLES)
    for text in (QUERIES[0], f"{QUERIES[0]}\t{PASSAGES[5]}"):
        matched, marked = ready.panels(mine, text, Search())
        assert matched.values.shape == (len(matched.rows), len(matched.columns))
        assert marked.values.shape == (1, len(marked.words[0]))
    reranker = model("cross_encoder")
    (attended, _) = task(reranks=True).panels(reranker, f"{QUERIES[0]}\t{PASSAGES[0]}", Search())
    assert_close(attended.values.sum(1), [1.0] * len(attended.rows), tolerance=1e-5)
    for one, said in ((model(pooling="last"), "pooling is 'last'"), (model("cross_encoder", reads="joint"), "one row")):
        with pytest.raises(ValueError, match=said):
            task().panels(one, f"{QUERIES[0]}\t{PASSAGES[0]}", Search())
    with pytest.raises(ValueError, match="tab between, or --decode passages=FILE"):
        task().panels(mine, QUERIES[0], Search())


def test_what_is_refused(tmp_path: Path) -> None:
    mine = model()
    with pytest.raises(ValueError, match="--decode passages=FILE"):
        task().predict(mine, QUERIES, Search())
    with pytest.raises(ValueError, match="leave other runs out"):
        task().bind(torch.nn.Linear(2, 2))
    (tmp_path / "empty.txt").write_text("\n \n")
    with pytest.raises(DataError, match=r"empty.txt: there is nothing to search"):
        task(passages=tmp_path / "empty.txt").bind(mine)
    (tmp_path / "latin.txt").write_bytes("caf\u00e9\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"latin.txt:1: "):
        task(passages=tmp_path / "latin.txt").bind(mine)
    Index(PASSAGES, torch.randn(len(PASSAGES), 6).cpu(), "another").save(tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match="vectors of another model"):
        task(passages=tmp_path / "other.safetensors").bind(mine)
    assert task(passages=tmp_path / "other.safetensors", by="bm25").bind(mine).searcher is not None

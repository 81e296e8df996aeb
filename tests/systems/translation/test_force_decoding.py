"""Force-decoding: the same attention alone and in a batch, of every kind of model, and the choice of a head."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.alignment.links import GoldLinks
from regard.alignment.sentence_pairs import SentencePair
from regard.data.fields.tokenizer import Tokenizer
from regard.decode.search import Search
from regard.models import build
from regard.models.copying import Copying
from regard.runs.folder import RunError
from regard.systems.translation.alignment_choice import FILE, AlignmentChoice, candidates, kept_choice, ranked
from regard.systems.translation.bidirectional import Bidirectional
from regard.systems.translation.force_decoding import force_decode, source_reads
from regard.systems.translation.task import Translation

PAIRS = [
    SentencePair("das kleine Haus", "the small house"),
    SentencePair("", "nothing"),
    SentencePair("ein Buch", "a book , a small book"),
    SentencePair("das Haus", "the house"),
]
SOURCE = Tokenizer.train([pair.source for pair in PAIRS], kind="characters")
TARGET = Tokenizer.train([pair.target for pair in PAIRS], kind="words")
SIZES: dict[str, Any] = {"embedding_dim": 3, "hidden_dim": 5}


def model(kind: str) -> Any:
    if kind == "transformer":
        return build(kind, SOURCE.size, TARGET.size, dim=6, num_heads=2, num_layers=3).eval()
    if kind == "bidirectional":
        return Bidirectional(
            build("bahdanau", SOURCE.size, TARGET.size, **SIZES), build("bahdanau", TARGET.size, SOURCE.size, **SIZES)
        ).eval()
    return build(kind, SOURCE.size, TARGET.size, **SIZES).eval()


@pytest.mark.parametrize("kind", ["bahdanau", "luong", "transformer", "lstmn", "simple_attention", "bidirectional"])
def test_a_pair_has_the_same_attention_alone_and_in_a_batch(kind: str) -> None:
    task, made = Translation({"source": SOURCE, "target": TARGET}), model(kind)
    together = {one.number: one for one in force_decode(task, made, PAIRS)}
    assert sorted(together) == [0, 2, 3]
    for number, one in together.items():
        (alone,) = force_decode(task, made, [PAIRS[number]])
        np.testing.assert_allclose(alone.weights, one.weights, atol=1e-6)
        layers, heads, rows, columns = one.weights.shape
        assert (layers, heads) == ((3, 2) if kind == "transformer" else (1, 1))
        assert rows == len(TARGET.encode(PAIRS[number].target)) + 1 == len(one.tokens[1])
        assert columns == len(PAIRS[number].source) == len(one.tokens[0])
        np.testing.assert_allclose(one.weights.sum(-1), 1.0, rtol=1e-5)
        between = one.between_words(AlignmentChoice())
        assert between.shape == (len(PAIRS[number].target_words), len(PAIRS[number].source_words))
        assert (between.sum(1) < 1.0).all()  # spaces are of no word


def test_rows_are_those_of_the_search_that_says_the_same() -> None:
    task, made = Translation({"source": SOURCE, "target": TARGET}), model("luong")
    (said,) = task.predict(made, ["das Haus"], Search(strategy="greedy", max_length=4))[0]
    assert said.alignment is not None
    (forced,) = force_decode(task, made, [SentencePair("das Haus", " ".join(said.tokens[:4]))])
    np.testing.assert_allclose(forced.weights[0, 0, :3], said.alignment[:3], atol=1e-5)


def test_a_model_that_copies_reads_words_that_its_vocabulary_lacks() -> None:
    words = Tokenizer.train([pair.source for pair in PAIRS], kind="words")
    task = Translation({"source": words, "target": TARGET}, copy=True)
    made = Copying(build("transformer", words.size, TARGET.size, dim=6, num_heads=2, num_layers=2), copy=True).eval()
    assert source_reads(made) == ["model.decoder.layers.0.cross", "model.decoder.layers.1.cross"]
    (one,) = force_decode(task, made, [SentencePair("das Xanadu", "the Xanadu")])
    assert one.weights.shape == (2, 2, 3, 2)


def test_a_model_without_attention_is_refused() -> None:
    with pytest.raises(ValueError, match="attends to nothing"):
        list(force_decode(Translation({"source": SOURCE, "target": TARGET}), model("seq2seq"), PAIRS))


def test_the_head_that_aligns_is_chosen(tmp_path: Path) -> None:
    """Layer 2, head 1 looks at the right word one step late; its other head at the first, all others alike."""
    task, made = Translation({"source": TARGET, "target": TARGET}), model("transformer")
    made = build("transformer", TARGET.size, TARGET.size, dim=6, num_heads=2, num_layers=3).eval()
    pairs = [SentencePair("the small house", "house the small"), SentencePair("a book", "book a")]
    gold = [{(2, 0), (0, 1), (1, 2)}, {(1, 0), (0, 1)}]
    attention = []
    for one in force_decode(task, made, pairs):
        weights = np.full_like(one.weights, 1 / one.weights.shape[-1])
        weights[1, 1] = np.eye(weights.shape[-1])[0]
        for source, target in gold[one.number]:
            weights[1, 0, target + 1] = np.eye(weights.shape[-1])[source]
        attention.append(type(one)(**{**vars(one), "weights": weights}))
    wanted = [GoldLinks(frozenset(one), frozenset(one)) for one in gold]
    order = ranked(attention, wanted, "gold links")
    assert len(order) == len(candidates(3, 2)) == 3 * 3 * 2
    assert (order[0].layer, order[0].head, order[0].shift, order[0].aer) == (2, 1, 1, 0.0)
    order[0].save(tmp_path)
    assert kept_choice(tmp_path) == order[0]
    assert task.restored(tmp_path).alignment_choice(made) == order[0]
    assert task.alignment_choice(made) == AlignmentChoice(2)  # the last layer but one


def test_a_broken_choice_and_one_that_the_model_has_not(tmp_path: Path) -> None:
    assert kept_choice(tmp_path) is None
    for broken in ("{", json.dumps({"layers": 1})):
        (tmp_path / FILE).write_text(broken)
        with pytest.raises(RunError, match=r"alignment\.json"):
            kept_choice(tmp_path)
    with pytest.raises(ValueError, match=r"layer 4 .* 1 to 3"):
        AlignmentChoice(4).check(3, 2)
    with pytest.raises(ValueError, match=r"head 3 .* 1 to 2"):
        AlignmentChoice(3, 3).check(3, 2)


def test_answers_are_linked() -> None:
    task, made = Translation({"source": SOURCE, "target": TARGET}), model("bahdanau")
    torch.manual_seed(1)
    answers = [one[0] for one in task.predict(made, ["das Haus", "ein Buch"], Search(strategy="greedy", max_length=3))]
    for said, links in zip(answers, task.links(made, answers), strict=True):
        assert {target for _, target in links} == set(range(len(said.text.split())))
        assert {source for source, _ in links} <= {0, 1}

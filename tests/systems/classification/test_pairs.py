"""Two texts whose words attend to each other: both models against loops over single words, matches, and pictures."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from regard.data import Batch, Tokenizer
from regard.data.fields.labels import Labels
from regard.decode.search import Search
from regard.explain.capture import capture
from regard.models import build
from regard.systems.classification.claims import Claims
from regard.systems.classification.comparison import compare_vectors
from regard.systems.classification.decomposable import NearDot
from regard.systems.classification.pair_field import PairField, exact_matches
from regard.systems.classification.split_pair import SplitPair
from regard.systems.classification.task import Classification
from tests.mechanism import assert_close

SIZE, CLASSES = 11, 3
WORDS = {"kind": "words", "embedding_dim": 3, "hidden_dim": 5}
STATES = {"kind": "rnn", "cells": "lstm", "embedding_dim": 3, "hidden_dim": 6}
MODELS: dict[str, dict[str, Any]] = {
    "decomposable_attention": {"hidden_dim": 7, "encoder": WORDS},
    "esim": {"hidden_dim": 8, "encoder": STATES},
}
each_model = pytest.mark.parametrize("kind", MODELS)


def model(kind: str, **options: Any) -> Any:
    torch.manual_seed(1)
    return build(kind, SIZE, CLASSES, **{**MODELS[kind], **options}).double().eval()


def pairs() -> tuple[Tensor, Tensor, Tensor]:
    """Pairs with 3 between, lengths 6, 4 and 3, and matches."""
    text = torch.tensor([[5, 6, 7, 3, 9, 10], [9, 3, 5, 8, 4, 3], [6, 3, 6, 0, 0, 0]])
    return text, torch.tensor([6, 4, 3]), torch.tensor([[0, 1, 2, 0, 1, 0], [0, 0, 0, 2, 2, 2], [2, 0, 2, 0, 0, 0]])


PARTS = (([5, 6, 7], [9, 10]), ([9], [5, 8]), ([6], [6]))


def attended(mine: Tensor, yours: Tensor, keys: Any = lambda x: x) -> tuple[Tensor, Tensor]:
    weights = (keys(mine) @ keys(yours).T).softmax(1)
    return weights @ yours, weights


@pytest.mark.parametrize(("comparison", "mapped"), [("joined", True), ("signed", True), ("absolute", False)])
def test_decomposable_attention_equals_its_equations(comparison: Any, mapped: bool) -> None:
    made = model("decomposable_attention", comparison=comparison, mapped=mapped)
    assert isinstance(made.attend_map, torch.nn.Identity) != mapped
    predicted = made(*pairs()[:2])
    for row, texts in enumerate(PARTS):
        a, b = (made.encoder(torch.tensor([one])).states[0] for one in texts)
        (beta, there), (alpha, back) = attended(a, b, made.attend_map), attended(b, a, made.attend_map)
        sums = [made.compare_map(compare_vectors(*both, comparison)).sum(0) for both in ((a, beta), (b, alpha))]
        logits = made.output_map(made.aggregate_map(torch.cat(sums)))
        assert_close(predicted.logits[row], logits, tolerance=1e-12)
        weights, begin = predicted.attended.weights()[row], len(a) + 1
        assert_close(weights[: len(a), begin : begin + len(b)], there, tolerance=1e-12)
        assert_close(weights[begin : begin + len(b), : len(a)], back, tolerance=1e-12)
        assert_close(weights.sum(), float(len(a) + len(b)), tolerance=1e-12)  # nothing else has a weight


@pytest.mark.parametrize("comparison", ["joined", "signed", "absolute"])
def test_esim_equals_its_equations(comparison: Any) -> None:
    made = model("esim", comparison=comparison)
    predicted = made(*pairs()[:2])
    for row, texts in enumerate(PARTS):
        a, b = (made.encoder(torch.tensor([one])).states[0] for one in texts)
        features = []
        for mine, context in ((a, attended(a, b)[0]), (b, attended(b, a)[0])):
            words = torch.relu(made.compare_map(compare_vectors(mine, context, comparison)))
            read = made.layers(words.unsqueeze(0))[0][0]
            features += [read.mean(0), read.amax(0)]
        logits = made.output_map(torch.tanh(made.hidden_map(torch.cat(features))))
        assert_close(predicted.logits[row], logits, tolerance=1e-12)


def test_features_of_two_vectors_by_hand() -> None:
    a, b = torch.tensor([1.0, 5.0]), torch.tensor([3.0, 2.0])
    assert compare_vectors(a, b, "joined").tolist() == [1, 5, 3, 2]
    assert compare_vectors(a, b, "signed").tolist() == [1, 5, 3, 2, -2, 3, 3, 10]
    assert compare_vectors(a, b, "absolute").tolist() == [1, 5, 3, 2, 2, 3, 3, 10]


def test_intra_attention_has_a_bias_for_each_distance() -> None:
    made = model("decomposable_attention", intra=True, reach=1)
    torch.nn.init.normal_(made.intra.attention.score.distance)
    distance, (a, _) = (
        made.intra.attention.score.distance,
        (made.encoder(torch.tensor([one])).states[0] for one in PARTS[0]),
    )
    keys = made.intra.map(a)
    energy = keys @ keys.T
    for i in range(3):
        for j in range(3):
            energy[i, j] = energy[i, j] + distance[{-2: 0, -1: 1, 0: 2, 1: 3, 2: 4}[i - j]]
    states = torch.cat((a, energy.softmax(1) @ a), dim=1)
    parts = SplitPair.of(*pairs()[:2])
    encoded = made.encoder(*parts)
    assert_close(made.intra(encoded.states, encoded.mask)[0, :3], states, tolerance=1e-12)
    assert NearDot(2).distance.shape == (7,)


@each_model
@pytest.mark.parametrize("further", [{}, {"exact_match": True}])
def test_neither_padding_nor_other_pairs_change_anything(kind: str, further: dict[str, Any]) -> None:
    made = model(kind, **further)
    text, lengths, matches = pairs()
    given = [matches] if further else []
    together = made(text, lengths, *given)
    wide = made(F.pad(text, (0, 5), value=7), lengths, *(F.pad(one, (0, 5), value=2) for one in given))
    assert_close(wide.logits, together.logits, tolerance=1e-12)
    for row, length in enumerate(lengths.tolist()):
        alone = made(text[row : row + 1, :length], None, *(one[row : row + 1, :length] for one in given))
        assert_close(alone.logits[0], together.logits[row], tolerance=1e-12)
        weights = together.attended.weights()[row]
        assert_close(weights[:length, :length], alone.attended.weights()[0], tolerance=1e-12)
        assert not weights[length:].any()
        assert not weights[:, length:].any()


@each_model
def test_each_direction_reads_as_the_other_with_the_texts_exchanged(kind: str) -> None:
    made = model(kind)
    there, back = (
        made(torch.tensor([row])).attended.weights()[0] for row in ([5, 6, 7, 3, 9, 10], [9, 10, 3, 5, 6, 7])
    )
    assert_close(back[:2, 3:], there[4:, :3], tolerance=1e-12)
    assert_close(back[3:, :2], there[:3, 4:], tolerance=1e-12)


@each_model
def test_texts_without_words_have_weights_and_gradients_that_are_zero(kind: str) -> None:
    made = model(kind, **({"intra": True} if kind == "decomposable_attention" else {}))
    text, lengths = torch.tensor([[5, 6, 3, 0], [3, 7, 8, 9], [7, 8, 9, 4]]), torch.tensor([3, 4, 0])
    predicted = made(text, lengths)
    assert not predicted.attended.weights().any()  # of each pair one text, or both, has nothing to attend to
    predicted.logits.square().sum().backward()
    assert all(p.grad is None or torch.isfinite(p.grad).all() for p in made.parameters())


@pytest.mark.parametrize("kind", [*MODELS, "acceptor"])
def test_matches_of_words_matter(kind: str) -> None:
    options = {"encoder": STATES, "comparison": "absolute"} if kind == "acceptor" else {}
    made = build(kind, SIZE, CLASSES, **{**MODELS.get(kind, {}), **options}, exact_match=True).double().eval()
    text, lengths, matches = pairs()
    before = made(text, lengths, matches).logits
    for changed in (matches.clamp(max=1), matches * 0):  # in another case alone; not at all
        assert (made(text, lengths, changed).logits != before).any(1).all()
    behind = matches.clone()
    behind[:, 3:][text[:, 3:] == 0] = 2
    assert_close(made(text, lengths, behind).logits, before, tolerance=1e-12)


def test_pieces_match_as_they_are_spelt() -> None:
    words = Tokenizer.train(["a dog runs"], kind="words", masked=True, lowercase=True)
    assert exact_matches(words, "The zebu , a dog\tthe zebu A dog.") == [1, 2, 0, 1, 2, 0, 1, 2, 1, 2, 0]
    assert exact_matches(words, "a\t") == [0, 0]
    assert exact_matches(words, "\t") == [0]
    pieces = Tokenizer.train(["a house"], kind="bpe", size=270, masked=True)
    for text in ("a house!\ta  horse", "\ta", "é\té"):
        assert len(exact_matches(pieces, text)) == len(pieces.encode(text))
    field = PairField(words)
    stored = field.encode(["a dog\ta", "dog\tdog dog"])
    assert stored["ids"].counts.tolist() == stored["matches"].counts.tolist() == [4, 4]


def task(*, matches: bool) -> Classification:
    words = Tokenizer.train(["a gem", "far too long"], kind="words", masked=True)
    encoders = {"text": words, "label": Labels(("no", "yes"))}
    return Classification(encoders, pairs=True, across=True, matches=matches)


@each_model
@pytest.mark.parametrize("matches", [False, True])
def test_an_answer_has_the_weights_of_both_texts_on_each_other(kind: str, matches: bool) -> None:
    asked = task(matches=matches)
    made = build(kind, asked.encoders["text"].size, 2, **MODELS[kind], exact_match=matches).eval()
    texts = ["a gem\tfar too long", "long\tgem"]
    (best,), (other,) = asked.predict(made, texts, Search())
    (alone,) = asked.predict(made, texts[:1], Search())[0]
    assert best.alignment is not None
    assert_close(best.alignment, alone.alignment, tolerance=1e-6)
    assert_close(best.alignment.sum(1), [1.0, 1, 0, 1, 1, 1], tolerance=1e-6)
    assert_close(other.alignment, [[0.0, 0, 1], [0, 0, 0], [1, 0, 0]], tolerance=1e-6)
    there, back = asked.panels(made, texts[0], Search())
    assert (there.rows, there.columns) == (("a", "gem"), ("far", "too", "long")) == (back.columns, back.rows)
    assert_close(back.values, best.alignment[3:, :2], tolerance=1e-6)
    drawn = asked.drawing(other)
    assert drawn is not None
    assert [line.split()[0] for line in drawn.plain.splitlines() if "█" in line] == ["long", "gem"]


def test_the_loss_reads_matches() -> None:
    asked = task(matches=True)
    made = build("esim", asked.encoders["text"].size, 2, **MODELS["esim"], exact_match=True).eval()
    ids = torch.tensor([asked.encoders["text"].encode("a gem\ta gem")])  # type: ignore[attr-defined]
    found = []
    for matches in ([2, 2, 0, 2, 2], [0] * 5):
        tensors = {"text": ids, "text_lengths": torch.tensor([5]), "label": torch.tensor([1])}
        tensors["text_matches"] = torch.tensor([matches])
        found.append(float(asked.loss(made, Batch(tensors, (0,), 1)).nll))
    assert found[0] != found[1]


def test_the_read_across_can_be_captured() -> None:
    made = model("esim")
    with capture(made) as seen:
        made(*pairs()[:2])
    assert seen.weights("attention").shape == (6, 3, 3)


@each_model
def test_it_learns_by_heart(kind: str) -> None:
    made = model(kind, dropout=0.0).float().train()
    optimizer = torch.optim.Adam(made.parameters(), lr=0.02)
    for _ in range(60):
        loss = F.cross_entropy(made(*pairs()[:2]).logits, torch.tensor([2, 0, 1]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1


def test_reports_and_claims_share_all_their_words() -> None:
    for split in ("train", "valid", "test"):
        for one in Claims(split, size=200):  # type: ignore[arg-type]
            report, claim, label = (str(one.fields[name]) for name in ("text", "second", "label"))
            persons, places = ([sentence.split()[at] for sentence in report.split(" , ")] for at in (0, 4))
            person, place = claim.split()[0], claim.split()[4]
            assert len(set(persons)) == len(persons)
            assert place in places
            known = "unknown" if person not in persons else "yes" if claim in report.split(" , ") else "no"
            assert label == known
    labels = [one.fields["label"] for one in Claims(size=900)]
    assert all(labels.count(one) == pytest.approx(300, abs=60) for one in ("yes", "no", "unknown"))
    assert not {one.fields["text"] for one in Claims(size=300)} & {
        one.fields["text"] for one in Claims("test", size=300)
    }


@pytest.mark.parametrize(
    ("kind", "options", "sentence"),
    [
        ("esim", {"hidden_dim": 7}, "hidden_dim is 7, which is odd"),
        ("esim", {"comparison": "subtracted"}, "comparison must be one of .*; got 'subtracted'"),
        ("decomposable_attention", {"reach": 0}, "reach must be at least 1; got 0"),
        ("decomposable_attention", {"score": "dott"}, "there is no score 'dott' .did you mean 'dot'"),
        ("acceptor", {"pair_dim": 3, "comparison": "signed"}, "pair_dim and comparison are two ways"),
        ("acceptor", {"exact_match": True, "pooling": "last"}, "exact_match .* pooling 'last'"),
    ],
)
def test_wrong_arguments_are_one_sentence(kind: str, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        build(kind, SIZE, CLASSES, **options)

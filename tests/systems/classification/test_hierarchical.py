"""Hierarchical attention: words to sentences to a document, against loops over single sentences."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from regard.models import build
from regard.systems.classification.hierarchical import HierarchicalAttention, SentenceRows
from tests.mechanism import assert_close

SIZE, CLASSES, WIDTH = 11, 3, 6
DOCUMENTS = [[[5, 6, 7], [8, 9]], [[10, 4, 4, 5, 6]], [[7], [8, 8, 8, 9], [6, 5]]]


def model(**options: Any) -> HierarchicalAttention:
    torch.manual_seed(1)
    made = build("hierarchical", SIZE, CLASSES, embedding_dim=5, hidden_dim=WIDTH, scale=1.0, **options)
    assert isinstance(made, HierarchicalAttention)
    return made.double().eval()


def batch(documents: list[list[list[int]]], *, more: int = 0) -> tuple[Tensor, Tensor]:
    """Rows with 3 behind each sentence, and rubbish behind each document."""
    rows = [[word for sentence in document for word in (*sentence, 3)] for document in documents]
    most = max(map(len, rows)) + more
    return torch.tensor([(row + [9, 3] * most)[:most] for row in rows]), torch.tensor([len(row) for row in rows])


def looped(made: HierarchicalAttention, document: list[list[int]]) -> tuple[Tensor, list[Tensor], Tensor]:
    """Logits, the weights of the words of each sentence, and those of the sentences."""
    vectors, words = [], []
    for sentence in document:
        states, _ = made.word_level.layers(made.words(torch.tensor([sentence])))
        vector, weights = pooled(made.word_level, states[0])
        vectors.append(vector)
        words.append(weights)
    states, _ = made.sentence_level.layers(torch.stack(vectors).unsqueeze(0))
    vector, weights = pooled(made.sentence_level, states[0])
    return made.output_map(vector), words, weights


def pooled(level: Any, states: Tensor) -> tuple[Tensor, Tensor]:
    if level.pooling == "max":
        return states.amax(0), torch.empty(0)
    weights = torch.full((len(states),), 1 / len(states), dtype=torch.float64)
    if level.pooling == "attention":
        inner, outer = level.attention.inner_map, level.attention.outer_map.weight[0]
        weights = (torch.tanh(states @ inner.weight.T + inner.bias) @ outer).softmax(0)
    return weights @ states, weights


@pytest.mark.parametrize("cells", ["gru", "lstm"])
@pytest.mark.parametrize("pooling", ["attention", "mean", "max"])
def test_equals_a_loop_over_sentences(pooling: str, cells: str) -> None:
    made = model(pooling=pooling, cells=cells)
    predicted = made(*batch(DOCUMENTS))
    for row, document in enumerate(DOCUMENTS):
        logits, words, sentences = looped(made, document)
        assert_close(predicted.logits[row], logits, tolerance=1e-10)
        if pooling != "attention":
            assert predicted.attended is None
            continue
        both, at = predicted.attended.weights()[row], 0
        for sentence, weights, outer in zip(document, words, sentences, strict=True):
            end = at + len(sentence)
            assert_close(both[0, at:end], outer * weights, tolerance=1e-10)
            assert_close(both[:, end], torch.stack((torch.zeros_like(outer), outer)), tolerance=1e-10)
            at = end + 1
        assert_close(both.sum(1), [1.0, 1.0], tolerance=1e-10)


@pytest.mark.parametrize("pooling", ["attention", "mean", "max"])
def test_neither_padding_nor_other_documents_change_anything(pooling: str) -> None:
    made = model(pooling=pooling)
    together = made(*batch(DOCUMENTS, more=7))
    for row, document in enumerate(DOCUMENTS):
        alone = made(*batch([document]))
        assert_close(together.logits[row], alone.logits[0], tolerance=1e-12)
        if pooling == "attention":
            size = alone.attended.shape[-1]
            assert_close(together.attended.weights()[row, :, :size], alone.attended.weights()[0], tolerance=1e-12)
            assert together.attended.weights()[row, :, size:].abs().sum() == 0
    without_lengths = made(batch(DOCUMENTS[:1])[0])
    assert_close(without_lengths.logits[0], together.logits[0], tolerance=1e-12)


@pytest.mark.parametrize("pooling", ["attention", "mean", "max"])
def test_documents_of_nothing_have_the_bias_and_gradients_that_are_numbers(pooling: str) -> None:
    made = model(pooling=pooling)
    texts, lengths = batch(DOCUMENTS)
    for some in (torch.tensor([0, 6, 0]), torch.tensor([0, 0, 0])):
        predicted = made(texts, torch.minimum(some, lengths))
        assert_close(predicted.logits[0], made.output_map.bias, tolerance=1e-12)
        (slope,) = torch.autograd.grad(predicted.logits.square().sum(), made.words.table.weight, allow_unused=True)
        assert slope is None or torch.isfinite(slope).all()
    assert SentenceRows.of(torch.zeros(2, 0).long()).counts.tolist() == [0, 0]


def test_a_document_is_cut_behind_each_end() -> None:
    cut = SentenceRows.of(torch.tensor([[3, 5, 6, 3, 7], [8, 9, 3, 3, 9]]), torch.tensor([5, 4]))
    assert cut.ids.tolist() == [[0, 0], [5, 6], [7, 0], [8, 9], [0, 0]]  # ends alone are sentences without words
    assert (cut.lengths.tolist(), cut.counts.tolist()) == ([0, 2, 1, 2, 0], [3, 2])
    vectors = torch.arange(5.0).unsqueeze(1) + 1
    assert cut.together(vectors).squeeze(2).tolist() == [[1, 2, 3], [4, 5, 0]]


def test_words_are_lost_but_no_ends() -> None:
    made, (texts, lengths) = model(word_dropout=1.0), batch(DOCUMENTS)
    lost = texts.masked_fill(texts != 3, 1)
    assert_close(made.train()(texts, lengths).logits, made.eval()(lost, lengths).logits, tolerance=1e-12)


def test_it_learns_by_heart() -> None:
    made = model().float().train()
    optimizer = torch.optim.Adam(made.parameters(), lr=0.03)
    wanted = torch.tensor([2, 0, 1])
    for _ in range(30):
        loss = F.cross_entropy(made(*batch(DOCUMENTS)).logits, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 0.1


def test_directions_halve_the_width() -> None:
    with pytest.raises(ValueError, match="hidden_dim is 7"):
        build("hierarchical", SIZE, CLASSES, hidden_dim=7)


@pytest.mark.parametrize("pooling", ["attention", "mean"])
def test_sentences_in_order_of_length_change_nothing(pooling: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = model(pooling=pooling)
    text, lengths = batch([*DOCUMENTS, [[4] * 7, [5], [6, 6, 6]]], more=3)

    def both() -> list[Tensor]:
        made.zero_grad()
        predicted = made(text, lengths)
        predicted.logits.square().sum().backward()
        weights = [] if predicted.attended is None else [predicted.attended.weights()]
        return [predicted.logits, *weights, *(one.grad.clone() for one in made.parameters() if one.grad is not None)]

    whole = both()
    monkeypatch.setattr("regard.systems.classification.hierarchical.CPU_ROWS", 2)
    parted = both()
    assert len(whole) == len(parted)
    for one, other in zip(whole, parted, strict=True):
        assert_close(one, other, tolerance=1e-10)

"""Importance of words, other weights, erasure: on a classifier whose answers can be computed by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from regard.explain.agreement import variation
from regard.explain.erasure import erasure
from regard.explain.importance import MEASURES, _integrated, answers, attention, gradient, input_gradient, leave_one_out
from regard.explain.interventions import adversary, permuted, uniform
from regard.explain.rollout import flow, rollout, weighted_norms
from regard.explain.study import study
from regard.explain.subject import Subject, SubjectBatch

SIZE, WIDTH = 13, 5


def subject(seed: int = 0, reads: int = 2) -> Subject:
    """softmax(W Σ_t a_t x_t) with weights a = softmax(U x), in float64."""
    torch.manual_seed(seed)
    words = nn.Embedding(SIZE, WIDTH, padding_idx=0, dtype=torch.float64)
    scores, output = torch.randn(WIDTH, reads, dtype=torch.float64), torch.randn(WIDTH, 3, dtype=torch.float64)

    def attend(encoded: tuple[Tensor, SubjectBatch]) -> Tensor:
        states, texts = encoded
        energy = (states @ scores).mT.masked_fill(~texts.inside.unsqueeze(1), -torch.inf)  # [B, N, T]
        return energy.softmax(-1).nan_to_num()

    def answer(encoded: tuple[Tensor, SubjectBatch], weights: Tensor) -> Tensor:
        return ((weights @ encoded[0]).mean(1) @ output).softmax(-1)

    def read(inputs: object) -> SubjectBatch:
        ids = [[1 + ord(letter) % (SIZE - 1) for letter in given] for given in inputs]  # type: ignore[attr-defined]
        size = max(map(len, ids))
        padded = torch.tensor([row + [0] * (size - len(row)) for row in ids])
        return SubjectBatch(padded, torch.tensor([len(row) for row in ids]))

    return Subject(
        embedding=words,
        encode=lambda texts: (words(texts.ids), texts),
        attend=attend,
        answer=answer,
        repeat=lambda encoded, rows: (encoded[0][rows], encoded[1].rows(rows)),
        read=read,
        words=list,
        names=("a", "b", "c"),
    )


TEXTS = SubjectBatch(torch.tensor([[3, 7, 4, 9, 11, 2], [5, 6, 12, 0, 0, 0]]), torch.tensor([6, 3]))


def test_the_gradient_is_that_of_the_weighted_sum() -> None:
    """With fixed weights p depends on x_t by a_t alone, so the gradients of all words are parallel."""
    model = subject(reads=1)
    weights, slopes = attention(model, TEXTS), gradient(model, TEXTS)
    ratio = (slopes / weights).masked_fill(~TEXTS.inside, torch.nan)
    for text in range(2):
        row = ratio[text][TEXTS.inside[text]]
        torch.testing.assert_close(row, row[:1].expand_as(row))
    assert not torch.allclose(slopes, gradient(model, TEXTS, detach=False))


def test_input_gradient_against_a_finite_difference() -> None:
    model, epsilon = subject(), 1e-6
    chosen = answers(model, TEXTS).unsqueeze(1)

    def probability(scale: Tensor) -> Tensor:
        """Of the answer, with word t as often as `scale` [T] says, its weights unchanged."""
        states, texts = model.encode(TEXTS)
        weights = model.attend((states, texts))
        return model.answer((states * scale[:, None], texts), weights).gather(1, chosen).squeeze(1)

    found = input_gradient(model, TEXTS)
    for word in range(3):
        step = torch.zeros(6, dtype=torch.float64)
        step[word] = epsilon
        slope = (probability(1 + step) - probability(1 - step)) / (2 * epsilon)
        torch.testing.assert_close(found[:, word], slope.abs(), atol=1e-7, rtol=1e-5)


def test_integrated_gradients_are_complete() -> None:
    """Their sum is p(x) - p(0)."""
    model = subject()
    chosen = answers(model, TEXTS).unsqueeze(1)
    states, texts = model.encode(TEXTS)
    nothing = torch.zeros_like(states), texts
    begin = model.answer(nothing, model.attend(nothing)).gather(1, chosen)
    end = model.probabilities(TEXTS).gather(1, chosen)
    torch.testing.assert_close(_integrated(model, TEXTS, 200).sum(1), (end - begin).squeeze(1), atol=1e-4, rtol=1e-4)


def test_leaving_out_is_deleting() -> None:
    model = subject()
    found = leave_one_out(model, TEXTS)
    without = model.probabilities(SubjectBatch(torch.tensor([[3, 4, 9, 11, 2]]), torch.tensor([5])))
    torch.testing.assert_close(found[0, 1], (without - model.probabilities(TEXTS)[:1]).abs().mean())
    assert not found[1, 3:].any()


@pytest.mark.parametrize("name", [name for name in MEASURES if name != "random"])
def test_alone_is_as_in_a_batch_and_padding_changes_nothing(name: str) -> None:
    model, measure = subject(), MEASURES[name]
    together = measure(model, TEXTS)
    alone = measure(model, SubjectBatch(TEXTS.ids[1:, :3], TEXTS.lengths[1:]))
    torch.testing.assert_close(together[1, :3], alone[0])
    assert not together[1, 3:].any()


def test_equal_and_permuted_weights() -> None:
    model = subject()
    states, texts = model.encode(TEXTS)
    equal = (texts.inside / texts.lengths[:, None])[:, None].expand(2, 2, 6).double()
    expected = variation(model.answer((states, texts), equal), model.probabilities(TEXTS))
    torch.testing.assert_close(uniform(model, TEXTS), expected)
    assert (permuted(model, TEXTS, draws=9) > 0).all()
    one_word = SubjectBatch(torch.tensor([[3]]), torch.tensor([1]))
    assert permuted(model, one_word, draws=3).item() == uniform(model, one_word).item() == 0


def test_the_adversary_moves_weights_and_not_the_answer() -> None:
    model = subject()
    found = adversary(model, TEXTS, starts=3, steps=60, rate=0.1)
    states, texts = model.encode(TEXTS)
    change = variation(model.answer((states, texts), found.weights), model.probabilities(TEXTS))
    torch.testing.assert_close(change, found.change)
    assert (found.distance[found.distance > 0] > 0.02).all()
    assert (change[found.distance > 0] <= 0.05).all()
    torch.testing.assert_close(found.weights.sum(-1), torch.ones(2, 2).double())
    assert not found.weights[1, :, 3:].any()


def test_erasing_the_first_words_by_hand() -> None:
    model = subject()
    scores = torch.tensor([[9.0, 8.0, 1.0, 1.0, 1.0, 1.0], [9.0, 1.0, 1.0, 99.0, 99.0, 99.0]])  # padding is no word
    found = erasure(model, TEXTS, scores, (0.01, 0.3))
    chosen = answers(model, TEXTS).unsqueeze(1)
    whole = model.probabilities(TEXTS).gather(1, chosen)

    def fall(first: list[int], second: list[int]) -> Tensor:
        size = max(len(first), len(second))
        ids = torch.tensor([row + [0] * (size - len(row)) for row in (first, second)])
        left = model.probabilities(SubjectBatch(ids, torch.tensor([len(first), len(second)])))
        return (whole - left.gather(1, chosen)).squeeze(1)

    torch.testing.assert_close(found.comprehensiveness[:, 0], fall([7, 4, 9, 11, 2], [6, 12]))
    torch.testing.assert_close(found.comprehensiveness[:, 1], fall([4, 9, 11, 2], [6, 12]))
    torch.testing.assert_close(found.sufficiency[:, 1], fall([3, 7], [5]))


def test_rollout_and_flow() -> None:
    weights = torch.rand(2, 3, 2, 5, 5).softmax(-1)
    mixed = 0.5 * weights.mean(2) + 0.5 * torch.eye(5)
    torch.testing.assert_close(rollout(weights), mixed[:, 2] @ mixed[:, 1] @ mixed[:, 0])
    torch.testing.assert_close(rollout(weights).sum(-1), torch.ones(2, 5))
    one_layer = weights[:, :1]
    torch.testing.assert_close(flow(one_layer), rollout(one_layer))
    assert (flow(weights) <= 1 + 1e-6).all()
    assert (flow(weights) >= rollout(weights) - 1e-6).all()  # a product of shares is a flow, not always the largest


def test_weighted_norms_by_hand() -> None:
    weights, values, output = torch.rand(2, 3, 5, 7), torch.randn(2, 3, 7, 4), torch.randn(6, 12)
    read = sum(weights[1, h, 2, 4] * output[:, 4 * h : 4 * h + 4] @ values[1, h, 4] for h in range(3))
    assert isinstance(read, Tensor)
    torch.testing.assert_close(weighted_norms(weights, values, output)[1, 2, 4], read.norm())


def test_a_study_of_texts() -> None:
    seen: list[int] = []
    progress: Callable[[int], None] = seen.append
    found = study(subject(), ["a", "bcd", "hello", "words"], steps=5, starts=2, draws=5, examples=1, progress=progress)
    assert found.texts == sum(seen) == 3
    assert set(found.erased) == set(MEASURES)
    assert found.examples[0].words == ("b", "c", "d")
    assert found.examples[0].scores.shape == (5, 3)
    with pytest.raises(ValueError, match="two words"):
        study(subject(), ["a"])

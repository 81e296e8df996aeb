"""Importance of words, other weights, erasure: on a classifier whose answers can be computed by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn

from regard.explain.agreement import divergence, variation
from regard.explain.erasure import erasure
from regard.explain.importance import MEASURES, _integrated, answers, attention, gradient, input_gradient, leave_one_out
from regard.explain.interventions import adversary, permuted, uniform
from regard.explain.report import markdown
from regard.explain.rollout import flow, rollout, weighted_norms
from regard.explain.study import study
from regard.explain.subject import Extra, StagedSubject, SubjectBatch

SIZE, WIDTH = 13, 5


class Weighed(StagedSubject):
    """softmax(W Σ_t a_t x_t) with weights a = softmax(U x), in float64."""

    names = ("a", "b", "c")

    def __init__(self, seed: int, reads: int) -> None:
        torch.manual_seed(seed)
        self.words_table = nn.Embedding(SIZE, WIDTH, padding_idx=0, dtype=torch.float64)
        self.embeddings = (self.words_table,)
        self.scores, self.output = torch.randn(WIDTH, reads).double(), torch.randn(WIDTH, 3).double()

    def encode(self, texts: SubjectBatch) -> tuple[Tensor, SubjectBatch]:
        return self.words_table(texts.ids), texts

    def attend(self, encoded: tuple[Tensor, SubjectBatch]) -> Tensor:
        states, texts = encoded
        energy = (states @ self.scores).mT.masked_fill(~texts.inside.unsqueeze(1), -torch.inf)  # [B, N, T]
        return energy.softmax(-1).nan_to_num()

    def answer(self, encoded: tuple[Tensor, SubjectBatch], weights: Tensor) -> Tensor:
        return ((weights @ encoded[0]).mean(1) @ self.output).softmax(-1)

    def read(self, inputs: Sequence[str]) -> SubjectBatch:
        ids = [[1 + ord(letter) % (SIZE - 1) for letter in given] for given in inputs]
        size = max(map(len, ids))
        padded = torch.tensor([row + [0] * (size - len(row)) for row in ids])
        return SubjectBatch(padded, torch.tensor([len(row) for row in ids]))

    def words(self, given: str) -> list[str]:
        return list(given)


def subject(seed: int = 0, reads: int = 2) -> Weighed:
    return Weighed(seed, reads)


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


def test_flow_of_one_read_of_the_last_layer() -> None:
    """By a one-hot read it is a row of the flows; a mean of two states carries at least the mean of their shares."""
    weights = torch.rand(1, 2, 3, 4, 4).softmax(-1)
    one = torch.tensor([[0.0, 0.0, 1.0, 0.0]])
    torch.testing.assert_close(flow(weights, looks=one), flow(weights)[:, 2])
    both = torch.tensor([[0.5, 0.0, 0.5, 0.0]])
    assert (flow(weights, looks=both) >= (both.unsqueeze(1) @ rollout(weights)).squeeze(1) - 1e-6).all()


def test_integrated_gradients_of_a_cubic_are_exact() -> None:
    """Gauss-Legendre points: two are enough for p = z³ with z = w Σ x, whose share of x_t is p x_t / Σ x."""

    class Cubic(Weighed):
        def probabilities(self, texts: SubjectBatch, *, detach: bool = False) -> Tensor:
            sums = self.words_table(texts.ids).sum((1, 2), keepdim=True).squeeze(2)  # [B, 1]
            return torch.cat((1e6 + sums**3, 0 * sums), 1)

    model = Cubic(0, 1)
    vectors = model.words_table(TEXTS.ids).sum(2).detach()
    torch.testing.assert_close(_integrated(model, TEXTS, 2), vectors * vectors.sum(1, keepdim=True) ** 2)


def test_the_search_is_that_of_adam_with_amsgrad() -> None:
    """The same steps by `torch.optim`, on the objective as the paper writes it."""
    model, starts = subject(), 3
    encoded = model.encode(TEXTS)
    weights, before = model.attend(encoded).detach(), model.probabilities(TEXTS).detach()
    logits = 3 * torch.randn(starts, *weights.shape, generator=torch.Generator().manual_seed(0)).double()
    optimizer = torch.optim.Adam([logits.requires_grad_()], lr=0.1, amsgrad=True)
    inside = TEXTS.inside.unsqueeze(1)
    for _ in range(7):
        found = logits.masked_fill(~inside, -torch.inf).softmax(-1)
        after = torch.stack([model.answer((encoded[0].detach(), TEXTS), one) for one in found])
        apart = divergence(found, weights).mean(2)
        mutual = divergence(found.unsqueeze(0), found.unsqueeze(1)).mean(3).sum(0)  # of each start, to all others
        loss = 500 * (variation(after, before) - 0.01).relu() - apart - mutual / (starts * (starts - 1))
        optimizer.zero_grad()
        torch.autograd.backward([loss.sum()], inputs=[logits])
        optimizer.step()
    expected = logits.masked_fill(~inside, -torch.inf).softmax(-1).detach()
    distances = divergence(expected, weights).mean(2)
    result = adversary(model, TEXTS, starts=starts, steps=7, rate=0.1, allowed=1.0)
    torch.testing.assert_close(result.distance, distances.amax(0), atol=1e-6, rtol=1e-5)


def test_separators_are_no_units_and_stay() -> None:
    texts = SubjectBatch(torch.tensor([[5, 6, 3, 7, 0]]), torch.tensor([4]), separator=3, beside=(torch.tensor([9]),))
    assert texts.inside.tolist() == [[True, True, False, True, False]]
    assert texts.sizes.tolist() == [3]
    kept = texts.keep(torch.tensor([[False, True, False, False, True]])).shortened()
    assert (kept.ids.tolist(), kept.lengths.tolist(), kept.beside[0].tolist()) == ([[6, 3]], [2], [9])
    sentences = SubjectBatch(torch.tensor([[[5, 6], [7, 0], [8, 9]]]), torch.tensor([3])).keep(
        torch.tensor([[True, False, True]])
    )
    assert sentences.ids.tolist() == [[[5, 6], [8, 9], [0, 0]]]


def test_permuted_weights_keep_to_their_support() -> None:
    """Of two reads each may attend to one half; a permutation moves weights within it."""

    class Halves(Weighed):
        def support(self, texts: SubjectBatch) -> Tensor:
            half = torch.arange(texts.ids.shape[1]) < 3
            return texts.inside.unsqueeze(1) & torch.stack((half, ~half))

        def attend(self, encoded: tuple[Tensor, SubjectBatch]) -> Tensor:
            return super().attend(encoded).masked_fill(~self.support(encoded[1]), 0.0)

        def answer(self, encoded: tuple[Tensor, SubjectBatch], weights: Tensor) -> Tensor:
            assert not weights.masked_fill(self.support(encoded[1]), 0.0).any()
            return super().answer(encoded, weights)

    assert permuted(Halves(0, 2), TEXTS, draws=5).shape == uniform(Halves(0, 2), TEXTS).shape == (2,)


def test_a_study_of_texts() -> None:
    seen: list[tuple[int, int]] = []
    given = ["a", "bcd", "hello", "words"]

    def progress(done: int, total: int) -> None:
        seen.append((done, total))

    found = study(subject(), given, steps=5, starts=2, draws=5, examples=1, progress=progress)
    assert (found.answers, found.inputs, found.size) == (3, 3, "3 texts")
    assert seen[-1] == (3, 3)
    assert set(found.erased) == set(MEASURES)
    assert found.examples[0].words == ("b", "c", "d")
    assert found.examples[0].scores.shape == (5, 3)
    assert found.changes is not None
    assert found.changes.distance is not None
    with pytest.raises(ValueError, match="two words"):
        study(subject(), ["a"])


def test_a_study_of_several_answers_about_a_text() -> None:
    """Each text stands for two answers; a measure that two texts are too many for is left out, and said to be."""

    class Twice(Weighed):
        searched = False

        def read(self, inputs: Sequence[str]) -> SubjectBatch:
            number = torch.arange(len(inputs)).repeat_interleave(2)
            return super().read(inputs).rows(number)._replace(source=number)

        def extras(self) -> dict[str, Extra]:
            return {"place": Extra(lambda texts: texts.inside.cumsum(1).double()), "slow": Extra(Tensor, most=5)}

    found = study(Twice(0, 2), ["abc", "bcd", "hello"], draws=5, examples=2)
    assert found.size == "6 answers about 3 texts"
    assert len(found.examples) == 4
    assert found.left_out == {"slow": 5}
    assert ("place", "leave-one-out") in found.ranks
    assert found.changes is not None
    assert found.changes.distance is None
    said = markdown(found, "a run")
    assert "place" in said
    assert "Not measured: slow" in said
    assert "may give the same answer" not in said

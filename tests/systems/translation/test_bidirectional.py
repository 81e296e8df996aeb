"""Two directions together: the turned pair, the second loss, the bonus over words alone."""

from __future__ import annotations

import pytest
import torch

from regard.models import Bahdanau, Seq2Seq
from regard.models.model_output import log_softmax
from regard.systems.translation.bidirectional import Bidirectional, reverse_pair
from tests.mechanism import assert_close
from tests.models.systems import SOURCE, TARGET, WIDTHS


def both(gamma: float = 0.5) -> Bidirectional:
    return Bidirectional(Bahdanau(SOURCE, TARGET, **WIDTHS), Bahdanau(TARGET, SOURCE, **WIDTHS), gamma=gamma).double()


def batch() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    source = torch.tensor([[4, 5, 6, 3], [7, 3, 0, 0]])
    return source, torch.tensor([4, 2]), torch.tensor([[2, 8, 9, 0, 0], [2, 10, 11, 12, 5]])


def test_a_pair_is_turned_with_its_padding() -> None:
    pair = reverse_pair(*batch())
    assert pair.source.tolist() == [[8, 9, 3, 0, 0], [10, 11, 12, 5, 3]]
    assert pair.source_lengths.tolist() == [3, 5]
    assert pair.target.tolist() == [[2, 4, 5, 6, 0], [2, 7, 0, 0, 0]]
    assert pair.labels.tolist() == [[4, 5, 6, 3, 0], [7, 3, 0, 0, 0]]
    bare = reverse_pair(torch.tensor([[4, 5]]), torch.tensor([2]), torch.tensor([[2, 8]]))
    assert bare.source.tolist() == [[8, 0]]
    assert bare.source_lengths.tolist() == [1]
    assert bare.labels.tolist() == [[4, 5, 3]]


def test_the_extras_are_the_equation() -> None:
    model, (source, lengths, target) = both(), batch()
    predicted = model(source, lengths, target)
    words = [([4, 5, 6], [8, 9]), ([7], [10, 11, 12, 5])]
    for row, (x, y) in enumerate(words):
        there = model.forward_model(torch.tensor([[*x, 3]]), None, torch.tensor([[2, *y]]))
        back = model.backward_model(torch.tensor([[*y, 3]]), None, torch.tensor([[2, *x]]))
        assert_close(predicted.logits[row, : len(y) + 1], there.logits[0], tolerance=1e-10)
        spoken = log_softmax(back.logits)[0, torch.arange(len(x) + 1), torch.tensor([*x, 3])]
        assert_close(predicted.extras["backward"][row], -spoken.sum(), tolerance=1e-10)
        a, b = there.attended.weights()[0], back.attended.weights()[0]
        bonus = sum(a[j, i] * b[i, j] for j in range(len(y)) for i in range(len(x)))
        assert_close(predicted.extras["symmetry"][row], -0.5 * bonus, tolerance=1e-10)


def test_the_bonus_trains_both_attentions() -> None:
    model = both()
    model(*batch()).extras["symmetry"].sum().backward()
    for part in (model.forward_model, model.backward_model):
        assert part.attention.score.weight.grad.any()
        assert part.output_map.weight.grad is None


def test_it_generates_forward() -> None:
    model, (source, lengths, target) = both(), batch()
    ours = model.step(target[:, 0], model.start(source, lengths)).log_probs
    alone = model.forward_model.step(target[:, 0], model.forward_model.start(source, lengths)).log_probs
    assert_close(ours, alone)


def test_bad_values_are_named() -> None:
    plain = Bidirectional(Seq2Seq(SOURCE, TARGET, **WIDTHS), Seq2Seq(TARGET, SOURCE, **WIDTHS))
    with pytest.raises(ValueError, match="both models must attend to their source"):
        plain(*batch())
    with pytest.raises(ValueError, match="gamma must be at least 0; got -1"):
        both(-1)

"""Copying and coverage: a wrapper around every decoder that attends to its source."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.decode import Search, generate
from regard.decode.follow import score
from regard.models import Copying, Luong, build
from regard.models.copying import copies, coverage_loss, mean_weights, mixture, with_copies
from regard.nn import Additive
from regard.nn.scores import Covered
from regard.specials import BOS, EOS, PAD, UNK
from tests.mechanism import assert_close

SOURCE, TARGET = 11, 13
WIDTHS: dict[str, Any] = {"embedding_dim": 6, "hidden_dim": 8}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "luong": ("luong", WIDTHS),
    "luong at once": ("luong", {**WIDTHS, "feeding": False}),
    "luong key-value": ("luong", {**WIDTHS, "attention": {"score": "additive", "key_value": True}}),
    "luong local-p": ("luong", {**WIDTHS, "attention": {"score": "dot", "align": "local_p"}}),
    "bahdanau": ("bahdanau", WIDTHS),
    "bahdanau heads": ("bahdanau", {**WIDTHS, "attention": {"num_heads": 2, "terms": ["markov"]}}),
    "simple": ("simple_attention", WIDTHS),
    "transformer": ("transformer", {"dim": 8, "num_heads": 2, "num_layers": 2, "dropout": 0.0}),
}
kinds = pytest.mark.parametrize("name", KINDS)
both = pytest.mark.parametrize("coverage", [0.0, 0.7])


def made(name: str, *, copy: bool = True, coverage: float = 0.0) -> Any:
    kind, options = KINDS[name]
    torch.manual_seed(5)
    model = build(kind, SOURCE, TARGET, **options, copy=copy, coverage=coverage).eval()
    for parameter in model.parameters():  # far from uniform, so that beams differ
        torch.nn.init.normal_(parameter, std=0.7)
    if copy:
        torch.nn.init.constant_(model.gate.bias, -2.0)  # rather copies than generates
    return model


def sources() -> tuple[Tensor, Tensor]:
    """Three sources of 5, 2 and 3 tokens; the first has two unknown words, one of them twice."""
    ids = torch.tensor([[5, UNK, 7, UNK, UNK], [6, 8, 0, 0, 0], [UNK, 9, 5, 0, 0]])
    copied = torch.tensor([[6, TARGET + 1, 8, TARGET + 3, TARGET + 1], [7, 9, 0, 0, 0], [TARGET, 10, 6, 0, 0]])
    return with_copies(ids, copied), torch.tensor([5, 2, 3])


def target() -> Tensor:
    rows = [[BOS, TARGET + 1, 6, EOS, PAD, PAD], [BOS, 7, 9, 4, 5, EOS], [BOS, TARGET, EOS, PAD, PAD, PAD]]
    return torch.tensor(rows)


@kinds
@both
def test_probabilities_sum_to_one_and_absent_words_have_none(name: str, coverage: float) -> None:
    probabilities = made(name, coverage=coverage)(*sources(), target()).logits.exp()
    assert probabilities.shape == (3, 6, TARGET + 5)
    assert_close(probabilities.sum(-1), torch.ones(3, 6), tolerance=1e-5)
    there = probabilities[..., TARGET:].gt(0).any(1).tolist()
    assert there == [[False, True, False, True, False], [False] * 5, [True, False, False, False, False]]


@kinds
@both
def test_steps_are_teacher_forcing(name: str, coverage: float) -> None:
    model, (source, lengths), tokens = made(name, coverage=coverage), sources(), target()
    whole = model(source, lengths, tokens).logits.log_softmax(-1)
    state = model.start(source, lengths)
    for t in range(tokens.shape[1]):
        step = model.step(tokens[:, t], state)
        state = step.state
        assert_close(step.log_probs, whole[:, t], tolerance=1e-4)


@kinds
@both
def test_a_beam_does_not_depend_on_the_batch(name: str, coverage: float) -> None:
    model, (source, lengths) = made(name, coverage=coverage), sources()
    search = Search(beam_size=3, n_best=3, max_length=7)
    together = generate(model, source, lengths, search)
    copied = 0
    for row, size in enumerate(lengths.tolist()):
        (alone,) = generate(model, source[row : row + 1, :size], lengths[row : row + 1], search)
        assert [one.tokens for one in alone] == [one.tokens for one in together[row]]
        assert [one.score for one in alone] == pytest.approx([one.score for one in together[row]], abs=1e-4)
        copied += sum(token >= TARGET for one in alone for token in one.tokens)
    assert copied
    forced = score(model, source, lengths, [found[0].tokens for found in together], penalty=search.penalty)
    for again, (best, *_) in zip(forced, together, strict=True):
        assert again.score == pytest.approx(best.score, abs=1e-4)


def test_the_mixture_is_see_et_al() -> None:
    logits, gate = torch.randn(2, 3, 5, dtype=torch.float64), torch.randn(2, 3, 1, dtype=torch.float64)
    weights = torch.rand(2, 3, 4, dtype=torch.float64)
    weights = weights / weights.sum(-1, keepdim=True)
    ids = torch.tensor([[2, 5 + 1, 2, 5 + 1], [5, 4, 3, 5 + 3]]).unsqueeze(1).expand(2, 3, 4)
    found, generate_ = mixture(logits, gate, weights, ids).exp(), gate.sigmoid() * logits.softmax(-1)
    copied = (1 - gate.sigmoid()) * weights
    assert_close(found[0, :, 2], generate_[0, :, 2] + copied[0, :, 0] + copied[0, :, 2], tolerance=1e-12)
    assert_close(found[0, :, 6], copied[0, :, 1] + copied[0, :, 3], tolerance=1e-12)
    assert_close(found[1, :, 8], copied[1, :, 3], tolerance=1e-12)
    assert_close(found[1, :, 0], generate_[1, :, 0], tolerance=1e-12)
    assert found[0, :, 5].eq(0).all()


def test_a_source_without_a_word_to_copy_is_generated_from() -> None:
    logits = torch.randn(1, 1, 5)
    found = mixture(logits, torch.full((1, 1, 1), -3.0), torch.ones(1, 1, 2), torch.zeros(1, 1, 2, dtype=torch.long))
    assert_close(found[..., :5], logits.log_softmax(-1))


def test_gradients_of_the_mixture() -> None:
    ids = torch.tensor([[2, 5 + 1, 2, 5 + 1, 0], [5, 4, 3, 5 + 3, 0]]).unsqueeze(1).expand(2, 3, 5)
    wanted = torch.tensor([[2, 6, 0], [5, 8, 1]]).unsqueeze(2)

    def nll(logits: Tensor, gate: Tensor, energy: Tensor) -> Tensor:
        return mixture(logits, gate, energy.softmax(-1), ids).gather(2, wanted).sum()

    shapes = ((2, 3, 5), (2, 3, 1), (2, 3, 5))
    inputs = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    assert torch.autograd.gradcheck(nll, inputs)


@kinds
def test_all_parameters_learn(name: str) -> None:
    model = made(name, coverage=0.7)
    predicted = model(*sources(), target())
    wanted = torch.tensor([[TARGET + 1, 6, EOS], [7, 9, 4], [TARGET, EOS, 5]])
    loss = -predicted.logits[:, :3].gather(2, wanted.unsqueeze(2)).sum() + predicted.extras["coverage"].sum()
    loss.backward()
    silent = [key for key, one in model.named_parameters() if one.grad is None or not one.grad.isfinite().all()]
    assert silent == []


def test_coverage_counts_what_was_read_again() -> None:
    model = made("bahdanau", coverage=0.5)
    predicted = model(*sources(), target())
    weights = mean_weights(predicted.attended)
    expected = torch.zeros(3)
    for row, count in enumerate((3, 5, 2)):  # steps up to that which says </s>
        for t in range(count):
            expected[row] += torch.minimum(weights[row, t], weights[row, :t].sum(0)).sum()
    assert_close(predicted.extras["coverage"], 0.5 * expected, tolerance=1e-5)
    steps = torch.tensor([[[0.5, 0.5], [0.5, 0.5]]])
    assert_close(coverage_loss(steps, torch.tensor([[True, False]])), torch.zeros(1))


def test_coverage_is_a_term_of_every_score() -> None:
    additive = made("bahdanau heads", coverage=1.0).model.attention.score
    assert isinstance(additive, Additive)
    assert [type(term).__name__ for term in additive.terms] == ["Markov", "Fertility"]
    assert additive.term_weight is not None
    assert additive.term_weight.shape == (2, 4, 3 + 1)
    assert isinstance(made("luong", coverage=1.0).model.attention.score, Covered)
    assert isinstance(made("transformer", coverage=1.0).model.decoder.layers[-1].cross.score, Covered)


def test_off_is_the_decoder_itself() -> None:
    torch.manual_seed(3)
    plain = build("luong", SOURCE, TARGET, **WIDTHS)
    torch.manual_seed(3)
    off = build("luong", SOURCE, TARGET, **WIDTHS, copy=False, coverage=0.0)
    assert type(off) is Luong
    assert all(torch.equal(a, b) for a, b in zip(plain.state_dict().values(), off.state_dict().values(), strict=True))
    assert not copies(off)
    assert copies(made("luong"))


def test_coverage_without_copying_keeps_the_vocabulary() -> None:
    model, (source, lengths) = made("luong", copy=False, coverage=1.0), sources()
    assert model(source[..., 0], lengths, target().clamp(max=TARGET - 1)).logits.shape == (3, 6, TARGET)


def test_where_it_cannot_work() -> None:
    with pytest.raises(ValueError, match="hard"):
        build("luong", SOURCE, TARGET, **WIDTHS, attention={"align": "hard"}, copy=True)
    with pytest.raises(ValueError, match="fertility"):
        build("bahdanau", SOURCE, TARGET, **WIDTHS, fertility=4, coverage=1.0)
    with pytest.raises(ValueError, match="'copy'"):
        build("seq2seq", SOURCE, TARGET, **WIDTHS, copy=True)
    with pytest.raises(ValueError, match="bidirectional"):
        build("bidirectional", SOURCE, TARGET, model={"kind": "luong", **WIDTHS, "copy": True})
    with pytest.raises(ValueError, match=r"coverage must be at least 0; got -1"):
        Copying(Luong(SOURCE, TARGET, **WIDTHS), coverage=-1.0)
    with pytest.raises(ValueError, match=r"with_copies"):
        made("luong")(sources()[0][..., 0], sources()[1], target())
    with pytest.raises(ValueError, match="float32"):
        with_copies(torch.zeros(2, 3, 4), torch.zeros(2, 3, dtype=torch.long))

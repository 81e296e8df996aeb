"""Memory networks: an answer by hand, memories that are not there, the linear start."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from regard.models import build
from regard.nn.hops import StoryEncoder
from regard.ops.memory_hops import position_encoding
from regard.systems.answering.memory_network import MemoryNetwork
from tests.mechanism import assert_close

VOCABULARY, DIM, HOPS = 13, 5, 3
TYINGS = pytest.mark.parametrize("tying", ["adjacent", "layerwise"])


def network(**options: object) -> MemoryNetwork:
    made = build("memory_network", VOCABULARY, VOCABULARY, **{"dim": DIM, "num_hops": HOPS} | options)
    assert isinstance(made, MemoryNetwork)
    return made.double().eval()


def asked() -> tuple[Tensor, Tensor, Tensor]:
    """Stories [2, 7, 4] of 7 and 3 sentences, and questions [2, 3]."""
    generator = torch.Generator(torch.get_default_device()).manual_seed(1)
    story = torch.randint(1, VOCABULARY, (2, 7, 4), generator=generator)
    story[0, 2, 2:] = 0
    story[1, 3:] = 0
    question = torch.randint(1, VOCABULARY, (2, 3), generator=generator)
    question[1, 2] = 0
    return story, question, torch.tensor([7, 3])


@TYINGS
@pytest.mark.parametrize(("linear", "slots"), [(False, True), (False, False), (True, True)])
def test_an_answer_by_hand(tying: str, linear: bool, slots: bool) -> None:
    options = {"tying": tying, "linear_start": linear, "empty_slots": slots, "memory_size": 9}
    model, (story, question, count) = network(**options), asked()
    predicted = model(story, question, count)
    assert predicted.logits.shape == (2, VOCABULARY)
    weights = predicted.attended.weights()
    assert weights.shape == (2, HOPS, 7)

    def bag(table: Tensor, words: Tensor) -> Tensor:
        words = words[words != 0]
        return (position_encoding(len(words), DIM).double() * table[words]).sum(0)

    encoders = [encoder for encoder in model.hops.encoders if isinstance(encoder, StoryEncoder)]
    for row in range(2):
        sentences = range(int(count[row]))
        memories = [
            torch.stack(
                [bag(e.sentence.embedding.weight, story[row, i]) + e.time[count[row] - 1 - i] for i in sentences]
            )
            for e in encoders
        ]
        first = encoders[0].sentence if model.hops.question is None else model.hops.question
        u = bag(first.embedding.weight, question[row])
        for hop in range(HOPS):
            at = hop if tying == "adjacent" else 0
            energy = memories[at] @ u
            empty = 9 - len(sentences) if slots else 0
            p = energy if linear else energy.exp() / (energy.exp().sum() + empty)
            assert_close(weights[row, hop, : len(sentences)], p, tolerance=1e-10)
            carried = u if model.hops.carry is None else model.hops.carry.weight @ u
            u = carried + p @ memories[at + 1]
        table = encoders[-1].sentence.embedding.weight if model.output_map is None else model.output_map.weight
        assert_close(predicted.logits[row], table @ u, tolerance=1e-10)


@TYINGS
def test_what_is_not_told_changes_nothing(tying: str) -> None:
    model, (story, question, count) = network(tying=tying), asked()
    logits = model(story, question, count).logits
    wider = F.pad(story, (0, 2, 0, 4))
    wider[1, 3:] = 7
    assert_close(model(wider, F.pad(question, (0, 3)), count).logits, logits, tolerance=1e-10)
    for row, length in enumerate(count.tolist()):
        alone = model(story[row : row + 1, :length], question[row : row + 1]).logits
        assert_close(alone[0], logits[row], tolerance=1e-10)


def test_only_the_last_sentences_are_remembered() -> None:
    model, (story, question, _) = network(memory_size=4), asked()
    kept = model(story, question, torch.tensor([7, 7]))
    assert not kept.attended.weights()[..., :3].any()
    assert_close(kept.logits, model(story[:, 3:], question, torch.tensor([4, 4])).logits, tolerance=1e-10)


def test_a_question_about_nothing_has_an_answer() -> None:
    model, (story, question, _) = network(), asked()
    logits = model(story, question, torch.tensor([0, 7])).logits
    assert torch.isfinite(logits).all()
    empty = model(torch.zeros(2, 0, 0).long(), question, torch.tensor([0, 0])).logits
    assert_close(empty[0], logits[0], tolerance=1e-10)
    logits.sum().backward()
    assert all(p.grad is None or torch.isfinite(p.grad).all() for p in model.parameters())


@TYINGS
def test_gradients(tying: str) -> None:
    model, (story, question, count) = network(tying=tying, dim=2, num_hops=2, memory_size=3), asked()
    names = [name for name, _ in model.named_parameters()]
    model.requires_grad_(False)

    def logits(*values: Tensor) -> Tensor:
        called = torch.func.functional_call(model, dict(zip(names, values, strict=True)), (story, question, count))
        return called.logits  # type: ignore[no-any-return]

    values = tuple(p.detach().clone().requires_grad_() for p in model.parameters())
    story, question = story.clamp(min=1), question.clamp(min=1)  # the null word has no gradient, though it has a place
    assert torch.autograd.gradcheck(logits, values, atol=1e-6, rtol=1e-4, fast_mode=True)


def test_the_null_word_learns_nothing() -> None:
    model, (story, question, count) = network(), asked()
    model.train()
    model(story, question, count).logits[:, 1:].square().sum().backward()
    for encoder in model.hops.encoders:
        assert isinstance(encoder, StoryEncoder)
        grad = encoder.sentence.embedding.weight.grad
        assert grad is not None
        assert not grad[0].any()
        assert grad[1:].any()


def test_noise_is_of_training_alone() -> None:
    model, (story, question, count) = network(noise=0.5), asked()
    assert torch.equal(model(story, question, count).logits, model(story, question, count).logits)
    model.train()
    torch.manual_seed(0)
    first, second = (model(story, question, count) for _ in range(2))
    assert not torch.equal(first.logits, second.logits)
    assert first.attended.weights().shape[-1] > 7


def test_the_linear_start_ends_when_the_loss_falls_no_more() -> None:
    model, given = network(linear_start=True), asked()
    raw = model(*given).logits
    assert [model.observe(loss) for loss in (3.0, 2.0)] == [None, None]
    twin = network(linear_start=True)
    twin.load_state_dict(model.state_dict())  # a run that goes on knows the lowest loss
    said = twin.observe(2.5)
    assert said is not None
    assert "linear start is over" in said
    assert twin.observe(9.0) is None
    assert_close(model(*given).logits, raw, tolerance=1e-12)
    again = network()
    again.load_state_dict(model.state_dict())
    assert_close(again(*given).logits, raw, tolerance=1e-12)  # saved as it was: without the softmax
    again.load_state_dict(twin.state_dict())
    weights = again(*given).attended.weights()
    assert (weights >= 0).all()
    assert (weights.sum(-1) < 1).all()


@pytest.mark.parametrize(
    ("sizes", "options", "why"),
    [
        ((13, 7), {}, "answers are words of the vocabulary, as many as there are to read; got 13 and 7"),
        ((13, 13), {"noise": 1.0}, "noise must lie in \\[0, 1\\); got 1.0"),
        ((13, 13), {"tying": "tight"}, "tight"),
        ((13, 13), {"hops": 3}, "did you mean"),
    ],
)
def test_wrong_arguments_are_one_sentence(sizes: tuple[int, int], options: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        build("memory_network", *sizes, **options)

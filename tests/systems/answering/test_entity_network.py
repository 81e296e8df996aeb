"""Recurrent entity networks: the equations by a slow loop, padding, and a memory that goes back so far."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.models import build
from regard.systems.answering.entity_network import EntityNetwork
from tests.mechanism import assert_close

VOCABULARY, DIM, BLOCKS = 13, 5, 3


def network(**options: object) -> EntityNetwork:
    torch.manual_seed(0)
    made = build("entity_network", VOCABULARY, VOCABULARY, **{"dim": DIM, "num_blocks": BLOCKS} | options)
    assert isinstance(made, EntityNetwork)
    made = made.double().eval()
    for parameter in made.parameters():  # gates and slopes away from where they begin
        parameter.data += 0.3 * torch.randn_like(parameter)
    made.words.weight.data[0] = 0.0
    return made


def asked() -> tuple[Tensor, Tensor, Tensor]:
    """Stories [2, 7, 4] of 7 and 3 sentences, and questions [2, 3]."""
    story = torch.randint(1, VOCABULARY, (2, 7, 4))
    story[0, 2, 2:] = 0
    story[1, 3:] = 0
    question = torch.randint(1, VOCABULARY, (2, 3))
    question[1, 2] = 0
    return story, question, torch.tensor([7, 3])


def written_out(model: EntityNetwork, story: Tensor, question: Tensor) -> tuple[Tensor, Tensor]:
    """Logits and gates of one story [N, J], block by block."""
    memory = model.memory
    slope = lambda x, one: torch.where(x > 0, x, one.weight * x)  # noqa: E731
    bag = lambda words, masks: sum(masks[i] * model.words.weight[word] for i, word in enumerate(words))  # noqa: E731
    blocks, gates = list(memory.keys), []
    for sentence in story:
        s, opened = bag(sentence, model.masks), []
        for j, key in enumerate(memory.keys):
            gate = torch.sigmoid(s @ blocks[j] + s @ key)
            new = memory.state_map.weight @ blocks[j] + memory.key_map.weight @ key + memory.input_map.weight @ s
            moved = blocks[j] + gate * slope(new, memory.slope)
            blocks[j] = moved / moved.norm()
            opened.append(gate)
        gates.append(torch.stack(opened))
    q = bag(question, model.question_masks)
    read = torch.stack([q @ block for block in blocks]).softmax(0)
    u = sum(weight * block for weight, block in zip(read, blocks, strict=True))
    return model.output_map.weight @ slope(q + model.hop_map.weight @ u, model.slope), torch.stack(gates, 1)


def test_the_equations_by_a_slow_loop() -> None:
    model, (story, question, count) = network(), asked()
    predicted = model(story, question, count)
    for row in range(2):
        logits, gates = written_out(model, story[row, : count[row]], question[row])
        assert_close(predicted.logits[row], logits, tolerance=1e-10)
        assert_close(predicted.extras["gates"][row, :, : count[row]], gates, tolerance=1e-10)
        weights = predicted.attended.weights()[row, 0]
        assert_close(weights.sum(), torch.ones(()).double(), tolerance=1e-9)
        assert not weights[count[row] :].any()


def test_padding_changes_nothing() -> None:
    model, (story, question, count) = network(), asked()
    alone = model(story[1:, :3], question[1:], count[1:])
    story[1, 3:] = 5
    assert_close(model(story, question, count).logits[1:], alone.logits, tolerance=1e-10)
    empty = model(story[:, :0], question, torch.tensor([0, 0]))
    assert empty.logits.isfinite().all()
    assert empty.attended.weights().shape == (2, 1, 0)


def test_only_the_last_sentences_are_read() -> None:
    story, question, count = asked()
    whole, short = network(), network(memory_size=3)
    assert_close(short(story, question, count).logits[1], whole(story, question, count).logits[1], tolerance=1e-10)
    last = whole(story[:1, 4:], question[:1], torch.tensor([3]))
    assert_close(short(story, question, count).logits[:1], last.logits, tolerance=1e-10)
    assert not short(story, question, count).attended.weights()[0, 0, :4].any()


def test_gradients() -> None:
    model, (story, question, count) = network(), asked()
    names = ["memory.keys", "masks", "memory.state_map.weight"]
    given = dict(model.named_parameters())

    def logits(*tensors: Tensor) -> Tensor:
        found: Tensor = torch.func.functional_call(
            model, given | dict(zip(names, tensors, strict=True)), (story, question, count)
        ).logits
        return found

    assert torch.autograd.gradcheck(logits, [given[name].detach().requires_grad_() for name in names])

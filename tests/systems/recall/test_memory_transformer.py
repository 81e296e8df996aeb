"""A Transformer with an external memory: equal to a longer source, exchangeable, stored and read again."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from regard.decode import Search, generate
from regard.models import Transformer, build
from regard.nn import LayerConfig, packed_copy
from regard.nn.external_memory import ExternalMemory
from regard.systems.recall.memory_transformer import MemoryTransformer, Remembered
from regard.systems.recall.text_store import TextStore
from tests.mechanism import assert_close


def source() -> tuple[Tensor, Tensor]:
    """Ids and lengths."""
    return torch.tensor([[5, 6, 7], [8, 9, 0]]), torch.tensor([3, 2])


def target() -> Tensor:
    return torch.tensor([[2, 4, 7, 5, 6], [2, 10, 4, 8, 9]])


def model(**arguments: object) -> MemoryTransformer:
    made = build("memory_transformer", 11, 11, dim=8, num_heads=2, num_layers=2, dropout=0.0, **arguments)
    assert isinstance(made, MemoryTransformer)
    return made.double().eval()


def remembered(model: MemoryTransformer, count: int = 13) -> tuple[TextStore, Remembered]:
    texts = torch.randint(4, 11, (count, 4))
    lengths = torch.arange(count) % 4 + 1
    stored = model.store(texts, lengths)
    return stored, model.remember(stored.states)


def test_without_a_memory_it_is_a_transformer() -> None:
    mine = model()
    plain = Transformer(11, 11, LayerConfig(dim=8, num_heads=2, dropout=0.0), num_layers=2).double().eval()
    plain.load_state_dict(mine.state_dict())
    assert_close(mine(*source(), target()).logits, plain(*source(), target()).logits, tolerance=0.0)


def test_states_are_those_of_each_text_alone() -> None:
    mine = model()
    texts, lengths = torch.tensor([[5, 6, 0], [7, 0, 0], [8, 9, 10]]), torch.tensor([2, 1, 3])
    stored = mine.store(texts, lengths, ["a", "b", "c"])
    assert stored.ends.tolist() == [2, 3, 6]
    assert_close(stored.states[3:], mine.encoder(texts[2:]).states[0], tolerance=1e-12)
    assert stored.by_text(torch.tensor([0.1, 0.2, 0.3, 0.0, 0.4, 0.0])).tolist() == pytest.approx([0.3, 0.3, 0.4])


@pytest.mark.parametrize("nearest", [None, 3])
@pytest.mark.parametrize("reads", ["both", "memory"])
def test_steps_and_beams_are_the_whole_at_once(reads: str, nearest: int | None) -> None:
    mine = model(reads=reads, nearest=nearest)
    stored, external = remembered(mine)
    whole = mine(*source(), target(), external=external)
    own = 3 if reads == "both" else 0
    assert whole.attended.shape == (2, 2, 5, own + len(stored.states))
    state = mine.start(*source(), external=external).select(torch.tensor([0, 0, 1, 1]))
    for place in range(5):
        step = mine.step(target()[:, place].repeat_interleave(2), state)
        expected = whole.logits[:, place].log_softmax(-1)
        assert_close(step.log_probs[1::2], expected, tolerance=1e-10)
        assert step.attended is None
        state = step.state.select(torch.tensor([1, 0, 3, 2]))
    last = state.layers[-1].source
    assert isinstance(last, ExternalMemory)
    assert last.external is external[-1]
    assert len(external) == (2 if reads == "both" else 1)


def test_a_search_looks_things_up() -> None:
    mine = model(reads="memory")
    _, external = remembered(mine)

    class Reminded:
        def start(self, source, lengths, *, batch=None):  # type: ignore[no-untyped-def]
            return mine.start(source, lengths, external=external)

        def step(self, token, state):  # type: ignore[no-untyped-def]
            return mine.step(token, state)

    found = generate(Reminded(), *source(), Search(strategy="beam", beam_size=3, max_length=4, n_best=2))
    alone = generate(
        Reminded(), source()[0][1:, :2], None, Search(strategy="beam", beam_size=3, max_length=4, n_best=2)
    )
    assert [one.tokens for one in found[1]] == [one.tokens for one in alone[0]]


def test_another_memory_is_another_answer_and_the_order_of_texts_is_none() -> None:
    mine = model(reads="memory")
    stored, external = remembered(mine)
    said = mine(*source(), target(), external=external).logits
    other = mine(*source(), target(), external=remembered(mine, 5)[1]).logits
    assert (said - other).abs().max() > 1e-3
    turned = mine(*source(), target(), external=mine.remember(stored.states.flip(0))).logits
    assert_close(turned, said, tolerance=1e-10)


def test_texts_of_a_batch_teach_the_encoder() -> None:
    mine = model(reads="memory").train()
    texts, lengths = torch.randint(4, 11, (5, 4)), torch.tensor([4, 1, 3, 2, 4])
    mine(*source(), target(), texts=(texts, lengths)).logits.sum().backward()
    gradient = mine.decoder.layers[1].cross.value_map.weight.grad
    assert gradient is not None
    assert gradient.abs().sum() > 0
    once = mine(*source(), target(), texts=(texts, lengths)).logits
    again = mine(*source(), target(), external=mine.remember(mine.store(texts, lengths).states)).logits
    assert_close(once, again, tolerance=1e-12)


def test_a_packed_copy_answers_alike() -> None:
    mine = model().float()
    _, external = remembered(mine)
    packed = packed_copy(mine)
    with torch.inference_mode():
        steps = [one.step(target()[:, 0], one.start(*source(), external=external)) for one in (mine, packed)]
    assert_close(steps[0].log_probs, steps[1].log_probs, tolerance=1e-5)


def test_it_is_stored_and_read_again(tmp_path: Path) -> None:
    mine = model()
    stored, _ = remembered(mine)
    named = TextStore(stored.states, stored.ends, tuple(f"text Ö{index}" for index in range(13)), mine.signature)
    named.save(tmp_path / "memory.safetensors")
    again = TextStore.load(tmp_path / "memory.safetensors")
    assert torch.equal(again.states, stored.states.cpu())
    assert again.texts == named.texts
    assert again.encoder == mine.signature != model().signature
    assert again.ends.tolist() == stored.ends.tolist()


def test_what_is_refused(tmp_path: Path) -> None:
    mine = model()
    with pytest.raises(ValueError, match=r"states of width 8, \[N, 8\]; got \[5, 7\]"):
        mine.remember(torch.zeros(5, 7))
    with pytest.raises(ValueError, match="the memory is empty; store at least one text"):
        mine.remember(torch.zeros(0, 8).double())
    with pytest.raises(ValueError, match=r"reads must be one of .*; got 'all'"):
        model(reads="all")
    with pytest.raises(ValueError, match="at least 1; got 0"):
        model(nearest=0)
    with pytest.raises(ValueError, match="num_layers is 1"):
        build("memory_transformer", 11, 11, dim=8, num_heads=2, num_layers=1, reads="memory")
    (tmp_path / "no.safetensors").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"no\.safetensors: cannot be read"):
        TextStore.load(tmp_path / "no.safetensors")
    with pytest.raises(ValueError, match=r"none\.safetensors: cannot be read"):
        TextStore.load(tmp_path / "none.safetensors")

"""Memory networks up to their answer."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard import Mask
from regard.nn import LinearAligner, MemoryHops, SentenceEncoder, Softmax, StoryEncoder
from regard.ops import Attended, memory_hops, position_encoding
from tests.mechanism import assert_close

TYINGS = ("adjacent", "layerwise")


def words(*shape: int) -> Tensor:
    return torch.randint(1, 13, shape)


def network(**options: object) -> MemoryHops:
    return MemoryHops(vocab_size=13, dim=5, **options).double()  # type: ignore[arg-type]


def test_a_sentence_is_a_weighted_bag_of_words() -> None:
    encoder = SentenceEncoder(13, 5).double()
    sentence, table = torch.tensor([3, 7, 7, 0, 0]), encoder.embedding.weight
    weight = position_encoding(3, 5).double()
    assert_close(encoder(sentence), sum(weight[j] * table[word] for j, word in enumerate((3, 7, 7))))
    plain = SentenceEncoder(13, 5, position_encoding=False).double()
    assert_close(plain(sentence), plain.embedding.weight[[3, 7, 7]].sum(0))


@pytest.mark.parametrize("positions", [True, False])
def test_the_null_word_is_zero_and_stays_so(positions: bool) -> None:
    encoder = SentenceEncoder(13, 5, padding_id=4, position_encoding=positions)
    encoder(torch.tensor([[1, 2, 4], [4, 4, 4]])).square().sum().backward()
    grad = encoder.embedding.weight.grad
    assert grad is not None
    assert (encoder.embedding.weight[4] == 0).all()
    assert (grad[4] == 0).all()
    assert (grad[1] != 0).all()


def test_a_story_counts_time_from_its_end() -> None:
    encoder, story = StoryEncoder(13, 5, max_sentences=6).double(), words(2, 4, 3)
    memories = encoder(story, Mask.padding([4, 2]))
    bags = encoder.sentence(story)
    assert_close(memories[0], bags[0] + encoder.time[[3, 2, 1, 0]])
    assert_close(memories[1, :2], bags[1, :2] + encoder.time[[1, 0]])


@pytest.mark.parametrize("tying", TYINGS)
def test_module_computes_the_equations(tying: str) -> None:
    model, story, question = network(num_hops=3, tying=tying).eval(), words(2, 4, 7), words(2, 3)
    out = model(story, question)
    memories = [encoder(story).unsqueeze(1) for encoder in model.encoders]
    if tying == "adjacent":
        assert len(memories) == 4
        first = model.encoders[0]
        assert isinstance(first, StoryEncoder)
        expected = memory_hops(first.sentence(question)[:, None, None], memories[:3], memories[1:])
    else:
        assert len(memories) == 2
        assert model.question is not None
        assert model.carry is not None
        query, carry = model.question(question)[:, None, None], model.carry.weight
        expected = memory_hops(query, [memories[0]] * 3, [memories[1]] * 3, carry=carry)
    assert_close(out.output, expected.output[:, 0, 0])
    for mine, theirs in zip(out.reads, expected.reads, strict=True):
        assert_close(mine.weights(), theirs.weights()[:, 0])
        assert_close(mine.context, theirs.context[:, 0])


@pytest.mark.parametrize("tying", TYINGS)
def test_padding_changes_nothing(tying: str) -> None:
    """Neither further sentences nor further null words: a story is read as it is alone."""
    model, story, question = network(tying=tying).eval(), words(3, 6, 4), words(3, 3)
    counts = [6, 2, 0]
    story[0, 1, 2:] = 0
    wider = torch.cat((story, torch.zeros(3, 6, 2, dtype=torch.long)), 2)
    out = model(wider, torch.cat((question, torch.zeros(3, 4, dtype=torch.long)), 1), Mask.padding(counts))
    for b, count in enumerate(counts):
        alone = model(story[b : b + 1, :count], question[b : b + 1])
        assert_close(out.output[b], alone.output[0])
        for mine, theirs in zip(out.reads, alone.reads, strict=True):
            assert_close(mine.weights()[b, :, :count], theirs.weights()[0])
            assert (mine.weights()[b, :, count:] == 0).all()


def test_only_the_most_recent_sentences_are_read() -> None:
    model, story, question = network(max_sentences=3).eval(), words(1, 5, 4), words(1, 3)
    out = model(story, question)
    assert (out.reads[0].weights()[..., :2] == 0).all()
    assert_close(out.output, model(story[:, 2:], question).output)


def test_noise_is_for_training_only_and_makes_stories_longer() -> None:
    model, story, question = network(noise=1.0), words(2, 4, 7), words(2, 3)
    assert model(story, question).reads[0].weights().shape == (2, 1, 8)
    assert model.eval()(story, question).reads[0].weights().shape == (2, 1, 4)
    quiet = network(noise=0.0)
    assert_close(quiet(story, question).output, quiet.eval()(story, question).output)


def test_the_linear_start_removes_the_softmax_and_gives_it_back() -> None:
    model, story, question = network(num_hops=1).eval(), words(2, 4, 7), words(2, 3)
    before = model(story, question)
    model.align(LinearAligner())
    raw = model(story, question).reads[0].weights()
    assert_close(raw.softmax(-1), before.reads[0].weights())
    assert (raw.sum(-1) - 1).abs().max() > 0.1
    model.align(Softmax())
    assert_close(model(story, question).output, before.output)


def test_each_hop_can_be_watched() -> None:
    model, seen = network(num_hops=2).eval(), list[tuple[int, Attended]]()
    for number, hop in enumerate(model.hops):
        hop.watch(lambda read, number=number: seen.append((number, read)))  # type: ignore[misc]
    out = model(words(2, 4, 7), words(2, 3))
    assert [number for number, _ in seen] == [0, 1]
    assert all(read is mine for (_, read), mine in zip(seen, out.reads, strict=True))


@pytest.mark.parametrize("tying", TYINGS)
def test_every_parameter_learns(tying: str) -> None:
    model = network(num_hops=2, tying=tying, max_sentences=4, noise=0.0)
    model(words(2, 4, 7), words(2, 3)).output.square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert (parameter.grad != 0).any(), name


def test_bad_shapes_are_named() -> None:
    with pytest.raises(ValueError, match=r"story must be \[B, N, J\] and question \[B, J'\] words; got \[2, 4\] and"):
        network()(words(2, 4), words(2, 3))
    with pytest.raises(ValueError, match="'adjacent' or 'layerwise'; got 'none'"):
        network(tying="none")

"""The Transformer as a whole: embeddings, ties, positions, caches."""

from __future__ import annotations

import math

import pytest
import torch

from regard import capture
from regard.models import Transformer, TransformerLM
from regard.nn import LayerConfig
from regard.ops import sinusoidal_positions
from tests.mechanism import assert_close
from tests.models.systems import POST, PRE, TARGET, pairs


def count(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def test_embeddings_are_scaled_and_placed() -> None:
    model = TransformerLM(TARGET, PRE, num_layers=1)
    ids = torch.tensor([[5, 6]])
    expected = model.words.table.weight[ids[0]] * math.sqrt(8) + sinusoidal_positions(2, 8, start=3)
    assert_close(model.words(ids, 3)[0], expected)


def test_parameter_count() -> None:
    """The base model: C = 512, F = 2048, 6 + 6 layers, 37,000 joint words: about 63 million."""
    attention, feed, norm = 4 * (512 * 512 + 512), 2 * 512 * 2048 + 512 + 2048, 2 * 512
    layers = 6 * (attention + feed + 2 * norm) + 6 * (2 * attention + feed + 3 * norm)
    with torch.device("meta"):
        post = Transformer(37_000, 37_000, LayerConfig(norm="post"), tied="all")
        pre = Transformer(37_000, 37_000, LayerConfig(), tied="all")
        loose = Transformer(37_000, 37_000, LayerConfig(norm="post"), tied="none")
    assert count(post) == layers + 37_000 * 512 + 37_000
    assert count(pre) == count(post) + 2 * norm
    assert count(loose) == count(post) + 2 * 37_000 * 512


def test_ties_are_ties() -> None:
    model = Transformer(TARGET, TARGET, PRE, num_layers=1, tied="all")
    assert model.output_map.weight is model.words.table.weight is model.encoder.words.table.weight
    half = Transformer(TARGET, TARGET, PRE, num_layers=1)
    assert half.output_map.weight is half.words.table.weight
    assert half.encoder.words.table.weight is not half.words.table.weight


def test_without_positions_a_source_would_be_a_set() -> None:
    """Sinusoidal, learned and rotary positions all tell orders apart."""
    source, lengths, target = pairs()
    swapped = source[:, [1, 0, 2, 3, 4]]
    for positions in ("sinusoidal", "learned", "rotary"):
        model = Transformer(11, TARGET, PRE, num_layers=2, positions=positions)
        assert not torch.allclose(model(source, lengths, target).logits[0], model(swapped, lengths, target).logits[0])


def test_without_positions_a_source_is_a_set() -> None:
    """States of words in another order are the same states in that order, and the decoder reads the same of them."""
    model = Transformer(11, TARGET, PRE, num_layers=2, positions="none").double().eval()
    source, lengths, target = pairs()
    order = torch.tensor([3, 0, 4, 1, 2])
    states = model.encoder(source[:1]).states
    assert_close(model.encoder(source[:1, order]).states, states[:, order], tolerance=1e-12)
    assert_close(model(source[:1, order], None, target[:1]).logits, model(source[:1], None, target[:1]).logits)
    swapped = source.clone()
    swapped[2, :4] = source[2, torch.tensor([1, 3, 0, 2])]  # behind it there is padding
    assert_close(model(swapped, lengths, target).logits, model(source, lengths, target).logits)


def test_sources_are_projected_once() -> None:
    model, (source, lengths, target) = Transformer(11, TARGET, POST, num_layers=2), pairs()
    state = model.start(source, lengths)
    after = model.step(target[:, 0], state).state
    assert all(a.source is b.source for a, b in zip(state.layers, after.layers, strict=True))
    assert (state.place, after.place) == (0, 1)


def test_captures_see_every_attention() -> None:
    model, batch = Transformer(11, TARGET, PRE, num_layers=2), pairs()
    with capture(model) as seen:
        model(*batch)
    assert len(seen) == 2 + 2 * 2
    assert seen.weights("decoder.layers.1.cross").shape == (3, 2, 7, 5)
    assert (seen.weights("decoder.layers.0.attention").triu(1) == 0).all()


def test_bad_values_are_named() -> None:
    with pytest.raises(ValueError, match="tied='all' needs one joint vocabulary; got 11 source and 13 target words"):
        Transformer(11, 13, PRE, tied="all")
    with pytest.raises(ValueError, match=r"positions must be one of .*; got 'relative'"):
        TransformerLM(11, PRE, positions="relative")
    with pytest.raises(ValueError, match=r"tied must be one of .*; got 'some'"):
        Transformer(11, 13, PRE, tied="some")
    with pytest.raises(ValueError, match="reaches position 7 does not fit a table for 6"):
        TransformerLM(TARGET, PRE, num_layers=1, positions="learned", max_length=6)(pairs()[2])

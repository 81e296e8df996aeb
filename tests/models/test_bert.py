"""BERT: its frame, its segments, its heads, and that padding changes nothing."""

from __future__ import annotations

import math

import pytest
import torch
from torch.autograd import gradcheck
from torch.nn import functional as F

from regard.explain import capture
from regard.models import Bert, BertEncoder
from regard.models.bert import add_special_tokens, segments
from regard.nn.transformer_layer import LayerConfig
from regard.specials import BOS, EOS, MASK, PAD
from regard.systems.classification.acceptor import Acceptor
from regard.systems.tagging.transducer import Transducer
from tests.mechanism import assert_close

SIZE = 17
BLOCKS = LayerConfig(dim=6, num_heads=3, hidden_dim=10, norm="post", activation="gelu", dropout=0.0, epsilon=1e-12)


def encoder(*, pooled: bool = False, blocks: LayerConfig = BLOCKS) -> BertEncoder:
    return BertEncoder(SIZE, blocks, num_layers=2, max_length=13, pooled=pooled).double()


def texts() -> tuple[torch.Tensor, torch.Tensor]:
    text = torch.tensor([[7, 8, EOS, 9, 10], [11, MASK, 13, PAD, PAD], [5, PAD, PAD, PAD, PAD]])
    return text, torch.tensor([5, 3, 1])


def test_a_text_stands_in_its_frame() -> None:
    text, lengths = texts()
    ids, ends = add_special_tokens(text, lengths)
    assert ids.tolist()[1] == [BOS, 11, MASK, 13, EOS, PAD, PAD]
    assert ends is not None
    assert ends.tolist() == [7, 5, 3]
    assert add_special_tokens(text[:1], None)[0].tolist() == [[BOS, 7, 8, EOS, 9, 10, EOS]]


def test_the_second_text_is_another_segment() -> None:
    assert segments(torch.tensor([[BOS, 7, EOS, 8, EOS, PAD]])).tolist() == [[0, 0, 0, 1, 1, 1]]


def test_embeddings_by_hand() -> None:
    words = encoder().words
    ids = torch.tensor([[BOS, 7, EOS, 8, EOS]])
    summed = words.table.weight[ids[0]] + words.places.table[:5] + words.segments.weight[[0, 0, 0, 1, 1]]
    assert_close(words(ids)[0], F.layer_norm(summed, (6,), eps=1e-12), tolerance=1e-12)


@pytest.mark.parametrize("pooled", [False, True])
def test_padding_changes_nothing(pooled: bool) -> None:
    model, (text, lengths) = encoder(pooled=pooled), texts()
    encoded = model(text, lengths)
    assert encoded.states.shape == (3, 5, 6)
    assert encoded.summary.shape == (3, 6)
    for row, length in enumerate(lengths.tolist()):
        alone = model(text[row : row + 1, :length])
        assert_close(encoded.states[row, :length], alone.states[0], tolerance=1e-10)
        assert_close(encoded.summary[row], alone.summary[0], tolerance=1e-10)
        assert encoded.states[row, length:].abs().sum() == 0
    more = model(F.pad(text, (0, 2), value=9), lengths)
    assert_close(more.states[:, :5], encoded.states, tolerance=1e-10)


def test_an_empty_text_is_its_frame() -> None:
    model = encoder()
    nothing = model(torch.zeros(2, 0, dtype=torch.long), torch.tensor([0, 0]))
    assert nothing.states.shape == (2, 0, 6)
    assert nothing.summary.isfinite().all()


def test_the_heads_by_hand() -> None:
    model, (text, lengths) = Bert(encoder(pooled=True), next_sentence=True).double(), texts()
    predicted = model(text, lengths)
    h = model.encoder(text, lengths)
    inner = F.layer_norm(F.gelu(model.word_map(h.states)), (6,), model.word_norm.weight, model.word_norm.bias, 1e-12)
    assert model.output_map.weight is model.encoder.words.table.weight
    assert_close(predicted.logits, inner @ model.encoder.words.table.weight.T + model.output_map.bias, tolerance=1e-10)
    assert_close(predicted.extras["next"], model.next_map(h.summary), tolerance=1e-10)
    chosen = text == MASK
    assert_close(model(text, lengths, chosen).logits, predicted.logits[chosen], tolerance=1e-10)


def test_every_word_sees_every_word_and_no_padding() -> None:
    model, (text, lengths) = encoder(), texts()
    with capture(model, layers=0) as seen:
        model(text, lengths)
    (weights,) = (calls[0].weights() for calls in seen.values())
    assert weights.shape == (3, 3, 7, 7)
    assert (weights[1, :, :5, :5] > 0).all()
    assert (weights[1, :, :, 5:] == 0).all()


def test_gradients() -> None:
    model, (text, lengths) = Bert(encoder(pooled=True), next_sentence=True).double(), texts()
    names, values = zip(*model.named_parameters(), strict=True)
    chosen = [name for name in names if name.startswith(("word_map", "encoder.words.segments", "encoder.pool_map"))]

    def loss(*given: torch.Tensor) -> torch.Tensor:
        changed = dict(zip(chosen, given, strict=True))
        predicted = torch.func.functional_call(model, changed, (text, lengths, text != PAD))
        return predicted.logits.sin().sum() + predicted.extras["next"].sin().sum()

    parameters = dict(zip(names, values, strict=True))
    assert gradcheck(loss, [parameters[name].detach().requires_grad_() for name in chosen])


def test_weights_begin_small_and_do_not_depend_on_the_width() -> None:
    narrow, wide = (BertEncoder(99, LayerConfig(dim=dim, num_heads=2, norm="post"), num_layers=1) for dim in (48, 768))
    for model, dim in ((narrow, 48), (wide, 768)):
        query = model.layers[0].attention.score.query_map.weight
        assert query.std().item() * math.sqrt(dim) == pytest.approx(0.02 * math.sqrt(768), rel=0.05)
        assert model.words.table.weight[PAD].abs().sum() == 0


def test_wrong_parts_are_one_sentence() -> None:
    with pytest.raises(ValueError, match="set pooled of the encoder to true"):
        Bert(encoder(), next_sentence=True)
    with pytest.raises(ValueError, match="BERT's norm is post; got 'pre'"):
        BertEncoder(SIZE, LayerConfig(dim=6, num_heads=2))
    with pytest.raises(ValueError, match="epsilon must be above 0; got 0"):
        LayerConfig(epsilon=0.0)
    with pytest.raises(ValueError, match="13"):
        encoder()(torch.full((1, 12), 7))


def test_it_reads_for_labels_and_tags() -> None:
    text, lengths = texts()
    assert Acceptor(encoder(pooled=True), 4, pooling="last").double()(text, lengths).logits.shape == (3, 4)
    model = Acceptor(encoder(), 4, pooling="attention").double()
    assert model(text, lengths).attended.weights().shape == (3, 1, 5)
    assert Transducer(encoder(), 7).double()(text, lengths).logits.shape == (3, 5, 7)

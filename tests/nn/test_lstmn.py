"""LSTMN layers and their fusion with an encoder."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard import Mask
from regard.nn import LSTMN, DeepFusion, DeepLSTMN, LSTMNCell, LSTMNState, LSTMNStep, ShallowFusion
from regard.nn.scores import Additive
from regard.ops import Attended
from tests.mechanism import assert_close, check_gradients


def energies(score: Additive, query: Tensor, keys: Tensor) -> Tensor:
    """vᵀ tanh(W q + U k) for one query and a list of keys."""
    assert score.query_map is not None
    assert score.key_map is not None
    assert score.query_map.bias is None
    return torch.tanh(score.query_map(query) + score.key_map(keys)) @ score.weight[0]


def written_out(cell: LSTMNCell, words: Tensor) -> tuple[Tensor, Tensor]:
    """The paper's equations 4 to 9 for one sentence [T, C]: hidden states and cells; energies by distance where it has
    some."""
    score = cell.attention.score
    assert isinstance(score, Additive)
    width = cell.hidden_dim
    hidden, cells, summary = words.new_zeros(0, width), words.new_zeros(0, width), words.new_zeros(width)
    for x in words:
        a = energies(score, torch.cat((x, summary)), hidden)
        if cell.nearness is not None:
            back = [min(len(a) - i, len(cell.nearness)) for i in range(len(a))]  # 1 for the last word
            a = a + torch.stack([cell.nearness[-d] for d in back]) if back else a
        s = a.softmax(0)
        summary, carried = s @ hidden, s @ cells
        i, f, o, candidate = cell.gates(torch.cat((summary, x))).chunk(4)
        c = f.sigmoid() * carried + i.sigmoid() * candidate.tanh()
        hidden = torch.cat((hidden, (o.sigmoid() * c.tanh())[None]))
        cells = torch.cat((cells, c[None]))
    return hidden, cells


def test_shapes() -> None:
    step = LSTMN(input_dim=3, hidden_dim=5, score_dim=7)(torch.randn(2, 11, 3))
    assert step.output.shape == (2, 11, 5)
    assert step.attended.weights().shape == (2, 11, 11)
    assert step.attended.context.shape == (2, 11, 10)
    assert step.state.hidden.shape == step.state.cells.shape == (2, 11, 5)
    assert LSTMN(3, 5)(torch.randn(2, 0, 3)).output.shape == (2, 0, 5)


def test_the_layer_is_the_equations() -> None:
    layer, words = LSTMN(3, 5).double(), torch.randn(2, 6, 3).double()
    step = layer(words)
    for b in range(2):
        hidden, cells = written_out(layer.cell, words[b])
        assert_close(step.output[b], hidden)
        assert_close(step.state.cells[b], cells)


@pytest.mark.parametrize("distances", [1, 3, 20])
def test_distances_have_energies_of_their_own(distances: int) -> None:
    layer, words = LSTMN(3, 5, distances=distances).double(), torch.randn(2, 6, 3).double()
    nearness = layer.cell.nearness
    assert nearness is not None
    assert nearness.tolist() == list(range(1 - distances, 1))
    torch.nn.init.normal_(nearness)
    step = layer(words)
    for b in range(2):
        assert_close(step.output[b], written_out(layer.cell, words[b])[0])
    check_gradients(lambda words: layer(words).output, words)


def test_who_looks_at_the_last_word_alone_is_a_tape_of_one_word() -> None:
    near, one, words = LSTMN(3, 5, distances=2), LSTMN(3, 5, window=1), torch.randn(2, 6, 3)
    near.load_state_dict({**one.state_dict(), "cell.nearness": torch.tensor([-1e4, 0.0])})
    assert_close(near(words).output, one(words).output.double())


def test_padding_of_an_earlier_text_is_no_distance() -> None:
    layer = LSTMN(3, 5, distances=9)
    torch.nn.init.normal_(layer.cell.nearness)  # type: ignore[arg-type]
    first, second = torch.randn(2, 4, 3), torch.randn(2, 5, 3)
    together = layer(second, state=layer(first, Mask.padding([4, 2])).state).output
    alone = layer(second[1:], state=layer(first[1:, :2]).state).output
    assert_close(together[1:], alone.double(), tolerance=1e-5)


def test_weights_are_strictly_lower_triangular() -> None:
    weights = LSTMN(3, 5)(torch.randn(2, 6, 3)).attended.weights()
    assert (weights.triu() == 0).all()
    assert_close(weights.sum(-1)[:, 1:], torch.ones(2, 5))


def test_padding_changes_nothing() -> None:
    layer, words, lengths = LSTMN(3, 5).double(), torch.randn(3, 6, 3).double(), [6, 2, 0]
    rubbish = words.clone()
    for b, length in enumerate(lengths):
        rubbish[b, length:] = torch.nan
    rubbish.requires_grad_()
    step = layer(rubbish, Mask.padding(lengths))
    step.output.square().sum().backward()
    assert rubbish.grad is not None
    for b, length in enumerate(lengths):
        alone = layer(words[b : b + 1, :length])
        assert_close(step.output[b, :length], alone.output[0])
        assert_close(step.attended.weights()[b, :length, :length], alone.attended.weights()[0])
        assert_close(step.state.summary[b], alone.state.summary[0])
        assert (step.output[b, length:] == 0).all()
        assert (step.attended.weights()[b, length:] == 0).all()
        assert (rubbish.grad[b, length:] == 0).all()
    assert all(torch.isfinite(parameter.grad).all() for parameter in layer.parameters() if parameter.grad is not None)
    assert step.state.memory.lengths.tolist() == lengths


def test_in_pieces_is_in_one() -> None:
    """Sentences of different lengths go on with further words as if they had never stopped."""
    layer, words = LSTMN(3, 5).double(), torch.randn(2, 4, 3).double()
    more, lengths = torch.randn(2, 3, 3).double(), [4, 2]
    first = layer(words, Mask.padding(lengths))
    second = layer(more, state=first.state)
    for b, length in enumerate(lengths):
        whole = layer(torch.cat((words[b, :length], more[b]))[None])
        assert_close(second.output[b], whole.output[0, length:])
    assert second.attended.weights().shape == (2, 3, 7)
    assert (second.attended.weights()[1, :, 2:4] == 0).all()


def test_step_by_step_is_all_at_once() -> None:
    layer, words = LSTMN(3, 5).double(), torch.randn(2, 6, 3).double()
    state, outputs = layer.cell.start(2), []
    for word in words.split(1, 1):
        step: LSTMNStep = layer.cell(word, state)
        state = step.state
        outputs.append(step.output)
    assert_close(torch.cat(outputs, 1), layer(words).output)
    order = torch.tensor([1, 1, 0])
    assert_close(
        layer.cell(words[order, :1], state.select(order)).output, layer.cell(words[:, :1], state).output[order]
    )


def test_the_attended_summary_enters_the_score() -> None:
    """h̃_{t-1} is what was read, not the last hidden state: another summary, another weighting."""
    cell, words = LSTMNCell(3, 5), torch.randn(1, 3, 3)
    state = cell.start(1)
    for word in words.split(1, 1):
        state = cell(word, state).state
    last = LSTMNState(state.memory, state.hidden[:, -1])
    assert (cell(words[:, :1], state).attended.weights() != cell(words[:, :1], last).attended.weights()).any()
    assert not torch.allclose(state.summary, state.hidden[:, -1])


def test_captures_see_each_read_once() -> None:
    layer, seen = LSTMN(3, 5), list[Attended]()
    layer.cell.attention.watch(seen.append)
    layer(torch.randn(2, 4, 3))
    assert [read.shape for read in seen] == [(2, 1, 1, 0), (2, 1, 1, 1), (2, 1, 1, 2), (2, 1, 1, 3)]


def test_a_window_bounds_the_tapes() -> None:
    layer, whole, words = LSTMN(3, 5, window=2).double(), LSTMN(3, 5).double(), torch.randn(2, 6, 3).double()
    whole.load_state_dict(layer.state_dict())
    step = layer(words)
    assert step.state.memory.size == 2
    assert (step.attended.weights()[0] > 0).sum(1).tolist() == [0, 1, 2, 2, 2, 2]
    assert (step.attended.weights()[0, 5] > 0).tolist() == [False, False, False, True, True, False]
    assert_close(step.output[:, :3], whole(words).output[:, :3])
    assert not torch.allclose(step.output[:, 3:], whole(words).output[:, 3:])
    first = layer(words[:, :4])
    second = layer(words[:, 4:], state=first.state.detach())
    assert_close(second.output, step.output[:, 4:])
    assert_close(second.attended.weights(), step.attended.weights()[:, 4:, 2:])
    with torch.no_grad():  # where a growing memory has room behind it
        assert_close(layer(words).output, step.output)
    with pytest.raises(ValueError, match="tapes of 2 words have no padding; leave mask or window out"):
        layer(words, Mask.padding([6, 2]))


def test_some_rows_of_weights_are_those_of_all() -> None:
    step = DeepLSTMN(3, 5, num_layers=2)(torch.randn(2, 6, 3), Mask.padding([6, 4]))
    weights = step.attended.weights()
    assert weights.shape == (2, 2, 6, 6)
    assert torch.equal(step.attended.weights(rows=[4, 1], heads=1), weights[:, 1:, [4, 1]])
    assert (weights[1, :, 4:] == 0).all()


def test_layers_lie_on_each_other() -> None:
    layers, words = DeepLSTMN(3, 5, num_layers=3).double(), torch.randn(2, 6, 3).double()
    step, by_hand = layers(words), words
    for number, layer in enumerate(layers.layers):
        alone = layer(by_hand)
        by_hand = alone.output
        assert_close(step.attended.weights(heads=number)[:, 0], alone.attended.weights())
    assert_close(step.output, by_hand)
    assert_close(step.state.top.hidden, by_hand)
    first = layers(words[:, :2])
    second = layers(words[:, 2:], state=first.state.select(torch.tensor([1, 0])))
    assert_close(second.output, layers(_swapped(words)).output[:, 2:])


def _swapped(words: Tensor) -> Tensor:
    """The first two words of each sequence are the other's."""
    return torch.cat((words.flip(0)[:, :2], words[:, 2:]), dim=1)


def test_dropout_lies_between_layers() -> None:
    layers, words = DeepLSTMN(3, 5, num_layers=2, dropout=0.5), torch.randn(2, 6, 3)
    assert not torch.equal(layers(words).output, layers(words).output)
    alone = DeepLSTMN(3, 5, dropout=0.5)
    assert torch.equal(alone(words).output, alone(words).output)  # not below the first, nor above the last
    assert torch.equal(layers.eval()(words).output, layers(words).output)
    with pytest.raises(ValueError, match=r"LSTMN: dropout must lie in \[0, 1\); got 1.0"):
        DeepLSTMN(3, 5, dropout=1.0)


def test_gradients() -> None:
    layer = LSTMN(2, 3).double()
    check_gradients(lambda words: layer(words, Mask.padding([3, 2])).output, torch.randn(2, 3, 2))


def test_deep_fusion_is_the_equations() -> None:
    encoder, decoder = LSTMN(3, 5).double(), DeepFusion(input_dim=7, hidden_dim=5).double()
    lengths, words = [6, 4], torch.randn(2, 3, 7).double()
    source = encoder(torch.randn(2, 6, 3).double(), Mask.padding(lengths)).state
    state, outputs, reads = decoder.start(source), [], []
    for word in words.split(1, 1):
        step = decoder(word, state)
        state = step.state
        outputs.append(step.output)
        reads.append(step.inter.weights())
    assert (torch.cat(reads, 1)[1, :, 4:] == 0).all()
    intra, inter = decoder.cell.attention.score, decoder.inter.score
    assert isinstance(intra, Additive)
    assert isinstance(inter, Additive)
    for b, length in enumerate(lengths):
        gamma, alpha = source.hidden[b, :length], source.cells[b, :length]
        hidden = cells = words.new_zeros(0, 5)
        summary = inter_summary = words.new_zeros(5)
        for t, x in enumerate(words[b]):
            p = energies(inter, torch.cat((x, inter_summary)), gamma).softmax(0)
            inter_summary, carried_over = p @ gamma, p @ alpha
            s = energies(intra, torch.cat((x, summary)), hidden).softmax(0)
            summary, carried = s @ hidden, s @ cells
            r = decoder.gate(torch.cat((inter_summary, x))).sigmoid()
            i, f, o, candidate = decoder.cell.gates(torch.cat((summary, x))).chunk(4)
            c = r * carried_over + f.sigmoid() * carried + i.sigmoid() * candidate.tanh()
            h = o.sigmoid() * c.tanh()
            hidden, cells = torch.cat((hidden, h[None])), torch.cat((cells, c[None]))
            assert_close(outputs[t][b, 0], h)
    order = torch.tensor([1, 0, 1])
    assert_close(decoder(words[order, :1], state.select(order)).output, decoder(words[:, :1], state).output[order])


def test_shallow_fusion_is_an_lstmn_with_attention_on_top() -> None:
    decoder = ShallowFusion(input_dim=7, hidden_dim=5, source_dim=3).double()
    source, mask, words = torch.randn(2, 6, 3).double(), Mask.padding([6, 0]), torch.randn(2, 4, 7).double()
    state, outputs = decoder.start(source, mask), []
    for word in words.split(1, 1):
        step = decoder(word, state)
        state = step.state
        outputs.append(step.output)
    layer = LSTMN(7, 5).double()
    layer.cell = decoder.cell
    hidden = layer(words).output
    context = decoder.inter(hidden, source, mask=mask).context
    assert_close(torch.cat(outputs, 1), torch.cat((hidden, context), -1))
    assert outputs[0].shape[-1] == decoder.output_dim
    assert (context[1] == 0).all()
    assert_close(state.summary, context[:, -1])


def test_bad_shapes_are_named() -> None:
    cell = LSTMNCell(3, 5)
    with pytest.raises(ValueError, match=r"word must be \[B, 1, C\] with C = 3; got \[2, 2, 3\]"):
        cell(torch.randn(2, 2, 3), cell.start(2))
    with pytest.raises(ValueError, match="both must be 7 wide; got tapes of width 5"):
        DeepFusion(3, 7).start(cell.start(2))

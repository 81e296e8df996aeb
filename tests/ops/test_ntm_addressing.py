"""How a Neural Turing Machine places its heads."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from regard import Mask
from regard.nn import Addressing, Attention, Cosine, MultiHead
from regard.ops import circular_shift, cosine_score, interpolate, ntm_address, sharpen
from tests.mechanism import assert_close, check_gradients

PLUS_ONE, MINUS_ONE = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)


def weighting(*weights: float) -> Tensor:
    return torch.tensor(weights)[None, None, None]


def distribution(*shape: int) -> Tensor:
    return torch.randn(shape).double().softmax(-1)


def test_shapes() -> None:
    knob, shift = torch.rand(2, 3, 5), distribution(2, 3, 5, 7)
    weights = ntm_address(distribution(2, 3, 5, 11), distribution(2, 3, 5, 11), knob, shift, 1 + knob)
    assert weights.shape == (2, 3, 5, 11)
    assert_close(weights.sum(-1), torch.ones(2, 3, 5))


def test_values_by_hand() -> None:
    content, previous = weighting(1.0, 0.0, 0.0), weighting(0.0, 0.0, 1.0)
    mixed = interpolate(content, previous, torch.full((1, 1, 1), 0.75))
    assert_close(mixed, [[[[0.75, 0.0, 0.25]]]])
    moved = circular_shift(mixed, weighting(*PLUS_ONE))
    assert_close(moved, [[[[0.25, 0.75, 0.0]]]])  # the last row's quarter goes round to the first
    assert_close(sharpen(moved, torch.full((1, 1, 1), 2.0)), [[[[0.1, 0.9, 0.0]]]])  # 1 : 9


@pytest.mark.parametrize("row", range(5))
def test_a_shift_of_plus_one_goes_from_row_i_to_row_i_plus_one(row: int) -> None:
    """A convolution: with a correlation the two directions would change places."""
    focus = F.one_hot(torch.tensor(row), 5).float()[None, None, None]
    assert circular_shift(focus, weighting(*PLUS_ONE)).argmax().item() == (row + 1) % 5
    assert circular_shift(focus, weighting(*MINUS_ONE)).argmax().item() == (row - 1) % 5
    assert circular_shift(focus, weighting(0.0, 0.0, 0.0, 0.0, 1.0)).argmax().item() == (row + 2) % 5


@pytest.mark.parametrize("rows", [1, 2, 4, 9])
@pytest.mark.parametrize("shifts", [1, 3, 7])
def test_the_shift_is_equation_8(rows: int, shifts: int) -> None:
    weights, shift = distribution(1, 1, 1, rows), distribution(1, 1, 1, shifts)
    expected = torch.zeros(rows).double()
    for j in range(rows):
        for k in range(shifts):
            expected[(j + k - shifts // 2) % rows] += weights[0, 0, 0, j] * shift[0, 0, 0, k]
    assert_close(circular_shift(weights, shift)[0, 0, 0], expected)
    assert_close(circular_shift(weights, shift, Mask.padding([rows]))[0, 0, 0], expected)


def test_mask() -> None:
    """The ring is closed behind the last true row: padding is not on it, and neither is a row that is masked."""
    last = weighting(0.0, 0.0, 1.0, 0.0, 0.0)
    assert_close(circular_shift(last, weighting(*PLUS_ONE), Mask.padding([3])), [[[[1.0, 0.0, 0.0, 0.0, 0.0]]]])
    hole = Mask.of(torch.tensor([True, False, True, False, True]))
    assert_close(circular_shift(last, weighting(*PLUS_ONE), hole), [[[[0.0, 0.0, 0.0, 0.0, 1.0]]]])
    assert_close(circular_shift(last, weighting(*MINUS_ONE), hole), [[[[1.0, 0.0, 0.0, 0.0, 0.0]]]])
    nothing = ntm_address(last, last, torch.ones(1, 1, 1), weighting(*PLUS_ONE), torch.ones(1, 1, 1), Mask.padding([0]))
    assert (nothing == 0).all()


def test_gradients() -> None:
    def address(content, previous, gate, shift, gamma):  # type: ignore[no-untyped-def]
        parts = content.softmax(-1), previous.softmax(-1), gate.sigmoid(), shift.softmax(-1), 1 + F.softplus(gamma)
        return ntm_address(*parts), ntm_address(*parts, Mask.padding([3, 4]))

    weights = torch.randn(2, 2, 1, 4)
    check_gradients(
        address, weights, weights.flip(-1), torch.randn(2, 2, 1), torch.randn(2, 2, 1, 3), torch.randn(2, 2, 1)
    )


def test_gradients_go_through_the_last_weighting() -> None:
    """Of the second read in the first query, which it knows only through w_{t-1}."""
    heads, _, _ = head(num_heads=2)
    second, mask = torch.randn(2, 1, 7).double(), Mask.padding([4, 3])

    def read_twice(first, rows):  # type: ignore[no-untyped-def]
        memory = heads.remember(rows, mask=mask)
        out = heads.read(second, memory, heads.read(first, memory).state)
        return out.context, out.weights()

    check_gradients(read_twice, torch.randn(2, 1, 7), torch.randn(2, 4, 5))
    first = torch.randn(2, 1, 7).double().requires_grad_()
    context, _ = read_twice(first, torch.randn(2, 4, 5).double())
    (grad,) = torch.autograd.grad(context.square().sum(), first)
    assert (grad != 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_sharpening_survives_zeros_and_any_gamma(dtype: torch.dtype) -> None:
    """Plain powers of 1/100 underflow at gamma = 100; ours are relative to the largest weight."""
    flat = torch.full((1, 1, 1, 100), 0.01, dtype=dtype, requires_grad=True)
    gamma = torch.full((1, 1, 1), 100.0, dtype=dtype, requires_grad=True)
    assert_close(sharpen(flat, gamma), torch.full((1, 1, 1, 100), 0.01), tolerance=1e-4)
    for weights in (flat, torch.zeros_like(flat).requires_grad_(), weighting(1.0, 0.0, 1e-30).to(dtype)):
        for power in (1.0, 2.0, 1e4):
            gamma = torch.full((1, 1, 1), power, dtype=dtype, requires_grad=True)
            leaf = weights.detach().requires_grad_()
            out = sharpen(leaf, gamma)
            grads = torch.autograd.grad(out[..., 0].sum(), (leaf, gamma))
            assert torch.isfinite(out).all()
            assert all(torch.isfinite(grad).all() for grad in grads)


def test_sharpening_undoes_the_blur_of_shifting() -> None:
    """A shift that is not quite sure spreads the focus; the paper's reason for equation 9."""
    unsure, one = torch.tensor([[[[0.1, 0.8, 0.1]]]]), torch.ones(1, 1, 1)
    blurred = sharp = F.one_hot(torch.tensor(8), 17).float()[None, None, None]
    for _ in range(20):
        blurred = ntm_address(blurred, blurred, one, unsure, one)
        sharp = ntm_address(sharp, sharp, one, unsure, 4 * one)
    assert blurred.max() < 0.25
    assert sharp.max() > 0.99


def head(num_heads: int = 1, **options: object) -> tuple[MultiHead, Cosine, Addressing]:
    score, align = Cosine(7, 5, num_heads=num_heads), Addressing(7, num_heads=num_heads, **options)  # type: ignore[arg-type]
    return MultiHead(score, align, value_dim=5).double(), score, align


def test_module_computes_the_equations() -> None:
    heads, score, align = head(num_heads=2, shifts=5)
    query, rows, mask = torch.randn(3, 4, 7).double(), torch.randn(3, 11, 5).double(), Mask.padding([11, 6, 1])
    out = heads(query, rows, mask=mask)
    assert score.query_map is not None
    for b, length in enumerate((11, 6, 1)):
        for h in range(2):
            w = F.one_hot(torch.tensor(0), length).double()
            for t in range(4):
                x = query[b, t]
                key = score.query_map(x).view(2, 5)[h]
                cosine = F.cosine_similarity(key, rows[b, :length], dim=-1)
                content = (F.softplus(score.strength_map(x))[h] * cosine).softmax(-1)
                gate = align.gate_map(x)[h].sigmoid()
                w = gate * content + (1 - gate) * w
                shift = align.shift_map(x).view(2, 5)[h].softmax(-1)
                w = torch.stack([sum(w[(i - o) % length] * shift[o + 2] for o in range(-2, 3)) for i in range(length)])
                w = w ** (1 + F.softplus(align.sharpness_map(x)[h]))
                w = w / w.sum()
                assert_close(out.weights()[b, h, t, :length], w)
                assert (out.weights()[b, h, t, length:] == 0).all()
                assert_close(out.context[b, t].view(2, 5)[h], w @ rows[b, :length])


def test_step_by_step_is_all_at_once() -> None:
    heads, _, _ = head(num_heads=3)
    query, rows, mask = torch.randn(2, 5, 7).double(), torch.randn(2, 11, 5).double(), Mask.padding([11, 6])
    memory = heads.remember(rows, mask=mask)
    state, steps = heads.start(memory), []
    for row in query.split(1, 1):
        out = heads.read(row, memory, state)
        state = out.state
        steps.append(out.weights())
    assert_close(torch.cat(steps, 2), heads(query, rows, mask=mask).weights())
    order = torch.tensor([1, 0, 1])
    again = heads.read(query[order, :1], memory.select(order), state.select(order))
    assert_close(again.weights(), heads.read(query[:, :1], memory, state).weights()[order])


@pytest.mark.parametrize(("initial", "expected"), [("peaked", [0.0, 1.0, 0.0, 0.0]), ("uniform", [0.0, 0.5, 0.5, 0.0])])
def test_the_start_lies_on_the_rows_there_are(initial: str, expected: list[float]) -> None:
    heads, _, align = head(initial=initial)
    mask = Mask.of(torch.tensor([[[False, True, True, False]], [[False] * 4]]))
    (weights,) = align.start(heads.remember(torch.randn(2, 4, 5).double(), mask=mask))
    assert isinstance(weights, Tensor)
    assert_close(weights, [[[expected]], [[[0.0] * 4]]])


def test_an_empty_memory_gives_a_zero_context() -> None:
    heads, _, _ = head()
    out = heads(torch.randn(2, 3, 7).double(), torch.zeros(2, 0, 5).double())
    assert out.weights().shape == (2, 1, 3, 0)
    assert (out.context == 0).all()


def test_content_alone_is_cosine_attention() -> None:
    """Gate open, no shift, gamma = 1: nothing is left of the addressing."""
    query, key = torch.randn(2, 3, 1, 5).double(), torch.randn(2, 3, 7, 5).double()
    content, one = cosine_score(query, key).softmax(-1), torch.ones(2, 3, 1).double()
    stay = torch.tensor([0.0, 1.0, 0.0]).double().expand(2, 3, 1, 3)
    assert_close(ntm_address(content, distribution(2, 3, 1, 7), one, stay, one), content)


def test_bad_shapes_are_named() -> None:
    weights, knob, shift = distribution(2, 3, 1, 7), torch.ones(2, 3, 1), distribution(2, 3, 1, 3)
    with pytest.raises(ValueError, match=r"K odd and \[B, H, T\] = \[2, 3, 1\]; got \[2, 3, 1, 4\]"):
        ntm_address(weights, weights, knob, distribution(2, 3, 1, 4), knob)
    with pytest.raises(ValueError, match=r"content and previous must both.*\[2, 3, 1, 7\] and \[2, 3, 1, 6\]"):
        ntm_address(weights, weights[..., :6], knob, shift, knob)
    with pytest.raises(ValueError, match=r"gate must be \[B, H, T\].*got \[2, 3, 1, 1\]"):
        ntm_address(weights, weights, knob.unsqueeze(3), shift, knob)
    with pytest.raises(ValueError, match="shifts must be odd"):
        Addressing(7, shifts=4)
    with pytest.raises(ValueError, match="'peaked' or 'uniform'; got 'flat'"):
        Addressing(7, initial="flat")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Addressing has 2 heads, but the score gives 1"):
        Attention(Cosine(7, 5), Addressing(7, num_heads=2))(torch.randn(1, 1, 7), torch.randn(1, 3, 5))

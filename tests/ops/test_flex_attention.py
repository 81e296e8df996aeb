"""FlexAttention for long reads in spans: the pattern of blocks, and on a GPU the same context as the definition."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn.attention.flex_attention import flex_attention as torch_flex_attention

from regard import Mask
from regard.cuda_capture import recording
from regard.ops import scaled_dot_attention
from regard.ops.inner_product import flex_attention
from regard.ops.inner_product.flex_attention import attention_in_spans, block_mask, flex_fits
from regard.train.cuda_graphs import CudaUpdateGraphs
from tests.mechanism import assert_within_budget, magnitude, on_the_device

MASKS = [
    Mask.padding([300, 131]),
    Mask.padding([0, 257]),
    Mask.window(70),
    Mask.window(201, ahead=100),
    Mask.causal(),
    Mask.window(150, ahead=3) & Mask.padding([300, 7]),
]


@pytest.mark.parametrize("mask", MASKS, ids=repr)
@pytest.mark.parametrize(("queries", "keys"), [(300, 300), (131, 300), (384, 300)])
def test_the_pattern_is_the_mask(mask: Mask, queries: int, keys: int) -> None:
    """Blocks that are not named hold nothing, full ones everything, and in the others the function decides."""
    shape = (2, 1, queries, keys)
    device = torch.get_default_device()
    allowed = mask.allowed(shape, device=device).expand(shape)
    pattern = block_mask(mask, shape, device)
    batch, head, query, key = torch.meshgrid(*(torch.arange(size) for size in shape), indexing="ij")
    assert torch.equal(pattern.mask_mod(batch, head, query, key), allowed)
    rows, columns = -(-queries // 128), -(-keys // 128)
    padded = torch.zeros(2, 1, rows * 128, columns * 128, dtype=torch.bool)
    padded[:, :, :queries, :keys] = allowed
    blocks = padded.view(2, 1, rows, 128, columns, 128)
    assert (pattern.to_dense().bool() >= blocks.any(5).any(3)).all()
    assert pattern.full_kv_num_blocks is not None
    assert pattern.full_kv_indices is not None
    inside = torch.ones(queries, keys, dtype=torch.bool)
    outside = ~torch.nn.functional.pad(inside, (0, columns * 128 - keys, 0, rows * 128 - queries))
    every = (padded | outside).view(blocks.shape).all(5).all(3)
    for sequence in range(2):
        for row in range(rows):
            count = int(pattern.full_kv_num_blocks[sequence, 0, row])
            full = pattern.full_kv_indices[sequence, 0, row, :count].long()
            assert every[sequence, 0, row][full].all()


def test_a_mask_makes_its_pattern_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(flex_attention, "block_mask", lambda *arguments: made.append(arguments))
    monkeypatch.setattr(flex_attention, "_compiled", lambda: lambda query, *_, **options: query)
    query, mask = torch.ones(2, 1, 4, 16), Mask.padding([2, 3])
    for keys in (4, 4, 5):
        attention_in_spans(query, query, query, mask, (2, 1, 4, keys), scale=1.0)
    assert [shape for _, shape, _ in made] == [(2, 1, 4, 4), (2, 1, 4, 5)]


@pytest.mark.parametrize("mask", MASKS, ids=repr)
def test_a_pattern_can_be_made_in_a_recording(mask: Mask) -> None:
    device = torch.get_default_device()
    with recording(), on_the_device():
        pattern = block_mask(mask, (2, 1, 300, 300), device)
    assert torch.equal(pattern.to_dense(), block_mask(mask, (2, 1, 300, 300), device).to_dense())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what PyTorch's compiler is written with
def test_masks_of_a_kind_share_what_was_compiled() -> None:
    """A batch has a mask of its own, and often a length: neither may cost the seconds of a compiler each time."""
    made = []

    def count(graph: torch.fx.GraphModule, _: object) -> Callable[..., object]:
        made.append(graph)
        return graph.forward

    torch.compiler.reset()
    compiled = torch.compile(torch_flex_attention, backend=count)
    found = []
    for length in (300, 300, 300, 310, 320, 400, 410, 500):
        query, mask = torch.ones(2, 1, length, 16), Mask.padding([length - len(found), 131])
        compiled(query, query, query, block_mask=block_mask(mask, (2, 1, length, length), query.device))
        found.append(len(made))
    torch.compiler.reset()
    assert found[2] == 1
    assert found[4] == found[3]
    assert found[-1] <= 4


@pytest.mark.parametrize(
    ("mask", "dtype", "width"),
    [
        (None, torch.bfloat16, 64),
        (Mask.window(70), torch.float32, 64),
        (Mask.window(70), torch.bfloat16, 40),
        (Mask.of(torch.ones(4096, dtype=torch.bool)), torch.bfloat16, 64),
    ],
)
def test_other_reads_are_left_alone(mask: Mask | None, dtype: torch.dtype, width: int) -> None:
    query = torch.empty(1, 1, 1, width, dtype=dtype).expand(1, 16, 4096, width)
    assert not flex_fits(query, query, query, mask, (1, 16, 4096, 4096))


def test_shorter_reads_are_worth_it_where_they_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flex_attention, "_has_kernel", lambda *_: True)
    query, mask = torch.empty(1, 1, 1, 64).expand(16, 8, 512, 64), Mask.padding([512] * 15 + [0])
    assert not flex_fits(query, query, query, mask, (16, 8, 512, 512))
    with recording():
        assert flex_fits(query, query, query, mask, (16, 8, 512, 512))
        assert not flex_fits(query, query, query, mask, (16, 8, 511, 512))
    assert flex_fits(query, query, query, mask, (16, 8, 2048, 1024))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what PyTorch's compiler is written with
@pytest.mark.parametrize("mask", [*MASKS, Mask.causal() & Mask.padding([300, 7])], ids=repr)
@pytest.mark.parametrize(("queries", "keys"), [(300, 300), (131, 300), (384, 300)])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bf16", "fp16"])
def test_it_equals_the_definition(
    mask: Mask, queries: int, keys: int, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    if torch.get_default_device().type != "cuda":
        pytest.skip("FlexAttention is compiled for a GPU (--device cuda)")
    monkeypatch.setattr(flex_attention, "_PAIRS", 1)
    monkeypatch.setattr(flex_attention, "_compiled_kinds", set())
    torch.compiler.reset()
    shape = (2, 3, queries, keys)
    inputs = [torch.randn(2, 3, length, width).to(dtype) for length, width in ((queries, 64), (keys, 64), (keys, 32))]
    upstream = torch.randn(2, 3, queries, 32).to(dtype)
    assert flex_fits(*inputs, mask, shape)

    assert_equal_to_the_definition(read(inputs, upstream, mask, dtype), inputs, upstream, mask)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_recorded_read_follows_its_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    if torch.get_default_device().type != "cuda":
        pytest.skip("FlexAttention is compiled for a GPU (--device cuda)")
    monkeypatch.setattr(flex_attention, "_PAIRS_RECORDED", 1)
    monkeypatch.setattr(flex_attention, "_compiled_kinds", set())
    torch.compiler.reset()
    inputs, upstream = [torch.randn(2, 3, 300, 64).bfloat16() for _ in range(3)], torch.randn(2, 3, 300, 64).bfloat16()
    lengths, found = torch.tensor([300, 131]), list[Tensor]()

    def run() -> None:
        found[:] = read(inputs, upstream, Mask.padding(lengths), torch.bfloat16)

    with recording():
        replay = CudaUpdateGraphs()(run)
    assert len(flex_attention._compiled_kinds) == 1
    for other in ([7, 300], [0, 256], [300, 131]):
        lengths.copy_(torch.tensor(other))
        replay()
        assert_equal_to_the_definition(found, inputs, upstream, Mask.padding(other))


def read(
    inputs: list[Tensor], upstream: Tensor, mask: Mask, dtype: torch.dtype, impl: str | None = None
) -> list[Tensor]:
    """The context and the gradients of all inputs."""
    ready = [tensor.detach().to(dtype).requires_grad_() for tensor in inputs]
    context = scaled_dot_attention(*ready, mask, impl=impl).context
    return [context.detach(), *torch.autograd.grad(context, ready, upstream.to(dtype))]


def assert_equal_to_the_definition(actual: list[Tensor], inputs: list[Tensor], upstream: Tensor, mask: Mask) -> None:
    truth = read(inputs, upstream, mask, torch.float64, "reference")
    plain = read(inputs, upstream, mask, upstream.dtype, "sdpa")
    largest = max(magnitude(gradient) for gradient in truth[1:])
    for place, (true, worse, mine) in enumerate(zip(truth, plain, actual, strict=True)):
        assert_within_budget(mine, worse, true, scale=largest if place else None, roundings=2)

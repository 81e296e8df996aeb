"""Graph attention.

TRITON_INTERPRET=1 pytest -n0 tests/ops/test_graph.py runs the kernels without a GPU.
"""

from __future__ import annotations

import copy
import math
import os

import pytest
import torch
from torch import Tensor

from regard.cuda_capture import recording
from regard.explain import capture
from regard.nn import GraphAttention
from regard.ops import Edges, GraphAttended, add_self_loops, graph_attention
from regard.ops.graph import KnownEdges, api
from regard.systems.nodes.gat import GAT
from tests.mechanism import assert_close, assert_within_budget, check_gradients, magnitude, on_the_device

IMPLS = ("reference", "sparse")
EVERY = (*IMPLS, "fused")
DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)

# Unsorted, with an edge given twice (2 -> 0), a loop (3), and a node that nobody writes to (4).
EDGES = [[2, 4, 2, 0, 3, 1, 2, 4], [0, 0, 0, 1, 3, 3, 1, 2]]
LONELY = 4


def kernels_run() -> bool:
    return torch.get_default_device().type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1"


@pytest.fixture(autouse=True)
def _kernels_where_they_run(request: pytest.FixtureRequest, _on_device: None) -> None:
    """Tests of the fused implementation need something to run it."""
    asked = getattr(request.node, "callspec", None)
    fused = request.cls is TestKernels or (asked is not None and asked.params.get("impl") == "fused")
    if fused and not kernels_run():
        pytest.skip("the kernels need a GPU (--device cuda) or Triton's interpreter (TRITON_INTERPRET=1)")


def random_graph(nodes: int = 5, heads: int = 3, width: int = 2) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """node, edges, weight_source, weight_target."""
    return torch.randn(nodes, heads, width), torch.tensor(EDGES), torch.randn(heads, width), torch.randn(heads, width)


@pytest.mark.parametrize("impl", EVERY)
def test_shapes(impl: str) -> None:
    node, edges = torch.randn(7, 3, 5), torch.randint(7, (2, 11))
    out = graph_attention(node, edges, torch.randn(3, 5), torch.randn(3, 5), impl=impl)
    assert out.context.shape == (7, 3, 5)
    assert out.weights().shape == (3, 11)
    assert out.entropy().shape == out.alignment().shape == out.coverage().shape == (3, 7)
    assert out.topk(2).weights.shape == out.topk(2).keys.shape == (3, 7, 2)
    assert out.dense().weights().shape == (1, 3, 7, 7)


@pytest.mark.parametrize("impl", EVERY)
def test_value_by_hand(impl: str) -> None:
    """Node 0 reads 0, 1 and 2; a_src = 1, a_dst = 2, so e = LeakyReLU(2 h_0 + h_j) with h = 1, -1, -7."""
    node, edges = torch.tensor([1.0, -1.0, -7.0])[:, None, None], torch.tensor([[0, 1, 2], [0, 0, 0]])
    out = graph_attention(node, edges, torch.ones(1, 1), torch.full((1, 1), 2.0), impl=impl)
    e = [math.exp(3), math.exp(1), math.exp(0.2 * -5)]
    assert_close(out.weights(), [[part / sum(e) for part in e]])
    assert_close(out.context[0], [[(e[0] - e[1] - 7 * e[2]) / sum(e)]])
    assert (out.context[1:] == 0).all()


@pytest.mark.parametrize("impl", EVERY)
def test_a_node_that_nobody_writes_to_is_zero(impl: str) -> None:
    """Here the edges are the mask."""
    node, *rest = random_graph()
    node.requires_grad_()
    out = graph_attention(node, *rest, impl=impl)
    assert (out.context[LONELY] == 0).all()
    assert (out.alignment()[:, LONELY] == -1).all()
    (grad,) = torch.autograd.grad(out.context[LONELY].sum(), node)
    assert (grad == 0).all()
    nothing = graph_attention(node, torch.zeros(2, 0, dtype=torch.long), *rest[1:], impl=impl)
    assert (nothing.context == 0).all()
    assert (nothing.alignment() == -1).all()
    assert (nothing.entropy() == 0).all()
    (grad,) = torch.autograd.grad(nothing.context.sum(), node)
    assert (grad == 0).all()


@pytest.mark.parametrize("impl", IMPLS)
def test_gradients(impl: str) -> None:
    node, edges, source, target = random_graph()

    def read(node: Tensor, source: Tensor, target: Tensor) -> tuple[Tensor, ...]:
        out = graph_attention(node, edges, source, target, impl=impl)
        return out.context, out.weights(), out.entropy()

    check_gradients(read, node, source, target)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: str(dtype).removeprefix("torch."))
def test_sparse_equals_the_reference(dtype: torch.dtype) -> None:
    for edges in (
        torch.randint(17, (2, 90)),
        torch.randint(17, (2, 1)),
        add_self_loops(torch.randint(17, (2, 40)), 17),
    ):
        inputs = [torch.randn(shape).to(dtype) for shape in ((17, 3, 5), (3, 5), (3, 5))]
        runs = []
        for kind, impl in ((torch.float64, "reference"), (dtype, "reference"), (dtype, "sparse")):
            ready = [tensor.to(kind).detach().requires_grad_() for tensor in inputs]
            out = graph_attention(ready[0], edges, *ready[1:], impl=impl)
            probe = torch.linspace(-1, 1, out.context.numel(), dtype=torch.float64).view_as(out.context)
            grads = torch.autograd.grad((out.context.double() * probe).sum(), ready)
            runs.append((out.context, out.weights(), out.coverage(), *grads))
        largest = max(magnitude(gradient) for gradient in runs[0][3:])
        for place, (truth, plain, actual) in enumerate(zip(*runs, strict=True)):
            assert_within_budget(actual, plain, truth, scale=None if place < 3 else largest)


@pytest.mark.parametrize("impl", EVERY)
def test_renumbered_nodes_and_shuffled_edges_give_the_same_graph(impl: str) -> None:
    node, edges, *halves = random_graph()
    new_number = torch.randperm(len(node))
    order = torch.randperm(edges.shape[1])
    moved = torch.empty_like(node)
    moved[new_number] = node
    out = graph_attention(node, edges, *halves, impl=impl)
    again = graph_attention(moved, new_number[edges][:, order], *halves, impl=impl)
    assert_close(again.context[new_number], out.context.double(), tolerance=1e-5)
    assert_close(again.weights(), out.weights()[:, order].double(), tolerance=1e-5)


@pytest.mark.parametrize("impl", EVERY)
def test_an_edge_given_twice_counts_twice(impl: str) -> None:
    node = torch.tensor([0.0, 3.0, 9.0])[:, None, None]
    edges = torch.tensor([[1, 2, 1], [0, 0, 0]])
    out = graph_attention(node, edges, torch.zeros(1, 1), torch.zeros(1, 1), impl=impl)
    assert_close(out.weights(), [[1 / 3, 1 / 3, 1 / 3]])
    assert_close(out.context[0], [[5.0]])
    assert_close(out.dense().weights()[0, 0, 0], [0.0, 2 / 3, 1 / 3])


@pytest.mark.parametrize("impl", EVERY)
def test_large_energies_of_one_node_do_not_spoil_another(impl: str) -> None:
    """Each target has its own maximum: with a common one, node 0 would be left with 0 / 0."""
    node, edges = torch.tensor([0.0, 1.0, 500.0])[:, None, None], torch.tensor([[0, 1, 2], [0, 0, 1]])
    out = graph_attention(node, edges, torch.ones(1, 1), torch.zeros(1, 1), impl=impl)
    assert_close(out.weights(), [[1 / (1 + math.e), math.e / (1 + math.e), 1.0]])


def test_everybody_connected_is_attention_over_all_nodes() -> None:
    """On a complete graph the dense view is one softmax row a node."""
    node, _, source, target = random_graph(nodes=6)
    pairs = torch.cartesian_prod(torch.arange(6), torch.arange(6)).T
    energy = torch.nn.functional.leaky_relu((node * target).sum(2)[:, None] + (node * source).sum(2), 0.2)  # [i, j, h]
    expected = energy.softmax(1).permute(2, 0, 1)
    assert_close(graph_attention(node, pairs, source, target).dense().weights()[0], expected.double(), tolerance=1e-5)


def test_what_a_node_reads_most() -> None:
    """Node 0 reads 1, 2 and 3 with energies log 1, log 2 and log 5; node 1 reads 3; the others nobody."""
    node = torch.tensor([1.0, 1.0, 2.0, 5.0]).log()[:, None, None]
    edges = torch.tensor([[2, 3, 1, 3], [0, 1, 0, 0]])
    out = graph_attention(node, edges, torch.ones(1, 1), torch.zeros(1, 1))
    assert_close(out.weights(), [[2 / 8, 1.0, 1 / 8, 5 / 8]])
    assert out.alignment().tolist() == [[3, 3, -1, -1]]
    weights, nodes = out.topk(2)
    assert nodes.tolist() == [[[3, 2], [3, -1], [-1, -1], [-1, -1]]]
    assert_close(weights, [[[5 / 8, 2 / 8], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]])
    assert_close(out.coverage(), [[0.0, 1 / 8, 2 / 8, 13 / 8]])
    entropy = -sum(part * math.log(part) for part in (1 / 8, 2 / 8, 5 / 8))
    assert_close(out.entropy(), [[entropy, 0.0, 0.0, 0.0]])


def test_the_dense_view_says_the_same() -> None:
    node, edges, *halves = random_graph()
    out = graph_attention(node, edges, *halves)
    dense = out.dense()
    assert_close(dense.coverage()[0], out.coverage().double())
    assert torch.equal(dense.weights(rows=[3, 0, 3], heads=[2, 0]), dense.weights()[:, [2, 0]][:, :, [3, 0, 3]])
    simple = graph_attention(node, edges.unique(dim=1), *halves)
    assert_close(simple.dense().entropy()[0], simple.entropy().double())
    assert torch.equal(simple.dense().alignment()[0], simple.alignment())


def test_dropout_drops_whole_edges_and_keeps_the_mean() -> None:
    node, edges = torch.ones(2, 1, 1), torch.tensor([[1] * 10_000, [0] * 10_000])
    outs = []
    for impl in IMPLS:
        torch.manual_seed(0)
        outs.append(graph_attention(node, edges, torch.zeros(1, 1), torch.zeros(1, 1), dropout=0.25, impl=impl))
    assert_close(outs[0].context, outs[1].context.double(), tolerance=1e-4)
    assert outs[0].context[0].item() != 1
    assert abs(outs[0].context[0].item() - 1) < 0.03  # five standard deviations of the share that is kept
    assert_close(outs[0].weights(), torch.full((1, 10_000), 1e-4))


def test_the_same_bits_every_time_on_a_cpu() -> None:
    node, edges = torch.randn(50, 2, 3, device="cpu"), torch.randint(50, (2, 5_000), device="cpu")
    halves = torch.randn(2, 2, 3, device="cpu")
    runs = []
    torch.use_deterministic_algorithms(True)
    try:
        for _ in range(3):
            ready = node.clone().requires_grad_()
            out = graph_attention(ready, edges, *halves)
            runs.append((out.context, *torch.autograd.grad(out.context.square().sum(), ready)))
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(torch.equal(*pair) for other in runs[1:] for pair in zip(other, runs[0], strict=True))


def test_self_loops_are_added_once() -> None:
    edges = torch.tensor([[0, 1, 1, 2], [1, 1, 1, 0]])
    once = add_self_loops(edges, 4)
    assert once.tolist() == [[0, 2, 0, 1, 2, 3], [1, 0, 0, 1, 2, 3]]
    assert torch.equal(add_self_loops(once, 4), once)


@pytest.mark.parametrize("join", ["concat", "mean"])
def test_module_computes_the_equation(join: str) -> None:
    """Node by node, with the concatenated vector a of the paper."""
    module = GraphAttention(7, 3, 2, join=join)  # type: ignore[arg-type]
    torch.nn.init.normal_(module.bias)  # type: ignore[arg-type]
    node, edges = torch.randn(5, 7), torch.tensor(EDGES).unique(dim=1)
    out = module(node, edges)
    heads = []
    for head in range(2):
        mapped = node @ module.node_map.weight[3 * head : 3 * head + 3].T
        a = torch.cat((module.weight_target[head], module.weight_source[head]))
        rows = []
        for i in range(5):
            around = sorted({i, *(j for j, k in edges.T.tolist() if k == i)})
            energy = torch.stack([a @ torch.cat((mapped[i], mapped[j])) for j in around])
            rows.append(torch.nn.functional.leaky_relu(energy, 0.2).softmax(0) @ mapped[around])
        heads.append(torch.stack(rows))
    joined = torch.cat(heads, 1) if join == "concat" else torch.stack(heads).mean(0)
    assert_close(out.context, (joined + module.bias).double(), tolerance=1e-5)


def test_module_is_watched_and_drops_in_training_only() -> None:
    layer = GraphAttention(5, 3, 2, dropout=0.6)
    node, edges = torch.randn(5, 5), torch.tensor(EDGES)
    with capture(torch.nn.ModuleDict({"layer": layer}), heads=1, rows=[0]) as seen:
        dropped = layer(node, edges)
    assert isinstance(dropped, GraphAttended)
    assert seen.weights("layer").shape == (1, 1, 1, 5)
    assert_close(seen.weights("layer").sum(-1), torch.ones(1, 1, 1))
    kept = layer.eval()(node, edges)
    assert_close(kept.weights(), dropped.weights().double())
    assert not torch.allclose(kept.context, dropped.context)
    assert torch.equal(layer(node, edges).context, kept.context)


def test_module_without_loops_and_bias_leaves_a_lonely_node_zero() -> None:
    layer = GraphAttention(5, 3, 2, self_loops=False, bias=False)
    assert (layer(torch.randn(5, 5), torch.tensor(EDGES)).context[LONELY] == 0).all()


def test_glorot_bounds_are_those_of_one_head() -> None:
    layer = GraphAttention(100, 20, 8)
    assert 0.95 < layer.node_map.weight.abs().max().item() / math.sqrt(6 / 120) <= 1
    assert 0.95 < layer.weight_source.abs().max().item() / math.sqrt(6 / 21) <= 1


def test_bad_shapes_are_named() -> None:
    node, edges, source, target = random_graph()
    with pytest.raises(ValueError, match=r"node must be \[N, H, D\]; got shape \[5, 6\]"):
        graph_attention(node.flatten(1), edges, source, target)
    with pytest.raises(ValueError, match=r"weight_target must be \[H, D\] = \[3, 2\]; got \[2, 3\]"):
        graph_attention(node, edges, source, target.T)
    with pytest.raises(ValueError, match=r"edges must be integers \[2, E\].*got torch.int64 of shape \[8, 2\]"):
        graph_attention(node, edges.T, source, target)
    with pytest.raises(ValueError, match="from node 0 to node 4, but nodes are numbered 0 to 3"):
        graph_attention(node[:4], edges, source, target)
    with pytest.raises(ValueError, match="from node -1 to node 3"):
        graph_attention(node, edges - 1, source, target)
    with pytest.raises(ValueError, match="no implementation 'triton'; there are reference, sparse, fused"):
        graph_attention(node, edges, source, target, impl="triton")
    with pytest.raises(ValueError, match="joined by concat or mean, not by 'sum'"):
        GraphAttention(5, 3, 2, join="sum")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one largest weight"):
        graph_attention(node, edges, source, target).topk(0)


@pytest.mark.parametrize("impl", EVERY)
def test_dropped_values_change_the_context_and_not_the_weights(impl: str) -> None:
    """Where a channel is dropped, it is so for all who read it; the energies see it."""
    torch.manual_seed(0)
    node, edges = torch.ones(40, 1, 3), torch.randint(40, (2, 200))
    weights = torch.ones(1, 3), torch.ones(1, 3)
    whole = graph_attention(node, edges, *weights, impl=impl)
    out = graph_attention(node, edges, *weights, value_dropout=0.5, impl=impl)
    assert torch.equal(out.weights(), whole.weights())
    assert out.context.mean().item() == pytest.approx(whole.context.mean().item(), abs=0.15)
    assert not torch.equal(out.context, whole.context)
    one = graph_attention(node, torch.tensor([[7, 7], [1, 2]]), *weights, value_dropout=0.5, impl=impl).context
    assert torch.equal(one[1], one[2])
    assert set(one[1].unique().tolist()) <= {0.0, 2.0}


def test_each_head_of_a_layer_has_its_own_dropped_inputs() -> None:
    torch.manual_seed(0)
    layer = GraphAttention(input_dim=50, head_dim=1, num_heads=2, input_dropout=0.5, self_loops=False)
    with torch.no_grad():
        layer.node_map.weight.fill_(1.0)
        edges = torch.arange(30).expand(2, -1)
        first, second = layer(torch.ones(30, 50), edges).context.T
        assert not torch.equal(first, second)
        assert first.mean().item() == pytest.approx(50.0, abs=5.0)
        assert (layer.eval()(torch.ones(30, 50), edges).context == 50).all()


def test_a_recording_asks_the_device_for_nothing() -> None:
    node, edges, *halves = random_graph()
    with recording(), on_the_device():
        out = graph_attention(node, edges, *halves)
    assert_close(out.context, graph_attention(node, edges, *halves).context)


def test_edges_are_checked_and_sorted_once() -> None:
    node, given, *halves = random_graph()
    edges = Edges(given, node.shape[0])
    for rows, side in ((edges.by_target, 1), (edges.by_source, 0)):
        assert torch.equal(given[side][rows.place], given[side].sort().values)
        assert torch.equal(given[1 - side][rows.place], rows.other)
        assert rows.start.diff().tolist() == given[side].bincount(minlength=5).tolist()
    assert edges.by_target is edges.by_target
    once, again = graph_attention(node, given, *halves), graph_attention(node, edges, *halves)
    assert torch.equal(once.context, again.context)
    assert torch.equal(again.edges, given)
    with pytest.raises(ValueError, match="the edges are of 5 nodes; got 4 nodes"):
        graph_attention(node[:-1], edges, *halves)


def test_known_edges_are_sorted_again_when_the_edges_change() -> None:
    known, edges = KnownEdges(loops=True), torch.tensor(EDGES)
    first = known(edges, 5)
    assert known(edges, 5) is first
    assert known(edges, 6).num_nodes == 6
    assert known(edges.clone(), 5) is not first
    edges[0, 0] = 1
    assert known(edges, 5).given[0, 0] == 1
    with torch.inference_mode():
        assert known(torch.tensor(EDGES), 5).given.shape == first.given.shape
    assert KnownEdges(loops=False)(first, 5) is first
    assert torch.equal(known(first, 5).given, first.given)


def test_a_copied_model_has_no_graph_with_it() -> None:
    model, edges = GAT(7, 3).eval(), torch.tensor(EDGES)
    features = torch.randn(5, 7)
    said = model(features, edges).logits
    again = copy.deepcopy(model)
    assert again.known._last is None
    assert torch.equal(again(features, edges).logits, said)


def test_kernels_that_cannot_run_are_named() -> None:
    node, edges, *halves = random_graph()
    if kernels_run():
        pytest.skip("here they run")
    with pytest.raises(ValueError, match=r'graph: the fused implementation needs .*; use impl="sparse"'):
        graph_attention(node, edges, *halves, impl="fused")


class TestKernels:
    @pytest.mark.parametrize("dtype", DTYPES[1:], ids=lambda dtype: str(dtype).removeprefix("torch."))
    @pytest.mark.parametrize(
        ("nodes", "edges", "heads", "width"),
        [(17, 90, 3, 5), (17, 1, 1, 1), (5, 0, 2, 3), (7, 40, 2, 600), (11, 53, 37, 16), (3, 101, 8, 8)],
    )
    @pytest.mark.parametrize("dropout", [0.0, 0.4])
    def test_they_read_what_the_definition_reads(
        self,
        nodes: int,
        edges: int,
        heads: int,
        width: int,
        dropout: float,
        dtype: torch.dtype,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """The context and all gradients, beside the definition in float64 and PyTorch's own operations on the list."""
        kept = (torch.rand(edges, heads) >= dropout) / (1 - dropout)  # for all dtypes the same
        monkeypatch.setattr(api, "scaled_dropout", lambda x, share: x * kept.to(x.dtype) if share else x)
        pairs = torch.randint(nodes, (2, edges))
        shapes = ((nodes, heads, width), (heads, width), (heads, width))
        inputs = [(torch.randn(shape) / (width**0.5 if len(shape) == 2 else 1)).to(dtype) for shape in shapes]
        runs = []
        for kind, impl in ((torch.float64, "reference"), (dtype, "sparse"), (dtype, "fused")):
            ready = [tensor.to(kind).detach().requires_grad_() for tensor in inputs]
            out = graph_attention(ready[0], pairs, *ready[1:], dropout=dropout, impl=impl)
            probe = torch.linspace(-1, 1, out.context.numel(), dtype=torch.float64).view_as(out.context)
            grads = torch.autograd.grad((out.context.double() * probe).sum(), ready)
            runs.append((out.context, out.weights(), *grads))
        largest = max(magnitude(gradient) for gradient in runs[0][2:])
        for place, (truth, plain, actual) in enumerate(zip(*runs, strict=True)):
            assert actual.dtype == (torch.float32 if place == 1 else dtype)
            assert_within_budget(actual, plain, truth, scale=None if place < 2 else largest)

    def test_nodes_that_lie_in_memory_full_of_nan(self) -> None:
        node, edges, *halves = random_graph()
        larger = torch.full((7, 9, 4), torch.nan)
        view = larger[1:6, ::3, 1:3].copy_(node)
        expected = graph_attention(node, edges, *halves, impl="sparse").context
        assert_close(graph_attention(view, edges, *halves, impl="fused").context, expected.double(), tolerance=1e-5)

    def test_the_same_bits_every_time(self) -> None:
        node, edges = torch.randn(50, 2, 3), torch.randint(50, (2, 2_000))
        halves, runs = torch.randn(2, 2, 3), []
        for _ in range(3):
            ready = node.clone().requires_grad_()
            out = graph_attention(ready, edges, *halves, impl="fused")
            runs.append((out.context, *torch.autograd.grad(out.context.square().sum(), ready)))
        assert all(torch.equal(*pair) for other in runs[1:] for pair in zip(other, runs[0], strict=True))

    def test_a_second_derivative_is_refused(self) -> None:
        node, *rest = random_graph()
        out = graph_attention(node.requires_grad_(), *rest, impl="fused").context
        with pytest.raises(RuntimeError, match="graph: the fused implementation has no second derivative"):
            torch.autograd.grad(out.sum(), node, create_graph=True)

    def test_what_they_do_not_have_is_named(self) -> None:
        node, edges, *halves = random_graph()
        with pytest.raises(ValueError, match=r"has float32, float16 and bfloat16, not torch\.float64"):
            graph_attention(node.double(), edges, *halves, impl="fused")
        with pytest.raises(ValueError, match="heads of up to 1024 entries; got 1025"):
            graph_attention(torch.ones(5, 1, 1025), edges, *torch.ones(2, 1, 1025), impl="fused")

"""Graph attention networks."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from regard.explain import capture
from regard.models.build import build
from regard.systems.nodes.gat import GAT
from tests.mechanism import assert_close, check_gradients
from tests.nn.test_sparse_rows import sparse


def edges() -> Tensor:
    """Node 4 has none."""
    return torch.tensor([[0, 1, 2, 3, 2], [1, 2, 0, 2, 3]])


def network(**options: object) -> GAT:
    return GAT(7, 3, hidden_dim=5, num_heads=2, **options).double().eval()  # type: ignore[arg-type]


def test_shapes() -> None:
    model, features = network(output_heads=11, num_layers=3), torch.randn(13, 7, dtype=torch.float64)
    trace = model.trace(features, edges())
    assert model(features, edges()).logits.shape == trace.logits.shape == (13, 3)
    assert [tuple(read.weights().shape) for read in trace.reads] == [(2, 18), (2, 18), (11, 18)]
    assert GAT(7, 3, num_layers=1)(torch.randn(5, 7), edges()).logits.shape == (5, 3)


def test_it_is_the_equations() -> None:
    """Every node, every head, by loops; a loop on each node is read once, with or without such an edge."""
    model, x = network(), torch.randn(5, 7, dtype=torch.float64)

    def layer(part: torch.nn.Module, x: Tensor) -> Tensor:
        mapped = (x @ part.node_map.weight.T).unflatten(1, (part.num_heads, -1))  # type: ignore[union-attr, arg-type]
        rows = []
        for i in range(5):
            read = [i, *edges()[0][edges()[1] == i].tolist()]
            energy = torch.stack(
                [(part.weight_target * mapped[i]).sum(1) + (part.weight_source * mapped[j]).sum(1) for j in read]  # type: ignore[operator]
            )
            weight = F.leaky_relu(energy, 0.2).softmax(0)
            rows.append(torch.einsum("sh,shd->hd", weight, mapped[read]))
        return torch.stack(rows)

    hidden = F.elu(layer(model.layers[0], x).flatten(1) + model.layers[0].bias)  # type: ignore[operator]
    expected = layer(model.output, hidden).mean(1) + model.output.bias
    assert_close(model(x, edges()).logits, expected)
    with_loops = torch.cat((edges(), torch.tensor([[1, 4], [1, 4]])), dim=1)
    assert_close(model(x, with_loops).logits, expected)


def test_sparse_features_are_the_same_features() -> None:
    dense = torch.randn(5, 7, dtype=torch.float64) * (torch.rand(5, 7) < 0.4)
    model = network()
    assert_close(model(sparse(dense), edges()).logits, model(dense, edges()).logits)
    with pytest.raises(ValueError, match=r"GraphAttention was made for nodes of width 7; got \[5, 6\]"):
        model(sparse(dense[:, :6]), edges())


def test_a_node_sees_as_far_as_there_are_layers_and_no_further() -> None:
    chain = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
    model, x = network(), torch.randn(6, 7, dtype=torch.float64)
    other = x.clone()
    other[0] += 1.0
    same = (model(x, chain).logits == model(other, chain).logits).all(1)
    assert same.tolist() == [False, False, False, True, True, True]


def test_an_isolated_node_reads_itself() -> None:
    model, x = network(), torch.randn(5, 7, dtype=torch.float64)
    alone = model(x[4:], torch.zeros(2, 0, dtype=torch.long)).logits
    assert_close(model(x, edges()).logits[4:], alone)
    assert torch.isfinite(alone).all()


def test_residual_connections_are_those_between_the_first_and_the_last_layer() -> None:
    model, x = network(num_layers=3, residual=True), torch.randn(5, 7, dtype=torch.float64)
    reads = model.trace(x, edges()).reads
    first = F.elu(reads[0].context)
    second = F.elu(reads[1].context) + first
    assert_close(model(x, edges()).logits, model.output(second, reads[0].edges).context)


def test_gradients() -> None:
    model, x = network(output_heads=2), torch.randn(5, 7, dtype=torch.float64)
    names = [name for name, _ in model.named_parameters()]

    def run(features: Tensor, *parameters: Tensor) -> Tensor:
        found = torch.func.functional_call(model, dict(zip(names, parameters, strict=True)), (features, edges()))
        return found.logits  # type: ignore[no-any-return]

    check_gradients(run, x, *(parameter.detach() for parameter in model.parameters()))


def test_dropout_is_of_training_and_of_each_head_apart() -> None:
    torch.manual_seed(0)
    model, x = GAT(7, 3, dropout=0.5), torch.ones(40, 7)
    assert not torch.equal(model(x, edges()).logits, model(x, edges()).logits)
    assert not model.training or torch.isfinite(model(sparse(x), edges()).logits).all()
    model.eval()
    assert torch.equal(model(x, edges()).logits, model(x, edges()).logits)
    layer = GAT(7, 3, num_heads=2, hidden_dim=1, dropout=0.5).layers[0]
    with torch.no_grad():
        layer.node_map.weight.fill_(1.0)  # type: ignore[union-attr, operator]
        heads = layer._mapped(torch.ones(40, 7))  # type: ignore[operator]
    assert not torch.equal(heads[:, 0], heads[:, 1])
    assert heads.mean().item() == pytest.approx(7.0, abs=1.0)


def test_captures_see_every_layer() -> None:
    model, x = network(), torch.randn(5, 7, dtype=torch.float64)
    with capture(model) as seen:
        model(x, edges())
    assert seen.weights("layers.0").shape == (1, 2, 5, 5)
    assert seen.weights("output")[0, 0, 4].tolist() == [0, 0, 0, 0, 1]


def test_arguments_that_do_not_fit_are_one_sentence() -> None:
    assert isinstance(build("gat", 7, 3, num_heads=4), GAT)
    with pytest.raises(ValueError, match="GAT: num_layers must be at least 1; got 0"):
        build("gat", 7, 3, num_layers=0)
    with pytest.raises(ValueError, match=r"GAT: dropout must lie in \[0, 1\); got 1.0"):
        build("gat", 7, 3, dropout=1.0)
    with pytest.raises(ValueError, match=r"called 'heads' .did you mean 'num_heads'"):
        build("gat", 7, 3, heads=3)

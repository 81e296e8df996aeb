"""Graph attention networks on citation graphs, over many seeds; and beside another implementation of the same layer.

    python benchmarks/graphs.py PATH/cora.npz PATH/citeseer.npz          # 20 seeds each: mean and deviation
    python benchmarks/graphs.py PATH/citeseer.npz --set train.optimizer.weight_decay=5.0e-4
    python benchmarks/graphs.py --layer                                  # against torch_geometric, where it is there

A graph is learned by the recipe that ships under its name (`regard train cora`), any other by Cora's, without the
trainer around it: Adam, a validation after each update, and the recipe's rule of which model is kept and when to stop.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.data import Labels
from regard.nn import GraphAttention
from regard.nn.sparse_rows import SparseRows
from regard.recipes.load import load
from regard.recipes.sections import Recipe
from regard.systems.nodes.gat import GAT
from regard.systems.nodes.graphs import Graph, Planetoid
from regard.systems.nodes.task import Nodes
from regard.train.early_stopping import judge

PUBLISHED = {"cora": "83.0 ± 0.7", "citeseer": "72.5 ± 0.7"}


class Row(NamedTuple):
    """A run: the accuracies in per cent of the model that was kept, when it was, and what it took."""

    seed: int
    valid: float
    test: float
    kept: int
    epochs: int
    seconds: float


def recipe_of(path: Path, overrides: list[str]) -> Recipe:
    """What the graph of a file is learned by."""
    name = path.stem if path.stem in PUBLISHED else "cora"
    return load(name, [f"data.root={path.parent}", f"data.file={path.name}", *overrides]).recipe


def learn(graph: Graph, recipe: Recipe, seed: int, device: torch.device) -> Row:
    """Train a network to the end of its patience."""
    begin = time.perf_counter()
    torch.manual_seed(seed)
    task = Nodes(graph, {"label": Labels.train(label for label in graph.labels if label is not None)})
    model = GAT(graph.width, task.labels.size, **recipe.model.arguments()).to(device)
    adam = torch.optim.Adam(
        model.parameters(),
        lr=recipe.train.optimizer.rate,
        weight_decay=recipe.train.optimizer.weight_decay,
        fused=True,
    )
    parts = {name: task.batch(members).to(device) for name, members in graph.parts.items()}
    reached: dict[str, float] = {}
    best, kept, waited, epoch = {"valid": 0.0, "test": 0.0}, 0, 0, 0
    for epoch in range(1, recipe.train.steps + 1):
        model.train()
        adam.zero_grad()
        loss = task.loss(model, parts["train"], update=epoch)
        (loss.total / loss.tokens).backward()
        adam.step()
        logits = _logits(model, parts["valid"])
        right = {name: _right(logits, parts[name]) for name in best}
        values = {"accuracy": right["valid"], "loss": _loss(logits, parts["valid"])}
        verdict = judge(recipe.select, values, reached)
        reached = verdict.reached
        if verdict.better:
            best, kept = right, epoch
        waited = 0 if verdict.hopeful else waited + 1
        if waited == recipe.train.patience:
            break
    return Row(seed, best["valid"], best["test"], kept, epoch, time.perf_counter() - begin)


def _logits(model: GAT, batch: Any) -> Tensor:
    model.eval()
    with torch.no_grad():
        features = SparseRows(**{name: batch[name] for name in SparseRows.__dataclass_fields__})
        logits: Tensor = model(features, batch["edges"]).logits
    return logits


def _right(logits: Tensor, batch: Any) -> float:
    return 100 * float((logits[batch["asked"]].argmax(-1) == batch["label"]).float().mean())


def _loss(logits: Tensor, batch: Any) -> float:
    return float(F.cross_entropy(logits[batch["asked"]], batch["label"]))


def table(name: str, rows: list[Row]) -> str:
    """Mean and deviation over the seeds, for people."""
    test = [row.test for row in rows]
    spread = statistics.stdev(test) if len(test) > 1 else 0.0
    seconds = statistics.mean(row.seconds for row in rows)
    epochs = statistics.mean(row.epochs for row in rows)
    beside = f", published {PUBLISHED[name]}" if name in PUBLISHED else ""
    return (
        f"{name}: test {statistics.mean(test):.2f} ± {spread:.2f} over {len(test)} seeds{beside}; "
        f"{min(test):.1f} to {max(test):.1f}, {epochs:.0f} epochs and {seconds:.1f} s a run"
    )


class Sizes(NamedTuple):
    """A graph at random, and a layer on it."""

    nodes: int
    edges: int
    width: int
    heads: int
    dim: int


def layers(device: torch.device) -> str:
    """Our layer beside torch_geometric's, on a graph like Cora and on a large one."""
    if importlib.util.find_spec("torch_geometric") is None:
        return "torch_geometric is not installed; nothing to compare with"
    sizes = (Sizes(2708, 10_556, 1433, 8, 8), Sizes(100_000, 1_000_000, 64, 4, 32))
    return "\n".join(compared(one, device) for one in sizes)


def compared(sizes: Sizes, device: torch.device) -> str:
    """Whether both layers say the same with the same weights; then how long each takes."""
    from torch_geometric.nn import GATConv

    edges = torch.randint(sizes.nodes, (2, sizes.edges), device=device)
    edges = edges[:, edges[0] != edges[1]].unique(dim=1)
    node = torch.randn(sizes.nodes, sizes.width, device=device)
    ours = GraphAttention(sizes.width, sizes.dim, sizes.heads).to(device)
    theirs = GATConv(sizes.width, sizes.dim, sizes.heads).to(device)
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            if name.startswith("lin"):  # lin.weight, or lin_src.weight in older versions
                parameter.copy_(ours.node_map.weight)
        theirs.att_src.copy_(ours.weight_source.unsqueeze(0))
        theirs.att_dst.copy_(ours.weight_target.unsqueeze(0))
        gap = float((ours(node, edges).context - theirs(node, edges)).abs().max())
    if gap > 1e-4:
        raise SystemExit(f"the layers differ by {gap:.1e}; no time is worth anything")
    mine = _milliseconds(lambda: ours(node, edges).context, ours, device)
    other = _milliseconds(lambda: theirs(node, edges), theirs, device)
    what = f"{sizes.nodes:,} nodes, {edges.shape[1]:,} edges, {sizes.heads} heads of {sizes.dim}: equal to {gap:.0e}"
    return f"{what}; a pass and back {mine:.2f} ms, torch_geometric {other:.2f} ms, ratio {other / mine:.2f}"


def _milliseconds(run: Callable[[], Tensor], module: nn.Module, device: torch.device, seconds: float = 3.0) -> float:
    """The median of a forward and a backward pass, for some seconds."""
    taken: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(taken) < 5:
        begin = time.perf_counter()
        module.zero_grad()
        run().sum().backward()
        if device.type == "cuda":
            torch.cuda.synchronize()
        taken.append(1000 * (time.perf_counter() - begin))
    return statistics.median(taken[len(taken) // 5 :])


def main() -> None:
    options = parse()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    for path in options.graphs:
        graph, recipe, rows = Planetoid(path).read(), recipe_of(path, options.overrides), []
        for seed in range(options.first, options.first + options.seeds):
            rows.append(learn(graph, recipe, seed, device))
            if options.output is not None:
                with options.output.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"graph": path.stem, **rows[-1]._asdict()}) + "\n")
        print(table(path.stem, rows), flush=True)
    if options.layer:
        print(layers(device))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("graphs", type=Path, nargs="*", help="cora.npz, citeseer.npz")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--set", action="append", default=[], dest="overrides", help="KEY=VALUE of the recipe")
    parser.add_argument("--layer", action="store_true", help="compare a layer with torch_geometric's")
    parser.add_argument("--output", type=Path, help="a JSONL file for the runs")
    return parser.parse_args()


if __name__ == "__main__":
    main()

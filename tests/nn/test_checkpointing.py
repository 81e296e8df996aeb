"""Layers that compute their activations again: the same gradients, less memory."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import regard
from regard.data.batching.batch import Batch
from regard.models import TransformerLM
from regard.models.build import build
from regard.nn import LayerConfig, checkpoint_gradients
from regard.train.footprint import saved_bytes

SMALL: dict[str, Any] = {"dim": 16, "num_heads": 2, "num_layers": 3, "dropout": 0.3}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "encoder_decoder": ("transformer", SMALL),
    "additive_score": ("transformer", {**SMALL, "score": "additive", "positions": "learned"}),
    "rotary_and_post_norm": ("transformer", {**SMALL, "score": "cosine", "positions": "rotary", "norm": "post"}),
    "language_model": ("transformer_lm", SMALL),
    "encoder": ("acceptor", {"encoder": {"kind": "transformer", **SMALL}}),
    "bert": ("acceptor", {"encoder": {"kind": "bert", **SMALL}}),
    "two_directions": ("bidirectional", {"model": {"kind": "transformer", **SMALL}}),
    "memory": ("memory_transformer", SMALL),
}


def made(kind: str, arguments: dict[str, Any]) -> nn.Module:
    torch.manual_seed(3)
    return build(kind, 31, None if kind == "transformer_lm" else 31, **arguments).train()


def loss(model: nn.Module, kind: str) -> Tensor:
    torch.manual_seed(5)
    source, target, lengths = torch.randint(4, 31, (3, 11)), torch.randint(4, 31, (3, 7)), torch.tensor([11, 5, 2])
    if kind == "transformer_lm":
        found = model(source)
    else:
        found = model(source, lengths) if kind == "acceptor" else model(source, lengths, target)
    logits = found.logits
    extras = sum(one.sum() for one in getattr(found, "extras", {}).values())
    total: Tensor = logits.logsumexp(-1).sum() - logits[..., 5].sum() + extras
    return total


@pytest.mark.parametrize("name", MODELS)
def test_loss_and_gradients_are_the_same(name: str) -> None:
    kind, arguments = MODELS[name]
    kept, forgetful = made(kind, arguments), made(kind, arguments)
    assert checkpoint_gradients(forgetful) >= 3
    losses = [loss(model, kind) for model in (kept, forgetful)]
    for one in losses:
        one.backward()
    same = torch.testing.assert_close if losses[0].is_cuda else _equal
    same(losses[0], losses[1])
    for (parameter, mine), theirs in zip(kept.named_parameters(), forgetful.parameters(), strict=True):
        assert (mine.grad is None) == (theirs.grad is None), parameter
        if mine.grad is not None and theirs.grad is not None:
            same(mine.grad, theirs.grad)


def _equal(one: Tensor, other: Tensor) -> None:
    assert torch.equal(one, other)


class Sum(nn.Module):
    """A language model as an objective."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch, update: int) -> Tensor:
        logits: Tensor = self.model(batch["text"]).logits
        return logits.sum()


def test_much_less_is_kept_for_the_backward_pass() -> None:
    model = TransformerLM(11, LayerConfig(dim=32, num_heads=4), num_layers=6)
    batch = Batch({"text": torch.full((4, 64), 5)}, (0, 1, 2, 3), 256)
    before = saved_bytes(Sum(model), batch, 0)  # type: ignore[arg-type]
    checkpoint_gradients(model)
    after = saved_bytes(Sum(model), batch, 0)  # type: ignore[arg-type]
    assert after < before / 4


def test_whoever_watches_sees_each_read_once() -> None:
    model = TransformerLM(11, LayerConfig(dim=16, num_heads=2), num_layers=2)
    checkpoint_gradients(model)
    with regard.capture(model, layers=0) as seen:
        model(torch.ones(2, 5).long()).logits.sum().backward()
    assert [len(reads) for reads in seen.values()] == [1]


def test_evaluation_and_models_without_such_layers_stay_as_they_are() -> None:
    model = TransformerLM(11, LayerConfig(dim=16, num_heads=2), num_layers=2).eval()
    checkpoint_gradients(model)
    kept = saved_bytes(Sum(model), Batch({"text": torch.full((2, 9), 5)}, (0, 1), 18), 0)  # type: ignore[arg-type]
    plain = TransformerLM(11, LayerConfig(dim=16, num_heads=2), num_layers=2).eval()
    assert kept == saved_bytes(Sum(plain), Batch({"text": torch.full((2, 9), 5)}, (0, 1), 18), 0)  # type: ignore[arg-type]
    assert checkpoint_gradients(nn.Linear(3, 3)) == 0

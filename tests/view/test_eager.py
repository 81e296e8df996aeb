"""Weights on a page are those of the definition: for a model of every family, to 1e-6, padding included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import regard
from regard.masks import Mask
from regard.models import build
from regard.nn.aligners.softmax import Softmax
from regard.nn.attention_module import AttentionModule
from regard.nn.lstmn import LSTMNCell
from regard.nn.memory import Memory
from regard.nn.state import AttentionState
from regard.nn.structured import StructuredSelfAttention
from regard.specials import EOS
from regard.view.document import Document
from tests.mechanism import assert_close
from tests.view.pages import Page

SOURCE, LENGTHS = torch.randint(4, 11, (2, 7), generator=torch.Generator().manual_seed(0)), torch.tensor([7, 4])
TARGET = torch.randint(4, 11, (2, 5), generator=torch.Generator().manual_seed(1))
FRAMES = torch.randn(2, 13, 11, generator=torch.Generator().manual_seed(2))
TWO = SOURCE.clone().index_fill_(1, torch.tensor([2]), EOS)
OTHER = TARGET, torch.tensor([3, 5])
ENCODER = {"kind": "transformer", "dim": 12, "num_heads": 3, "num_layers": 2}
BERT = {"kind": "bert", "dim": 12, "num_heads": 3, "num_layers": 2, "max_length": 24}
SMALL = {"embedding_dim": 3, "hidden_dim": 6}
RECURRENT = {"kind": "rnn"} | SMALL

Case = tuple[str, int | None, dict[str, Any], tuple[Tensor, ...]]
BOTH = SOURCE, LENGTHS, TARGET
CASES: dict[str, Case] = {
    "bahdanau": ("bahdanau", 11, SMALL, BOTH),
    "luong": ("luong", 11, SMALL, BOTH),
    "luong local-m": ("luong", 11, SMALL | {"attention": {"score": "dot", "align": "local_m"}}, BOTH),
    "luong local-p": ("luong", 11, SMALL | {"attention": {"score": "general", "align": "local_p"}}, BOTH),
    "lstmn": ("lstmn", 11, SMALL, BOTH),
    "simple attention": ("simple_attention", 11, SMALL, BOTH),
    "transformer": ("transformer", 11, {"dim": 12, "num_heads": 3, "num_layers": 2}, BOTH),
    "char_rnn": ("char_rnn", None, SMALL | {"attention": "bilinear"}, (SOURCE,)),
    "transformer_lm": ("transformer_lm", None, {"dim": 12, "num_heads": 3, "num_layers": 2}, (SOURCE,)),
    "lstmn_lm": ("lstmn_lm", None, SMALL, (SOURCE,)),
    "bert": ("masked_lm", None, {"encoder": BERT}, (SOURCE, LENGTHS)),
    "acceptor over a transformer": ("acceptor", 3, {"encoder": ENCODER, "pooling": "mean"}, (SOURCE, LENGTHS)),
    "acceptor over a bert": ("acceptor", 3, {"encoder": BERT, "pooling": "last"}, (SOURCE, LENGTHS)),
    "acceptor over a recurrent net": ("acceptor", 3, {"encoder": RECURRENT, "pooling": "attention"}, (SOURCE, LENGTHS)),
    "transducer": ("transducer", 3, {"encoder": ENCODER}, (SOURCE, LENGTHS)),
    "decomposable attention": ("decomposable_attention", 3, {"hidden_dim": 6}, (TWO, LENGTHS)),
    "esim": ("esim", 3, {"hidden_dim": 6, "encoder": RECURRENT}, (TWO, LENGTHS)),
    "cross_encoder": ("cross_encoder", None, {"encoder": RECURRENT, "hidden_dim": 5}, (*OTHER, SOURCE, LENGTHS)),
    "listener": ("listener", 11, {"encoder": {"hidden_dim": 6}, **SMALL}, (FRAMES, torch.tensor([13, 8]), TARGET)),
    "span_reader": ("span_reader", None, {"encoder": BERT}, (*OTHER, SOURCE, LENGTHS)),
}


@pytest.mark.parametrize("name", CASES)
def test_weights_on_a_page_are_those_of_the_definition(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    kind, target_size, arguments, inputs = CASES[name]
    model = build(kind, 11, target_size, **arguments).eval()
    defined = _defined(model, monkeypatch)
    with torch.no_grad(), regard.capture(model) as seen:
        model(*inputs)
    assert {name for name in seen if seen[name]} == set(defined)
    assert defined
    for row in range(2):
        page, wanted = Document("weights"), []
        for module, calls in defined.items():
            for call, weights in zip(seen[module], calls, strict=True):
                drawn = call.weights()[row]
                page.add(regard.view.heads(drawn))
                wanted.append(weights[row])
        html = page.html()
        for number, weights in enumerate(wanted):
            described = Page(html, number)
            heads = torch.stack([torch.tensor(described.exact(one)) for one in described.panel["maps"]])
            assert_close(heads, weights.float(), tolerance=1e-6)


def _defined(model: nn.Module, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Tensor]]:
    """Compute the weights of every read beside it, [B, H, T, S]: energies, a mask, a softmax in float64."""
    names = {id(module): name for name, module in model.named_modules()}
    found: dict[str, list[Tensor]] = {}
    read: Callable[..., Any] = AttentionModule._at_once

    def spied(self: AttentionModule, query: Tensor, memory: Memory, state: AttentionState) -> Any:
        energy = self.score.energy(self.score.queries(query), memory, state)
        if type(self.align) is Softmax:
            weights = _softmax(energy, memory.mask)
        else:
            weights = self.align(energy, query, memory, state).weights
        found.setdefault(names[id(self)], []).append(weights)
        return read(self, query, memory, state)

    def looked_back(self: LSTMNCell, query: Tensor, memory: Memory) -> Any:
        weight = self.attention.score.weight[:, None, None]  # [H, 1, 1, D]
        energy = (torch.tanh(query[:, :, :, None] + memory.key[:, :, None]) * weight).sum(-1)
        found.setdefault(names[id(self.attention)], []).append(_softmax(energy, memory.mask))
        return back(self, query, memory)

    def structured(self: StructuredSelfAttention, hidden: Tensor, mask: Mask | None = None) -> Any:
        energy = self.outer_map(torch.tanh(self.inner_map(hidden))).mT.unsqueeze(1)  # [B, 1, r, S]
        found.setdefault(names[id(self)], []).append(_softmax(energy, mask))
        return hops(self, hidden, mask)

    back, hops = LSTMNCell._read, StructuredSelfAttention.forward
    monkeypatch.setattr(AttentionModule, "_at_once", spied)
    monkeypatch.setattr(LSTMNCell, "_read", looked_back)
    monkeypatch.setattr(StructuredSelfAttention, "forward", structured)
    return found


def _softmax(energy: Tensor, mask: Mask | None) -> Tensor:
    if mask is None:
        return energy.double().softmax(-1)
    batch, heads, queries, keys = energy.shape
    allowed = mask.allowed((batch, heads, queries, keys), device=energy.device).expand(energy.shape)
    grown = energy.double().exp() * allowed
    return grown / grown.sum(-1, keepdim=True).clamp(min=1e-300)

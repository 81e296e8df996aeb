"""Every generating model, small, with its options: what the tests of all of them run over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from regard.models import (
    AttentionConfig,
    Bahdanau,
    Bidirectional,
    CharRNN,
    LanguageModel,
    LSTMNSeq2Seq,
    Luong,
    Seq2Seq,
    SimpleAttention,
    Transformer,
    TransformerLM,
)
from regard.models.model_output import log_softmax
from regard.nn import Cells, LayerConfig
from regard.specials import BOS, EOS
from regard.systems.language_model.lstmn_lm import LSTMNLM
from regard.systems.language_model.pointer_lm import PointerLM

SOURCE, TARGET = 11, 13
WIDTHS: dict[str, Any] = {"embedding_dim": 6, "hidden_dim": 8}
DEEP = Cells(kind="lstm", num_layers=2)
TERMS = ("position", "markov", "fertility")
PRE = LayerConfig(dim=8, num_heads=2, hidden_dim=7, dropout=0.0, activation="gelu")
POST = LayerConfig(dim=8, num_heads=2, hidden_dim=7, dropout=0.0, norm="post")


def additive(dim: int, num_heads: int) -> Any:
    """A Transformer's score that is no inner product."""
    return AttentionConfig(num_heads=num_heads, hidden_dim=5).make_score(dim, dim)


def bahdanau(**options: Any) -> Bahdanau:
    return Bahdanau(SOURCE, TARGET, **WIDTHS, **options)


def luong(**options: Any) -> Luong:
    return Luong(SOURCE, TARGET, **WIDTHS, **options)


ENCODER_DECODERS: dict[str, Callable[[], Any]] = {
    "seq2seq state": lambda: Seq2Seq(SOURCE, TARGET, **WIDTHS, cells=DEEP, reverse=True),
    "seq2seq state bidirectional": lambda: Seq2Seq(SOURCE, TARGET, **WIDTHS, cells=DEEP, bidirectional=True),
    "seq2seq mapped": lambda: Seq2Seq(SOURCE, TARGET, **WIDTHS, context="mapped", cells=DEEP),
    "seq2seq input": lambda: Seq2Seq(SOURCE, TARGET, **WIDTHS, context="input", cells="gru"),
    "bahdanau": bahdanau,
    "bahdanau deep tied": lambda: bahdanau(cells=DEEP, tied=True),
    "bahdanau heads": lambda: bahdanau(attention=AttentionConfig(num_heads=2)),
    "bahdanau key-value": lambda: bahdanau(attention=AttentionConfig(key_value=True)),
    "bahdanau terms": lambda: bahdanau(attention=AttentionConfig(terms=TERMS)),
    "luong": luong,
    "luong deep bidirectional": lambda: luong(cells=DEEP, bidirectional=True),
    "luong parallel": lambda: luong(feeding=False, attention=AttentionConfig(score="dot")),
    "luong parallel terms": lambda: luong(feeding=False, attention=AttentionConfig(terms=TERMS)),
    "luong local-m": lambda: luong(attention=AttentionConfig(score="dot", align={"name": "local_m", "window": 1})),
    "luong local-p": lambda: luong(feeding=False, attention=AttentionConfig(score="concat", align="local_p")),
    "luong location": lambda: luong(attention=AttentionConfig(score="location")),
    "simple": lambda: SimpleAttention(SOURCE, TARGET, **WIDTHS),
    "bidirectional": lambda: Bidirectional(bahdanau(), Bahdanau(TARGET, SOURCE, **WIDTHS)),
    "lstmn deep": lambda: LSTMNSeq2Seq(SOURCE, TARGET, **WIDTHS),
    "lstmn shallow tied": lambda: LSTMNSeq2Seq(
        SOURCE, TARGET, embedding_dim=16, hidden_dim=8, fusion="shallow", tied=True
    ),
    "transformer": lambda: Transformer(SOURCE, TARGET, PRE, num_layers=2),
    "transformer post learned": lambda: Transformer(
        SOURCE, TARGET, POST, num_layers=2, positions="learned", max_length=17, tied="none"
    ),
    "transformer rotary": lambda: Transformer(SOURCE, TARGET, PRE, num_layers=2, positions="rotary"),
    "transformer additive": lambda: Transformer(
        SOURCE, TARGET, LayerConfig(dim=8, num_heads=2, hidden_dim=7, dropout=0.0, score=additive), num_layers=1
    ),
}
LANGUAGE_MODELS: dict[str, Callable[[], Any]] = {
    "language model": lambda: LanguageModel(TARGET, **WIDTHS, cells=DEEP),
    "language model elman tied": lambda: LanguageModel(TARGET, embedding_dim=8, hidden_dim=8, cells="elman", tied=True),
    "char-rnn": lambda: CharRNN(TARGET, **WIDTHS),
    "char-rnn attention": lambda: CharRNN(TARGET, **WIDTHS, attention=AttentionConfig().make_score),
    "char-rnn window": lambda: CharRNN(TARGET, **WIDTHS, attention=AttentionConfig(score="dot").make_score, window=2),
    "char-rnn next": lambda: CharRNN(
        TARGET, **WIDTHS, attention=AttentionConfig().make_score, window=3, pairing="next"
    ),
    "pointer": lambda: PointerLM(TARGET, **WIDTHS, cells=DEEP),
    "pointer window next": lambda: PointerLM(TARGET, **WIDTHS, cells="gru", window=2, pairing="next"),
    "lstmn": lambda: LSTMNLM(TARGET, **WIDTHS, num_layers=2),
    "lstmn window tied": lambda: LSTMNLM(TARGET, embedding_dim=8, hidden_dim=8, window=2, tied=True),
    "transformer lm": lambda: TransformerLM(TARGET, PRE, num_layers=2),
    "transformer lm rotary": lambda: TransformerLM(TARGET, POST, num_layers=2, positions="rotary", tied=False),
}


def pairs() -> tuple[Tensor, Tensor, Tensor]:
    """Three sources of lengths 5, 2 and 4, ended by EOS, and decoder inputs of 7 tokens."""
    source = torch.tensor([[4, 5, 6, 7, 3], [8, 3, 0, 0, 0], [9, 10, 4, 3, 0]])
    target = torch.randint(4, TARGET, (3, 7))
    target[:, 0] = BOS
    assert EOS == 3
    return source, torch.tensor([5, 2, 4]), target


def stepped(model: Any, tokens: Tensor, state: Any) -> Tensor:
    """Log-probabilities [B, T, V] of tokens [B, T] fed one by one."""
    rows = []
    for token in tokens.unbind(1):
        step = model.step(token, state)
        state = step.state
        rows.append(step.log_probs)
    return torch.stack(rows, dim=1)


def forced(model: nn.Module, *inputs: Tensor) -> Tensor:
    """Log-probabilities [B, T, V] by teacher forcing."""
    return log_softmax(model(*inputs).logits)


def named_gradients(model: nn.Module) -> Iterator[tuple[str, Tensor | None]]:
    """The gradient of each parameter."""
    for name, parameter in model.named_parameters():
        yield name, parameter.grad

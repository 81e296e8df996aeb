"""Models from plain nested values."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from regard.models import Bidirectional, TransformerEncoder, build
from regard.models.attention_config import ALIGNERS, SCORES, TERMS
from regard.nn import KeyValue, LocalP, MultiHead, Rotary
from regard.parts import PARTS, all_models
from tests.models.systems import pairs

SMALL = {"embedding_dim": 6, "hidden_dim": 8}
TINY = {"dim": 8, "num_heads": 2, "num_layers": 1}
PLAIN: dict[str, dict[str, Any]] = {
    "acceptor": {"encoder": {"embedding_dim": 6, "hidden_dim": 8}, "pooling": "max"},
    "bahdanau": {**SMALL, "attention": {"score": "additive", "terms": ["position"]}},
    "bert": {"encoder": {**TINY, "max_length": 9, "pooled": True}, "next_sentence": True},
    "bidirectional": {"model": {"kind": "luong", **SMALL}, "gamma": 0.5},
    "char_rnn": {**SMALL, "attention": "dot", "window": 3},
    "gat": {"hidden_dim": 5, "num_heads": 2, "num_layers": 3, "residual": True},
    "language_model": {**SMALL, "cells": {"kind": "lstm", "num_layers": 2, "variational": True}},
    "lstmn": {**SMALL, "fusion": "shallow"},
    "lstmn_lm": {**SMALL, "num_layers": 2, "window": 3},
    "luong": {**SMALL, "attention": "dot", "feeding": False},
    "memory_transformer": {**TINY, "num_layers": 2, "reads": "memory", "nearest": 3},
    "memory_network": {"dim": 6, "num_hops": 2, "tying": "layerwise"},
    "ntm": {"controller": "lstm", "hidden_dim": 7, "rows": 5, "row_dim": 3, "read_heads": 2},
    "pointer_lm": {**SMALL, "window": 3, "pairing": "next"},
    "rnn": {"hidden_dim": 7, "cells": {"kind": "lstm", "num_layers": 3}},
    "span_reader": {"encoder": {"kind": "bert", **TINY, "max_length": 20}, "dropout": 0.0},
    "seq2seq": {**SMALL, "context": "input", "cells": "gru"},
    "simple_attention": SMALL,
    "transducer": {"encoder": {"kind": "transformer", **TINY}},
    "transformer": {**TINY, "norm": "post", "positions": "rotary"},
    "transformer_lm": {**TINY, "activation": "gelu"},
}


def test_every_shared_model_is_here() -> None:
    assert set(PARTS["model"]) < set(PLAIN) < set(all_models())


def test_a_model_of_a_system_is_found_by_its_class() -> None:
    from regard.models import NTM, Acceptor

    assert (NTM.__module__, Acceptor.__module__) == (
        "regard.systems.bits.ntm",
        "regard.systems.classification.acceptor",
    )
    with pytest.raises(ImportError, match="Acceptors"):
        from regard.models import Acceptors  # noqa: F401


@pytest.mark.parametrize("kind", PLAIN)
def test_every_kind_from_plain_values(kind: str) -> None:
    source, lengths, target = pairs()
    if kind in ("bert", "char_rnn", "language_model", "lstmn_lm", "pointer_lm", "transformer_lm"):
        assert build(kind, 13, **PLAIN[kind])(target).logits.shape == (3, 7, 13)
        return
    if kind == "span_reader":
        read = build(kind, 13, **PLAIN[kind])(source, lengths, target, torch.tensor([7, 6, 2]))
        assert read.logits.shape == (3, 7, 2)
        return
    if kind == "memory_network":
        assert build(kind, 13, 13, **PLAIN[kind])(target.unsqueeze(1), source).logits.shape == (3, 13)
        return
    if kind == "gat":
        assert build(kind, 11, 13, **PLAIN[kind])(torch.rand(7, 11), torch.randint(7, (2, 5))).logits.shape == (7, 13)
        return
    if kind in ("ntm", "rnn"):
        assert build(kind, 11, 13, **PLAIN[kind])(torch.rand(3, 7, 11)).logits.shape == (3, 7, 13)
        return
    inputs = (source, lengths) if kind in ("acceptor", "transducer") else (source, lengths, target)
    logits = build(kind, 11, 13, **PLAIN[kind])(*inputs).logits
    assert logits.shape == {"acceptor": (3, 13), "transducer": (3, 5, 13)}.get(kind, (3, 7, 13))


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("align", ["softmax", "local_m", "local_p", "hard"])
def test_every_score_with_every_aligner(score: str, align: str) -> None:
    model = build("luong", 11, 13, **SMALL, attention={"score": score, "align": align})
    model(*pairs()).logits.sum().backward()
    assert type(model.attention.score) is SCORES[score]
    assert type(model.attention.align) is ALIGNERS[align]


@pytest.mark.parametrize("score", sorted(set(SCORES) - {"location"}))
def test_every_score_in_a_transformer(score: str) -> None:
    predicted = build("transformer", 11, 13, **TINY, score=score)(*pairs())
    assert predicted.attended.weights().shape == (3, 2, 7, 5)


def test_options_reach_their_parts() -> None:
    heads = {"score": {"name": "additive", "bias": True}, "num_heads": 2, "terms": [{"name": "markov", "reach": 2}]}
    model = build("bahdanau", 11, 13, **SMALL, attention=heads)
    assert isinstance(model.attention, MultiHead)
    assert model.attention.score.query_map.bias is not None
    assert model.attention.score.term_weight.shape[-1] == 5
    local = build("luong", 11, 13, **SMALL, attention={"align": {"name": "local_p", "window": 3}})
    assert isinstance(local.attention.align, LocalP)
    assert local.attention.align.window == 3
    assert isinstance(build("bahdanau", 11, 13, **SMALL, attention={"key_value": True}).attention, KeyValue)
    rotary = build("transformer_lm", 13, **TINY, positions="rotary")
    assert isinstance(rotary.decoder.layers[0].attention.score, Rotary)
    assert isinstance(build("transducer", 11, 4, **PLAIN["transducer"]).encoder, TransformerEncoder)


def test_two_directions_have_swapped_vocabularies() -> None:
    model = build("bidirectional", 11, 13, **PLAIN["bidirectional"])
    assert isinstance(model, Bidirectional)
    assert model.gamma == 0.5
    sizes = [part.words.table.num_embeddings for part in (model.forward_model, model.backward_model)]
    assert sizes == [13, 11]


def test_build_leaves_the_recipe_as_it_was() -> None:
    recipe = {"encoder": {"kind": "rnn", **SMALL}, "pooling": "last"}
    build("acceptor", 11, 4, **recipe)
    assert recipe == {"encoder": {"kind": "rnn", **SMALL}, "pooling": "last"}


@pytest.mark.parametrize(
    ("kind", "arguments", "sentence"),
    [
        (
            "luongs",
            {},
            r"there is no model 'luongs' \(did you mean 'luong'\?\); there are: acceptor, attentive_reader, bahdanau",
        ),
        (
            "luong",
            {"hiden_dim": 5},
            r"argument of the model 'luong' called 'hiden_dim' \(did you mean 'hidden_dim'\?\)",
        ),
        ("luong", {"attention": "dott"}, r"there is no score 'dott' \(did you mean 'dot'\?\)"),
        ("luong", {"attention": {"allign": "x"}}, r"argument of attention called 'allign' \(did you mean 'align'\?\)"),
        ("luong", {"attention": {"align": "local"}}, r"there is no aligner 'local' \(did you mean 'local_p'\?\)"),
        ("bahdanau", {"attention": {"terms": ["markow"]}}, r"there is no term 'markow' \(did you mean 'markov'\?\)"),
        (
            "luong",
            {"attention": {"score": {"name": "dot", "windw": 3}}},
            "argument of the score 'dot' called 'windw'",
        ),
        ("bahdanau", {"attention": {"score": "bilinear", "terms": ["markov"]}}, "'bilinear' has no place for them"),
        ("bahdanau", {"cells": "lsmt"}, r"kind must be one of .* got 'lsmt'; did you mean 'lstm'\?"),
        ("bahdanau", {"cells": {"layers": 2}}, r"argument of cells called 'layers' \(did you mean 'num_layers'\?\)"),
        ("transformer", {"dims": 8}, r"called 'dims' \(did you mean 'dim'\?\)"),
        ("transformer", {"blocks": {}}, "called 'blocks'"),
        ("acceptor", {"encoder": {"kind": "cnn"}}, "there is no encoder 'cnn'"),
        ("bidirectional", {"gama": 1.0}, r"called 'gama' \(did you mean 'gamma'\?\)"),
        ("bidirectional", {"model": {"kind": "acceptor"}}, "there is no encoder-decoder 'acceptor'"),
        ("bidirectional", {"model": 5}, "model is given by a mapping of its arguments; got 5"),
        ("bidirectional", {"gamma": "much"}, "gamma must be a number; got 'much'"),
        ("acceptor", {"encoder": "rnn"}, "encoder is given by a mapping of its arguments; got 'rnn'"),
        ("acceptor", {"encoder": {"hidden_dim": "wide"}}, "hidden_dim must be a whole number; got 'wide'"),
        ("acceptor", {"encoder": {"kind": "transformer", "num_layers": 0}}, "num_layers must be at least 1; got 0"),
        ("luong", {"cells": [1]}, r"cells is given by a mapping of its arguments; got \[1\]"),
        ("luong", {"cells": {"num_layers": "two"}}, "num_layers must be a whole number; got 'two'"),
        ("luong", {"feeding": "often"}, "feeding must be true or false; got 'often'"),
        ("luong", {"feeding": 1}, "feeding must be true or false; got 1"),
        ("luong", {"hidden_dim": True}, "hidden_dim must be a whole number; got True"),
        ("luong", {"attention": 5}, "attention is given by a mapping of its arguments; got 5"),
        ("luong", {"attention": {"score": 5}}, "is given by a mapping of its arguments; got 5"),
        ("luong", {"attention": {"num_heads": 0}}, "num_heads must be at least 1; got 0"),
        ("bahdanau", {"fertility": -1}, "fertility must be at least 1; got -1"),
        ("transformer", {"num_heads": 0}, "num_heads must be at least 1; got 0"),
        ("transformer", {"positions": "learned", "max_length": 0}, "max_length must be at least 1; got 0"),
    ],
)
def test_wrong_names_are_one_sentence(kind: str, arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        build(kind, 11, 13, **arguments)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"window": 0, "attention": "dot"}, "window must be at least 1; got 0"),
        ({"attention": {"score": "dot", "align": "hard"}}, "no argument of attention called 'align'"),
    ],
)
def test_what_a_model_of_characters_has_no_use_for_is_refused(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        build("char_rnn", 11, **arguments)


def test_sizes_fit_the_kind() -> None:
    with pytest.raises(ValueError, match="the model 'luong' needs a target_size; got None"):
        build("luong", 11)
    with pytest.raises(ValueError, match="the model 'language_model' needs no target_size; got 13"):
        build("language_model", 11, 13)


def test_every_term_by_name() -> None:
    model = build("bahdanau", 11, 13, **SMALL, attention={"terms": sorted(TERMS)})
    assert len(model.attention.score.terms) == len(TERMS)
    assert torch.isfinite(model(*pairs()).logits).all()

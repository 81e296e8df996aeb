"""Engines by name, and what is said where one is missing."""

from __future__ import annotations

import importlib.util

import pytest
import torch

from regard.decode import Hypothesis, Penalty, Search, generate
from regard.decode.request import Request
from regard.engines import make_engine
from regard.models import Transformer
from regard.nn.transformer_layer import LayerConfig


def model() -> Transformer:
    return Transformer(11, 13, LayerConfig(dim=6, num_heads=2), num_layers=1)


def test_a_missing_package_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for engine, extra in (("ctranslate2", "ctranslate2"), ("onnx", "export")):
        with pytest.raises(ValueError, match=rf"is not installed; pip install 'regard\[{extra}\]'"):
            make_engine(engine, model())


def test_our_own_search_is_no_engine() -> None:
    assert make_engine("own", model()) is None
    assert make_engine("own", model(), compute="int8") is None
    with pytest.raises(ValueError, match=r"compute is float32 or int8; got 'int4'"):
        make_engine("own", model(), compute="int4")
    with pytest.raises(ValueError, match=r"the engine is own, ctranslate2 or onnx; got 'tvm'"):
        make_engine("tvm", model())


def test_generate_hands_an_engine_the_whole_request() -> None:
    class Echo:
        """Says what it was asked."""

        def search(self, request: Request, search: Search) -> list[list[Hypothesis]]:
            assert request.source is not None
            rows = request.source.tolist()
            return [[Hypothesis.of(tuple(row), (0.0,) * len(row), Penalty(), finished=False)] for row in rows]

    found = generate(Echo(), torch.tensor([[5, 6], [7, 8]]), search=Search(strategy="greedy"))
    assert [row[0].tokens for row in found] == [(5, 6), (7, 8)]

"""Mechanisms on whole matrices that read under a mask."""

from __future__ import annotations

import torch

from regard import Mask, ops
from regard.ops import Attended
from tests.cases.case import Case, Inputs, Sizes, normal

VOCABULARY = 4  # fewer words than keys, so that words repeat


def _structured(sizes: Sizes) -> Inputs:
    return {
        "hidden": normal(sizes.batch, sizes.keys, sizes.width),
        "inner": normal(sizes.value, sizes.width),
        "outer": normal(sizes.queries, sizes.value),
    }


def _pointing(sizes: Sizes) -> Inputs:
    return {
        "query": normal(sizes.batch, sizes.queries, sizes.width),
        "key": normal(sizes.batch, sizes.keys, sizes.width),
        "sentinel": normal(sizes.width),
        "vocab_log_probs": normal(sizes.batch, sizes.queries, VOCABULARY).log_softmax(-1),
    }


def _point(inputs: Inputs, mask: Mask | None, impl: str | None) -> Attended:
    batch, keys, _ = inputs["key"].shape
    ids = (torch.arange(keys) % VOCABULARY).expand(batch, keys)
    return ops.pointer_sentinel(**inputs, ids=ids, mask=mask).attended


CASES = [
    Case(
        "structured",
        _structured,
        lambda i, mask, impl: ops.structured_attention(**i, mask=mask),
        ("reference",),
        key_axis={"hidden": 1},
        heads=False,
    ),
    Case("pointer_sentinel", _pointing, _point, ("reference",), key_axis={"key": 1}, heads=False),
]

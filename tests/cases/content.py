"""Scores that compare contents."""

from __future__ import annotations

from regard import Mask, ops
from regard.ops import Attended
from tests.cases.case import Case, Inputs, Sizes, normal, reading


def _additive(sizes: Sizes) -> Inputs:
    return {**reading(sizes), "weight": normal(sizes.heads, sizes.width)}


def _additive_with_features(sizes: Sizes) -> Inputs:
    features = normal(sizes.batch, sizes.heads, sizes.queries, sizes.keys, 3)
    return {**_additive(sizes), "features": features, "feature_weight": normal(sizes.heads, sizes.width, 3)}


def _read_additive(inputs: Inputs, mask: Mask | None, impl: str | None) -> Attended:
    return ops.additive_attention(**inputs, mask=mask, impl=impl)


def _bilinear(sizes: Sizes) -> Inputs:
    return {**reading(sizes), "weight": normal(sizes.heads, sizes.width, sizes.width)}


def _cosine(sizes: Sizes) -> Inputs:
    return {**reading(sizes), "strength": 1.0 + normal(sizes.batch, sizes.heads, sizes.queries).abs()}


def _softmax(sizes: Sizes) -> Inputs:
    energy = normal(sizes.batch, sizes.heads, sizes.queries, sizes.keys)
    return {"energy": energy, "value": reading(sizes)["value"]}


CASES = [
    Case(
        "softmax",
        _softmax,
        lambda i, mask, impl: ops.softmax_attention(**i, mask=mask),
        ("reference",),
        key_axis={"energy": 3, "value": 2},
    ),
    Case("additive", _additive, _read_additive, ("reference", "blocked")),
    Case(
        "additive",
        _additive_with_features,
        _read_additive,
        ("reference", "blocked"),
        key_axis={"key": 2, "value": 2, "features": 3},
    ),
    Case("dot", reading, lambda i, mask, impl: ops.dot_attention(**i, mask=mask, impl=impl), ("reference", "sdpa")),
    Case(
        "scaled_dot",
        reading,
        lambda i, mask, impl: ops.scaled_dot_attention(**i, mask=mask, impl=impl),
        ("reference", "sdpa"),
    ),
    Case(
        "bilinear",
        _bilinear,
        lambda i, mask, impl: ops.bilinear_attention(**i, mask=mask, impl=impl),
        ("reference", "sdpa"),
        fused_roundings=2,
    ),
    Case(
        "cosine",
        _cosine,
        lambda i, mask, impl: ops.cosine_attention(**i, mask=mask, impl=impl),
        ("reference", "sdpa"),
    ),
]

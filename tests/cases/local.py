"""Scores of pairs and of places, windows, and hard attention."""

from __future__ import annotations

import torch
from torch import Tensor

from regard import Mask, ops
from regard.ops import Attended
from regard.ops.softmax import weigh_values
from tests.cases.case import Case, Inputs, Sizes, normal, reading

ENERGY_AXIS = {"energy": 3, "value": 2}


def _concat(sizes: Sizes) -> Inputs:
    weights = {"weight": normal(sizes.heads, 4, 2 * sizes.width), "v": normal(sizes.heads, 4)}
    return {**reading(sizes), **weights}


def _location(sizes: Sizes) -> Inputs:
    """Places for 8 keys: the property tests have memories on both sides of that."""
    inputs = reading(sizes)
    return {"query": inputs["query"], "value": inputs["value"], "weight": normal(sizes.heads, 8, sizes.width)}


def _aligning(sizes: Sizes) -> Inputs:
    batch, heads, queries, keys, _, _ = sizes
    return {"energy": normal(batch, heads, queries, keys), "value": reading(sizes)["value"]}


def _local_p(sizes: Sizes) -> Inputs:
    position = sizes.keys * torch.sigmoid(normal(sizes.batch, sizes.heads, sizes.queries))
    return {**_aligning(sizes), "position": position}


def _read(weights: Tensor, value: Tensor) -> Attended:
    return Attended.from_weights(weigh_values(weights, value), weights)


def _read_local_m(inputs: Inputs, mask: Mask | None, impl: str | None) -> Attended:
    return _read(ops.local_m_weights(inputs["energy"], mask, window=2), inputs["value"])


def _read_local_p(inputs: Inputs, mask: Mask | None, impl: str | None) -> Attended:
    return _read(ops.local_p_weights(inputs["energy"], inputs["position"], mask, window=2), inputs["value"])


def _read_expectation(inputs: Inputs, mask: Mask | None, impl: str | None) -> Attended:
    every = torch.ones(inputs["energy"].shape[0], dtype=torch.bool)
    return _read(ops.hard_weights(inputs["energy"], mask, expectation=every)[0], inputs["value"])


def _read_greedy(inputs: Inputs, mask: Mask | None, impl: str | None) -> Attended:
    return _read(ops.hard_weights(inputs["energy"], mask, greedy=True)[0], inputs["value"])


CASES = [
    Case(
        "concat",
        _concat,
        lambda i, mask, impl: ops.concat_attention(**i, mask=mask, impl=impl),
        ("reference", "projected", "blocked"),
    ),
    Case(
        "location",
        _location,
        lambda i, mask, impl: ops.location_attention(**i, mask=mask),
        ("reference",),
        key_axis={"value": 2},
    ),
    Case("local_m", _aligning, _read_local_m, ("reference",), key_axis=ENERGY_AXIS),
    Case("local_p", _local_p, _read_local_p, ("reference",), key_axis=ENERGY_AXIS),
    Case("hard", _aligning, _read_expectation, ("reference",), key_axis=ENERGY_AXIS),
    Case("hard", _aligning, _read_greedy, ("reference",), key_axis=ENERGY_AXIS),
]

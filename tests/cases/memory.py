"""Memory networks, Turing machines, recurrent units that read their own past."""

from __future__ import annotations

from torch.nn import functional as F

from regard import Mask, ops
from regard.ops import Attended
from regard.ops.softmax import statistics_dtype, weigh_values
from tests.cases.case import Case, Inputs, Sizes, normal, reading


def _addressing(sizes: Sizes) -> Inputs:
    batch, heads, queries, keys, _, _ = sizes
    knobs = {"gate": normal(batch, heads, queries), "gamma": normal(batch, heads, queries)}
    shift, previous = normal(batch, heads, queries, 3), normal(batch, heads, queries, keys)
    return {**reading(sizes), **knobs, "shift": shift, "previous": previous}


def _read_addressing(inputs: Inputs, mask: Mask | None, impl: str | None) -> Attended:
    """Content by cosine; the previous weighting is a softmax too. Knobs are turned in the dtype of the statistics."""
    statistics = statistics_dtype(inputs["gate"].dtype)
    gate, shift, gamma = (inputs[name].to(statistics) for name in ("gate", "shift", "gamma"))
    weights = ops.ntm_address(
        ops.masked_softmax(ops.cosine_score(inputs["query"], inputs["key"]), mask),
        ops.masked_softmax(inputs["previous"], mask),
        gate.sigmoid(),
        shift.softmax(-1),
        1 + F.softplus(gamma),
        mask,
    )
    return Attended.from_weights(weigh_values(weights, inputs["value"]), weights)


def _positive(sizes: Sizes) -> Inputs:
    """Queries and keys without negative entries, so that raw weights have a positive sum."""
    inputs = reading(sizes)
    return {**inputs, "query": inputs["query"].abs(), "key": inputs["key"].abs()}


def _read_linear(inputs: Inputs, mask: Mask | None, impl: str | None) -> Attended:
    return ops.memory_hop(inputs["query"], inputs["key"], inputs["value"], mask, linear=True)


def _tapes(sizes: Sizes) -> Inputs:
    inputs = reading(sizes)
    hidden = inputs.pop("value")
    return {**inputs, "hidden": hidden, "memory": hidden.flip(-1) + 1, "weight": normal(sizes.heads, sizes.width)}


CASES = [
    Case(
        "ntm_addressing", _addressing, _read_addressing, ("reference",), key_axis={"key": 2, "value": 2, "previous": 3}
    ),
    Case("linear", _positive, _read_linear, ("reference",)),
    Case("memory_hops", reading, lambda i, mask, impl: ops.memory_hop(**i, mask=mask), ("reference",)),
    Case(
        "intra_attention",
        _tapes,
        lambda i, mask, impl: ops.intra_attention(**i, mask=mask, impl=impl),
        ("reference",),  # others are those of additive attention, whose case has them
        key_axis={"key": 2, "hidden": 2, "memory": 2},
    ),
]

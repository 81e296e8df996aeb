"""The mask in the kernels: pairs of a query and a key that may meet."""

import triton
import triton.language as tl


@triton.jit
def key_count(lengths, batch, keys, LENGTHS: tl.constexpr):
    """Number of leading keys of a sequence that count."""
    if LENGTHS:
        return tl.minimum(tl.load(lengths + batch).to(tl.int32), keys)
    return keys


@triton.jit
def allowed_pairs(t, s, queries, count, first, last, dense, stride_t, stride_s, DENSE: tl.constexpr):
    """[t, s]: a key of the sequence, in (t + first, t + last], and allowed by the dense part of the mask."""
    pairs = (t < queries)[:, None] & (s < count)[None, :]
    ahead = s[None, :] - t[:, None]
    pairs = pairs & (ahead <= last) & (ahead > first)
    if DENSE:
        pairs = pairs & (tl.load(dense + t[:, None] * stride_t + s[None, :] * stride_s, mask=pairs, other=0) != 0)
    return pairs


@triton.jit
def whole(t, s, count, first, last, BLOCK_T: tl.constexpr, BLOCK_S: tl.constexpr):
    """Return whether all keys of a tile with this corner are in reach of all its queries, a dense mask aside."""
    return (s + BLOCK_S <= count) & (s + BLOCK_S - 1 - t <= last) & (s - (t + BLOCK_T - 1) > first)


@triton.jit
def meets(t, s, count, first, last, BLOCK_T: tl.constexpr, BLOCK_S: tl.constexpr):
    """Return whether any key of a tile with this corner may be in reach of any of its queries, a dense mask aside."""
    return (s < count) & (s - (t + BLOCK_T - 1) <= last) & (s + BLOCK_S - 1 - t > first)


@triton.jit
def some(pairs):
    """Return whether any pair may meet."""
    return tl.max(tl.max(pairs.to(tl.int32), axis=1), axis=0) > 0

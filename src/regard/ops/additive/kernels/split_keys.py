"""The keys split between two programs: the first leaves its share of the read, the second merges both."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def leave(read, highest, total, parts, levels, done):
    """Write what was read, for the program that has the other keys, and then say so."""
    part, level = places(read, parts, levels)
    gl.store(part, read)
    gl.store(level, highest)
    gl.store(level + read.shape[0], total)
    gl.thread_barrier()  # all of it is written before it is said to be
    gl.atomic_xchg(done, 1, sem="release")


@gluon.jit
def put_together(read, highest, total, parts, levels, done):
    """Both programs' share, when the other has said that its own is there."""
    part, level = places(read, parts, levels)
    while gl.atomic_add(done, 0, sem="acquire") == 0:
        pass
    theirs = gl.load(level, cache_modifier=".cg")
    top = gl.maximum(highest, theirs)
    floor = gl.where(top == float("-inf"), 0.0, top)
    shrink, fade = gl.exp2(highest - floor), gl.exp2(theirs - floor)
    total = shrink * total + fade * gl.load(level + read.shape[0], cache_modifier=".cg")
    read = shrink[:, None] * read + fade[:, None] * gl.load(part, cache_modifier=".cg")
    gl.atomic_xchg(done, 0, sem="relaxed")
    return read, top, total


@gluon.jit
def places(read, parts, levels):
    """Addresses of a share, in the order of the registers: a warp writes eight rows of eight next to each other."""
    layout: gl.constexpr = read.type.layout
    width: gl.constexpr = read.shape[1]
    row, d = gl.arange(0, read.shape[0], gl.SliceLayout(1, layout)), gl.arange(0, width, gl.SliceLayout(0, layout))
    place = (row // 8 * (8 * width) + row % 8 * 8)[:, None] + (d // 8 * 64 + d % 8)[None, :]
    return parts + place, levels + row

"""Symmetrisation: merges the links of two alignment directions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, get_args

from regard.alignment.links import Link, Links

Symmetrisation = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]

_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrise(forward: Links, backward: Links, method: Symmetrisation = "grow-diag-final-and") -> Links:
    """Merge source-to-target and target-to-source links, both as (source, target).

    | method | links |
    |---|---|
    | `intersection` | links of both directions |
    | `union` | links of either direction |
    | `grow-diag` | the intersection, plus links of the union next to an accepted link (also diagonally), if one of \
    their words is still unlinked |
    | `grow-diag-final` | `grow-diag`, plus any link of either direction with at least one unlinked word |
    | `grow-diag-final-and` | `grow-diag`, plus any link of either direction between two unlinked words |

    Links are visited by target word, then source word, until none is added; the final step processes the forward
    direction first. Koehn, Och & Marcu 2003, section 4; Koehn et al. 2005, section 2.2.

    >>> forward, backward = frozenset({(0, 0), (1, 1), (1, 2)}), frozenset({(0, 0), (1, 1), (2, 2), (3, 4)})
    >>> sorted(symmetrise(forward, backward, "grow-diag"))
    [(0, 0), (1, 1), (1, 2), (2, 2)]
    >>> sorted(symmetrise(forward, backward, "grow-diag-final-and") - symmetrise(forward, backward, "grow-diag"))
    [(3, 4)]
    """
    if method not in _METHODS:
        raise ValueError(f"there is no symmetrisation {method!r}; there are {', '.join(get_args(Symmetrisation))}")
    return _METHODS[method](forward, backward)


def _grown(forward: Links, backward: Links) -> Links:
    """Grow-diag: extend the intersection by neighbouring links of the union."""
    union = forward | backward
    found = set(forward & backward)
    sources, targets = {source for source, _ in found}, {target for _, target in found}
    added = True
    while added:
        added = False
        # Sorted: the result depends on the order of visits, and the order of a set is arbitrary.
        for source, target in sorted(found, key=lambda link: link[::-1]):
            for down, along in _NEIGHBOURS:
                new = (source + along, target + down)
                if new in union and new not in found and (new[0] not in sources or new[1] not in targets):
                    found.add(new)
                    sources.add(new[0])
                    targets.add(new[1])
                    added = True
    return frozenset(found)


def _final(both: bool) -> Callable[[Links, Links], Links]:
    """Return grow-diag with its final step, which requires `both` words of a link to be unlinked, or at least one."""

    def joined(forward: Links, backward: Links) -> Links:
        found = set(_grown(forward, backward))
        sources, targets = {source for source, _ in found}, {target for _, target in found}
        for direction in (forward, backward):
            for source, target in sorted(direction - found, key=lambda link: link[::-1]):
                free: tuple[bool, bool] = (source not in sources, target not in targets)
                if all(free) if both else any(free):
                    found.add((source, target))
                    sources.add(source)
                    targets.add(target)
        return frozenset(found)

    return joined


_METHODS: Mapping[str, Callable[[Links, Links], Links]] = {
    "intersection": lambda forward, backward: forward & backward,
    "union": lambda forward, backward: forward | backward,
    "grow-diag": _grown,
    "grow-diag-final": _final(both=False),
    "grow-diag-final-and": _final(both=True),
}


def transpose_links(links: Links) -> Links:
    """Return links of target to source as links of source to target.

    >>> transpose_links(frozenset({(0, 3)}))
    frozenset({(3, 0)})
    """
    flipped: set[Link] = {(target, source) for source, target in links}
    return frozenset(flipped)

"""Symmetrisation, by hand."""

from __future__ import annotations

import pytest

from regard.alignment.links import Links
from regard.alignment.symmetrise import Symmetrisation, symmetrise, transpose_links

FORWARD: Links = frozenset({(0, 0), (1, 1), (1, 2), (4, 4)})
BACKWARD: Links = frozenset({(0, 0), (1, 1), (2, 2), (3, 4), (6, 6)})
GROWN: Links = frozenset({(0, 0), (1, 1), (1, 2), (2, 2)})
"""1-2 stands beside 1-1 and target 2 is free; then 2-2 beside 1-1, diagonally, for source 2 is free. 3-4, 4-4 and 6-6
are beside no link."""


@pytest.mark.parametrize(
    ("method", "wanted"),
    [
        ("intersection", {(0, 0), (1, 1)}),
        ("union", FORWARD | BACKWARD),
        ("grow-diag", GROWN),
        ("grow-diag-final", GROWN | {(4, 4), (3, 4), (6, 6)}),  # source 3 is free
        ("grow-diag-final-and", GROWN | {(4, 4), (6, 6)}),  # target 4 is not
    ],
)
def test_by_hand(method: Symmetrisation, wanted: Links) -> None:
    assert symmetrise(FORWARD, BACKWARD, method) == wanted


def test_a_link_between_words_that_both_have_links_is_not_grown() -> None:
    forward: Links = frozenset({(0, 0), (1, 1), (0, 1)})
    assert symmetrise(forward, frozenset({(0, 0), (1, 1)}), "grow-diag") == {(0, 0), (1, 1)}


def test_growth_goes_on_from_what_was_grown() -> None:
    chain: Links = frozenset((place, place) for place in range(5))
    assert symmetrise(chain, frozenset({(0, 0)}), "grow-diag") == chain
    assert symmetrise(chain, frozenset({(4, 4)}), "grow-diag") == chain  # backwards too, in several rounds


@pytest.mark.parametrize("method", ["grow-diag", "grow-diag-final", "grow-diag-final-and"])
def test_all_lie_between_intersection_and_union(method: Symmetrisation) -> None:
    joined = symmetrise(FORWARD, BACKWARD, method)
    assert FORWARD & BACKWARD <= joined <= FORWARD | BACKWARD
    assert symmetrise(frozenset(), frozenset(), method) == frozenset()


def test_turned_twice_is_the_same_and_an_unknown_method_is_named() -> None:
    assert transpose_links(transpose_links(FORWARD)) == FORWARD
    with pytest.raises(ValueError, match=r"'grow'.*grow-diag-final-and"):
        symmetrise(FORWARD, BACKWARD, "grow")  # type: ignore[arg-type]

"""A search in CTranslate2's words."""

from __future__ import annotations

from typing import Any

import pytest

from regard.decode import Search
from regard.engines.ctranslate2 import options


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"strategy": "sample"}, 'strategy="sample" draws other samples'),
        ({"coverage": 0.2}, "coverage=0.2 has another formula"),
        ({"beam_size": 4, "groups": 2}, "groups=2 does not exist"),
        ({"min_length": 3}, "min_length=3 changes the probabilities"),
        ({"min_ratio": 0.5}, "min_ratio=0.5 changes the probabilities"),
        ({"beam_size": 1}, 'beam_size=1 is greedy search in the engine ctranslate2; set strategy="greedy"'),
    ],
)
def test_what_cannot_be_done_is_one_sentence(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        options(Search(**settings), 9)


def test_an_exact_search_has_no_early_end() -> None:
    chosen = options(Search(beam_size=3, exact=True), 9)
    assert (chosen["patience"], chosen["num_hypotheses"]) == (9, 27)  # as many as could ever finish


def test_all_that_was_found_is_asked_for() -> None:
    assert options(Search(beam_size=3), 9)["num_hypotheses"] == 6
    assert options(Search(beam_size=3), 1)["num_hypotheses"] == 3  # all that one step can find

"""A search in CTranslate2's words, or why it cannot be done there."""

from __future__ import annotations

from typing import Any

from regard.decode.search import Search

PATIENCE = 2
"""Unless a search is exact, CTranslate2 ends a row when so many times `beam_size` hypotheses have finished."""


def options(search: Search, longest: int) -> dict[str, Any]:
    """The arguments of `translate_batch` that stand for a search up to `longest` tokens.

    Both searches keep the same hypotheses open and count EOS among the tokens. CTranslate2 is asked for all that it
    found, to be ranked by our own formula, so its own length penalty is 1 throughout: the mean of a token. An exact
    search is one that ends at the greatest length.

    Raises:
        ValueError: what CTranslate2 does not have, or has with another meaning.

    >>> options(Search(beam_size=5), 80)["num_hypotheses"]
    10
    >>> options(Search(strategy="sample"), 80)
    Traceback (most recent call last):
    ValueError: strategy="sample" draws other samples in the engine ctranslate2; leave the engine out
    """
    _check(search)
    chosen: dict[str, Any] = {
        "beam_size": 1,
        "max_decoding_length": longest,
        "min_decoding_length": 0,
        "suppress_sequences": [[str(number)] for number in search.forbid],
        "length_penalty": 1,
        "max_input_length": 0,
        "return_end_token": True,
        "return_scores": True,
        "return_attention": True,
    }
    if search.strategy == "beam":
        patience = longest if search.exact else min(PATIENCE, longest)
        chosen |= {"beam_size": search.beam_size, "patience": patience, "num_hypotheses": search.beam_size * patience}
    return chosen


def _check(search: Search) -> None:
    refused = {
        'strategy="sample" draws other samples': search.strategy == "sample",
        f"coverage={search.coverage} has another formula": search.coverage > 0,
        f"groups={search.groups} does not exist": search.groups > 1,
        f"min_length={search.min_length} changes the probabilities of what is allowed": search.min_length > 1,
        f"min_ratio={search.min_ratio} changes the probabilities of what is allowed": search.min_ratio is not None,
    }
    for what, asked in refused.items():
        if asked:
            raise ValueError(f"{what} in the engine ctranslate2; leave the engine out")
    if search.strategy == "beam" and search.beam_size == 1:
        raise ValueError('beam_size=1 is greedy search in the engine ctranslate2; set strategy="greedy"')

"""Names of runs."""

from __future__ import annotations

import re

from regard.compare.comparison import short_keys, slugs


def test_a_key_is_as_short_as_it_can_be() -> None:
    assert short_keys(["train.seed", "model.hidden_dim"]) == ["seed", "hidden_dim"]
    assert short_keys(["model.dim", "dim"]) == ["model.dim", "dim"]


def test_names_are_safe_different_and_do_not_depend_on_the_other_values() -> None:
    values = ["a/b", "a b", "../x", "A", "a", "*", "x" * 300, "x" * 300 + "y", "-1", "1", "Ä"]
    names = slugs(["k"], [(value,) for value in values])
    assert len({name.lower() for name in names}) == len(names)
    assert all(re.fullmatch(r"\w[\w.-]{0,110}", name) for name in names)
    alone = slugs(["k"], [("1",), ("2",)])
    assert alone == ["k-1", "k-2"]
    assert slugs(["k"], [("0",), ("2",), ("1",)]) == ["k-0", "k-2", "k-1"]

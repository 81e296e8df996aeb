"""F1 of sets of labels: by hand, and against counting decisions one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.evaluate import label_set_f1, label_set_f1_per_label, label_set_f1_tally, metric

NAMES = "abcd"
sets = st.lists(st.tuples(st.sets(st.sampled_from(NAMES)), st.sets(st.sampled_from(NAMES))), min_size=1, max_size=8)


@given(sets)
def test_counts_are_those_of_the_definition(pairs: list[tuple[set[str], set[str]]]) -> None:
    claims, truths = ([";".join(sorted(one)) for one in side] for side in zip(*pairs, strict=True))
    found = {name: sum(name in a and name in b for a, b in pairs) for name in NAMES}
    claimed = {name: sum(name in a for a, _ in pairs) for name in NAMES}
    true = {name: sum(name in b for _, b in pairs) for name in NAMES}
    seen = [name for name in NAMES if claimed[name] or true[name]]
    each = {name: 2 * found[name] / (claimed[name] + true[name]) for name in seen}
    total, right = sum(claimed.values()) + sum(true.values()), sum(found.values())
    wanted = {
        "micro": 2 * right / total if total else 0,
        "macro": sum(each.values()) / len(seen) if seen else 0,
        "weighted": sum(each[name] * true[name] for name in seen) / sum(true.values()) if sum(true.values()) else 0,
    }
    for average, value in wanted.items():
        assert label_set_f1(claims, truths, average=average, separator=";").value == pytest.approx(value)
    per = label_set_f1_per_label(claims, truths, separator=";")
    assert {name: (one.f1, one.support) for name, one in per.items()} == {
        name: (pytest.approx(each[name]), true[name]) for name in seen
    }


def test_order_and_spaces_do_not_count() -> None:
    assert label_set_f1(["b, a", "c d"], ["a,b", "c d"]).value == 1
    assert label_set_f1(["", ""], ["a", ""]).value == 0


def test_a_text_is_drawn_with_all_of_its_labels() -> None:
    tally = label_set_f1_tally(["a,b", "c"], ["a,b", "d"])
    assert tally.resampled(np.array([0, 0])) == 1
    assert tally.resampled(np.array([1])) == 0


def test_recipes_name_them_by_their_average() -> None:
    assert metric("macro_f1", separator="|")(["a|b"], ["a"]).value == 0.5
    assert str(metric("micro_f1")(["a,b"], ["a"])) == "micro F1 0.6667 (unit:label|average:micro|sets:yes)"
    with pytest.raises(ValueError, match="average"):
        metric("micro_f1", average="macro")
    with pytest.raises(ValueError, match="'mean'"):
        label_set_f1(["a"], ["a"], average="mean")

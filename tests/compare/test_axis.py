"""What is varied, and what is wrong with it."""

from __future__ import annotations

import pytest

from regard.compare.axis import Axis, axes
from regard.recipes.errors import RecipeError


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("additive,dot", ("additive", "dot")),
        ("1e-3, 2e-3", ("1e-3", "2e-3")),
        ("[1, 2],[3]", ("[1, 2]", "[3]")),
        ("{score: dot, align: local_p},dot", ("{score: dot, align: local_p}", "dot")),
        ("'a,b',\"c,d\"", ("'a,b'", '"c,d"')),
        ("null,0", ("null", "0")),
    ],
)
def test_commas_outside_of_brackets_and_quotes_separate(text: str, values: tuple[str, ...]) -> None:
    assert axes([f"a.b={text}"]) == ([Axis("a.b", values)], [])


@pytest.mark.parametrize("text", ["additive", "[a, b]", "{a: 1, b: 2}", "'a, b'", "", "a,,b", "[a, b", "/data/[x]"])
def test_one_value_stays_as_it_was_written(text: str) -> None:
    assert axes(["x=1,2", f"a.b={text}"]) == ([Axis("x", ("1", "2"))], [f"a.b={text}"])


@pytest.mark.parametrize(
    ("assignments", "sentence"),
    [
        (["a=1"], "there is nothing to compare; give a key several values: train.seed=1,2,3"),
        (["a=1,2", "a=3"], "'a' is given twice; separate its values by commas: a=ONE,OTHER"),
        (["a=1e-3,0.001"], "a has the value 0.001 twice; leave one of them out"),
        (["a=1,2", "run=b"], "'run=b': a comparison names its runs; give it a name with --name NAME"),
    ],
)
def test_what_is_wrong_is_one_sentence(assignments: list[str], sentence: str) -> None:
    with pytest.raises(RecipeError) as problem:
        axes(assignments)
    assert str(problem.value) == sentence


def test_values_that_only_look_alike_are_two() -> None:
    assert axes(["a=1,'1',true"])[0] == [Axis("a", ("1", "'1'", "true"))]

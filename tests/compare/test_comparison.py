"""All recipes are checked before one is trained."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.compare.comparison import compare
from regard.recipes.errors import RecipeError
from regard.runs.folder import RunError
from tests.compare.made_up import comparison


def test_several_keys_give_every_combination_in_the_order_given() -> None:
    made = comparison("model.hidden_dim=32,64", "train.seed=1,2", "train.steps=7")
    assert [trial.label for trial in made.trials] == [
        "hidden_dim=32, seed=1",
        "hidden_dim=32, seed=2",
        "hidden_dim=64, seed=1",
        "hidden_dim=64, seed=2",
    ]
    assert [(trial.recipe.model.arguments()["hidden_dim"], trial.recipe.train.seed) for trial in made.trials] == [
        (32, 1),
        (32, 2),
        (64, 1),
        (64, 2),
    ]
    assert {trial.recipe.train.steps for trial in made.trials} == {7}
    assert made.heads == {"model.hidden_dim": "hidden_dim"}
    assert made.command == (
        "regard compare dates model.hidden_dim=32,64 train.seed=1,2 train.steps=7 "
        "--runs runs --name dates-compare-hidden_dim-seed"
    )


def test_seeds_and_folds_share_a_row() -> None:
    given = ["data.fold=0,1,2", "model.dropout=0.1,0.2", "train.seed=1,2"]
    made = compare("movie_reviews", given, Path("runs"))
    assert made.heads == {"model.dropout": "dropout"}
    assert len(made.trials) == 12
    assert {trial.group for trial in made.trials} == {(("model.dropout", "0.1"),), (("model.dropout", "0.2"),)}


@pytest.mark.parametrize(
    ("assignments", "sentence"),
    [
        (["train.steps=5,0"], "with steps=0: the command line: train.steps is 0: "),
        (["train.stepz=5,6"], "with stepz=5: the command line: there is no key 'train.stepz'; did you mean steps?"),
        (["train.seed=1,2", "train.stepz=5"], "the command line: there is no key 'train.stepz'; did you mean steps?"),
    ],
)
def test_a_wrong_value_is_named(assignments: list[str], sentence: str) -> None:
    with pytest.raises(RecipeError) as problem:
        comparison(*assignments)
    assert str(problem.value).startswith(sentence)


@pytest.mark.parametrize("name", ["a/b", "..", ".hidden", "a b"])
def test_a_name_is_a_folder(name: str) -> None:
    with pytest.raises(RecipeError, match="is not valid for a folder; use letters"):
        compare("dates", ["train.seed=1,2"], Path("runs"), name)


def test_a_folder_with_another_recipe_is_refused_before_training(tmp_path: Path) -> None:
    comparison("train.seed=1,2", runs=tmp_path).begin()
    comparison("train.seed=1,2", "train.steps=9", runs=tmp_path).begin()  # how long a run goes may change
    for trial in comparison("train.seed=1,2", runs=tmp_path).trials:
        (trial.folder / "model.safetensors").touch()  # as if it were trained
    with pytest.raises(RunError) as problem:
        comparison("train.seed=1,2", "train.clip=2", runs=tmp_path).begin()
    assert str(problem.value) == (
        f"{tmp_path / 'dates-compare-seed/seed-1'} holds a run of another recipe (different: train.clip); "
        "give this comparison another name with --name NAME"
    )

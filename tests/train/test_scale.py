"""Embeddings begin with a size that suits the tokenizer, unless the recipe says one."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from regard.data import Labels, Tokenizer
from regard.models.embeddings import WordEmbeddings
from regard.recipes.library import shipped
from regard.recipes.load import check
from regard.recipes.sections import Recipe
from regard.recipes.yaml_document import RecipeDocument
from regard.specials import BOS
from regard.systems.classification.task import Classification
from regard.systems.language_model.task import LanguageModelling
from regard.systems.translation.task import Translation
from regard.tasks.build import make_model
from regard.tasks.task import Task

CHARACTERS = Tokenizer.train(["abcdefgh"], kind="characters")
WORDS = Tokenizer.train(["a b c d e f g h"], kind="words")


def recipe(task: str, model: str) -> Recipe:
    data = {"translate": "{format: digits, task: copy}", "language_model": "{format: tales}"}.get(
        task, "{format: opinions}"
    )
    text = f"task: {task}\ndata: {data}\nmodel: {model}\ntrain: {{steps: 1}}"
    return check(RecipeDocument.parse(text, "mine.yaml")).recipe


def tasks(kind: str, tokenizer: Tokenizer) -> Task:
    made: dict[str, Any] = {
        "translate": lambda: Translation({"source": tokenizer, "target": WORDS}),
        "language_model": lambda: LanguageModelling({"text": tokenizer}, BOS),
        "classify": lambda: Classification({"text": tokenizer, "label": Labels(("a", "b"))}),
    }
    found: Task = made[kind]()
    return found


def largest(task: str, model: str, tokenizer: Tokenizer) -> list[float]:
    """The largest entry of each embedding, to one digit."""
    torch.manual_seed(1)
    made = make_model(recipe(task, model), tasks(task, tokenizer))
    return [
        round(float(part.table.weight.detach().abs().max()), 1)
        for part in made.modules()
        if isinstance(part, WordEmbeddings)
    ]


MODELS = [
    ("translate", "{kind: bahdanau}", 2),
    ("translate", "{kind: luong, embedding_dim: 64}", 2),
    ("translate", "{kind: bidirectional, model: {kind: bahdanau}}", 4),
    ("translate", "{kind: bidirectional}", 4),
    ("language_model", "{kind: language_model}", 1),
    ("language_model", "{kind: pointer_lm}", 1),
    ("language_model", "{kind: lstmn_lm}", 1),
    ("classify", "{kind: acceptor}", 1),
    ("classify", "{kind: acceptor, encoder: {hidden_dim: 8}}", 1),
    ("classify", "{kind: acceptor, encoder: {kind: lstmn}}", 1),
]


@pytest.mark.parametrize(("task", "model", "count"), MODELS)
def test_characters_begin_with_vectors_of_a_size(task: str, model: str, count: int) -> None:
    assert largest(task, model, WORDS) == [0.1] * count
    assert largest(task, model, CHARACTERS) == [1.0] * count


@pytest.mark.parametrize(
    ("task", "model"),
    [
        ("translate", "{kind: bahdanau, scale: 0.5}"),
        ("language_model", "{kind: pointer_lm, scale: 0.5}"),
        ("classify", "{kind: acceptor, encoder: {scale: 0.5}}"),
    ],
)
def test_the_scale_of_a_recipe_is_kept(task: str, model: str) -> None:
    assert set(largest(task, model, CHARACTERS)) == set(largest(task, model, WORDS)) == {0.5}


def test_models_without_a_scale_are_as_they_were() -> None:
    for name in shipped():
        section = load_section(name)
        parts = (section, getattr(section, "encoder", None) or section)
        if not any("scale" in type(part).model_fields for part in parts):
            assert section.arguments(scale=1.0) == section.arguments()


def test_shipped_recipes_of_characters_say_what_they_were_measured_with() -> None:
    for name, expected in (("dates", 0.1), ("cmudict_lstm", 1.0)):
        assert load_section(name).arguments(scale=7.0)["scale"] == expected


def load_section(name: str) -> Any:
    return check(RecipeDocument.read(shipped()[name])).recipe.model

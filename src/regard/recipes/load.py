"""From a name or a file to a checked recipe."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import NamedTuple, get_args

from pydantic import ValidationError

from regard.data.problems import shortened
from regard.nearest import nearest
from regard.recipes.attention_section import Align, Score
from regard.recipes.checks import (
    suited_data,
    suited_evaluation,
    suited_places,
    suited_search,
    suited_tokenizer,
    suited_training,
)
from regard.recipes.data_sections import DataSection, PairsData
from regard.recipes.errors import RecipeError
from regard.recipes.files import find_files, find_run
from regard.recipes.library import find_recipe
from regard.recipes.messages import guilty, sentence_of
from regard.recipes.model_sections import KINDS
from regard.recipes.plugin_sections import tags
from regard.recipes.plugins import belongs, plugins_of
from regard.recipes.renamed import renamed
from regard.recipes.sections import Recipe
from regard.recipes.yaml_document import Document
from regard.registry import Kind, registered

_SMALL = 2**23
"""Bytes of a file whose lines are counted in a tenth of a second."""


class Loaded(NamedTuple):
    """A recipe, the document it came from, and what its author should know of it."""

    recipe: Recipe
    document: Document
    notes: tuple[str, ...] = ()


def load(name: str, overrides: list[str] | None = None, *, model: bool = True) -> Loaded:
    """Read and check a recipe that is to be trained: the files it learns from must be there.

    Args:
        name: one that ships (`dates`), or a path to a YAML file.
        overrides: assignments such as `train.steps=500`.
        model: see `check`.

    Raises:
        RecipeError: what is wrong, where it stands, and what would be right.

    >>> load("dates", ["train.steps=7"]).recipe.train.steps
    7
    """
    return check(Document.read(find_recipe(name)).overridden(overrides or []), files=True, model=model)


def check(document: Document, *, files: bool = False, model: bool = True) -> Loaded:
    """Check a document against the schema; the first thing that is wrong is the error.

    The model is made last, which needs PyTorch, whose import takes longer than everything else here; what can be wrong
    with it is, but for mistakes of ours, found before.

    Args:
        document: what was written.
        files: whether the files of the data must be there; a run that was trained may have outlived them.
        model: whether the model is outlined; `check_model` does that later where PyTorch is not to be imported yet.
    """
    document, notes = renamed(_one_length(document))
    with plugins_of(document):
        _check_names(document)
        return _checked(document, notes, files=files, model=model)


def _checked(document: Document, notes: tuple[str, ...], *, files: bool, model: bool) -> Loaded:
    _suited_kind(document)
    try:
        recipe = Recipe.model_validate(document.content)
    except ValidationError as problem:
        raise RecipeError(sentence_of(problem, document)) from None
    _attempt("data", suited_data, recipe, document)
    _attempt("tokenizer", suited_tokenizer, recipe, document)
    _attempt("model", suited_places, recipe, document)
    _attempt("train", suited_training, recipe, document)
    _attempt("decode", suited_search, recipe, document)
    if files:
        find_run(recipe.init, document)
        find_files(recipe.data, document)
        find_files(recipe.decode, document, section="decode")
        _attempt("data", _check_pairs, recipe, document)
        find_files(recipe.tokenizer, document, section="tokenizer")
        _attempt("train", _find_trackers, recipe, document)
    _attempt("evaluate", suited_evaluation, recipe, document)
    loaded = Loaded(recipe, document, notes)
    if model:
        check_model(loaded)
    return loaded


def check_model(loaded: Loaded) -> None:
    """Check that the model of a recipe can be made."""
    _attempt("model", _make_model, loaded.recipe, loaded.document)


def _check_pairs(recipe: Recipe) -> None:
    """Pairs of small files have as many lines; large ones take their time, and are looked at when they are read."""
    from regard.data.pairs import Pairs

    if not isinstance(recipe.data, PairsData):
        return
    for source, target in recipe.data.pair_paths():
        if max(source.stat().st_size, target.stat().st_size) <= _SMALL:
            Pairs(source, target, **recipe.data.reading()).check()


def _check_names(document: Document) -> None:
    """No plug-in takes the name of something that is there already."""
    if not document.content.get("plugins"):
        return
    from regard.evaluate.metrics import METRICS

    ours = {"score": tags(Score), "aligner": tags(Align), "reader": tags(DataSection), "metric": set(METRICS)}
    for kind in get_args(Kind):
        for name, one in registered(kind).items():
            if name in ours[kind] and belongs(one.module):
                place = document.place(("plugins",))
                raise RecipeError(f"{place}: plugins: {one.module} registers a {kind} {name!r}, which is there already")


def _find_trackers(recipe: Recipe) -> None:
    """The packages of trackers are installed; they are not imported."""
    for name in recipe.train.trackers:
        if find_spec(name) is None:
            raise ValueError(
                f"trackers names '{name}', but the package {name} is not installed; "
                f"pip install 'regard[{name}]', or leave it out"
            )


def _one_length(document: Document) -> Document:
    """`train.minutes` on the command line takes the place of `train.steps` in a file, and the other way round."""
    train = document.content.get("train")
    given = [key for key in ("steps", "minutes") if isinstance(train, dict) and train.get(key) is not None]
    assigned = [key for key in given if ("train", key) in document.assigned]
    if len(given) == 2 and len(assigned) == 1:
        (other,) = set(given) - set(assigned)
        return document.without(("train", other))
    return document


def _suited_kind(document: Document) -> None:
    """The model is one that the task is learned by; this comes first, since all its other keys depend on it."""
    task, model = document.content.get("task", "translate"), document.content.get("model")
    kinds = KINDS.get(str(task), ())
    if kinds and isinstance(model, dict) and (kind := model.get("kind")) not in kinds:
        near = nearest(str(kind), kinds)
        hint = f"did you mean {near}? " if near else ""
        place = document.place(("model", "kind"))
        given, known = shortened(repr(kind), 200), ", ".join(kinds)
        raise RecipeError(f"{place}: model.kind is {given}: {hint}of the task {task} it can be {known}")


def _attempt(section: str, make: Callable[[Recipe], None], recipe: Recipe, document: Document) -> None:
    """Make what a section describes; what is wrong with it is said with its line."""
    try:
        make(recipe)
    except (ValueError, TypeError, RuntimeError, OverflowError) as problem:
        sentence = str(problem).partition("\n")[0].removeprefix(f"{section}: ")
        place = document.place(guilty((section,), sentence, document))
        raise RecipeError(f"{place}: {section}: {shortened(sentence, 600)}") from None


def _make_model(recipe: Recipe) -> None:
    """Make the model once with a few words and no memory: what no rule of the sections knows shows here."""
    from regard.models.build import build
    from regard.models.shapes_only import shapes_only

    says_what_it_reads = recipe.task in ("language_model", "masked_language_model", "spans")
    with shapes_only():
        build(recipe.model.kind, 8, None if says_what_it_reads else 8, **recipe.model.arguments())

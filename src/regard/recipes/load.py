"""Loading and checking of recipes."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import NamedTuple, get_args

from pydantic import ValidationError

from regard.data.problems import shortened
from regard.nearest import nearest
from regard.parts import PARTS, imported
from regard.recipes.checks import check_data, check_decoding, check_evaluation, check_places, check_tokenizer
from regard.recipes.checks import check_training as check_shared_training
from regard.recipes.data_sections import PairsData
from regard.recipes.errors import RecipeError
from regard.recipes.files import find_files, find_run
from regard.recipes.library import find_recipe
from regard.recipes.messages import key_of_message, sentence_of
from regard.recipes.plugins import is_in_scope, plugins_of
from regard.recipes.renamed_keys import current_name
from regard.recipes.schema import recipe_class
from regard.recipes.sections import Recipe
from regard.recipes.shared_keys import check_shared_keys, without_foreign
from regard.recipes.system import Check, System, default_task, systems
from regard.recipes.yaml_document import RecipeDocument
from regard.registry import RegisteredKind, registered

_CHECKS: dict[str, tuple[Callable[[Recipe], None], ...]] = {
    "data": (check_data,),
    "tokenizer": (check_tokenizer,),
    "model": (check_places,),
    "train": (check_shared_training,),
    "decode": (check_decoding,),
}
"""Cross-checks per section, in this order; each is followed by the system's check of that section."""


class LoadedRecipe(NamedTuple):
    """A checked recipe, its document, and notes for its author."""

    recipe: Recipe
    document: RecipeDocument
    notes: tuple[str, ...] = ()


def load(name: str, overrides: list[str] | None = None, *, model: bool = True) -> LoadedRecipe:
    """Load and check a recipe for training; its data files must exist.

    Args:
        name: name of a shipped recipe (`dates`), or path of a YAML file.
        overrides: assignments such as `train.steps=500`.
        model: see `check`.

    Raises:
        RecipeError: the recipe is invalid; the message has the line, the key and a correction.

    >>> load("dates", ["train.steps=7"]).recipe.train.steps
    7
    """
    return check(RecipeDocument.read(find_recipe(name)).overridden(overrides or []), files=True, model=model)


def check(document: RecipeDocument, *, files: bool = False, model: bool = True) -> LoadedRecipe:
    """Check a document against the schema; the first violation is raised.

    The model is built last, because the import of PyTorch takes longer than all other checks. These should already have
    found every error, so that building the model is only a safeguard.

    Args:
        document: parsed YAML document.
        files: True if the data files must exist; those of a trained run may have been removed.
        model: True to build the model, which imports PyTorch; `check_model` does this later.
    """
    document, notes = current_name(_one_length(document))
    with plugins_of(document):
        _check_names(document)
        return _checked(document, notes, files=files, model=model)


def _checked(document: RecipeDocument, notes: tuple[str, ...], *, files: bool, model: bool) -> LoadedRecipe:
    system = _system(document)
    document = without_foreign(_with_defaults(document, system), system)
    _check_kind(document, system)
    schema = recipe_class(system)
    try:
        recipe = schema.model_validate(document.content)
    except ValidationError as problem:
        raise RecipeError(sentence_of(problem, document, schema)) from None
    check_shared_keys(recipe, document)
    for section, checks in _CHECKS.items():
        for check in (*checks, *_own_checks(system, section)):
            _attempt(section, check, recipe, document)
    # Cheap checks of values come first, and existence checks of files only when none of them failed.
    if files:
        find_run(recipe.init, document)
        find_files(recipe.data, document)
        find_files(recipe.decode, document, section="decode")
        find_files(recipe.train, document, section="train")
        _attempt("data", _check_pairs, recipe, document)
        find_files(recipe.tokenizer, document, section="tokenizer")
        _attempt("train", _find_trackers, recipe, document)
    for check in (check_evaluation, *_own_checks(system, "evaluate")):
        _attempt("evaluate", check, recipe, document)
    loaded = LoadedRecipe(recipe, document, notes)
    if model:
        check_model(loaded)
    return loaded


def _own_checks(system: System, section: str) -> tuple[Check, ...]:
    """Return the system's own check of a section, if any."""
    own = system.checks.get(section)
    return () if own is None else (own,)


def check_model(loaded: LoadedRecipe) -> None:
    """Check that the model of a recipe can be built."""
    _attempt("model", _make_model, loaded.recipe, loaded.document)


def _system(document: RecipeDocument) -> System:
    """Return the system of the task in a document."""
    found, task = systems(), document.content.get("task", default_task())
    if isinstance(task, str) and task in found:
        return found[task]
    near = nearest(task, found) if isinstance(task, str) else None
    hint = f"did you mean {near}? " if near else ""
    given, place = shortened(repr(task), 200), document.place(("task",))
    raise RecipeError(f"{place}: task is {given}: {hint}it can be {', '.join(found)}")


def _with_defaults(document: RecipeDocument, system: System) -> RecipeDocument:
    """Return a document with the system's defaults of the section `tokenizer`."""
    given = document.content.get("tokenizer", {})
    if not system.tokenizer or not isinstance(given, dict):
        return document
    kind = given.get("kind", system.tokenizer.get("kind"))
    own = system.tokenizer if kind == system.tokenizer.get("kind") else {}
    present = {key: value for key, value in given.items() if value is not None}
    return document.with_section("tokenizer", {**own, **present})


def _check_pairs(recipe: Recipe) -> None:
    if isinstance(recipe.data, PairsData):
        recipe.data.check_files()


def _check_names(document: RecipeDocument) -> None:
    """Check that no plug-in reuses an existing name."""
    if not document.content.get("plugins"):
        return
    from regard.evaluate.metrics import METRICS

    formats = {name for system in systems().values() for name in system.formats}
    ours = {"score": PARTS["score"], "aligner": PARTS["aligner"], "reader": formats, "metric": METRICS}
    for kind in get_args(RegisteredKind):
        for name, one in registered(kind).items():
            if name in ours[kind] and is_in_scope(one.module):
                place = document.place(("plugins",))
                raise RecipeError(f"{place}: plugins: {one.module} registers a {kind} {name!r}, which is there already")


def _find_trackers(recipe: Recipe) -> None:
    """Check that the packages of the trackers are installed, without importing them."""
    for name in recipe.train.trackers:
        if find_spec(name) is None:
            raise ValueError(
                f"trackers names '{name}', but the package {name} is not installed; "
                f"pip install 'regard[{name}]', or leave it out"
            )


def _one_length(document: RecipeDocument) -> RecipeDocument:
    """Let `train.minutes` on the command line override `train.steps` in a file, and vice versa."""
    train = document.content.get("train")
    given = [key for key in ("steps", "minutes") if isinstance(train, dict) and train.get(key) is not None]
    assigned = [key for key in given if ("train", key) in document.assigned]
    if len(given) == 2 and len(assigned) == 1:
        (other,) = set(given) - set(assigned)
        return document.without(("train", other))
    return document


def _check_kind(document: RecipeDocument, system: System) -> None:
    """Check first that the task has this kind of model, because all other keys of the model depend on it."""
    model, kinds = document.content.get("model"), system.models
    if isinstance(model, dict) and (kind := model.get("kind")) not in kinds:
        near = nearest(str(kind), kinds)
        hint = f"did you mean {near}? " if near else ""
        place = document.place(("model", "kind"))
        given, known = shortened(repr(kind), 200), ", ".join(kinds)
        raise RecipeError(f"{place}: model.kind is {given}: {hint}of the task {system.name} it can be {known}")


def _attempt(section: str, make: Callable[[Recipe], None], recipe: Recipe, document: RecipeDocument) -> None:
    """Call a check of a section; errors are raised with the line of their key."""
    try:
        make(recipe)
    except (ValueError, TypeError, RuntimeError, OverflowError) as problem:
        sentence = str(problem).partition("\n")[0].removeprefix(f"{section}: ")
        place = document.place(key_of_message((section,), sentence, document))
        raise RecipeError(f"{place}: {section}: {shortened(sentence, 600)}") from None


def _make_model(recipe: Recipe) -> None:
    """Build the model once with a tiny vocabulary on the meta device, to find errors that no rule covers."""
    imported("regard.tasks.build:outline")(recipe)

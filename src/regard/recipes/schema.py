"""Schema of a system's recipes: the shared sections with the system's data, models and keys."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import Field, create_model

from regard.recipes.argument_sections import OneOf
from regard.recipes.plugin_sections import PluginUnion
from regard.recipes.section import Section
from regard.recipes.sections import EvaluateSection, Recipe, TrainSection, decode_section

if TYPE_CHECKING:
    from regard.recipes.system import System


@lru_cache
def recipe_class(system: System) -> type[Recipe]:
    """Return the recipe class of a system."""
    decode: Any = decode_section(system.decode)
    fields: dict[str, Any] = {
        "task": (str, system.name),
        "data": (Annotated[_union(system.data, "format"), PluginUnion()], ...),
        "model": (Annotated[Any, OneOf("model", system.models)], ...),
        "train": (_extended("TrainSection", TrainSection, system.train), ...),
        "decode": (decode, Field(default_factory=decode)),
    }
    evaluate = _extended("EvaluateSection", EvaluateSection, system.evaluate)
    fields["evaluate"] = (evaluate, Field(default_factory=evaluate))
    described = {name: Recipe.model_fields[name].description for name in fields}
    made = create_model("Recipe", __base__=Recipe, __doc__=Recipe.__doc__, **fields)
    for name, sentence in described.items():
        made.model_fields[name].description = sentence
    return made


def _union(sections: tuple[type[Section], ...], tag: str) -> Any:
    """Return the union of sections with a discriminator key; a single section as it is."""
    if len(sections) == 1:
        return sections[0]
    return Annotated[Union[sections], Field(discriminator=tag)]  # noqa: UP007, of a tuple


def _extended(name: str, shared: type[Section], own: type[Section] | None) -> type[Any]:
    """Return a shared section extended by the keys of a system."""
    return shared if own is None else create_model(name, __base__=(own, shared), __doc__=shared.__doc__)

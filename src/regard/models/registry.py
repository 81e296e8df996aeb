"""Models and encoders by the names that recipes give them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from torch import nn

T = TypeVar("T", bound=type[nn.Module])

_MODELS: dict[str, type[nn.Module]] = {}
_ENCODERS: dict[str, type[nn.Module]] = {}
_DEFAULTS: dict[str, Mapping[str, Any]] = {}


def model(kind: str) -> Callable[[T], T]:
    """Name a class that `build` makes, `model.kind` of recipes."""

    def give(made: T) -> T:
        _MODELS[kind] = made
        return made

    return give


def encoder(kind: str, **defaults: Any) -> Callable[[T], T]:
    """Name an encoder of ids that any model takes, `encoder.kind` of recipes.

    Args:
        kind: its name.
        defaults: of its arguments in recipes, where they are not those of its constructor.
    """

    def give(made: T) -> T:
        _ENCODERS[kind] = made
        _DEFAULTS[kind] = MappingProxyType(defaults)
        return made

    return give


def models() -> dict[str, type[nn.Module]]:
    """Return all models of this package by name."""
    _discover()
    return dict(sorted(_MODELS.items()))


def encoders() -> dict[str, type[nn.Module]]:
    """Return all encoders of this package by name."""
    _discover()
    return dict(sorted(_ENCODERS.items()))


def encoder_defaults(kind: str) -> dict[str, Any]:
    """Return the defaults of an encoder that are not those of its constructor."""
    return dict(_DEFAULTS.get(kind, {}))


def _discover() -> None:
    """Import every module of the package, which names its classes."""
    package = importlib.import_module("regard.models")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"regard.models.{module.name}")

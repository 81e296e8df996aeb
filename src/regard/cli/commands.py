"""Subcommands by name. Each is imported when it is called, so that others do not delay the start."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from regard.parts import imported, system_modules
from regard.recipes.source import module_source

_OWN = (
    "train",
    "compare",
    "predict",
    "evaluate",
    "view",
    "explain",
    "report",
    "runs",
    "recipes",
    "mechanisms",
    "bench",
    "doctor",
)
"""Modules of this package with a function `command`, in the order of the help."""


class Commands(TyperGroup):
    """The commands of this package and those of systems."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands.update({name: Deferred(name, f"regard.cli.{name}:command") for name in _OWN})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; None if no system has it either."""
        if cmd_name not in self.commands:
            self._add_systems()
        return self.commands.get(cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, in the order of the help."""
        self._add_systems()
        for command in self.commands.values():
            command.short_help = command.label() if isinstance(command, Deferred) else command.short_help
        return list(self.commands)

    def _add_systems(self) -> None:
        for name, place in system_commands().items():
            self.commands.setdefault(name, Deferred(name, place))


class Deferred(TyperCommand):
    """A command whose module is imported when it is called.

    Attributes:
        place: its function as "module:function".
    """

    def __init__(self, name: str, place: str) -> None:
        super().__init__(name)
        self.place = place

    def label(self) -> str:
        """Return the first line of the function's docstring, from the source file."""
        module, _, function = self.place.partition(":")
        source = module_source(module)
        return "" if source is None else source.label(function)

    def make_context(self, *given: Any, **settings: Any) -> Any:
        """Import the command, and parse its arguments."""
        alone = typer.Typer(add_completion=False)
        alone.command(self.name)(imported(self.place))
        return typer.main.get_command(alone).make_context(*given, **settings)


def system_commands() -> dict[str, str]:
    """Return the commands that systems declare, "module:function" by name, without importing the systems."""
    found: dict[str, str] = {}
    for module in system_modules():
        source = module_source(module)
        found |= (source.keyword("SYSTEM", "commands") if source is not None else None) or {}
    return found

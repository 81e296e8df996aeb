"""The replies task: dialogue response generation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from regard.data.problems import TextError
from regard.recipes.checks import copies
from regard.recipes.sections import Recipe
from regard.systems.replies.dialogues import history, parsed_turns
from regard.systems.replies.sections import DialoguesData, SmalltalkData
from regard.systems.translation.task import Translation
from regard.tasks.prediction import Prediction
from regard.tasks.scheduled_sampling import Exposure
from regard.tasks.task import FieldEncoders


@dataclass(frozen=True)
class Replying(Translation):
    """Response generation by an encoder-decoder whose source is the last turns of a dialogue, joined to one text.

    Attributes:
        turns: maximum number of turns in the source.
        separator: token between turns.
    """

    turns: int = 4
    separator: str = "|"

    @classmethod
    def of(cls, recipe: Recipe, encoders: FieldEncoders) -> Replying:
        made = cls(encoders, recipe.train.label_smoothing, Exposure.of(recipe), copy=copies(recipe))
        data = recipe.data
        if not isinstance(data, DialoguesData | SmalltalkData):
            return made
        return replace(made, turns=data.turns, separator=data.separator)

    def parse(self, given: Any) -> Any:
        """Return a history as one text: from a list of turns, a mapping with `turns`, a JSON list, or lines."""
        if isinstance(given, Mapping) and "turns" in given:
            given = given["turns"]
        if isinstance(given, list | tuple):
            if not given or not all(isinstance(turn, str) for turn in given):
                raise TextError("a history is a list of texts, one per turn")
            return history([" ".join(turn.split()) for turn in given], self.turns, self.separator)
        try:
            return history(parsed_turns(super().parse(given)), self.turns, self.separator)
        except ValueError as problem:
            raise TextError(str(problem)) from None

    def input_warnings(self, model: Any, texts: Sequence[str]) -> list[str]:
        """Return warnings about the parsed histories; prediction rejects inputs without turns."""
        found = []
        for text in texts:
            with suppress(TextError):
                found.append(self.parse(text))
        return super().input_warnings(model, found)

    def shown_input(self, prediction: Prediction) -> str:
        """Return the history with a dash before each turn."""
        turns = prediction.source.split(f" {self.separator} ")
        return prediction.source if len(turns) == 1 else " ".join(f"– {turn}" for turn in turns)

    def merges_equal_inputs(self, recipe: Recipe) -> bool:
        return False

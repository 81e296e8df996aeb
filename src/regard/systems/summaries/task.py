"""The summaries task: subject lines for e-mails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from regard.data.example import Value
from regard.data.problems import TextError
from regard.recipes.checks import copies
from regard.recipes.sections import Recipe
from regard.systems.summaries.mail import OTHERS, shortened_body
from regard.systems.summaries.sections import MailData, NoticesData
from regard.systems.translation.task import Translation
from regard.tasks.scheduled_sampling import Exposure
from regard.tasks.task import FieldEncoders


@dataclass(frozen=True)
class Summarising(Translation):
    """Subject line generation by an encoder-decoder whose source is the first words of a body.

    Attributes:
        clean: True to remove quotes, headers, signatures and closings.
        longest: maximum length of the source in words.
    """

    clean: bool = True
    longest: int = 200

    @classmethod
    def of(cls, recipe: Recipe, encoders: FieldEncoders) -> Summarising:
        made = cls(encoders, recipe.train.label_smoothing, Exposure.of(recipe), copy=copies(recipe))
        data = recipe.data
        if not isinstance(data, MailData | NoticesData):
            return made
        return replace(made, clean=data.clean, longest=data.longest)

    def parse(self, given: Any) -> Any:
        """Return a body, preprocessed as in training, from a text, a mapping with `body`, a path or bytes."""
        if isinstance(given, Mapping) and isinstance(given.get("body"), str):
            given = given["body"]
        return shortened_body(super().parse(given), clean=self.clean, longest=self.longest)

    def input_warnings(self, model: Any, texts: Sequence[Any]) -> list[str]:
        """Return warnings about words, and about bodies that are empty after cleaning."""
        found = []
        for given in texts:
            with suppress(TextError):  # prediction reports it as the answer to this input
                if isinstance(given, str) and given.strip() and not self.parse(given):
                    found.append(
                        f"the body {given.strip()[:60]!r} has nothing but quotes, headers or a closing, which are not "
                        "read; give text of its own, or train with data.clean=false"
                    )
        return [*found, *super().input_warnings(model, texts)]

    def references(self, fields: Mapping[str, Value]) -> list[str]:
        others = fields.get(OTHERS, [])
        return [*super().references(fields), *([others] if isinstance(others, str) else map(str, others))]

    def merges_equal_inputs(self, recipe: Recipe) -> bool:
        return False

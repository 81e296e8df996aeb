"""The keys of the section `data` that say what the target of a classifier is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, model_validator

from regard.recipes.section import Section

if TYPE_CHECKING:
    from regard.data.fields.target_kinds import TargetKind

TargetForm = Literal["label", "labels", "number"]

TARGET_METRICS: dict[TargetForm, tuple[str, ...]] = {
    "label": ("accuracy",),
    "labels": ("micro_f1", "macro_f1", "exact_match"),
    "number": ("pearson", "spearman", "mae", "rmse"),
}
"""The metrics of each kind of target, if none are named."""

COMPARED: dict[TargetForm, tuple[str, ...]] = {
    "label": ("labels", "texts"),
    "labels": ("label_sets", "texts"),
    "number": ("numbers",),
}
"""The metrics that can be named for each kind of target, by what they compare."""


class TargetData(Section):
    """Data of the task classify, whose target can have several forms."""

    target_kind: TargetForm = "label"
    """Target of a text: one `label`; any number of `labels`, as a list in JSON, elsewhere separated; or a `number`."""
    label_separator: str = Field(",", min_length=1)
    """Separator of several labels, in data and predictions."""

    @model_validator(mode="after")
    def _several(self) -> Self:
        if self.target_kind != "labels" and "label_separator" in self.model_fields_set and self.label_separator != ",":
            raise ValueError(f"label_separator is for target_kind 'labels'; it is {self.target_kind!r}")
        return self

    def target_form(self) -> TargetKind:
        """Return the form of the target, as readers read it."""
        from regard.data.fields.target_kinds import OneLabel, OneNumber, SeveralLabels

        if self.target_kind == "labels":
            return SeveralLabels(self.label_separator)
        return OneNumber() if self.target_kind == "number" else OneLabel()

"""Keys of the `data` section that specify the target of a classifier."""

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
"""Default metrics per kind of target."""

COMPARED: dict[TargetForm, tuple[str, ...]] = {
    "label": ("labels", "texts"),
    "labels": ("label_sets", "texts"),
    "number": ("numbers",),
}
"""Kinds of metrics that are allowed per kind of target."""


class TargetData(Section):
    """Data section of the task `classify` with a configurable kind of target."""

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
        """Return the kind of target that data readers parse."""
        from regard.data.fields.target_kinds import OneLabel, OneNumber, SeveralLabels

        if self.target_kind == "labels":
            return SeveralLabels(self.label_separator)
        return OneNumber() if self.target_kind == "number" else OneLabel()

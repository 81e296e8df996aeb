"""Captions: a text for a picture; a system outside the package."""

from typing import Any, Literal

from regard.recipes.data_section import FieldLayout
from regard.recipes.data_sections import SplitFiles
from regard.recipes.system import System


class PicturesData(SplitFiles):
    """A picture per line: the name of its array file, a tab, its caption."""

    format: Literal["pictures"]
    """Selects this format."""

    def reader(self, named: str, reading: FieldLayout) -> Any:
        from captions.pictures import Pictures

        return Pictures(self._path(named), **self.reading())


SYSTEM = System(
    name="scenes_toy",
    task="captions.task:Captioning",
    data=(PicturesData,),
    models={"captioner": "captions.model:Captioner"},
    metrics=("exact_match",),
    uses=frozenset({"train.batch", "train.label_smoothing", "decode"}),
)

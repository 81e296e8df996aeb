"""Layer, head and shift of the attention used for word alignment, stored in a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from regard.alignment.attention_links import attention_links
from regard.alignment.links import GoldLinks
from regard.evaluate.alignment_error import alignment_error_rate
from regard.runs.files import write_json
from regard.runs.folder import RunError

if TYPE_CHECKING:
    from regard.alignment.links import Links
    from regard.systems.translation.force_decoding import ForcedAttention

FILE = "alignment.json"
"""Name of the file in a run."""


@dataclass(frozen=True)
class AlignmentChoice:
    """The attention that word links are extracted from.

    Attributes:
        layer: decoder layer, from 1; always 1 for models with a single cross-attention.
        head: head, from 1; None for the mean of the heads.
        shift: 0 for the row of the step that predicts a word, 1 for the next step, whose input is the word.
        aer: alignment error rate by which it was chosen; None if it was not chosen by error rate.
        by: reference links of this error rate.
    """

    layer: int = 1
    head: int | None = None
    shift: int = 0
    aer: float | None = None
    by: str = ""

    def __str__(self) -> str:
        head = "all heads" if self.head is None else f"head {self.head}"
        return f"layer {self.layer}, {head}, {'one step later' if self.shift else 'at the step of the word'}"

    def check(self, layers: int, heads: int) -> None:
        """Check that a model has the layer and the head.

        Raises:
            ValueError: the layer or the head does not exist.
        """
        for what, given, most in (("layer", self.layer, layers), ("head", self.head or 1, heads)):
            if not 1 <= given <= most:
                raise ValueError(f"{what} {given} is not there: {what}s go from 1 to {most} in this model")

    def save(self, folder: Path) -> None:
        """Write the choice to the folder of a run."""
        write_json(folder / FILE, asdict(self))


def kept_choice(folder: Path) -> AlignmentChoice | None:
    """Load the stored choice of a run; None if there is none.

    Raises:
        RunError: the file is broken.
    """
    path = folder / FILE
    if not path.exists():
        return None
    try:
        return AlignmentChoice(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError) as problem:
        raise RunError(f"{path}: {problem}; remove it, and choose again with regard align RUN --choose") from None


def candidates(layers: int, heads: int) -> list[AlignmentChoice]:
    """Return all choices of a model: each layer, each head and their mean, and each shift."""
    every = [1] if heads == 1 else [None, *range(1, heads + 1)]
    return [AlignmentChoice(layer, head, shift) for layer, head, shift in product(range(1, layers + 1), every, (0, 1))]


def ranked(
    attention: Iterable[ForcedAttention], wanted: Sequence[GoldLinks], by: str, *, threshold: float | None = None
) -> list[AlignmentChoice]:
    """Return all choices of a model with their alignment error rates, best first.

    Args:
        attention: forced attention of sentence pairs.
        wanted: reference links of all pairs: gold, or of another aligner.
        by: name of the reference.
        threshold: as in `attention_links`.
    """
    found: dict[AlignmentChoice, dict[int, Links]] = {}
    for one in attention:
        for choice in found or dict.fromkeys(candidates(*one.weights.shape[:2])):
            links = attention_links(one.between_words(choice), threshold=threshold)
            found.setdefault(choice, {})[one.number] = links
    made = []
    for choice, links_of in found.items():
        gold = [wanted[number] for number in links_of]
        error = alignment_error_rate(
            list(links_of.values()), [one.sure for one in gold], [one.possible for one in gold]
        )
        made.append(replace(choice, aer=error.value, by=by))
    return sorted(made, key=lambda choice: (choice.aer or 0.0, choice.layer, choice.head or 0, choice.shift))

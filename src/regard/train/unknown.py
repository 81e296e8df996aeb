"""Whether the texts of a run are in the language of its tokenizer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from regard.data.tokenizer import Tokenizer
from regard.specials import UNK
from regard.tasks.splits import Split
from regard.tasks.task import Encoders

_MANY = 0.5


def unknown_tokens(splits: Mapping[str, Split | None], encoders: Encoders, first: Path | None) -> Iterator[str]:
    """What to say of the fields of splits more than half of whose tokens the tokenizer does not know.

    Args:
        splits: by name, each as ids.
        encoders: of the run.
        first: the run whose tokenizers these are; None where they were learned from the split train.
    """
    whose = "the tokenizer" if first is None else f"the tokenizer of {first}"
    for name, split in splits.items():
        for field, encoder in encoders.items():
            if split is None or split.encoded is None or not isinstance(encoder, Tokenizer):
                continue
            ids = split.encoded.ids(field)
            share = float(np.count_nonzero(ids == UNK)) / max(len(ids), 1)
            if share > _MANY:
                what = f"{share:.0%} of the tokens of {name} ({field})"
                yield f"{what} are unknown to {whose}; {_advice(name, encoder, first)}"


def _advice(name: str, tokenizer: Tokenizer, first: Path | None) -> str:
    if first is not None:
        return "begin with a run that has read such texts, or leave init out"
    if name != "train":
        return "look whether these are texts like those of train"
    rarer = "lower tokenizer.min_frequency, raise tokenizer.size"
    return rarer if tokenizer.kind == "characters" else f"{rarer}, or cut words in pieces (tokenizer.kind=bpe)"

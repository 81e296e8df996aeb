"""Shallow fusion: CTC decoding with the language model of another run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.data.fields.tokenizer import Tokenizer
from regard.decode.ctc import FusionLanguageModel
from regard.predictor import load
from regard.specials import SPECIALS, UNK


@dataclass(frozen=True)
class Fusion:
    """Settings of shallow fusion.

    Attributes:
        folder: folder of the run with the language model.
        weight: weight of its log-probability.
        bonus: score added per token.
    """

    folder: Path
    weight: float
    bonus: float

    def model(self, symbols: Tokenizer, device: Any) -> FusionLanguageModel:
        """Load the language model and map each symbol to its token; missing symbols map to the unknown word.

        Raises:
            ValueError: the run has no language model, or its vocabulary contains none of the symbols.
        """
        loaded = load(self.folder, device=device)
        texts = loaded.task.encoders.get(loaded.task.question)
        if loaded.task.answer is not None or not isinstance(texts, Tokenizer):
            raise ValueError(
                f"decode.language_model: {self.folder} is a run of {loaded.recipe.task!r}, no language model"
            )
        theirs = {token: number for number, token in enumerate(texts.tokens(list(range(texts.size))))}
        ours = symbols.tokens(list(range(symbols.size)))
        ids = [number if number < len(SPECIALS) else theirs.get(token, UNK) for number, token in enumerate(ours)]
        if all(number < len(SPECIALS) for number in ids):
            raise ValueError(
                f"decode.language_model: {self.folder} knows no symbol of this run; train it on such transcripts with "
                f"tokenizer.kind {symbols.kind}"
            )
        return FusionLanguageModel(loaded.model, self.weight, self.bonus, ids)  # type: ignore[arg-type]

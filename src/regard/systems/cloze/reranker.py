"""Re-ranking of the best candidates with language models that score the filled-in question."""

from __future__ import annotations

import base64
import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from regard.data.example import Example
from regard.data.fields.field_encoder import FieldEncoder
from regard.data.problems import DataError
from regard.data.word_ngrams import Ints, WordNGrams
from regard.systems.cloze.mira import Floats, tune_mira
from regard.systems.cloze.question import BLANK
from regard.systems.cloze.word_classes import word_classes

FEATURES = ("reader", "global n-grams", "local n-grams", "word classes")
"""Log-probabilities: of the reader, n-grams of all training texts, n-grams of the passage, n-grams of word classes."""
_ARRAYS = ("general", "classed")


@dataclass(frozen=True, eq=False)
class LanguageModelReranker(FieldEncoder):
    r"""Re-ranker with language models of the training texts, and weights of the `FEATURES`.

    .. math:: \mathrm{score}(c) = w_1 \log P(c) + \sum_k w_k \log p_k(\text{question with } c \text{ in its blank})

    Attributes:
        general: n-grams of words of the training texts.
        classed: n-grams of classes of words.
        classes: the class of each word.
        order: length of the n-grams, including those of a passage.
        n_best: number of re-ranked candidates.
        weights: weights of the features, tuned on the validation data; None before tuning, which keeps the order.

    Cui et al. 2017, section 4.
    """

    FILE: ClassVar[str] = "reranker"

    general: WordNGrams
    classed: WordNGrams
    classes: Ints
    order: int = 3
    n_best: int = 5
    weights: tuple[float, ...] | None = None

    @classmethod
    def of(
        cls, sequences: Iterable[Sequence[int]], size: int, *, order: int = 3, n_best: int = 5, classes: int = 100
    ) -> Self:
        """Learn language models.

        Args:
            sequences: sentences of the training texts, as ids; duplicates count once.
            size: number of distinct words.
            order: length of the n-grams.
            n_best: number of re-ranked candidates.
            classes: number of classes of words.
        """
        texts = sorted(set(map(tuple, sequences)))  # passages overlap, so sentences repeat
        found = word_classes(texts, size, classes=classes)
        general = WordNGrams.of(texts, size, order=order, least=2)
        classed = WordNGrams.of([found[list(one)].tolist() for one in texts], classes, order=order, least=2)
        return cls(general, classed, found, order, n_best)

    @property
    def size(self) -> int:
        """Number of distinct words."""
        return len(self.classes)

    @property
    def fingerprint(self) -> str:
        counted = (part.tobytes() for level in self.general.levels for part in (level.keys, level.counts))
        return f"{hashlib.blake2b(b''.join(counted), digest_size=16).hexdigest()} {self.n_best}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LanguageModelReranker) and other.fingerprint == self.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def features(
        self, logs: Sequence[float], filled: Sequence[Sequence[int]], local: Sequence[Sequence[int]], near: WordNGrams
    ) -> Floats:
        """Return the features [K, F] of K candidates.

        Args:
            logs: log P(candidate) of the reader, [K].
            filled: the question with each candidate in its blank, as ids of the vocabulary.
            local: the same as ids of `near`.
            near: n-grams of the passage.
        """
        classes = [self.classes[list(one)].tolist() for one in filled]
        return np.stack(
            (logs, self.general.log_probs(filled), near.log_probs(local), self.classed.log_probs(classes)), axis=1
        )

    def scores(self, features: Floats) -> Floats:
        """Return the score of each candidate [K]; before tuning, the score of the reader."""
        return features[:, 0] if self.weights is None else features @ np.array(self.weights)

    def tuned(self, lists: Sequence[Floats], right: Sequence[int]) -> Self:
        """Return a copy with weights tuned to rank the right candidates first."""
        return replace(self, weights=tuple(tune_mira(lists, right).tolist()))

    def save(self, path: str | Path) -> None:
        """Write JSON that contains the arrays of the models as a base64-encoded .npz file."""
        held, models = io.BytesIO(), zip(_ARRAYS, (self.general, self.classed), strict=True)
        arrays: dict[str, Any] = {f"{name}.{key}": one for name, model in models for key, one in model.arrays().items()}
        np.savez_compressed(held, classes=self.classes, **arrays)
        about = {"order": self.order, "n_best": self.n_best, "features": FEATURES, "weights": self.weights}
        content = {**about, "models": base64.b64encode(held.getvalue()).decode("ascii")}
        Path(path).write_text(json.dumps(content), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            with np.load(io.BytesIO(base64.b64decode(content["models"])), allow_pickle=False) as arrays:
                general, classed = (WordNGrams.from_arrays(_part(arrays, name)) for name in _ARRAYS)
                classes = arrays["classes"]
            weights = None if content["weights"] is None else tuple(map(float, content["weights"]))
            return cls(general, classed, classes, int(content["order"]), int(content["n_best"]), weights)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path} is not a re-ranker: {error}") from error


def distinct_sentences(train: Iterable[Example]) -> list[str]:
    """Return the distinct sentences of passages, and of questions filled with their answers."""
    told: dict[str, None] = {}
    for one in train:
        filled = one.fields["question"].replace(BLANK, one.fields["answer"])
        told.update(dict.fromkeys((*one.fields["passage"], filled)))
    return list(told)


def _part(arrays: Mapping[str, Ints], name: str) -> dict[str, Ints]:
    return {key.removeprefix(f"{name}."): arrays[key] for key in arrays if key.startswith(f"{name}.")}

"""Base class of explained classifiers: embeddings, encoding of texts, names of tokens."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from regard.data.batching.batch import padded
from regard.data.fields.tokenizer import Tokenizer
from regard.explain.subject import Subject, SubjectBatch
from regard.protocol import device_of
from regard.specials import PAD, UNK


class LabelSubject(Subject):
    """Base class of classifiers that are explained by the tokens of their texts.

    Args:
        model: classifier in evaluation mode.
        tokenizer: tokenizer of its texts.
        names: names of its labels.
    """

    separator: int | None = None

    def __init__(self, model: nn.Module, tokenizer: Tokenizer, names: tuple[str, ...]) -> None:
        self.tokenizer, self.names, self.device = tokenizer, names, device_of(model)

    def read(self, inputs: Sequence[str]) -> SubjectBatch:
        """Encode texts as token ids."""
        ids = [found or [UNK] for found in self.tokenizer.encode_all(list(inputs))]
        lengths = torch.tensor([len(found) for found in ids], device=self.device)
        return SubjectBatch(padded(ids, PAD).to(self.device), lengths, PAD, self.separator)

    def words(self, given: str) -> list[str]:
        """Return the tokens of a text; unknown words keep their spelling."""
        ids = self.tokenizer.encode(given) or [UNK]
        tokens, places = self.tokenizer.tokens(ids), self.tokenizer.places(given)
        if len(places) != len(ids):  # two texts have `</s>` between
            return tokens
        spelt = zip(ids, tokens, places, strict=True)
        return [given[slice(*place)] if one == UNK else token for one, token, place in spelt]


def cropped(values: Tensor, texts: SubjectBatch) -> Tensor:
    """Remove the values of `<s>` and `</s>` around texts: [B, T + 2] -> [B, T]."""
    size = texts.ids.shape[1]
    return (values if values.shape[1] == size else values[:, 1 : size + 1]).masked_fill(~texts.inside, 0.0)

"""A model as explanations see it: words, weights over them, and an answer that the weights lead to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn


class SubjectBatch(NamedTuple):
    """A batch of texts.

    Attributes:
        ids: [B, T], padded.
        lengths: [B].
        padding: the id behind the words.
    """

    ids: Tensor
    lengths: Tensor
    padding: int = 0

    @property
    def inside(self) -> Tensor:
        """[B, T], True at words."""
        return torch.arange(self.ids.shape[1], device=self.ids.device) < self.lengths.unsqueeze(1)

    def keep(self, chosen: Tensor) -> SubjectBatch:
        """The texts with the `chosen` [B, T] words alone, moved together.

        >>> SubjectBatch(torch.tensor([[5, 6, 7]]), torch.tensor([3])).keep(torch.tensor([[True, False, True]]))
        SubjectBatch(ids=tensor([[5, 7, 0]]), lengths=tensor([2]), padding=0)
        """
        chosen = chosen & self.inside
        order = (~chosen).long().sort(dim=1, stable=True).indices
        lengths = chosen.sum(1)
        ids = self.ids.gather(1, order)
        behind = torch.arange(ids.shape[1], device=ids.device) >= lengths.unsqueeze(1)
        return SubjectBatch(ids.masked_fill(behind, self.padding), lengths, self.padding)

    def rows(self, index: Tensor) -> SubjectBatch:
        """Some of the texts, also more than once."""
        return SubjectBatch(self.ids[index], self.lengths[index], self.padding)


@dataclass(frozen=True)
class Subject:
    """A model that answers a text by weights over its words.

    The three steps are those of the model itself, so that an explanation can stop between them: `answer` of `attend` of
    `encode` is what the model computes.

    Attributes:
        embedding: the module whose output are the embeddings [B, T, C] of ids [B, T].
        encode: texts -> what the model makes of their words, whatever it is.
        attend: the encoded texts -> weights [B, N, T], N for each text; each row sums to 1.
        answer: encoded texts and weights [B, N, T] -> probabilities of the answers [B, K].
        repeat: encoded texts and rows [B'] -> those rows of them.
        read: inputs -> texts.
        words: an input -> a name for each of its words.
        names: of the K answers.

    Raises:
        ValueError: from a task whose model has no such weights (`Task.subject`).
    """

    embedding: nn.Module
    encode: Callable[[SubjectBatch], Any]
    attend: Callable[[Any], Tensor]
    answer: Callable[[Any, Tensor], Tensor]
    repeat: Callable[[Any, Tensor], Any]
    read: Callable[[Sequence[str]], SubjectBatch]
    words: Callable[[str], list[str]]
    names: tuple[str, ...]

    def probabilities(self, texts: SubjectBatch) -> Tensor:
        """Probabilities of the answers, [B, K]."""
        encoded = self.encode(texts)
        return self.answer(encoded, self.attend(encoded))

    def weights(self, texts: SubjectBatch) -> Tensor:
        """Mean weights over the words, [B, T]."""
        return self.attend(self.encode(texts)).mean(1)


@contextmanager
def replace_embeddings(module: nn.Module, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Let a module embed by `change` of its embeddings, to look at them or to put others in their place."""
    handle = module.register_forward_hook(lambda _module, _inputs, output: change(output))
    try:
        yield
    finally:
        handle.remove()

"""A model as explanations see it: units of a text, weights over them, and an answer that the weights lead to."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn


class SubjectBatch(NamedTuple):
    """A batch of texts, each with what one answer is asked of.

    Their units are what weights are over, and what can be left out: words, or sentences as rows of words.

    Attributes:
        ids: [B, T] for words, [B, T, J] for units of J numbers each; padded.
        lengths: [B], positions of each text that are no padding.
        padding: the number behind the last unit.
        separator: id, or first of J numbers, that is no unit and is never left out, as the `</s>` between two texts;
            None for none.
        beside: tensors [B, ...] that belong to the texts and stay whole: a question, words that were said before.
        source: [B], number of the input that each text was made of; None where each input makes one text.
    """

    ids: Tensor
    lengths: Tensor
    padding: int = 0
    separator: int | None = None
    beside: tuple[Tensor, ...] = ()
    source: Tensor | None = None

    @property
    def present(self) -> Tensor:
        """[B, T], True at units and separators, False at padding."""
        return torch.arange(self.ids.shape[1], device=self.ids.device) < self.lengths.unsqueeze(1)

    @property
    def inside(self) -> Tensor:
        """[B, T], True at units."""
        if self.separator is None:
            return self.present
        first = self.ids if self.ids.dim() == 2 else self.ids[..., 0]
        return self.present & (first != self.separator)

    @property
    def sizes(self) -> Tensor:
        """[B], units of each text."""
        return self.inside.sum(1)

    def keep(self, chosen: Tensor) -> SubjectBatch:
        """Return the texts with the `chosen` [B, T] units alone, moved together.

        >>> SubjectBatch(torch.tensor([[5, 6, 7]]), torch.tensor([3])).keep(torch.tensor([[True, False, True]])).ids
        tensor([[5, 7, 0]])
        """
        kept = self.present & (chosen | ~self.inside)
        order = (~kept).long().sort(dim=1, stable=True).indices  # [B, T]
        lengths = kept.sum(1)
        trailing = (1,) * (self.ids.dim() - 2)
        ids = self.ids.gather(1, order.view(*order.shape, *trailing).expand_as(self.ids))
        behind = torch.arange(ids.shape[1], device=ids.device) >= lengths.unsqueeze(1)
        return self._replace(ids=ids.masked_fill(behind.view(*behind.shape, *trailing), self.padding), lengths=lengths)

    def rows(self, index: Tensor) -> SubjectBatch:
        """Return some of the texts, also more than once."""
        return self._replace(
            ids=self.ids[index],
            lengths=self.lengths[index],
            beside=tuple(one[index] for one in self.beside),
            source=None if self.source is None else self.source[index],
        )

    def shortened(self) -> SubjectBatch:
        """Return the texts without padding that none of them needs."""
        return self._replace(ids=self.ids[:, : max(int(self.lengths.max()), 1)])


class Extra(NamedTuple):
    """A measure of importance that one kind of model adds, such as rollout of a Transformer.

    Attributes:
        measure: texts -> scores of their units [B, T].
        most: number of texts up to which it is computed; None for any.
    """

    measure: Callable[[SubjectBatch], Tensor]
    most: int | None = None


class Subject(abc.ABC):
    """A model that answers a text, and attends to its units while it does.

    A system returns one from `Task.subject`, which raises a ValueError for a model that attends to nothing. One whose
    answer follows from a single read is a `StagedSubject`, in which other weights can take the place of its own; the
    weights of a Transformer stand in many layers.

    Attributes:
        unit: name of a unit: "word" or "sentence".
        detachable: gradients can hold the weights fixed; not where they are the answer, or stand in many layers.
        embeddings: modules whose first outputs in a forward pass are the vectors of the units, for gradients.
        names: of the answers, where they are the same for all texts.
    """

    unit: ClassVar[str] = "word"
    detachable: ClassVar[bool] = False
    embeddings: Sequence[nn.Module]
    names: tuple[str, ...] = ()

    @abc.abstractmethod
    def read(self, inputs: Sequence[Any]) -> SubjectBatch:
        """Return inputs as texts; an input with several answers, as a translation, is one text for each."""

    @abc.abstractmethod
    def words(self, given: Any) -> list[str]:
        """Return a name for each position of an input."""

    @abc.abstractmethod
    def probabilities(self, texts: SubjectBatch, *, detach: bool = False) -> Tensor:
        """Return probabilities of the answers, [B, K]; with `detach`, where it can be, by weights held fixed."""

    @abc.abstractmethod
    def weights(self, texts: SubjectBatch) -> Tensor:
        """Return mean weights over the units, [B, T]."""

    def fold(self, texts: SubjectBatch, values: Tensor) -> Tensor:
        """Return numbers of embedded vectors as those of units [B, T]: the sum where a unit has several vectors."""
        return values if values.dim() == 2 else values.flatten(2).sum(2)

    def extras(self) -> Mapping[str, Extra]:
        """Return further measures of importance, by name."""
        return {}

    def name(self, given: Any, texts: SubjectBatch, answer: int) -> str:
        """Return the name of an answer to an input; `texts` is one text made of it."""
        return self.names[answer]


class StagedSubject(Subject):
    """A model whose answer follows from weights over the units.

    Its three steps are those of the model itself, so that an explanation can stop between them: `answer` of `attend` of
    `encode` is what the model computes.

    Attributes:
        searched: search for other weights with the same answer: `answer` is cheap enough for thousands of calls.
    """

    detachable = True
    searched: bool = True

    @abc.abstractmethod
    def encode(self, texts: SubjectBatch) -> Any:
        """Return what the model makes of texts before it attends."""

    @abc.abstractmethod
    def attend(self, encoded: Any) -> Tensor:
        """Return the weights [B, N, T] of N reads of each text."""

    @abc.abstractmethod
    def answer(self, encoded: Any, weights: Tensor) -> Tensor:
        """Return probabilities [B, K] of the answers by weights [B, N, T]."""

    def answers(self, encoded: Any, weights: Tensor) -> Tensor:
        """Return probabilities [M, B, K] of the answers by each of M weights, [M, B, N, T]."""
        return torch.stack([self.answer(encoded, one) for one in weights])

    def support(self, texts: SubjectBatch) -> Tensor:
        """Return which units each read may attend to, [B, N, T] or [B, 1, T]."""
        return texts.inside.unsqueeze(1)

    def probabilities(self, texts: SubjectBatch, *, detach: bool = False) -> Tensor:
        """Return probabilities of the answers, [B, K]; with `detach`, where it can be, by weights held fixed."""
        encoded = self.encode(texts)
        weights = self.attend(encoded)
        return self.answer(encoded, weights.detach() if detach and self.detachable else weights)

    def weights(self, texts: SubjectBatch) -> Tensor:
        """Return mean weights over the units, [B, T]."""
        return self.attend(self.encode(texts)).mean(1)


@contextmanager
def replace_embeddings(modules: Sequence[nn.Module], change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Let modules embed by `change` of what they embed first, to look at it or to put something else in its place.

    Later calls stay as they are: a reader with one table embeds its passage first, and then its question.
    """
    handles = []
    for module in modules:
        calls: list[None] = []

        def hook(_module: nn.Module, _inputs: Any, output: Tensor, calls: list[None] = calls) -> Tensor | None:
            calls.append(None)
            return change(output) if len(calls) == 1 else None

        handles.append(module.register_forward_hook(hook))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()

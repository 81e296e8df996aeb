"""Interface of models for explanations: input units, attention weights over them, and answer probabilities."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn


class SubjectBatch(NamedTuple):
    """Batch of texts, each with the context of one answer.

    Units are the items that have weights and can be erased: words, or sentences as rows of words.

    Attributes:
        ids: [B, T] for words, [B, T, J] for units of J ids each; padded.
        lengths: [B], number of positions without padding.
        padding: padding id.
        separator: id (or first of J ids) that is not a unit and is never erased, such as `</s>` between two texts;
            None for none.
        beside: tensors [B, ...] of each text that are never erased: a question, or the previous target tokens.
        source: [B], index of the input of each text; None if each input yields one text.
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
        """[B, T], True at units, False at separators and padding."""
        if self.separator is None:
            return self.present
        first = self.ids if self.ids.dim() == 2 else self.ids[..., 0]
        return self.present & (first != self.separator)

    @property
    def sizes(self) -> Tensor:
        """[B], number of units per text."""
        return self.inside.sum(1)

    def keep(self, chosen: Tensor) -> SubjectBatch:
        """Return the texts reduced to the `chosen` [B, T] units, shifted left to close the gaps.

        >>> SubjectBatch(torch.tensor([[5, 6, 7]]), torch.tensor([3])).keep(torch.tensor([[True, False, True]])).ids
        tensor([[5, 7, 0]])
        """
        kept = self.present & (chosen | ~self.inside)
        # A stable sort of the mask moves kept positions to the front without changing their order.
        order = (~kept).long().sort(dim=1, stable=True).indices  # [B, T]
        lengths = kept.sum(1)
        trailing = (1,) * (self.ids.dim() - 2)
        ids = self.ids.gather(1, order.view(*order.shape, *trailing).expand_as(self.ids))  # [B, T] or [B, T, J]
        behind = torch.arange(ids.shape[1], device=ids.device) >= lengths.unsqueeze(1)
        return self._replace(ids=ids.masked_fill(behind.view(*behind.shape, *trailing), self.padding), lengths=lengths)

    def rows(self, index: Tensor) -> SubjectBatch:
        """Return the texts at `index`, which may repeat."""
        return self._replace(
            ids=self.ids[index],
            lengths=self.lengths[index],
            beside=tuple(one[index] for one in self.beside),
            source=None if self.source is None else self.source[index],
        )

    def shortened(self) -> SubjectBatch:
        """Return the texts without superfluous padding."""
        return self._replace(ids=self.ids[:, : max(int(self.lengths.max()), 1)])


class Extra(NamedTuple):
    """Architecture-specific importance measure, such as rollout of a Transformer.

    Attributes:
        measure: maps texts to scores of their units [B, T].
        most: maximum number of texts; None for no limit.
    """

    measure: Callable[[SubjectBatch], Tensor]
    most: int | None = None


class Subject(abc.ABC):
    """Model that answers questions about a text and attends to its units.

    `Task.subject` returns it, or raises a ValueError for a model without attention. A model whose answer follows from
    a single attention step is a `StagedSubject`, whose weights can be replaced. A Transformer has weights in many
    layers.

    Attributes:
        unit: name of a unit: "word" or "sentence".
        detachable: gradients can treat the weights as constants; not if they are the answer, or occur in many layers.
        embeddings: modules whose first output in a forward pass contains the unit vectors, for gradients.
        names: answer names, if they are the same for all texts.
    """

    unit: ClassVar[str] = "word"
    detachable: ClassVar[bool] = False
    embeddings: Sequence[nn.Module]
    names: tuple[str, ...] = ()

    @abc.abstractmethod
    def read(self, inputs: Sequence[Any]) -> SubjectBatch:
        """Encode inputs; an input with several answers, such as a translation, yields one text per answer."""

    @abc.abstractmethod
    def words(self, given: Any) -> list[str]:
        """Return a name for each position of an input."""

    @abc.abstractmethod
    def probabilities(self, texts: SubjectBatch, *, detach: bool = False) -> Tensor:
        """Return probabilities of the answers, [B, K]; with `detach`, weights are constants if supported."""

    @abc.abstractmethod
    def weights(self, texts: SubjectBatch) -> Tensor:
        """Return mean weights over the units, [B, T]."""

    def fold(self, texts: SubjectBatch, values: Tensor) -> Tensor:
        """Sum values per embedded vector to values per unit [B, T]."""
        return values if values.dim() == 2 else values.flatten(2).sum(2)  # [B, T, ...] -> [B, T]

    def extras(self) -> Mapping[str, Extra]:
        """Return architecture-specific importance measures, by name."""
        return {}

    def name(self, given: Any, texts: SubjectBatch, answer: int) -> str:
        """Return the name of an answer to an input; `texts` is the encoded text."""
        return self.names[answer]


class StagedSubject(Subject):
    """Model whose answer follows from a single set of weights over the units.

    Splits the forward pass into `encode`, `attend` and `answer`, so that interventions can replace the weights; their
    composition equals the model's forward pass.

    Attributes:
        searched: run the adversarial search, since `answer` is cheap enough for thousands of calls.
    """

    detachable = True
    searched: bool = True

    @abc.abstractmethod
    def encode(self, texts: SubjectBatch) -> Any:
        """Return the encoded texts, before attention."""

    @abc.abstractmethod
    def attend(self, encoded: Any) -> Tensor:
        """Return the weights [B, N, T] of N reads of each text."""

    @abc.abstractmethod
    def answer(self, encoded: Any, weights: Tensor) -> Tensor:
        """Return probabilities [B, K] of the answers by weights [B, N, T]."""

    def answers(self, encoded: Any, weights: Tensor) -> Tensor:
        """Return probabilities [M, B, K] of the answers by each of M weights, [M, B, N, T]."""
        return torch.stack([self.answer(encoded, one) for one in weights])  # [M, B, K]

    def support(self, texts: SubjectBatch) -> Tensor:
        """Return the mask of units that each read may attend to, [B, N, T] or [B, 1, T]."""
        return texts.inside.unsqueeze(1)

    def probabilities(self, texts: SubjectBatch, *, detach: bool = False) -> Tensor:
        """Return probabilities of the answers, [B, K]; with `detach`, weights are constants if supported."""
        encoded = self.encode(texts)
        weights = self.attend(encoded)
        return self.answer(encoded, weights.detach() if detach and self.detachable else weights)

    def weights(self, texts: SubjectBatch) -> Tensor:
        """Return mean weights over the units, [B, T]."""
        return self.attend(self.encode(texts)).mean(1)


@contextmanager
def replace_embeddings(modules: Sequence[nn.Module], change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Replace the first output of embedding modules by `change` of it inside the context.

    Later calls are unchanged: a reader with a shared table embeds the passage first, then the question.
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

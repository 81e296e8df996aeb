"""Guided MLP: a context-free classifier that uses the attention weights of another model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.explain.subject import Subject, SubjectBatch

BATCH, RATE = 32, 1e-3


class LabelledTexts(NamedTuple):
    """Texts with target class indices, [N]."""

    texts: SubjectBatch
    labels: Tensor

    def rows(self, index: Tensor) -> LabelledTexts:
        """Return the rows `index`, without superfluous padding."""
        return LabelledTexts(self.texts.rows(index).shortened(), self.labels[index])

    def batches(self, epochs: int, seed: int) -> Iterator[tuple[Tensor, LabelledTexts]]:
        """Yield batches with their row indices, reshuffled in each epoch."""
        generator = torch.Generator().manual_seed(seed)
        for _ in range(epochs):
            for index in torch.randperm(len(self.labels), generator=generator).split(BATCH):
                moved = index.to(self.labels.device)
                yield moved, self.rows(moved)


class GuidedMLP(nn.Module):
    r"""Classifier over a weighted sum of words without context: p = softmax(W Σ_t a_t tanh(V E x_t) + b).

    Weights that improve it carry information independent of their model. Without given weights it learns its own,
    a = softmax(u · tanh(V E x_t)).

    Args:
        size: number of words.
        answers: number of answers.
        dim: width of the embeddings and of the hidden layer.

    Shapes: texts of B x T, weights [B, T] or None -> logits [B, answers].

    Wiegreffe & Pinter 2019, "Attention is not not Explanation", section 3.4.

    >>> model = GuidedMLP(11, 3, dim=4)
    >>> texts = SubjectBatch(torch.tensor([[5, 6, 0]]), torch.tensor([2]))
    >>> model(texts, torch.tensor([[0.5, 0.5, 0.0]])).shape, model(texts, None).shape
    (torch.Size([1, 3]), torch.Size([1, 3]))
    """

    def __init__(self, size: int, answers: int, *, dim: int = 128) -> None:
        super().__init__()
        self.words = nn.Embedding(size, dim)
        self.hidden = nn.Linear(dim, dim)
        self.score = nn.Linear(dim, 1, bias=False)
        self.output = nn.Linear(dim, answers)

    def forward(self, texts: SubjectBatch, weights: Tensor | None) -> Tensor:
        """Return logits [B, answers]."""
        states = self.hidden(self.words(texts.ids)).tanh()  # [B, T, C]
        if weights is None:
            energy = self.score(states).squeeze(2).masked_fill(~texts.inside, -torch.inf)
            weights = energy.softmax(1)
        logits: Tensor = self.output((weights.to(states).unsqueeze(1) @ states).squeeze(1))
        return logits


def weights_of(subject: Subject, texts: SubjectBatch, *, together: int = 256) -> Tensor:
    """Return the weights of a model over the words of each text, averaged over reads, [N, T]."""
    with torch.no_grad():
        rows = torch.arange(len(texts.ids), device=texts.ids.device).split(together)
        return torch.cat([subject.weights(texts.rows(part)) for part in rows])


def equal_weights(texts: SubjectBatch) -> Tensor:
    """Return equal weights of all words, [N, T]."""
    return texts.inside / texts.sizes.clamp(min=1).unsqueeze(1)


def guided_accuracy(
    train: LabelledTexts, test: LabelledTexts, weights: tuple[Tensor, Tensor] | None, *, epochs: int = 8, seed: int = 0
) -> float:
    """Train a guided MLP and return its test accuracy.

    Args:
        train: training texts.
        test: test texts.
        weights: weights of the words of train and test, [N, T] each; None to learn them.
        epochs: training epochs.
        seed: seed of the parameters and of the batch order.
    """
    answers = int(max(train.labels.max(), test.labels.max())) + 1
    size = int(max(train.texts.ids.max(), test.texts.ids.max())) + 1
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = GuidedMLP(size, answers).to(train.labels.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, amsgrad=True)
    for index, part in train.batches(epochs, seed):
        given = None if weights is None else weights[0][index, : part.texts.ids.shape[1]]
        loss = F.cross_entropy(model(part.texts, given), part.labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        found = model(test.texts, None if weights is None else weights[1]).argmax(1)
    return float((found == test.labels).double().mean())

"""Weights of one model in another, and rivals."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from regard.explain.guided_mlp import GuidedMLP, LabelledTexts, equal_weights, guided_accuracy, weights_of
from regard.explain.rival import rivalry, train_rival
from regard.explain.subject import StagedSubject, SubjectBatch
from tests.mechanism import assert_close

SIZE, WIDTH, WORDS = 11, 6, 5


def pointed(count: int, seed: int) -> tuple[LabelledTexts, Tensor]:
    """Texts whose label is that of one word, even or odd, and weights [B, T] that point at it."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, SIZE, (count, WORDS), generator=generator)
    place = torch.randint(WORDS, (count, 1), generator=generator)
    labels = ids.gather(1, place).squeeze(1) % 2
    return LabelledTexts(SubjectBatch(ids, torch.full((count,), WORDS)), labels), torch.zeros(count, WORDS).scatter(
        1, place, 1.0
    )


class Classifier(nn.Module):
    """softmax(W Σ_t a_t x_t) with weights a = softmax(u x)."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.words, self.score = nn.Embedding(SIZE, WIDTH), nn.Linear(WIDTH, 1, bias=False)
        self.output = nn.Linear(WIDTH, 2, bias=False)

    def subject(self) -> StagedSubject:
        return ClassifierSubject(self)


class ClassifierSubject(StagedSubject):
    names = ("even", "odd")

    def __init__(self, model: Classifier) -> None:
        self.model, self.embeddings = model, (model.words,)

    def encode(self, texts: SubjectBatch) -> tuple[Tensor, SubjectBatch]:
        return self.model.words(texts.ids), texts

    def attend(self, encoded: tuple[Tensor, SubjectBatch]) -> Tensor:
        states, texts = encoded
        weights: Tensor = self.model.score(states).mT.masked_fill(~texts.inside.unsqueeze(1), -torch.inf).softmax(-1)
        return weights

    def answer(self, encoded: tuple[Tensor, SubjectBatch], weights: Tensor) -> Tensor:
        found: Tensor = self.model.output((weights @ encoded[0]).squeeze(1)).softmax(-1)
        return found

    def read(self, inputs: Sequence[str]) -> SubjectBatch:
        return SubjectBatch(torch.zeros(1, 1, dtype=torch.long), torch.ones(1, dtype=torch.long))

    def words(self, given: str) -> list[str]:
        return list(given)


def test_the_guided_network_by_hand() -> None:
    """All maps are the identity: the weighted mean of tanh of the embeddings, and nothing of padding."""
    model = GuidedMLP(3, 2, dim=2)
    with torch.no_grad():
        model.words.weight.copy_(torch.tensor([[9.0, 9.0], [0.5, -1.0], [2.0, 0.0]]))
        for layer in (model.hidden, model.output):
            layer.weight.copy_(torch.eye(2))
            layer.bias.zero_()
    texts = SubjectBatch(torch.tensor([[1, 2, 0]]), torch.tensor([2]))
    found = model(texts, torch.tensor([[0.25, 0.75, 0.0]]))
    assert_close(found, (0.25 * torch.tensor([[0.5, -1.0]]).tanh() + 0.75 * torch.tensor([[2.0, 0.0]]).tanh()).tolist())
    with torch.no_grad():
        model.score.weight.zero_()  # its own weights are then equal ones
    assert_close(model(texts, None), model(texts, equal_weights(texts)))


def test_weights_that_point_at_the_answer_guide_and_equal_ones_do_not() -> None:
    (train, mine), (test, asked) = pointed(800, 1), pointed(300, 2)
    right = guided_accuracy(train, test, (mine, asked))
    equal = guided_accuracy(train, test, (equal_weights(train.texts), equal_weights(test.texts)))
    assert right > 0.98
    assert equal < 0.85
    assert right == guided_accuracy(train, test, (mine, asked))


def test_a_rival_has_the_answers_and_where_it_pays_other_weights() -> None:
    model, (train, _) = Classifier(0), pointed(200, 1)
    before = {name: one.clone() for name, one in model.state_dict().items()}
    found = {}
    for strength in (0.0, 0.2):
        rival = Classifier(5)
        begin = rivalry(model.subject(), rival.subject(), train.texts)
        train_rival(model.subject(), rival.subject(), rival.parameters(), train, strength=strength, epochs=60)
        found[strength] = rivalry(model.subject(), rival.subject(), train.texts)
        assert found[strength].change < 0.7 * begin.change
    assert found[0.2].distance > found[0.0].distance + 0.02
    assert all(torch.equal(one, before[name]) for name, one in model.state_dict().items())
    assert rivalry(model.subject(), model.subject(), train.texts) == (0.0, 0.0)


def test_weights_of_many_texts_are_those_of_each() -> None:
    model, (train, _) = Classifier(0), pointed(7, 1)
    together = weights_of(model.subject(), train.texts, together=3)
    assert_close(together, weights_of(model.subject(), train.texts))
    assert_close(together.sum(1), torch.ones(7))

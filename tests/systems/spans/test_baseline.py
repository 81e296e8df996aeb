"""Baselines of spans: words, features by hand, and what lexical features can and cannot find."""

from __future__ import annotations

import math

import pytest
import torch

from regard.data.example import Example
from regard.evaluate import squad_f1
from regard.systems.spans.baseline import _REACHES, WordRarity, answers, kind_of, words_of
from regard.systems.spans.diaries import Diaries
from tests.mechanism import assert_close


def example(question: str, context: str, answer: str) -> Example:
    return Example(
        {"question": question, "context": context, "answer": answer, "start": str(context.index(answer))}, ""
    )


def test_words_keep_their_places() -> None:
    text = "Zoë's  hat (3.5 kg) - São-Paulo."
    words = words_of(text)
    assert [text[word.begin : word.end].lower() for word in words] == [word.text for word in words]
    assert [word.text for word in words] == ["zoë's", "hat", "(", "3.5", "kg", ")", "-", "são-paulo", "."]
    assert [word.form for word in words][:5] == ["Aa", "a", "(", "0", "a"]


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who left?", "who"),
        ("In which town?", "which"),
        ("Show it", ""),
        ("What, how many", "how many"),
        ("Why", "why"),
    ],
)
def test_kinds_of_questions(question: str, kind: str) -> None:
    assert kind_of(question) == kind


def test_features_by_hand() -> None:
    lexicon = WordRarity.of(["ada left", "ada came"])
    assert lexicon.rarity == {"ada": 0.0, "left": math.log(2), "came": math.log(2)}
    found = lexicon.features(example("who left basel ?", "She left. Ada came", "Ada"))
    total = 3 * math.log(2)  # left, who and basel, the last two as rare as anything unseen
    assert (found.first, found.last) == (3, 3)
    left = math.log(2) / total
    assert_close(found.dense[:, 0], [left, left, left, 0.0, 0.0])  # the best sentence, and where it is
    assert found.dense[:, 1].tolist() == [1.0, 1.0, 1.0, 0.0, 0.0]
    assert found.dense[:, 2].tolist() == [0.0, 1.0, 0.0, 0.0, 0.0]
    assert_close(found.dense[:, 3], [0.0, 0.0, left, 0.0, 0.0])  # one word to the left
    assert_close(found.dense[:, 4], [left, 0.0, 0.0, 0.0, 0.0])  # one to the right
    assert found.dense.shape == (5, 3 + 2 * len(_REACHES))


def test_one_name_per_sentence_is_lexical_and_two_are_not() -> None:
    scores = {}
    for people in (None, 2):
        train, test = (
            list(Diaries(split, size=size, longest=6, people=people)) for split, size in (("train", 300), ("test", 60))
        )  # type: ignore[arg-type]
        torch.manual_seed(1)
        found = dict(answers(train, test, longest=15))
        references = [list(one.fields["answers"]) for one in test]
        scores[people] = {name: squad_f1(said, references).value for name, said in found.items()}
    assert scores[None]["logistic"] > 0.95
    assert scores[2]["logistic"] < 0.8
    assert scores[2]["sentence"] < scores[2]["logistic"]

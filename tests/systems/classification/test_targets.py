"""Forms of targets: losses and answers by hand, thresholds, baselines, models that answer together."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.data import Corpus, Jsonl, LabelSets, Numbers, Tokenizer, TokensField
from regard.data.fields.target_kinds import OneNumber, SeveralLabels
from regard.decode.search import Search
from regard.evaluate import label_set_f1
from regard.models.build import build
from regard.specials import IGNORE
from regard.systems.classification.targets.label_set import LabelSetTarget, best_threshold
from regard.systems.classification.targets.number import NumberTarget
from regard.systems.classification.task import Classification
from regard.tasks.class_weights import ClassWeights
from regard.tasks.ensemble import make_ensemble
from tests.tasks.test_labelling import Says

NAMES = ("a", "b", "c")


def sets(**options: object) -> LabelSetTarget:
    return LabelSetTarget(LabelSets(NAMES), **options)  # type: ignore[arg-type]


def odds(*chances: float) -> torch.Tensor:
    return torch.tensor([[math.log(one / (1 - one)) for one in chances]])


def test_the_loss_of_a_set_is_that_of_all_its_decisions() -> None:
    wanted = torch.tensor([[0, 2, IGNORE], [IGNORE, IGNORE, IGNORE]])
    total, nll = sets().loss(odds(0.9, 0.2, 0.6).expand(2, 3), wanted)
    first, second = math.log(0.9 * 0.8 * 0.6), math.log(0.1 * 0.8 * 0.4)
    assert float(nll) == float(total) == pytest.approx(-first - second)
    assert sets().count(wanted) == 2
    none = torch.full((2, 0), IGNORE)
    assert float(sets().loss(odds(0.9, 0.2, 0.6).expand(2, 3), none)[0]) == pytest.approx(-2 * second)


def test_smoothing_and_weights_are_of_what_is_minimised() -> None:
    logits, wanted = odds(0.9, 0.2, 0.6), torch.tensor([[0]])
    smooth, plain = sets().loss(logits, wanted, smoothing=0.2)
    right = [math.log(0.9), math.log(0.8), math.log(0.4)]
    wrong = [math.log(0.1), math.log(0.2), math.log(0.6)]
    assert float(smooth) == pytest.approx(-sum(0.9 * a + 0.1 * b for a, b in zip(right, wrong, strict=True)))
    assert float(plain) == pytest.approx(-sum(right))
    weighted, plain = sets().loss(logits, wanted, weights=ClassWeights((3.0, 5.0, 7.0)))
    assert float(weighted) == pytest.approx(-3 * right[0] - right[1] - right[2])  # of the texts that have the label
    assert float(plain) == pytest.approx(-sum(right))


def test_an_answer_is_all_labels_from_the_threshold_on() -> None:
    for threshold, named in ((0.5, ("a", "c")), (0.6, ("a", "c")), (0.61, ("a",)), (0.95, ()), (0.1, NAMES)):
        ((answer,),) = sets(separator="; ", threshold=threshold).answers(odds(0.9, 0.2, 0.6000001), 1)
        assert (answer.labels, answer.text) == (named, "; ".join(named))
        assert answer.scores == {"a": pytest.approx(0.9), "b": pytest.approx(0.2), "c": pytest.approx(0.6)}
        said = [p if name in named else 1 - p for name, p in zip(NAMES, (0.9, 0.2, 0.6), strict=True)]
        assert answer.score == pytest.approx(sum(map(math.log, said)), abs=1e-5)
    tuned = LabelSetTarget(LabelSets(NAMES, threshold=0.15), threshold=None)
    assert tuned.answers(odds(0.9, 0.2, 0.6), 1)[0][0].labels == NAMES


@given(st.lists(st.tuples(st.sampled_from((0.1, 0.3, 0.3, 0.7, 0.9)), st.booleans()), min_size=1, max_size=9))
def test_the_tuned_threshold_has_the_best_micro_f1(pairs: list[tuple[float, bool]]) -> None:
    chances, true = (np.array(side).reshape(-1, 1) for side in zip(*pairs, strict=True))

    def f1(threshold: float) -> float:
        claims = ["x" if chance >= threshold else "" for (chance,) in chances.tolist()]
        return label_set_f1(claims, ["x" if one else "" for (one,) in true.tolist()]).value

    best = max(f1(threshold) for threshold in (0.05, 0.2, 0.5, 0.8, 0.95))
    assert f1(best_threshold(chances, true)) == pytest.approx(best)
    assert 0 < best_threshold(chances, true) < 1


def test_a_number_by_hand() -> None:
    target = NumberTarget(Numbers(10.0, 2.0))
    total, nll = target.loss(torch.tensor([[0.5], [-1.0]]), torch.tensor([1.0, -1.0]))
    assert (float(total), float(nll)) == (0.25, 0.25)
    assert [one.text for (one,) in target.answers(torch.tensor([[0.5], [-1.0]]), 1)] == ["11", "8"]
    assert target.constant == "10"


def corpus(folder: Path, lines: list[str], kind: SeveralLabels | OneNumber) -> Corpus:
    path = folder / "a.jsonl"
    path.write_text("\n".join(lines))
    reader = Jsonl(path, {"text": "t", "label": "l"}, target_kind=kind)
    words = Tokenizer.train(["x"], kind="words")
    label = kind.field()
    label = label.with_encoder(label.learn(example.fields["label"] for example in reader))
    return Corpus.build(reader, {"text": TokensField(words), "label": label}, folder / "cache")


def test_the_floor_is_the_loss_of_an_answer_that_looks_at_nothing(tmp_path: Path) -> None:
    several = corpus(
        tmp_path, [f'{{"t": "x", "l": {one}}}' for one in ('["a"]', '["a", "b"]', "[]", '["c"]')], SeveralLabels()
    )
    chances = (0.5, 0.25, 0.25)
    wanted = torch.tensor([[0, IGNORE], [0, 1], [IGNORE, IGNORE], [2, IGNORE]])
    loss = sets().loss(odds(*chances).expand(4, 3), wanted)[0] / 4
    assert sets().unigram_loss(several, "label") == pytest.approx(float(loss))
    numbers = corpus(tmp_path, [f'{{"t": "x", "l": {one}}}' for one in (1, 2, 6)], OneNumber())
    assert NumberTarget(Numbers(3.0, 1.0)).unigram_loss(numbers, "label") == pytest.approx(1.0)


WORDS = Tokenizer.train(["a gem", "far too long"], kind="words")
SETS = Classification({"text": WORDS, "label": LabelSets(NAMES)}, target_of=LabelSetTarget)
NUMBER = Classification({"text": WORDS, "label": Numbers(10.0, 2.0)}, target_of=NumberTarget)


def test_models_answer_together_by_the_mean_of_what_they_say() -> None:
    both = make_ensemble(
        [Says(odds(0.9, 0.2, 0.6)[0].tolist()), Says(odds(0.5, 0.4, 0.2)[0].tolist())], mean=SETS.averaged
    )
    ((answer,),) = SETS.predict(both, ["a gem"], Search())
    assert answer.scores == {"a": pytest.approx(0.7), "b": pytest.approx(0.3), "c": pytest.approx(0.4)}
    assert answer.labels == ("a",)
    far = make_ensemble([Says([200.0, -200.0, 0.0]), Says([200.0, -200.0, 0.0])], mean=SETS.averaged)
    ((sure,),) = SETS.predict(far, ["a gem"], Search())
    assert sure.scores == {"a": 1.0, "b": 0.0, "c": 0.5}
    ((mean,),) = NUMBER.predict(make_ensemble([Says([1.0]), Says([-0.5])], mean=NUMBER.averaged), ["a gem"], Search())
    assert (mean.text, mean.score, mean.log_probs, mean.scores) == ("10.5", 10.5, (), None)


@pytest.mark.parametrize("task", [SETS, NUMBER])
def test_there_is_one_answer(task: Classification) -> None:
    with pytest.raises(ValueError, match="n_best=2"):
        task.predict(Says([0.0] * task.encoders["label"].size), ["a gem"], Search(n_best=2))


def test_one_label_is_as_it_was() -> None:
    from tests.tasks.test_labelling import classification, log

    task = classification()
    each = [log(0.5, 0.25, 0.25), log(0.1, 0.8, 0.1)]
    both = make_ensemble([Says(one) for one in each], mean=task.averaged)
    (answers,) = task.predict(both, ["a gem"], Search(n_best=3))
    assert [(one.text, round(math.exp(one.score), 5)) for one in answers] == [
        ("fair", 0.525),
        ("bad", 0.3),
        ("good", 0.175),
    ]
    assert task.class_scores([], []) is None
    assert all(one.scores is None for one in answers)


def test_gradients_reach_every_output() -> None:
    logits = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    for smoothing, wanted in itertools.product((0.0, 0.1), ([[0, 1], [2, IGNORE]], [[IGNORE], [IGNORE]])):
        labels = torch.tensor(wanted)

        def loss(given: torch.Tensor, labels: torch.Tensor = labels, smoothing: float = smoothing) -> torch.Tensor:
            return sets().loss(given, labels, smoothing=smoothing)[0]

        assert torch.autograd.gradcheck(loss, logits)


@pytest.mark.parametrize("kind", ["labels", "number"])
def test_updates_of_sets_and_numbers_are_not_recorded(kind: str) -> None:
    """Rows that fill up a recorded batch would count: only a single label can be left out of the loss."""
    target = sets() if kind == "labels" else NumberTarget(Numbers(10.0, 2.0))
    encoder = LabelSets(NAMES) if kind == "labels" else Numbers(10.0, 2.0)
    words = Tokenizer.train(["a b"], kind="words")
    acceptor = build("acceptor", words.size, encoder.size, encoder={"kind": "rnn", "hidden_dim": 4})
    made = Classification({"text": words, "label": encoder}, target_of=lambda _: target)
    assert made.unrolling(acceptor) is None

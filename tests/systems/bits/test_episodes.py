"""The five tasks of Neural Turing Machines, as they are drawn and as they are written down."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from regard.data.problems import DataError
from regard.systems.bits.episodes import (
    ALGORITHMS,
    Algorithm,
    AssociativeRecall,
    Copy,
    Drawn,
    Episodes,
    Ngrams,
    PrioritySort,
    RepeatCopy,
)
from regard.systems.bits.sections import EpisodeData

TASKS: dict[str, Algorithm] = {
    "copy": Copy(bits=3, longest=7),
    "repeat_copy": RepeatCopy(bits=3, longest=5, most=4),
    "associative_recall": AssociativeRecall(bits=5, vectors=2, most=4),
    "ngrams": Ngrams(length=23, order=3),
    "priority_sort": PrioritySort(bits=3, vectors=7, highest=5),
}
every_task = pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))


def test_every_task_is_tried() -> None:
    assert {name: type(task) for name, task in TASKS.items()} == ALGORITHMS


@every_task
def test_shapes_and_bits(task: Algorithm) -> None:
    episodes = task.draw(11, 1, 2)
    count, steps, width = episodes.inputs.shape
    assert (count, width) == (11, task.input_dim)
    assert episodes.targets.shape == (11, steps, task.output_dim)
    assert episodes.asked.shape == (11, steps)
    assert episodes.inputs.dtype == episodes.targets.dtype == np.float32
    assert set(np.unique(episodes.targets)) == {0.0, 1.0}
    assert episodes.bits == episodes.asked.sum() * task.output_dim
    batch = episodes.batch(first=22, rank=1, world=3)
    assert batch.indices == (23, 26, 29, 32)
    assert batch["inputs"].tolist() == episodes.inputs[1::3].tolist()
    assert batch.tokens == int(batch["asked"].sum()) * task.output_dim


@every_task
def test_a_draw_is_a_function_of_its_seeds(task: Algorithm) -> None:
    first, again, other = task.draw(5, 1), task.draw(5, 1), task.draw(5, 2)
    assert np.array_equal(first.inputs, again.inputs)
    assert first.inputs.shape != other.inputs.shape or not np.array_equal(first.inputs, other.inputs)


@every_task
def test_the_text_of_a_question_gives_its_inputs_again(task: Algorithm) -> None:
    for seed in range(9):
        episodes = task.draw(3, seed)
        for inputs, asked in zip(episodes.inputs, episodes.asked, strict=True):
            laid = task.lay(task.question(inputs))
            np.testing.assert_array_equal(laid.inputs, inputs)
            np.testing.assert_array_equal(laid.asked, asked)
            assert len(laid.steps) == len(inputs)
            assert 1 <= laid.entries <= task.entries


def rule(task: Algorithm, question: str) -> list[str]:
    """What is right, worked out from the text alone."""
    words = question.split()
    if isinstance(task, RepeatCopy):
        return [f"{word}0" for word in words[:-1]] * int(words[-1][1:]) + ["0" * task.bits + "1"]
    if isinstance(task, AssociativeRecall):
        told, query, _ = (part.strip() for part in question.split("?"))
        items = [item.strip() for item in told.split("|")[1:]]
        return items[items.index(query) + 1].split()
    if isinstance(task, PrioritySort):
        pairs = [(word.split(":")[0], float(word.split(":")[1])) for word in words]
        return [bits for bits, _ in sorted(pairs, key=lambda pair: -pair[1])][: task.highest]
    return words


@pytest.mark.parametrize("name", sorted(set(TASKS) - {"ngrams"}))
def test_answers_follow_the_rule(name: str) -> None:
    task = TASKS[name]
    for seed in range(20):
        for example in Drawn(task, "test", size=2, seed=seed):
            source, target = example.fields["source"], example.fields["target"]
            assert isinstance(source, str)
            assert isinstance(target, str)
            assert target.split() == rule(task, source)


def test_all_lengths_are_drawn() -> None:
    copies, repeats = Copy(shortest=2, longest=5), RepeatCopy(shortest=1, longest=3, least=2, most=3)
    assert {copies.draw(1, seed).inputs.shape[1] for seed in range(60)} == {5, 7, 9, 11}
    assert {repeats.question(repeats.draw(1, seed).inputs[0])[-2:] for seed in range(30)} == {"x2", "x3"}
    recall = AssociativeRecall(fewest=2, most=4)
    asked = {recall.question(recall.draw(1, seed).inputs[0]).count("|") for seed in range(30)}
    assert asked == {2, 3, 4}


def test_what_is_asked_for_is_not_read() -> None:
    """While a copy is said there is nothing on the inputs; the mark stands on a channel of its own."""
    episodes = Copy(bits=5, shortest=4, longest=4).draw(7, 3)
    assert not episodes.inputs[:, 5:].any()
    assert not episodes.inputs[:, :4, 5].any()
    assert episodes.inputs[:, 4].tolist() == [[0.0] * 5 + [1.0]] * 7
    assert episodes.asked[0].tolist() == [False] * 5 + [True] * 4


def test_the_number_of_repeats_has_mean_zero_and_variance_one() -> None:
    tasks = [RepeatCopy(shortest=1, longest=1, least=times, most=times) for times in range(1, 11)]
    numbers = np.array([task.draw(1, 0).inputs[0, 1, 8] for task in tasks])
    assert numbers.mean() == pytest.approx(0, abs=1e-6)
    assert numbers.std() == pytest.approx(1, abs=1e-6)


def test_ngrams_follow_a_table() -> None:
    """With N = 1 a sequence is throws of one coin, whose chance is spread as Beta(1/2, 1/2): mean 1/2, variance 1/8."""
    bits = Ngrams(length=400, order=1).draw(2000, 1).targets[:, :, 0]
    shares = bits.mean(1)
    assert shares.mean() == pytest.approx(0.5, abs=0.03)
    assert shares.var() == pytest.approx(1 / 8, abs=0.01)


def test_the_best_guess_of_a_bit_by_hand() -> None:
    """0 0 1 0 0 with N = 2: the first is fair, then 1/2, then after one 0-0: 1/4, then after 1: 1/2, then 2/4 ..."""
    task = Ngrams(length=5, order=2)
    bits = np.array([[0.0, 0.0, 1.0, 0.0, 0.0]], np.float32)
    np.testing.assert_allclose(task.optimal(bits), [[0.5, 0.5, 0.5 / 2, 0.5, 1.5 / 3]])
    whole = Episodes(np.zeros((1, 5, 2), np.float32), bits[:, :, None], np.ones((1, 5), np.bool_))
    assert task.optimum(whole) == pytest.approx(1 + 1 + 2 + 1 + 1)


def test_the_optimum_is_that_of_the_paper() -> None:
    """133 bits a sequence of 200, by its figure 13."""
    task = Ngrams()
    assert task.optimum(task.draw(1500, 1)) / 1500 == pytest.approx(133, abs=2)
    assert Copy().optimum(Copy().draw(2, 1)) == 0.0


def test_no_guess_is_better_than_the_best() -> None:
    task = Ngrams(length=60, order=2)
    episodes = task.draw(500, 4)
    bits = episodes.targets[:, :, 0]
    best = task.optimal(bits)

    def cost(chances: Any) -> float:
        return float(-np.log2(np.where(bits > 0.5, chances, 1 - chances)).sum())

    assert cost(best) == pytest.approx(task.optimum(episodes))
    assert all(cost(np.clip(best + shift, 0.01, 0.99)) > cost(best) for shift in (-0.05, 0.05))
    assert cost(np.full_like(best, 0.5)) > cost(best)


def test_splits_differ_and_sizes_are_kept() -> None:
    parts = [list(Drawn(TASKS["copy"], name, size=37)) for name in ("train", "valid", "test")]
    assert [len(part) for part in parts] == [37] * 3
    assert len({str([example.fields for example in part]) for part in parts}) == 3
    assert parts[1][33].where == "Copy.valid:33"


@pytest.mark.parametrize(
    ("name", "question", "sentence"),
    [
        ("copy", "", "a question to copy has at least one vector of bits"),
        ("copy", "010 01", "'01' in the question '010 01' is no vector of 3 bits, 0 or 1 each"),
        ("copy", "010 012", "'012' in the question '010 012' is no vector of 3 bits"),
        ("associative_recall", "| 01010 01010 | 11111 11111 ? 00000 00000 ?", "be an item that another comes after"),
        ("associative_recall", "| 01010 01010 | 11111 11111 ? 11111 11111 ?", "be an item that another comes after"),
        ("repeat_copy", "010", "is vectors and how often, 0110 1001 x3; got '010'"),
        ("repeat_copy", "010 x0", "got '010 x0'"),
        ("associative_recall", "01010 10101", "items of 2 vectors behind '|', and one of them between '?'"),
        ("associative_recall", "| 01010 10101 | 01010 ? 01010 10101 ?", "items of 2 vectors"),
        ("ngrams", "0120", "a question of N-grams is bits, 0 or 1 each; got '0120'"),
        ("ngrams", " ", "a question of N-grams is bits"),
        ("priority_sort", "010:0.5", "5 of the vectors are sorted, so a question has at least so many"),
        ("priority_sort", "010:0.5 " * 4 + "010", "'010' in the question is a vector without a priority from -1 to 1"),
        ("priority_sort", "010:2 " * 5, "'010:2' in the question is a vector without a priority from -1 to 1"),
    ],
)
def test_questions_that_are_none_are_one_sentence(name: str, question: str, sentence: str) -> None:
    with pytest.raises(DataError) as found:
        TASKS[name].lay(question)
    assert sentence in str(found.value)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Copy(shortest=5, longest=4), "'shortest' is 5 and 'longest' is 4"),
        (lambda: RepeatCopy(least=3, most=2), "'least' is 3 and 'most' is 2"),
        (lambda: AssociativeRecall(fewest=1), "fewest is 1; an item that comes after another needs at least 2"),
        (lambda: Ngrams(length=5, order=6), "order is 6; it lies between 1 and 16, and within the length 5"),
        (lambda: PrioritySort(vectors=3, highest=4), "highest is 4; it lies between 1 and vectors, 3"),
    ],
)
def test_tasks_that_make_no_sense_are_one_sentence(make: Any, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        make()


def test_recipes_know_the_defaults_of_each_task() -> None:
    for section in EpisodeData.__subclasses__():
        (name,) = section.model_fields["format"].annotation.__args__  # type: ignore[union-attr]
        assert ALGORITHMS[name](**section(format=name).rule()) == ALGORITHMS[name]()

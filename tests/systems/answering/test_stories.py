"""Stories: files of bAbI, a small world, and their way into batches."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.data import Collator, Corpus, DataError, Sentences, Stories, StoryField, Tokenizer, TokensField
from regard.data.fields.padding import nested
from regard.systems.answering.world import Asked, World

TEXT = """\
1 Mary went to the garden.
2 John ran home.
3 Where is Mary? \tgarden\t1
4 Mary left.
5 What do they have?\tapple,milk
1 Daniel is tired.
2 Why did Daniel go?\ttired\t1
"""


def put(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def refused(reader: Stories) -> str:
    with pytest.raises(DataError) as caught:
        list(reader)
    return str(caught.value)


def test_a_question_comes_with_all_that_was_told_before_it(tmp_path: Path) -> None:
    path = put(tmp_path / "a.txt", TEXT)
    first, second, third = Stories(path)
    assert first.fields == {
        "story": ["Mary went to the garden", "John ran home"],
        "question": "Where is Mary",
        "answer": "garden",
    }
    assert second.fields["story"] == ["Mary went to the garden", "John ran home", "Mary left"]
    assert second.fields["answer"] == "apple,milk"
    assert third.fields["story"] == ["Daniel is tired"]
    assert [one.where for one in (first, second, third)] == [f"{path}:{number}" for number in (3, 5, 7)]


def test_a_star_stands_for_several_files(tmp_path: Path) -> None:
    for name in ("qa2_train.txt", "qa1_train.txt", "qa1_test.txt"):
        put(tmp_path / name, f"1 {name}.\n2 What?\tyes\n")
    told = [example.fields["story"] for example in Stories(tmp_path / "qa*_train.txt")]
    assert told == [["qa1_train.txt"], ["qa2_train.txt"]]
    assert "there is no file of such a name" in refused(Stories(tmp_path / "qb*.txt"))


@pytest.mark.parametrize(
    ("text", "where", "why"),
    [
        ("1 Mary left.\nJohn left.\n", 2, "the line is not a number, a space and a sentence"),
        ("1 Mary left.\n2\n", 2, "the line is not a number, a space and a sentence"),
        ("1 Mary left.\n3 John left.\n", 2, "the line has the number 3 behind 1; it goes on with 2 or 1"),
        ("1 Mary left.\n2 Where is she?\tin the garden\t1\n", 2, "the answer 'in the garden' is not one word"),
        ("1 Mary left.\n2 Where is she?\t\t1\n", 2, "the question has a tab behind it and no answer"),
        ("1 Mary left.\n2 Where is she?\t\n", 2, "the question has a tab behind it and no answer"),
        ("2 Mary left.\n", 1, "the line has the number 2 and a story begins with 1"),
        (f"{'1' * 5000} Mary left.\n", 1, "the line is not a number, a space and a sentence"),
        ("1 Mary left.\n2 ?\tgarden\n", 2, "the line has an answer and no question"),
    ],
)
def test_a_bad_line_is_named_or_skipped(tmp_path: Path, text: str, where: int, why: str) -> None:
    path = put(tmp_path / "a.txt", text + "1 John left.\n2 Who left?\tJohn\n")
    assert refused(Stories(path)).startswith(f"{path}:{where}: {why}")
    skipping = Stories(path, bad_lines="skip")
    assert [example.fields["answer"] for example in skipping][-1] == "John"
    assert skipping.skipped.count == 1


def test_a_text_is_cut_into_sentences() -> None:
    assert Sentences.of("Mary left!  Where is she? ") == ["Mary left", "Where is she"]
    assert Sentences.of("Dr. No left\tWho left") == ["Dr. No left", "Who left"]
    assert Sentences.of("Who left") == ["Who left"]
    assert Sentences.of(" ") == []


def test_stories_become_batches(tmp_path: Path) -> None:
    stories = Stories(put(tmp_path / "a.txt", TEXT))
    texts = [" ".join([*e.fields["story"], str(e.fields["question"]), str(e.fields["answer"])]) for e in stories]
    words = Tokenizer.train(texts, kind="words", split="whitespace")
    corpus = Corpus.build(
        stories,
        {"story": StoryField(words), "question": TokensField(words), "answer": TokensField(words)},
        tmp_path / "cache",
    )
    batch = Collator(corpus, counted="answer")([2, 0, 1])
    assert batch["story"].shape == (3, 3, 5)
    assert batch["story_lengths"].tolist() == [1, 2, 3]
    assert words.decode(batch["story"][1, 1].tolist()) == "John ran home"
    assert not batch["story"][0, 1:].any()
    assert (batch["question"].shape, batch["answer"].shape, batch.tokens) == ((3, 4), (3, 1), 3)


def test_stories_without_sentences_have_no_memory() -> None:
    words, count = nested([[], []])
    assert words.shape == (2, 0, 0)
    assert count.tolist() == [0, 0]


def after(story: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Where people and things are after a story, and who holds what: told anew, from the words alone."""
    places: dict[str, str] = {}
    holders: dict[str, str] = {}
    for sentence in story:
        person, verb, *_, last = sentence.split()
        if verb in ("walked", "ran", "went"):
            places[person] = last
            places.update({thing: last for thing, holder in holders.items() if holder == person})
        elif verb in ("took", "picked"):
            assert last not in holders
            assert places.get(last, places[person]) == places[person]
            holders[last], places[last] = person, places[person]
        else:
            assert holders.pop(last) == person
    return places, holders


@pytest.mark.parametrize("asked", ["one_fact", "two_facts", "yes_no", "counting"])
def test_the_world_answers_right(asked: Asked) -> None:
    answers = set()
    for example in World(asked, size=300):
        places, holders = after(list(example.fields["story"]))
        words, answer = str(example.fields["question"]).split(), example.fields["answer"]
        answers.add(answer)
        if asked == "yes_no":
            assert answer == ("yes" if places[words[1]] == words[-1] else "no")
        elif asked == "counting":
            held = list(holders.values()).count(words[-2])
            assert answer == ("none", "one", "two", "three")[held]
        else:
            assert answer == places[words[-1]]
    assert len(answers) == {"yes_no": 2, "counting": 4}.get(asked, 6)


def test_a_story_is_in_one_split_and_a_function_of_its_number() -> None:
    parts = [
        {" ".join(e.fields["story"]) for e in World("one_fact", part, size=300)} for part in ("train", "valid", "test")
    ]
    assert len(set().union(*parts)) == sum(map(len, parts)) > 850
    assert list(World(size=20)) == list(World(size=40))[:20] != list(World(size=20, seed=1))
    lengths = {len(e.fields["story"]) for e in World(size=200, shortest=5, longest=7)}
    assert lengths == {5, 6, 7}


def test_a_wrong_world_is_one_sentence() -> None:
    with pytest.raises(DataError, match="nobody asks 'why' of the world; there are one_fact, two_facts"):
        World("why")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="split is 'dev'; it can be train, valid, test"):
        World("one_fact", "dev")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="stories of 4 to 3 sentences"):
        World(longest=3)
    with pytest.raises(IndexError):
        World(size=3)[3]

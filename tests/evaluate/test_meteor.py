"""METEOR and the alignment under it."""

from __future__ import annotations

from itertools import pairwise, product
from random import Random

import pytest

from regard.evaluate import MeteorParameters, align_words, meteor, meteor_tally, metric

SENSES = {"car": {"1"}, "automobile": {"1"}, "auto": {"1", "2"}, "quick": {"3"}, "fast": {"3"}}


def senses(word: str) -> set[str]:
    return SENSES.get(word.rstrip("s"), set())


def stem(word: str) -> str:
    return word.rstrip("s")


def test_the_two_sentences_of_three_chunks_by_hand() -> None:
    """All 6 words match in the chunks "on the mat", "sat", "the cat": F = 1, penalty 0.5 (3/6)³."""
    found = meteor(["on the mat sat the cat"], ["the cat sat on the mat"])
    assert found.value == pytest.approx(1 - 0.5 * (3 / 6) ** 3)


def test_precision_and_recall_by_hand() -> None:
    """4 of 5 words match 4 of 7: P = 4/5, R = 4/7, chunks "the cat" and "the mat"."""
    found = meteor(["the cat near the mat"], ["the cat sat down on the mat"])
    precision, recall = 4 / 5, 4 / 7
    expected = 10 * precision * recall / (recall + 9 * precision) * (1 - 0.5 * (2 / 4) ** 3)
    assert found.value == pytest.approx(expected)


def test_stems_match_in_the_second_stage() -> None:
    texts, references = ["the cats visited"], ["the cat visits"]
    assert meteor(texts, references).value == pytest.approx(1 - 0.5 / 27)
    exact = meteor(texts, references, stages=["exact"])
    assert exact.value == pytest.approx(1 / 3 * 0.5)
    assert "stages:exact|" in exact.signature


def test_synonyms_match_in_the_third_stage(tmp_path) -> None:  # type: ignore[no-untyped-def]
    for part in ("noun", "verb", "adj", "adv"):
        (tmp_path / f"index.{part}").write_text("")
    (tmp_path / "index.noun").write_text("automobile n 1 0 1 1 02958343\ncar n 1 0 1 1 02958343\n")
    texts, references = ["a red automobile"], ["a red car"]
    assert meteor(texts, references, wordnet=tmp_path).value == pytest.approx(1 - 0.5 / 27)
    assert "stages:exact+stem+synonym|wordnet:unknown" in meteor(texts, references, wordnet=str(tmp_path)).signature
    assert meteor(texts, references).value == pytest.approx(2 / 3 * (1 - 0.5 / 8))
    assert "synonym" not in meteor(texts, references, wordnet=tmp_path, stages=["exact", "stem"]).signature
    with pytest.raises(ValueError, match="the stage 'synonym' needs WordNet"):
        meteor(texts, references, stages=["exact", "synonym"])


# nltk 3.10.4, meteor_score with stems (Martin's Porter stemmer) and without WordNet.
NLTK = {
    ("the dogs run through shallow water", "a dog is running through water"): 0.526042,
    ("two children play on a beach", "on a sunny beach two kids played"): 0.53913,
    ("a man rides his bike up the hill", "the man is riding a bicycle up that hill"): 0.337079,
    ("no words match here", "something else entirely"): 0.0,
}


@pytest.mark.parametrize("pair", NLTK, ids="; ".join)
def test_sentences_without_repeated_words_score_as_in_nltk(pair: tuple[str, str]) -> None:
    hypothesis, reference = pair
    assert meteor([hypothesis], [reference], tokenize="none").value == pytest.approx(NLTK[pair], abs=5e-7)


def test_repeated_words_have_the_fewest_chunks_where_nltk_is_greedy() -> None:
    """6 of 7 words match in the chunks "a red ball" and "a blue cup"; nltk finds four chunks and 0.730159."""
    found = meteor(["a red ball and a blue cup"], ["a blue cup beside a red ball"], tokenize="none")
    mean = 10 * (6 / 7) * (6 / 7) / (6 / 7 + 9 * 6 / 7)
    assert found.value == pytest.approx(mean * (1 - 0.5 * (2 / 6) ** 3), abs=5e-7)
    greedy = mean * (1 - 0.5 * (4 / 6) ** 3)
    assert greedy == pytest.approx(0.730159, abs=5e-7)


def test_the_best_reference_counts() -> None:
    texts = ["the cat sat"]
    several = meteor(texts, [["a dog", "the cat sat", "the cat stood"]])
    assert several.value == meteor(texts, ["the cat sat"]).value
    assert "nrefs:3" in several.signature


def test_a_corpus_sums_counts_before_the_formula() -> None:
    """Rows are matches, lengths and chunks; one sentence without a match does not vanish from the lengths."""
    texts, references = ["the cat sat", "yes"], ["the cat sat", "no"]
    assert meteor_tally(texts, references).rows.tolist() == [[3, 3, 3, 1], [0, 1, 1, 0]]
    assert meteor(texts, references).value == pytest.approx(3 / 4 * (1 - 0.5 / 27))


def test_nothing_in_common_is_zero() -> None:
    assert meteor(["yes"], ["no"]).value == 0.0
    assert meteor([""], ["no"]).value == 0.0
    assert meteor(["yes"], [""]).value == 0.0


def test_weights_can_be_those_of_another_version() -> None:
    found = metric("meteor", weighing=[0.5, 1.0, 0.0])(["a b"], ["a b c d"])
    assert found.value == pytest.approx(2 / 3)  # the plain F1 of P = 1 and R = 1/2
    assert "a:0.5|b:1.0|g:0.0" in found.signature
    assert MeteorParameters()(1, 1, 1, 1) == 0.5
    with pytest.raises(ValueError, match=r"weighing must be \(alpha, beta, gamma\); got \[0.5\]"):
        meteor(["a"], ["a"], weighing=[0.5])


def test_bad_stages_are_named() -> None:
    with pytest.raises(ValueError, match="no stage 'stems'; did you mean 'stem'"):
        meteor(["a"], ["a"], stages=["exact", "stems"])
    with pytest.raises(ValueError, match="'exact' cannot be left out"):
        meteor(["a"], ["a"], stages=["stem"])


def test_an_exact_match_is_chosen_with_the_stems_to_come_in_mind() -> None:
    """Of two "a" the one before "dogs" makes one chunk; looking at equal words alone, either would do."""
    found = align_words(["a", "cow", "a", "dogs"], ["a", "dog"], stem=stem)
    assert found.links == ((2, 0, "exact"), (3, 1, "stem"))
    assert found.chunks == 1


def test_a_word_is_linked_once_and_the_earlier_stage_goes_first() -> None:
    found = align_words(["dogs", "dog"], ["dog"], stem=stem)
    assert found.links == ((1, 0, "exact"),)


def brute_force(system: list[str], reference: list[str]) -> tuple[int, int, int, int]:
    """Every one-to-one alignment: most exact links, then stem links, then synonyms, then fewest chunks."""

    def stage(a: str, b: str) -> int | None:
        if a == b:
            return 0
        if stem(a) == stem(b):
            return 1
        return 2 if senses(a) & senses(b) else None

    choices = [[None, *(to for to, other in enumerate(reference) if stage(word, other) is not None)] for word in system]
    best = (0, 0, 0, 0)
    for picks in product(*choices):
        linked = [to for to in picks if to is not None]
        if len(set(linked)) < len(linked):
            continue
        stages = [stage(system[at], reference[to]) for at, to in enumerate(picks) if to is not None]
        joined = sum(a is not None and b == a + 1 for a, b in pairwise(picks))
        best = max(best, (stages.count(0), stages.count(1), stages.count(2), joined - len(linked)))
    return best


def test_the_alignment_is_the_best_of_all() -> None:
    words = Random(1)
    vocabulary = ["car", "cars", "automobile", "auto", "autos", "fast", "quick", "the", "the"]
    for _ in range(400):
        system, reference = ([words.choice(vocabulary) for _ in range(words.randint(0, 6))] for _ in range(2))
        found = align_words(system, reference, stem=stem, senses=senses)
        kinds = [kind for _, _, kind in found.links]
        counts = (kinds.count("exact"), kinds.count("stem"), kinds.count("synonym"), -found.chunks)
        assert counts == brute_force(system, reference), (system, reference)


def test_a_long_repetitive_sentence_meets_the_quota() -> None:
    words = Random(2)
    system, reference = ([words.choice("abc") for _ in range(80)] for _ in range(2))
    found = align_words(system, reference)
    assert len(found.links) == sum(min(system.count(w), reference.count(w)) for w in "abc")
    assert len({to for _, to, _ in found.links}) == len(found.links)
    broken = sum(b[:2] != (a[0] + 1, a[1] + 1) for a, b in pairwise(found.links))
    assert found.chunks == 1 + broken


def test_two_halves_that_change_places_are_two_chunks_however_long() -> None:
    words = Random(4)
    vocabulary = [*"abcdefghij", "the", "the", "the", "a", "a", "of"]
    for _ in range(10):
        reference = words.choices(vocabulary, k=60)
        assert align_words(reference[25:] + reference[:25], reference).chunks <= 2

"""Baselines of cloze questions, to be read beside results: `python -m benchmarks.baselines RECIPE`.

- Most frequent: the candidate that stands most often in the passage, the first of equals.
- Last: the candidate that stands last in the passage.
- Overlap: the candidate around which most words of the question stand, in a window as long as the question (Richardson
  et al. 2013, section 4.1; words count by the logarithm of their inverse frequency in the passage).
- Trigrams: the candidate that makes the question likeliest by the trigrams of its own passage.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from regard.data.example import Example
from regard.recipes.sections import Recipe
from regard.systems.cloze.question import BLANK
from regard.systems.cloze.word_ngrams import WordNGrams
from regard.tasks.splits import examples

Guess = Callable[[Sequence[str], Sequence[str], Sequence[str]], str]
"""From passage, question and candidates to an answer."""


def most_frequent(passage: Sequence[str], question: Sequence[str], candidates: Sequence[str]) -> str:
    """Return the most frequent candidate.

    >>> most_frequent("Ann saw Bo and Bo ran".split(), [], ["Ann", "Bo"])
    'Bo'
    """
    counts = Counter(passage)
    return max(candidates, key=lambda one: counts[one])


def last_mentioned(passage: Sequence[str], question: Sequence[str], candidates: Sequence[str]) -> str:
    """Return the candidate that stands last.

    >>> last_mentioned("Ann saw Bo and Bo ran to Ann".split(), [], ["Ann", "Bo"])
    'Ann'
    """
    last = {word: place for place, word in enumerate(passage)}
    return max(candidates, key=lambda one: last.get(one, -1))


def overlap(passage: Sequence[str], question: Sequence[str], candidates: Sequence[str]) -> str:
    """Return the candidate in whose best window most words of the question stand.

    >>> overlap("Ann saw the sea . Bo ran home .".split(), "XXXXX ran".split(), ["Ann", "Bo"])
    'Bo'
    """
    counts, half = Counter(passage), max(len(question) // 2, 1)
    wanted = {word: math.log(1 + 1 / counts[word]) for word in set(question) if counts[word] and word != BLANK}
    best = dict.fromkeys(candidates, -1.0)
    for place, word in enumerate(passage):
        if word in best:
            around = set(passage[max(0, place - half) : place + half + 1])
            best[word] = max(best[word], sum(wanted[one] for one in around if one in wanted))
    return max(candidates, key=lambda one: best[one])


def trigrams(passage: Sequence[str], question: Sequence[str], candidates: Sequence[str]) -> str:
    """Return the candidate that makes the question likeliest by trigrams of the passage.

    >>> trigrams("the sea , said Ann . Bo ran home".split(), "a fish , said XXXXX .".split(), ["Bo", "Ann"])
    'Ann'
    """
    filled = [[candidate if word == BLANK else word for word in question] for candidate in candidates]
    numbers = {word: number for number, word in enumerate(dict.fromkeys((*passage, *candidates, *question)))}
    model = WordNGrams.of([[numbers[word] for word in passage]], len(numbers))
    return candidates[int(model.log_probs([[numbers[word] for word in one] for one in filled]).argmax())]


GUESSES: dict[str, Guess] = {
    "most frequent candidate": most_frequent,
    "last candidate": last_mentioned,
    "overlap of words": overlap,
    "trigrams of the passage": trigrams,
}


def accuracy(guess: Guess, asked: Sequence[Example]) -> float:
    """Return the share of right answers; candidates are those of an example, or all words of its passage."""
    right = 0
    for example in asked:
        passage, question = " ".join(example.fields["passage"]).split(), example.fields["question"].split()
        candidates = example.fields["candidates"] or list(dict.fromkeys(passage))
        right += guess(passage, question, candidates) == example.fields["answer"]
    return right / len(asked)


def baselines(recipe: Recipe) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield name and accuracy of each baseline on the test split."""
    test = examples(recipe, "test")
    if test is None:
        raise SystemExit("the recipe names no test split")
    asked = list(test)
    for name, guess in GUESSES.items():
        yield name, {"accuracy": accuracy(guess, asked)}

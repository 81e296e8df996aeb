"""Baselines of cloze questions, to compare results with: `python -m benchmarks.baselines RECIPE`.

- Most frequent: the most frequent candidate in the passage; ties go to the first.
- Last: the candidate that occurs last in the passage.
- Overlap: the candidate whose surrounding window, as long as the question, shares most words with the question
  (Richardson et al. 2013, section 4.1; words are weighted by their log inverse frequency in the passage).
- Trigrams: the candidate for which trigrams of the passage give the question the highest probability.
- Counts and language models: the re-ranker with the frequency of a candidate in place of a reader, its weights tuned on
  the validation data. The gain over this baseline is the contribution of a reader.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import get_args

from regard.data.example import Example
from regard.data.fields.tokenizer import Tokenizer
from regard.data.word_ngrams import WordNGrams
from regard.recipes.data_section import SplitName
from regard.recipes.sections import Recipe
from regard.systems.cloze.mira import Floats
from regard.systems.cloze.question import BLANK
from regard.systems.cloze.reranker import LanguageModelReranker, distinct_sentences
from regard.tasks.splits import examples

_WORDS = 15000  # vocabulary size of the language models
Guess = Callable[[Sequence[str], Sequence[str], Sequence[str]], str]
"""A function of passage, question and candidates that returns an answer."""


def most_frequent(passage: Sequence[str], question: Sequence[str], candidates: Sequence[str]) -> str:
    """Return the most frequent candidate.

    >>> most_frequent("Ann saw Bo and Bo ran".split(), [], ["Ann", "Bo"])
    'Bo'
    """
    counts = Counter(passage)
    return max(candidates, key=lambda one: counts[one])


def last_mentioned(passage: Sequence[str], question: Sequence[str], candidates: Sequence[str]) -> str:
    """Return the candidate that occurs last in the passage.

    >>> last_mentioned("Ann saw Bo and Bo ran to Ann".split(), [], ["Ann", "Bo"])
    'Ann'
    """
    last = {word: place for place, word in enumerate(passage)}
    return max(candidates, key=lambda one: last.get(one, -1))


def overlap(passage: Sequence[str], question: Sequence[str], candidates: Sequence[str]) -> str:
    """Return the candidate whose best window shares most words with the question.

    >>> overlap("Ann saw the sea . Bo ran home .".split(), "XXXXX ran".split(), ["Ann", "Bo"])
    'Bo'
    """
    counts, half = Counter(passage), max(len(question) // 2, 1)
    wanted = {
        word: math.log(1 + 1 / counts[word]) for word in dict.fromkeys(question) if counts[word] and word != BLANK
    }
    best = dict.fromkeys(candidates, -1.0)
    for place, word in enumerate(passage):
        if word in best:
            around = set(passage[max(0, place - half) : place + half + 1])
            best[word] = max(best[word], sum(weight for one, weight in wanted.items() if one in around))
    return max(candidates, key=lambda one: best[one])


def trigrams(passage: Sequence[str], question: Sequence[str], candidates: Sequence[str]) -> str:
    """Return the candidate for which trigrams of the passage give the question the highest probability.

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
    """Return the accuracy; the candidates are those of an example, or all words of its passage."""
    right = 0
    for example in asked:
        passage, question = " ".join(example.fields["passage"]).split(), example.fields["question"].split()
        candidates = example.fields["candidates"] or list(dict.fromkeys(passage))
        right += guess(passage, question, candidates) == example.fields["answer"]
    return right / len(asked)


def reranked_counts(train: Sequence[Example], valid: Sequence[Example], test: Sequence[Example]) -> float:
    """Return the test accuracy of a re-ranker that uses candidate frequencies in place of a reader."""
    told = distinct_sentences(train)
    words = Tokenizer.train(iter(told), kind="words", split="whitespace", size=_WORDS)
    reranker = LanguageModelReranker.of(words.encode_all(told), words.size)
    tuned = reranker.tuned(*zip(*(_features(reranker, words, one) for one in valid), strict=True))
    found = [_features(tuned, words, one) for one in test]
    return sum(int(tuned.scores(features).argmax()) == right for features, right in found) / len(found)


def _features(reranker: LanguageModelReranker, words: Tokenizer, example: Example) -> tuple[Floats, int]:
    """Return the features of all candidates, and the index of the right one."""
    fields = example.fields
    counts = Counter(" ".join(fields["passage"]).split())
    names = fields["candidates"] or list(counts)
    filled = [fields["question"].replace(BLANK, name) for name in names]
    numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))
    passage, local = (
        [[numbers[word] for word in text.split()] for text in part] for part in (fields["passage"], filled)
    )
    near = WordNGrams.of(passage, len(numbers), order=reranker.order)
    logs = [math.log(max(counts[name], 0.5)) for name in names]
    return reranker.features(logs, words.encode_all(filled), local, near), names.index(fields["answer"])


def baselines(recipe: Recipe) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield name and accuracy of each baseline on the test split."""
    found = [examples(recipe, name) for name in get_args(SplitName)]
    train, valid, test = (None if one is None else list(one) for one in found)
    if train is None or valid is None or test is None:
        raise SystemExit("the recipe names no test split")
    for name, guess in GUESSES.items():
        yield name, {"accuracy": accuracy(guess, test)}
    yield "counts and language models", {"accuracy": reranked_counts(train, valid, test)}

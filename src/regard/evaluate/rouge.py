"""ROUGE (Lin 2004): overlap of n-grams and of longest common subsequences with reference summaries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from typing import Literal, NamedTuple, get_args

from regard.evaluate.metric_result import MetricResult
from regard.evaluate.porter import porter_stem
from regard.evaluate.sacre import splitter
from regard.evaluate.tally import Floats, Tally, safe_ratio
from regard.evaluate.texts import References, paired_texts, text_signature, unknown

RougeVariant = Literal["rouge1", "rouge2", "rougeL", "rougeLsum"]
Part = Literal["precision", "recall", "f"]

_NAMES = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L", "rougeLsum": "ROUGE-Lsum"}
_WORD = re.compile("[a-z0-9]+")
_STEMMED_FROM = 4  # letters; ROUGE-1.5.5 leaves shorter words as they are


class Overlap(NamedTuple):
    """Precision, recall and F1 of one text against one reference."""

    precision: float
    recall: float
    f: float

    @classmethod
    def of(cls, hits: int, system: int, reference: int) -> Overlap:
        """From the number of matches and the two lengths."""
        precision, recall = safe_ratio(hits, system), safe_ratio(hits, reference)
        return cls(precision, recall, safe_ratio(2 * precision * recall, precision + recall))


def rouge_tally(
    hypotheses: Sequence[str],
    references: References,
    *,
    kind: RougeVariant = "rougeL",
    part: Part = "f",
    stem: bool = False,
    tokenize: str = "rouge",
) -> Tally:
    """Precision, recall and F1 of every text, for `rouge` and for the bootstrap."""
    if kind not in _NAMES:
        raise unknown("rouge", "kind", kind, _NAMES)
    if part not in get_args(Part):
        raise unknown(kind, "part", part, get_args(Part))
    words = _words(kind, tokenize, stem)
    grouped = paired_texts(kind, hypotheses, references)
    compare = {"rouge1": _unigrams, "rouge2": _bigrams, "rougeL": _sentence, "rougeLsum": _summary}[kind]
    rows = []
    for hypothesis, group in zip(hypotheses, grouped, strict=True):
        system = [words(line) for line in hypothesis.split("\n")]
        found = [compare(system, [words(line) for line in text.split("\n")]) for text in group]
        rows.append((*max(found, key=lambda overlap: overlap.f), 1.0))
    place = get_args(Part).index(part)

    def value(summed: Floats) -> float:
        return safe_ratio(summed[place], summed[3])

    stemmer = "porter1980" if stem else "none"
    how = text_signature(grouped, lowercase=True, part=part, stem=stemmer, tok=tokenize, against="best")
    return Tally.of(_NAMES[kind], rows, value, how)


def rouge(
    hypotheses: Sequence[str],
    references: References,
    *,
    kind: RougeVariant = "rougeL",
    part: Part = "f",
    stem: bool = False,
    tokenize: str = "rouge",
) -> MetricResult:
    r"""ROUGE, between 0 and 1: the mean over texts of a precision, a recall or their harmonic mean.

    .. math:: R = \frac{m}{|r|}, \quad P = \frac{m}{|h|}, \quad F = \frac{2 P R}{P + R}

    The number of matches m and the lengths count n-grams for ROUGE-1 and ROUGE-2 (m clipped by the smaller count).
    For ROUGE-L, m is the length of the longest common subsequence of all words. For ROUGE-Lsum, texts have one sentence
    per line: m counts the words of each reference sentence that lie in the union of its longest common subsequences
    with all sentences of the hypothesis, each word at most as often as either text has it.

    Args:
        hypotheses: one text each.
        references: for every one a text or several; the one with the highest F counts.
        kind: `"rouge1"`, `"rouge2"`, `"rougeL"` or `"rougeLsum"`.
        part: `"precision"`, `"recall"` or `"f"`.
        stem: compare Porter stems of English words of 4 letters or more.
        tokenize: `"rouge"` for runs of the ASCII letters and digits, as the author's program; for other alphabets one
            of sacrebleu's tokenizers.

    Returns:
        Score. Precision, recall and F are computed per text and then averaged, so F is not that of the averages.

    Lin 2004, "ROUGE: A Package for Automatic Evaluation of Summaries", sections 2 and 3. Without stems the values are
    those of the package rouge-score. Its stemmer has NLTK's extensions of Porter's algorithm, so a few stems
    differ ("skies", "dying").

    Of "the cat sat on the mat" "the cat on a mat" has 4 words in order, of 5 and of 6: F = 2 · 4 / (5 + 6).

    >>> print(rouge(["the cat on a mat"], ["the cat sat on the mat"]))
    ROUGE-L 0.7273 (nrefs:1|case:lc|part:f|stem:none|tok:rouge|against:best)
    """
    return rouge_tally(hypotheses, references, kind=kind, part=part, stem=stem, tokenize=tokenize).score()


def _words(kind: str, tokenize: str, stem: bool) -> Callable[[str], list[str]]:
    """From a text to its words in lower case."""
    split = _split if tokenize == "rouge" else splitter(kind, tokenize, lowercase=True)
    if not stem:
        return split
    return lambda text: [porter_stem(word) if len(word) >= _STEMMED_FROM else word for word in split(text)]


def _split(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _joined(lines: list[list[str]]) -> list[str]:
    return list(chain.from_iterable(lines))


def _unigrams(system: list[list[str]], reference: list[list[str]]) -> Overlap:
    ours, theirs = Counter(_joined(system)), Counter(_joined(reference))
    return Overlap.of((ours & theirs).total(), ours.total(), theirs.total())


def _bigrams(system: list[list[str]], reference: list[list[str]]) -> Overlap:
    ours, theirs = _pairs(_joined(system)), _pairs(_joined(reference))
    return Overlap.of((ours & theirs).total(), ours.total(), theirs.total())


def _pairs(words: list[str]) -> Counter[tuple[str, str]]:
    return Counter(pairwise(words))


def _sentence(system: list[list[str]], reference: list[list[str]]) -> Overlap:
    """One longest common subsequence of the whole texts."""
    ours, theirs = _joined(system), _joined(reference)
    hits = len(theirs) - _unmatched(ours, theirs)[-1].bit_count()
    return Overlap.of(hits, len(ours), len(theirs))


def _summary(system: list[list[str]], reference: list[list[str]]) -> Overlap:
    """The union of the longest common subsequences of each reference sentence with all sentences of the system."""
    left = Counter(_joined(system)), Counter(_joined(reference))
    lengths = left[0].total(), left[1].total()
    hits = 0
    for sentence in reference:
        union = set[int]().union(*(_common(ours, sentence) for ours in system))
        for word in (sentence[place] for place in sorted(union)):
            if min(count[word] for count in left) > 0:
                hits += 1
                for count in left:
                    count[word] -= 1
    return Overlap.of(hits, *lengths)


def _unmatched(system: list[str], reference: list[str]) -> list[int]:
    """Bit rows of the table of longest common subsequences, one per prefix of the system, the empty one first.

    Among the lowest i bits of row j, as many are 0 as the common subsequence of the first i words of the reference
    and the first j of the system is long. A row follows from the one before by one addition (Hyyrö 2004).
    """
    places: dict[str, int] = {}
    for place, word in enumerate(reference):
        places[word] = places.get(word, 0) | 1 << place
    every = (1 << len(reference)) - 1
    rows = [every]
    for word in system:
        row = rows[-1]
        found = row & places.get(word, 0)
        rows.append(((row + found) | (row - found)) & every)
    return rows


def _common(system: list[str], reference: list[str]) -> list[int]:
    """The places in the reference of one longest common subsequence, read backwards as ROUGE-1.5.5 does."""
    rows, places = _unmatched(system, reference), []
    i, j = len(reference), len(system)

    def length(i: int, j: int) -> int:
        return i - (rows[j] & ((1 << i) - 1)).bit_count()

    while i and j:
        if reference[i - 1] == system[j - 1]:
            i, j = i - 1, j - 1
            places.append(i)
        elif length(i, j - 1) > length(i - 1, j):
            j -= 1
        else:
            i -= 1
    return places

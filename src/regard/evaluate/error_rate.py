"""Error rates: edits to the nearest reference, for words, phonemes and characters."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from regard.evaluate.accuracy import matches, ratio
from regard.evaluate.metric_result import MetricResult
from regard.evaluate.tally import Floats, Tally
from regard.evaluate.texts import References, paired_texts, text_signature, unknown

_NAMES = {"word": "WER", "phoneme": "PER", "character": "CER"}


def edit_distance(system: Sequence[Hashable], reference: Sequence[Hashable]) -> int:
    """The fewest insertions, deletions and substitutions that turn one sequence into the other (Levenshtein 1966).

    >>> edit_distance("kitten", "sitting"), edit_distance("a b".split(), "b".split())
    (3, 1)
    """
    row = list(range(len(reference) + 1))
    for at, item in enumerate(system, start=1):
        diagonal, row[0] = row[0], at
        for column, other in enumerate(reference, start=1):
            diagonal, row[column] = row[column], min(row[column] + 1, row[column - 1] + 1, diagonal + (item != other))
    return row[-1]


def error_rate_tally(
    hypotheses: Sequence[str], references: References, *, unit: str = "word", lowercase: bool = False
) -> Tally:
    """Edits and reference length of every text, for `error_rate` and for the bootstrap."""
    if unit not in _NAMES:
        raise unknown("error_rate", "unit", unit, _NAMES)
    name = _NAMES[unit]
    grouped = paired_texts(name, hypotheses, references)
    rows = [
        _nearest(_units(hypothesis, unit, lowercase), [_units(text, unit, lowercase) for text in group])
        for hypothesis, group in zip(hypotheses, grouped, strict=True)
    ]
    return Tally.of(name, rows, _rate, text_signature(grouped, lowercase=lowercase, unit=unit, against="closest"))


def error_rate(
    hypotheses: Sequence[str], references: References, *, unit: str = "word", lowercase: bool = False
) -> MetricResult:
    r"""Edits over reference length, of the whole corpus: WER, PER or CER. Lower is better.

    .. math:: \mathrm{ER} = \frac{\sum_n d(h_n, r_n)}{\sum_n |r_n|}

    with d the edit distance and r the reference with the fewest edits (of equals, the longest).

    Args:
        hypotheses: one text each.
        references: for every one a text or several, such as all pronunciations of a word.
        unit: `"word"` (WER) or `"phoneme"` (PER), both what stands between spaces; `"character"` (CER), with spaces.
        lowercase: compare without case.

    Returns:
        Score; 0.25 is one error in four, and it can exceed 1.

    >>> print(error_rate(["K AE T"], [["K AA T", "K AE T S"]], unit="phoneme"))
    PER 0.2500 (nrefs:2|case:mixed|unit:phoneme|against:closest)
    """
    return error_rate_tally(hypotheses, references, unit=unit, lowercase=lowercase).score()


def string_error_tally(hypotheses: Sequence[str], references: References, *, lowercase: bool = False) -> Tally:
    """Right or wrong for every text, for `string_error_rate` and for the bootstrap."""
    grouped = paired_texts("string_error", hypotheses, references)
    wrong = [(1.0 - right, 1.0) for right in matches(hypotheses, grouped, lowercase=lowercase)]
    how = text_signature(grouped, lowercase=lowercase, unit="string", against="any")
    return Tally.of("string error rate", wrong, ratio, how)


def string_error_rate(hypotheses: Sequence[str], references: References, *, lowercase: bool = False) -> MetricResult:
    """The share of texts that equal none of their references: what papers on pronunciation call WER.

    There a "word" is a whole pronunciation: right if it is any of the word's pronunciations, wrong by a single phoneme.

    Args:
        hypotheses: one text each.
        references: for every one a text or several.
        lowercase: compare without case.

    Returns:
        Score between 0 and 1.

    >>> print(string_error_rate(["R EH D", "K AE T S"], [["R IY D", "R EH D"], "K AE T"]))
    string error rate 0.5000 (nrefs:var|case:mixed|unit:string|against:any)
    """
    return string_error_tally(hypotheses, references, lowercase=lowercase).score()


def _rate(summed: Floats) -> float:
    edits, length = summed.tolist()
    if length == 0:
        return float("inf") if edits else 0.0
    return float(edits / length)


def _units(text: str, unit: str, lowercase: bool) -> Sequence[str]:
    text = text.lower() if lowercase else text
    return " ".join(text.split()) if unit == "character" else text.split()


def _nearest(system: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[int, int]:
    """(edits, length) of the reference with the fewest edits."""
    return min(
        ((edit_distance(system, words), len(words)) for words in references), key=lambda pair: (pair[0], -pair[1])
    )

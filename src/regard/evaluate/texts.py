"""Hypotheses beside their references, checked before anything is counted; and the error for an unknown name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from regard.evaluate.metric_result import signature

References = Sequence[str] | Sequence[Sequence[str]]


def paired_texts(metric: str, hypotheses: Sequence[str], references: References) -> list[tuple[str, ...]]:
    """The references of every sentence, after the checks that keep a score honest.

    Args:
        metric: named in the messages.
        hypotheses: one text a sentence.
        references: for every sentence one text or several; the number may differ between sentences.

    Returns:
        One tuple of references for each hypothesis.

    Raises:
        ValueError: nothing to score, unequal counts, a sentence without a reference, texts that are still in subword
            pieces, or references that hold an unknown-word symbol.

    >>> paired_texts("bleu", ["a cat", "a dog"], ["the cat", ["the dog", "one dog"]])
    [('the cat',), ('the dog', 'one dog')]
    >>> paired_texts("bleu", ["a ca@@ t"], ["a cat"])
    Traceback (most recent call last):
    ValueError: bleu: hypothesis 1 is still in subword pieces ('a ca@@ t'); decode it to plain text before scoring
    """
    if isinstance(hypotheses, str) or isinstance(references, str):
        raise ValueError(f"{metric}: hypotheses and references must be lists of texts, not one string")
    if len(hypotheses) != len(references):
        raise ValueError(
            f"{metric}: {len(hypotheses)} hypotheses but references for {len(references)} sentences; "
            "give one entry for each sentence, itself a list where there are several references"
        )
    if not hypotheses:
        raise ValueError(f"{metric}: there is nothing to score: the set of hypotheses is empty")
    grouped = [(entry,) if isinstance(entry, str) else tuple(entry) for entry in references]
    for number, (hypothesis, group) in enumerate(zip(hypotheses, grouped, strict=True), start=1):
        _check_sentence(metric, number, hypothesis, group)
    return grouped


def single_reference(metric: str, references: Sequence[tuple[str, ...]]) -> list[str]:
    """The one reference of each sentence, for metrics that can have only one."""
    for number, group in enumerate(references, start=1):
        if len(group) != 1:
            raise ValueError(f"{metric}: sentence {number} has {len(group)} references; this metric takes exactly one")
    return [group[0] for group in references]


def reference_count(references: Sequence[tuple[str, ...]]) -> int | str:
    """Number of references of a sentence; "var" where that differs."""
    counts = {len(group) for group in references}
    return counts.pop() if len(counts) == 1 else "var"


def text_signature(references: Sequence[tuple[str, ...]], *, lowercase: bool, **parts: object) -> str:
    """A signature that begins, like sacrebleu's, with the number of references and the case."""
    return signature(nrefs=reference_count(references), case="lc" if lowercase else "mixed", **parts)


def _check_sentence(metric: str, number: int, hypothesis: str, references: tuple[str, ...]) -> None:
    if not references:
        raise ValueError(f"{metric}: sentence {number} has no reference; give at least one, or leave the sentence out")
    for what, text in (("hypothesis", hypothesis), *(("reference", text) for text in references)):
        if not isinstance(text, str):
            raise ValueError(f"{metric}: {what} {number} is {text!r}, not a text")
        if "@@ " in text or text.endswith("@@") or "▁" in text:
            raise ValueError(
                f"{metric}: {what} {number} is still in subword pieces ({_cut(text)!r}); "
                "decode it to plain text before scoring"
            )
        if what == "reference" and "<unk>" in text:
            raise ValueError(
                f"{metric}: reference {number} contains '<unk>' ({_cut(text)!r}); "
                "score against the original text, not against what went through the vocabulary"
            )


def _cut(text: str, width: int = 60) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def unknown(where: str, what: str, name: str, known: Iterable[str]) -> ValueError:
    """An error that names the nearest valid one.

    >>> str(unknown("evaluate", "metric", "blue", ["bleu", "ter"]))
    "evaluate: there is no metric 'blue'; did you mean 'bleu'? There are bleu, ter"
    """
    names = sorted(known)
    close = get_close_matches(name, names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    return ValueError(f"{where}: there is no {what} {name!r}{hint} There are {', '.join(names)}")

"""The bridge to sacrebleu, whose numbers are the ones that can be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from regard.evaluate.nearest import unknown
from regard.evaluate.tally import Floats, Tally
from regard.evaluate.texts import References, paired_texts

if TYPE_CHECKING:  # sacrebleu is imported when a text is counted, not when a recipe names it
    from sacrebleu.metrics.base import Metric as SacreMetric


def sacre_tally(name: str, metric: SacreMetric, hypotheses: Sequence[str], references: References) -> Tally:
    """The sentence statistics of one of sacrebleu's metrics, with its own formula and its own signature.

    The two methods with an underscore are those of sacrebleu's significance tests; its public functions would count all
    n-grams again for every resample.
    """
    grouped = paired_texts(name, hypotheses, references)
    streams = list(zip_longest(*grouped))  # sacrebleu wants all first references, then all second ones; None is a gap
    rows = metric._extract_corpus_statistics(hypotheses, streams)

    def value(summed: Floats) -> float:
        return float(metric._compute_score_from_stats(summed.tolist()).score)

    return Tally.of(name, rows, value, str(metric.get_signature()))


def check_tokenizer(metric: str, name: str) -> None:
    """A tokenizer of sacrebleu, or one sentence."""
    from sacrebleu.metrics.bleu import BLEU

    if name not in BLEU.TOKENIZERS:
        raise unknown(metric, "tokenizer", name, BLEU.TOKENIZERS)


def splitter(metric: str, name: str, *, lowercase: bool) -> Callable[[str], list[str]]:
    """From a text to its words, by one of sacrebleu's tokenizers."""
    from sacrebleu.metrics.bleu import BLEU

    check_tokenizer(metric, name)
    prepare = BLEU(lowercase=lowercase, tokenize=name)._preprocess_segment
    return lambda text: prepare(text).split()

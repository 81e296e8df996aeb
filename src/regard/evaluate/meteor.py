"""METEOR (Banerjee & Lavie 2005), without Java and without a download."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from regard.evaluate.metric_result import MetricResult
from regard.evaluate.porter import porter_stem
from regard.evaluate.sacre import splitter
from regard.evaluate.tally import Floats, Tally, safe_ratio
from regard.evaluate.texts import References, paired_texts, text_signature, unknown
from regard.evaluate.word_alignment import align_words
from regard.evaluate.wordnet import WordNet, read_wordnet

STAGES = ("exact", "stem", "synonym")


class MeteorParameters(NamedTuple):
    """Parameters of METEOR: `alpha` weighs precision against recall, `beta` and `gamma` shape the chunk penalty."""

    alpha: float = 0.9
    beta: float = 3.0
    gamma: float = 0.5

    def __call__(self, matches: float, system: float, reference: float, chunks: float) -> float:
        """METEOR of summed counts: matched words, words of the hypotheses, words of the references, chunks."""
        if matches == 0:
            return 0.0
        precision, recall = matches / system, matches / reference
        mean = safe_ratio(precision * recall, self.alpha * precision + (1 - self.alpha) * recall)
        return float(mean * (1 - self.gamma * (chunks / matches) ** self.beta))


ORIGINAL = MeteorParameters()


def meteor_tally(
    hypotheses: Sequence[str],
    references: References,
    *,
    wordnet: WordNet | str | Path | None = None,
    stages: Sequence[str] | None = None,
    weighing: Sequence[float] = ORIGINAL,
    tokenize: str = "13a",
    lowercase: bool = True,
) -> Tally:
    """Matches, lengths and chunks of every sentence, for `meteor` and for the bootstrap."""
    if len(weighing) != 3:
        raise ValueError(f"meteor: weighing must be (alpha, beta, gamma); got {list(weighing)}")
    weigh = MeteorParameters(*weighing)
    senses = None if wordnet is None else wordnet if isinstance(wordnet, WordNet) else read_wordnet(str(wordnet))
    stages = _stages(stages, senses)
    words = splitter("meteor", tokenize, lowercase=lowercase)
    grouped = paired_texts("meteor", hypotheses, references)
    stem = porter_stem if "stem" in stages else None
    synsets = senses.synsets if senses is not None and "synonym" in stages else None

    def counts(system: list[str], reference: list[str]) -> tuple[int, int, int, int]:
        matched = align_words(system, reference, stem=stem, senses=synsets)
        return len(matched.links), len(system), len(reference), matched.chunks

    rows = [
        _best([counts(words(hypothesis), words(text)) for text in group], weigh)
        for hypothesis, group in zip(hypotheses, grouped, strict=True)
    ]

    def value(summed: Floats) -> float:
        return weigh(*summed.tolist())

    how = text_signature(
        grouped,
        lowercase=lowercase,
        variant="2005",
        stages="+".join(stages),
        **({"wordnet": senses.version} if senses is not None and "synonym" in stages else {}),
        a=weigh.alpha,
        b=weigh.beta,
        g=weigh.gamma,
        tok=tokenize,
    )
    return Tally.of("METEOR", rows, value, how)


def meteor(
    hypotheses: Sequence[str],
    references: References,
    *,
    wordnet: WordNet | str | Path | None = None,
    stages: Sequence[str] | None = None,
    weighing: Sequence[float] = ORIGINAL,
    tokenize: str = "13a",
    lowercase: bool = True,
) -> MetricResult:
    r"""METEOR of a corpus, between 0 and 1: a recall-heavy mean of word matches, less a penalty for broken order.

    .. math:: F = \frac{P R}{\alpha P + (1 - \alpha) R}, \qquad
              \mathrm{METEOR} = F \Big(1 - \gamma \Big(\frac{\mathrm{chunks}}{\mathrm{matches}}\Big)^\beta\Big)

    with P and R the share of matched words in the hypothesis and in the reference. Words match if they are equal, then
    if their stems are, then if they are synonyms.

    Args:
        hypotheses: one plain text a sentence.
        references: for every sentence one text or several; the one with the highest METEOR counts.
        wordnet: WordNet, or the path of its `dict/` folder; without it there are no synonyms.
        stages: some of `"exact"`, `"stem"`, `"synonym"`; None for all that can be had. For languages other than English
            say `["exact"]`: stemmer and WordNet are English.
        weighing: (α, β, γ); the paper's (0.9, 3, 0.5) by default.
        tokenize: one of sacrebleu's tokenizers.
        lowercase: compare without case.

    Returns:
        Score; matches, lengths and chunks are summed over the corpus before the formula.

    Banerjee & Lavie 2005, "METEOR: An Automatic Metric for MT Evaluation with Improved Correlation with Human
    Judgments", section 2.2; its F is 10PR / (R + 9P), which is α = 0.9. Among alignments with equally many matches we
    take the fewest chunks, as later versions do; the paper takes the fewest crossings. This is **not** METEOR 1.5,
    which adds paraphrase tables, function words and tuned weights for each language: its values are not comparable with
    these. As in the paper, even a perfect sentence of m words pays γ / m^β.

    >>> print(meteor(["the cats sat on the mat"], ["the cat sat on the mat"]))   # 1 - 0.5 (1/6)³
    METEOR 0.9977 (nrefs:1|case:lc|variant:2005|stages:exact+stem|a:0.9|b:3.0|g:0.5|tok:13a)
    """
    return meteor_tally(
        hypotheses,
        references,
        wordnet=wordnet,
        stages=stages,
        weighing=weighing,
        tokenize=tokenize,
        lowercase=lowercase,
    ).score()


def _stages(asked: Sequence[str] | None, wordnet: WordNet | None) -> tuple[str, ...]:
    """The stages in their order; a stage that was asked for by name is never left out silently."""
    if asked is None:
        return STAGES if wordnet is not None else STAGES[:2]
    for stage in asked:
        if stage not in STAGES:
            raise unknown("meteor", "stage", stage, STAGES)
    if "exact" not in asked:
        raise ValueError("meteor: the stage 'exact' cannot be left out")
    if "synonym" in asked and wordnet is None:
        raise ValueError("meteor: the stage 'synonym' needs WordNet; give wordnet= the path of its dict/ folder")
    return tuple(stage for stage in STAGES if stage in asked)


def _best(counts: list[tuple[int, int, int, int]], weigh: MeteorParameters) -> tuple[int, int, int, int]:
    """The counts of the best reference; of equals, those of the one closest in length."""
    return max(counts, key=lambda row: (weigh(*row), -abs(row[1] - row[2])))

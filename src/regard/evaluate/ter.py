"""Translation edit rate (Snover et al. 2006), by sacrebleu."""

from __future__ import annotations

from collections.abc import Sequence

from regard.evaluate.sacre import sacre_tally
from regard.evaluate.score import Score
from regard.evaluate.tally import Tally
from regard.evaluate.texts import References


def ter_tally(
    hypotheses: Sequence[str], references: References, *, lowercase: bool = True, normalized: bool = False
) -> Tally:
    """The edits and reference lengths of every sentence, for `ter` and for the bootstrap."""
    from sacrebleu.metrics.ter import TER

    return sacre_tally("TER", TER(case_sensitive=not lowercase, normalized=normalized), hypotheses, references)


def ter(
    hypotheses: Sequence[str], references: References, *, lowercase: bool = True, normalized: bool = False
) -> Score:
    """Edits (insert, delete, substitute, move a block) for every hundred reference words: lower is better.

    Args:
        hypotheses: one plain text a sentence.
        references: for every sentence one text or several; the edits are those to the nearest, over their mean length.
        lowercase: compare without case, as the original program does.
        normalized: split off punctuation first; without it words are what stands between spaces.

    Returns:
        Score with sacrebleu's signature; it can exceed 100.

    Snover et al. 2006, "A Study of Translation Edit Rate with Targeted Human Annotation".

    >>> print(ter(["on the mat the cat sat"], ["the cat sat on the mat"]))   # one block moved, six words
    TER 16.67 (nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:...)
    """
    return ter_tally(hypotheses, references, lowercase=lowercase, normalized=normalized).score()

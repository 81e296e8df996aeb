"""Unsupervised statistical word alignment of a corpus, in one direction or symmetrised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from regard.alignment.diagonal import Diagonal
from regard.alignment.hmm import HMM
from regard.alignment.ibm1 import IBM1
from regard.alignment.link_candidates import LinkCandidates, Words
from regard.alignment.links import Links
from regard.alignment.sentence_pairs import SentencePair
from regard.alignment.symmetrise import Symmetrisation, symmetrise, transpose_links
from regard.alignment.word_aligner import Progress, WordAligner

AlignerName = Literal["ibm1", "diagonal", "hmm"]

ITERATIONS = 5


def iterations_of(name: AlignerName, iterations: int = ITERATIONS) -> int:
    """Return the total number of EM iterations per direction; `hmm` runs those of IBM model 1 first."""
    return 2 * iterations if name == "hmm" else iterations


def fit_aligner(
    pairs: Sequence[tuple[Words, Words]],
    name: AlignerName = "hmm",
    *,
    iterations: int = ITERATIONS,
    progress: Progress = lambda done: None,
) -> WordAligner:
    """Fit an aligner to a corpus.

    Args:
        pairs: (source words, target words).
        name: `"ibm1"`, `"diagonal"` (the model of fast_align) or `"hmm"`, initialised with the lexicon of IBM model 1.
        iterations: EM iterations of each model.
        progress: called after each iteration.
    """
    cells = LinkCandidates(pairs)
    if name == "diagonal":
        aligner: WordAligner = Diagonal(cells)
    elif name in get_args(AlignerName):
        aligner = IBM1(cells)
    else:
        raise ValueError(f"there is no aligner {name!r}; there are {', '.join(get_args(AlignerName))}")
    aligner.fit(iterations, progress)
    if name != "hmm":
        return aligner
    hidden = HMM(cells)
    hidden.lexicon = aligner.lexicon
    hidden.fit(iterations, progress)
    return hidden


def align(
    pairs: Sequence[SentencePair],
    name: AlignerName = "hmm",
    *,
    method: Symmetrisation | None = "grow-diag-final-and",
    lowercase: bool = True,
    iterations: int = ITERATIONS,
    progress: Progress = lambda done: None,
) -> list[Links]:
    """Return the links of each sentence pair; the aligner is trained on all pairs.

    Args:
        pairs: the corpus, which should be large: append it to the sentences to be aligned if these are few.
        name: the aligner, as in `fit_aligner`.
        method: symmetrisation of both directions; None for source to target only, at most one link per target word.
        lowercase: ignore case.
        iterations: EM iterations of each model.
        progress: called after each iteration.

    >>> texts = [("das Haus", "the house"), ("das Buch", "the book"), ("ein Buch", "a book")]
    >>> [sorted(links) for links in align([SentencePair(*text) for text in texts], "ibm1")][2]
    [(0, 0), (1, 1)]
    """
    cased = [tuple(text.lower() for text in pair) for pair in pairs] if lowercase else [*pairs]
    words = [(source.split(), target.split()) for source, target in cased]
    forward = fit_aligner(words, name, iterations=iterations, progress=progress).links()
    if method is None:
        return forward
    back = fit_aligner([pair[::-1] for pair in words], name, iterations=iterations, progress=progress).links()
    return [symmetrise(one, transpose_links(other), method) for one, other in zip(forward, back, strict=True)]

"""CIDEr-D and BLEU-n as captioning reports them, and the words of a caption."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain

from regard.evaluate.accuracy import ratio
from regard.evaluate.note_bleu import note_bleu_tally
from regard.evaluate.sacre import splitter
from regard.evaluate.score import Score
from regard.evaluate.tally import Tally
from regard.evaluate.texts import References, paired_texts, text_signature

_ORDERS = (1, 2, 3, 4)
_SPLIT = re.compile(r"(?<=\w)(?='(?:s|re|ve|ll|d|m)\b)|(?<=\w)(?=n't\b)|(?<=\bcan)(?=not\b)")
_TOKEN = re.compile(
    r"n't\b|'(?:s|re|ve|ll|d|m)\b"  # clitics
    r"|(?:[a-z]\.){2,}"  # u.s. and a.m.
    r"|[^\W_]+(?:[-_.,:/&'][^\W_]+)*"
    r"|[()$£€%#@&+=*]"
)
# The COCO evaluation drops punctuation after lower-casing, which leaves brackets in: they are words of its n-grams.
_BRACKETS = {"(": "-lrb-", ")": "-rrb-"}

Grams = Counter[tuple[str, ...]]


def caption_words(text: str) -> list[str]:
    """Split a caption into words in lower case, without punctuation, "n't" and "'s" apart.

    On plain captions these are the words of the COCO evaluation, which runs the Penn Treebank tokenizer in Java. They
    differ where that one knows abbreviations ("no. 7") and slang ("gon na").

    >>> caption_words("A man's dog, isn't it? It's well-fed!")
    ['a', 'man', "'s", 'dog', 'is', "n't", 'it', 'it', "'s", 'well-fed']
    """
    apart = _SPLIT.sub(" ", text.lower().replace("’", "'"))
    return [_BRACKETS.get(word, word) for word in _TOKEN.findall(apart)]


def cider_tally(
    hypotheses: Sequence[str], references: References, *, sigma: float = 6.0, tokenize: str = "caption"
) -> Tally:
    """CIDEr-D of every caption, for `cider` and for the bootstrap; document frequencies are those of the whole set."""
    if sigma <= 0:
        raise ValueError(f"cider: sigma must be positive; got {sigma}")
    words = _splitter("cider", tokenize)
    grouped = paired_texts("cider", hypotheses, references)
    truths = [[_grams(words(text)) for text in group] for group in grouped]
    frequency: Grams = Counter(chain.from_iterable(set().union(*group) for group in truths))
    weigh = _weighing(frequency, len(truths))
    rows = []
    for hypothesis, group in zip(hypotheses, truths, strict=True):
        system = weigh(_grams(words(hypothesis)))
        alike = [_similarity(system, weigh(grams), sigma) for grams in group]
        rows.append((10.0 * math.fsum(alike) / len(alike), 1.0))
    how = text_signature(grouped, lowercase=True, n=4, sigma=f"{sigma:g}", idf="references", tok=tokenize)
    return Tally.of("CIDEr-D", rows, ratio, how)


def cider(hypotheses: Sequence[str], references: References, *, sigma: float = 6.0, tokenize: str = "caption") -> Score:
    r"""CIDEr-D of a set of captions, between 0 and 10: cosines of TF-IDF vectors of n-grams, with clipped counts.

    .. math:: \mathrm{CIDEr\text{-}D}(h, R) = \frac{10}{4 |R|} \sum_{n=1}^4 \sum_{r \in R}
              \frac{\min(g^n(h), g^n(r)) \cdot g^n(r)}{\lVert g^n(h) \rVert \, \lVert g^n(r) \rVert}
              e^{-(|h| - |r|)^2 / 2\sigma^2}

    with g the vector of counts of n-grams times log(images / images with it in a reference).

    Args:
        hypotheses: one caption per image.
        references: for every image one caption or several.
        sigma: σ of the length penalty.
        tokenize: `"caption"` (`caption_words`), `"none"` for captions that are tokenised, or one of sacrebleu's.

    Returns:
        Score, the mean over images. The set must have several images: in a single one, every n-gram is in all
        images and weighs nothing.

    Vedantam, Zitnick & Parikh 2015, "CIDEr: Consensus-based Image Description Evaluation", equations 1 to 4 and
    section 5, as in the authors' program: lengths count pairs of words. Papers often print a hundred times this.

    Both images have "a", which weighs 0; the other words weigh log 2. The second caption shares with its reference one
    of its two other words and one of its two pairs, so it has 10 (1/2 + 1/2 + 0 + 0) / 4, and the first has 10:

    >>> print(cider(["a dog runs fast", "a cat sat"], ["a dog runs fast", "a cat slept"]))   # (10 + 2.5) / 2
    CIDEr-D 6.250 (nrefs:1|case:lc|n:4|sigma:6|idf:references|tok:caption)
    """
    return cider_tally(hypotheses, references, sigma=sigma, tokenize=tokenize).score()


def caption_bleu_tally(
    hypotheses: Sequence[str],
    references: References,
    *,
    order: int = 4,
    brevity: str = "exponential",
    tokenize: str = "caption",
) -> Tally:
    """Lengths and n-gram counts of every caption, for `caption_bleu` and for the bootstrap."""
    words = _splitter("caption_bleu", tokenize)

    def plain(text: str) -> str:
        return " ".join(words(text))

    grouped = paired_texts("caption_bleu", hypotheses, references)
    texts = [plain(text) for text in hypotheses]
    counted = note_bleu_tally(
        texts, [[plain(text) for text in group] for group in grouped], order=order, brevity=brevity
    )
    how = text_signature(grouped, lowercase=True, tok=tokenize, smooth="none", brevity=brevity)
    return Tally(counted.name, counted.rows, counted.value, how)


def caption_bleu(
    hypotheses: Sequence[str],
    references: References,
    *,
    order: int = 4,
    brevity: str = "exponential",
    tokenize: str = "caption",
) -> Score:
    """BLEU-n of captions, between 0 and 1: `note_bleu` over `caption_words`.

    Args:
        hypotheses: one caption per image.
        references: for every image one caption or several.
        order: n; papers report 1 to 4.
        brevity: `"exponential"` as the COCO evaluation, `"none"` as Xu et al. 2015 report on Flickr8k.
        tokenize: as in `cider`.

    Returns:
        Score of the whole set.

    Papineni et al. 2002; Chen et al. 2015, "Microsoft COCO Captions: Data Collection and Evaluation Server". Nothing is
    smoothed: 0 where no n-gram of some order matches. The COCO program adds 1e-15 to each count there.

    >>> print(caption_bleu(["A dog runs."], [["a dog is running", "the dog runs"]], order=2))   # √(3/3 · 2/2)
    BLEU-2 1.000 (nrefs:2|case:lc|tok:caption|smooth:none|brevity:exponential)
    """
    return caption_bleu_tally(hypotheses, references, order=order, brevity=brevity, tokenize=tokenize).score()


def _splitter(metric: str, tokenize: str) -> Callable[[str], list[str]]:
    return caption_words if tokenize == "caption" else splitter(metric, tokenize, lowercase=True)


def _grams(words: Sequence[str]) -> Grams:
    """How often each n-gram of 1 to 4 words occurs."""
    return Counter(tuple(words[at : at + n]) for n in _ORDERS for at in range(len(words) - n + 1))


class _Weighed:
    """A caption as TF-IDF vectors: weights by n-gram, the norms of the orders, and the number of pairs of words."""

    __slots__ = ("norms", "pairs", "weights")

    def __init__(self, weights: dict[tuple[str, ...], float], pairs: int) -> None:
        self.weights, self.pairs = weights, pairs
        squares = [0.0] * (len(_ORDERS) + 1)
        for gram, weight in weights.items():
            squares[len(gram)] += weight * weight
        self.norms = [math.sqrt(square) for square in squares]


def _weighing(frequency: Grams, images: int) -> Callable[[Grams], _Weighed]:
    """From counts of n-grams to weights; an n-gram of no reference weighs as much as one of a single image."""
    highest = math.log(images)
    rarity = {gram: highest - math.log(count) for gram, count in frequency.items()}

    def weigh(grams: Grams) -> _Weighed:
        weights = {gram: count * rarity.get(gram, highest) for gram, count in grams.items()}
        return _Weighed(weights, sum(count for gram, count in grams.items() if len(gram) == 2))

    return weigh


def _similarity(system: _Weighed, reference: _Weighed, sigma: float) -> float:
    """The mean of the four clipped cosines, times the penalty for another length; between 0 and 1."""
    products = [0.0] * (len(_ORDERS) + 1)
    for gram, weight in system.weights.items():
        if (other := reference.weights.get(gram)) is not None:
            products[len(gram)] += min(weight, other) * other
    cosines = 0.0
    for n in _ORDERS:
        if norm := system.norms[n] * reference.norms[n]:
            cosines += products[n] / norm
    return cosines / len(_ORDERS) * math.exp(-((system.pairs - reference.pairs) ** 2) / (2 * sigma**2))

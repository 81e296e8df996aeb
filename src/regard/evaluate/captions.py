"""CIDEr-D and BLEU-n as captioning reports them, and the words of a caption."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from regard.evaluate.accuracy import ratio
from regard.evaluate.metric_result import MetricResult
from regard.evaluate.note_bleu import note_bleu_tally
from regard.evaluate.sacre import splitter
from regard.evaluate.tally import Floats, Tally
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

Integers = NDArray[np.int64]


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
    counts = np.array([len(group) for group in grouped])
    captions = [words(text) for text in chain(hypotheses, *grouped)]
    image = np.concatenate((np.arange(len(grouped)), np.repeat(np.arange(len(grouped)), counts)))
    alike = _similarities(captions, image, len(grouped), sigma)
    each = 10.0 * np.bincount(image[len(grouped) :], alike) / counts
    how = text_signature(grouped, lowercase=True, n=4, sigma=f"{sigma:g}", idf="references", tok=tokenize)
    return Tally("CIDEr-D", np.stack((each, np.ones(len(each))), 1), ratio, how)


def cider(
    hypotheses: Sequence[str], references: References, *, sigma: float = 6.0, tokenize: str = "caption"
) -> MetricResult:
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
) -> MetricResult:
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


def _similarities(captions: Sequence[Sequence[str]], image: Integers, images: int, sigma: float) -> Floats:
    """CIDEr-D of each reference with the hypothesis of its image, between 0 and 1: [R].

    Args:
        captions: the hypotheses of all images, then R references.
        image: [images + R], of each caption.
        images: how many.
        sigma: of the length penalty.
    """
    lengths = np.array([len(caption) for caption in captions])
    numbers: dict[str, int] = {}
    word = np.array([numbers.setdefault(one, len(numbers)) for one in chain(*captions)], dtype=np.int64)
    caption = np.repeat(np.arange(len(captions)), lengths)
    left = np.repeat(lengths.cumsum(), lengths) - np.arange(len(word))  # words from each place to the caption's end
    start, gram = np.arange(len(word)), word
    total = np.zeros(len(captions) - images)
    for n in _ORDERS:
        if n > 1:  # the n-gram from each place is a number for its first n - 1 words and its last word
            there = left[start] >= n
            start = start[there]
            gram = np.unique(gram[there] * len(numbers) + word[start + n - 1], return_inverse=True)[1]
        if len(gram):
            total += _cosines(caption[start], gram, image, images)
    pairs = np.maximum(lengths - 1, 0)
    longer = pairs[images:] - pairs[image[images:]]
    penalty: Floats = np.exp(-(longer**2) / (2 * sigma**2))
    return total / len(_ORDERS) * penalty


def _cosines(caption: Integers, gram: Integers, image: Integers, images: int) -> Floats:
    """The clipped cosines of one order, [R], from the caption and the number of each n-gram."""
    kinds = int(gram.max()) + 1
    key, count = np.unique(caption * kinds + gram, return_counts=True)  # each n-gram of each caption once
    caption, gram = np.divmod(key, kinds)
    first = int(np.searchsorted(caption, images))  # the n-grams of references begin here
    in_image = np.unique(image[caption[first:]] * kinds + gram[first:]) % kinds
    frequency = np.bincount(in_image, minlength=kinds)
    weight = count * (math.log(images) - np.log(np.maximum(frequency, 1)))[gram]
    norm = np.sqrt(np.bincount(caption, weight**2, minlength=len(image)))
    # The weight of each reference's n-gram in the hypothesis of the same image: 0 where it does not occur.
    wanted = image[caption[first:]] * kinds + gram[first:]
    place = np.searchsorted(key[:first], wanted)
    found = np.append(key[:first], -1)[place] == wanted
    other = np.where(found, np.append(weight[:first], 0.0)[place], 0.0)
    products = np.bincount(caption[first:], np.minimum(other, weight[first:]) * weight[first:], minlength=len(image))
    norms = norm[images:] * norm[image[images:]]
    cosines: Floats = np.divide(products[images:], norms, out=np.zeros_like(norms), where=norms > 0)
    return cosines

"""Replacement of unknown words by the source words they attend to."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from torch import Tensor


def replace_unknown(
    words: Sequence[str],
    alignment: Tensor,
    source: Sequence[str],
    *,
    dictionary: Mapping[str, str] | None = None,
    unknown: str = "<unk>",
    skip: Collection[str] = ("<pad>", "<s>", "</s>"),
) -> list[str]:
    """Replace each unknown word of an output by the source word with the largest weight, or its translation.

    Args:
        words: the T' output words, with or without the end of sentence.
        alignment: [T, S] with T >= T', of the hypothesis.
        source: the S source words as written, including those outside the vocabulary.
        dictionary: translations of source words; words without an entry are copied (names, numbers).
        unknown: spelling of the unknown token.
        skip: source tokens that are never copied.

    An unknown word without attention, or with attention to skipped tokens alone, is kept.

    Reference: Luong et al. 2015, "Effective Approaches to Attention-based NMT", section 4.1, after Luong et al. 2015,
    "Addressing the Rare Word Problem", section 3.

    >>> import torch
    >>> alignment = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.7, 0.1], [0.0, 0.1, 0.9]])
    >>> replace_unknown(["Frau", "<unk>"], alignment, ["Mrs", "Ngo", "</s>"])
    ['Frau', 'Ngo']
    """
    if alignment.dim() != 2 or alignment.shape[0] < len(words) or alignment.shape[1] != len(source):
        raise ValueError(
            f"replacing unknown words needs an alignment of at least {len(words)} output words by {len(source)} source "
            f"words; got shape {list(alignment.shape)}"
        )
    positions = [position for position, word in enumerate(source) if word not in skip]
    replaced = list(words)
    for index, word in enumerate(words):
        if word != unknown or not positions:
            continue
        weights = alignment[index, positions]
        if float(weights.max()) > 0:
            copied = source[positions[int(weights.argmax())]]
            replaced[index] = (dictionary or {}).get(copied, copied)
    return replaced

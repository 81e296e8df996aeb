"""Conversion between pairs of texts in one row and separate texts."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from regard.masks import Mask
from regard.ops.weights import Weights
from regard.specials import EOS, PAD


class SplitPair(NamedTuple):
    """Pairs split at `</s>` into two texts each.

    Attributes:
        ids: [2B, S], the B first texts, then the B second texts; padded.
        lengths: [2B], true lengths.
    """

    ids: Tensor
    lengths: Tensor

    @classmethod
    def of(cls, text: Tensor, lengths: Tensor | None = None) -> SplitPair:
        """Split ids [B, T] of true `lengths` [B] at the first `</s>`; without one, the second text is empty.

        >>> SplitPair.of(torch.tensor([[5, 6, 3, 7, 0], [8, 3, 9, 9, 9]]), torch.tensor([4, 5]))
        SplitPair(ids=tensor([[5, 6, 0], [8, 0, 0], [7, 0, 0], [9, 9, 9]]), lengths=tensor([2, 1, 1, 3]))
        """
        batch, size = text.shape
        place = torch.arange(size, device=text.device)
        ends = text.new_full((batch,), size) if lengths is None else lengths.to(text.device)
        ended = ((text == EOS) & (place < ends.unsqueeze(1))).cumsum(1) > 0
        first = torch.minimum((~ended).sum(1), ends)
        both = torch.cat((first, (ends - first - 1).clamp(min=0)))
        longest = min(size, max(1, int(both.max()) if batch else 0))
        return cls(_taken(text, both, longest).masked_fill(_outside(both, longest), PAD), both)

    def part(self, values: Tensor) -> Tensor:
        """Split values per token in the same way, [B, T] -> [2B, S]; 0 at padding.

        >>> parts = SplitPair.of(torch.tensor([[5, 6, 3, 7]]))
        >>> parts.part(torch.tensor([[1, 2, 0, 2]]))
        tensor([[1, 2],
                [2, 0]])
        """
        size = self.ids.shape[1]
        return _taken(values, self.lengths, size).masked_fill(_outside(self.lengths, size), 0)

    def other(self) -> Mask:
        """Return the mask of the words of the other text, for attention across a pair."""
        return Mask.padding(self.lengths.roll(len(self.lengths) // 2))

    def together(self, weights: Tensor, size: int) -> Weights:
        """Convert weights [2B, r, S] on the texts to weights [B, r, T] on the pair rows; 0 at the separator."""
        first, second = weights.chunk(2)  # [B, r, S]
        rows = self._places(size, weights.shape[2])
        shape = (*first.shape[:2], size)
        # Indices outside a text are clamped; the masks set their weights to zero.
        joint = first.gather(2, rows.before.expand(shape)) * rows.is_first.unsqueeze(1)  # [B, r, T]
        joint = joint + second.gather(2, rows.behind.unsqueeze(1).expand(shape)) * rows.is_second.unsqueeze(1)
        return Weights.of(joint.unsqueeze(1), has_heads=False)

    def crossed(self, weights: Tensor, size: int) -> Tensor:
        """Convert attention weights between the two texts to weights on the tokens of the pair rows.

        Args:
            weights: [2B, S, S]: from the first texts to the second ones, then from the second to the first.
            size: number T of tokens of a row.

        Returns:
            Weights [B, T, T]; row and column of the separator are 0.
        """
        first, second = weights.chunk(2)  # [B, S, S]
        rows = self._places(size, weights.shape[2])
        before, behind = rows.before.expand(len(first), size), rows.behind
        there = _picked(first, before, behind) * (rows.is_first.unsqueeze(2) & rows.is_second.unsqueeze(1))
        back = _picked(second, behind, before) * (rows.is_second.unsqueeze(2) & rows.is_first.unsqueeze(1))
        return there + back

    def _places(self, size: int, longest: int) -> _PartPositions:
        """Return the positions of the T tokens of a row in its two texts of `longest` tokens."""
        place = torch.arange(size, device=self.lengths.device)
        first, second = self.lengths.unsqueeze(1).chunk(2)  # [B, 1]
        begin = first + 1  # of the second text
        return _PartPositions(
            place.clamp(max=longest - 1),
            (place - begin).clamp(0, longest - 1),
            place < first,
            (place >= begin) & (place < begin + second),
        )


class _PartPositions(NamedTuple):
    """Positions [T] or [B, T] of tokens in the first and second text, and masks of both texts [B, T]."""

    before: Tensor
    behind: Tensor
    is_first: Tensor
    is_second: Tensor


def _taken(values: Tensor, lengths: Tensor, size: int) -> Tensor:
    """Return the first `size` values of both texts, [B, T] -> [2B, S]; values past their ends are arbitrary."""
    first = lengths.chunk(2)[0]
    begins = torch.cat((torch.zeros_like(first), first + 1)).unsqueeze(1)  # [2B, 1]
    places = begins + torch.arange(size, device=values.device)
    return torch.cat((values, values)).gather(1, places.clamp(max=max(values.shape[1] - 1, 0)))


def _outside(lengths: Tensor, size: int) -> Tensor:
    """Return the padding mask [2B, S], True at padding."""
    return torch.arange(size, device=lengths.device) >= lengths.unsqueeze(1)


def _picked(weights: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Gather rows and columns [B, T] of weights [B, S, S]: [B, T, T]."""
    size, longest = rows.shape[1], weights.shape[2]
    tall = weights.gather(1, rows.unsqueeze(2).expand(-1, -1, longest))  # [B, T, S]
    return tall.gather(2, columns.unsqueeze(1).expand(-1, size, -1))  # [B, T, T]

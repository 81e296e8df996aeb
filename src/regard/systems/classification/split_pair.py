"""Two texts that stand in one row."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from regard.ops.weights import Weights
from regard.specials import EOS, PAD


class Parted(NamedTuple):
    """Texts with `</s>` inside as two texts each.

    Attributes:
        ids: [2B, S], the B first texts, then the B second ones; padded.
        lengths: [2B].
    """

    ids: Tensor
    lengths: Tensor

    @classmethod
    def of(cls, text: Tensor, lengths: Tensor | None = None) -> Parted:
        """Part ids [B, T] of true `lengths` [B] at the first `</s>`; where there is none, the second text is empty.

        >>> Parted.of(torch.tensor([[5, 6, 3, 7, 0], [8, 3, 9, 9, 9]]), torch.tensor([4, 5]))
        Parted(ids=tensor([[5, 6, 0], [8, 0, 0], [7, 0, 0], [9, 9, 9]]), lengths=tensor([2, 1, 1, 3]))
        """
        batch, size = text.shape
        place = torch.arange(size, device=text.device)
        ends = text.new_full((batch,), size) if lengths is None else lengths.to(text.device)
        ended = ((text == EOS) & (place < ends.unsqueeze(1))).cumsum(1) > 0
        first = torch.minimum((~ended).sum(1), ends)
        both = torch.cat((first, (ends - first - 1).clamp(min=0)))
        behind = text.gather(1, (place + first.unsqueeze(1) + 1).clamp(max=max(size - 1, 0)))
        ids = torch.cat((text, behind)).masked_fill(place >= both.unsqueeze(1), PAD)
        return cls(ids[:, : max(1, int(both.max()) if batch else 0)], both)

    def together(self, weights: Tensor, size: int) -> Weights:
        """Weights [2B, r, S] on the parts as weights [B, r, T] on the rows they came from; 0 on what parts them."""
        first, second = weights.chunk(2)
        place = torch.arange(size, device=weights.device)
        begin = (self.lengths[: len(first)] + 1).unsqueeze(1)  # where the second text stands
        shape = (*first.shape[:2], size)
        before = place.clamp(max=first.shape[2] - 1).expand(shape)
        behind = (place - begin).clamp(0, first.shape[2] - 1).unsqueeze(1).expand(shape)
        is_first = (place < begin - 1).unsqueeze(1)
        is_second = ((place >= begin) & (place < begin + self.lengths[len(first) :].unsqueeze(1))).unsqueeze(1)
        joint = first.gather(2, before) * is_first + second.gather(2, behind) * is_second
        return Weights.of(joint.unsqueeze(1), has_heads=False)

"""Decoding requests, checked, and the limits of their outputs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from regard.decode.search import Search
from regard.protocol import Generates, Selectable, device_of
from regard.specials import EOS


@dataclass(frozen=True)
class Request:
    """A batch of inputs: sources with their true lengths, or, for a language model, a number of rows.

    Attributes:
        source: [B, S] ids, [B, S, C] features or [B, C, H, W] images, whatever the model's encoder takes; None for a
            language model.
        lengths: the true length of each source; None for images, which have none, and for a language model.
        batch: B.
        device: device of the tokens.
    """

    source: Tensor | None
    lengths: tuple[int, ...] | None
    batch: int
    device: torch.device

    @classmethod
    def of(cls, model: object, source: Tensor | None, lengths: Tensor | None, batch: int | None = None) -> Request:
        """Check and complete the arguments of `generate`; `lengths` None means no padding."""
        if getattr(model, "training", False):
            raise ValueError("decoding needs a model without dropout; call model.eval() first")
        if source is None:
            if batch is None or batch < 0:
                raise ValueError(f"without a source, say how many rows to generate: batch >= 0; got {batch}")
            return Request(None, None, batch, device_of(model))
        if source.dim() < 2:
            raise ValueError(f"a source is a batch, [B, S] ids for example; got shape {list(source.shape)}")
        rows, size = source.shape[:2]
        if source.dim() > 3:
            if lengths is not None:
                raise ValueError(f"lengths are of [B, S] ids or [B, S, C] features; the source is {list(source.shape)}")
            return Request(source, None, rows, source.device)
        if lengths is None:
            return Request(source, (size,) * rows, rows, source.device)
        if lengths.shape != (rows,) or (rows and not 0 <= int(lengths.min()) <= int(lengths.max()) <= size):
            raise ValueError(
                f"lengths are one integer from 0 to {size} for each of the {rows} sources; got {lengths.tolist()}"
            )
        return Request(source, tuple(lengths.tolist()), rows, source.device)

    def start(self, model: Generates, copies: int = 1) -> Selectable:
        """Return the model's initial state, each row repeated `copies` times in a row."""
        if self.source is None:
            state = model.start(None, None, batch=self.batch)
        else:
            lengths = self.lengths
            known = None if lengths is None else torch.tensor(lengths, dtype=torch.long, device=self.device)
            state = model.start(self.source, known)
        return state if copies == 1 else state.select(self.rows(copies))

    def rows(self, copies: int = 1) -> Tensor:
        """[B * copies]: 0, 0, 1, 1, ..."""
        return torch.arange(self.batch, device=self.device).repeat_interleave(copies)


@dataclass(frozen=True)
class SearchLimits:
    """Limits of a search: outputs too short, too long or with forbidden tokens.

    Attributes:
        shortest, longest: [B], minimal and maximal lengths, counting EOS.
        forbid: ids that are never generated.
    """

    shortest: Tensor
    longest: Tensor
    forbid: tuple[int, ...] = ()

    @classmethod
    def of(cls, search: Search, request: Request) -> SearchLimits:
        """Return the limits of each row: the tighter of absolute limits and those relative to its source."""
        lengths = request.lengths
        shortest, longest = [search.min_length] * request.batch, [search.max_length] * request.batch
        if search.min_ratio or search.max_ratio:
            if lengths is None:
                raise ValueError("min_ratio and max_ratio need sources with lengths; use min_length and max_length")
            if search.min_ratio:
                shortest = [max(search.min_length, math.ceil(search.min_ratio * length)) for length in lengths]
            if search.max_ratio:
                longest = [max(1, min(search.max_length, math.ceil(search.max_ratio * length))) for length in lengths]
        # For a very long source the relative minimum may exceed the maximum, which takes precedence.
        shortest = [min(least, most) for least, most in zip(shortest, longest, strict=True)]
        return SearchLimits(
            torch.tensor(shortest, dtype=torch.long, device=request.device),
            torch.tensor(longest, dtype=torch.long, device=request.device),
            search.forbid,
        )

    def restrict(self, log_probs: Tensor, rows: Tensor, n: int) -> Tensor:
        """Return `log_probs` [N, V] of token n of `rows` [N] with -inf at forbidden ids; may alias its input."""
        allowed, never = log_probs.float(), self.never(log_probs.shape[1], n)
        if len(never):
            allowed = allowed.index_fill(1, never, -torch.inf)
        if (early := self._early_for_some(rows, n)) is not None:
            allowed = allowed.clone()
            allowed[:, EOS] = allowed[:, EOS].masked_fill(early, -torch.inf)
        return allowed

    def barred(self, tokens: Tensor, size: int, rows: Tensor, n: int) -> Tensor:
        """Return a mask of the `tokens` [b, k, c] of `rows` [b] that are forbidden as token n; `size`: V."""
        barred = (tokens.unsqueeze(-1) == self.never(size, n)).any(-1)
        if (early := self._early_for_some(rows, n)) is not None:
            barred |= (tokens == EOS) & early[:, None, None]
        return barred

    def never(self, size: int, n: int) -> Tensor:
        """Return the ids below `size` that are forbidden as token n in every row."""
        if self.forbid and max(self.forbid) >= size:
            raise ValueError(f"forbid has the id {max(self.forbid)}; the model knows {size} ids from 0 on")
        return self._forbidden[0 if n < self._extremes[0] else 1]

    def _early_for_some(self, rows: Tensor, n: int) -> Tensor | None:
        """Return the rows [N] for which EOS is too early as token n; None if that is equal for all rows."""
        least, most = self._extremes
        return n < self.shortest[rows] if least <= n < most else None

    @cached_property
    def _extremes(self) -> tuple[int, int]:
        """Smallest and largest of the minimal lengths, on the host."""
        lengths = self.shortest.tolist()
        return min(lengths, default=0), max(lengths, default=0)

    @cached_property
    def _forbidden(self) -> tuple[Tensor, Tensor]:
        """Forbidden ids while EOS is too early for every row, and afterwards."""
        ids = torch.tensor([EOS, *self.forbid], dtype=torch.long, device=self.shortest.device)
        return ids, ids[1:]

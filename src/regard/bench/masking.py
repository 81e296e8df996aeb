"""The masks of the benchmark, in the forms that each way takes; all start from lengths and sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from regard.masks import Mask

Kind = Literal["none", "causal", "padding", "window"]


@dataclass(frozen=True)
class Masking:
    """One kind of mask for T queries and S keys.

    Attributes:
        kind: which.
        queries: T.
        keys: S.
        lengths: [B], for padding.
        width: W, for a window.
    """

    kind: Kind
    queries: int
    keys: int
    lengths: Tensor
    width: int

    def ours(self) -> Mask | None:
        """As a `Mask`."""
        match self.kind:
            case "none":
                return None
            case "causal":
                return Mask.causal()
            case "padding":
                return Mask.padding(self.lengths)
            case "window":
                return Mask.window(self.width)

    def allowed(self) -> Tensor | None:
        """As booleans, made at each call as one does without a `Mask`: broadcastable to [B, H, T, S]."""
        if self.kind == "none":
            return None
        key = torch.arange(self.keys, device=self.lengths.device)
        if self.kind == "padding":
            return (key < self.lengths.unsqueeze(1))[:, None, None, :]
        place = torch.arange(self.keys - self.queries, self.keys, device=key.device).unsqueeze(1)
        return key <= place if self.kind == "causal" else (key <= place) & (key > place - self.width)

    def pairs(self) -> Callable[[Any, Any, Any, Any], Any] | None:
        """As the function of (batch, head, query, key) that FlexAttention takes."""
        shift, width, lengths = self.keys - self.queries, self.width, self.lengths
        match self.kind:
            case "none":
                return None
            case "causal":
                return lambda batch, head, query, key: key <= query + shift
            case "padding":
                return lambda batch, head, query, key: key < lengths[batch]
            case "window":
                return lambda batch, head, query, key: (key <= query + shift) & (key > query + shift - width)

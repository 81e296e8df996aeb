"""Hash of a model's parameters, to detect vectors that another model computed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import torch
from torch import Tensor


def signature(tensors: Mapping[str, Tensor]) -> str:
    """Return a hash of tensors and their names, in 32 hexadecimal digits.

    >>> signature({"a": torch.zeros(2)}) == signature({"a": torch.zeros(2)}) != signature({"a": torch.ones(2)})
    True
    """
    digest = hashlib.blake2b(digest_size=16)
    for name, tensor in sorted(tensors.items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()

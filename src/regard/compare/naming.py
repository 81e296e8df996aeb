"""Names of runs and columns of a comparison."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

_LONGEST = 100


def short_keys(keys: Sequence[str]) -> list[str]:
    """Return the end of each key that no other key shares.

    >>> short_keys(["model.attention", "model.encoder.dim", "model.decoder.dim"])
    ['attention', 'encoder.dim', 'decoder.dim']
    """
    return [_short(key, [other for other in keys if other != key]) for key in keys]


def _short(key: str, others: Sequence[str]) -> str:
    parts = key.split(".")
    ends = (".".join(parts[-length:]) for length in range(1, len(parts) + 1))
    return next((end for end in ends if not any(f".{other}".endswith(f".{end}") for other in others)), key)


def plain(text: str) -> str:
    """Letters, digits, dots and hyphens of a text.

    >>> plain("{score: dot, align: local_p}"), plain("-1.5"), plain("'a/b'")
    ('score-dot-align-local_p', '-1.5', 'a-b')
    """
    return re.sub(r"[^\w.-]+", "-", text.strip("[]{}\"' ").replace(": ", "-")).rstrip("-.")


def slugs(keys: Sequence[str], combinations: Sequence[tuple[str, ...]]) -> list[str]:
    """Return a name per combination of values; a digest distinguishes names that would be equal or are cut.

    >>> slugs(["model.attention", "train.seed"], [("dot", "1"), ("dot", "2")])
    ['attention-dot_seed-1', 'attention-dot_seed-2']
    >>> slugs(["model.sizes"], [("[1, 2]",), ("{1: 2}",)])
    ['sizes-1-2_3a316d', 'sizes-1-2_8f1081']
    """
    heads = short_keys(keys)
    names = [
        "_".join(f"{plain(head)}-{plain(value)}" for head, value in zip(heads, values, strict=True))
        for values in combinations
    ]
    often = Counter(name[:_LONGEST].lower() for name in names)  # some file systems do not tell a from A
    return [
        name if len(name) <= _LONGEST and often[name.lower()] == 1 else f"{name[:_LONGEST]}_{_digest(values)}"
        for name, values in zip(names, combinations, strict=True)
    ]


def _digest(values: tuple[str, ...]) -> str:
    return hashlib.sha256("\n".join(values).encode()).hexdigest()[:6]

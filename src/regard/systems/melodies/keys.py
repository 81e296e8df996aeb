"""Keys of ABC notation: the accidentals of each letter."""

from __future__ import annotations

import re

LETTERS = "CDEFGAB"
SEMITONES = dict(zip(LETTERS, (0, 2, 4, 5, 7, 9, 11), strict=True))
_SHARPS = "FCGDAEB"  # the order in which sharps are added; flats come in the reverse order
_FIFTHS = {
    letter: place - 1 for place, letter in enumerate(_SHARPS)
}  # number of sharps of the major key of each letter
_MODES = {
    "": 0,
    "maj": 0,
    "ion": 0,
    "mix": -1,
    "dor": -2,
    "m": -3,
    "min": -3,
    "aeo": -3,
    "phr": -4,
    "loc": -5,
    "lyd": 1,
}
_KEY = re.compile(r"([A-G])([#b]?)\s*([A-Za-z]*)(?:\s.*)?")


def signature(key: str) -> dict[str, int]:
    """Return the accidentals of a key in semitones per letter.

    Args:
        key: value of the ABC field K: a letter, `#` or `b`, and a mode: `G`, `Bb`, `F#m`, `D dorian`.

    Raises:
        ValueError: the key is unknown.

    >>> signature("A"), signature("Gm")
    ({'F': 1, 'C': 1, 'G': 1}, {'B': -1, 'E': -1})
    """
    found = _KEY.fullmatch(key.strip())
    mode = None if found is None else found[3].lower()[:3] if found[3] not in ("m", "M") else "m"
    if found is None or mode not in _MODES:
        raise ValueError(f"{key.strip()!r} is not a key; a key is a letter, # or b, and a mode: G, Bb, F#m, D dor")
    sharps = _FIFTHS[found[1]] + 7 * {"": 0, "#": 1, "b": -1}[found[2]] + _MODES[mode]
    if not -7 <= sharps <= 7:
        raise ValueError(f"{key.strip()!r} has {abs(sharps)} accidentals; a key has at most 7")
    return dict.fromkeys(_SHARPS[:sharps], 1) if sharps >= 0 else dict.fromkeys(_SHARPS[sharps:][::-1], -1)

"""Meaning of a past state: the word it had read, or the word after it."""

PAIRINGS = ("read", "next")
"""The word that the state had just read, or the next one."""


def check_pairing(pairing: str) -> None:
    """It is one of these.

    >>> check_pairing("last")
    Traceback (most recent call last):
    ValueError: pairing is read or next; got 'last'
    """
    if pairing not in PAIRINGS:
        raise ValueError(f"pairing is {' or '.join(PAIRINGS)}; got {pairing!r}")

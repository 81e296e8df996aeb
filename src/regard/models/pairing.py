"""What a state in the past stands for."""

PAIRINGS = ("read", "next")
"""What it had just read, or what came next."""


def check_pairing(pairing: str) -> None:
    """It is one of these.

    >>> check_pairing("last")
    Traceback (most recent call last):
    ValueError: pairing is read or next; got 'last'
    """
    if pairing not in PAIRINGS:
        raise ValueError(f"pairing is {' or '.join(PAIRINGS)}; got {pairing!r}")

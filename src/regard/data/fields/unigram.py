"""Training of the unigram model of Kudo (2018), deterministic across processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LONGEST = 16
"""Maximum number of characters per piece."""
_SEEDS = 1_000_000  # maximum number of seed pieces
_KEPT = 0.75  # fraction of pieces kept in each pruning round
_SPARE = 1.1  # pruning stops at this multiple of the requested size
_EXPECTED = 0.5  # pieces with a smaller expected count are dropped in the M step
_WORD = 256  # maximum characters per word; longer words are split
_TOGETHER = 65_536  # characters per lattice, which limits memory
_CHARACTERS = 8_000_000  # training uses the most frequent words up to this many characters, about 100 bytes each
_NONE = -1
_SMALL = -1e30


class Piece(NamedTuple):
    """A piece of text with its log-probability."""

    text: str
    score: float


def learn_pieces(counts: Mapping[str, int], size: int) -> list[Piece]:
    """Learn the pieces and their scores, sorted by descending score; all single characters are included.

    Args:
        counts: number of occurrences of each word.
        size: number of pieces; single characters are kept even if there are more.

    The seed pieces are the most frequent substrings. Each round runs two EM steps to estimate their probabilities and
    prunes the quarter of the pieces whose loss reduces the likelihood least, until the size is reached.

    >>> pieces = learn_pieces({"lower": 5, "newer": 5, "low": 5, "new": 5}, 8)
    >>> [piece.text for piece in pieces][:3], len(pieces)
    (['e', 'r', 'low'], 8)
    """
    text = _Text.of(counts)
    pieces = _seeds(text)
    enough = max(int(size * _SPARE), len(text.alphabet))
    while True:
        for _ in range(2):
            pieces = _maximised(pieces, _expected(text, pieces))  # M step after E step
        if len(pieces.scores) <= enough:
            return _chosen(text, pieces, size)
        pieces = _pruned(text, pieces, max(enough, int(len(pieces.scores) * _KEPT)))


class _Lattice(NamedTuple):
    """Words of equal length: the offset of each in the text, and its count."""

    length: int
    starts: Ints
    counts: Floats


class _Text(NamedTuple):
    """All words, concatenated.

    Attributes:
        codes: index of each character in the alphabet.
        alphabet: the characters, sorted by code point.
        room: number of characters from each position to the end of its word.
        weights: count of the word at each position.
        lattices: the words, grouped by length.
    """

    codes: Ints
    alphabet: str
    room: Ints
    weights: Floats
    lattices: tuple[_Lattice, ...]

    @staticmethod
    def of(counts: Mapping[str, int]) -> _Text:
        parts = _parts(counts)
        alphabet = "".join(sorted({character for part, _ in parts for character in part}))
        numbers = {character: number for number, character in enumerate(alphabet)}
        codes = np.fromiter((numbers[character] for part, _ in parts for character in part), np.int64)
        lengths = np.array([len(part) for part, _ in parts], np.int64)
        repeats = np.array([count for _, count in parts], np.float64)
        starts = np.cumsum(lengths) - lengths
        room = np.repeat(starts + lengths, lengths) - np.arange(len(codes))
        lattices = [
            _Lattice(int(length), starts[rows], repeats[rows])
            for length in np.unique(lengths)
            for rows in _groups(np.flatnonzero(lengths == length), int(length))
        ]
        return _Text(codes, alphabet, room, np.repeat(repeats, lengths), tuple(lattices))


class _Pieces(NamedTuple):
    """Candidate pieces of the segmentation.

    Attributes:
        ids: piece that starts at each position with 1, 2, ... characters, or -1, [N, LONGEST].
        starts, lengths: one occurrence of each piece in the text.
        scores: log-probability of each piece.
    """

    ids: NDArray[np.int32]
    starts: Ints
    lengths: Ints
    scores: Floats

    def kept(self, keep: NDArray[np.bool_], scores: Floats) -> _Pieces:
        """Return the pieces selected by a mask, renumbered, with new scores."""
        numbers = np.where(keep, np.cumsum(keep) - 1, _NONE).astype(np.int32)
        ids = np.where(self.ids == _NONE, _NONE, numbers[self.ids])
        return _Pieces(ids, self.starts[keep], self.lengths[keep], scores[keep])


def _parts(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return the most frequent words, split if too long, and each remaining character that occurs in none of them."""
    cut = [
        (word[begin : begin + _WORD], count) for word, count in counts.items() for begin in range(0, len(word), _WORD)
    ]
    cut.sort(key=lambda part: (-part[1], part[0]))
    ends = np.cumsum([len(part) for part, _ in cut])
    enough = int(np.searchsorted(ends, _CHARACTERS, side="right"))
    known = {character for part, _ in cut[:enough] for character in part}
    rest = sorted({character for part, _ in cut[enough:] for character in part} - known)
    return sorted(cut[:enough]) + [(character, 1) for character in rest]


def _groups(numbers: Ints, length: int) -> Iterator[Ints]:
    """Yield batches of words of limited total length."""
    size = max(1, _TOGETHER // length)
    return (numbers[begin : begin + size] for begin in range(0, len(numbers), size))


def _seeds(text: _Text) -> _Pieces:
    """Return all characters, and the substrings with two or more occurrences that cover most characters.

    A substring that is always followed by the same character is redundant: only the longer one is kept.
    """
    windows = text.codes.copy()  # id of the substring of the current length at each position
    counts: Floats = np.bincount(windows, text.weights).astype(np.float64)
    found: list[tuple[Ints, Ints, Floats]] = [(np.arange(len(text.codes)), windows, counts)]
    alive = np.arange(len(text.codes))
    for length in range(2, LONGEST + 1):
        alive = alive[text.room[alive] >= length]
        # A substring is identified by the id of its prefix, one character shorter, and its last character.
        key = windows[alive] * len(text.alphabet) + text.codes[alive + length - 1]
        _, first, numbers = np.unique(key, return_index=True, return_inverse=True)
        totals = np.bincount(numbers, text.weights[alive], minlength=len(first))
        longest = np.zeros(len(found[-1][2]))
        np.maximum.at(longest, windows[alive][first], totals)
        found[-1][2][(longest == found[-1][2]) & (length > 2)] = 0.0  # always followed by the same character
        often = totals[numbers] >= 2
        alive, numbers = alive[often], numbers[often]
        kept, numbers = np.unique(numbers, return_inverse=True)
        windows = np.zeros(len(text.codes), np.int64)
        windows[alive] = numbers
        found.append((alive, numbers, totals[kept]))
        if not len(alive):
            break
    return _ranked(text, found)


def _ranked(text: _Text, found: list[tuple[Ints, Ints, Floats]]) -> _Pieces:
    """Return the substrings that cover the most characters (length times count)."""
    covered = [length * counts for length, (_, _, counts) in enumerate(found, start=1)]
    covered[0] = np.full(len(covered[0]), np.inf)  # single characters stay
    every, offsets = np.concatenate(covered), np.cumsum([0, *map(len, covered)])
    order = np.argsort(-every, kind="stable")[:_SEEDS]
    chosen = np.sort(order[every[order] > 0])
    numbers = np.full(len(every), _NONE, np.int32)
    numbers[chosen] = np.arange(len(chosen), dtype=np.int32)
    ids = np.full((len(text.codes), LONGEST), _NONE, np.int32)
    starts, lengths = np.zeros(len(chosen), np.int64), np.zeros(len(chosen), np.int64)
    for column, (places, substrings, _) in enumerate(found):
        here = numbers[offsets[column] + substrings]
        ids[places, column] = here
        known = here != _NONE
        starts[here[known][::-1]] = places[known][::-1]  # reversed: the first occurrence is written last
        lengths[here[known]] = column + 1
    counts = np.concatenate([counts for _, _, counts in found])[chosen] * lengths
    return _Pieces(ids, starts, lengths, np.log(counts / counts.sum()))


def _edges(lattice: _Lattice, pieces: _Pieces, end: int) -> tuple[NDArray[np.int32], Floats]:
    """Return the pieces that end after the first `end` characters of each word, [rows, lengths], and their scores."""
    lengths = np.arange(1, min(end, LONGEST) + 1)
    ids = pieces.ids[lattice.starts[:, None] + end - lengths, lengths - 1]
    return ids, np.where(ids == _NONE, _SMALL, pieces.scores[ids])


def _expected(text: _Text, pieces: _Pieces) -> Floats:
    """E step: return the expected count of each piece over all segmentations, by forward-backward."""
    expected = np.zeros(len(pieces.scores))
    for lattice in text.lattices:
        size, rows = lattice.length, len(lattice.starts)
        edges = [_edges(lattice, pieces, end) for end in range(1, size + 1)]
        before = np.full((rows, size + 1), _SMALL)  # forward: log p of the first characters of a word
        before[:, 0] = 0.0
        for end, (_, scores) in enumerate(edges, start=1):
            width = scores.shape[1]
            before[:, end] = _logsumexp(before[:, end - width : end][:, ::-1] + scores)
        behind = np.full((rows, size + 1), _SMALL)  # backward: log p of the remaining characters
        behind[:, size] = 0.0
        for end in range(size, 0, -1):
            ids, scores = edges[end - 1]
            width = scores.shape[1]
            here = behind[:, end, None] + scores
            earlier = behind[:, end - width : end]
            behind[:, end - width : end] = np.logaddexp(earlier, here[:, ::-1])
            # Posterior of a piece: forward up to it, its score, backward after it, normalised by the word's total.
            log_p = before[:, end - width : end][:, ::-1] + here - before[:, size, None]
            share = np.exp(np.minimum(log_p, 0.0)) * lattice.counts[:, None]
            known = ids != _NONE
            expected += np.bincount(ids[known], share[known], minlength=len(expected))
    return expected


def _maximised(pieces: _Pieces, expected: Floats) -> _Pieces:
    """M step with the digamma function, which favours sparse solutions; single characters are kept."""
    keep = (expected >= _EXPECTED) | (pieces.lengths == 1)
    expected = np.maximum(expected, _EXPECTED)
    return pieces.kept(keep, _digamma(expected) - _digamma(expected[keep].sum()[None])[0])


def _pruned(text: _Text, pieces: _Pieces, size: int) -> _Pieces:
    """Keep the pieces whose removal would reduce the likelihood most, and all single characters."""
    used = np.zeros(len(pieces.scores))  # counts in the best segmentations
    for lattice in text.lattices:
        for words, ids in _best(lattice, pieces):
            used += np.bincount(ids, lattice.counts[words], minlength=len(used))
    total = used.sum()
    losses = np.where(pieces.lengths == 1, np.inf, 0.0)
    for numbers, lattice in _as_words(pieces):
        counts = used[numbers]
        # Without a piece, each of its occurrences becomes the pieces of its own best segmentation.
        new_total = np.log(total + counts * (_steps(lattice, pieces) - 1))
        other = np.zeros(len(numbers))
        for words, ids in _best(lattice, pieces, whole=False):
            np.add.at(other, words, np.log(np.maximum(used[ids] + counts[words], 1e-300)) - new_total[words])
        # Pieces that the best segmentations never use (count 0) give log 0; `where` below replaces their loss by 0.
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = counts * (np.log(counts) - np.log(total) - other)
        losses[numbers] = np.where(counts > 0, loss, 0.0)
    order = np.argsort(-losses, kind="stable")
    keep = np.zeros(len(losses), bool)
    keep[order[:size]] = True
    keep |= pieces.lengths == 1
    return pieces.kept(keep, pieces.scores)


def _as_words(pieces: _Pieces) -> Iterator[tuple[Ints, _Lattice]]:
    """Yield the pieces of two or more characters by length: their indices, and the pieces as a lattice of words."""
    for length in range(2, LONGEST + 1):
        for numbers in _groups(np.flatnonzero(pieces.lengths == length), length):
            yield numbers, _Lattice(length, pieces.starts[numbers], np.ones(len(numbers)))


def _steps(lattice: _Lattice, pieces: _Pieces) -> Floats:
    """Return the number of pieces in the best segmentation of each word that does not use the word as a piece."""
    found = np.zeros(len(lattice.starts))
    for words, _ in _best(lattice, pieces, whole=False):
        np.add.at(found, words, 1.0)
    return found


def _best(lattice: _Lattice, pieces: _Pieces, *, whole: bool = True) -> Iterator[tuple[Ints, NDArray[np.int32]]]:
    """Viterbi segmentation of each word: yields (rows, their pieces), one piece per row in each step.

    Ties are broken by the shorter last piece. `whole=False` excludes the piece that is the whole word.
    """
    size, rows = lattice.length, len(lattice.starts)
    score, step = np.full((rows, size + 1), _SMALL), np.zeros((rows, size + 1), np.int64)
    score[:, 0] = 0.0
    for end in range(1, size + 1):
        _, scores = _edges(lattice, pieces, end)
        width = scores.shape[1]
        if not whole and end == size and width == size:
            scores = scores.copy()
            scores[:, size - 1] = _SMALL
        ways = score[:, end - width : end][:, ::-1] + scores
        step[:, end] = ways.argmax(1) + 1
        score[:, end] = ways.max(1)
    place, open_rows = np.full(rows, size), np.arange(rows)
    while len(open_rows):
        lengths = step[open_rows, place[open_rows]]
        place[open_rows] -= lengths
        yield open_rows, pieces.ids[lattice.starts[open_rows] + place[open_rows], lengths - 1]
        open_rows = open_rows[place[open_rows] > 0]


def _chosen(text: _Text, pieces: _Pieces, size: int) -> list[Piece]:
    """Return all characters and the best of the other pieces, by score; ties are in alphabetical order."""
    order = np.lexsort((pieces.starts, -pieces.scores, pieces.lengths > 1))[: max(size, len(text.alphabet))]
    found = []
    for number in order:
        start, length = pieces.starts[number], pieces.lengths[number]
        spelt = "".join(text.alphabet[code] for code in text.codes[start : start + length])
        found.append(Piece(spelt, float(pieces.scores[number])))
    return sorted(found, key=lambda piece: (-piece.score, piece.text))


def _logsumexp(values: Floats) -> Floats:
    highest = values.max(1)
    total: Floats = highest + np.log(np.exp(values - highest[:, None]).sum(1))
    return total


def _digamma(x: Floats) -> Floats:
    """Compute ψ(x) for x > 0 by the recurrence, up to where the asymptotic series is accurate.

    >>> bool(abs(_digamma(np.array([1.0]))[0] + 0.5772156649015329) < 1e-12)      # minus Euler's constant
    True
    """
    shift = np.zeros_like(x)
    for step in range(10):
        shift += 1 / (x + step)
    x = x + 10
    square = 1 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    found: Floats = np.log(x) - 0.5 / x - series - shift
    return found

"""The alignment under METEOR: as many words as can be matched, in as few chunks as can be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple


class WordMatches(NamedTuple):
    """An alignment: `links` (hypothesis position, reference position, stage), and the number of `chunks`."""

    links: tuple[tuple[int, int, str], ...]
    chunks: int


class _Path(NamedTuple):
    """A partial alignment. The three masks say which reference words were taken by which stage."""

    exact: int
    stem: int
    synonym: int
    last: int  # where the previous hypothesis word is linked to; -2 where it is not
    chunks: int
    links: tuple[tuple[int, int, str], ...]

    @property
    def taken(self) -> int:
        return self.exact | self.stem | self.synonym

    def link(self, at: int, to: int, stage: str) -> _Path:
        """The path with one more link."""
        exact, stem, synonym = (1 << to if name == stage else 0 for name in ("exact", "stem", "synonym"))
        return _Path(
            self.exact | exact,
            self.stem | stem,
            self.synonym | synonym,
            last=to,
            chunks=self.chunks + (to != self.last + 1),
            links=(*self.links, (at, to, stage)),
        )


class _Words:
    """Both sentences, and how many links each stage must make whatever the choices.

    A stage links as many words as it can, given the stages before it. For equal words that is the smaller of the two
    counts, and for equal stems the smaller of what is then left over: these are the quotas.
    """

    def __init__(self, system: Sequence[str], reference: Sequence[str], stem: Callable[[str], str] | None) -> None:
        self.system, self.reference = system, reference
        stemmed = {word: word if stem is None else stem(word) for word in {*system, *reference}}
        self.stems = stemmed
        here, there = Counter(system), Counter(reference)
        self.exact = here & there
        self.stem = Counter(stemmed[w] for w in (here - self.exact).elements()) & Counter(
            stemmed[w] for w in (there - self.exact).elements()
        )
        self.members: dict[str, list[str]] = {}
        for word, base in stemmed.items():
            self.members.setdefault(base, []).append(word)
        self.word_mask = {word: _mask(reference, {word}) for word in stemmed}
        self.stem_mask = {base: _mask(reference, words) for base, words in self.members.items()}
        self.after = [Counter(system[at + 1 :]) for at in range(len(system))]

    def exact_due(self, path: _Path, word: str) -> int:
        """Exact links of this word that are still to come."""
        return self.exact[word] - (path.exact & self.word_mask[word]).bit_count()

    def stem_due(self, path: _Path, base: str) -> int:
        """Stem links of this stem that are still to come."""
        return self.stem[base] - (path.stem & self.stem_mask[base]).bit_count()

    def word_to_spare(self, path: _Path, word: str) -> bool:
        """Return whether a free reference word like this one is not needed for an exact link."""
        free = (self.word_mask[word] & ~path.taken).bit_count()
        return free > self.exact_due(path, word)

    def stem_to_spare(self, path: _Path, base: str) -> bool:
        """Return whether a free reference word of this stem is not needed for exact and stem links."""
        free = (self.stem_mask[base] & ~path.taken).bit_count()
        exact = sum(self.exact_due(path, word) for word in self.members[base])
        return free - exact > self.stem_due(path, base)

    def may_skip_exact(self, path: _Path, at: int) -> bool:
        word = self.system[at]
        return self.after[at][word] >= self.exact_due(path, word)

    def may_skip_stem(self, path: _Path, at: int) -> bool:
        base = self.stems[self.system[at]]
        left = sum(self.after[at][word] - self.exact_due(path, word) for word in self.members[base])
        return left >= self.stem_due(path, base)


def align_words(
    system: Sequence[str],
    reference: Sequence[str],
    *,
    stem: Callable[[str], str] | None = None,
    senses: Callable[[str], Collection[str]] | None = None,
    beam: int = 64,
) -> WordMatches:
    """Links the words of two sentences one to one: equal words first, then equal stems, then synonyms.

    Each stage makes as many links as it can with what the stages before it left. Among all alignments that do so, one
    with the fewest chunks is taken (a chunk is a run of words that stand next to each other in the same order in both).
    The search goes through the hypothesis word by word and keeps one best path for each set of taken words, so it is
    exact until more than `beam` paths differ, which takes a long sentence that repeats itself.

    Args:
        system: words of the hypothesis.
        reference: words of the reference.
        stem: from a word to its stem; None leaves that stage out.
        senses: from a word to the sets it belongs to; words that share one are synonyms. None leaves that stage out.
        beam: how many partial alignments are kept.

    Returns:
        Matched.

    >>> align_words("on the mat sat the cat".split(), "the cat sat on the mat".split()).chunks
    3
    """
    words = _Words(system, reference, stem)
    synonyms = _synonyms(system, reference, senses)
    paths = [_Path(0, 0, 0, -2, 0, ())]
    for at in range(len(system)):
        best: dict[tuple[int, int, int, int], _Path] = {}
        for path in paths:
            for grown in _grow(path, at, words, synonyms):
                key = grown[:4]
                if key not in best or grown.chunks < best[key].chunks:
                    best[key] = grown
        paths = sorted(best.values(), key=_promise)[:beam]
    chosen = min(paths, key=lambda path: (-len(path.links), path.chunks))
    return WordMatches(chosen.links, chosen.chunks)


def _promise(path: _Path) -> float:
    """Few chunks for the links made so far; a link that is still to be made may cost a chunk, or none."""
    return path.chunks - len(path.links) / 2


def _grow(path: _Path, at: int, words: _Words, synonyms: dict[str, list[int]]) -> list[_Path]:
    """Every way to go on with the hypothesis word at this position that still lets each stage meet its quota."""
    word = words.system[at]
    base = words.stems[word]
    grown = []
    if words.exact_due(path, word) > 0:
        grown += [path.link(at, to, "exact") for to in _free(path, words.word_mask[word])]
    if not words.may_skip_exact(path, at):
        return grown
    if words.stem_due(path, base) > 0:
        others = _free(path, words.stem_mask[base] & ~words.word_mask[word])
        grown += [path.link(at, to, "stem") for to in others if words.word_to_spare(path, words.reference[to])]
    if not words.may_skip_stem(path, at):
        return grown
    for to in synonyms.get(word, ()):
        other = words.reference[to]
        spare = words.word_to_spare(path, other) and words.stem_to_spare(path, words.stems[other])
        if spare and not path.taken >> to & 1:
            grown.append(path.link(at, to, "synonym"))
    return [*grown, path._replace(last=-2)]


def _free(path: _Path, mask: int) -> list[int]:
    mask &= ~path.taken
    return [to for to in range(mask.bit_length()) if mask >> to & 1]


def _mask(reference: Sequence[str], wanted: Collection[str]) -> int:
    return sum(1 << at for at, word in enumerate(reference) if word in wanted)


def _synonyms(
    system: Sequence[str], reference: Sequence[str], senses: Callable[[str], Collection[str]] | None
) -> dict[str, list[int]]:
    """For each word of the hypothesis the positions of its synonyms in the reference."""
    if senses is None:
        return {}
    sets = {word: set(senses(word)) for word in {*system, *reference}}
    return {
        word: [to for to, other in enumerate(reference) if other != word and sets[word] & sets[other]]
        for word in set(system)
    }

"""WordNet: which words are synonyms, read from the files of its `dict/` folder."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

_ENDINGS = {
    "noun": (("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"),
             ("ies", "y")),
    "verb": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}  # fmt: skip


class WordNet:
    """The synonym sets of English words.

    Two words are synonyms if a base form of one shares a synonym set with a base form of the other. The index files
    alone tell that: they list the sets of every word by part of speech and number, and so the data files, which hold
    the glosses, are not read. Base forms are found by the rules of WordNet's own `morph`: the exception lists (`*.exc`)
    where they are there, and its detachment rules.

    Args:
        path: the `dict/` folder of WordNet 3.x (wordnet.princeton.edu), with index.noun, index.verb, index.adj and
            index.adv.

    Attributes:
        path: the folder.
        version: "3.0", "3.1", ..., as the files say.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.version = "unknown"
        self._sets = {part: self._index(part) for part in _ENDINGS}
        self._exceptions = {part: self._irregular(part) for part in _ENDINGS}

    def synsets(self, word: str) -> frozenset[str]:
        """The sets that a word, in whatever form, belongs to: "noun:02084071" and so on."""
        return frozenset(
            f"{part}:{number}"
            for part, index in self._sets.items()
            for base in self._bases(word, part)
            for number in index.get(base, ())
        )

    def _bases(self, word: str, part: str) -> set[str]:
        endings = {word.removesuffix(old) + new for old, new in _ENDINGS[part] if word.endswith(old)}
        return {word, *endings, *self._exceptions[part].get(word, ())}

    def _index(self, part: str) -> dict[str, list[str]]:
        """Lines are: lemma, part, number of sets, number of pointers, the pointers, two counts, the sets."""
        index = {}
        for number, line in enumerate(self._lines(f"index.{part}"), start=1):
            if line.startswith(" "):  # the licence
                if "WordNet " in line and " Copyright" in line and self.version == "unknown":
                    self.version = line.split("WordNet ")[1].split()[0]
                continue
            try:
                lemma, _, sets, *rest = line.split()
                if "_" not in lemma:  # several words never equal one
                    index[lemma] = rest[-int(sets) :]
            except ValueError:
                raise ValueError(
                    f"{self.path / f'index.{part}'}, line {number}: not a line of a WordNet index"
                ) from None
        return index

    def _irregular(self, part: str) -> dict[str, list[str]]:
        if not (self.path / f"{part}.exc").is_file():
            return {}
        return {form: bases for form, *bases in map(str.split, self._lines(f"{part}.exc")) if bases}

    def _lines(self, name: str) -> list[str]:
        try:
            return (self.path / name).read_text(encoding="utf-8").splitlines()
        except OSError:
            raise ValueError(
                f"wordnet: {self.path / name} cannot be read; give the path of WordNet's dict/ folder"
            ) from None


@lru_cache(maxsize=2)
def read_wordnet(path: str) -> WordNet:
    """WordNet of this folder, read once."""
    return WordNet(path)

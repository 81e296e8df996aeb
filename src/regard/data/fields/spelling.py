"""Field of the characters of words, used in addition to the words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.data.example import Example, WrappedExamples
from regard.data.fields.column import Column, Ints
from regard.data.fields.padding import nested
from regard.data.fields.sentences import Sentences, encoded_sentences
from regard.data.fields.story import StoryField
from regard.data.fields.tokenizer import Tokenizer

LETTERS = "letters"
"""Name of the field with the characters of the words of "text"."""
LONGEST = 40
"""Maximum number of characters per word; of a longer word only the first and the last half as many are kept."""


class SpelledWords(Sentences):
    """Words as character sequences, encoded as one row of ids with `</s>` after each word."""

    @classmethod
    def of(cls, words: Sequence[str]) -> SpelledWords:
        """Return the words, with the middle of long words removed.

        >>> [len(word) for word in SpelledWords.of(["a", "b" * 99])]
        [1, 40]
        """
        half = LONGEST // 2
        return cls(word if len(word) <= LONGEST else word[:half] + word[-half:] for word in words)


@dataclass(frozen=True)
class SpellingField(StoryField):
    """Characters of words: ids [B, W, L], and the number of words per text [B]; used in addition to the words.

    >>> from regard.data.fields.tokenizer import Tokenizer
    >>> letters = SpellingField(Tokenizer.train(["abc"], kind="characters"))
    >>> letters.encode([["ab", "c"]])["ids"].values                       # `</s>` after each word
    array([4, 5, 3, 6, 3], dtype=int32)
    """

    def cells(self, column: Column) -> Ints | None:
        """Return None: the words themselves already count towards the budget."""
        return None


@dataclass(frozen=True)
class WithLetters(WrappedExamples):
    """Examples with an additional field "letters": the characters of "text", a list of words.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from regard.data import Columns
    >>> path = Path(mkdtemp()) / "train.txt"
    >>> _ = path.write_text("He PRP\\nreckons VBZ\\n")
    >>> next(iter(WithLetters(Columns(path)))).fields["letters"]
    ['He', 'reckons']
    """

    def settings(self) -> str:
        """Return the settings of the wrapped examples and the maximum word length."""
        return f"Spelt({self.examples.settings()}, {LONGEST})"

    def __iter__(self) -> Iterator[Example]:
        for example in self.examples:
            words = example.fields["text"]
            spelt = SpelledWords.of(words.split() if isinstance(words, str) else words)
            yield example._replace(fields={**example.fields, LETTERS: spelt})


def letters_of(texts: Sequence[Sequence[str]], characters: Tokenizer) -> Ints:
    """Return the padded character ids of the words of some texts, [B, W, L].

    >>> characters = Tokenizer.train(["abc"], kind="characters")
    >>> letters_of([["ab", "c"], ["?"]], characters).tolist()
    [[[4, 5], [6, 0]], [[1, 0], [0, 0]]]
    """
    rows = encoded_sentences([SpelledWords.of(words) for words in texts], characters.encode_all)
    return nested(rows)[0]

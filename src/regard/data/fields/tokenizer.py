"""Tokenizer: conversion of text to ids and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal, get_args

import tokenizers
from tokenizers import normalizers, pre_tokenizers

from regard.data.fields import tokenizer_training
from regard.data.fields.field_encoder import FieldEncoder
from regard.data.fields.pieces import piece_bytes, printable
from regard.data.fields.tokenizer_style import TokenizerKind, TokenizerStyle
from regard.data.fields.tokenizer_training import CountedTexts, VocabularySettings
from regard.data.fields.word_splitting import WordSplit, joined_words
from regard.data.formats.encodings import lone_surrogate
from regard.data.problems import DataError, TextError, shortened
from regard.specials import BOS, EOS, MASK, MASKED, PAD, SPECIALS, UNK

Normalisation = Literal["nfc", "nfd", "nfkc", "nfkd"]

_RESERVED = frozenset((PAD, BOS, EOS))
_FORMS = {"nfc": normalizers.NFC, "nfd": normalizers.NFD, "nfkc": normalizers.NFKC, "nfkd": normalizers.NFKD}


class Tokenizer(FieldEncoder):
    """Vocabulary and segmentation of text, based on the `tokenizers` library.

    The first four ids are those of `regard.specials`. Text is never encoded as `<pad>`, `<s>` or `</s>`: "</s>" in a
    text is a sequence of characters, or `<unk>` as a whole word. The word "<unk>" is the unknown word. The JSON defines
    a tokenizer completely, so equal JSON means equal tokenizers. One tokenizer for source and target is a joint
    vocabulary.

    | kind | pieces | lossless |
    |---|---|---|
    | characters | code points | yes, except for characters that do not occur in training |
    | words | words and punctuation marks; or text between white space | up to white space and unknown words |
    | bpe | byte pairs (Sennrich et al. 2016) over bytes; a space belongs to the word after it | yes, any text |
    | unigram | the unigram model of Kudo (2018) | up to white space and unseen characters |
    | wordpiece | as in BERT: longest match, punctuation split | up to spaces, unknown words, accents if lower-cased |

    A tokenizer with `<mask>` as its fifth id also encodes text pairs: a tab between two texts becomes `</s>`.

    >>> words = Tokenizer.train(["a house", "a small house"], kind="words", min_frequency=2)
    >>> words.size, words.encode("a big house"), words.decode([2, 4, 5, 3, 4])
    (6, [4, 1, 5], 'a house')
    >>> characters = Tokenizer.train(["a house"], kind="characters")
    >>> characters.tokens(characters.encode("a use")), characters.words_of(characters.encode("a use"))
    (['a', '▁', 'u', 's', 'e'], [0, -1, 1, 1, 1])
    """

    def __init__(self, text: str) -> None:
        """Create a tokenizer from the library's JSON; see `train` and `load`."""
        self._library = tokenizers.Tokenizer.from_str(text)
        self._library.encode_special_tokens = True
        self.json: str = self._library.to_str()
        style = TokenizerStyle.of(json.loads(self.json))
        self.kind: TokenizerKind = style.kind
        self.split: WordSplit | None = style.split
        self._marks = style.marks
        first = tuple(self._library.id_to_token(index) for index in range(len(SPECIALS)))
        if first != SPECIALS:
            raise DataError(f"a tokenizer must begin with {', '.join(SPECIALS)}; this one begins with {first}")
        self.masked: bool = self._library.id_to_token(MASK) == MASKED[MASK]
        self._special = len(MASKED) if self.masked else len(SPECIALS)
        self._reserved = _RESERVED | {MASK} if self.masked else _RESERVED

    FILE: ClassVar[str] = "tokenizer"

    @classmethod
    def train(
        cls,
        texts: Iterable[str | Sequence[str]],
        *,
        kind: TokenizerKind,
        split: WordSplit | None = None,
        size: int | None = None,
        min_frequency: int = 1,
        lowercase: bool = False,
        normalise: Normalisation | None = None,
        masked: bool = False,
        more: Iterable[str] = (),
    ) -> Tokenizer:
        """Learn a vocabulary.

        Args:
            texts: training texts, iterated once; a text may be a list of words.
            kind: "characters", "words", "bpe", "unigram" or "wordpiece".
            split: word splitting for kind "words": "punctuation" separates punctuation from words, "whitespace" is for
                tokenised text; None for "punctuation". The words of a list are never split.
            size: maximum vocabulary size, including special ids; None for no limit (characters, words) or 8000.
            min_frequency: rarer pieces are excluded (for bpe, rarer pairs are not merged).
            lowercase: convert texts to lower case.
            normalise: Unicode normal form applied to texts; None for no normalisation.
            masked: whether to add `<mask>` as the fifth id, for masked language models.
            more: additional words in normal form, for kind "words"; they follow those of the texts, within `size`.
        """
        if kind not in get_args(TokenizerKind):
            raise DataError(f"there is no tokenizer of kind {kind!r}; there are {', '.join(get_args(TokenizerKind))}")
        if normalise is not None and normalise not in _FORMS:
            raise DataError(f"there is no normal form {normalise!r}; there are {', '.join(_FORMS)}")
        if split is not None and kind != "words":
            raise DataError(f"split is {split!r}, and for tokenizers of kind words; the kind is {kind!r}")
        counted = CountedTexts(texts)
        forms = ([_FORMS[normalise]()] if normalise else []) + ([normalizers.Lowercase()] if lowercase else [])
        if kind == "wordpiece":
            forms.append(normalizers.BertNormalizer(lowercase=lowercase))
        wanted = VocabularySettings(size, min_frequency, forms, MASKED if masked else SPECIALS, more)
        if kind == "words":
            library = tokenizer_training.words(counted, wanted, split or "punctuation")
        else:
            library = _LEARNED[kind](counted, wanted)
        if not counted.count or library.get_vocab_size() == len(wanted.specials):
            seen = f"{counted.count} text{'' if counted.count == 1 else 's'}"
            raise DataError(f"the vocabulary is empty: {seen} gave no {kind} at min_frequency {min_frequency}")
        return cls(tokenizers.Tokenizer.from_str(library.to_str()).to_str())

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        """Load a tokenizer from a file written by `save`."""
        try:
            return cls(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise DataError(f"{path}: there is no such tokenizer") from None
        except DataError as error:
            raise DataError(f"{path}: {error}") from error
        except Exception as error:  # the library raises a bare Exception
            raise DataError(f"{path} is not a tokenizer: {error}") from error

    def save(self, path: str | Path) -> None:
        """Save the library's JSON, which defines the tokenizer completely."""
        Path(path).write_text(self.json, encoding="utf-8")

    @property
    def size(self) -> int:
        """Number of ids."""
        return int(self._library.get_vocab_size())

    @property
    def special(self) -> int:
        """Number of special ids, which come first."""
        return self._special

    @property
    def byte_level(self) -> bool:
        """True if pieces are of bytes."""
        return self._marks == "bytes"

    def byte_words(self, ids: Sequence[int]) -> tuple[str, ...]:
        """Split byte-level ids into pre-tokenised words, in the byte alphabet; merges do not cross these words.

        >>> bpe = Tokenizer.train(["a house"], kind="bpe", size=270)
        >>> bpe.byte_words(bpe.encode("a house!"))
        ('Ġa', 'Ġhouse', '!')
        """
        text = b"".join(piece for _, piece in self._pieces(ids)).decode("utf-8", "replace")
        return tuple(word for word, _ in self._library.pre_tokenizer.pre_tokenize_str(text))

    @property
    def fingerprint(self) -> str:
        """Fingerprint of everything that the ids of a text depend on."""
        return self.json

    def encode(self, text: str | Sequence[str]) -> list[int]:
        """Return the ids of a text, without `<s>` and `</s>`; a list of words is encoded word by word."""
        return self.encode_all([text])[0]

    def encode_all(self, texts: Sequence[str | Sequence[str]]) -> list[list[int]]:
        """Return the ids of many texts, using all cores."""
        try:
            return self._encoded(texts)
        except (TypeError, UnicodeEncodeError):
            plain = [text if isinstance(text, str) else " ".join(text) for text in texts]
            wrong = next((text for text in plain if lone_surrogate(text) is not None), None)
            if wrong is None:
                raise
            raise TextError(f"{shortened(wrong)!r} has a byte that is not UTF-8, or half of a surrogate pair") from None
        except BaseException as problem:
            if type(problem).__name__ != "PanicException":  # raised by the Rust library, which does not export it
                raise
            raise DataError(
                f"the tokenizer fails on one of these texts ({problem}); use one with a simpler regular expression"
            ) from None

    def _encoded(self, texts: Sequence[str | Sequence[str]]) -> list[list[int]]:
        if self.masked and any(isinstance(text, str) and "\t" in text for text in texts):
            return [self._both(text) for text in texts]
        plain = [text if isinstance(text, str) else self._joined(text) for text in texts]
        apart = self._cuts_words and any(not isinstance(text, str) for text in texts)
        library = self._of_whole_words if apart else self._library
        encoded = library.encode_batch_fast(plain, add_special_tokens=False)
        return [self._safe(encoding.ids) for encoding in encoded]

    def places(self, text: str) -> list[tuple[int, int]]:
        """Return the (start, end) character offsets of each piece of a text, without surrounding spaces.

        >>> Tokenizer.train(["a house"], kind="bpe", size=270).places("a house")[:2]
        [(0, 1), (2, 7)]
        """
        found = []
        for begin, end in self._library.encode(text, add_special_tokens=False).offsets:
            piece = text[begin:end]
            begin += len(piece) - len(piece.lstrip())
            found.append((begin, max(begin, end - (len(piece) - len(piece.rstrip())))))
        return found

    def _both(self, text: str | Sequence[str]) -> list[int]:
        """Return the ids of a text, or of two separated by a tab, which becomes `</s>`."""
        if not isinstance(text, str) or "\t" not in text:
            return self.encode(text)
        first, _, second = text.partition("\t")
        if "\t" in second:
            raise DataError(f"a tab stands between two texts, and here are more: {shortened(text)!r}")
        return [*self.encode(first), EOS, *self.encode(second)]

    @property
    def _cuts_words(self) -> bool:
        """True if punctuation inside a word starts a new word."""
        return self.kind == "wordpiece" or self.split == "punctuation"

    @cached_property
    def _of_whole_words(self) -> tokenizers.Tokenizer:
        """The library's tokenizer for normalised words: punctuation inside a word does not start a new one."""
        library = tokenizers.Tokenizer.from_str(self.json)
        library.encode_special_tokens = True
        library.normalizer = normalizers.Sequence([])
        library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        return library

    def begins(self) -> list[bool]:
        """Return for each id whether it starts a word, in a text with single spaces between words."""
        if self.kind == "characters":
            raise DataError(
                "characters do not say where a word begins; use a tokenizer of kind words, bpe, unigram or wordpiece"
            )
        return [self._begins(index, piece) for index, (_, piece) in enumerate(self._pieces(range(self.size)))]

    def _begins(self, index: int, piece: bytes) -> bool:
        whole = self.kind == "words" or (self.kind == "wordpiece" and index == UNK)  # `<unk>` is a whole word
        return whole or piece[:1].isspace()

    def _joined(self, words: Sequence[str]) -> str:
        """Join words to a text from which they can be recovered."""
        if self.kind == "characters":
            raise DataError("lists of words need a tokenizer of kind words, bpe, unigram or wordpiece, not characters")
        for word in words:
            if word.split() != [word]:
                raise DataError(f"the word {word!r} of {list(words)[:5]} ... is empty or has white space in it")
        return self._before + " ".join(map(self.normal, words))

    @cached_property
    def _before(self) -> str:
        """Prefix that makes the first word of a text have the same pieces as later ones: a space, or nothing."""
        if self._marks in ("inside", "none"):
            return ""
        first, later = (b"".join(piece for _, piece in self._pieces(self.encode(text))) for text in ("a", " a"))
        return " " if later[:1].isspace() and not first[:1].isspace() else ""

    def normal(self, word: str) -> str:
        """Return the normal form of a word without spaces: NFKC turns "´" into a space and an accent.

        >>> Tokenizer.train(["a house"], kind="words", lowercase=True).normal("Mary")      # known or not
        'mary'
        """
        normaliser = self._library.normalizer
        if normaliser is None:
            normal = word
        elif self._marks in ("spaces", "fallback") and normaliser.normalize_str("a")[:1] == "▁":
            normal = normaliser.normalize_str(word).replace("▁", "")  # it also marks the beginning
        else:
            normal = "".join(normaliser.normalize_str(word).split())
        return normal.replace("▁", "_") if self._marks in ("spaces", "fallback") else normal

    def decode(self, ids: Iterable[int]) -> str:
        """Decode ids to text up to the first `</s>`; unknown words are "<unk>", other special ids are omitted."""
        kept = [index for index in _ended(ids) if index not in self._reserved]
        if self.split == "punctuation":
            return joined_words([self._library.id_to_token(index) or "" for index in kept])
        return str(self._library.decode(kept, skip_special_tokens=False))

    def joined(self, words: Sequence[str]) -> str:
        """Join words, including unknown ones, to a text, with the same spacing as `decode`.

        >>> Tokenizer.train(["a house."], kind="words").joined(["a", "house", "."])
        'a house.'
        """
        return joined_words(words) if self.split == "punctuation" else " ".join(words)

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Return each piece in printable form: "▁" is a space, "\\xc3" a byte that is not a character by itself."""
        return [printable(piece) if special is None else special for special, piece in self._pieces(ids)]

    def vocabulary(self) -> list[str]:
        """Return the piece of each id in the spelling of the library, special ones first.

        >>> Tokenizer.train(["a house"], kind="words").vocabulary()
        ['<pad>', '<unk>', '<s>', '</s>', 'a', 'house']
        """
        return [self._library.id_to_token(index) or "" for index in range(self.size)]

    def words_of(self, ids: Iterable[int]) -> list[int]:
        """Return the word index of each piece; -1 for white space and special ids other than "<unk>"."""
        found: list[int] = []
        word, open_word = -1, False
        for index, (special, piece) in zip(ids, self._pieces(ids), strict=True):
            if index in self._reserved or (special is None and piece.isspace()):
                found.append(-1)
                open_word = False
                continue
            if not open_word or self._begins(index, piece):
                word += 1
            found.append(word)
            open_word = True
        return found

    def _pieces(self, ids: Iterable[int]) -> Iterator[tuple[str | None, bytes]]:
        """Yield the name of each special id, and the bytes of each other piece."""
        for index in ids:
            token = self._library.id_to_token(int(index))
            if token is None:
                raise DataError(f"there is no id {index}: the vocabulary has {self.size}")
            yield (token, b"") if index < self._special else (None, piece_bytes(token, self._marks))

    def _safe(self, ids: list[int]) -> list[int]:
        """Replace special ids that come from the text itself, such as a literal "</s>", by `<unk>`."""
        return ids if self._reserved.isdisjoint(ids) else [UNK if index in self._reserved else index for index in ids]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tokenizer) and self.json == other.json

    def __hash__(self) -> int:
        return hash(self.json)

    def __reduce__(self) -> tuple[type[Tokenizer], tuple[str]]:
        return Tokenizer, (self.json,)

    def __repr__(self) -> str:
        return f"Tokenizer({self.kind}, {self.size})"


_LEARNED = {
    "characters": tokenizer_training.characters,
    "bpe": tokenizer_training.bpe,
    "unigram": tokenizer_training.unigram,
    "wordpiece": tokenizer_training.wordpiece,
}


def _ended(ids: Iterable[int]) -> Iterator[int]:
    for index in ids:
        if index == EOS:
            return
        yield int(index)

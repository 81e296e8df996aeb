"""Text to ids and back."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal, get_args

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from regard.data.pieces import printable, surface
from regard.data.problems import DataError
from regard.specials import BOS, EOS, PAD, SPECIALS, UNK

Kind = Literal["characters", "words", "bpe", "unigram"]
Normalisation = Literal["nfc", "nfd", "nfkc", "nfkd"]

_RESERVED = frozenset((PAD, BOS, EOS))
_FORMS = {"nfc": normalizers.NFC, "nfd": normalizers.NFD, "nfkc": normalizers.NFKC, "nfkd": normalizers.NFKD}


class Tokenizer:
    """A vocabulary and the way to cut text into it, over the `tokenizers` library.

    The ids begin with the four of `regard.specials`. Nothing in a text can become padding, a beginning or an
    end: the characters "</s>" in a text are characters, and as a word of their own they are unknown. "<unk>" is the
    unknown word. All that a tokenizer is stands in its JSON, so equal JSON is equal tokenizers. One tokenizer used
    for source and target is a joint vocabulary.

    | kind | pieces | lossless |
    |---|---|---|
    | characters | code points | yes, but for characters that training did not see |
    | words | what stands between white space | up to white space and unknown words |
    | bpe | byte pairs (Sennrich et al. 2016) over bytes, a space belongs to the word behind it | yes, any text |
    | unigram | the unigram model of Kudo (2018) | up to white space and unseen characters |

    >>> words = Tokenizer.train(["a house", "a small house"], kind="words", min_frequency=2)
    >>> words.size, words.encode("a big house"), words.decode([2, 4, 5, 3, 4])
    (6, [4, 1, 5], 'a house')
    >>> characters = Tokenizer.train(["a house"], kind="characters")
    >>> characters.tokens(characters.encode("a use")), characters.words_of(characters.encode("a use"))
    (['a', '▁', 'u', 's', 'e'], [0, -1, 1, 1, 1])
    """

    def __init__(self, text: str) -> None:
        """From the library's JSON; see `train` and `load`."""
        self._library = tokenizers.Tokenizer.from_str(text)
        self._library.encode_special_tokens = True
        self.json: str = self._library.to_str()
        self.kind: Kind = _kind(json.loads(self.json))
        first = tuple(self._library.id_to_token(index) for index in range(len(SPECIALS)))
        if first != SPECIALS:
            raise DataError(f"a tokenizer must begin with {', '.join(SPECIALS)}; this one begins with {first}")

    @classmethod
    def train(
        cls,
        texts: Iterable[str | Sequence[str]],
        *,
        kind: Kind,
        size: int | None = None,
        min_frequency: int = 1,
        lowercase: bool = False,
        normalise: Normalisation | None = None,
    ) -> Tokenizer:
        """Learn a vocabulary.

        Args:
            texts: what to learn from, read once; a text may be a list of words.
            kind: "characters", "words", "bpe" or "unigram".
            size: the largest vocabulary, the four special ids included; None for no limit (characters, words) or 8000.
            min_frequency: pieces that are rarer are left out (for bpe: pairs that are rarer are not merged).
            lowercase: lower-case every text first.
            normalise: the Unicode normal form to bring texts into first; None to leave them.
        """
        if kind not in get_args(Kind):
            raise DataError(f"there is no tokenizer of kind {kind!r}; there are {', '.join(get_args(Kind))}")
        if normalise is not None and normalise not in _FORMS:
            raise DataError(f"there is no normal form {normalise!r}; there are {', '.join(_FORMS)}")
        counted = _Counted(text if isinstance(text, str) else " ".join(text) for text in texts)
        forms = ([_FORMS[normalise]()] if normalise else []) + ([normalizers.Lowercase()] if lowercase else [])
        if kind in ("characters", "words"):
            library = _closed(counted, kind, size, min_frequency, forms)
        else:
            library = _learned(counted, kind, size or 8000, min_frequency, forms)
        if not counted.count or library.get_vocab_size() == len(SPECIALS):
            seen = f"{counted.count} text{'' if counted.count == 1 else 's'}"
            raise DataError(f"the vocabulary is empty: {seen} gave no {kind} at min_frequency {min_frequency}")
        return cls(tokenizers.Tokenizer.from_str(library.to_str()).to_str())

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        """From a file that `save` wrote."""
        try:
            return cls(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise DataError(f"{path}: there is no such tokenizer") from None
        except DataError as error:
            raise DataError(f"{path}: {error}") from error
        except Exception as error:  # the library raises a bare Exception
            raise DataError(f"{path} is not a tokenizer: {error}") from error

    def save(self, path: str | Path) -> None:
        """Write the library's JSON, which holds everything."""
        Path(path).write_text(self.json, encoding="utf-8")

    @property
    def size(self) -> int:
        """How many ids there are."""
        return int(self._library.get_vocab_size())

    @property
    def fingerprint(self) -> str:
        """What decides the ids of a text."""
        return self.json

    def encode(self, text: str | Sequence[str]) -> list[int]:
        """The ids of a text, without beginning or end; of a list of words, those of each word (not of characters)."""
        return self.encode_all([text])[0]

    def encode_all(self, texts: Sequence[str | Sequence[str]]) -> list[list[int]]:
        """The ids of many texts, on all cores."""
        plain = [text if isinstance(text, str) else self._joined(text) for text in texts]
        encoded = self._library.encode_batch_fast(plain, add_special_tokens=False)
        return [_safe(encoding.ids) for encoding in encoded]

    def begins(self) -> list[bool]:
        """For each id whether it is the first of a word, in a text of words with single spaces between."""
        if self.kind == "characters":
            raise DataError("characters do not say where a word begins; use a tokenizer of kind words, bpe or unigram")
        return [self.kind == "words" or piece[:1].isspace() for _, piece in self._pieces(range(self.size))]

    def _joined(self, words: Sequence[str]) -> str:
        """A list of words as a text from which they can be told apart again."""
        if self.kind == "characters":
            raise DataError("lists of words need a tokenizer of kind words, bpe or unigram, not characters")
        for word in words:
            if word.split() != [word]:
                raise DataError(f"the word {word!r} of {list(words)[:5]} ... is empty or has white space in it")
        return " ".join(map(self._whole, words))

    def _whole(self, word: str) -> str:
        """A word in its normal form and in one part: NFKC makes "´" a space and an accent, unigram reads "▁" as one."""
        normaliser = self._library.normalizer
        normal = word if normaliser is None else "".join(normaliser.normalize_str(word).split())
        return normal.replace("▁", "_") if self.kind == "unigram" else normal

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids up to the first end; unknown words are "<unk>", the other special ids are left out."""
        kept = [index for index in _ended(ids) if index not in _RESERVED]
        return str(self._library.decode(kept, skip_special_tokens=False))

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Each piece as it can be shown in a picture: "▁" is a space, "\\xc3" a byte that is no character alone."""
        return [printable(piece) if special is None else special for special, piece in self._pieces(ids)]

    def words_of(self, ids: Iterable[int]) -> list[int]:
        """The number of the word that each piece belongs to; -1 for white space and special ids other than "<unk>"."""
        found: list[int] = []
        word, open_word = -1, False
        for index, (special, piece) in zip(ids, self._pieces(ids), strict=True):
            if index in _RESERVED or (special is None and piece.isspace()):
                found.append(-1)
                open_word = False
                continue
            if not open_word or self.kind == "words" or piece[:1].isspace():
                word += 1
            found.append(word)
            open_word = True
        return found

    def _pieces(self, ids: Iterable[int]) -> Iterator[tuple[str | None, bytes]]:
        """The name of each special id, the bytes of each other."""
        for index in ids:
            token = self._library.id_to_token(int(index))
            if token is None:
                raise DataError(f"there is no id {index}: the vocabulary has {self.size}")
            yield (token, b"") if index < len(SPECIALS) else (None, surface(token, self.kind))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tokenizer) and self.json == other.json

    def __hash__(self) -> int:
        return hash(self.json)

    def __reduce__(self) -> tuple[type[Tokenizer], tuple[str]]:
        return Tokenizer, (self.json,)

    def __repr__(self) -> str:
        return f"Tokenizer({self.kind}, {self.size})"


class _Counted:
    """Texts that are counted as they go by."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts, self.count = texts, 0

    def __iter__(self) -> Iterator[str]:
        for text in self.texts:
            self.count += 1
            yield text


def _closed(
    texts: _Counted, kind: Kind, size: int | None, min_frequency: int, forms: list[normalizers.Normalizer]
) -> tokenizers.Tokenizer:
    """A vocabulary of whole characters or words, the most frequent first."""
    # The library's trainer gives a word that is spelt like a special token a second id, and PTB is full of <unk>.
    normaliser = normalizers.Sequence(forms)
    plain: Iterable[str] = (normaliser.normalize_str(text) for text in texts) if forms else texts
    counts = Counter(chain.from_iterable(plain if kind == "characters" else (text.split() for text in plain)))
    for special in SPECIALS:
        counts.pop(special, None)
    ranked = sorted((item for item in counts.items() if item[1] >= min_frequency), key=lambda item: (-item[1], item[0]))
    room = None if size is None else max(size - len(SPECIALS), 0)
    vocabulary = {token: index for index, token in enumerate((*SPECIALS, *(token for token, _ in ranked[:room])))}
    library = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token=SPECIALS[UNK]))
    library.add_special_tokens(list(SPECIALS))
    if forms:
        library.normalizer = normaliser
    if kind == "characters":
        library.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex(r"[\s\S]"), "isolated")
        library.decoder = decoders.Fuse()
    else:
        library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return library


def _learned(
    texts: _Counted, kind: Kind, size: int, min_frequency: int, forms: list[normalizers.Normalizer]
) -> tokenizers.Tokenizer:
    """A vocabulary of parts of words."""
    trainer: trainers.Trainer
    specials = list(SPECIALS)
    if kind == "bpe":
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        if size < len(SPECIALS) + len(alphabet):
            raise DataError(f"bpe needs a size of at least {len(SPECIALS) + len(alphabet)} (all bytes), not {size}")
        library = tokenizers.Tokenizer(models.BPE())
        # A space before the first word makes it the same piece as inside a sentence; the decoder takes it off again.
        library.normalizer = normalizers.Sequence([*forms, normalizers.Prepend(" ")])
        library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        library.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
        trainer = trainers.BpeTrainer(
            vocab_size=size,
            min_frequency=min_frequency,
            special_tokens=specials,
            initial_alphabet=alphabet,
            show_progress=False,
        )
    else:
        library = tokenizers.Tokenizer(models.Unigram())
        if forms:
            library.normalizer = normalizers.Sequence(forms)
        library.pre_tokenizer = pre_tokenizers.Metaspace()
        library.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=size, special_tokens=specials, unk_token=SPECIALS[UNK], show_progress=False
        )
    library.train_from_iterator(texts, trainer)
    return library


def _kind(description: dict[str, dict[str, object]]) -> Kind:
    model, before = description["model"]["type"], (description.get("pre_tokenizer") or {}).get("type")
    known: dict[tuple[object, object], Kind] = {
        ("WordLevel", "Split"): "characters",
        ("WordLevel", "WhitespaceSplit"): "words",
        ("BPE", "ByteLevel"): "bpe",
        ("Unigram", "Metaspace"): "unigram",
    }
    if (model, before) not in known:
        raise DataError(f"a tokenizer with model {model} behind {before} is none of {', '.join(get_args(Kind))}")
    return known[model, before]


def _safe(ids: list[int]) -> list[int]:
    """Text that is spelt like padding, a beginning or an end is unknown."""
    return ids if _RESERVED.isdisjoint(ids) else [UNK if index in _RESERVED else index for index in ids]


def _ended(ids: Iterable[int]) -> Iterator[int]:
    for index in ids:
        if index == EOS:
            return
        yield int(index)

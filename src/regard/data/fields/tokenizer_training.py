"""Training of tokenizers, deterministic across processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from regard.data.fields.unigram import learn_pieces
from regard.data.fields.word_splitting import WordSplit, word_splitter
from regard.data.problems import DataError
from regard.specials import MASKED, SPECIALS, UNK

_INSIDE = "##"  # prefix of pieces that continue a word
_TOGETHER = 1000  # repetitions of a word passed to the library as one text


class VocabularySettings(NamedTuple):
    """Settings of a vocabulary to learn.

    Attributes:
        size: maximum number of pieces, including special ones; None for no limit, or 8000 for subword pieces.
        min_frequency: rarer pieces are excluded.
        forms: normalisers applied to the text.
        specials: the special pieces, which come first.
        more: additional words after those of the texts, within `size`, regardless of their frequency.
    """

    size: int | None
    min_frequency: int
    forms: list[normalizers.Normalizer]
    specials: tuple[str, ...]
    more: Iterable[str] = ()


class CountedTexts:
    """Texts that are counted during iteration; lists of words are joined by spaces."""

    def __init__(self, texts: Iterable[str | Sequence[str]]) -> None:
        self.texts, self.count = texts, 0

    def __iter__(self) -> Iterator[str]:
        return (text if isinstance(text, str) else " ".join(text) for text in self.whole())

    def whole(self) -> Iterator[str | Sequence[str]]:
        """The texts themselves."""
        for text in self.texts:
            self.count += 1
            yield text


def characters(texts: CountedTexts, wanted: VocabularySettings) -> tokenizers.Tokenizer:
    """Return a tokenizer of single characters, the most frequent first."""
    normaliser = normalizers.Sequence(wanted.forms)
    plain: Iterable[str] = (normaliser.normalize_str(text) for text in texts) if wanted.forms else texts
    library = _closed(Counter(chain.from_iterable(plain)), wanted)
    library.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex(r"[\s\S]"), "isolated")
    library.decoder = decoders.Fuse()
    return library


def words(texts: CountedTexts, wanted: VocabularySettings, split: WordSplit) -> tokenizers.Tokenizer:
    """Return a tokenizer of whole words, the most frequent first; words of a list are not split."""
    normaliser, splitter = normalizers.Sequence(wanted.forms), word_splitter(split)
    counts: Counter[str] = Counter()
    for text in texts.whole():
        plain = text if isinstance(text, str) else " ".join(text)
        plain = normaliser.normalize_str(plain) if wanted.forms else plain
        if split == "whitespace" or not isinstance(text, str):
            counts.update(plain.split())
        else:
            counts.update(word for word, _ in splitter.pre_tokenize_str(plain))
    library = _closed(counts, wanted)
    library.pre_tokenizer = splitter
    return library


def _closed(counts: Counter[str], wanted: VocabularySettings) -> tokenizers.Tokenizer:
    """Return a tokenizer of the counted words, the most frequent first, limited to the vocabulary size."""
    # The library's trainer gives a word that is spelt like a special token a second id, and PTB is full of <unk>.
    for special in wanted.specials:
        counts.pop(special, None)
    frequent = (item for item in counts.items() if item[1] >= wanted.min_frequency)
    ranked = sorted(frequent, key=lambda item: (-item[1], item[0]))
    room = None if wanted.size is None else max(wanted.size - len(wanted.specials), 0)
    known = dict.fromkeys(chain((token for token, _ in ranked), wanted.more))
    pieces = (*wanted.specials, *islice((token for token in known if token not in wanted.specials), room))
    vocabulary = {token: index for index, token in enumerate(pieces)}
    library = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token=SPECIALS[UNK]))
    library.add_special_tokens(list(wanted.specials))
    if wanted.forms:
        library.normalizer = normalizers.Sequence(wanted.forms)
    return library


def bpe(texts: CountedTexts, wanted: VocabularySettings) -> tokenizers.Tokenizer:
    """Return a byte-level BPE tokenizer; it is deterministic, since the library breaks ties by the smaller ids."""
    alphabet, size = pre_tokenizers.ByteLevel.alphabet(), wanted.size or 8000
    if size < len(wanted.specials) + len(alphabet):
        raise DataError(f"bpe needs a size of at least {len(wanted.specials) + len(alphabet)} (all bytes), not {size}")
    library = tokenizers.Tokenizer(models.BPE())
    # A space before the first word makes it the same piece as inside a sentence; the decoder takes it off again.
    library.normalizer = normalizers.Sequence([*wanted.forms, normalizers.Prepend(" ")])
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=wanted.min_frequency,
        special_tokens=list(wanted.specials),
        initial_alphabet=alphabet,
        show_progress=False,
    )
    _train("bpe", library, texts, trainer, size)
    return library


def wordpiece(texts: CountedTexts, wanted: VocabularySettings) -> tokenizers.Tokenizer:
    """Return a WordPiece tokenizer as in BERT.

    The library breaks ties by the smaller ids, but numbers "##a", "##b", ... in the order of a hash map, which differs
    between processes. Passing them as special tokens of the trainer fixes their order.
    """
    library = wordpieces({piece: index for index, piece in enumerate(wanted.specials)}, wanted.forms)
    counts, size = word_counts(texts, library), wanted.size or 8000
    alphabet = sorted({character for word in counts for character in word})
    inside = sorted({_INSIDE + character for word in counts for character in word[1:]})
    scratch = tokenizers.Tokenizer(models.WordPiece({SPECIALS[UNK]: 0}, unk_token=SPECIALS[UNK]))
    scratch.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        min_frequency=wanted.min_frequency,
        special_tokens=[*wanted.specials, *alphabet, *inside],
        show_progress=False,
    )
    _train("wordpiece", scratch, repeat_words(counts), trainer, size)
    vocabulary = scratch.get_vocab()
    ordered = sorted(vocabulary, key=lambda piece: vocabulary[piece])
    return wordpieces({piece: index for index, piece in enumerate(ordered)}, wanted.forms)


def unigram(texts: CountedTexts, wanted: VocabularySettings) -> tokenizers.Tokenizer:
    """Return a unigram tokenizer.

    The library's own trainer sums in the order of a hash map, so its scores differ between processes.
    """
    library = tokenizers.Tokenizer(models.Unigram())
    if wanted.forms:
        library.normalizer = normalizers.Sequence(wanted.forms)
    library.pre_tokenizer = pre_tokenizers.Metaspace()
    library.decoder = decoders.Metaspace()
    counts, size = word_counts(texts, library), wanted.size or 8000
    least = len(wanted.specials) + len({character for word in counts for character in word})
    if size < least:
        raise DataError(
            f"a tokenizer of kind unigram and size {size} cannot be made (the characters of the text and the special "
            f"tokens are {least}); try a larger size"
        )
    pieces = learn_pieces(counts, size - len(wanted.specials)) if counts else []
    known = [*((piece, 0.0) for piece in wanted.specials), *pieces]
    library.model = models.Unigram([(text, score) for text, score in known], UNK)
    library.add_special_tokens(list(wanted.specials))
    return library


def wordpieces(vocabulary: dict[str, int], forms: list[normalizers.Normalizer]) -> tokenizers.Tokenizer:
    """Return a WordPiece tokenizer with this vocabulary, special pieces first."""
    library = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token=SPECIALS[UNK]))
    library.add_special_tokens([piece for piece in MASKED if piece in vocabulary])
    library.normalizer = normalizers.Sequence(forms)
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.decoder = decoders.WordPiece(_INSIDE, cleanup=False)
    return library


def word_counts(texts: Iterable[str], library: tokenizers.Tokenizer) -> dict[str, int]:
    """Count the pre-tokenised words of some texts, sorted by word."""
    # Normalisation does not depend on text across spaces, so each distinct word is normalised only once.
    between: Counter[str] = Counter(chain.from_iterable(text.split(" ") for text in texts))
    counts: Counter[str] = Counter()
    for part, count in between.items():
        normal = part if library.normalizer is None else library.normalizer.normalize_str(part)
        for word, _ in library.pre_tokenizer.pre_tokenize_str(normal):
            counts[word] += count
    return dict(sorted(counts.items()))


def repeat_words(counts: Mapping[str, int]) -> Iterator[str]:
    """Yield each word as often as it occurs, since the library's trainers take texts rather than counts."""
    for word, count in counts.items():
        whole, rest = divmod(count, _TOGETHER)
        for times in (*[_TOGETHER] * whole, *([rest] if rest else [])):
            yield " ".join([word] * times)


def _train(
    kind: str, library: tokenizers.Tokenizer, texts: Iterable[str], trainer: trainers.Trainer, size: int
) -> None:
    try:
        library.train_from_iterator(texts, trainer)
    except Exception as problem:
        if type(problem) is not Exception:  # the library raises a bare Exception; others are of the texts
            raise
        raise DataError(
            f"a tokenizer of kind {kind} and size {size} cannot be made ({problem}); try a larger size"
        ) from problem

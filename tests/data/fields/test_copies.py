"""Copies: ids of source words in the target vocabulary, extended for each source by its unknown words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from regard.data import Tokenizer
from regard.data.batching.batch import Collator
from regard.data.batching.corpus import Corpus
from regard.data.fields.copies import COPIES, CopiesField, CopySource, CopyVocabulary, WithCopies
from regard.data.fields.tokens import TokensField
from regard.data.problems import DataError
from regard.systems.translation.digits import Digits

SOURCE = Tokenizer.train(["the cat saw Ann, he said"], kind="words", lowercase=True)
TARGET = Tokenizer.train(["Ann saw the cat."], kind="words", lowercase=True)
BOTH = CopyVocabulary(SOURCE, TARGET)
V = TARGET.size


def ids(text: str) -> list[int]:
    return TARGET.encode(text)


def test_unknown_words_extend_the_vocabulary_by_their_first_position() -> None:
    copied = BOTH.source_of(["Bo saw Cy, bo saw the cat"])
    assert copied.words == ["Bo", "saw", "Cy", ",", "bo", "saw", "the", "cat"]
    assert copied.ids == [V, *ids("saw"), V + 2, V + 3, V, *ids("saw the cat")]
    wanted = BOTH.wanted("Cy saw BO. Dee", copied)
    assert wanted == [V + 2, *ids("saw"), V, *ids("."), 1]  # Dee is in neither
    assert BOTH.text(wanted, copied) == "Cy saw Bo. <unk>"
    assert BOTH.tokens([*wanted[:1], 3], copied) == ["Cy", "</s>"]


def test_values_of_a_record_stand_one_after_another() -> None:
    assert BOTH.source_of(["Bo Cy", "the", "Cy"]).ids == [V, V + 1, *ids("the"), V + 1]
    assert BOTH.source_of([]) == CopySource([], [])


def test_a_joint_tokenizer_of_pieces_copies_its_pieces() -> None:
    pieces = Tokenizer.train(["a house, a home"], kind="bpe", size=270)
    both = CopyVocabulary(pieces, pieces)
    copied = both.source_of(["a hat"])
    assert copied.ids == pieces.encode("a hat")
    assert both.text(both.wanted("a hat", copied), copied) == "a hat"
    with pytest.raises(ValueError, match="words and bpe"):
        CopyVocabulary(SOURCE, pieces)


def test_a_batch_has_both_sides(tmp_path: Path) -> None:
    data = WithCopies.of(Digits("reverse", size=29), "source", "target")
    source = Tokenizer.train(["0 1 2 3 4 5 6 7 8 9"], kind="words")
    target = Tokenizer.train(["0 1 2 3 4"], kind="words")
    fields = {
        COPIES: CopiesField(vocabulary=CopyVocabulary(source, target)),
        "source": TokensField(source),
        "target": TokensField(target, begin=True, end=True),
    }
    batch = Collator(Corpus.build(data, fields, tmp_path), counted="target")([3, 5, 7])
    copies, wanted = batch["copies"].numpy(), batch["copies_target"].numpy()
    assert copies.shape == batch["source"].shape
    assert wanted.shape == batch["target"].shape
    for row, length in enumerate(batch["source_lengths"].tolist()):
        digits = batch["source"][row, :length].tolist()
        first = [digits.index(one) for one in digits]
        known = np.array([target.encode(source.decode([one]))[0] for one in digits])
        expected = np.where(known == 1, np.array(first) + target.size, known)
        assert copies[row, :length].tolist() == expected.tolist()
        assert wanted[row, 1 : length + 1].tolist() == expected[::-1].tolist()
        assert not copies[row, length:].any()


def test_lists_of_words_are_refused() -> None:
    class Listed(Digits):
        def example(self, index: int):  # type: ignore[no-untyped-def]
            found = super().example(index)
            return found._replace(fields={**found.fields, "source": found.fields["source"].split()})

    with pytest.raises(DataError, match="leave copy out"):
        list(WithCopies.of(Listed("copy", size=3), "source", "target"))

"""Vocabularies are the same in every process, whatever its hash seed and however many threads it has."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest
from tokenizers import normalizers

from regard.data import Tokenizer
from regard.data.fields.tokenizer_training import repeat_words, word_counts, wordpieces

PROGRAM = """
import hashlib, random
from regard.data import Tokenizer

chance = random.Random(7)  # many words, few frequencies: ties everywhere
texts = ["".join(chance.choices("abcdefghij é.", k=40)) for _ in range(300)]
for kind in ("characters", "words", "bpe", "unigram", "wordpiece"):
    size = {"characters": None, "words": None}.get(kind, 500)
    for masked in (False, True):
        json = Tokenizer.train(texts, kind=kind, size=size, masked=masked).json
        print(kind, masked, hashlib.sha256(json.encode()).hexdigest())
"""


def printed(**environment: str) -> list[str]:
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return found.stdout.splitlines()


def test_other_processes_learn_the_same_bytes() -> None:
    runs = [
        printed(PYTHONHASHSEED=seed, RAYON_NUM_THREADS=threads, TOKENIZERS_PARALLELISM=parallel)
        for seed, threads, parallel in (("0", "1", "false"), ("1", "2", "true"), ("2", "3", "true"))
    ]
    assert len(runs[0]) == 10
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize("text", ["", " ", "a  b\tc a-b", "Ça va\u00a0? 日本語", "x\u001cy \u0301z ´"])
def test_words_between_spaces_are_those_of_the_whole_text(text: str) -> None:
    for forms in ([normalizers.BertNormalizer(lowercase=True)], [normalizers.NFKC(), normalizers.BertNormalizer()]):
        library = wordpieces({"<unk>": 0}, forms)
        whole = library.pre_tokenizer.pre_tokenize_str(library.normalizer.normalize_str(text))
        assert word_counts([text, text], library) == dict(sorted(Counter([word for word, _ in whole] * 2).items()))


def test_words_are_handed_over_as_often_as_they_occur() -> None:
    counts = {"a": 2001, "b": 1}
    assert Counter(" ".join(repeat_words(counts)).split()) == counts


def test_frequent_pieces_are_learned() -> None:
    pieces = Tokenizer.train(["lower lowest newer newest"] * 9, kind="wordpiece", size=30)
    assert len(pieces.encode("lower newest")) < len("lowernewest") // 2
    assert {"lower", "newest"} <= {piece.removeprefix("▁") for piece in pieces.tokens(range(pieces.size))}

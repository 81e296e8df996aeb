"""Unknown words of a translation, replaced by what was attended to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.data.fields.tokenizer import Tokenizer, TokenizerKind
from regard.data.problems import DataError
from regard.decode.search import Search
from regard.ops.weights import Weights
from regard.protocol import Step
from regard.specials import EOS, UNK
from regard.systems.translation.dictionary import read_dictionary
from regard.systems.translation.task import Translation

GREEDY = Search(strategy="greedy", max_length=9)


class Parrot(nn.Module):
    """Says an unknown word for each of its source, the last first, looks at it while it does, and ends."""

    def __init__(self, size: int, *, blind: bool = False) -> None:
        super().__init__()
        self.device, self.size, self.blind = nn.Parameter(torch.zeros(())), size, blind

    def start(self, source: Tensor, lengths: Tensor, *, batch: int | None = None) -> Parrot:
        self.places, self.left = source.shape[1], lengths.clone()
        return self

    def select(self, rows: Tensor) -> Parrot:
        self.left = self.left[rows]
        return self

    def step(self, token: Tensor, state: Any) -> Step:
        self.left = self.left - 1
        said = torch.where(self.left < 0, EOS, UNK)
        log_probs = torch.full((len(token), self.size), -9.0).scatter(1, said.unsqueeze(1), 0.0)
        looked = nn.functional.one_hot(self.left.clamp(min=0), self.places).float()
        return Step(log_probs, self, None if self.blind else Weights.of(looked[:, None, None], has_heads=False))


def words(*texts: str, kind: TokenizerKind = "words", lowercase: bool = False) -> Tokenizer:
    return Tokenizer.train(texts, kind=kind, lowercase=lowercase)


def answers(task: Translation, *texts: str) -> list[str]:
    return [found[0].text for found in task.predict(Parrot(task.target.size).eval(), texts, GREEDY)]


def test_the_source_word_that_was_attended_to_stands_in_its_place() -> None:
    encoders = {"source": words("ein Haus"), "target": words("a house")}
    texts = "Frau  Ngo", "ein Haus und Ngo", "x"
    assert answers(Translation(encoders), *texts) == ["<unk> <unk>", "<unk> <unk> <unk> <unk>", "<unk>"]
    assert answers(Translation(encoders, dictionary={}), *texts) == ["Ngo Frau", "Ngo und Haus ein", "x"]
    known = Translation(encoders, dictionary={"Frau": "Mrs", "Haus": "the house"})
    assert answers(known, *texts) == ["Ngo Mrs", "Ngo und the house ein", "x"]


def test_words_are_copied_as_they_were_written() -> None:
    lower = words("ein haus", lowercase=True)
    assert answers(Translation({"source": lower, "target": lower}, dictionary={}), "Das HAUS") == ["HAUS Das"]
    divided = Tokenizer.train(
        ["a"], kind="words", split="whitespace", normalise="nfkc"
    )  # which makes a space of the acute
    assert len(divided.encode("x\u00b4y z")) == 3
    task = Translation({"source": divided, "target": divided}, dictionary={})
    assert answers(task, "x\u00b4y z") == ["z x\u00b4y x\u00b4y"]
    raw = Tokenizer.train(["a"], kind="words")
    assert answers(Translation({"source": raw, "target": raw}, dictionary={}), "Das Haus!") == ["! Haus Das"]


def test_tokens_and_alignment_are_what_the_model_said() -> None:
    encoders = {"source": words("ein Haus"), "target": words("a house")}
    task = Translation(encoders, dictionary={})
    [[found]] = task.predict(Parrot(task.target.size).eval(), ["Frau Ngo"], GREEDY)
    assert (found.text, found.tokens) == ("Ngo Frau", ("<unk>", "<unk>", "</s>"))
    assert found.alignment is not None
    assert found.alignment.shape == (len(found.tokens), len(found.source_tokens))
    assert found.alignment.argmax(1).tolist()[:2] == [1, 0]


def test_a_source_of_nothing_has_nothing_to_copy() -> None:
    encoders = {"source": words("ein Haus"), "target": words("a house")}
    assert answers(Translation(encoders, dictionary={}), "") == ["<unk>"]


def test_without_words_or_attention_it_is_one_sentence() -> None:
    encoders = {"source": words("ein"), "target": words("a house", kind="characters")}
    with pytest.raises(ValueError, match=r"those of tokenizers of kind words; there is one of kind characters$"):
        Translation(encoders, dictionary={})
    task = Translation({"source": words("ein"), "target": words("a")}, dictionary={})
    with pytest.raises(ValueError, match="this one attends to nothing"):
        task.predict(Parrot(task.target.size, blind=True).eval(), ["x"], GREEDY)


def test_a_dictionary_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_text("Haus\thouse\n\nUS\t United  States\r\nHaus\thome\n")
    assert read_dictionary(path) == {"Haus": "house", "US": "United States"}
    for content, sentence in (
        (b"Haus house\n", r"words.tsv:1: 'Haus house' is no entry; write one source word, a tab and its translation"),
        (b"Haus\thouse\nein Haus\ta house\n", r"words.tsv:2: 'ein Haus\\ta house' is no entry"),
        (b"Haus\t\n", r"words.tsv:1: .* is no entry"),
        (b"\xff\tx\n", r"words.tsv:1: not UTF-8; convert it with iconv -t utf-8"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match=sentence):
            read_dictionary(path)

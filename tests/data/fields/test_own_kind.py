"""A kind from outside the package has the rights of ours; kinds of ours keep what runs of before have."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest
import torch

from regard.data import Collator, Corpus, Field, LabelField, Labels, StoryField, TagsField, Tokenizer, TokensField
from regard.data.fields import field_encoder
from regard.data.fields.column import Column, EncodedRows, Ints, Part, concatenate_rows
from regard.data.fields.field_encoder import FieldEncoder, encoder_kinds
from regard.data.fields.padding import PaddedArray, PaddingRule
from regard.specials import EOS, IGNORE
from regard.train.cuda_graphs import padding_batch, recorded_sizes, write
from tests.data.fields.test_vectors import Given


@pytest.fixture
def clock() -> Iterator[type[Field[Any]]]:
    """A kind of times of day, "17:05", whose encoder is the earliest hour."""

    @dataclass(frozen=True)
    class Earliest(FieldEncoder):
        FILE: ClassVar[str] = "clock"
        hour: int

        @property
        def size(self) -> int:
            return 24 - self.hour

        @property
        def fingerprint(self) -> str:
            return str(self.hour)

        def save(self, path: str | Path) -> None:
            Path(path).write_text(json.dumps(self.hour))

        @classmethod
        def load(cls, path: str | Path) -> Self:
            return cls(json.loads(Path(path).read_text()))

    @dataclass(frozen=True)
    class ClockField(Field[Earliest]):
        @property
        def parts(self) -> tuple[Part, ...]:
            return (Part("minutes", "int16", rows=2),)

        def learn(self, values: Iterable[Any]) -> Earliest:
            return Earliest(min(int(value.split(":")[0]) for value in values))

        def encode(self, values: Sequence[Any]) -> dict[str, EncodedRows]:
            pairs = [[int(one) for one in value.split(":")] for value in values]
            return {
                "minutes": concatenate_rows([(hour - self.learned.hour, minute) for hour, minute in pairs], "int16")
            }

        def collate(self, name: str, column: Column, examples: Ints) -> dict[str, PaddedArray]:
            times = column.values["minutes"].reshape(-1, 2)[examples].astype(np.int64)
            return {name: PaddedArray(times, PaddingRule(-1, (0, None)))}

    yield ClockField
    del field_encoder._BY_FILE["clock"]


def test_a_kind_of_ones_own_goes_from_examples_to_batches(clock: type[Field[Any]], tmp_path: Path) -> None:
    times = ["17:05", "9:30", "23:59"]
    field = clock()
    field = field.with_encoder(field.learn(times))
    corpus = Corpus.build(Given(tuple({"time": time} for time in times)), {"time": field}, tmp_path)
    assert sorted(path.name for path in corpus.folder.glob("time.*")) == ["time.minutes"]  # all have as many
    batch = Collator(corpus)([2, 0, 0, 1, 2])
    assert batch["time"].tolist() == [[14, 59], [8, 5], [8, 5], [0, 30], [14, 59]]
    assert batch.tokens == 5
    place = padding_batch(batch, recorded_sizes(batch), torch.device("cpu"))
    write(batch, place)
    assert place["time"].tolist() == [*batch["time"].tolist(), [-1, -1], [-1, -1], [-1, -1]]
    field.learned.save(tmp_path / "clock.time.json")
    kinds = {kind.FILE: kind for kind in encoder_kinds()}
    assert kinds["clock"].load(tmp_path / "clock.time.json") == field.learned


def test_encoders_of_runs_keep_their_files() -> None:
    assert {kind.FILE for kind in encoder_kinds()} >= {"tokenizer", "labels", "label_sets", "numbers"}


WORDS = Tokenizer.train(["a b c"], kind="words")


def test_what_is_predicted_and_what_counts_in_a_batch(tmp_path: Path) -> None:
    rows = (
        {"text": "a b", "story": ["a", "b c"], "tags": ["X", "Y"], "label": "X"},
        {"text": "", "story": [], "tags": [], "label": "Y"},
    )
    labels = Labels(("X", "Y"))
    fields: dict[str, Field[Any]] = {
        "text": TokensField(WORDS, begin=True, end=True),
        "story": StoryField(WORDS),
        "tags": TagsField(labels),
        "label": LabelField(labels),
    }
    corpus = Corpus.build(Given(rows), fields, tmp_path)
    assert {name: corpus.counts(name).tolist() for name in fields} == {
        "text": [3, 1],  # the end, and not the beginning
        "story": [5, 0],  # an end behind each sentence
        "tags": [2, 0],
        "label": [1, 1],
    }
    assert Collator(corpus).lengths().tolist() == [[4, 5], [2, 0]]  # of text and story alone
    story = corpus.kinds["story"]
    assert isinstance(story, StoryField)
    assert story.sentences(corpus.column("story")).tolist() == [2, 0]
    batch = Collator(corpus)([1])
    assert (batch["text"].tolist(), batch["tags"].tolist()) == ([[2, EOS]], [[]])


def test_labels_that_training_never_had(tmp_path: Path) -> None:
    field = LabelField(Labels(("X", "Y"))).lenient()
    corpora = [
        Corpus.build(Given(tuple({"label": name} for name in names), name=names), {"label": field}, tmp_path)
        for names in ("ZZ", "ZX")
    ]
    assert corpora[0].ids("label").tolist() == [IGNORE, IGNORE]
    assert [field.known(corpus.column("label")) for corpus in corpora] == [False, True]

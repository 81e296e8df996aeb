"""Records and graphs from examples to batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from regard.data import Collator, Corpus, DataError, GraphField, RecordField, Tokenizer
from regard.data.fields.record import NamedTexts
from regard.specials import IGNORE, UNK
from regard.train.cuda_graphs import recorded_sizes
from tests.data.fields.test_vectors import Given

RECORDS = [{"name": "Aroma", "area": "by the river"}, {}, {"food": "fish"}]


def test_records_are_texts_with_names(tmp_path: Path) -> None:
    field = RecordField()
    field = field.with_encoder(field.learn(RECORDS))
    corpus = Corpus.build(Given(tuple({"record": record} for record in RECORDS)), {"record": field}, tmp_path)
    batch = Collator(corpus)([2, 1, 0])
    encoder = field.learned
    assert encoder.names == ("area", "food", "name")
    assert batch["record_lengths"].tolist() == [1, 0, 2]
    assert batch["record_names"].tolist() == [[3, 0], [0, 0], [4, 2]]  # in the order of the example
    assert tuple(batch["record"].shape) == (3, 2, 3)
    assert [encoder.tokenizer.decode(ids) for ids in batch["record"][2].tolist()] == ["Aroma", "by the river"]
    assert Collator(corpus).lengths().tolist() == [[6], [0], [2]]  # an end behind each text
    assert recorded_sizes(batch) == (("record", (4, 4, 4)), ("record_names", (4, 4)), ("record_lengths", (4,)))
    assert corpus.kinds["record"].encode([{"owner": "Ann"}])["names"].values.tolist() == [UNK]


def test_an_encoder_of_records_is_kept_with_a_run(tmp_path: Path) -> None:
    encoder = NamedTexts(("area", "name"), Tokenizer.train(["by the river"], kind="words"))
    encoder.save(tmp_path / "named_texts.record.json")
    again = NamedTexts.load(tmp_path / "named_texts.record.json")
    assert (again.names, again.fingerprint, again.num_names) == (encoder.names, encoder.fingerprint, 4)
    (tmp_path / "bad.json").write_text('{"names": ["a"]}')
    with pytest.raises(DataError, match=r"bad\.json"):
        NamedTexts.load(tmp_path / "bad.json")


GRAPHS = [
    (["Ada", "Bob Ray", "Eve"], [(0, 1, "likes"), (2, 0, "knows")]),
    (["Eve"], []),
    ([], []),
]


def test_graphs_are_nodes_and_edges(tmp_path: Path) -> None:
    field = GraphField()
    field = field.with_encoder(field.learn(GRAPHS))
    corpus = Corpus.build(Given(tuple({"graph": graph} for graph in GRAPHS)), {"graph": field}, tmp_path)
    batch = Collator(corpus)([1, 0, 2])
    assert batch["graph_lengths"].tolist() == [1, 3, 0]
    assert tuple(batch["graph"].shape) == (3, 3, 2)
    assert field.learned.tokenizer.decode(batch["graph"][1, 1].tolist()) == "Bob Ray"
    assert batch["graph_edges"].tolist() == [[[IGNORE] * 2] * 2, [[0, 1], [2, 0]], [[IGNORE] * 2] * 2]
    assert batch["graph_labels"].tolist() == [[0, 0], [3, 2], [0, 0]]
    assert batch["graph_edges_lengths"].tolist() == [0, 2, 0]
    assert dict(recorded_sizes(batch))["graph_edges"] == (4, 4, 2)  # an edge always has two ends


@pytest.mark.parametrize(
    ("kind", "good", "bad", "word"),
    [
        ("record", RECORDS[0], {"name": 3}, "no record"),
        ("record", RECORDS[0], "name", "no record"),
        ("graph", GRAPHS[0], (["a"], [(0, 1, "to")]), "leads to no node"),
        ("graph", GRAPHS[0], (["a"], [(-1, 0, "to")]), "leads to no node"),
        ("graph", GRAPHS[0], ([1], []), "no text"),
        ("graph", GRAPHS[0], (["a"], [("x", 0, "to")]), "no graph"),
        ("graph", GRAPHS[0], "a", "no graph"),
    ],
)
def test_a_bad_value_is_named_by_its_line(kind: str, good: Any, bad: Any, word: str, tmp_path: Path) -> None:
    field: RecordField | GraphField = RecordField() if kind == "record" else GraphField()
    fields = {"value": field.with_encoder(field.learn([good]))}
    with pytest.raises(DataError, match=rf"examples\.jsonl:2: .*{word}"):
        Corpus.build(Given(({"value": good}, {"value": bad})), fields, tmp_path)

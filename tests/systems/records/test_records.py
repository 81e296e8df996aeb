"""Records: readers, the field, the encoder, delexicalisation, generated inns and their baselines."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from regard.data import Tokenizer
from regard.data.example import Example
from regard.data.problems import DataError
from regard.evaluate.slot_error import slot_error_rate
from regard.models import Copying
from regard.models.copying import with_copies
from regard.predictor import Predictor
from regard.systems.records.baseline import NearestRecords, Templates, answers
from regard.systems.records.delexicalised import Delexicalised, with_values, without_values
from regard.systems.records.describer import Describer, RecordEncoder
from regard.systems.records.field import FlatRecordField, RecordTexts, encoded_record
from regard.systems.records.inns import Inns
from regard.systems.records.readers import E2E, Records, plain_record, read_record, record_json
from regard.systems.records.unseen_names import invented, renamed, shares, words_of
from tests.mechanism import assert_close

SIZE, TARGET, NAMES = 11, 13, 5


def records() -> tuple[torch.Tensor, torch.Tensor]:
    """Two records: fields of 2, 1 and 1 tokens; and of 3 tokens."""
    first = [[7, 2, 0], [8, 2, 0], [9, 3, 1], [5, 4, 2]]
    second = [[6, 3, 0], [5, 3, 0], [9, 3, 0], [0, 0, 0]]
    return torch.tensor([first, second]), torch.tensor([4, 3])


@pytest.mark.parametrize("values", ["mean", "rnn"])
@pytest.mark.parametrize("fields", ["attention", "rnn", "none"])
def test_padding_changes_nothing(values: Any, fields: Any) -> None:
    encoder = RecordEncoder(SIZE, NAMES, embedding_dim=3, dim=6, values=values, fields=fields).eval()
    source, lengths = records()
    together = encoder(source, lengths)
    for row, size in enumerate(lengths.tolist()):
        alone = encoder(source[row : row + 1, :size], lengths[row : row + 1])
        assert_close(together.states[row, :size], alone.states[0], tolerance=1e-5)
        assert_close(together.summary[row], alone.summary[0], tolerance=1e-5)
    assert together.states[1, 3].eq(0).all()


def test_the_order_of_fields_does_not_matter_without_recurrence() -> None:
    encoder = RecordEncoder(SIZE, NAMES, embedding_dim=3, dim=6).eval()
    source = records()[0][:1]
    turned = torch.tensor([[[5, 4, 0], [9, 3, 1], [7, 2, 2], [8, 2, 2]]])
    there, back = encoder(source, torch.tensor([4])), encoder(turned, torch.tensor([4]))
    assert_close(there.states[0], back.states[0, [2, 3, 1, 0]], tolerance=1e-5)
    assert_close(there.summary, back.summary, tolerance=1e-5)


def test_a_value_knows_the_name_of_its_field() -> None:
    encoder = RecordEncoder(SIZE, NAMES, embedding_dim=3, dim=6, fields="none").eval()
    states = [encoder(torch.tensor([[[7, name, 0]]]), torch.tensor([1])).states for name in (2, 3)]
    assert not torch.allclose(*states)


@pytest.mark.parametrize("decoder", ["luong", "bahdanau", "simple_attention", "transformer"])
def test_any_decoder_reads_records_and_copies(decoder: Any) -> None:
    model = Describer(SIZE, TARGET, num_names=NAMES, decoder=decoder, embedding_dim=3, hidden_dim=8)
    source, lengths = records()
    copies = torch.tensor([[TARGET, 5, TARGET + 2, 6], [7, 8, TARGET + 2, 0]])
    wrapped = Copying(model, copy=True, coverage=0.5)
    predicted = wrapped(with_copies(source, copies), lengths, torch.tensor([[2, 5, 6], [2, TARGET + 2, 3]]))
    assert predicted.logits.shape == (2, 3, TARGET + 4)
    (predicted.extras["coverage"].sum() - predicted.logits[:, 0, 5].sum()).backward()
    assert [name for name, one in wrapped.named_parameters() if one.grad is None and "cross" not in name] == []


def test_the_field_is_flat_and_knows_what_is_always_there(tmp_path: Path) -> None:
    given = [{"name": "The Bar", "food": "rice"}, {"food": "the fish"}]
    field = FlatRecordField(learner=lambda texts: Tokenizer.train(texts, kind="words"))
    texts = field.learn(given)
    assert isinstance(texts, RecordTexts)
    assert (texts.names, texts.always) == (("food", "name"), ("food",))
    texts.save(tmp_path / "texts.json")
    assert RecordTexts.load(tmp_path / "texts.json") == texts
    ids = texts.tokenizer.encode("The Bar rice")
    assert encoded_record(given[0], texts).tolist() == [[ids[0], 3, 0], [ids[1], 3, 0], [ids[2], 2, 1]]
    assert encoded_record({"stars": "rice"}, texts)[:, 1].tolist() == [1]  # an unknown name


def test_records_are_read_as_people_write_them(tmp_path: Path) -> None:
    assert read_record(" name[The Eagle] , near[Café Sicilia]") == {"name": "The Eagle", "near": "Café Sicilia"}
    assert read_record(record_json({"a": "b c"})) == {"a": "b c"}
    assert plain_record({"rooms": 7, "dogs": False}) == {"rooms": "7", "dogs": "no"}
    for wrong, why in (
        ("The Eagle", "is no record"),
        ("name[a], name[b]", "twice"),
        ('{"name": {"first": "Ann"}}', "nested"),
        ('{"name": ["Ann"]}', "nested"),
        ('{"name": null}', "empty"),
        ('{"name": " "}', "blank"),
        ('{"name": ', "cannot be read"),
        ("{}", "is no record"),
    ):
        with pytest.raises(ValueError, match=why):
            read_record(wrong)
    (tmp_path / "dev.csv").write_text('MR,ref\n"name[A], area[b]","A is in b."\n"name[A","Bad."\n')
    with pytest.raises(DataError, match=r"dev\.csv:3"):
        list(E2E(tmp_path / "dev.csv"))
    (tmp_path / "dev.csv").write_text('mr,ref\n"name[A], area[b]","A is\nin b."\n"name[A]","Never closed\n')
    found = E2E(tmp_path / "dev.csv", bad_lines="skip")
    assert [example.fields["text"] for example in found] == ["A is in b."]
    assert "dev.csv:4: a quotation mark is not closed" in str(found.skipped)
    rows = ['{"record": {"a": "b"}, "text": ["one", "two"]}', '{"record": {"a": {"b": "c"}}, "text": "x"}']
    (tmp_path / "own.jsonl").write_text("\n".join(rows))
    skipping = Records(tmp_path / "own.jsonl", bad_lines="skip")
    assert [example.fields["text"] for example in skipping] == ["one", "two"]
    assert "nested" in str(skipping.skipped)


def test_delexicalised_texts_come_back() -> None:
    record = {"name": "The Bar", "near": "Bar", "food": "Thai"}
    hidden = without_values("THE BAR, near Bar, is Thai; Barney knows.", record, ("name", "near"))
    assert hidden == "SLOTname, near SLOTnear, is Thai; Barney knows."
    assert with_values(hidden, record, ("name", "near")) == "The Bar, near Bar, is Thai; Barney knows."
    example = next(iter(Delexicalised(Inns(size=3), ("name", "town"))))
    assert example.fields["record"]["name"] == "SLOTname"
    assert "SLOTtown" in example.fields["text"]


def test_inns_say_their_records_and_share_no_names() -> None:
    every = {split: list(Inns(split, size=200)) for split in ("train", "valid", "test")}
    assert list(Inns("test", size=200)) == every["test"]
    names = {s: {e.fields["record"][f] for e in part for f in ("name", "town")} for s, part in every.items()}
    assert not names["train"] & names["test"]
    assert not names["valid"] & names["test"]
    texts, facts = zip(*((e.fields["text"], record_json(e.fields["record"])) for e in every["test"]), strict=True)
    assert slot_error_rate(texts, facts).value == 0


def test_baselines_on_unseen_names() -> None:
    test = [example.fields["record"] for example in Inns("test", size=100)]
    facts = [record_json(record) for record in test]
    found = dict(answers(list(Inns("train", size=1000)), test))
    rates = {name: slot_error_rate(texts, facts).value for name, texts in found.items()}
    assert rates["template"] < 0.2  # of records with the same fields, so that a fact is seldom left out
    assert 0.4 < rates["nearest"] < 0.6  # it has no name and no town right
    assert rates["nearest, renamed"] < rates["nearest"]


def test_the_template_of_the_same_fields_is_filled_in() -> None:
    rows = [("name[Ann], food[Thai]", "Ann has Thai food."), ("name[Bo]", "Bo is here."), ("name[Cy]", "Cy is here.")]
    train = [Example({"record": read_record(record), "text": text}, "") for record, text in rows]
    templates, nearest = Templates(train), NearestRecords(train)
    assert templates.fill({"name": "Dee", "food": "Greek"}) == "Dee has Greek food."
    assert templates.fill({"name": "Dee"}) == "Dee is here."
    assert nearest.of({"name": "Bo", "food": "Thai"})[1] in ("Bo is here.", "Ann has Thai food.")
    assert nearest.of({"name": "Dee"})[1] == "Ann has Thai food."  # nothing in common: the first


def test_names_are_invented_and_counted() -> None:
    records = [{"name": "The Eagle", "food": "Thai"}, {"name": "Bo"}]
    known = {next(invented(1, set())).split()[0].lower()}
    changed = renamed(records, ["name"], known)
    assert [list(record) for record in changed] == [["name", "food"], ["name"]]
    assert changed[0]["food"] == "Thai"
    assert len({record["name"] for record in changed} | {"The Eagle", "Bo"}) == 4
    assert not known & words_of(record["name"] for record in changed)

    class Model:
        """Says the name of the first record alone, in capitals."""

        def predict(self, given: list[str]) -> list[SimpleNamespace]:
            return [SimpleNamespace(text=f"{changed[0]['name'].upper()} is open.") for _ in given]

    assert shares(cast(Predictor, Model()), changed, ["name", "near"]) == {"name": 0.5}


def test_written_records_are_json() -> None:
    assert json.loads(record_json({"name": "Café"})) == {"name": "Café"}

"""Every reader with good files and with bad ones."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from regard.data import (
    Cmudict,
    Columns,
    DataError,
    DataReader,
    HashSplit,
    Hub,
    Jsonl,
    LabelledLines,
    OrderedSlice,
    Pairs,
    SpanTable,
    Squad,
    Stories,
    Table,
    Text,
)
from regard.data.example import BadLine, Example
from regard.data.fields.target_kinds import ONE_LABEL
from regard.recipes.data_section import FieldLayout
from regard.recipes.data_sections import TableData


def put(path: Path, text: str, encoding: str = "utf-8") -> Path:
    raw = text.encode(encoding)
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path


def fields(reader: DataReader) -> list[dict[str, str | list[str]]]:
    return [example.fields for example in reader]


def refused(reader: DataReader) -> str:
    with pytest.raises(DataError) as caught:
        list(reader)
    return str(caught.value)


def test_pairs(tmp_path: Path) -> None:
    pairs = Pairs(put(tmp_path / "a.de.gz", "ein Haus\r\nzwei\r\n"), put(tmp_path / "a.en", "\ufeffa house\ntwo"))
    assert fields(pairs) == [{"source": "ein Haus", "target": "a house"}, {"source": "zwei", "target": "two"}]
    assert [example.where for example in pairs] == [f"{tmp_path}/a.de.gz:1", f"{tmp_path}/a.de.gz:2"]


def test_pairs_of_different_lengths_are_refused_even_when_skipping(tmp_path: Path) -> None:
    left, right = put(tmp_path / "a", "1\n2\n3\n"), put(tmp_path / "b", "1\n2\n")
    assert f"{left} has 3 lines and {right} has 2" in refused(Pairs(left, right, bad_lines="skip"))


def test_bad_lines_are_refused_by_name_or_skipped_and_counted(tmp_path: Path) -> None:
    left, right = put(tmp_path / "a", "1\n\n3\n4\n"), put(tmp_path / "b", "1\n2\n3\n  \n")
    assert refused(Pairs(left, right)) == f"{left}:2: the line is blank; mend the line or set bad_lines to skip"
    skipping = Pairs(left, right, bad_lines="skip")
    for _ in range(2):  # the count is of one iteration
        assert [pair["source"] for pair in fields(skipping)] == ["1", "3"]
        assert skipping.skipped.count == 2
    assert str(skipping.skipped) == f"2 lines skipped: {left}:2: the line is blank; {right}:4: the line is blank"


def test_a_wrong_encoding_is_one_sentence_and_a_right_one_helps(tmp_path: Path) -> None:
    path = put(tmp_path / "a", "1 naïve\n0 café\n", "latin-1")
    assert refused(LabelledLines(path)) == (
        f"{path}:1: byte 0xef at column 5 is not utf-8 (data.encoding=cp1252 reads 'naïve', "
        "data.encoding=cp1250 reads 'naďve'); mend the line or set bad_lines to skip"
    )
    assert fields(LabelledLines(path, encoding="latin-1"))[1] == {"text": "café", "label": "0"}


def test_files_without_examples_are_refused(tmp_path: Path) -> None:
    empty = put(tmp_path / "empty", "")
    for reader in (Pairs(empty, empty), Table(empty), Jsonl(empty), Text(empty), LabelledLines(empty), Columns(empty)):
        assert "the file has no examples" in refused(reader)
    assert "every line is bad (1 line skipped" in refused(Jsonl(put(tmp_path / "bad", "{\n"), bad_lines="skip"))
    assert "bad_lines is 'ignore'" in refused(Text(empty, bad_lines="ignore"))  # type: ignore[arg-type]


def test_tsv_has_no_quotes(tmp_path: Path) -> None:
    path = put(tmp_path / "a.tsv", 'He said "hi\tEr sagte "hallo"\n')
    assert fields(Table(path)) == [{"source": 'He said "hi', "target": 'Er sagte "hallo"'}]


def test_csv_has_quotes_over_lines_and_names_the_first(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv.gz", 'en,de\n"one\ntwo","eins, ""zwei"""\nthree,drei\n')
    table = Table(path, {"source": "en", "target": "de"}, header=True)
    assert fields(table)[0] == {"source": "one\ntwo", "target": 'eins, "zwei"'}
    assert [example.where for example in table] == [f"{path}:2", f"{path}:4"]


def test_tables_that_do_not_fit(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", "en,de\none\ntwo,\nthree,drei\n")
    columns = {"source": "en", "target": "de"}
    assert "a.csv:2: the row has 1 column, too few for column 1" in refused(Table(path, columns, header=True))
    assert len(fields(Table(path, columns, header=True, bad_lines="skip"))) == 1
    assert "there is no column 'fr'; its header has en, de" in refused(Table(path, {"source": "fr"}, header=True))
    path.write_text("")
    assert "is empty" in refused(Table(path, {"source": "fr"}, header=True))
    assert "so set header to true" in refused(Table(path, columns))
    assert "this is not CSV" in refused(Table(put(tmp_path / "b.csv", 'a,b\n"c,d\n')))


def test_a_field_of_csv_may_be_long(tmp_path: Path) -> None:
    path, long = tmp_path / "a.csv", "word " * 50_000
    (example,) = Table(put(path, f"{long},ein\n"))
    assert example.fields["source"] == long


def test_csv_goes_on_behind_a_line_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\ncaf\xe9,d\ne,f\n")
    table = Table(path, bad_lines="skip")
    assert [row["source"] for row in fields(table)] == ["a", "e"]
    assert table.skipped.count == 1


def test_jsonl(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", '{"t": ["a", "b"], "l": true}\n\n{"t": "c", "l": 3}\n')
    keys = {"text": "t", "label": "l"}
    assert fields(Jsonl(path, keys)) == [{"text": ["a", "b"], "label": "true"}, {"text": "c", "label": "3"}]
    assert "a.jsonl:1: there is no key 'x' among t, l" in refused(Jsonl(path, {"text": "x"}))


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{", "this is not JSON"),
        ("[1]", "not an object"),
        ('{"source": {}, "target": ""}', "neither text nor a list of texts"),
        ('{"source": "a", "target": " "}', "the value of 'target' is blank"),
        ("[" * 100_000, "this is not JSON: it is nested too deep"),
        ('{"a":' * 100_000, "this is not JSON: it is nested too deep"),
        ("9" * 5000, "this is not JSON: it has a number of thousands of digits"),
        ('{"source": "\\ud800", "target": "a"}', "the field 'source' has half of a surrogate pair"),
        ('{"source": "a", "target": ["b", "\\udcff"]}', "the field 'target' has half of a surrogate pair"),
    ],
)
def test_jsonl_that_is_bad(tmp_path: Path, line: str, sentence: str) -> None:
    assert sentence in refused(Jsonl(put(tmp_path / "a.jsonl", line + "\n")))


def test_text_with_line_ends_is_the_file(tmp_path: Path) -> None:
    whole = "ROMEO:\n\n  It was\n"
    path = put(tmp_path / "a", whole)
    assert "".join(str(example["text"]) for example in fields(Text(path, ends=True))) == whole
    assert [example["text"] for example in fields(Text(path, blank="keep"))] == ["ROMEO:", "", "  It was"]
    assert len(fields(Text(path))) == 2


def test_labels_last_apart_and_by_file(tmp_path: Path) -> None:
    assert fields(LabelledLines(put(tmp_path / "a", "so good\tpos\n"), "last", separator="\t")) == [
        {"text": "so good", "label": "pos"}
    ]
    apart = LabelledLines(put(tmp_path / "b", "so good\n"), labels=put(tmp_path / "c", "pos\n"))
    assert fields(apart) == [{"text": "so good", "label": "pos"}]
    assert len(apart.files) == 2
    folder = tmp_path / "names"
    folder.mkdir()
    put(folder / "Greek.txt", "Adamou\n"), put(folder / "Dutch.txt.gz", "Aart\n")
    assert sorted(str(example["label"]) for example in fields(LabelledLines(folder, "file"))) == ["Dutch", "Greek"]
    assert "a label or a text, not both" in refused(LabelledLines(put(tmp_path / "d", "1 fine\npos\n")))
    with pytest.raises(DataError, match="label is 'middle'"):
        LabelledLines(folder, "middle")  # type: ignore[arg-type]


def test_a_folder_a_label_and_a_file_a_text(tmp_path: Path) -> None:
    put(tmp_path / "urls.txt", "beside the folders\n")
    for name, text in {"pos/2": "a gem\n", "pos/1": "so\r\n\ngood\n", "very bad/1": "far too\nlong"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        put(tmp_path / f"{name}.txt", text)
    folder = LabelledLines(tmp_path, "file")
    assert fields(folder) == [
        {"text": "so good", "label": "pos"},
        {"text": "a gem", "label": "pos"},
        {"text": "far too long", "label": "very bad"},
    ]
    assert next(iter(folder)).where == f"{tmp_path}/pos/1.txt"
    put(tmp_path / "pos/3.txt", " \n")
    assert refused(folder) == f"{tmp_path}/pos/3.txt: it is blank; mend the line or set bad_lines to skip"
    put(tmp_path / "pos/3.txt", "caf\xe9", "latin-1")
    assert f"{tmp_path}/pos/3.txt:1: byte 0xe9" in refused(folder)
    assert len(fields(LabelledLines(tmp_path, "file", bad_lines="skip"))) == 3


def test_moving_a_text_to_another_folder_changes_the_settings(tmp_path: Path) -> None:
    for name in ("neg", "pos"):
        (tmp_path / name).mkdir()
        put(tmp_path / name / "1.txt", "so good\n")
    before = LabelledLines(tmp_path, "file").settings()
    (tmp_path / "pos/1.txt").rename(tmp_path / "neg/2.txt")
    assert LabelledLines(tmp_path, "file").settings() != before


def test_white_space_around_a_label_is_none_of_it(tmp_path: Path) -> None:
    table = Table(put(tmp_path / "a.csv", "a gem, very  good\nso so,very good \n"), {"text": 0, "label": 1})
    assert [example["label"] for example in fields(table)] == ["very good", "very good"]


def test_renaming_a_file_whose_name_is_its_label_changes_the_settings(tmp_path: Path) -> None:
    put(tmp_path / "Greek.txt", "Adamou\n")
    before = LabelledLines(tmp_path, "file").settings()
    (tmp_path / "Greek.txt").rename(tmp_path / "Dutch.txt")
    assert LabelledLines(tmp_path, "file").settings() != before


def test_columns(tmp_path: Path) -> None:
    path = put(tmp_path / "a", "# text\nHe PRP B-NP\nis VBZ B-VP\n\n\n# more\nSo IN O\n")
    columns = Columns(path, {"text": 0, "tags": -1}, comment="#")
    assert fields(columns) == [{"text": ["He", "is"], "tags": ["B-NP", "B-VP"]}, {"text": ["So"], "tags": ["O"]}]
    assert [example.where for example in columns] == [f"{path}:2", f"{path}:7"]


def test_a_bad_line_takes_its_sentence_along(tmp_path: Path) -> None:
    path = put(tmp_path / "a", "He PRP\nis\nhere RB\n\nSo IN\n")
    assert f"{path}:2: the line has 1 columns, none at 1 for tags" in refused(Columns(path))
    assert [example["text"] for example in fields(Columns(path, bad_lines="skip"))] == [["So"]]


def test_cmudict(tmp_path: Path) -> None:
    path = put(tmp_path / "a", ";;; comment\naalborg(2) AA1 L B AO0 R G # place, danish\n'bout B AW1 T\n")
    assert fields(Cmudict(path))[0] == {"source": "aalborg", "target": "AA L B AO R G"}
    assert fields(Cmudict(path, stress=True))[1] == {"source": "'bout", "target": "B AW1 T"}
    assert ":1: this is not a word" in refused(Cmudict(put(tmp_path / "b", "word\n")))


def test_the_hub_without_its_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert refused(Hub("wmt16", "train")) == "to read 'wmt16' from the hub, pip install 'regard[data]'"


def test_the_hub_gives_rows_by_key(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"translation": {"de": "zwei", "en": "two"}}, {"translation": {"de": "", "en": "none"}}]
    asked = []

    def load(*args: object, **kwargs: object) -> list[dict[str, dict[str, str]]]:
        asked.append((args, kwargs))
        return rows

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load))
    hub = Hub(
        "wmt16", "train", {"source": "translation.de", "target": "translation.en"}, config="de-en", bad_lines="skip"
    )
    assert fields(hub) == [{"source": "zwei", "target": "two"}]
    assert asked == [(("wmt16", "de-en"), {"split": "train"})]
    assert hub.skipped.first == ["wmt16[train]:1: the value of 'translation.de' is blank"]


def test_folds_test_each_example_once(tmp_path: Path) -> None:
    path = tmp_path / "all.tsv"
    path.write_text("".join(f"{number}\tx\n" for number in range(200)), encoding="utf-8")
    tested: list[str] = []
    for fold in range(5):
        parts = [
            {
                str(one.fields["source"])
                for one in HashSplit(Table(path), part, by="source", valid=0.1, test=0.2, fold=fold)  # type: ignore[arg-type]
            }
            for part in ("train", "valid", "test")
        ]
        assert sum(map(len, parts)) == len(set.union(*parts)) == 200
        assert len(parts[2]) == pytest.approx(40, abs=20)
        tested += parts[2]
    assert sorted(tested, key=int) == [str(number) for number in range(200)]
    given = {"format": "table", "train": "all.tsv", "root": str(tmp_path)}
    section = TableData.model_validate({**given, "split": {"valid": 0.1, "test": 0.2, "fold": 4}})
    found = section.examples("test", FieldLayout("source", "target", "", "source", ONE_LABEL))
    assert found is not None
    assert {str(one.fields["source"]) for one in found} == parts[2]
    for split in ({"test": 0.2, "fold": 5}, {"fold": 1}, {"test": 0.2, "fold": 1, "by": "order"}):
        with pytest.raises(ValidationError, match=f"fold {split['fold']} tests another part"):
            TableData.model_validate({**given, "split": split})


def test_a_split_keeps_equal_sources_together(tmp_path: Path) -> None:
    path = put(tmp_path / "a.tsv", "".join(f"sentence {i // 3}\tSatz {i}\n" for i in range(600)))
    parts = {
        part: list(HashSplit(Table(path), part, by="source", valid=0.2, test=0.2))
        for part in ("train", "valid", "test")
    }
    sources = [{str(example.fields["source"]) for example in part} for part in parts.values()]
    assert sum(map(len, parts.values())) == 600
    assert len(set().union(*sources)) == sum(map(len, sources))
    assert all(len(part) > 60 for part in parts.values())
    with pytest.raises(DataError, match="leave nothing to train on"):
        HashSplit(Table(path), "train", by="source", valid=0.5, test=0.5)
    with pytest.raises(DataError, match="no field 'words' to split by"):
        list(HashSplit(Table(path), "train", by="words"))


def test_slices_partition(tmp_path: Path) -> None:
    text = Text(put(tmp_path / "a", "".join(f"{i}\n" for i in range(7))))
    front, back = ([str(e.fields["text"]) for e in OrderedSlice(text, *ends)] for ends in ((0, 0.6), (0.6, 1)))
    assert front + back == list("0123456")
    assert len(front) == 4
    with pytest.raises(DataError, match="0 <= begin < end <= 1"):
        OrderedSlice(text, 0.5, 0.5)


def test_questions_need_no_answers_and_may_be_blank(tmp_path: Path) -> None:
    """What a model is asked: the same files without their last columns, and blank texts among them."""

    def asked(reader: DataReader) -> list[dict[str, object]]:
        return [dict(item.fields) if isinstance(item, Example) else {"bad": item.where} for item in reader.items()]

    def file(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text)
        return tmp_path / name

    table = file("a.tsv", "a\tb\n\tb\n\nc\n")
    assert asked(Table(table, {"text": 1}, questions=True)) == [
        {"text": "b"}, {"text": "b"}, {"text": ""}, {"bad": f"{table}:4"},
    ]  # fmt: skip
    assert asked(Table(table, {"text": 0}))[1:3] == [{"bad": f"{table}:2"}, {"bad": f"{table}:3"}]
    jsonl = file("a.jsonl", '{"text": "b"}\n{"text": " "}\n{}\n')
    assert asked(Jsonl(jsonl, {"text": "text"}, questions=True)) == [
        {"text": "b"}, {"text": " "}, {"bad": f"{jsonl}:3"},
    ]  # fmt: skip
    spans = file("b.tsv", "who?\tAda left.\nwho?\n")
    assert asked(SpanTable(spans, questions=True)) == [
        {"question": "who?", "context": "Ada left."},
        {"bad": f"{spans}:2"},
    ]
    content = {"data": [{"paragraphs": [{"context": "Ada left.", "qas": [{"id": "7", "question": "who?"}]}]}]}
    squad = file("c.json", json.dumps(content))
    assert asked(Squad(squad, questions=True)) == [{"question": "who?", "context": "Ada left."}]
    stories = file("d.txt", "1 Ada left.\n2 who?\t\n")
    assert asked(Stories(stories, questions=True)) == [{"story": ["Ada left"], "question": "who"}]
    assert asked(Stories(stories)) == [{"bad": f"{stories}:2"}]


def test_the_line_of_an_example_is_a_number() -> None:
    assert Example({}, "a:b.csv:12").line == 12
    assert BadLine("dev.json: question 7", "why").line is None

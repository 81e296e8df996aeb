"""A recipe that is wrong is one sentence: the key, its line, the nearest that is right."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from pydantic import BaseModel

import regard.recipes
from regard.recipes.data_sections import TableData
from regard.recipes.errors import RecipeError
from regard.recipes.files import DataFile, find_files
from regard.recipes.library import shipped
from regard.recipes.load import check, load
from regard.recipes.system import systems
from regard.recipes.yaml_document import RecipeDocument
from tests.train.tiny import TEXT

DIGITS = next(line for line in TEXT.splitlines() if line.startswith("data: "))

# (a line of the tiny recipe or None, what to write in its place, parts of the sentence)
WRONG: list[tuple[str, str, tuple[str, ...]]] = [
    ("run: tiny", "run: a/b", ("line 1", "run is 'a/b'")),
    ("run: tiny", "run: '..'", ("line 1", "run is '..'", "does not begin with '.'")),
    ("run: tiny", "run: .cache", ("line 1", "run is '.cache'", "does not begin with '.'")),
    ("max_length: 6", "unknown: coppy", ("line 12", "decode.unknown is 'coppy'", "did you mean copy?")),
    ("max_length: 6", "dictionary: a.tsv", ("line 12", "a dictionary is for unknown words that are copied")),
    ("run: tiny", "rum: tiny", ("line 1", "no key 'rum'", "did you mean run?")),
    ("run: tiny", "task: translat", ("line 1", "task is 'translat'", "did you mean translate?")),
    ("format: digits", "format: digit", ("line 2", "data.format is 'digit'", "did you mean digits?")),
    ("format: digits, ", "", ("line 2", "data.format is None", "dates, digits, ")),
    ("task: copy", "task: cpy", ("line 2", "data.task is 'cpy'", "did you mean copy?")),
    ("train_size: 200", "train_sise: 200", ("line 2", "'data.train_sise'", "did you mean train_size?")),
    ("longest: 4", "longest: 1", ("line 2", "data.longest is 1", "greater than or equal to 3")),
    ("longest: 4", "longest: four", ("line 2", "data.longest is 'four': it should be a whole number")),
    ("kind: words", "kind: word", ("line 3", "tokenizer.kind is 'word'", "did you mean words?")),
    ("kind: words", "kind: words, target: {kin: bpe}", ("line 3", "'tokenizer.target.kin'", "did you mean kind?")),
    ("kind: words", "size: 2", ("line 3", "tokenizer.size is 2", "greater than or equal to 5")),
    ("kind: bahdanau, ", "", ("line 4", "model.kind is None", "bahdanau, lstmn, luong")),
    ("kind: bahdanau", "kind: bahdanua", ("line 4", "model.kind is 'bahdanua'", "did you mean bahdanau?")),
    ("kind: bahdanau", "kind: acceptor", ("line 4", "is 'acceptor': of the task translate it can be bahdanau, lstmn")),
    ("attention: additive", "atention: dot", ("line 4", "no key 'model.atention'", "did you mean attention?")),
    ("attention: additive", "attention: aditive", ("line 4", "model.attention is 'aditive'", "did you mean additive?")),
    ("attention: additive", "attention: {hds: 2}", ("line 4", "no key 'model.attention.hds'", "num_heads")),
    ("attention: additive", "cells: gur", ("line 4", "model.cells is 'gur'", "did you mean gru?")),
    ("hidden_dim: 16", "hidden_dim: wide", ("line 4", "model.hidden_dim is 'wide': it should be a whole number")),
    ("embedding_dim: 16", "embedding_dim: 0", ("line 4", "model.embedding_dim is 0", "greater than or equal to 1")),
    ("  steps: 40\n", "", ("line 5", "train: set steps")),
    ("steps: 40", "stps: 40", ("line 6", "'train.stps'", "did you mean steps?")),
    ("steps: 40", "steps: 0", ("line 6", "train.steps is 0", "greater than or equal to 1")),
    ("steps: 40", "steps: 1.5", ("line 6", "train.steps is 1.5", "integer")),
    ("sentences: 16", "tokens: null", ("line 7", "train.batch", "set tokens or sentences")),
    ("sentences: 16", "sentence: 16", ("line 7", "'train.batch.sentence'", "did you mean sentences?")),
    ("checkpoint_every: 10", "checkpoint_every: 5x", ("line 11", "checkpoint_every", "'5x' is not a time", "5m")),
    ("checkpoint_every: 10", "checkpoint_every: 0s", ("line 11", "checkpoint_every", "'0s' is not a time")),
    ("checkpoint_every: 10", "checkpoint_every: 0", ("line 11", "checkpoint_every", "0 is neither", "updates")),
    ("checkpoint_every: 10", "checkpoint_every: true", ("line 11", "checkpoint_every", "true is neither")),
    ("checkpoint_every: 10", "checkpoint_every: 5m\n  average: 2", ("line 12", "average", "checkpoint_every")),
    ("rate: 0.02", "rate: -1", ("line 8", "train.optimizer.rate is -1", "greater than 0")),
    ("rate: 0.02", "rate: 1e38", ("line 8", "train.optimizer.rate is 1e+38", "less than or equal to 1000")),
    ("rate: 0.02", "rate: .inf", ("line 8", "train.optimizer.rate is inf", "finite")),
    ("rate: 0.02", "name: adma", ("line 8", "train.optimizer.name is 'adma'", "did you mean adam?")),
    ("rate: 0.02", "betas: [0.9, 1]", ("line 8", "train.optimizer.betas.1 is 1", "less than 1")),
    ("log_every: 5", "schedule: {name: cosin}", ("line 9", "train.schedule.name is 'cosin'", "did you mean cosine?")),
    ("log_every: 5", "exposure: {sampling: {decy: linear}}", ("line 9", "sampling.decy'", "did you mean decay?")),
    ("log_every: 5", "exposure: {sampling: {decay: exponential}}", ("line 9", "sampling", "a k below 1")),
    ("log_every: 5", "exposure: {sampling: {k: 0.5}}", ("line 9", "sampling", "a k of at least 1")),
    ("log_every: 5", "exposure: {sampling: {decay: linear}}", ("line 9", "would be over at the first update")),
    ("log_every: 5", "seed: -1", ("line 9", "train.seed is -1", "greater than or equal to 0")),
    ("log_every: 5", "precision: bfloat", ("line 9", "train.precision is 'bfloat'", "did you mean bfloat16?")),
    ("log_every: 5", "clip: much", ("line 9", "train.clip is 'much': it should be a number or null")),
    ("strategy: greedy", "strategy: bem", ("line 12", "decode.strategy is 'bem'", "did you mean beam?")),
    ("max_length: 6", "max_lenght: 6", ("line 12", "'decode.max_lenght'", "did you mean max_length?")),
    ("max_length: 6", "forbid: [-1]", ("line 12", "forbid holds ids, which are at least 0; got [-1]")),
    ("max_length: 6", "n_best: 3", ("line 12", 'n_best=3 with strategy "greedy"')),
    ("exact_match", "exact_mach", ("line 13", "no metric 'exact_mach'", "did you mean 'exact_match'?")),
    ("cer]", "{bleu: {tokenise: none}}]", ("line 13", "bleu: there is no option 'tokenise'", "'tokenize'")),
    ("cer]", "{bleu: {tokenize: nix}}]", ("line 13", "bleu: there is no tokenizer 'nix'")),
    ("cer]", "{bleu: 5}]", ("line 13", "the options of 'bleu' are a mapping", "got 5")),
    ("cer]", "exact_match]", ("line 13", "the metric 'exact_match' stands twice with the same options")),
    (
        "cer]",
        "accuracy]",
        ("line 13", "metric 'accuracy'", "'translate'", "bleu"),
    ),
    ("cer]", "cer], rows: 2", ("line 13", "rows", "'language_model'", "'translate'")),
    ("cer]", "3]", ("line 13", "evaluate.metrics.1 is 3")),
    ("cer]", "cer], select: bleu", ("line 13", "select is 'bleu'", "it can be loss, exact_match, cer")),
]


@pytest.mark.parametrize(("right", "wrong", "parts"), WRONG, ids=[wrong or right for right, wrong, _ in WRONG])
def test_the_sentence_names_key_line_and_nearest(right: str, wrong: str, parts: tuple[str, ...]) -> None:
    assert TEXT.count(right) == 1
    with pytest.raises(RecipeError) as caught:
        check(RecipeDocument.parse(TEXT.replace(right, wrong), "tiny.yaml"))
    sentence = str(caught.value)
    assert sentence.startswith("tiny.yaml, line ")
    assert "\n" not in sentence
    for part in parts:
        assert part in sentence, sentence


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("train.stepz=3", "the command line: there is no key 'train.stepz'; did you mean steps?"),
        ("trian.steps=3", "the command line: there is no key 'trian'; did you mean train?"),
        ("run='my run'", "the command line: run is 'my run': a name of letters, digits, '.', '-' and '_', which"),
        ("train.steps={a: 1}", "the command line: train.steps: input should be a valid integer"),
        ("train=5", "the command line: train is 5: it should be a mapping of steps, minutes, seed, batch, "),
        ("train.batch={window: 3}", "the command line: train.batch: a window needs sentences"),
        (
            "model.atention=dot",
            "the command line: there is no key 'model.atention'; did you mean attention?",
        ),
        ("evaluate.metrics=[blue]", "the command line: evaluate: there is no metric 'blue'; did you mean 'bleu'?"),
        (
            "init=3",
            "the command line: init is 3: it should be a path; put a name that reads as something else in quotes",
        ),
        ("nonsense", "'nonsense' is not an override; write key.subkey=value"),
        ("=3", "'=3' is not an override; write key.subkey=value"),
        ("run.x=3", "'run.x=3': 'run' holds a value, not keys"),
        ("train.clip=[", "'train.clip=[': the value is not YAML ("),
    ],
)
def test_an_override_that_is_wrong_is_on_the_command_line(override: str, sentence: str) -> None:
    with pytest.raises(RecipeError, match=re.escape(sentence)):
        load("dates", [override])


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        (
            "decode.beam_size=3",
            "decode: a search is for the task ",
        ),
        ("decode.unknown=copy", "decode: unknown is for the task 'translate'; the task is 'classify'"),
        ("evaluate.metrics=[span_f1]", "metric 'span_f1' compares chunks; this recipe of the task 'classify'"),
        ("evaluate.group=true", "group is for the task 'translate'; the task is 'classify'"),
        ("data.split={valid: 0.6, test: 0.5}", "valid 0.6 and test 0.5 leave nothing to learn from"),
        (
            "data.split={by: order, valid: 0.5, test: 0.6}",
            "the command line: data.split: valid 0.5 and test 0.6 leave nothing to learn from",
        ),
    ],
)
def test_what_a_task_has_no_use_for_is_refused(override: str, sentence: str) -> None:
    text = "task: classify\ndata: {format: folder, train: x}\nmodel: {kind: acceptor}\ntrain: {steps: 1}\n"
    check(RecipeDocument.parse(text, "mine.yaml"))
    with pytest.raises(RecipeError, match=re.escape(sentence)):
        check(RecipeDocument.parse(text, "mine.yaml").overridden([override]))


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (["tokenizer.kind=bpe"], "unknown 'copy' is for tokenizers of kind words; there is one of kind bpe"),
        (["tokenizer.target={kind: characters}"], "for tokenizers of kind words; there is one of kind characters"),
        (["model={kind: seq2seq}"], "unknown 'copy' takes the word that was attended to; seq2seq attends to nothing"),
        (
            ["model={kind: seq2seq}", "decode={coverage: 0.2}"],
            "decode: coverage is of a model that attends to its source; seq2seq does not",
        ),
    ],
)
def test_what_looks_at_attention_needs_some(overrides: list[str], sentence: str) -> None:
    document = RecipeDocument.parse(TEXT, "tiny.yaml").overridden(["decode.unknown=copy"])
    check(document)
    with pytest.raises(RecipeError, match=re.escape(sentence)):
        check(document.overridden(overrides))


def test_tokenizers_of_another_run_are_not_known_yet() -> None:
    document = RecipeDocument.parse(TEXT, "tiny.yaml").overridden(["decode.unknown=copy", "tokenizer.kind=bpe"])
    with pytest.raises(RecipeError, match="for tokenizers of kind words"):
        check(document)
    assert check(document.overridden(["init=runs/a"])).recipe.init == Path("runs/a")


def test_a_dictionary_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("words.tsv").touch()
    document = RecipeDocument.parse(TEXT, "tiny.yaml").overridden(["decode={unknown: copy, dictionary: word.tsv}"])
    check(document)
    sentence = "the command line: decode.dictionary: there is no file word.tsv in .; did you mean words.tsv?"
    with pytest.raises(RecipeError, match=re.escape(sentence)):
        check(document, files=True)


def test_a_section_that_is_wrong_as_a_whole_is_not_printed() -> None:
    text = TEXT.replace(DIGITS, "data:\n  format: table\n  train: x\n  split: {}")
    with pytest.raises(RecipeError) as caught:
        check(RecipeDocument.parse(text, "mine.yaml").overridden(["data.split=null"]))
    assert str(caught.value) == (
        "the command line: data: set valid, what to validate on, or split, to divide train; one of them"
    )


@pytest.mark.parametrize(
    ("given", "delimiter"), [(",", "comma"), ("comma", "comma"), ("\t", "tab"), (r"\t", "tab"), ("tab", "tab")]
)
def test_a_delimiter_by_name_or_as_it_is(given: str, delimiter: str) -> None:
    text = TEXT.replace(DIGITS, "data: {format: table, train: x, valid: x}")
    data = check(RecipeDocument.parse(text, "mine.yaml").overridden([f"data.delimiter={given}"])).recipe.data
    assert isinstance(data, TableData)
    assert data.delimiter == delimiter


def test_a_recipe_that_does_not_exist() -> None:
    with pytest.raises(RecipeError, match=r"no recipe 'date', and no such file; did you mean dates\?"):
        load("date")
    with pytest.raises(RecipeError, match=r"no recipe 'zzz.yaml', and no such file; recipes that ship: .*dates"):
        load("zzz.yaml")


def test_every_recipe_that_ships_is_listed_and_says_what_it_gives() -> None:
    folder = Path(regard.__file__).parent
    assert sorted(shipped()) == sorted(path.stem for path in folder.rglob("*.yaml"))
    assert "dates" in shipped()


@pytest.mark.parametrize("name", sorted(shipped()))
def test_every_recipe_that_ships_loads(name: str) -> None:
    loaded = check(RecipeDocument.read(shipped()[name]))
    assert loaded.recipe.run
    first = shipped()[name].read_text().splitlines()[0]
    assert first.startswith(f"# regard train {name}")


class Pair(BaseModel):
    source: DataFile
    others: list[DataFile] = []


class Data(BaseModel):
    root: Path | None = None
    encoding: str = "utf-8"
    train: Pair
    valid: DataFile | None = None


LOOKED = """\
data:
  root: corpus
  train:
    source: train.de
    others: [extra.txt,
             sub/b.txt]
  valid: valid.txt
"""
THERE = ("train.de", "extra.txt", "sub/b.txt", "valid.txt")


def looked_for(text: str, *overrides: str) -> None:
    document = RecipeDocument.parse(text, "mine.yaml").overridden(list(overrides))
    find_files(Data.model_validate(document.content["data"]), document)


@pytest.fixture
def _corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in THERE:
        (tmp_path / "corpus" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "corpus" / name).touch()


@pytest.mark.usefixtures("_corpus")
def test_files_that_are_there_are_found(tmp_path: Path) -> None:
    for overrides, valid in (
        ((), "valid.txt"),
        (("data.valid=null",), None),
        ((f"data.valid={tmp_path}/corpus/b",), "b"),
    ):
        (tmp_path / "corpus/b").touch()
        assert looked_for(LOOKED, *overrides) is None
        if valid is not None:
            (tmp_path / "corpus" / valid).unlink()
            with pytest.raises(RecipeError, match=r"data\.valid: there is no file"):
                looked_for(LOOKED, *overrides)


@pytest.mark.usefixtures("_corpus")
@pytest.mark.parametrize(
    ("overrides", "gone", "sentence"),
    [
        ([], "train.de", "mine.yaml, line 4: data.train.source: there is no file train.de in corpus"),
        ([], "extra.txt", "mine.yaml, line 5: data.train.others.0: there is no file extra.txt in corpus"),
        ([], "sub/b.txt", "mine.yaml, line 6: data.train.others.1: there is no file sub/b.txt in corpus"),
        (
            ["data.train.source=train.ed"],
            None,
            "the command line: data.train.source: there is no file train.ed in corpus; did you mean train.de?",
        ),
        (
            ["data.train.others=[sub/bb.txt]"],
            None,
            "the command line: data.train.others.0: there is no file sub/bb.txt in corpus; did you mean sub/b.txt?",
        ),
        (["data.valid=sub"], None, "the command line: data.valid: corpus/sub is a folder; name a file in it"),
        (["data.root=corpse"], None, "the command line: data.root: there is no folder corpse"),
        (["data.valid=/no/where"], None, "the command line: data.valid: there is no file /no/where"),
        (
            ["data.root=null"],
            None,
            "mine.yaml, line 4: data.train.source: there is no file train.de; "
            "set data.root=FOLDER to the folder it is in",
        ),
    ],
)
def test_a_file_that_is_not_there_is_named(overrides: list[str], gone: str | None, sentence: str) -> None:
    if gone is not None:
        Path("corpus", gone).unlink()
    with pytest.raises(RecipeError) as caught:
        looked_for(LOOKED, *overrides)
    assert str(caught.value) == sentence


def test_a_shell_does_not_expand_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    with pytest.raises(RecipeError, match=r"data.root: there is no folder ~/data; write /home/me/data$"):
        looked_for(LOOKED, "data.root=~/data")


def test_data_is_needed_to_train_and_not_to_look_at_a_run(tmp_path: Path) -> None:
    recipe = tmp_path / "pairs.yaml"
    recipe.write_text(TEXT.replace(DIGITS, "data: {format: table, train: no.tsv, valid: no.tsv}"))
    check(RecipeDocument.read(recipe))
    with pytest.raises(RecipeError, match=r"pairs.yaml, line 2: data.train: there is no file no.tsv; set data.root"):
        load(str(recipe))


def test_a_key_of_two_other_systems_is_left_out_with_the_default_of_either() -> None:
    """As the files of older runs have it, which hold the defaults of all systems of their time."""
    text = "task: classify\ndata: {format: folder, train: x}\nmodel: {kind: acceptor}\n"
    found = [system.owned().get(("train", "hard")) for system in systems().values()]
    defaults = [default for default in found if default is not None]
    assert len({str(default) for default in defaults}) == len(defaults) == 2
    for default in defaults:
        document = RecipeDocument.parse(
            f"{text}train: {{steps: 1, hard: {json.dumps(default.model_dump())}}}\n", "mine.yaml"
        )
        assert check(document).recipe.train.steps == 1
    with pytest.raises(RecipeError, match=r"train: hard is for the task 'caption' or 'translate'; .*'classify'"):
        check(RecipeDocument.parse(f"{text}train: {{steps: 1, hard: {{reward: 7.5}}}}\n", "mine.yaml"))

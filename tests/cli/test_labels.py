"""Labels, tags and pronunciations from one file: trained, asked and measured by the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import regard
from regard.cli import app
from tests.cli.command import RUN, asked, refused

REVIEWS = [
    f"{label} the {noun} is {word} and {other}"
    for noun in ("film", "plot", "acting", "music", "ending")
    for label, words in (("good", ("fine", "lovely", "clever")), ("bad", ("dull", "awful", "clumsy")))
    for word in words
    for other in words
    if word != other
]
CLASSIFY = """\
run: reviews
task: classify
data: {format: labelled, train: reviews.txt, split: {valid: 0.2, test: 0.2}}
tokenizer: {kind: words}
model: {kind: acceptor, encoder: {embedding_dim: 16, hidden_dim: 16}}
train: {steps: 60, batch: {sentences: 16}, optimizer: {rate: 0.02}, valid_every: 30}
"""
SENTENCES = [
    [(determiner, "DT"), (noun, "NN"), (verb, "VB"), (".", ".")]
    for determiner in ("the", "a", "every")
    for noun in ("dog", "cat's", "1,000th", "naïveté")
    for verb in ("sleeps", "eats", "won't")
]
TAG = """\
run: tags
task: tag
data: {format: columns, train: tags.txt, split: {valid: 0.2, test: 0.2}}
tokenizer: {kind: bpe, size: 290}
model: {kind: transducer, encoder: {embedding_dim: 16, hidden_dim: 32}}
train: {steps: 60, batch: {sentences: 8}, optimizer: {rate: 0.02}, valid_every: 30}
evaluate: {metrics: [accuracy, f1], select: accuracy}
"""
LETTERS = {"a": "AA", "b": "B", "d": "D", "o": "OW", "t": "T"}
SPELT = [first + vowel + last for first in "bdt" for vowel in "ao" for last in ("b", "d", "t", "bo", "da")]
PRONOUNCE = """\
run: sounds
task: translate
data: {format: cmudict, train: sounds.dict, split: {valid: 0.2, test: 0.2}}
tokenizer: {kind: characters, target: {kind: words}}
model: {kind: luong, embedding_dim: 16, hidden_dim: 32}
train: {steps: 120, batch: {sentences: 16}, optimizer: {rate: 0.02}, valid_every: 120}
decode: {strategy: greedy, max_length: 8}
evaluate: {metrics: [string_error, per], group: true}
"""


def trained(folder: Path, name: str, text: str, data: str, content: str) -> str:
    (folder / data).write_text(content, encoding="utf-8")
    (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    arguments = ["train", str(folder / f"{name}.yaml"), "--runs", str(folder), f"data.root={folder}"]
    done = RUN.invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert f"{name}: finished" in done.output
    return str(folder / name)


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> str:
    return trained(tmp_path_factory.mktemp("a"), "reviews", CLASSIFY, "reviews.txt", "\n".join(REVIEWS))


@pytest.fixture(scope="module")
def tags(tmp_path_factory: pytest.TempPathFactory) -> str:
    blocks = ["".join(f"{word} {tag}\n" for word, tag in sentence) for sentence in SENTENCES]
    return trained(tmp_path_factory.mktemp("b"), "tags", TAG, "tags.txt", "\n".join(blocks))


@pytest.fixture(scope="module")
def sounds(tmp_path_factory: pytest.TempPathFactory) -> str:
    lines = [f"{word} {' '.join(LETTERS[letter] for letter in word)}" for word in SPELT]
    variants = [line.replace(" ", "(2) ", 1).replace("OW", "AO") for line in lines if "OW" in line]
    return trained(tmp_path_factory.mktemp("c"), "sounds", PRONOUNCE, "sounds.dict", "\n".join(lines + variants))


def test_texts_get_labels(reviews: str) -> None:
    texts = ["the plot is lovely and clever", "", "the music is awful and dull"]
    assert asked("predict", reviews, *texts) == "good\n\nbad\n"
    scored = [line.split("\t") for line in asked("predict", reviews, texts[0], "--n-best", "3").splitlines()]
    assert [label for _, label in scored] == ["good", "bad"]
    assert float(scored[0][0]) > float(scored[1][0])


def test_labels_in_json_and_where_they_looked(reviews: str) -> None:
    text = "the plot is lovely and unheard-of"
    row = json.loads(asked("predict", reviews, text, "--json", "--alignment", "--n-best", "2"))
    assert (row["source"], row["text"], row["tokens"], row["finished"]) == (text, "good", ["good"], True)
    assert row["source_tokens"] == ["the", "plot", "is", "lovely", "and", "<unk>"]
    assert sum(row["alignment"][0]) == pytest.approx(1.0)
    assert [one["text"] for one in row["n_best"]] == ["good", "bad"]
    drawn = asked("predict", reviews, text, "--alignment").splitlines()
    assert drawn[0] == "good"
    assert [line[-1] for line in drawn[2:7]] == list("<unk>")  # the last word, from top to bottom
    assert drawn[7].startswith("good ")


def test_words_get_tags(tags: str) -> None:
    assert asked("predict", tags, "every naïveté eats  .", "", "the cat's") == "DT NN VB .\n\nDT NN\n"
    row = json.loads(asked("predict", tags, "a 1,000th won't .", "--json", "--alignment"))
    assert (row["tokens"], row["source_tokens"]) == (["DT", "NN", "VB", "."], ["a", "1,000th", "won't", "."])
    assert len(row["log_probs"]) == 4
    assert row["alignment"] is None
    drawn = asked("predict", tags, "every naïveté eats  .", "--alignment").splitlines()
    assert drawn == ["DT NN VB .", "every naïveté eats .", "DT    NN      VB   .", ""]


def test_letters_become_sounds(sounds: str) -> None:
    assert asked("predict", sounds, "bab", "tad").splitlines() == ["B AA B", "T AA D"]
    measured = json.loads(asked("evaluate", sounds, "--split", "train", "--json"))
    assert measured["string_error"] < 0.2
    assert measured["per"] < 0.1
    assert "nrefs:var" in measured["signatures"]["string_error"]


def test_evaluate_measures_labels_and_tags(reviews: str, tags: str) -> None:
    measured = json.loads(asked("evaluate", reviews, "--json"))
    assert measured["split"] == "test"
    assert measured["accuracy"] == 1.0
    assert "perplexity" not in measured
    last = json.loads((Path(reviews) / "metrics.jsonl").read_text().splitlines()[-1])
    assert {key: last[key] for key in ("split", "loss", "accuracy")} == {
        key: measured[key] for key in ("split", "loss", "accuracy")
    }
    shown = asked("evaluate", tags)
    for part in ("nats a tag", "accuracy", "1.000", "unit:label", "F1"):
        assert part in shown


def test_classes_are_measured_one_by_one(reviews: str, tags: str) -> None:
    row = json.loads(asked("evaluate", reviews, "--json"))
    assert row["confusion"]["labels"] == ["bad", "good"]
    counts = row["confusion"]["counts"]
    assert counts[0][1] == counts[1][0] == 0
    assert row["classes"]["bad"] == {"precision": 1.0, "recall": 1.0, "f1": 1.0, "support": counts[0][0]}
    assert row["averages"]["macro"]["support"] == sum(map(sum, counts))
    shown = asked("evaluate", reviews)
    for part in ("class", "precision", "macro", "weighted", "true \\ predicted"):
        assert part in shown
    row = json.loads(asked("evaluate", tags, "--json"))
    assert row["confusion"]["labels"] == [".", "DT", "NN", "VB"]
    assert row["averages"]["micro"]["f1"] == row["accuracy"]
    assert "## Classes: test" in (Path(tags) / "report.md").read_text()


def test_a_metric_that_is_asked_for_selects_the_model(tmp_path: Path) -> None:
    (tmp_path / "reviews.txt").write_text("\n".join(REVIEWS))
    (tmp_path / "mine.yaml").write_text(CLASSIFY)
    short = ("train.steps=4", "train.valid_every=2", f"data.root={tmp_path}", "--runs", tmp_path)
    twice = "evaluate.metrics=[{f1: {average: macro}}, {f1: {average: weighted}}, mcc]"
    asked(
        "train",
        tmp_path / "mine.yaml",
        *short,
        twice,
        "evaluate.select='f1:average=weighted'",
        "train.class_weights=balanced",
    )
    assert "the best by f1:average=weighted |" in (tmp_path / "reviews/report.md").read_text()
    rows = [json.loads(line) for line in (tmp_path / "reviews/metrics.jsonl").read_text().splitlines()]
    assert {"f1:average=macro", "f1:average=weighted", "mcc"} <= rows[-1].keys()
    problem = refused("train", tmp_path / "mine.yaml", *short, twice, "evaluate.select=f1")
    assert "select is 'f1'; it can be loss, f1:average=macro, f1:average=weighted, mcc" in problem


def test_labels_and_tags_have_no_search(reviews: str, tags: str) -> None:
    for run, unit in ((reviews, "label"), (tags, "tag")):
        with pytest.raises(ValueError, match=f"strategy is of a search for texts; each {unit} is ranked"):
            regard.load(run).predict("the dog", strategy="sample")
        done = RUN.invoke(app, ["predict", run, "the dog", "--decode", "strategy=sample"])
        assert done.exit_code == 2
        assert "decode: a search is for the task" in done.output
    assert len(regard.load(reviews).n_best("the film", 9)[0]) == 2
    with pytest.raises(ValueError, match="tags are the likeliest of each word, one answer; got n_best=9"):
        regard.load(tags).n_best("the dog", 9)


def test_what_is_wrong_with_questions_is_one_sentence(reviews: str, tags: str) -> None:
    assert "tags are the likeliest of each word, one answer; got n_best=2" in refused(
        "predict", tags, "a dog", "--n-best", "2"
    )
    assert "there is no key 'decode.beam_sise'" in refused("predict", reviews, "a", "--decode", "beam_sise=3")


@pytest.mark.parametrize(
    ("text", "override", "sentence"),
    [
        (CLASSIFY, "data.format=columns", "data.format is 'columns'"),
        (TAG, "data.format=labelled", "data.format is 'labelled': it can be columns"),
        (TAG, "tokenizer={kind: characters}", "kind 'characters' does not know words, which have the tags; use words"),
        (CLASSIFY, "tokenizer.joint=true", "tokenizer: joint is for the task "),
        (CLASSIFY, "model.kind=transducer", "model.kind is 'transducer': of the task classify it can be acceptor"),
        (CLASSIFY, "model.pooling=sum", "model.pooling is 'sum': it can be last, mean, max, attention"),
        (CLASSIFY, "evaluate.select=bleu", "select is 'bleu'; it can be loss, accuracy"),
        (CLASSIFY, "train.batch={sentences: 4, window: 3}", "window is for the task 'language_model'"),
        (TAG, "train.exposure.corruption=0.1", "train: corruption is for the task"),
        (TAG, "data.split=null", "set valid, what to validate on, or split, to divide train; one of them"),
    ],
)  # fmt: skip
def test_recipes_that_do_not_fit_are_one_sentence(text: str, override: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    for name in ("reviews.txt", "tags.txt"):
        (tmp_path / name).touch()
    said = refused(
        "train", str(tmp_path / "mine.yaml"), "--runs", str(tmp_path / "runs"), f"data.root={tmp_path}", override
    )
    assert sentence in said
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("text", "name", "content", "sentence"),
    [
        (CLASSIFY, "reviews.txt", "good\n", "reviews.txt:1: the line has a label or a text, not both"),
        (CLASSIFY, "reviews.txt", "", "reviews.txt: the file has no examples"),
        (TAG, "tags.txt", "He PRP\nis\n", "tags.txt:2: the line has 1 columns, none at 1 for tags (the first is 0)"),
        (PRONOUNCE, "sounds.dict", "bab B AA B\nbat\n", "sounds.dict:2: this is not a word and its phonemes"),
    ],
)
def test_data_that_cannot_be_read_is_one_sentence(
    text: str, name: str, content: str, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    (tmp_path / name).write_text(content)
    said = refused("train", str(tmp_path / "mine.yaml"), "--runs", str(tmp_path), f"data.root={tmp_path}")
    assert sentence in said

"""Documents: sentences, folds of reviews, generated verdicts; trained, asked and drawn by the commands."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import regard
from regard.cli import app
from regard.data import DataError, Tokenizer
from regard.data.generated import adjectives
from regard.recipes.errors import RecipeError
from regard.recipes.load import load
from regard.systems.classification.documents import LONGEST, encoded_documents, split_sentences
from regard.systems.classification.movie_reviews import FOLDS, MovieReviews
from regard.systems.classification.verdicts import Verdicts
from tests.cli.command import RUN, asked, refused
from tests.mechanism import assert_close

SMALL = ("data.words=2", "data.train_size=120", "data.valid_size=20", "data.test_size=20", "data.longest=7")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("it is 3.50 at 10 a.m. or so . . . no ?! yes", ["it is 3.50 at 10 a.m. or so . . .", "no ?!", "yes"]),
        ('He said "go." She went.', ['He said "go."', "She went."]),
        ("mr . smith and dr. j. doe , etc. are here .", ["mr . smith and dr. j. doe , etc. are here ."]),
        ("a line\nends here.\n\nso ", ["a line ends here.", "so"]),
        (" \n", []),
    ],
)
def test_where_sentences_end(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


def test_a_long_sentence_goes_on_as_the_next() -> None:
    words = Tokenizer.train(["so it ."], kind="words")
    so, it, stop = (words.encode(one)[0] for one in ("so", "it", "."))
    (ids,) = encoded_documents(["so . " + "it " * (LONGEST + 1)], words.encode_all)
    assert ids == [so, stop, 3, *[it] * LONGEST, 3, it, 3]


def written(folder: Path) -> Path:
    """Reviews of all folds, each with its number as its text; one file is no review."""
    root = folder / "movie_reviews"
    for label in ("neg", "pos"):
        (root / label).mkdir(parents=True)
        for number in range(0, 1000, 50):
            (root / label / f"cv{number:03}_7.txt").write_text(f"{label} {number} .\nso it is .\n")
    (root / "README.txt").write_text("not a review")
    with zipfile.ZipFile(folder / "movie_reviews.zip", "w") as archive:
        for path in sorted(root.rglob("*.txt")):
            archive.write(path, path.relative_to(folder))
    return root


def test_each_review_tests_once(tmp_path: Path) -> None:
    root, tested = written(tmp_path), []
    for fold in range(FOLDS):
        parts = {split: list(MovieReviews(root, split, fold)) for split in ("train", "valid", "test")}  # type: ignore[arg-type]
        texts = {split: {one.fields["text"] for one in found} for split, found in parts.items()}
        assert {split: len(found) for split, found in texts.items()} == {"train": 32, "valid": 4, "test": 4}
        assert len(set.union(*texts.values())) == 40
        assert all(int(text.split()[1]) // 100 == fold for text in texts["test"])
        assert all(one.fields["text"].startswith(one.fields["label"]) for one in parts["test"])
        tested += sorted(texts["test"])
        packed = list(MovieReviews(tmp_path / "movie_reviews.zip", "test", fold))
        assert [one.fields for one in packed] == [one.fields for one in parts["test"]]
    assert len(set(tested)) == 40


def test_what_is_wrong_with_reviews_is_named(tmp_path: Path) -> None:
    root = written(tmp_path)
    with pytest.raises(DataError, match=r"reviews.zip: there is no such archive or folder; set data.archive"):
        list(MovieReviews(tmp_path / "reviews.zip"))
    with pytest.raises(DataError, match=r"systems: has no reviews of the split train"):
        list(MovieReviews(Path(__file__).parents[1]))
    (root / "neg" / "cv000_7.txt").write_bytes("schön".encode("latin-1"))
    with pytest.raises(DataError, match=r"cv000_7.txt: is not utf-8.*data.encoding"):
        list(MovieReviews(root, "test"))
    (root / "neg" / "cv000_7.txt").write_text(" \n")
    assert len(list(MovieReviews(root, "test", bad_lines="skip"))) == 3
    (tmp_path / "movie_reviews.zip").write_bytes(b"no")
    assert "movie_reviews.zip: is no zip archive" in refused(
        "train", "movie_reviews", "--runs", tmp_path, f"data.root={tmp_path}"
    )


def test_the_verdict_is_in_one_sentence() -> None:
    places = {word: place for place, word in enumerate(adjectives())}
    seen = set()
    for example in Verdicts(size=200, shortest=3, longest=5):
        sentences = split_sentences(example.fields["text"])
        (verdict,) = (one for one in sentences if "the hotel" in one)
        assert example.fields["label"] == ("good" if places[verdict.split()[-2]] % 2 else "bad")
        seen.add((len(sentences), sentences.index(verdict)))
    assert seen == {(count, place) for count in (3, 4, 5) for place in range(count)}
    texts = [
        {one.fields["text"] for one in Verdicts(split, size=99, longest=6)} for split in ("train", "valid", "test")
    ]  # type: ignore[arg-type]
    assert not texts[0] & texts[1] | texts[0] & texts[2] | texts[1] & texts[2]
    for options in ({"words": 0}, {"shortest": 4, "longest": 3}):
        with pytest.raises(DataError, match=str(next(iter(options.values())))):
            Verdicts(**options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = tmp_path_factory.mktemp("runs")
    keys = ("train.steps=40", "train.valid_every=20", "train.batch.sentences=16")
    done = RUN.invoke(app, ["train", "verdicts", "--runs", str(runs), *SMALL, *keys])
    assert done.exit_code == 0, done.output
    return runs / "verdicts"


def test_answers_are_the_same_alone_and_drawn_by_sentence(run: Path, tmp_path: Path) -> None:
    reviews = [one.fields["text"] for one in Verdicts("test", size=7, words=2)]
    predictor = regard.load(run)
    together = predictor.predict(reviews)
    for one, text in zip(together, reviews, strict=True):
        alone = predictor.predict([text])[0]
        assert (alone.text, alone.source_tokens) == (one.text, one.source_tokens)
        assert alone.alignment is not None
        assert one.alignment is not None
        assert_close(one.alignment, alone.alignment.double(), tolerance=1e-5)
        assert_close(one.alignment.sum(1), [1.0, 1.0], tolerance=1e-5)
        assert one.source_tokens.count("</s>") == len(split_sentences(text))
    drawn = asked("predict", run, reviews[0], "--alignment")
    assert drawn.count("█") >= 1
    assert len(drawn.strip().splitlines()) == 1 + len(split_sentences(reviews[0]))
    for suffix in ("html", "png"):
        asked("view", run, reviews[0], "--output", tmp_path / f"view.{suffix}")
    page = (tmp_path / "view.html").read_text()
    table = page.split("<tbody>")[1].split("</tbody>")[0]
    sentences = split_sentences(reviews[0])
    assert table.count("<tr>") == len(sentences)
    assert table.count("<bdi>") == len(together[0].source_tokens) - len(sentences)  # a word each, but not for ends


def test_a_model_without_attention_draws_nothing(tmp_path: Path) -> None:
    keys = ("model.pooling=mean", "train.steps=2", "train.valid_every=2", *SMALL)
    assert RUN.invoke(app, ["train", "verdicts", "--runs", str(tmp_path), *keys]).exit_code == 0
    review = Verdicts(words=2)[0].fields["text"]
    assert "attends to nothing" in asked("predict", tmp_path / "verdicts", review, "--alignment")
    assert "attends to nothing" in refused("view", tmp_path / "verdicts", review, "--output", tmp_path / "a.png")


def test_documents_are_one_text() -> None:
    with pytest.raises(RecipeError, match="'hierarchical' reads one text"):
        load("verdicts", ["data={format: opinions, pairs: true}"])

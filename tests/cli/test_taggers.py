"""Taggers that read letters and score tags together, by the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import regard
from regard.cli import app
from regard.tasks.splits import encode_split, examples
from tests.cli.command import RUN, asked, refused

NAMES = ("Mara Belo", "Ivo", "Tessa Lin Kor", "Pim Dal", "Oro", "Sena Mir")
PLAIN = ("sees", "and", "the", "house", "walks", "today", ".")


def sentences() -> list[list[tuple[str, str]]]:
    """Names are written with capital letters, and nothing else tells them."""
    found = []
    for number in range(60):
        first, second = NAMES[number % 6].split(), NAMES[(number * 5 + 1) % 6].split()
        named = [[(word + "aeiou"[number % 5], "I-PER" if place else "B-PER") for place, word in enumerate(name)]
                 for name in (first, second)]  # fmt: skip
        verb, last = PLAIN[number % 5], PLAIN[number % 7]
        found.append([*named[0], (verb, "O"), *named[1], (last, "O")])
    return found


RECIPE = """\
run: {name}
task: tag
data: {{format: columns, train: tags.txt, split: {{valid: 0.2, test: 0.2}}}}
tokenizer: {tokenizer}
model:
  kind: transducer
  crf: true
  tag_scheme: bio
  word_dropout: 0.2
  encoder: {{embedding_dim: 8, hidden_dim: 16, characters: {characters}}}
train: {{steps: 60, batch: {{sentences: 8}}, optimizer: {{rate: 0.02}}, valid_every: 30}}
evaluate: {{metrics: [span_f1, accuracy], select: span_f1}}
"""


def written(folder: Path) -> None:
    blocks = ["".join(f"{word} {tag}\n" for word, tag in sentence) for sentence in sentences()]
    (folder / "tags.txt").write_text("\n".join(blocks))


def trained(folder: Path, name: str, tokenizer: str, characters: str) -> str:
    written(folder)
    (folder / f"{name}.yaml").write_text(RECIPE.format(name=name, tokenizer=tokenizer, characters=characters))
    done = RUN.invoke(app, ["train", str(folder / f"{name}.yaml"), "--runs", str(folder), f"data.root={folder}"])
    assert done.exit_code == 0, done.output
    return str(folder / name)


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("a")
    return trained(folder, "words", "{kind: words}", "{kind: lstm, embedding_dim: 8, hidden_dim: 16}")


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> str:
    return trained(tmp_path_factory.mktemp("b"), "pieces", "{kind: bpe, size: 270}", "cnn")


def test_words_that_were_never_read_are_known_by_their_letters(words: str) -> None:
    done = RUN.invoke(app, ["predict", words, "Zelu Quor sees Umbra ."])
    assert done.stdout == "B-PER I-PER O B-PER O\n"
    assert "in the vocabulary" not in done.stderr  # their letters are


@pytest.mark.parametrize("run", ["words", "pieces"])
def test_they_are_measured_and_asked(run: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(run)
    measured = json.loads(asked("evaluate", folder, "--json"))
    assert measured["span_f1"] > 0.6
    text = "Mara Beloi sees Ivoa ."
    row = json.loads(asked("predict", folder, text, "--json"))
    assert row["text"].split() == row["tokens"]
    assert len(row["log_probs"]) == 5
    assert all(-20 < one <= 1e-6 for one in row["log_probs"])
    assert row["score"] <= min(row["log_probs"]) + 1e-4  # a sequence is no likelier than each of its tags
    both = json.loads(asked("evaluate", folder, "--json", "--ensemble", folder))
    assert both["loss"] == pytest.approx(measured["loss"], rel=1e-4)
    assert asked("predict", folder, text, "", "--ensemble", folder).splitlines()[1] == ""


def test_answers_do_not_depend_on_the_batch(words: str) -> None:
    model = regard.load(words)
    texts = [" ".join(word for word, _ in sentence) for sentence in sentences()[:9]] + ["Q"]
    together = model.predict(texts)
    for text, answer in zip(texts, together, strict=True):
        (alone,) = model.predict([text])
        assert alone.tokens == answer.tokens
        assert alone.log_probs == pytest.approx(answer.log_probs, abs=1e-5)
        assert alone.score == pytest.approx(answer.score, abs=1e-4)


def test_letters_are_kept_beside_the_words(words: str) -> None:
    model = regard.load(words)
    train = encode_split(model.recipe, "train", model.task.encoders, Path(words).parent / ".cache")
    assert train is not None
    kinds = {name: type(kind).__name__ for name, kind in train.corpus.kinds.items()}
    assert kinds == {"text": "TokensField", "letters": "SpellingField", "tags": "TagsField"}
    found = examples(model.recipe, "train")
    assert found is not None
    assert next(iter(found)).fields["letters"] == next(iter(found)).fields["text"]
    assert (Path(words) / "tokenizer.letters.json").exists()


def test_a_run_goes_on_and_begins_another(words: str, tmp_path: Path) -> None:
    folder = Path(words).parent
    arguments = [str(folder / "words.yaml"), f"data.root={folder}", "train.steps=61"]
    done = RUN.invoke(app, ["train", *arguments, "--runs", str(tmp_path), "run=next", f"init={words}"])
    assert done.exit_code == 0, done.output
    said = refused("train", *arguments, "--runs", str(tmp_path), "run=plain", f"init={words}",
                   "model.encoder.characters=null")  # fmt: skip
    assert "characters" in said


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("model.encoder.characters=gru", "model.encoder.characters"),
        ("model.encoder.characters={kind: lstm, hidden_dim: 7}", "7"),
        ("model.crf=false", "tag_scheme"),
        ("model.tag_scheme=iob", "model.tag_scheme"),
        ("model.encoder={kind: transformer, characters: lstm}", "characters"),
    ],
)
def test_recipes_that_do_not_fit_are_one_sentence(override: str, said: str, tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "mine.yaml").write_text(RECIPE.format(name="mine", tokenizer="{kind: words}", characters="cnn"))
    arguments = [str(tmp_path / "mine.yaml"), "--runs", str(tmp_path / "runs"), f"data.root={tmp_path}"]
    assert said in refused("train", *arguments, override)
    assert not (tmp_path / "runs").exists()


def test_tags_of_no_scheme_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "tags.txt").write_text("He PRP\nsees VBZ\n\nIt PRP\n")
    (tmp_path / "mine.yaml").write_text(RECIPE.format(name="mine", tokenizer="{kind: words}", characters="cnn"))
    said = refused("train", str(tmp_path / "mine.yaml"), "--runs", str(tmp_path), f"data.root={tmp_path}",
                   "data.split=null", "data.valid=tags.txt", "data.test=null")  # fmt: skip
    assert "'PRP'" in said
    assert "bio" in said


def test_letters_are_of_taggers(tmp_path: Path) -> None:
    model = "{kind: acceptor, encoder: {characters: cnn}}"
    (tmp_path / "mine.yaml").write_text(
        f"task: classify\ndata: {{format: opinions}}\nmodel: {model}\ntrain: {{steps: 1}}\n"
    )
    assert "characters" in refused("train", str(tmp_path / "mine.yaml"), "--runs", str(tmp_path))

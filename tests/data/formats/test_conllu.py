"""CoNLL-U: words apart from comments, multiword tokens and empty nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.cli import app
from regard.data import Conllu, DataError
from tests.cli.command import RUN, asked

# In the manner of Universal Dependencies: contractions, an elided verb, a comment between, a number with a space.
SENTENCES = """\
# sent_id = 1
# text = Vámonos al mar
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tVamos\tir\tVERB\tvm\tMood=Imp|Number=Plur\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\tpp\tCase=Acc\t1\tobj\t_\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\tsp\t_\t5\tcase\t_\t_
4\tel\tel\tDET\tda\tDefinite=Def\t5\tdet\t_\t_
5\tmar\tmar\tNOUN\tnc\tNumber=Sing\t1\tobl\t_\tSpaceAfter=No

# sent_id = 2
# text = Sue likes 20 000 cups
1\tSue\tSue\tPROPN\tNNP\t_\t2\tnsubj\t_\t_
2\tlikes\tlike\tVERB\tVBZ\t_\t0\troot\t_\t_
# a comment inside
3\t20 000\t20000\tNUM\tCD\t_\t4\tnummod\t_\t_
3.1\tlikes\tlike\tVERB\tVBZ\t_\t_\t_\t2:conj\t_
4\tcups\tcup\tNOUN\tNNS\t_\t2\tobj\t_\t_


# nothing but a comment
"""


def put(folder: Path, text: str = SENTENCES) -> Path:
    path = folder / "train.conllu"
    path.write_text(text, encoding="utf-8")
    return path


def test_words_and_tags_without_tokens_and_empty_nodes(tmp_path: Path) -> None:
    reader = Conllu(put(tmp_path))
    assert [example.fields for example in reader] == [
        {"text": ["Vamos", "nos", "a", "el", "mar"], "tags": ["VERB", "PRON", "ADP", "DET", "NOUN"]},
        {"text": ["Sue", "likes", "20_000", "cups"], "tags": ["PROPN", "VERB", "NUM", "NOUN"]},
    ]
    assert [example.where for example in reader] == [f"{reader.path}:1", f"{reader.path}:11"]


@pytest.mark.parametrize(
    ("column", "first"),
    [("lemma", "ir"), ("xpos", "vm"), ("feats", "Mood=Imp|Number=Plur"), ("deprel", "root"), ("form", "Vamos")],
)
def test_columns_by_name(tmp_path: Path, column: str, first: str) -> None:
    example = next(iter(Conllu(put(tmp_path), {"text": "form", "tags": column})))
    assert example.fields["tags"][0] == first


def test_a_column_that_there_is_none_of(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no column 'pos' of CoNLL-U; there are form, lemma, upos"):
        Conllu(put(tmp_path), {"text": "form", "tags": "pos"})


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("1 Sue Sue PROPN", ":2: the line has 1 columns with tabs between; CoNLL-U has 10"),
        ("x\tSue" + "\t_" * 8, ":2: the id 'x' is none"),
        ("0\tSue" + "\t_" * 8, ":2: the id '0' is none"),
        ("2\tSue" + "\t_" * 8, ":2: the id is 2, and the next word of the sentence is 1"),
        ("1\t" + "\t_" * 8, ":2: the column form is empty"),
        ("1\t \t_" + "\t_" * 7, ":2: the column form is empty"),
    ],
)
def test_a_bad_line_is_named_and_takes_its_sentence_along(tmp_path: Path, line: str, problem: str) -> None:
    good = "1\tgem" + "\t_" * 8
    path = put(tmp_path, f"# text\n{line}\n{line}\n\n{good}\n")
    with pytest.raises(DataError) as caught:
        list(Conllu(path))
    assert f"{path}{problem}" in str(caught.value)
    skipping = Conllu(path, bad_lines="skip")
    assert [example.fields["text"] for example in skipping] == [["gem"]]
    assert skipping.skipped.count == 1


def test_a_recipe_trains_on_it_and_answers(tmp_path: Path) -> None:
    put(tmp_path, (SENTENCES.rpartition("# nothing")[0]) * 4)
    recipe = tmp_path / "tags.yaml"
    recipe.write_text(
        f"""
run: tags
task: tag
data: {{format: conllu, root: {tmp_path}, train: train.conllu, valid: train.conllu}}
tokenizer: {{kind: words}}
model: {{kind: transducer, encoder: {{embedding_dim: 8, hidden_dim: 8}}}}
train: {{steps: 2, batch: {{sentences: 4}}, optimizer: {{rate: 0.01}}, valid_every: 2}}
"""
    )
    asked("train", recipe, "--runs", tmp_path)
    answers = asked("predict", tmp_path / "tags", "--file", tmp_path / "train.conllu", "--format", "conllu")
    assert [len(line.split()) for line in answers.splitlines()] == [5, 4] * 4
    done = RUN.invoke(app, ["train", str(recipe), "data.target=pos", "--dry-run"])
    assert done.exit_code == 2
    assert "data.target is 'pos'" in done.output
    assert "upos" in done.output

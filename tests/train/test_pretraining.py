"""Pretrained, then fine-tuned: what a run of hidden words gives to one of labels or tags."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch

from regard.data import DataError
from regard.predictor import load
from regard.recipes.errors import RecipeError
from regard.recipes.load import check
from regard.recipes.sections import Recipe
from regard.recipes.yaml_document import RecipeDocument
from regard.runs.folder import RunError
from regard.runs.run import Run
from regard.systems.classification.opinions import Opinions
from regard.train.dry_run import plan
from regard.train.screen import Screen
from regard.train.trainer import Outcome, Trainer

ENCODER = "{dim: 16, num_heads: 2, num_layers: 1, max_length: 24, dropout: 0.0}"
PRETRAIN = f"""\
run: pretrained
task: masked_language_model
data: {{format: opinions, train_size: 300, valid_size: 40, test_size: 20, words: 5}}
tokenizer: {{kind: words}}
model: {{kind: bert, encoder: {ENCODER}}}
train: {{steps: 60, batch: {{sentences: 32}}, optimizer: {{rate: 0.01}}, valid_every: 20, checkpoint_every: 20}}
"""
CLASSIFY = f"""\
run: labelled
task: classify
data: {{format: opinions, train_size: 20, valid_size: 20, test_size: 20, words: 5}}
tokenizer: {{kind: words}}
model: {{kind: acceptor, pooling: mean, encoder: {{kind: bert, {ENCODER[1:]}}}
train: {{steps: 2, batch: {{sentences: 10}}, optimizer: {{rate: 1.0e-9}}, valid_every: 2}}
"""
TAG = f"""\
run: tagged
task: tag
data: {{format: jsonl, train: tags.jsonl, valid: tags.jsonl, source: words, target: tags}}
model: {{kind: transducer, encoder: {{kind: bert, {ENCODER[1:]}}}
train: {{steps: 2, batch: {{sentences: 2}}, valid_every: 2}}
"""


class Listening(Screen):
    """Keeps what it was told."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.said: list[str] = []

    def notice(self, sentence: str) -> None:
        self.said.append(sentence)


def recipe(text: str, *overrides: str) -> Recipe:
    return check(RecipeDocument.parse(text, "recipe.yaml").overridden(list(overrides))).recipe


def train(text: str, folder: Path, *overrides: str, screen: Screen | None = None) -> Outcome:
    return Trainer(recipe(text, *overrides), Run(folder), screen=screen or Screen(quiet=True)).fit()


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base") / "pretrained"
    train(PRETRAIN, folder)
    return folder


def rows(folder: Path, split: str) -> list[dict[str, float]]:
    found = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    return [row for row in found if row["split"] == split]


def test_hidden_words_are_learned_and_measured_with_the_same_masks(base: Path, tmp_path: Path) -> None:
    losses = [row["loss"] for row in rows(base, "valid")]
    assert losses[-1] < losses[0] - 0.1
    assert rows(base, "valid")[-1]["perplexity"] == pytest.approx(torch.tensor(losses[-1]).exp().item(), rel=1e-4)
    train(PRETRAIN, tmp_path, "train.seed=9", "train.steps=1", f"init={base}", "train.optimizer.rate=1.0e-12")
    assert rows(tmp_path, "valid")[0]["loss"] == pytest.approx(min(losses), rel=1e-4)


def test_a_run_that_was_stopped_is_the_run_that_was_not(base: Path, tmp_path: Path) -> None:
    train(PRETRAIN, tmp_path, "train.steps=40")
    train(PRETRAIN, tmp_path)
    assert (tmp_path / "metrics.jsonl").read_text().splitlines()[-1] == (
        (base / "metrics.jsonl").read_text().splitlines()[-1]
    )


def test_labels_begin_with_the_encoder_and_the_tokenizer(base: Path, tmp_path: Path) -> None:
    screen = Listening()
    train(CLASSIFY, tmp_path, f"init={base}", screen=screen)
    assert any("2 parameters it does not have begin anew: output_map.weight" in said for said in screen.said)
    before, after = Run(base), Run(tmp_path)
    assert after.needed_encoders()["text"] == before.needed_encoders()["text"]
    learned, begun = before.tensors(), after.tensors()
    shared = [name for name in begun if name.startswith("encoder.")]
    assert len(shared) > 15
    for name in shared:
        assert torch.allclose(learned[name], begun[name], atol=1e-6), name
    assert load(tmp_path).predict("the film was fala")[0].text in ("good", "bad")


def test_tags_leave_the_pooler_behind(tmp_path: Path) -> None:
    pooled = ("model.encoder.pooled=true", "model.next_sentence=true")
    window = ("train.batch.window=12", "train.steps=2", "train.valid_every=2")
    train(PRETRAIN, tmp_path / "first", *pooled, *window)
    row = json.dumps({"words": ["the", "film", "was"], "tags": ["D", "N", "V"]}) + "\n"
    (tmp_path / "tags.jsonl").write_text(row * 4)
    screen = Listening()
    train(TAG, tmp_path / "tags", f"init={tmp_path / 'first'}", f"data.root={tmp_path}", screen=screen)
    assert any("2 parameters it does not have begin anew: output_map" in said for said in screen.said)
    labelled = ("model.pooling=last", "model.encoder.pooled=true")
    train(CLASSIFY, tmp_path / "labels", f"init={tmp_path / 'first'}", *labelled)
    assert torch.allclose(
        Run(tmp_path / "first").tensors()["encoder.pool_map.weight"],
        Run(tmp_path / "labels").tensors()["encoder.pool_map.weight"],
        atol=1e-6,
    )


def test_next_sentences_learn_from_windows(tmp_path: Path) -> None:
    both = ("model.encoder.pooled=true", "model.next_sentence=true", "train.batch.window=16", "train.steps=5")
    outcome = train(PRETRAIN, tmp_path, *both, "train.valid_every=5")
    assert outcome.valid is not None
    assert Run(tmp_path).tensors()["next_map.weight"].abs().sum() > 0


def test_a_dry_run_knows_the_tokenizer_and_the_memory(base: Path) -> None:
    parts = 5 if torch.cuda.is_available() else 4  # what of a GPU is free
    assert len(list(plan(recipe(CLASSIFY, f"init={base}")))) == parts
    assert len(list(plan(recipe(PRETRAIN)))) == parts


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (("model.encoder.dim=32",), r"is \[.*\], and \[.*\] is needed; give the model the widths of that run"),
        (("model.encoder={kind: rnn}",), "has an encoder 'bert', and model.encoder.kind is 'rnn'; set it to bert"),
        (("model.encoder.num_heads=4",), r"model.encoder.num_heads is 4, and .* was trained with 2; give the model"),
        (("model.encoder.epsilon=1e-5",), r"model.encoder.epsilon is 1e-05, and .* was trained with 1e-12"),
        (("model.encoder.activation=relu",), r"model.encoder.activation is 'relu', and .* was trained with 'gelu'"),
        (("model.encoder.score=cosine",), r"model.encoder.score is .*'cosine'.*, and .* was trained with None"),
    ],
)
def test_a_run_that_does_not_fit_is_one_sentence(
    base: Path, overrides: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(RunError, match=sentence):
        train(CLASSIFY, tmp_path, f"init={base}", *overrides)


def test_a_deeper_model_begins_the_layers_that_are_missing_anew(base: Path, tmp_path: Path) -> None:
    screen, deeper = Listening(), ("model.encoder.num_layers=3", "model.encoder.dropout=0.2")
    train(CLASSIFY, tmp_path, f"init={base}", *deeper, screen=screen)
    anew = r"\d\d parameters it does not have begin anew: encoder.layers.1, encoder.layers.2, output_map.weight, output"
    assert any(re.search(anew, said) for said in screen.said), screen.said


def test_labels_that_the_first_run_does_not_have_are_said_to_be_its(base: Path, tmp_path: Path) -> None:
    table = f"data={{format: table, root: {tmp_path}, train: a.tsv, valid: a.tsv}}"
    (tmp_path / "a.tsv").write_text("the film was fala\tgood\nthe film was duma\tbad\n")
    train(CLASSIFY, tmp_path / "first", f"init={base}", table)
    (tmp_path / "a.tsv").write_text("the film was fala\tfine\n")
    with pytest.raises(DataError, match=r"a.tsv:1: .*first does not know the label 'fine'; there are bad, good"):
        train(CLASSIFY, tmp_path / "second", f"init={tmp_path / 'first'}", table)


@pytest.mark.parametrize(
    ("text", "overrides", "sentence"),
    [
        (PRETRAIN, ("train.masking.share=0",), "train.masking.share is 0"),
        (PRETRAIN, ("train.masking={masked: 0.9, random: 0.2}",), "shares of 1, and together more"),
        (PRETRAIN, ("train.masking.whole_words=true", "tokenizer.kind=characters"), "does not know words"),
        (PRETRAIN, ("model.next_sentence=true", "model.encoder.pooled=true"), "next_sentence of the model learns from"),
        (PRETRAIN, ("model.next_sentence=true", "train.batch.window=9"), "set pooled of the encoder to true"),
        (
            PRETRAIN,
            (
                "model={kind: bert, next_sentence: true, encoder: {pooled: true}}",
                "train.batch={sentences: 1, window: 9}",
            ),
            "'sentences' is 1, and next_sentence of the model also learns from .*; set it to 2 or more",
        ),
        (PRETRAIN, ("model.kind=acceptor",), "is 'acceptor': of the task masked_language_model it can be bert"),
        (PRETRAIN, ("decode.beam_size=3",), "decode: a search is for the task"),
        (PRETRAIN, ("evaluate.metrics=[bleu]",), "metrics compare answers with references"),
        (PRETRAIN, ("model.encoder.norm=pre",), "model.encoder.norm is 'pre': it can be post"),
        (PRETRAIN, ("model.encoder.heads=3",), "no key 'model.encoder.heads'; did you mean num_heads"),
        (CLASSIFY, ("train.masking.share=0.3",), "masking is for the task 'masked_language_model'"),
        (CLASSIFY, ("train.batch.window=9",), "window is for the task 'language_model' or 'masked"),
        (CLASSIFY, ("model.kind=bert",), "model.kind is 'bert': of the task classify it can be acceptor"),
    ],
)
def test_a_wrong_recipe_is_one_sentence(text: str, overrides: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(RecipeError, match=sentence):
        recipe(text, *overrides)


def test_texts_longer_than_the_places_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"model.encoder.max_length is 9, too short for the longest text of the"):
        train(PRETRAIN, tmp_path, "model.encoder.max_length=9")
    with pytest.raises(RecipeError, match=r"too short for train.batch.window, 23 tokens; raise it to 25 or more"):
        train(PRETRAIN, tmp_path, "train.batch.window=23")


@pytest.mark.parametrize("kind", ["characters", "bpe", "wordpiece"])
def test_samples_have_no_more_tokens_than_there_is_room_for(kind: str, tmp_path: Path) -> None:
    few = ("train.steps=1", "train.valid_every=1", f"tokenizer={{kind: {kind}, size: 300}}")
    outcome = train(PRETRAIN, tmp_path, *few, "model.encoder.max_length=12", "train.batch.window=10")
    assert outcome.valid is not None
    assert outcome.valid.predictions
    assert all(len(one.source_tokens) <= 12 for one in outcome.valid.predictions)


def plain(folder: Path, valid: str) -> tuple[str, ...]:
    (folder / "text.txt").write_text("the cat sleeps\na dog eats\n" * 9 + "rare words\n")
    (folder / "valid.txt").write_text(valid)
    data = f"data={{format: text, root: {folder}, train: text.txt, valid: valid.txt}}"
    return data, "tokenizer.min_frequency=2", "train.steps=30", "train.batch.sentences=1", "train.log_every=1"


def test_text_of_unknown_words_alone_is_said_before_training(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"valid.txt: every token is unknown to the tokenizer, and none is left to be"):
        train(PRETRAIN, tmp_path / "run", *plain(tmp_path, "une phrase\n"))
    assert not (tmp_path / "run").exists()


def test_a_batch_without_known_words_teaches_nothing(tmp_path: Path) -> None:
    train(PRETRAIN, tmp_path / "run", *plain(tmp_path, "the cat eats\n"))
    assert [row["loss"] for row in rows(tmp_path / "run", "train")].count(0.0) >= 1


def test_a_vocabulary_that_does_not_fit_is_noted(base: Path, tmp_path: Path) -> None:
    screen = Listening()
    (tmp_path / "a.tsv").write_text("une phrase was\tgood\ndeux mots\tbad\n")
    table = f"data={{format: table, root: {tmp_path}, train: a.tsv, valid: a.tsv}}"
    train(CLASSIFY, tmp_path / "run", f"init={base}", table, screen=screen)
    noted = [said for said in screen.said if "unknown" in said]
    assert noted[0] == (
        f"80% of the tokens of train (text) are unknown to the tokenizer of {base}; "
        "begin with a run that has read such texts, or leave init out"
    )
    assert len(noted) == 2  # of valid too


def test_so_is_a_vocabulary_that_lacks_most_words_of_its_own_text(tmp_path: Path) -> None:
    screen = Listening()
    (tmp_path / "a.tsv").write_text("a b c\tgood\na d e\tbad\n")
    table = f"data={{format: table, root: {tmp_path}, train: a.tsv, valid: a.tsv}}"
    train(CLASSIFY, tmp_path / "run", table, "tokenizer.min_frequency=2", screen=screen)
    noted = [said for said in screen.said if "unknown" in said]
    assert "67% of the tokens of train (text) are unknown to the tokenizer; lower tokenizer.min_frequency" in noted[0]
    assert "tokens of valid (text) are unknown to the tokenizer; check that these texts are like" in noted[1]


RNN = "{kind: rnn, embedding_dim: 6, hidden_dim: 12, cells: lstm}"
OPINIONS = "{format: opinions, train_size: 60, valid_size: 20, test_size: 20, words: 5}"
FILL = f"""\
run: filled
task: masked_language_model
data: {OPINIONS}
tokenizer: {{kind: words}}
model: {{kind: masked_lm, encoder: {RNN}}}
train: {{steps: 2, batch: {{sentences: 20}}, valid_every: 2, checkpoint_every: 2}}
"""
LANGUAGE = f"""\
run: language
task: language_model
data: {OPINIONS.replace("opinions", "tales").replace(", words: 5", "")}
tokenizer: {{kind: words}}
model: {{kind: language_model, embedding_dim: 6, hidden_dim: 6, cells: lstm}}
train: {{steps: 2, batch: {{sentences: 20}}, valid_every: 2}}
"""
LABEL = CLASSIFY.replace(f"{{kind: bert, {ENCODER[1:]}", RNN)
assert RNN in LABEL


@pytest.mark.parametrize(
    "encoder",
    [
        RNN,
        "{kind: lstmn, embedding_dim: 6, hidden_dim: 12}",
        "{kind: conv, hidden_dim: 12, num_layers: 1}",
        "{kind: transformer, dim: 12, num_heads: 2, num_layers: 1}",
    ],
)
def test_any_encoder_fills_in_words_and_starts_labels(encoder: str, tmp_path: Path) -> None:
    train(FILL, tmp_path / "first", f"model.encoder={encoder}")
    assert load(tmp_path / "first").predict("the <mask> was fala")[0].text.startswith("the ")
    screen = Listening()
    train(LABEL, tmp_path / "labels", f"model.encoder={encoder}", f"init={tmp_path / 'first'}", screen=screen)
    learned, begun = (Run(tmp_path / name).tensors() for name in ("first", "labels"))
    for name in begun:
        assert not name.startswith("encoder.") or torch.allclose(learned[name], begun[name], atol=1e-6), name
    assert any("(encoder.words, " in said and "begin anew: output_map" in said for said in screen.said)


def test_middle_words_are_all_words_and_none_is_hidden(tmp_path: Path) -> None:
    outcome = train(FILL, tmp_path / "middle", "model.kind=middle_word")
    words = sum(len(example.fields["text"].split()) for example in Opinions("test", size=20, words=5))
    assert outcome.test is not None
    (score,) = outcome.test.scores.values()
    assert words * 0.8 < score.count <= words + 20  # but unknown ones
    train(LABEL, tmp_path / "labels", f"init={tmp_path / 'middle'}")
    with pytest.raises(RecipeError, match="middle_word predicts all words and hides none"):
        recipe(FILL, "model.kind=middle_word", "train.masking.share=0.3")
    for given, said in (("cells={kind: lstm, num_layers: 2}", "set it to 1"), ("bidirectional=false", "both sides")):
        with pytest.raises(RecipeError, match=said):
            recipe(FILL, "model.kind=middle_word", f"model.encoder.{given}")


def test_a_language_model_starts_labels_as_far_as_shapes_agree(tmp_path: Path) -> None:
    train(LANGUAGE, tmp_path / "first")
    screen = Listening()
    train(LABEL, tmp_path / "both", f"init={tmp_path / 'first'}", screen=screen)
    first, both = (Run(tmp_path / name).tensors() for name in ("first", "both"))
    taken = [name for name in first if not name.startswith("output_map.")]
    assert len(taken) == 5
    for name in taken:
        assert torch.allclose(first[name], both[f"encoder.{name}"], atol=1e-6), name
    assert any("5 parameters are taken (encoder.words, encoder.layers)" in said for said in screen.said)
    assert any("6 parameters it does not have begin anew" in said for said in screen.said)  # one direction, and a head
    train(
        LABEL,
        tmp_path / "forward",
        f"init={tmp_path / 'first'}",
        "model.encoder.hidden_dim=6",
        "model.encoder.bidirectional=false",
    )
    layers = ("model.cells={kind: lstm, num_layers: 2}", "run=deep")
    train(LANGUAGE, tmp_path / "deep", *layers)
    screen = Listening()
    train(LABEL, tmp_path / "shallow", f"init={tmp_path / 'deep'}", screen=screen)
    assert any(
        "4 of its parameters have another shape or no place here: layers.layers.bias_hh_l1" in said
        for said in screen.said
    )


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (("model.encoder={kind: lstmn}",), "has an encoder 'rnn', and model.encoder.kind is 'lstmn'; set it to rnn"),
        (("model.encoder.embedding_dim=5",), "words.table.weight is .* is needed; give the model the widths"),
        (("model.encoder.reverse=true",), "model.reverse is True"),
    ],
)
def test_a_language_model_that_does_not_fit_is_one_sentence(
    overrides: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    train(LANGUAGE, tmp_path / "first")
    with pytest.raises(RunError, match=said):
        train(LABEL, tmp_path / "labels", f"init={tmp_path / 'first'}", *overrides)

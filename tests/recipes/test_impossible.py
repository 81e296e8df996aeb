"""A recipe that no model can be built from is refused without PyTorch; short forms mean their mappings."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from regard.models import EncoderDecoder, build
from regard.recipes.errors import RecipeError
from regard.recipes.load import check, load
from regard.recipes.yaml_document import RecipeDocument

# (a recipe, an assignment, a part of the sentence)
IMPOSSIBLE = [
    ("dates", "model={kind: transformer, dim: 100, num_heads: 3}", "width 100 cannot be split among 3 heads"),
    ("dates", "model={kind: transformer, dim: 6, num_heads: 2, positions: rotary}", "has an odd number, 3"),
    ("dates", "model={kind: transformer, positions: rotary, score: additive}", "need a score of inner products"),
    ("dates", "model={kind: transformer, positions: cosine}", "did you mean sinusoidal?|it can be sinusoidal"),
    ("dates", "model={kind: transformer, num_layers: 0}", "model.num_layers is 0"),
    ("dates", "model={kind: transformer, tied: yes}", "model.tied is True"),
    ("dates", "model={kind: luong, bidirectional: true, hidden_dim: 7}", "hidden_dim is 7, which is odd"),
    ("dates", "model={kind: luong, tied: true, hidden_dim: 8, embedding_dim: 6}", "got 8 and an embedding_dim of 6"),
    ("dates", "model={kind: luong, attention: {score: dot, key_value: true}}", "got 512 and 256"),
    ("dates", "model={kind: luong, attention: {align: {name: local_p, window: 0}}}", "attention.align.window is 0"),
    ("dates", "model={kind: luong, attention: {align: local}}", "model.attention.align is 'local'"),
    ("dates", "model={kind: luong, attention: {terms: [markov], score: dot}}", "'dot' has no place for them"),
    ("dates", "model={kind: luong, attention: {score: {name: concat, identity_key: true, hidden_dim: 3}}}", "got 3"),
    ("dates", "model.attention=dot", "queries and keys of one width; got 96 and 192"),
    ("dates", "model.attention=aditive", "model.attention is 'aditive': did you mean additive?"),
    ("dates", "model.attention={terms: [{name: markov, rech: 2}]}", "no key 'model.attention.terms.0.rech'"),
    ("dates", "model.atention=dot", "there is no key 'model.atention'; did you mean attention?"),
    ("dates", "model.cells={kind: gru, num_layers: 0}", "model.cells.num_layers is 0"),
    ("dates", "model.cells=gur", "model.cells is 'gur': did you mean gru?"),
    ("dates", "model.dropout=1", "model.dropout is 1"),
    ("dates", "model.fertility=-1", "model.fertility is -1"),
    ("dates", "model.fertility_weight=0.1", "is of the loss of 'fertility', which is null"),
    ("dates", "model={kind: seq2seq, context: stat}", "did you mean state?"),
    ("dates", "model={kind: lstmn, tied: true, fusion: shallow}", "got 512 and an embedding_dim of 256"),
    ("dates", "model={kind: bidirectional, model: {kind: acceptor}}", "model.model.kind is 'acceptor'"),
    ("dates", "model={kind: bidirectional, model: {attention: {align: hard}}}", "is not for 'bidirectional'"),
    ("dates", "model={kind: simple_attention, attention: {align: hard}}", "is not for 'simple_attention'"),
    ("dates", "model={kind: bidirectional, model: {kind: seq2seq}}", "model.model.kind is 'seq2seq'"),
    ("dates", "model={kind: transformer, positions: rotary, score: {name: dot, hidden_dim: 5}}", "odd number, 5"),
    ("dates", "model={kind: transformer, score: {name: concat, identity_key: true, hidden_dim: 5}}", "got 5"),
    ("dates", "model={kind: luong, hidden_dim: 1, attention: {key_value: true}}", "hidden_dim is at least 2"),
    (
        "dates",
        "model={kind: luong, attention: {num_heads: 4, align: {name: local_p, num_heads: 3}}}",
        "is 1 or that of",
    ),
    (
        "dates",
        "model={kind: transformer, positions: learned, max_length: 3}",
        "'max_length' is 3, too short for decode",
    ),
    ("dates", "model={kind: luong, attention: {score: {nme: dot}}}", "model.attention.score.name is None: it can be"),
    ("dates", "model.hidden_dim=true", "model.hidden_dim is True: it should be a whole number"),
    ("dates", "model.dropout='0.1'", "model.dropout is '0.1': it should be a number"),
    ("dates", "model.tied=1", "model.tied is 1: it should be true or false"),
    ("dates", "model.hidden_dim=99999999999999999998", "model.hidden_dim is 99999999999999999998"),
    ("dates", "model=luong", "model is 'luong': it should be a mapping of kind and its arguments"),
    ("dates", "tokenizer={kind: bpe, size: 50}", "bpe has all bytes and the special tokens, 260 and more"),
    ("dates", "tokenizer={kind: unigram, min_frequency: 3}", "'min_frequency' is not for unigram"),
    ("dates", "tokenizer={kind: words, joint: true, target: {kind: words}}", "set one of them"),
    ("dates", "data.languages=[klingon]", "there are no dates in 'klingon'"),
    ("dates", "init=nosuch", "init: nosuch is not a run"),
    ("tales", "data={format: text, train: x, valid: x, encoding: latin-99}", "there is no such encoding"),
    ("dates", "data={format: table, train: x, valid: x, source: text}", "column 'text' is named, so set header"),
    ("opinions", "data={format: folder, train: nosuch}", "data.train: there is no folder nosuch"),
    ("opinions", "data={format: labelled, train: x, valid: x, separator: ''}", "data.separator is ''"),
    ("dates", "evaluate.metrics=[{chrf: {word_order: two}}]", "'chrf' does not take {'word_order': 'two'}"),
    ("dates", "model={kind: acceptor}", "of the task translate it can be bahdanau, lstmn"),
    ("ntm_copy", "model={kind: ntm, rows: 2}", "at most its 2 rows; got 3"),
    ("ntm_copy", "model={kind: ntm, shifts: 2}", "shifts must be odd"),
    ("ntm_copy", "data.shortest=30", "'shortest' is 30 and 'longest' is 8"),
    ("graph_communities", "model.num_heads=0", "model.num_heads is 0"),
    ("graph_communities", "data.nodes=10", "nodes is 10"),
    ("opinions", "model.encoder={hidden_dim: 7}", "hidden_dim is 7, which is odd"),
    ("opinions", "model.encoder={kind: cnn}", "model.encoder.kind is 'cnn'"),
    ("opinions", "model.encoder={kind: transformer, dim: 7}", "width 7 cannot be split among 8 heads"),
    ("bert_opinions", "model.encoder={kind: bert, norm: pre}", "model.encoder.norm is 'pre'"),
    ("glossary", "model={kind: memory_transformer, reads: memory, num_layers: 1}", "num_layers is 1"),
    ("tales", "model={kind: char_rnn, attention: {align: hard}}", "there is no key 'model.attention.align'"),
]
TRY = """
import json, sys
from regard.recipes.load import load
from regard.recipes.errors import RecipeError
for name, override in json.load(sys.stdin):
    try:
        load(name, [override])
    except RecipeError as problem:
        print(problem)
    else:
        print("not refused")
    assert "torch" not in sys.modules, override
"""


def test_what_cannot_be_is_refused_without_pytorch() -> None:
    given = json.dumps([(name, override) for name, override, _ in IMPOSSIBLE])
    said = subprocess.run([sys.executable, "-c", TRY], input=given, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    for (_, override, part), sentence in zip(IMPOSSIBLE, said.stdout.splitlines(), strict=True):
        assert sentence.startswith("the command line: "), (override, sentence)
        assert any(one in sentence for one in part.split("|")), (override, sentence)


def test_a_name_alone_is_a_mapping() -> None:
    recipe = load(
        "dates", ["model.attention={terms: [markov, {name: fertility, reach: 2}]}", "model.cells=lstm"]
    ).recipe
    assert recipe.model.arguments()["attention"]["terms"] == ({"name": "markov"}, {"name": "fertility", "reach": 2})
    assert recipe.model.arguments()["cells"] == {"kind": "lstm"}


@pytest.mark.parametrize(("kind", "own"), [("luong", "lstm"), ("bahdanau", "gru"), ("simple_attention", "elman")])
def test_cells_without_a_kind_are_those_of_the_model(kind: str, own: str) -> None:
    said = load("dates", [f"model={{kind: {kind}}}", "model.cells.num_layers=2"]).recipe.model.arguments()
    assert said["cells"] == {"kind": own, "num_layers": 2}
    model = build(kind, 5, 7, hidden_dim=4, cells={"num_layers": 2})
    assert isinstance(model, EncoderDecoder)
    assert (model.layers.cells.kind, model.layers.cells.num_layers) == (own, 2)


def test_embeddings_of_two_vocabularies_are_not_one() -> None:
    model = "model={kind: transformer, tied: all}"
    with pytest.raises(RecipeError, match="tied 'all' is of one vocabulary"):
        load("dates", [model])
    load("dates", [model, "tokenizer={kind: words, joint: true}"])


def test_stories_are_read_in_words() -> None:
    text = "task: answer\ndata: {format: world}\nmodel: {kind: memory_network}\ntrain: {steps: 3}\n"
    assert check(RecipeDocument.parse(text, "mine.yaml")).recipe.tokenizer.kind == "words"

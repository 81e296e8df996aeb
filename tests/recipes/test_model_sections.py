"""What a recipe may say of a model is what its constructor takes, and what cannot be is refused without PyTorch."""

from __future__ import annotations

import dataclasses
import inspect
import json
import subprocess
import sys
import typing
from typing import Any

import pytest
import torch
from pydantic import BaseModel

from regard.models import EncoderDecoder, attending, build
from regard.models.build import DEFAULTS, ENCODERS, KINDS
from regard.models.characters import Characters
from regard.nn import Blocks, Cells
from regard.recipes import attention_section, encoder_sections
from regard.recipes.errors import RecipeError
from regard.recipes.library import shipped
from regard.recipes.load import check, load
from regard.recipes.system import systems
from regard.recipes.yaml_document import Document


def options(union: Any) -> dict[str, type[BaseModel]]:
    """The sections of a union by the names that tell them apart."""
    found: dict[str, type[BaseModel]] = {}
    for section in typing.get_args(typing.get_args(union)[0]) or ():
        tag = "kind" if "kind" in section.model_fields else "name"
        found |= dict.fromkeys(typing.get_args(section.model_fields[tag].annotation), section)
    return found


MODEL_SECTIONS = {kind: one for system in systems().values() for kind, one in system.kinds.items()}
PLACES = {section: place for system in systems().values() for section, place in system.models.items()}
ENCODER_SECTIONS = options(encoder_sections.Encoder)
PARTS = {
    "score": (attention_section.Score, attending.SCORES),
    "aligner": (attention_section.Align, attending.ALIGNERS),
    "term": (attention_section.Term, attending.TERMS),
}
GIVEN = {"self", "query_dim", "key_dim", "num_heads", "terms", "args", "kwargs"}  # by the attention, to its parts

KNOWN_TO_THE_DATA = {"tag_names"}


def plain(value: Any) -> Any:
    """A default as a constructor writes it: a section by what it says."""
    if not isinstance(value, BaseModel):
        return value
    said = value.model_dump(exclude_unset=True)
    return next(iter(said.values())) if len(said) == 1 else said


def keys(section: type[BaseModel]) -> dict[str, Any]:
    """Key -> default."""
    tagged = {name: plain(field.default) for name, field in section.model_fields.items()}
    return {name: value for name, value in tagged.items() if name not in ("kind", "name")}


def arguments(made: type, sizes: int, **ours: Any) -> dict[str, Any]:
    """Argument -> default, those of blocks beside the others, as `build` takes them."""
    parameters = dict(list(inspect.signature(made.__init__).parameters.items())[1 + sizes :])
    blocks = parameters.pop("blocks", None)
    found = {name: parameter.default for name, parameter in parameters.items() if name not in KNOWN_TO_THE_DATA}
    if blocks is not None:
        found |= {field.name: field.default for field in dataclasses.fields(Blocks) if field.name != "rotary"}
    if found.get("scale") == 0.1:
        found["scale"] = None  # a recipe leaves it to the tokenizer: see tests/train/test_scale.py
    return found | ours


def test_every_kind_has_a_section() -> None:
    assert set(MODEL_SECTIONS) == set(KINDS) == {kind for kinds in model_sections.KINDS.values() for kind in kinds}
    assert set(ENCODER_SECTIONS) == set(ENCODERS)


@pytest.mark.parametrize("kind", sorted(MODELS))
def test_a_section_has_the_arguments_of_its_model(kind: str) -> None:
    made, first = MODELS[kind]
    ours = {"encoder": {} if kind == "bert" else "rnn"} if "encoder" in first else {}
    assert keys(MODEL_SECTIONS[kind]) == arguments(made, len(first), **ours)


@pytest.mark.parametrize("kind", ENCODERS)
def test_a_section_has_the_arguments_of_its_encoder(kind: str) -> None:
    assert keys(ENCODER_SECTIONS[kind]) == arguments(ENCODERS[kind], 1, **DEFAULTS.get(kind, {}))


@pytest.mark.parametrize(("what", "name"), [(what, name) for what, (_, table) in PARTS.items() for name in table])
def test_a_section_has_the_arguments_of_its_part(what: str, name: str) -> None:
    union, table = PARTS[what]
    parameters = inspect.signature(table[name].__init__).parameters.items()
    given = GIVEN - {"num_heads"} if what == "aligner" else GIVEN
    known = {key: parameter.default for key, parameter in parameters if key not in given}
    open_keys = {key: None if default is inspect.Parameter.empty else default for key, default in known.items()}
    assert keys(options(union)[name]) == open_keys


@pytest.mark.parametrize(
    ("section", "record"),
    [
        (attention_section.AttentionSection, attending.Attending),
        (encoder_sections.CellsSection, Cells),
        (encoder_sections.CharactersSection, Characters),
    ],
)
def test_a_section_has_the_fields_of_its_record(section: type[BaseModel], record: type[Any]) -> None:
    fields = {name: plain(field.default) for name, field in section.model_fields.items()}
    known = {"size"} if record is Characters else set()  # to the data
    assert fields == {field.name: field.default for field in dataclasses.fields(record) if field.name not in known}


@pytest.mark.parametrize("name", shipped())
def test_what_a_recipe_says_makes_its_model(name: str) -> None:
    recipe = check(Document.read(shipped()[name])).recipe
    sizes = (8,) if recipe.task in ("language_model", "masked_language_model", "spans") else (8, 8)
    with torch.device("meta"):
        model = build(recipe.model.kind, *sizes, **recipe.model.arguments())
    assert type(model) is MODELS[recipe.model.kind].made


# a recipe, what is assigned, a part of the sentence
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
    ("dates", "data={format: text, train: x, valid: x, encoding: latin-99}", "there is no such encoding"),
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
    assert check(Document.parse(text, "mine.yaml")).recipe.tokenizer.kind == "words"

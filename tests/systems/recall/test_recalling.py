"""Looking answers up: the memory of a batch, of a split, of a file; and what was looked at."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from regard.data import Batch, DataError, Tokenizer
from regard.data.batching.batch import padded
from regard.decode.search import Search
from regard.models import build
from regard.systems.recall.glossary import Glossary
from regard.systems.recall.memory_transformer import MemoryTransformer
from regard.systems.recall.task import Recalling
from regard.systems.recall.text_store import TextStore
from tests.mechanism import assert_close

EXAMPLES = list(Glossary(size=12, words=12))
WORDS = Tokenizer.train([str(value) for one in EXAMPLES for value in one.fields.values()], kind="words")
FIELDS = ("fact", "source", "target")


def recalling(memory: Path | None = None) -> Recalling:
    return Recalling(dict.fromkeys(FIELDS, WORDS), memory=memory)


def model(**options: object) -> MemoryTransformer:
    sizes = {"dim": 16, "num_heads": 2, "num_layers": 2, "dropout": 0.0, "tied": "all", "positions": "rotary"}
    made = build("memory_transformer", WORDS.size, WORDS.size, **{"reads": "memory", **sizes, **options})
    assert isinstance(made, MemoryTransformer)
    return made.eval()


def batch(size: int) -> Batch:
    tensors = {}
    for field in FIELDS:
        rows = [WORDS.encode(str(one.fields[field])) for one in EXAMPLES[:size]]
        rows = [[2, *row, 3] for row in rows] if field == "target" else rows
        tensors |= {field: padded(rows, 0), f"{field}_lengths": torch.tensor([len(row) for row in rows])}
    return Batch(tensors, tuple(range(size)), 3 * size).to(torch.get_default_device())


def test_the_memory_of_a_batch_is_its_facts_and_of_a_split_all_of_them() -> None:
    mine = model()
    ready = recalling().bind(mine, EXAMPLES)
    assert ready.stored is not None
    assert ready.stored.texts == tuple(str(one.fields["fact"]) for one in EXAMPLES)
    whole, alone = recalling().loss(mine, batch(12)), ready.loss(mine, batch(12))
    assert_close(whole.total, alone.total, tolerance=1e-4)
    assert whole.tokens == 36
    assert (recalling().loss(mine, batch(3)).nll - ready.loss(mine, batch(3)).nll).abs() > 1e-4
    assert recalling().bind(mine) == recalling()


@pytest.mark.parametrize("reads", ["both", "memory"])
def test_an_answer_says_which_texts_it_looked_at(reads: str) -> None:
    mine = model(reads=reads)
    ready = recalling().bind(mine, EXAMPLES)
    texts = [str(one.fields["source"]) for one in EXAMPLES[:3]]
    answers = ready.predict(mine, texts, Search(strategy="beam", beam_size=3, n_best=2, max_length=4), batch=2)
    for text, ranked in zip(texts, answers, strict=True):
        best = ranked[0]
        assert best.source == text
        assert len(best.source_tokens) == best.alignment.shape[1] == (6 if reads == "both" else 5)
        assert len(best.tokens) == len(best.alignment)
        assert (best.alignment.sum(1) <= 1.0001).all()
    assert (best.source_tokens[0] == "(the question)") == (reads == "both")
    (panel,) = ready.panels(mine, texts[0], Search(strategy="greedy", max_length=4))
    assert panel.values.shape == (len(panel.rows), len(panel.columns))
    few = recalling().bind(mine, EXAMPLES[:2]).predict(mine, texts, Search(strategy="greedy", max_length=4))
    assert len(few[0][0].source_tokens) == (3 if reads == "both" else 2)


def test_texts_and_stored_states_are_the_same_memory(tmp_path: Path) -> None:
    mine, file, states = model(), tmp_path / "facts.txt", tmp_path / "facts.safetensors"
    file.write_text("\n\n".join(str(one.fields["fact"]) for one in EXAMPLES) + "\n", encoding="utf-8")
    recalling().store(mine, file).save(states)
    searched = [
        one.bind(mine).predict(mine, [str(EXAMPLES[0].fields["source"])], Search(strategy="greedy", max_length=4))
        for one in (recalling(file), recalling(states))
    ]
    assert searched[0] == searched[1]
    assert len(recalling(states).bind(mine).stored) == 12


def test_what_is_refused(tmp_path: Path) -> None:
    mine, file = model(), tmp_path / "facts.txt"
    with pytest.raises(ValueError, match="name a file of texts: --decode memory=FILE"):
        recalling().predict(mine, ["taro"], Search())
    file.write_text("\n \n")
    with pytest.raises(DataError, match=r"facts.txt: there is nothing to remember; write a text on each line"):
        recalling(file).bind(mine)
    file.write_text(f"unseen words here\n{EXAMPLES[0].fields['source']} is unseen\n")
    with pytest.raises(DataError, match=r"facts.txt: 5 of 6 words are unknown to this run's tokenizer"):
        recalling(file).bind(mine)
    with pytest.raises(DataError, match=r"none.txt: there is no such file"):
        recalling(tmp_path / "none.txt").bind(mine)
    stored = TextStore(torch.zeros(2, 16), torch.tensor([2]), ("a b",), "another")
    stored.save(tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match="was stored by another model, whose states say nothing to this one"):
        recalling(tmp_path / "other.safetensors").bind(mine)
    with pytest.raises(ValueError, match="answered by one model with its own memory; leave other runs out"):
        recalling().bind(torch.nn.Linear(2, 2))

"""Labels and tags by a BERT: what its layers look at, and texts that it has no places for."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from regard.data import DataError, Labels, Tokenizer
from regard.decode.search import Search
from regard.explain.panel import HeadsPanel
from regard.models import build
from regard.systems.classification.task import Classification
from regard.systems.tagging.task import Tagging
from tests.mechanism import assert_close

WORDS = Tokenizer.train(["a gem far too long"], kind="words", masked=True)
LABELS = Classification({"text": WORDS, "label": Labels(("bad", "good"))})
TAGS = Tagging({"text": WORDS, "tags": Labels(("A", "B"))})
ENCODER = {"kind": "bert", "dim": 8, "num_heads": 2, "num_layers": 3, "max_length": 8}


def acceptor(**options: object) -> nn.Module:
    torch.manual_seed(0)
    return build("acceptor", WORDS.size, 2, encoder=ENCODER, **options).eval()


@pytest.mark.parametrize(("pooling", "along"), [("last", "<s> looks at"), ("mean", "words look at, the mean")])
def test_a_picture_has_a_row_for_each_layer(pooling: str, along: str) -> None:
    panel, every = LABELS.panels(acceptor(pooling=pooling), "a gem", Search())
    assert isinstance(every, HeadsPanel)
    assert every.weights.shape[0] == 3
    assert every.columns == panel.columns
    assert panel.rows == ("layer 1", "layer 2", "layer 3")
    assert panel.columns == ("<s>", "a", "gem", "</s>")
    assert panel.along == along
    assert panel.title.startswith("a gem → ")
    assert_close(panel.values.sum(1), torch.ones(3), tolerance=1e-5)


def test_pooling_by_attention_shows_itself() -> None:
    panel, heads = LABELS.panels(acceptor(pooling="attention", num_hops=2), "a gem", Search())
    assert panel.values.shape[1] == 2
    assert isinstance(heads, HeadsPanel)


def test_two_texts_are_one_in_the_picture() -> None:
    panel, _ = LABELS.panels(acceptor(pooling="last"), "a gem\ttoo long", Search())
    assert panel.title.startswith("a gem | too long → ")
    assert panel.columns == ("<s>", "a", "gem", "</s>", "too", "long", "</s>")


def test_a_text_too_long_is_named_with_what_fits() -> None:
    long = "a gem " * 16
    sentence = r"'a gem a gem .*\.\.\.' has 32 tokens and the model has room for 6 \(model\.encoder\.max_length\)"
    for task, model in (
        (LABELS, acceptor(pooling="last")),
        (TAGS, build("transducer", WORDS.size, 2, encoder=ENCODER).eval()),
    ):
        assert len(task.predict(model, ["a gem", "a gem far too long gem"], Search())) == 2
        with pytest.raises(DataError, match=sentence):
            task.predict(model, ["a gem", long], Search())


def test_two_texts_that_are_read_apart_fit_each_for_itself() -> None:
    model = acceptor(pooling="mean", pair_dim=4)
    assert LABELS.predict(model, ["a gem far too long\ta gem far too long"], Search())
    with pytest.raises(DataError, match="has 7 tokens and the model has room for 6"):
        LABELS.predict(model, ["a\ta gem far too long a gem"], Search())

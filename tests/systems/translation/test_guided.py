"""Guided alignment: its loss by hand, the links of pieces, and what a recipe refuses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.data.batching.batch import Collator
from regard.data.batching.corpus import Corpus
from regard.data.example import Example
from regard.data.fields.tokenizer import Tokenizer
from regard.data.fields.tokens import TokensField
from regard.data.formats.pairs import Pairs
from regard.data.problems import DataError
from regard.explain.capture import capture
from regard.models import build
from regard.models.model_output import ModelOutput
from regard.ops.attended import Attended
from regard.recipes.errors import RecipeError
from regard.recipes.load import load
from regard.systems.translation.clauses import Clauses
from regard.systems.translation.guided_alignment import Guidance, guided_loss
from regard.systems.translation.links_field import LINKS, FileLinker, LinksField, WithLinks

WEIGHTS = torch.tensor([[[0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]], dtype=torch.float64)


def links(*rows: list[tuple[int, int]], width: int = 4) -> Tensor:
    return torch.tensor([[*row, *[(-1, -1)] * (width - len(row))] for row in rows])


def test_by_hand() -> None:
    """Two links share a row; rows without links and padding do not count."""
    loss = guided_loss(WEIGHTS, links([(0, 0), (0, 1), (2, 2)]))
    assert loss.item() == pytest.approx(-(math.log(0.5) + math.log(0.25)) / 2 - math.log(0.6))
    shifted = guided_loss(WEIGHTS, links([(0, 0), (0, 1), (2, 2)]), shift=1)  # piece 2 has no row behind it
    assert shifted.item() == pytest.approx(-(math.log(0.1) + math.log(0.8)) / 2)
    assert guided_loss(WEIGHTS, links([])).item() == 0.0
    assert guided_loss(WEIGHTS, torch.zeros(1, 0, 2).long()).item() == 0.0


def test_rows_without_links_and_padding_have_no_gradient() -> None:
    weights = WEIGHTS.clone().requires_grad_()
    guided_loss(weights, links([(1, 1)])).backward()
    assert weights.grad is not None
    assert weights.grad[0, 1].tolist() == pytest.approx([0.0, -1 / 0.8, 0.0])
    assert weights.grad[0, [0, 2]].eq(0).all()
    zero = torch.zeros(1, 2, 3, requires_grad=True)  # a row that may attend to nothing
    guided_loss(zero, links([(0, 1)])).backward()
    assert zero.grad is not None
    assert zero.grad.isfinite().all()


def test_gradient_and_padding() -> None:
    energies = torch.randn(2, 3, 5, dtype=torch.float64, requires_grad=True)
    given = links([(0, 4), (0, 1), (2, 3)], [(1, 0)])
    assert torch.autograd.gradcheck(lambda e: guided_loss(e.softmax(-1), given), (energies,))
    wide = torch.cat((energies.softmax(-1), torch.zeros(2, 3, 2, dtype=torch.float64)), dim=-1)
    assert torch.equal(guided_loss(wide, given), guided_loss(energies.softmax(-1), given))
    alone = [guided_loss(energies[row : row + 1].softmax(-1), given[row : row + 1]).item() for row in range(2)]
    assert guided_loss(energies.softmax(-1), given).item() == pytest.approx(sum(alone))


def test_one_head_of_one_layer_of_a_transformer_is_guided() -> None:
    model = build("transformer", 11, 13, dim=6, num_heads=2, num_layers=3, dropout=0.0)
    source, lengths, target = torch.randint(4, 11, (2, 5)), torch.tensor([5, 3]), torch.randint(4, 13, (2, 4))
    given = links([(0, 4), (1, 2)], [(3, 0)])
    with capture(model, "decoder.layers.1.cross") as seen:
        model(source, lengths, target)
    wanted = 0.3 * guided_loss(seen["decoder.layers.1.cross"][0].weights()[:, 1], given)
    for layer in (2, None):  # the last but one
        with Guidance(0.3, layer, head=2).watching(model) as guide:
            loss = guide(model(source, lengths, target), given)
        torch.testing.assert_close(loss, wanted)
    loss.backward()
    grads = {name: part.grad is not None for name, part in model.named_parameters() if ".cross.score" in name}
    assert {name.split(".")[2] for name, there in grads.items() if there} == {"0", "1"}  # none above the layer
    with pytest.raises(ValueError, match=r"layer is 4.* 3"):
        Guidance(0.3, 4).check(model)


def test_a_head_that_is_not_there_is_named() -> None:
    attended = Attended.from_weights(torch.zeros(1, 2, 3), torch.rand(1, 2, 3, 5))
    with (
        Guidance(0.1, head=3).watching(build("luong", 11, 13, embedding_dim=3, hidden_dim=5)) as guide,
        pytest.raises(ValueError, match=r"head is 3.* 2 heads"),
    ):
        guide(ModelOutput(torch.zeros(0), attended=attended), links([]))


@pytest.fixture
def pairs(tmp_path: Path) -> Pairs:
    (tmp_path / "a.de").write_text("das kleine Haus\nein Buch\n")
    (tmp_path / "a.en").write_text("the small house\na book\n")
    return Pairs(tmp_path / "a.de", tmp_path / "a.en")


def test_links_of_words_are_links_of_all_their_pieces(pairs: Pairs, tmp_path: Path) -> None:
    (tmp_path / "links").write_text("0-0 2-2\n\n")
    words = Tokenizer.train((example.fields["target"] for example in pairs), kind="words")
    letters = Tokenizer.train((example.fields["source"] for example in pairs), kind="characters")
    fields: dict[str, Any] = {
        LINKS: LinksField(source=letters, target=words),
        "source": TokensField(letters),
        "target": TokensField(words, begin=True, end=True),
    }
    corpus = Corpus.build(WithLinks.of(pairs, tmp_path / "links", "diagonal"), fields, tmp_path / "cache")
    batch = Collator(corpus)([1, 0])
    assert batch["links"].shape == (2, 7, 2)
    assert batch["links"][0].eq(-1).all()
    wanted = [[0, place] for place in range(3)] + [[2, place] for place in range(11, 15)]
    assert batch["links"][1].tolist() == wanted
    assert batch["source"].shape == (2, 15)


def test_a_file_of_links_that_does_not_fit_is_named_with_its_line(pairs: Pairs, tmp_path: Path) -> None:
    path = tmp_path / "links"
    for text, said in (
        ("0-0\n", "1 lines"),
        ("0-0\n2-0\n", r"links:2: the link 2-0"),
        ("0-0\n0:0\n", "links:2: '0:0'"),
    ):
        path.write_text(text)
        with pytest.raises(DataError, match=said):
            list(WithLinks.of(pairs, path, "diagonal"))
    generated = Example({"source": "a", "target": "b"}, "clauses.train")
    path.write_text("0-0\n")
    with pytest.raises(DataError, match=r"none for clauses\.train"):
        FileLinker(path)(0, generated)


def test_an_aligner_links_the_training_pairs_and_no_others() -> None:
    data = Clauses(size=300)
    taught = [example.fields[LINKS][2] for example in WithLinks.of(data, None, "diagonal")]
    gold = [set(example.fields["links"].split()) for example in data]
    found = [set(text.split()) for text in taught]
    precision = sum(len(a & b) for a, b in zip(found, gold, strict=True)) / sum(map(len, found))
    assert precision > 0.5
    assert [example.fields[LINKS][2] for example in WithLinks.without(data)] == [""] * 300


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (["model.kind=seq2seq"], "'seq2seq'"),
        (["model={kind: luong, attention: {align: hard}}"], "hard"),
        (["train.guided.layer=2"], "bahdanau"),
        (["train.exposure.sampling={floor: 0.5}"], "sampling"),
        (["tokenizer={kind: bpe, dropout: 0.1}"], "dropout"),
        (["train.guided.weight=0"], "weight"),
        (["train.guided.links=nowhere.txt"], "nowhere.txt"),
    ],
)
def test_a_recipe_that_cannot_be_guided_is_refused(keys: list[str], said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        load("clauses", ["train.guided={}", *keys])


def test_clauses_have_links_between_words_that_are_there() -> None:
    ends = set()
    for example in Clauses(size=200):
        source, target = example.fields["source"].split(), example.fields["target"].split()
        found = [tuple(map(int, link.split("-"))) for link in example.fields["links"].split()]
        assert max(one for one, _ in found) < len(source)
        assert max(one for _, one in found) < len(target)
        linked = {place for _, place in found}
        assert [word for place, word in enumerate(target) if place not in linked] == ["the"] * (
            len(target) - len(linked)
        )
        ends.add(np.mean([one - other for one, other in found]) > 0)
    assert ends == {True, False}
    assert {example.fields["source"] for example in Clauses("train", size=300)}.isdisjoint(
        example.fields["source"] for example in Clauses("test", size=300)
    )

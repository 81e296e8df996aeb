"""Words by their letters, and tags that are scored together: models."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor

from regard.models import RecurrentEncoder, build
from regard.models.characters import CharacterConfig, CharacterEncoder, LetterIds
from regard.models.lstmn_encoder import LSTMNEncoder
from regard.systems.tagging.tag_scheme import tag_order
from regard.systems.tagging.transducer import Transducer
from tests.mechanism import assert_close

KINDS = ("lstm", "cnn")


def letters() -> Tensor:
    """Two rows of words: the first word stands three times, the last row is a word shorter."""
    first, second, third = [5, 6, 7, 0], [8, 0, 0, 0], [5, 6, 0, 0]
    return torch.tensor([[first, second, first], [third, first, [0] * 4]])


def places() -> Tensor:
    return torch.tensor([[True, True, False, True], [True, False, True, False]])


def made(kind: str) -> CharacterEncoder:
    torch.manual_seed(0)
    return CharacterEncoder(CharacterConfig(kind, embedding_dim=3, hidden_dim=4, window=3, size=9)).double()  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_a_word_is_its_letters_wherever_it_stands(kind: str) -> None:
    encoder = made(kind)
    found = encoder(LetterIds(letters(), places()))
    assert found.shape == (2, 4, 4)
    assert found[~places()].eq(0).all()
    assert torch.equal(found[0, 0], found[0, 3])
    assert torch.equal(found[0, 0], found[1, 2])
    assert not torch.equal(found[0, 0], found[1, 0])
    alone = encoder(LetterIds(torch.tensor([[[5, 6]]]), torch.ones(1, 1, dtype=torch.bool)))
    assert_close(alone[0, 0], found[1, 0], tolerance=1e-12)  # padding adds nothing


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_letters_counts(kind: str) -> None:
    there = torch.ones(1, 2, dtype=torch.bool)
    first, second = made(kind)(LetterIds(torch.tensor([[[5, 6, 7], [7, 6, 5]]]), there))[0]
    assert (first - second).abs().max() > 1e-3


def test_a_convolution_by_hand() -> None:
    encoder = made("cnn")
    filters = encoder.layers
    assert isinstance(filters, torch.nn.Conv1d)
    vectors = torch.cat([torch.zeros(1, 3).double(), encoder.table.table.weight[[5, 6, 7]], torch.zeros(1, 3).double()])
    windows = torch.stack([vectors[t : t + 3] for t in range(3)])  # [3 letters, window, E]
    wanted = torch.einsum("twe,cew->tc", windows, filters.weight) + filters.bias
    found = encoder(LetterIds(torch.tensor([[[5, 6, 7]]]), torch.ones(1, 1, dtype=torch.bool)))
    assert_close(found[0, 0], wanted.amax(0), tolerance=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_repeated_words_add_up_in_the_gradient(kind: str) -> None:
    encoder = made(kind)

    def gradient(words: Tensor, places: Tensor) -> Tensor:
        encoder.zero_grad()
        encoder(LetterIds(words, places)).square().sum().backward()
        weight = encoder.table.table.weight.grad
        assert weight is not None
        return weight.clone()

    one = torch.tensor([[[5, 6, 7]]])
    once = gradient(one, torch.ones(1, 1, dtype=torch.bool))
    assert_close(gradient(one.expand(1, 3, 3), torch.ones(1, 3, dtype=torch.bool)), 3 * once, tolerance=1e-9)
    assert once[5:8].abs().sum(1).gt(0).all()


def test_a_batch_without_letters_is_zero() -> None:
    found = made("lstm")(LetterIds(torch.zeros(2, 1, 0).long(), torch.zeros(2, 3, dtype=torch.bool)))
    assert found.shape == (2, 3, 4)
    assert found.eq(0).all()


def test_makes_that_do_not_exist_are_one_sentence() -> None:
    for options, said in (
        ({"kind": "gru"}, "'gru'"),
        ({"hidden_dim": 5}, "5"),
        ({"window": 0}, "window"),
        ({"letters": 3}, "letters"),
    ):
        with pytest.raises(ValueError, match=said):
            build("transducer", 9, 3, encoder={"characters": options})
    with pytest.raises(ValueError, match="spelling"):
        RecurrentEncoder(9, embedding_dim=3, hidden_dim=4, characters=CharacterConfig(size=9))(torch.ones(1, 2).long())


@pytest.mark.parametrize("reverse", [False, True])
def test_letters_stand_beside_their_words(reverse: bool) -> None:
    torch.manual_seed(0)
    encoder = RecurrentEncoder(
        9, embedding_dim=3, hidden_dim=4, reverse=reverse, characters=CharacterConfig(hidden_dim=4, size=9)
    )
    seen: list[Tensor] = []
    encoder.layers.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    text, lengths = torch.tensor([[4, 5, 6], [7, 8, 0]]), torch.tensor([3, 2])
    places = torch.tensor([[True] * 3, [True, True, False]])
    encoder(text, lengths, LetterIds(letters(), places))
    assert seen[0].shape == (2, 3, 7)
    word = encoder.words.table.weight[4 if not reverse else 6]
    assert torch.equal(seen[0][0, 0, :3], word)
    assert encoder.characters is not None
    spelt = encoder.characters(LetterIds(letters(), places))
    assert torch.equal(seen[0][0, 0, 3:], spelt[0, 2 if reverse else 0])
    assert torch.equal(seen[0][1, 0, 3:], spelt[1, 1 if reverse else 0])


def test_an_lstmn_reads_letters_too() -> None:
    encoder = LSTMNEncoder(
        9, embedding_dim=3, hidden_dim=5, characters=CharacterConfig("cnn", hidden_dim=4, size=9)
    ).eval()
    text, lengths = torch.tensor([[4, 5, 6], [7, 8, 0]]), torch.tensor([3, 2])
    places = torch.tensor([[True] * 3, [True, True, False]])
    found = encoder(text, lengths, LetterIds(letters(), places)).states
    other = letters()
    other[0, 0] = torch.tensor([8, 8, 8, 8])
    changed = encoder(text, lengths, LetterIds(other, places)).states
    assert (found[0] - changed[0]).abs().amax() > 1e-4
    assert torch.equal(found[1], changed[1])


def chained(**options: object) -> Transducer:
    torch.manual_seed(0)
    model = Transducer(RecurrentEncoder(9, embedding_dim=3, hidden_dim=4), 3, crf=True, **options)  # type: ignore[arg-type]
    assert model.crf is not None
    for parameter in model.crf.parameters():
        torch.nn.init.normal_(parameter)
    return model.double().eval()


def test_a_chain_answers_with_marginals_and_the_likeliest_path() -> None:
    model = chained()
    text, words = torch.tensor([[4, 5, 6, 7]]), torch.tensor([[True, False, True, True]])
    predicted = model(text, torch.tensor([4]), words)
    log_p = {}
    for tags in itertools.product(range(3), repeat=3):
        placed = torch.tensor([[tags[0], -100, *tags[1:]]])
        each = model(text, torch.tensor([4]), words, placed).logits.log_softmax(-1).detach()
        log_p[tags] = sum(float(each[0, place, tag]) for place, tag in zip((0, 2, 3), tags, strict=True))
    assert sum(map(math.exp, log_p.values())) == pytest.approx(1.0)
    best = max(log_p, key=lambda tags: log_p[tags])
    assert tuple(predicted.extras["path"][words].tolist()) == best
    assert predicted.extras["path_score"].item() == pytest.approx(log_p[best])
    for place, number in ((0, 0), (2, 1), (3, 2)):
        wanted = [sum(torch.tensor(p).exp() for tags, p in log_p.items() if tags[number] == tag) for tag in range(3)]
        assert_close(predicted.logits[0, place].exp(), torch.stack(wanted).to(torch.float64), tolerance=1e-6)


def test_a_scheme_rules_answers() -> None:
    names = ("B-X", "I-X", "O")
    model = chained(tag_scheme="bio", tag_names=names)
    assert model.crf is not None
    with torch.no_grad():
        model.crf.transitions[2, 1] = 50.0  # O, then I-X: nothing would be likelier
    path = model(torch.randint(4, 9, (5, 6))).extras["path"]
    for row in path.tolist():
        named = ["O", *(names[tag] for tag in row)]
        assert not any(tag == "I-X" and before == "O" for before, tag in itertools.pairwise(named))


@pytest.mark.parametrize(
    ("scheme", "names", "wrong"),
    [
        (
            "bio",
            ["B-X", "I-X", "B-Y", "I-Y", "O"],
            {"I-X": ["O", "B-Y", "I-Y", None], "I-Y": ["O", "B-X", "I-X", None]},
        ),
        (
            "bioes",
            ["B-X", "I-X", "E-X", "S-X", "O"],
            {
                "I-X": ["O", "E-X", "S-X", None],
                "E-X": ["O", "E-X", "S-X", None],
                "O": ["B-X", "I-X"],
                "B-X": ["B-X", "I-X"],
                "S-X": ["B-X", "I-X"],
                None: ["B-X", "I-X"],
            },
        ),
    ],
)
def test_schemes_as_they_are_defined(scheme: str, names: list[str], wrong: dict[str | None, list[str | None]]) -> None:
    order = tag_order(names, scheme)
    for (a, first), (b, second) in itertools.product(enumerate(names), repeat=2):
        assert order.transitions[a][b] == (first not in wrong.get(second, [])), (first, second)
    for place, name in enumerate(names):
        assert order.start[place] == (None not in wrong.get(name, []))
        assert order.end[place] == (name not in wrong.get(None, []))


def test_bilou_is_bioes_by_other_names() -> None:
    assert tag_order(["B-X", "I-X", "L-X", "U-X", "O"], "bioes") == tag_order(
        ["B-X", "I-X", "E-X", "S-X", "O"], "bioes"
    )


@pytest.mark.parametrize(
    ("name", "scheme"), [("NN", "bio"), ("E-X", "bio"), ("B", "bio"), ("O-X", "bioes"), ("", "bio")]
)
def test_a_tag_of_no_scheme_is_named(name: str, scheme: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}'.*'{scheme}'"):
        tag_order(["O", name], scheme)

"""Dual encoders and cross-encoders: invariances, sums that hold exactly, and towers that start alike."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard.models import build
from regard.specials import EOS
from regard.systems.retrieval.cross_encoder import CrossEncoder, join_pairs
from regard.systems.retrieval.dual_encoder import DualEncoder
from tests.mechanism import assert_close

RNN = {"kind": "rnn", "embedding_dim": 5, "hidden_dim": 6, "bidirectional": True}
ENCODERS = (
    RNN,
    {"kind": "lstmn", "embedding_dim": 5, "hidden_dim": 6},
    {"kind": "conv", "hidden_dim": 6, "num_layers": 1, "dropout": 0.0},
    {"kind": "transformer", "dim": 6, "num_heads": 2, "num_layers": 1, "dropout": 0.0},
    {"kind": "bert", "dim": 6, "num_heads": 2, "num_layers": 1, "max_length": 32, "dropout": 0.0},
)
SIZE = 17


def dual(**arguments: object) -> DualEncoder:
    made = build("dual_encoder", SIZE, **{"encoder": RNN, **arguments})
    assert isinstance(made, DualEncoder)
    return made.double().eval()


def cross(**arguments: object) -> CrossEncoder:
    made = build("cross_encoder", SIZE, **{"encoder": RNN, "hidden_dim": 7, **arguments})
    assert isinstance(made, CrossEncoder)
    return made.double().eval()


def texts() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Two queries and six passages, with lengths."""
    queries, passages = torch.randint(5, SIZE, (2, 5)), torch.randint(5, SIZE, (6, 7))
    lengths = torch.tensor([5, 3]), torch.tensor([7, 4, 6, 1, 2, 7])
    return queries, lengths[0], passages, lengths[1]


def more_padding(queries: Tensor, one: Tensor, passages: Tensor, other: Tensor) -> tuple[Tensor, ...]:
    pads = [torch.nn.functional.pad(ids, (0, 3)) for ids in (queries, passages)]
    for ids, lengths in ((pads[0], one), (pads[1], other)):
        ids[torch.arange(ids.shape[1]) >= lengths.unsqueeze(1)] = 9
    return pads[0], one, pads[1], other


@pytest.mark.parametrize("encoder", ENCODERS, ids=lambda one: str(one["kind"]))
@pytest.mark.parametrize("pooling", ["mean", "attention", "last"])
def test_padding_and_the_batch_change_no_similarity(encoder: dict[str, object], pooling: str) -> None:
    model, given = dual(encoder=encoder, pooling=pooling, output_dim=3), texts()
    logits = model(*given).logits
    assert logits.shape == (2, 6)
    assert (logits.abs() <= 1 / model.temperature + 1e-9).all()  # cosines
    assert_close(model(*more_padding(*given)).logits, logits)
    query, passage = given[0][1:, :3], given[2][3:4, :1]
    assert_close(model(query, None, passage, None).logits, logits[1:, 3:4])


@pytest.mark.parametrize("arguments", [{"reads": "attention"}, {"reads": "joint", "pooling": "attention"}])
@pytest.mark.parametrize("encoder", ENCODERS, ids=lambda one: str(one["kind"]))
def test_padding_and_the_batch_change_no_score(encoder: dict[str, object], arguments: dict[str, str]) -> None:
    model, given = cross(encoder=encoder, **arguments), texts()
    logits = model(*given).logits
    assert logits.shape == (2, 3)
    if arguments["reads"] == "attention":
        assert_close(model(*more_padding(*given)).logits, logits)
    alone = model(given[0][1:, :3], given[1][1:], given[2][4:5, :2], given[3][4:5]).logits
    assert_close(alone[0], logits[1, 1:2])


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("output_dim", [None, 3])
def test_the_similarity_is_the_sum_of_its_contributions(similarity: str, shared: bool, output_dim: int | None) -> None:
    model = dual(pooling="attention", similarity=similarity, shared=shared, output_dim=output_dim)
    queries, _, passages, _ = texts()
    parts = model.contributions(queries[0], passages[0])
    assert parts is not None
    assert parts.shape == (5, 7)
    whole = model(queries[:1], None, passages[:1], None).logits * model.temperature
    assert_close(parts.sum(), whole[0, 0].item())
    assert dual(pooling="last").contributions(queries[0], passages[0]) is None


def test_two_towers_start_alike_and_part() -> None:
    model = dual(shared=False)
    ids = torch.randint(5, SIZE, (3, 4))
    assert_close(model.encode_queries(ids), model.encode_passages(ids))
    model.encode_passages(ids)[:, 0].sum().backward()
    assert all(one.grad is None for one in model.encoder.parameters())
    assert model.passage_encoder is not None
    assert model.passage_encoder.words.table.weight.grad.abs().sum() > 0


def test_weights_of_one_encoder_start_both_towers() -> None:
    one, two = dual(), dual(shared=False)
    two.load_state_dict(
        {name: value for name, value in one.state_dict().items() if name.startswith("encoder.")}, strict=False
    )
    ids = torch.randint(5, SIZE, (3, 4))
    assert_close(two.encode_passages(ids), one.encode_passages(ids))


@pytest.mark.parametrize("make", [dual, cross])
def test_words_beyond_the_longest_are_not_read(make: object) -> None:
    model = make(longest=4)  # type: ignore[operator]
    queries, one, passages, other = texts()
    changed = passages.clone()
    changed[:, 4:] = 8
    short = (queries[:, :4], one.clamp(max=4))
    assert_close(model(*short, changed, other).logits, model(*short, passages, other).logits)


def test_an_empty_text_is_finite_everywhere() -> None:
    queries, _, passages, _ = texts()
    for model in (dual(), dual(pooling="attention"), cross()):
        logits = model(queries, torch.tensor([5, 0]), passages, torch.tensor([7, 4, 6, 0, 2, 7])).logits
        assert logits.isfinite().all()
        logits.sum().backward()
        assert all(weight.grad is None or weight.grad.isfinite().all() for weight in model.parameters())


def test_joint_rows_by_hand() -> None:
    queries, passages = torch.tensor([[5, 6], [7, 0]]), torch.tensor([[8, 0, 0], [9, 10, 11]])
    rows, lengths = join_pairs(queries, torch.tensor([2, 1]), passages, torch.tensor([1, 3]))
    assert rows.tolist() == [[5, 6, EOS, 8, 0, 0], [7, EOS, 9, 10, 11, 0]]
    assert lengths.tolist() == [4, 5]


def test_a_word_that_occurs_in_the_passage_is_a_feature() -> None:
    model = cross()
    compared = []
    model.hidden_map.register_forward_pre_hook(lambda module, given: compared.append(given[0]))
    model(torch.tensor([[5, 6, 0]]), torch.tensor([2]), torch.tensor([[6, 7, 6]]), torch.tensor([3]))
    assert compared[0][0, :, -2].tolist() == [0.0, 1.0, 0.0]

"""Classifiers as explanations see them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from regard.data import Tokenizer
from regard.data.fields.labels import Labels
from regard.explain.importance import attention, leave_one_out
from regard.explain.rollout import rollout
from regard.explain.subject import StagedSubject, Subject
from regard.models import build
from regard.systems.classification.explained import subject_of
from regard.systems.classification.explained.pairs import crossing
from regard.systems.classification.split_pair import SplitPair
from regard.systems.classification.targets.label import LabelTarget
from tests.explain.subjects import check_subject, random_model
from tests.mechanism import assert_close

TEXT = "a film of great wit and little sense ends here ."
WORDS = Tokenizer.train([TEXT], kind="words", masked=True)
TARGET = LabelTarget(Labels.train(["good", "bad", "fair"]))
RNN = {"kind": "rnn", "embedding_dim": 5, "hidden_dim": 6, "bidirectional": True}
LAYERS = {"dim": 6, "num_heads": 2, "num_layers": 2}


def subject(kind: str, *, matches: bool = False, **options: object) -> tuple[nn.Module, Subject]:
    model = random_model(build(kind, WORDS.size, 3, **options))
    return model, subject_of(model, WORDS, TARGET, matches=matches)


@pytest.mark.parametrize(
    "encoder", [RNN, {"kind": "words", "activation": "tanh", "hidden_dim": 7}], ids=["rnn", "words"]
)
def test_words_pooled_by_attention(encoder: dict[str, object]) -> None:
    model, made = subject("acceptor", encoder=encoder, num_hops=2)
    found = check_subject(made, [TEXT, "great sense of film"])
    assert found.changes is not None
    assert made.words("great zebu film") == ["great", "zebu", "film"]
    ids = made.read(["great sense of film"])
    without = made.read(["great of film"])
    change = model(without.ids, without.lengths).logits.softmax(1) - model(ids.ids, ids.lengths).logits.softmax(1)
    assert_close(leave_one_out(made, ids)[0, 1], change.abs().mean())


@pytest.mark.parametrize("kind", ["bert", "transformer"])
@pytest.mark.parametrize("pooling", ["last", "mean", "attention"])
def test_transformers_have_measures_of_their_layers(kind: str, pooling: str) -> None:
    _, made = subject("acceptor", encoder={"kind": kind, **LAYERS}, pooling=pooling)
    found = check_subject(made, [TEXT, "great sense of film"])
    assert {"rollout", "flow", "weighted norms"} <= set(found.erased)
    assert (found.changes is None) == (pooling != "attention")


def test_rollout_of_a_text_alone() -> None:
    """The state of `<s>` reads the last layer: its row of the rollout, without the frame."""
    model, made = subject("acceptor", encoder={"kind": "bert", **LAYERS}, pooling="last")
    texts = made.read(["great sense of film"])
    seen: list[Tensor] = []
    handles = [layer.attention.watch(lambda read: seen.append(read.weights())) for layer in model.encoder.layers]  # type: ignore[union-attr]
    model(texts.ids, texts.lengths)
    for handle in handles:
        handle.remove()
    weights = torch.stack(seen, 1)
    assert_close(made.extras()["rollout"].measure(texts), rollout(weights)[:, 0, 1:-1])
    assert_close(attention(made, texts), weights[:, -1].mean(1)[:, 0, 1:-1])


def test_sentences_of_documents() -> None:
    _, made = subject("hierarchical", embedding_dim=5, hidden_dim=6)
    found = check_subject(made, ["a film. great wit and sense! ends here.", "little wit. a film."])
    assert found.unit == "sentence"
    assert made.words("a film of great wit. ends.") == ["1 a film of great …", "2 ends ."]
    whole, part = made.read(["a film. great wit! ends."]), made.read(["a film. ends."])
    change = made.probabilities(whole) - made.probabilities(part)
    assert_close(leave_one_out(made, whole)[0, 1], change.abs().mean())


PAIRS = ["a film of wit\tgreat film", "great sense ends\ta little film of great sense"]


@pytest.mark.parametrize("matches", [False, True])
@pytest.mark.parametrize("kind", ["acceptor", "decomposable_attention", "esim"])
def test_pairs(kind: str, matches: bool) -> None:
    options = {"comparison": "signed", "exact_match": matches} | ({} if kind == "acceptor" else {"hidden_dim": 8})
    _, made = subject(kind, matches=matches, encoder=RNN, **options)
    found = check_subject(made, PAIRS)
    assert found.changes is not None
    assert isinstance(made, StagedSubject)
    texts = made.read(PAIRS)
    assert int(texts.sizes[0]) == 6
    assert texts.inside[0].tolist()[4] is False
    if not matches:
        change = made.probabilities(made.read(["a film wit\tgreat film"])) - made.probabilities(made.read(PAIRS[:1]))
        assert_close(leave_one_out(made, texts)[0, 2], change.abs().mean())


def test_crossing_undoes_crossed() -> None:
    parts = SplitPair.of(torch.tensor([[5, 6, 3, 7, 8, 9, 0], [5, 6, 7, 8, 3, 9, 4]]), torch.tensor([6, 7]))
    weights = torch.rand(4, *[parts.ids.shape[1]] * 2, dtype=torch.float64)
    inside = parts.ids != 0
    weights = weights * (inside.unsqueeze(2) & inside.roll(2, 0).unsqueeze(1))
    assert_close(crossing(parts, parts.crossed(weights, 7)), weights)


def test_what_is_not_explained() -> None:
    for message, kind, options in (
        ("model.pooling=attention", "acceptor", {"encoder": RNN, "pooling": "mean"}),
        ("model.pooling=attention", "acceptor", {"encoder": {"kind": "transformer", **LAYERS}, "pooling": "max"}),
        ("model.encoder.reverse", "acceptor", {"encoder": RNN | {"bidirectional": False, "reverse": True}}),
        ("model.pooling=attention", "hierarchical", {"pooling": "mean"}),
    ):
        with pytest.raises(ValueError, match=message):
            subject(kind, **options)

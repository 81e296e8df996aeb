"""Labels and tags: the loss by hand, where a word's tag stands, and what is answered."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from regard.data import Batch, DataError, Labels, Tokenizer
from regard.decode.search import Search
from regard.models import RecurrentEncoder, build
from regard.models.model_output import ModelOutput
from regard.specials import IGNORE, PAD
from regard.systems.classification.acceptor import Acceptor
from regard.systems.classification.task import Classification
from regard.systems.tagging.task import Tagging
from regard.systems.tagging.transducer import Transducer
from tests.mechanism import assert_close

PARAGRAPH = """\
Mr. O'Neill-Smith's 3.14% stake (worth $1,000,000) wasn't sold in 1998 -- or so he 'd say .
Die Häuser, naïve façades: 日本語 , Ελλάδα ½ ´ ¨ … “quoted” e-mail@example.org #1 ... !? <unk> </s> 👩‍👧 a_b ▁ x\u200by
``It 's the U.S.'s 10-year note,'' they said; don't you think? 1st 2nd 3/4 50,000th
"""
SENTENCES = [line.split() for line in PARAGRAPH.splitlines()]
SIZES = {"bpe": 320, "unigram": 90}
words_only = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda text: text.split() == [text])


class Says(nn.Module):
    """Says the same whatever it reads: logits [B, C], or [B, T, C] by position."""

    def __init__(self, logits: list[float] | list[list[float]]) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.tensor(logits))

    def forward(self, text: Tensor, lengths: Tensor, *beside: Tensor | None) -> ModelOutput:
        if self.logits.dim() == 1:
            return ModelOutput(self.logits.expand(len(text), -1))
        return ModelOutput(self.logits[: text.shape[1]].expand(len(text), -1, -1))


def trained(kind: str, **options: object) -> Tokenizer:
    return Tokenizer.train(SENTENCES * 3, kind=kind, size=SIZES.get(kind), **options)  # type: ignore[arg-type]


def classification(smoothing: float = 0.0) -> Classification:
    words = Tokenizer.train(["a gem", "far too long"], kind="words")
    return Classification({"text": words, "label": Labels(("bad", "fair", "good"))}, smoothing)


def tagging(kind: str = "words", smoothing: float = 0.0, **options: object) -> Tagging:
    return Tagging({"text": trained(kind, **options), "tags": Labels(("A", "B", "C"))}, smoothing)


def log(*probabilities: float) -> list[float]:
    return [math.log(one) for one in probabilities]


def labelled(*labels: int) -> Batch:
    count = len(labels)
    tensors = {
        "text": torch.full((count, 2), 5),
        "text_lengths": torch.full((count,), 2),
        "label": torch.tensor(labels),
    }
    return Batch(tensors, tuple(range(count)), count)


def test_the_loss_of_labels_by_hand() -> None:
    loss = classification().loss(Says(log(0.5, 0.25, 0.25)), labelled(0, 2, 1))
    assert loss.tokens == 3
    assert loss.total.item() == pytest.approx(math.log(2) + 2 * math.log(4))
    assert float(loss.nll) == pytest.approx(loss.total.item())


@pytest.mark.parametrize("task", [classification(0.3), tagging(smoothing=0.3)])
def test_smoothing_is_of_training_alone(task: Classification | Tagging) -> None:
    batch = labelled(0, 1)
    batch.tensors.update(tags=torch.tensor([[0, 1], [2, 0]]), tags_lengths=torch.tensor([2, 2]))
    model = Says(log(0.5, 0.25, 0.25)) if isinstance(task, Classification) else Says([log(0.5, 0.25, 0.25)] * 2)
    learned, measured = task.loss(model, batch, update=0), task.loss(model, batch)
    even = (math.log(2) + 2 * math.log(4)) / 3
    count = 2 if isinstance(task, Classification) else 4
    assert measured.total.item() == pytest.approx(float(measured.nll))
    assert float(learned.nll) == pytest.approx(float(measured.nll))
    assert learned.total.item() == pytest.approx(0.7 * float(measured.nll) + 0.3 * count * even)


def test_the_tag_of_a_word_is_at_its_first_piece() -> None:
    task = tagging("bpe")
    tokenizer, sentence = task.encoders["text"], ["Häuser,", "said"]
    ids = torch.tensor([tokenizer.encode(sentence)])
    first = len(tokenizer.encode(sentence[:1]))
    assert first > 1
    sure = torch.zeros(ids.shape[1], 3)
    sure[0, 2], sure[first, 1] = 9.0, 9.0
    model = Says(sure.tolist())
    tags = torch.tensor([[2, 1]])
    tensors = {"text": ids, "text_lengths": torch.tensor([ids.shape[1]]), "tags": tags}
    batch = Batch(tensors | {"tags_lengths": torch.tensor([2])}, (0,), 2)
    assert task.loss(model, batch).total.item() == pytest.approx(2 * math.log1p(2 * math.exp(-9)), rel=1e-3)
    ((answer,),) = task.predict(model, [" ".join(sentence)], Search())
    assert (answer.text, answer.source_tokens, answer.tokens) == ("C B", ("Häuser,", "said"), ("C", "B"))
    assert answer.score == pytest.approx(sum(answer.log_probs))


@pytest.mark.parametrize("kind", ["words", "bpe", "unigram"])
@pytest.mark.parametrize("options", [{}, {"lowercase": True}, {"normalise": "nfkc"}], ids=["plain", "lower", "nfkc"])
def test_there_are_as_many_first_pieces_as_words(kind: str, options: dict[str, object]) -> None:
    task = tagging(kind, **options)
    begins = task.begins
    for sentence in SENTENCES:
        assert int(begins[task.encoders["text"].encode(sentence)].sum()) == len(sentence)
    for alone in {word for sentence in SENTENCES for word in sentence}:
        found = begins[task.encoders["text"].encode([alone])]
        assert found.tolist() == [True] + [False] * (len(found) - 1), alone


TAGGINGS = {kind: tagging(kind, normalise="nfkc") for kind in ("words", "bpe", "unigram")}


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(sorted(TAGGINGS)), st.lists(words_only, min_size=1, max_size=5))
def test_any_words_have_as_many_first_pieces(kind: str, words: list[str]) -> None:
    task = TAGGINGS[kind]
    assert int(task.begins[task.encoders["text"].encode(words)].sum()) == len(words)


def small(kind: str, size: int) -> nn.Module:
    encoder = RecurrentEncoder(size, embedding_dim=6, hidden_dim=8, bidirectional=True)
    return (Acceptor if kind == "acceptor" else Transducer)(encoder, 3).double().eval()


@pytest.mark.parametrize("kind", ["acceptor", "transducer"])
def test_padding_adds_nothing_to_the_loss(kind: str) -> None:
    task = classification() if kind == "acceptor" else tagging("bpe")
    model = small(kind, task.encoders["text"].size)
    text = [[5, 6, 4], [6]] if kind == "acceptor" else [task.encoders["text"].encode(words[:4]) for words in SENTENCES]
    tags = [[0, 2, 1, 1]] * len(text)
    width = max(map(len, text)) + 3
    lengths = torch.tensor([len(row) for row in text])
    ids = torch.tensor([row + [PAD] * (width - len(row)) for row in text])
    together = {"text": ids, "text_lengths": lengths, "label": torch.tensor([2, 0])}
    together["tags"] = F.pad(torch.tensor(tags), (0, 2), value=IGNORE)
    together["tags_lengths"] = torch.tensor([len(row) for row in tags])
    whole = task.loss(model, Batch(together, tuple(range(len(text))), 4 * len(text)))
    alone = []
    for row, pieces in enumerate(text):
        one = {"text": torch.tensor([pieces]), "text_lengths": lengths[row : row + 1]}
        one |= {"tags": torch.tensor(tags[row : row + 1]), "tags_lengths": together["tags_lengths"][row : row + 1]}
        one |= {"label": together["label"][row : row + 1]}
        alone.append(task.loss(model, Batch(one, (row,), 4)).total)
    assert_close(whole.total, torch.stack(alone).sum(), tolerance=1e-6)


def test_the_likeliest_labels_come_first() -> None:
    task, model = classification(), Says(log(0.2, 0.7, 0.1))
    ((best,),) = task.predict(model, ["a gem"], Search())
    assert (best.text, best.tokens, best.source_tokens) == ("fair", ("fair",), ("a", "gem"))
    assert best.score == pytest.approx(math.log(0.7))
    assert best.alignment is None
    (answers,) = task.predict(model, ["a gem"], Search(n_best=5))
    assert [one.text for one in answers] == ["fair", "bad", "good"]
    assert [one.score for one in answers] == pytest.approx(log(0.7, 0.2, 0.1))
    assert task.predict(model, [], Search()) == []


def test_the_attention_of_a_label_is_over_the_pieces_of_its_text() -> None:
    tokenizer = trained("bpe")
    task = Classification({"text": tokenizer, "label": Labels(("bad", "good"))})
    model = build("acceptor", tokenizer.size, 2, encoder={"embedding_dim": 6, "hidden_dim": 8}).eval()
    texts = [" ".join(sentence) for sentence in SENTENCES] + ["a"]
    found = task.predict(model, texts, Search(n_best=2), batch=4)
    for text, (best, other) in zip(texts, found, strict=True):
        assert best.alignment is not None
        assert best.alignment.shape == (1, len(tokenizer.encode(text)))
        assert_close(best.alignment.sum(), torch.tensor(1.0), tolerance=1e-6)
        assert torch.equal(other.alignment, best.alignment)
        (alone,) = task.predict(model, [text], Search(n_best=2))
        assert_close(torch.tensor(alone[0].score), torch.tensor(best.score), tolerance=1e-5)


@pytest.mark.parametrize("kind", ["words", "bpe", "unigram"])
def test_tags_do_not_depend_on_the_batch(kind: str) -> None:
    task = tagging(kind)
    model = small("transducer", task.encoders["text"].size)
    texts = [" ".join(sentence) for sentence in SENTENCES]
    for text, (answer,) in zip(texts, task.predict(model, texts, Search(), batch=3), strict=True):
        assert len(answer.tokens) == len(answer.log_probs) == len(text.split())
        ((alone,),) = task.predict(model, [f"  {text}\t"], Search())
        assert alone.text == answer.text
        assert alone.log_probs == pytest.approx(answer.log_probs)


def test_several_answers_in_tags_are_refused() -> None:
    with pytest.raises(ValueError, match="tags are the likeliest of each word, one answer; got n_best=3"):
        tagging().predict(Says([[0.0] * 3]), ["a"], Search(n_best=3))


def test_characters_have_no_words_to_tag(tmp_path: Path) -> None:
    characters = Tagging({"text": Tokenizer.train(["ab"], kind="characters"), "tags": Labels(("A",))})
    with pytest.raises(DataError, match="characters do not say where a word begins; use a tokenizer of kind words"):
        _ = characters.begins


def test_words_are_lost_in_training_alone() -> None:
    encoder = RecurrentEncoder(11, embedding_dim=6, hidden_dim=8)
    text, lengths = torch.tensor([[7, 8, 9, 0]]), torch.tensor([3])
    for model in (Acceptor(encoder, 3, word_dropout=1.0), Transducer(encoder, 3, word_dropout=1.0)):
        lost = model(torch.tensor([[1, 1, 1, 0]]), lengths).logits
        assert_close(model(text, lengths).logits, lost)
        assert not torch.allclose(model.eval()(text, lengths).logits, lost)
    with pytest.raises(ValueError, match=r"word_dropout must lie in .*; got 2"):
        Acceptor(encoder, 3, word_dropout=2.0)


def test_a_label_that_training_never_showed_counts_for_no_loss() -> None:
    known = classification().loss(Says(log(0.5, 0.25, 0.25)), labelled(0, 2))
    unknown = classification().loss(Says(log(0.5, 0.25, 0.25)), labelled(0, IGNORE, 2))
    assert (unknown.total.item(), unknown.tokens) == (pytest.approx(known.total.item()), 2)
    batch = labelled(0)
    batch.tensors.update(tags=torch.tensor([[1, IGNORE]]), tags_lengths=torch.tensor([2]))
    loss = tagging().loss(Says([log(0.5, 0.25, 0.25)] * 2), batch)
    assert (loss.total.item(), loss.tokens) == (pytest.approx(math.log(4)), 1)


class Penalised(Says):
    """Says the same, and pays for where it looked."""

    def forward(self, text: Tensor, lengths: Tensor) -> ModelOutput:
        return super().forward(text, lengths)._replace(extras={"penalty": torch.full((len(text),), 0.5)})


def test_what_hops_cost_is_of_training_alone() -> None:
    model, batch = Penalised(log(0.5, 0.25, 0.25)), labelled(0, 2, 1)
    plain = math.log(2) + 2 * math.log(4)
    learned, measured = classification().loss(model, batch, update=3), classification().loss(model, batch)
    assert learned.total.item() == pytest.approx(plain + 3 * 0.5)
    assert float(learned.nll) == pytest.approx(plain)
    assert measured.total.item() == pytest.approx(plain)


def test_every_hop_has_its_row_and_all_of_them_one() -> None:
    task = classification()
    size, encoder = task.encoders["text"].size, {"embedding_dim": 6, "hidden_dim": 8}
    model = build("acceptor", size, 3, num_hops=5, encoder=encoder).eval()
    (best, other), (alone, _) = task.predict(model, ["far too long", "a"], Search(n_best=2))
    assert best.alignment is not None
    assert best.alignment.shape == (5, 3)
    assert alone.alignment.shape == (5, 1)
    assert torch.equal(other.alignment, best.alignment)
    assert_close(best.alignment.sum(1), torch.ones(5), tolerance=1e-6)
    weights, names = best.drawn()
    assert names == ("hop 1", "hop 2", "hop 3", "hop 4", "hop 5", "all")
    assert_close(weights[5], best.alignment.mean(0), tolerance=1e-6)
    (panel,) = task.panels(model, "far too long", Search())
    assert (panel.rows, panel.columns) == (names, ("far", "too", "long"))


def test_a_label_of_two_texts_is_asked_with_both() -> None:
    words = Tokenizer.train(["a gem", "far too long"], kind="words", masked=True)
    task = Classification({"text": words, "label": Labels(("no", "yes"))}, pairs=True)
    encoder = {"embedding_dim": 6, "hidden_dim": 8}
    model = build("acceptor", words.size, 2, num_hops=2, pair_dim=3, encoder=encoder).eval()
    ((best,),) = task.predict(model, ["a gem\tfar too long"], Search())
    assert best.source_tokens == ("a", "gem", "</s>", "far", "too", "long")
    assert_close(best.alignment.sum(1), torch.full((2,), 2.0), tolerance=1e-6)
    assert_close(best.alignment[:, 2], torch.zeros(2))
    (panel,) = task.panels(model, "a gem\tfar too long", Search())
    assert panel.title == f"a gem | far too long → {best.text}"
    with pytest.raises(ValueError, match="the label is of two texts with a tab between; this is one: 'a gem'"):
        task.predict(model, ["far\tlong", "a gem"], Search())
    with pytest.raises(DataError, match="a tab stands between two texts, and here are more"):
        task.predict(model, ["a\tgem\tlong"], Search())

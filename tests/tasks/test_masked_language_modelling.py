"""Hidden words: the loss by hand, and what is filled in."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from regard.data import Batch, Tokenizer
from regard.decode.search import Search
from regard.explain.panel import HeadsPanel
from regard.models import build
from regard.models.model_output import NOTHING, ModelOutput
from regard.specials import IGNORE, MASK
from regard.systems.masked_language_model.task import MaskedLanguageModelling

TEXTS = ["the cat sleeps", "the dog eats , the cat plays"]
WORDS = Tokenizer.train(TEXTS, kind="words", split="whitespace", masked=True)
TASK = MaskedLanguageModelling({"text": WORDS})


class Says(nn.Module):
    """Says the same of every chosen word: probabilities of ids; and of two texts, if asked."""

    def __init__(self, shares: dict[int, float], following: list[list[float]] | None = None) -> None:
        super().__init__()
        log_probs = torch.full((WORDS.size,), -30.0)
        for index, share in shares.items():
            log_probs[index] = math.log(share)
        self.logits = nn.Parameter(log_probs)
        self.following = following

    def forward(self, text: Tensor, lengths: Tensor | None, chosen: Tensor) -> ModelOutput:
        extras = NOTHING if self.following is None else {"next": torch.tensor(self.following).log()}
        return ModelOutput(self.logits.expand(int(chosen.sum()), -1), extras=extras)


def ids(text: str) -> list[int]:
    return WORDS.encode(text)


def batch(**more: Tensor) -> Batch:
    (cat, dog) = ids("cat dog")
    wanted = torch.tensor([[IGNORE, cat, IGNORE], [dog, IGNORE, IGNORE]])
    text = torch.tensor([[*ids("the"), MASK, *ids("plays")], [MASK, *ids("eats"), 0]])
    return Batch({"text": text, "wanted": wanted, **more}, (0, 1), 2)


def test_the_loss_is_of_what_is_wanted_alone() -> None:
    (cat, dog) = ids("cat dog")
    loss = TASK.loss(Says({cat: 0.5, dog: 0.25}), batch(), update=0)
    assert loss.tokens == 2
    normal = math.log(0.75)
    assert loss.total.item() == pytest.approx(-math.log(0.5) - math.log(0.25) + 2 * normal, abs=1e-4)
    assert loss.nll.item() == pytest.approx(loss.total.item())


def test_whether_two_texts_belong_together_counts_as_much_as_a_word() -> None:
    (cat, dog) = ids("cat dog")
    model = Says({cat: 0.5, dog: 0.5}, [[0.9, 0.1], [0.2, 0.8]])
    loss = TASK.loss(model, batch(next=torch.tensor([0, 0])), update=0)
    mean = -(math.log(0.9) + math.log(0.2)) / 2
    assert loss.nll.item() == pytest.approx(2 * math.log(2), abs=1e-4)
    assert loss.total.item() - loss.nll.item() == pytest.approx(2 * mean, abs=1e-4)


def test_masks_are_filled_in() -> None:
    (cat, dog) = ids("cat dog")
    model = Says({dog: 0.6, cat: 0.4})
    texts = ["the <mask> sleeps", "<mask>", "the<mask>eats , <mask> plays"]
    found = TASK.predict(model, texts, Search(n_best=2, beam_size=2))
    assert [[one.text for one in answers] for answers in found] == [
        ["the dog sleeps", "the cat sleeps"],
        ["dog", "cat"],
        ["the dog eats , dog plays", "the cat eats , cat plays"],
    ]
    assert found[0][0].tokens == ("dog",)
    assert found[0][0].score == pytest.approx(math.log(0.6), abs=1e-4)
    assert found[2][1].score == pytest.approx(2 * math.log(0.4), abs=1e-4)


def test_a_text_without_a_mask_is_one_sentence() -> None:
    with pytest.raises(ValueError, match="there is no <mask> in 'the cat'; write one for each token"):
        TASK.predict(Says({5: 1.0}), ["the cat"], Search())


def model() -> nn.Module:
    torch.manual_seed(0)
    encoder = {"dim": 8, "num_heads": 2, "num_layers": 3, "max_length": 16}
    return build("bert", WORDS.size, encoder=encoder).eval()


def test_answers_do_not_depend_on_the_batch_and_say_where_they_looked() -> None:
    bert, texts = model(), ["the <mask> sleeps", "the dog <mask> , the <mask> plays", "a <mask>\tthe cat"]
    together = TASK.predict(bert, texts, Search())
    for text, (answer,) in zip(texts, together, strict=True):
        (alone,) = TASK.predict(bert, [text], Search(), batch=1)[0]
        assert answer.text == alone.text
        assert answer.log_probs == pytest.approx(alone.log_probs, abs=1e-5)
        assert answer.alignment is not None
        assert answer.alignment.shape == (len(answer.tokens), len(answer.source_tokens))
        assert answer.alignment.sum(1).tolist() == pytest.approx([1.0] * len(answer.tokens), abs=1e-5)
    assert together[2][0].source_tokens == ("<s>", "<unk>", "<mask>", "</s>", "the", "cat", "</s>")
    assert together[2][0].text.endswith("\tthe cat")


def test_nothing_is_answered_with_nothing() -> None:
    found = TASK.predict(model(), ["", "the <mask>"], Search())
    assert (found[0][0].text, found[0][0].tokens) == ("", ())
    assert len(found[1][0].tokens) == 1


def test_a_picture_has_a_panel_for_each_layer() -> None:
    *panels, every = TASK.panels(model(), "the <mask> sleeps , the <mask>", Search())
    assert isinstance(every, HeadsPanel)
    assert every.weights.shape[::2] == (3, 8)
    assert [panel.title.rsplit(": ", 1)[1] for panel in panels] == ["layer 1 of 3", "layer 2 of 3", "layer 3 of 3"]
    assert all(panel.values.shape == (2, 8) for panel in panels)
    assert panels[0].columns == ("<s>", "the", "<mask>", "sleeps", ",", "the", "<mask>", "</s>")


def test_samples_hide_words_and_know_them() -> None:
    found = TASK.samples(model(), [*TEXTS, "unheard of"], Search())
    assert [one.reference for one in found] == TEXTS
    assert all("<mask>" in one.source for one in found)


@pytest.mark.parametrize("kind", ["characters", "bpe", "unigram", "wordpiece"])
def test_masks_of_pieces(kind: str) -> None:
    sizes = {"bpe": 300, "unigram": 40, "wordpiece": 60}
    pieces = Tokenizer.train(TEXTS * 9, kind=kind, size=sizes.get(kind), masked=True)  # type: ignore[arg-type]
    task = MaskedLanguageModelling({"text": pieces})
    text = "the <mask> plays"
    hidden = task._hidden(text)
    assert hidden.count(MASK) == 1
    assert task._text(hidden) == text

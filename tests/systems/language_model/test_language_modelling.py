"""A text in windows is the text at once, padding counts for nothing, and prompts go on as the model says."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.data import Batch, Tokenizer
from regard.data.batching.batch import padded
from regard.decode import Search
from regard.models.build import build
from regard.models.model_output import ModelOutput
from regard.protocol import Step
from regard.specials import BOS, EOS, PAD, UNK
from regard.systems.language_model.task import LanguageModelling
from regard.tasks.prediction import Prediction
from tests.mechanism import assert_close

TEXTS = ["the lark sang", "it was the lark", "the herald of the morn", "no nightingale"]
WORDS = Tokenizer.train(TEXTS, kind="words")
CHARACTERS = Tokenizer.train([text + "\n" for text in TEXTS], kind="characters")
WIDTHS = {"embedding_dim": 6, "hidden_dim": 8}
GREEDY = Search(strategy="greedy", max_length=9)

CARRYING: dict[str, dict[str, Any]] = {
    "elman": {"kind": "language_model", "cells": "elman"},
    "two layers of LSTM": {"kind": "language_model", "cells": {"kind": "lstm", "num_layers": 2}},
    "GRU of characters": {"kind": "char_rnn", "cells": "gru"},
    "attention in a window": {"kind": "char_rnn", "attention": "dot", "window": 3},
    "attention in a wide window": {"kind": "char_rnn", "attention": "additive", "window": 100},
    "pointer in a window": {"kind": "pointer_lm", "window": 3},
    "pointer in a wide window": {"kind": "pointer_lm", "window": 100, "pairing": "next"},
}
TRANSFORMER = {"kind": "transformer_lm", "dim": 8, "num_heads": 2, "num_layers": 2, "hidden_dim": 8}


def made(size: int = WORDS.size, **arguments: Any) -> nn.Module:
    """A model of doubles, without dropout."""
    kind = arguments.pop("kind", "language_model")
    return build(kind, size, **arguments if kind == "transformer_lm" else WIDTHS | arguments).double().eval()


def task(tokenizer: Tokenizer = WORDS, first: int | None = BOS) -> LanguageModelling:
    return LanguageModelling({"text": tokenizer}, first)


def batch(text: Tensor, *, begins: bool = True) -> Batch:
    """Ids [B, T + 1], of which T are wanted."""
    counts = int((text[:, 1:] != PAD).sum())
    return Batch({"text": text.to(torch.get_default_device())}, tuple(range(len(text))), counts, begins)


def text(rows: int, length: int) -> Tensor:
    return torch.randint(1, WORDS.size, (rows, length))


@pytest.mark.parametrize("name", CARRYING)
@pytest.mark.parametrize("window", [1, 3, 5, 16])
def test_windows_with_carried_state_are_the_text_at_once(name: str, window: int) -> None:
    model, ids = made(**CARRYING[name]), text(3, 17)
    whole = task().loss(model, batch(ids))
    state, nll, tokens = None, 0.0, 0
    for begin in range(0, 16, window):
        part = batch(ids[:, begin : begin + window + 1], begins=begin == 0)
        loss = task().loss(model, part, state=state)
        state, nll, tokens = loss.state, nll + float(loss.nll), tokens + loss.tokens
    assert tokens == whole.tokens == 48
    assert nll == pytest.approx(float(whole.nll), rel=1e-6)


@pytest.mark.parametrize("name", CARRYING)
def test_gradients_stop_between_windows(name: str) -> None:
    model = made(**CARRYING[name]).train()  # without dropout; cuDNN has gradients only in training
    first, second = torch.tensor([[5, 6, 5, 6]]), torch.tensor([[6, 7, 7]])
    state = task().loss(model, batch(first)).state
    task().loss(model, batch(second, begins=False), state=state).total.backward()
    table = model.words.table.weight.grad
    assert float(table[7].abs().sum()) > 0  # in the second window
    assert float(table[5].abs().sum()) == 0.0  # only in the first
    other = task().loss(model, batch(second, begins=False), state=task().loss(model, batch(first.flip(1))).state)
    assert float(other.nll) != float(task().loss(model, batch(second, begins=False), state=state).nll)


def test_variational_dropout_is_drawn_for_each_window() -> None:
    cells = {"kind": "lstm", "num_layers": 2, "dropout": 0.5, "recurrent_dropout": 0.5, "variational": True}
    model = made(cells=cells, dropout=0.5).train()
    loss = task().loss(model, batch(text(2, 6)), update=0)
    assert loss.state.noise == ()
    assert not loss.state.hidden.requires_grad


def test_attention_without_a_window_forgets_what_it_remembered_but_not_where_it_stands() -> None:
    model = made(kind="char_rnn", attention="dot")
    state = task().loss(model, batch(text(2, 6))).state
    assert state.memory.size == 0
    assert float(state.layers.hidden.abs().sum()) > 0


def test_a_transformer_carries_nothing() -> None:
    model, ids = made(**TRANSFORMER), text(2, 9)
    assert task().loss(model, batch(ids)).state is None
    alone = task().loss(model, batch(ids[:, 4:], begins=False), state=None).nll
    assert float(alone) == float(task().loss(model, batch(ids[:, 4:])).nll)


def test_examples_end_where_they_end() -> None:
    model, ids = made(), text(2, 6)
    example = Batch({"text": ids, "text_lengths": torch.tensor([6, 6])}, (0, 1), 10)
    assert task().loss(model, example).state is None
    assert task().loss(model, batch(ids)).state is not None


@pytest.mark.parametrize("arguments", [*CARRYING.values(), TRANSFORMER], ids=[*CARRYING, "transformer"])
def test_padding_counts_for_nothing(arguments: dict[str, Any]) -> None:
    model = made(**arguments)
    rows = [[BOS, *WORDS.encode(line), EOS] for line in TEXTS]
    together = task().loss(model, batch(padded(rows, PAD)))
    alone = [task().loss(model, batch(torch.tensor([row]))) for row in rows]
    assert together.tokens == sum(loss.tokens for loss in alone) == sum(len(row) - 1 for row in rows)
    assert float(together.nll) == pytest.approx(sum(float(loss.nll) for loss in alone), rel=1e-6)
    wider = task().loss(model, batch(padded([*rows, [BOS] * 9], PAD)[:-1]))
    assert wider.total.item() == pytest.approx(together.total.item(), rel=1e-6)


def test_the_loss_by_hand() -> None:
    model, ids = made(), text(2, 5)
    log_probs = model(ids[:, :-1]).logits.log_softmax(-1)
    expected = -sum(log_probs[row, place, ids[row, place + 1]] for row in range(2) for place in range(4))
    loss = task().loss(model, batch(ids))
    assert float(loss.nll) == pytest.approx(expected.item(), rel=1e-6)
    smoothed = replace(task(), smoothing=0.1).loss(model, batch(ids), update=3)
    even = -log_probs.mean(-1).sum()
    assert_close(smoothed.total, 0.9 * expected + 0.1 * even)
    assert_close(smoothed.nll, expected)
    assert_close(replace(task(), smoothing=0.1).loss(model, batch(ids)).total, expected)


@pytest.mark.parametrize("kind", ["elman", "lstm"])
def test_tied_embeddings_begin_near_an_even_guess(kind: str) -> None:
    model = build("language_model", 2000, embedding_dim=200, hidden_dim=200, cells=kind, tied=True)
    loss = task().loss(model, batch(torch.randint(4, 2000, (8, 21))))
    assert float(loss.nll) / loss.tokens < 1.2 * math.log(2000)


def by_steps(model: Any, prompt: list[int], count: int) -> list[int]:
    """The likeliest next word, and again, one step at a time from the very beginning."""
    state, said = model.start(None, batch=1), []
    for given in prompt:
        step = model.step(torch.tensor([given]), state)
        state = step.state
    while len(said) < count and (not said or said[-1] != EOS):
        log_probs = step.log_probs.clone()
        log_probs[:, [PAD, BOS, UNK]] = -torch.inf
        said.append(int(log_probs.argmax(-1)))
        step = model.step(torch.tensor([said[-1]]), state)
        state = step.state
    return said


@pytest.mark.parametrize("arguments", [*CARRYING.values(), TRANSFORMER], ids=[*CARRYING, "transformer"])
def test_greedy_goes_on_step_by_step_and_prompts_do_not_see_each_other(arguments: dict[str, Any]) -> None:
    model = made(**arguments)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)  # so that no two words are as good as each other but for rounding
    prompts = ["the lark", "it", "", "the herald of the", "no morn"]
    answers = [found[0] for found in task().predict(model, prompts, GREEDY, batch=2)]
    for prompt, answer in zip(prompts, answers, strict=True):
        said = by_steps(model, [BOS, *WORDS.encode(prompt)], GREEDY.max_length)
        assert list(answer.tokens) == WORDS.tokens(said)
        assert answer.source == prompt
        assert answer.text == WORDS.decode([*WORDS.encode(prompt), *said])
        assert answer.finished == (said[-1] == EOS)
        alone = task().predict(model, [prompt], GREEDY)[0][0]
        assert (alone.text, alone.tokens) == (answer.text, answer.tokens)
        assert alone.score == pytest.approx(answer.score, rel=1e-6)


def test_texts_of_a_stream_begin_after_an_end() -> None:
    model = made()
    (after_end,), (after_beginning,) = (
        task(first=first).predict(model, [""], replace(GREEDY, min_length=9))[0] for first in (EOS, BOS)
    )
    assert after_end.source_tokens == ("</s>",)
    assert after_end.tokens[0] == WORDS.tokens(by_steps(model, [EOS], 1))[0]
    assert after_end.log_probs != after_beginning.log_probs


def test_characters_begin_with_a_line_end() -> None:
    model = made(CHARACTERS.size, kind="char_rnn")
    search = replace(GREEDY, min_length=9)
    (answer,) = task(CHARACTERS, None).predict(model, [""], search)[0]
    assert answer.text[0] == "\n"
    assert len(answer.text) == 10
    (answer,) = task(CHARACTERS, None).predict(model, ["the"], search)[0]
    assert answer.text.startswith("the")
    assert answer.source_tokens == ("t", "h", "e")


def test_words_without_line_ends_begin_all_the_same() -> None:
    (answer,) = task(WORDS, None).predict(made(), [""], GREEDY)[0]
    assert answer.source_tokens == ("<unk>",)


def drawn(model: nn.Module, prompts: list[str], **settings: Any) -> list[list[Prediction]]:
    return task().predict(model, prompts, Search(strategy="sample", max_length=12, min_length=12, **settings))


def test_samples_are_a_function_of_prompt_and_seed() -> None:
    model, prompts = made(), ["the lark", "it was", "no", "the lark"]
    (first, other), was, no, again = ([one.text for one in found] for found in drawn(model, prompts, n_best=2))
    assert first != other
    assert first != was[0]
    assert again == [first, other]
    assert [one.text for one in drawn(model, ["the lark"], n_best=2)[0]] == [first, other]
    assert drawn(model, ["it was"])[0][0].text == was[0]
    assert drawn(model, ["no"], seed=1)[0][0].text != no[0]


def test_a_beam_is_at_least_as_good_as_greed() -> None:
    model = made(kind="char_rnn", attention="dot", window=2)
    beam = Search(beam_size=4, n_best=3, length_penalty="none", max_length=5, min_length=5)
    found = task().predict(model, ["the lark", "it"], beam)
    greedy = task().predict(model, ["the lark", "it"], replace(GREEDY, max_length=5, min_length=5))
    for answers, (likeliest,) in zip(found, greedy, strict=True):
        assert len(answers) == 3
        assert answers[0].score >= answers[1].score >= answers[2].score
        assert sum(answers[0].log_probs) >= sum(likeliest.log_probs) - 1e-6


def test_samples_to_look_at_go_on_from_the_first_words() -> None:
    (answer,) = task().samples(made(), ["the herald of the morn"], GREEDY, tokens=3)
    assert answer.source == "the herald of"
    assert answer.text.startswith("the herald of")


class Unsure(nn.Module):
    """Says the unknown word rather than "lark", and "lark" rather than anything else."""

    def __init__(self) -> None:
        super().__init__()
        self.anything = nn.Parameter(torch.zeros(1))

    def forward(self, text: Tensor) -> ModelOutput:
        logits = torch.zeros(*text.shape, WORDS.size, dtype=torch.double)
        logits[..., UNK], logits[..., WORDS.encode("lark")[0]], logits[..., EOS] = 9.0, 6.0, -9.0
        return ModelOutput(logits, state=self)

    def step(self, token: Tensor, state: Any) -> Step:
        return Step(self(token.unsqueeze(1)).logits[:, 0].log_softmax(-1), self)

    def select(self, rows: Tensor) -> Unsure:
        return self


SEARCHES = {
    "greedy": Search(strategy="greedy", max_length=3),
    "beam": Search(beam_size=3, max_length=3),
    "sample": Search(strategy="sample", max_length=3, top_k=1),
    "with ids of its own": Search(strategy="greedy", max_length=3, forbid=(PAD,)),
}


@pytest.mark.parametrize("search", SEARCHES.values(), ids=list(SEARCHES))
def test_unknown_words_are_generated_only_if_they_are_wanted(search: Search) -> None:
    prompts = ["the", "a snark was"]
    search = replace(search, min_length=3)
    found = [answers[0].text for answers in task().predict(Unsure().eval(), prompts, search)]
    assert found == ["the lark lark lark", "a snark was lark lark lark"]  # a prompt is left as it was written
    wanting = replace(task(), generates_unknown=True)
    found = [answers[0].text for answers in wanting.predict(Unsure().eval(), prompts, search)]
    assert found == ["the <unk> <unk> <unk>", "a snark was <unk> <unk> <unk>"]


def test_a_prompt_with_unknown_characters_goes_on_without_a_gap() -> None:
    model = build("char_rnn", CHARACTERS.size, **WIDTHS).double().eval()
    search = Search(strategy="greedy", min_length=3, max_length=3)
    [[found]] = task(CHARACTERS, None).predict(model, ["the \u2603 "], search)
    assert found.text.startswith("the \u2603 ")
    assert "<unk>" not in found.text
    assert len(found.text) == len("the \u2603 ") + 3 - found.finished

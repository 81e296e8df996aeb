"""A prompt is read once, and every search goes on behind it."""

from __future__ import annotations

import pytest
import torch

from regard.decode import Search, generate
from regard.models import AttentionConfig, CharRNN, LanguageModel
from regard.specials import EOS
from regard.systems.language_model.prompted_model import PromptedModel

SIZE = 13
PROMPTS = [[5, 6, 7], [8, 9, 10]]


def model() -> LanguageModel:
    return LanguageModel(SIZE, embedding_dim=6, hidden_dim=8).eval()


def test_the_first_step_reads_the_prompt_whatever_token_it_is_given() -> None:
    prompted, ids = PromptedModel(model()), torch.tensor(PROMPTS)
    state = prompted.start(ids, None)
    step = prompted.step(torch.tensor([2, 2]), state)
    assert torch.equal(step.log_probs, prompted.step(torch.tensor([3, 4]), state).log_probs)
    predicted = prompted.model(ids)
    torch.testing.assert_close(step.log_probs, predicted.logits[:, -1].log_softmax(-1))
    later = prompted.step(torch.tensor([11, 12]), step.state)
    whole = prompted.model(torch.cat((ids, torch.tensor([[11], [12]])), dim=1))
    torch.testing.assert_close(later.log_probs, whole.logits[:, -1].log_softmax(-1))


def test_an_exhaustive_beam_finds_the_likeliest_text_that_ends() -> None:
    given, prompts = model(), torch.tensor(PROMPTS)
    search = Search(beam_size=SIZE**2, n_best=SIZE - 1, min_length=2, max_length=2, length_penalty="none", forbid=())
    for prompt, answers in zip(prompts, generate(PromptedModel(given), prompts, search=search), strict=True):
        first = given(prompt[None]).logits[0, -1].log_softmax(-1)
        totals = {}
        for token in set(range(SIZE)) - {EOS}:
            longer = torch.cat((prompt, torch.tensor([token])))[None]
            totals[token, EOS] = (first[token] + given(longer).logits[0, -1].log_softmax(-1)[EOS]).item()
        assert [answer.tokens for answer in answers] == sorted(totals, key=totals.__getitem__, reverse=True)
        assert [answer.score for answer in answers] == pytest.approx(sorted(totals.values(), reverse=True), rel=1e-5)


def test_rows_of_a_memory_follow_the_beam() -> None:
    attentive = CharRNN(
        SIZE, embedding_dim=6, hidden_dim=8, attention=AttentionConfig(score="dot").make_score, window=2
    ).eval()
    prompts, search = torch.tensor(PROMPTS), Search(beam_size=3, n_best=3, min_length=6, max_length=6)
    for prompt, answers in zip(prompts, generate(PromptedModel(attentive), prompts, search=search), strict=True):
        for answer in answers:
            whole = torch.cat((prompt, torch.tensor(answer.tokens)))
            log_probs = attentive(whole[None, :-1]).logits[0, len(prompt) - 1 :].log_softmax(-1)
            said = log_probs.gather(1, whole[len(prompt) :, None]).squeeze(1)
            assert answer.log_probs == pytest.approx(said.tolist(), abs=1e-5)


@pytest.mark.parametrize(
    ("prompts", "lengths", "sentence"),
    [
        (torch.zeros(2, 0).long(), None, r"prompts are ids \[B, T\] with T at least 1; got \[2, 0\]"),
        (torch.ones(2, 3, 4), None, r"prompts are ids \[B, T\] with T at least 1; got \[2, 3, 4\]"),
        (torch.tensor(PROMPTS), torch.tensor([3, 2]), r"prompts of one call are all of one length; got \[3, 2\]"),
    ],
)
def test_prompts_that_cannot_be_read(prompts: torch.Tensor, lengths: torch.Tensor | None, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        generate(PromptedModel(model()), prompts, lengths, Search(strategy="greedy"))


def test_a_prompt_is_needed_and_dropout_is_not() -> None:
    with pytest.raises(ValueError, match="with T at least 1; got None"):
        generate(PromptedModel(model()), batch=2, search=Search(strategy="greedy"))
    with pytest.raises(ValueError, match="decoding needs a model without dropout"):
        generate(PromptedModel(model().train()), torch.tensor(PROMPTS))

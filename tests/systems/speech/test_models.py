"""Models of speech: losses against their definitions, padding, alignments, joint decoding."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from regard.cuda_capture import recording
from regard.data.batching.augmented import AugmentedFeed
from regard.data.batching.batch import Batch
from regard.data.batching.feed import BatchPosition, Feed
from regard.data.fields.padding import PER_EXAMPLE, PaddingRule
from regard.data.fields.tokenizer import Tokenizer
from regard.data.sound.spectrogram import LogMel
from regard.decode.search import Search
from regard.models.encoded import Encoded
from regard.specials import BOS, EOS, PAD
from regard.systems.speech.augmentation import SoundAugmentation
from regard.systems.speech.ctc_recogniser import CTCRecogniser
from regard.systems.speech.features import SoundFeatures
from regard.systems.speech.frames import FrameEncoderConfig, state_counts
from regard.systems.speech.listener import Listener
from regard.systems.speech.sounds import Sound
from regard.systems.speech.spec_augment import SpecAugment
from regard.systems.speech.task import Transcription
from regard.systems.speech.voices import Voices
from regard.tasks.ensemble import make_ensemble
from regard.train.cuda_graphs import padding_batch, recorded_sizes, write
from tests.mechanism import assert_close

WORDS = Tokenizer.train(["one two three four"], kind="words")
TASK = Transcription(
    {"recording": SoundFeatures.of_settings(LogMel(rate=8000, mels=7), "utterance"), "transcript": WORDS}
)
TINY = FrameEncoderConfig(hidden_dim=6, pyramid=1, convolutions=(2,), strides=(1,))


def ctc(seed: int = 1) -> CTCRecogniser:
    torch.manual_seed(seed)
    return CTCRecogniser(7, WORDS.size, encoder=TINY).double().eval()


def listener(weight: float = 0.3, seed: int = 1) -> Listener:
    torch.manual_seed(seed)
    sizes = {"embedding_dim": 3, "hidden_dim": 5}
    return Listener(7, WORDS.size, encoder=TINY, ctc=weight, **sizes).double().eval()  # type: ignore[arg-type]


def batch_of(frames: torch.Tensor, lengths: list[int], transcripts: list[str]) -> Batch:
    rows = [[BOS, *WORDS.encode(one), EOS] for one in transcripts]
    ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)
    tensors = {
        "recording": frames,
        "recording_lengths": torch.tensor(lengths),
        "transcript": ids,
        "transcript_lengths": torch.tensor([len(row) for row in rows]),
    }
    padding = {
        "recording": PaddingRule(0, (0, 0, None)),
        "transcript": PaddingRule(PAD, (0, 0)),
        **{f"{name}_lengths": PER_EXAMPLE for name in ("recording", "transcript")},
    }
    return Batch(tensors, tuple(range(len(rows))), sum(len(row) - 1 for row in rows), padding=padding)


def spoken() -> Batch:
    torch.manual_seed(2)
    return batch_of(torch.randn(2, 23, 7).double(), [23, 11], ["one two two", "three"])


def alone(batch: Batch, row: int, transcript: str) -> Batch:
    length = int(batch["recording_lengths"][row])
    return batch_of(batch["recording"][row : row + 1, :length], [length], [transcript])


@pytest.mark.parametrize("model", [ctc(), listener()], ids=["ctc", "listener"])
@pytest.mark.parametrize("update", [None, 3])
def test_padding_changes_no_loss(model: torch.nn.Module, update: int | None) -> None:
    whole = TASK.loss(model, spoken(), update=update).total
    parts = [TASK.loss(model, alone(spoken(), row, text), update=update).total
             for row, text in enumerate(["one two two", "three"])]  # fmt: skip
    assert torch.allclose(whole, torch.stack(parts).sum(), rtol=1e-10)


def test_the_loss_of_ctc_is_the_sum_over_all_paths() -> None:
    model = ctc()
    batch = batch_of(torch.randn(1, 5, 7).double(), [5], ["two"])  # three states
    log_probs = model(batch["recording"], batch["recording_lengths"]).logits.detach().log_softmax(-1)[0]
    assert len(log_probs) == 3
    (word,) = WORDS.encode("two")
    total = 0.0
    for path in torch.cartesian_prod(*[torch.tensor([PAD, word])] * 3).tolist():
        merged = [one for place, one in enumerate(path) if place == 0 or one != path[place - 1]]
        if [one for one in merged if one != PAD] == [word]:
            total += math.exp(sum(float(log_probs[t, one]) for t, one in enumerate(path)))
    loss = TASK.loss(model, batch)
    assert float(loss.nll.detach()) == pytest.approx(-math.log(total), rel=1e-9)
    assert loss.tokens == 2  # the word and its end, as of a decoder


def test_the_joint_loss_is_the_weighted_sum_and_validation_that_of_the_decoder() -> None:
    model, batch = listener(0.3), spoken()
    measured, trained = TASK.loss(model, batch), TASK.loss(model, batch, update=0)
    emissions, counts = model.emissions(batch["recording"], batch["recording_lengths"])
    lengths = batch["transcript_lengths"] - 2
    by_ctc = torch.nn.functional.ctc_loss(
        emissions.transpose(0, 1), batch["transcript"][:, 1:-1], counts, lengths, blank=PAD, reduction="sum"
    )
    assert torch.allclose(trained.total, 0.7 * measured.nll + 0.3 * by_ctc, rtol=1e-10)
    assert torch.equal(measured.total, measured.nll)


def test_any_encoder_can_listen() -> None:
    class Halves(torch.nn.Module):
        output_dim = 3

        def __init__(self) -> None:
            super().__init__()
            self.map = torch.nn.Conv1d(7, 3, 2, stride=2)

        def forward(self, source: torch.Tensor, lengths: torch.Tensor | None = None) -> Encoded:
            states = self.map(source.mT).mT
            return Encoded(states, states.mean(1), None)

    model = CTCRecogniser(7, WORDS.size, encoder=Halves())
    predicted = model(torch.zeros(2, 12, 7), torch.tensor([12, 12]))
    assert predicted.logits.shape == (2, 6, WORDS.size)
    assert predicted.state.tolist() == [6, 6]
    assert Listener(7, WORDS.size, encoder=Halves(), hidden_dim=5)(
        torch.zeros(2, 12, 7), None, torch.ones(2, 3).long()
    ).logits.shape == (2, 3, WORDS.size)


def test_states_are_counted_as_the_encoder_says() -> None:
    encoder, lengths = TINY(7), torch.tensor([23, 11, 1])
    assert torch.equal(state_counts(encoder(torch.zeros(3, 23, 7), lengths)), encoder.output_lengths(lengths))


def sounds() -> list[Sound]:
    rng = torch.Generator().manual_seed(5)
    return [Sound(name, 8000, torch.randn(size, generator=rng).numpy()) for name, size in (("a", 2001), ("b", 997))]


@pytest.mark.parametrize("search", [Search(strategy="greedy"), Search(beam_size=3, n_best=2, max_length=7)])
@pytest.mark.parametrize("kind", ["ctc", "listener", "attention", "ensemble"])
def test_an_answer_is_the_same_alone_and_in_a_batch(kind: str, search: Search) -> None:
    model: torch.nn.Module = make_ensemble([ctc(1), ctc(2)])
    if kind != "ensemble":
        model = ctc() if kind == "ctc" else listener(0.3 if kind == "listener" else 0.0)
    model = model.float().eval()
    both = TASK.predict(model, sounds(), search)
    for one, answers in zip(sounds(), both, strict=True):
        (again,) = TASK.predict(model, [one], search)
        assert [found.tokens for found in answers] == [found.tokens for found in again]
        assert [found.score for found in answers] == pytest.approx([found.score for found in again], rel=1e-4)
        for found in answers:
            assert found.source == one.name
            assert found.source_tokens == again[0].source_tokens
            if found.alignment is not None:
                assert found.alignment.shape == (len(found.tokens), len(found.source_tokens))
                assert torch.allclose(found.alignment.sum(1), torch.ones(len(found.tokens)), atol=1e-4)


def test_the_weight_of_ctc_in_decoding_is_that_of_training_unless_another_is_given() -> None:
    model, search = listener(0.5).float(), Search(strategy="greedy", max_length=5, length_penalty="none")
    scores = {
        weight: replace(TASK, ctc_weight=weight).predict(model, sounds(), search)[0][0].score
        for weight in (None, 0.0, 0.5, 1.0)
    }
    assert scores[None] == scores[0.5]
    assert len(set(scores.values())) == 3


def test_the_same_example_is_hidden_alike_in_any_batch_and_anew_in_each_epoch() -> None:
    class Once(Feed):
        per_epoch = 1

        def after(self, epoch: int, position: int):  # type: ignore[no-untyped-def]
            raise NotImplementedError

        def tokens(self, place: BatchPosition) -> int:
            return 3

        def batch(self, place: BatchPosition, rank: int = 0, world: int = 1) -> Batch:
            found = spoken()
            if place.position == 0:
                return found
            tensors = {name: tensor[1:] for name, tensor in found.tensors.items()}
            return replace(found, tensors=tensors, indices=(1,))

        def __str__(self) -> str:
            return "one batch"

    features = SoundFeatures.of_settings(LogMel(rate=8000, mels=7), "utterance")
    augmentation = SoundAugmentation(features, Voices(speed=0.3, tract=0.2), SpecAugment(frequency_width=3), seed=3)
    feed = AugmentedFeed(Once(), augmentation)
    first, part, later = (
        feed.batch(place) for place in (BatchPosition(0, 0), BatchPosition(0, 1), BatchPosition(1, 0))
    )
    size = int(first["recording_lengths"][1])
    assert part["recording_lengths"].tolist() == [size]
    assert_close(first["recording"][1, :size], part["recording"][0, :size], tolerance=1e-9)
    assert not first["recording"][1, size:].any()
    assert first["recording_lengths"].tolist() != later["recording_lengths"].tolist()
    assert (first["recording"][0] == 0).any()
    assert feed.unwrapped is feed.inner


def test_a_captured_update_is_the_update_and_looks_at_no_value() -> None:
    batch = spoken()
    for model in (ctc(), listener()):
        plain, captured = (gradients_of(model, batch, captured=captured) for captured in (False, True))
        for ours, theirs in zip(captured, plain, strict=True):
            assert_close(ours, theirs, tolerance=1e-9)
        larger = padding_batch(batch, recorded_sizes(batch), torch.device("meta"))
        with recording():
            total = TASK.loss(model.to("meta"), larger, update=0).total  # a tensor without values cannot be looked at
        assert total.device.type == "meta"


def gradients_of(model: torch.nn.Module, batch: Batch, *, captured: bool) -> list[torch.Tensor]:
    """Loss and gradients; a captured batch has more padding, and rows of nothing else."""
    if captured:
        larger = padding_batch(batch, recorded_sizes(batch), torch.device("cpu"))
        assert larger["recording"].shape == (4, 24, 7)
        write(batch, larger)
        with recording():
            total = TASK.loss(model, larger, update=0).total
    else:
        total = TASK.loss(model, batch, update=0).total
    return [total.detach(), *torch.autograd.grad(total, list(model.parameters()))]


def test_recordings_with_too_few_states_are_counted(tmp_path) -> None:  # type: ignore[no-untyped-def]
    from regard.data.batching.corpus import Corpus
    from regard.data.example import Example
    from regard.data.fields.tokens import TokensField
    from regard.data.problems import SkippedLines
    from regard.systems.speech.features import SoundField

    class Few:
        files = ()
        skipped = SkippedLines()

        def settings(self) -> str:
            return "few"

        def __iter__(self):  # type: ignore[no-untyped-def]
            sound = Sound("a", 8000, torch.randn(440).numpy())  # four frames, two states
            for text in ("one two", "one one", "three", "one two three"):
                yield Example({"recording": sound, "transcript": text}, text)

    fields = {"recording": SoundField(TASK.features), "transcript": TokensField(WORDS, begin=True, end=True)}
    corpus = Corpus.build(Few(), fields, tmp_path)  # type: ignore[arg-type]
    (warning,) = TASK.data_warnings(ctc(), corpus)
    assert warning.startswith("2 of 4")
    assert TASK.data_warnings(listener(0.0), corpus) == []

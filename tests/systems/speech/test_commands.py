"""Commands on recordings: training, its resumption, answers, pictures, comparison, and bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regard
from regard.cli import app
from regard.data.sound.wav import wav_bytes, write_wav
from regard.recipes.load import load
from regard.systems.speech.baseline import baselines
from regard.systems.speech.task import Transcription
from regard.systems.speech.tones import Tones
from regard.tasks.loss import Loss
from tests.cli.command import RUN, asked, refused

RECIPE = """\
run: tiny
task: transcribe
data: {format: tones, train_size: 48, valid_size: 8, test_size: 8, longest: 2, features: {mels: 13}}
tokenizer: {kind: words}
model: {kind: ctc, encoder: {hidden_dim: 8, pyramid: 2}}
train:
  steps: 6
  batch: {sentences: 8}
  log_every: 2
  valid_every: 3
  checkpoint_every: 2
  spec_augment: {frequency_width: 3}
decode: {strategy: greedy, max_length: 8}
"""
SMALL = ("data.train_size=8", "data.valid_size=2", "data.test_size=2")
LISTENER = ("model.kind=listener", "model.hidden_dim=8", "model.ctc=0.4", "train.spec_augment=null")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs, and recordings beside them."""
    folder = tmp_path_factory.mktemp("speech")
    (folder / "tiny.yaml").write_text(RECIPE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        asked("train", "tiny.yaml")
        asked("train", "tiny.yaml", "run=heard", *LISTENER)
    samples = Tones("test", longest=2).example(1).fields["recording"].samples
    write_wav(folder / "a.wav", samples, 8000)
    (folder / "mine.tsv").write_text("a.wav\tsa bi\na.wav\tmu\n")
    return folder


@pytest.fixture
def folder(trained: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(trained)
    return trained


@pytest.mark.parametrize("run", ["tiny", "heard"])
def test_a_file_its_bytes_and_a_list_of_files_are_answered(folder: Path, run: str) -> None:
    answer = json.loads(asked("predict", f"runs/{run}", "a.wav", "--json", "--alignment"))
    assert np.shape(answer["alignment"] or []) in ((0,), (len(answer["tokens"]), len(answer["source_tokens"])))
    assert asked("predict", f"runs/{run}", "a.wav") == f"{answer['text']}\n"
    assert asked("predict", f"runs/{run}", "--file", "mine.tsv", "--format", "recordings") == f"{answer['text']}\n" * 2
    (folder / "list.txt").write_text("a.wav\na.wav\n")
    assert asked("predict", f"runs/{run}", "--file", "list.txt") == f"{answer['text']}\n" * 2
    model = regard.load(f"runs/{run}")
    given = [folder / "a.wav", (folder / "a.wav").read_bytes(), {"recording": "a.wav"}]
    assert [one.text for one in model.predict(given)] == [answer["text"]] * 3
    assert len(model.n_best("a.wav", 2, strategy="beam", beam_size=3)[0]) == 2
    measured = json.loads(asked("evaluate", f"runs/{run}", "mine.tsv", "--format", "recordings", "--json"))
    assert {"loss", "wer", "cer", "exact_match"} <= set(measured)


def test_other_rates_channels_and_widths_are_read_and_noted(folder: Path) -> None:
    samples = 0.4 * np.sin(np.arange(8000) / 9)
    write_wav(folder / "wide.wav", np.stack((samples, samples), 1), 16000)
    write_wav(folder / "silent.wav", np.zeros(900), 8000)
    whole = bytearray(wav_bytes(samples, 8000))
    (folder / "cut.wav").write_bytes(whole[:9000])
    eight = bytearray(wav_bytes(np.zeros(0), 8000))
    eight[28:36] = (8000).to_bytes(4, "little") + b"\x01\x00\x08\x00"  # bytes per second, per frame; bits
    body = (128 + 50 * samples).astype(np.uint8).tobytes()
    (folder / "eight.wav").write_bytes(bytes(eight[:40]) + len(body).to_bytes(4, "little") + body)
    notes = {
        "wide": ("2 channels", "16,000 to 8,000"),
        "silent": ("silent",),
        "cut": ("cut off",),
        "eight": ("8 bits",),
    }
    for name in notes:
        shown = asked("predict", "runs/tiny", f"{name}.wav")
        assert f"{name}.wav" in shown
        assert all(note in " ".join(shown.split()) for note in notes[name])
    lines = [f"{name}.wav\tsa\n" for name in ("a", *notes)]
    (folder / "odd.tsv").write_text("".join(lines))
    own = (folder / "tiny.yaml").read_text().splitlines()
    own[2] = "data: {format: recordings, train: odd.tsv, valid: mine.tsv, features: {rate: 8000}}"
    (folder / "odd.yaml").write_text("\n".join(own))
    shown = " ".join(asked("train", "odd.yaml", "run=odd", "--dry-run").split())
    assert "5 notes on files" in shown


def test_bad_input_is_one_sentence(folder: Path) -> None:
    (folder / "bad.wav").write_bytes(b"RIFF....")
    assert "bad.wav" in refused("predict", "runs/tiny", "bad.wav")
    assert "nowhere.wav" in refused("predict", "runs/tiny", "nowhere.wav")
    (folder / "bad.tsv").write_text("a.wav\tsa\nbad.wav\tsu\n")
    own = (folder / "tiny.yaml").read_text().splitlines()
    own[2] = "data: {format: recordings, train: bad.tsv, valid: mine.tsv, features: {rate: 8000}}"
    (folder / "own.yaml").write_text("\n".join(own))
    assert "bad.tsv:2" in refused("train", "own.yaml", "run=bad")
    for override, key in (
        ("train.label_smoothing=0.1", "label_smoothing"),
        ("decode.strategy=sample", "strategy"),
        ("decode.ctc_weight=0.5", "ctc_weight"),
        ("data.features={rate: 8000, low: 5000}", "low"),
        ("decode.language_model=runs/none", "language_model"),
        ("model.encoder={hiden_dim: 8}", "hidden_dim"),
        ("train.voices={tracts: 0.1}", "tract"),
    ):
        assert key in refused("train", "tiny.yaml", "run=wrong", override)


def test_voices_and_deltas_do_not_go_together(folder: Path) -> None:
    said = refused("train", "tiny.yaml", "run=wrong", "train.voices={}", "data.features.deltas=1")
    assert "data.features.deltas" in said


def test_a_picture_has_the_spectrogram_and_a_page_the_table(folder: Path) -> None:
    for name in ("view.png", "view.svg", "view.html"):
        asked("view", "runs/heard", "a.wav", "--output", name)
        assert (folder / name).stat().st_size > 1000


def test_a_stopped_run_goes_on_to_the_same_numbers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Transcription.loss

    def failing(self: Transcription, *given: Any, update: int | None = None, **more: Any) -> Loss:
        if update == 5:
            raise RuntimeError("stopped")
        return plain(self, *given, update=update, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Transcription, "loss", failing)
        with pytest.raises(RuntimeError, match="stopped"):
            RUN.invoke(app, ["train", "tiny.yaml", "run=half"], catch_exceptions=False)
    assert list((folder / "runs" / "half" / "checkpoints").glob("0*"))
    asked("train", "tiny.yaml", "run=half")
    assert (folder / "runs/half/metrics.jsonl").read_text() == (folder / "runs/tiny/metrics.jsonl").read_text()


def test_a_dry_run_shows_the_shapes_of_a_batch(folder: Path) -> None:
    assert "recording [8, " in asked("train", "tiny.yaml", "run=dry", "--dry-run")


def test_runs_are_compared_and_baselines_computed(folder: Path) -> None:
    shown = asked("compare", "tiny.yaml", "train.seed=1,2", "train.steps=1", "train.valid_every=1", *SMALL)
    assert "WER" in shown or "wer" in shown
    found = dict(baselines(load("tiny.yaml", ["data.longest=1"]).recipe))
    assert list(found) == ["most frequent", "nearest neighbour", "logistic regression"]
    assert all(0 <= value <= 1 for values in found.values() for value in values.values())


def test_a_language_model_of_the_same_words_ranks_transcripts(folder: Path) -> None:
    (folder / "said.txt").write_text("sa bi\nmu mu sa\nba si\n" * 10)
    (folder / "lm.yaml").write_text(
        "run: lm\ntask: language_model\ndata: {format: text, train: said.txt, valid: said.txt}\n"
        "tokenizer: {kind: words}\nmodel: {kind: language_model, embedding_dim: 4, hidden_dim: 8}\n"
        "train: {steps: 3, batch: {sentences: 8}, valid_every: 3}\n"
    )
    asked("train", "lm.yaml")
    beam = ["decode.strategy=beam", "decode.beam_size=4"]
    plain = regard.load("runs/tiny", overrides=beam).n_best("a.wav", 3)[0]
    fused = regard.load(
        "runs/tiny", overrides=[*beam, "decode.language_model=runs/lm", "decode.language_weight=2.0"]
    ).n_best("a.wav", 3)[0]
    assert [one.score for one in plain] != [one.score for one in fused]
    with pytest.raises(ValueError, match="runs/tiny"):
        regard.load("runs/tiny", overrides=[*beam, "decode.language_model=runs/tiny"])

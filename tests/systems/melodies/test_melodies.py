"""Melodies from recipe to sound: training, the command `play`, and the pitches in its WAV files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import regard
from regard.data.sound.wav import read_wav
from regard.systems.melodies.task import plain_prompt
from tests.cli.command import asked, refused

TUNE = "X:1\nM:4/4\nL:1/4\nQ:1/4=240\nK:D\nF A d z|c'2 ^G2:|\n"


def heard(path: Path, seconds: list[tuple[float, float]]) -> list[int]:
    """Return the pitch of each stretch of a recording: the strongest frequency of the organ is the fundamental."""
    wav = read_wav(path.read_bytes())
    found = []
    for begin, end in seconds:
        part = wav.samples[int(begin * wav.rate) : int(end * wav.rate), 0]
        spectrum = np.abs(np.fft.rfft(part * np.hanning(len(part)), 1 << 17))
        hertz = spectrum.argmax() * wav.rate / (1 << 17)
        found.append(round(69 + 12 * float(np.log2(hertz / 440))))
    return found


def test_the_sound_has_the_pitches_of_the_tune(tmp_path: Path) -> None:
    """F sharp, A, D, a rest, C sharp two octaves above middle C, and G sharp; a quarter of a second per beat."""
    (tmp_path / "tune.abc").write_text(TUNE)
    said = asked("play", tmp_path / "tune.abc", "--output", tmp_path / "out")
    assert "1 of 1 tunes parse, 1 without a remark" in said
    wav = tmp_path / "out" / "001.wav"
    expected, spans = [66, 69, 74, 85, 68], [(0.0, 0.25), (0.25, 0.5), (0.5, 0.75), (1.0, 1.5), (1.5, 2.0)]
    assert heard(wav, spans) == expected
    assert heard(wav, [(begin + 2, end + 2) for begin, end in spans]) == expected  # the repeat
    samples = read_wav(wav.read_bytes()).samples
    assert not samples[12100:15900].any()
    assert len(samples) == 4 * 16000
    midi = (tmp_path / "out" / "001.mid").read_bytes()
    struck = [midi[at + 1] for at in range(len(midi) - 2) if midi[at] == 0x90 and midi[at + 2] == 80]
    assert struck == expected * 2


def test_what_is_wrong_is_said_and_not_played(tmp_path: Path) -> None:
    (tmp_path / "bad.abc").write_text("K:C\nCHD\n")
    said = asked("play", tmp_path / "bad.abc", "--output", tmp_path / "out")
    assert "line 2, column 2: 'H'" in said
    assert "0 of 1 tunes parse" in said
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["001.abc"]
    assert "--prompt" in refused("play", tmp_path / "bad.abc", "--prompt", "M:3/4")
    assert "--tempo 3" in refused("play", tmp_path / "bad.abc", "--tempo", "3")
    assert "--output" in refused("play", tmp_path / "bad.abc", "--output", tmp_path / "bad.abc")
    assert "nowhere" in refused("play", tmp_path / "nowhere")


def test_a_tune_too_long_for_a_recording_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "two.abc").write_text("X:1\nK:C\n" + "C64" * 50 + "\n\nX:2\nK:C\nC\n")
    said = asked("play", tmp_path / "two.abc", "--output", tmp_path / "out")
    assert "tune 1: the tune lasts 800 s" in " ".join(said.split())
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"001.abc", "001.mid", "002.abc", "002.mid", "002.wav"}


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ("", ""),
        ("M:6/8 K:G", "M:6/8\nK:G\n"),
        ("K:G |:G2", "K:G\n|:G2"),
        ("T:Mine\nK:G\nM:3/4\nG2 A", "M:3/4\nK:G\nG2 A"),
        ('K:G "G"G2', 'K:G\n"G"G2'),
    ],
)
def test_prompts_are_written_as_training_texts(given: str, plain: str) -> None:
    assert plain_prompt(given) == plain


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("melodies")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        small = ("data.train_size=64", "data.valid_size=8", "data.test_size=8", "model.hidden_dim=24", "train.steps=30")
        asked("train", "airs", *small, "train.valid_every=30", "train.log_every=10")
    return folder / "runs" / "airs"


def test_a_run_plays_predicts_and_is_drawn(run: Path, tmp_path: Path) -> None:
    options = ("--decode", "max_length=40", "--tunes", "3", "--seed", "5", "--prompt", "M:6/8 K:G |:G3 A3|")
    first, second = (asked("play", run, *options, "--output", tmp_path / name) for name in "ab")
    assert first.replace(f"{tmp_path}/a", "") == second.replace(f"{tmp_path}/b", "")
    assert "of 3 tunes parse" in first
    assert (tmp_path / "a" / "003.abc").read_text().startswith("X:1\nM:6/8\nK:G\n|:G3 A3|")
    (answer,) = regard.load(run).predict("M:6/8 K:G |:G3", max_length=9, seed=1)
    assert answer.text.startswith("M:6/8\nK:G\n|:G3")
    asked("view", run, "M:6/8 K:G |:G3 A3|", "--output", tmp_path / "view.png")
    assert (tmp_path / "view.png").stat().st_size > 1000


def test_padding_changes_nothing(run: Path) -> None:
    """The loss of a short tune is the same beside a long one."""
    import torch

    from regard.data.batching.batch import padded

    model = regard.load(run).model
    short, long = torch.tensor([4, 5, 6, 7, 8]), torch.tensor([5, 6, 7, 8, 9, 10, 11])
    with torch.inference_mode():
        alone = model(short[None]).logits
        beside = model(padded([short.tolist(), long.tolist()], 0)).logits
    torch.testing.assert_close(beside[:1, :5], alone)

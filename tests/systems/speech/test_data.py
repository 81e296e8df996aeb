"""Data of speech: sounds, features, generated and real strings, recordings in files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.data.example import BadLine
from regard.data.problems import DataError
from regard.data.sound.spectrogram import LogMel
from regard.data.sound.wav import write_wav
from regard.systems.speech.features import SoundFeatures, SoundField
from regard.systems.speech.fsdd import Fsdd, read_digits
from regard.systems.speech.recordings import Recordings
from regard.systems.speech.sounds import Sound, sound_of
from regard.systems.speech.tones import WORDS, Speaker, Tones, synthesise


def tone(size: int = 800, rate: int = 8000) -> np.ndarray:
    return (0.5 * np.sin(2 * np.pi * 440 * np.arange(size) / rate)).astype(np.float32)


@pytest.fixture
def digits(tmp_path: Path) -> Path:
    """An archive of two speakers with three digits and 12 takes each; the level of a recording is its number."""
    label, speaker, index = (part.ravel() for part in np.meshgrid(range(3), ["ada", "bo"], range(12), indexing="ij"))
    count = len(label)
    audio = np.repeat(np.arange(count, dtype=np.int16), 40)
    path = tmp_path / "fsdd.npz"
    np.savez(path, audio=audio, offsets=np.arange(count + 1) * 40, label=label, speaker=speaker, index=index, rate=8000)
    return path


def test_a_sound_is_a_path_bytes_or_a_mapping_and_other_rates_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    write_wav(path, tone(1600, 16000), 16000)
    found = [sound_of(path), sound_of(str(path)), sound_of(path.read_bytes()), sound_of({"recording": str(path)})]
    assert [one.rate for one in found] == [16000] * 4
    assert all(np.array_equal(one.samples, found[0].samples) for one in found)
    assert found[0].notes(16000) == []
    assert "16,000 to 8,000" in found[0].notes(8000)[0]
    assert str(path) in found[0].notes(8000)[0]
    assert len(found[0].at(8000)) == 800
    array = sound_of({"recording": tone(), "rate": 8000})
    assert np.array_equal(array.samples, tone())


@pytest.mark.parametrize("given", [7, {"sound": "a.wav"}, np.zeros(5), {"recording": np.zeros(5)}, b"", "nowhere.wav"])
def test_what_is_no_sound_is_one_sentence(given: object) -> None:
    with pytest.raises(DataError) as refused:
        sound_of(given)
    assert "\n" not in str(refused.value)


def test_features_are_normalised_and_survive_a_file(tmp_path: Path) -> None:
    sounds = [Sound("a", 8000, tone(1237)), Sound("b", 8000, (tone(2311) / 10).astype(np.float32))]
    one = SoundFeatures.of_settings(LogMel(rate=8000, mels=7), "utterance")
    frames = torch.from_numpy(one(sounds[0]))
    assert frames.shape == (13, 7)  # 1 + (1237 - 200) // 80
    assert torch.allclose(frames.mean(0), torch.zeros(7), atol=1e-5)
    corpus = SoundFeatures.of_settings(LogMel(rate=8000, mels=7), "corpus").learned_from(sounds)
    both = torch.cat([torch.from_numpy(corpus(sound)) for sound in sounds])
    assert torch.allclose(both.mean(0), torch.zeros(7), atol=1e-4)
    assert not torch.allclose(torch.from_numpy(corpus(sounds[0])).mean(0), torch.zeros(7), atol=0.1)
    corpus.save(tmp_path / "sound.json")
    assert SoundFeatures.load(tmp_path / "sound.json") == corpus
    (tmp_path / "bad.json").write_text('{"axes": 3}')
    with pytest.raises(DataError, match=r"bad\.json"):
        SoundFeatures.load(tmp_path / "bad.json")


def test_the_field_reads_paths_and_resamples(tmp_path: Path) -> None:
    write_wav(tmp_path / "a.wav", tone(3200, 16000), 16000)
    field = SoundField(settings=SoundFeatures.of_settings(LogMel(rate=8000, mels=5), "none"))
    field = field.with_encoder(field.learn([]))
    stored = field.encode([str(tmp_path / "a.wav"), Sound("b", 8000, tone(1600))])
    assert stored["shapes"].values.tolist() == [[18, 5], [18, 5]]


def test_a_silent_recording_becomes_zeros() -> None:
    features = SoundFeatures.of_settings(LogMel(rate=8000, mels=3), "utterance")
    assert not features(Sound("silent", 8000, np.zeros(900, np.float32))).any()


def test_tones_are_the_same_each_time_and_splits_have_their_own_speakers() -> None:
    first, again = Tones(size=3).example(2), Tones(size=9).example(2)
    assert first.fields["transcript"] == again.fields["transcript"]
    assert np.array_equal(first.fields["recording"].samples, again.fields["recording"].samples)
    assert 0.4 < np.abs(first.fields["recording"].samples).max() <= 0.6
    words = {word for example in Tones(size=60, longest=3) for word in example.fields["transcript"].split()}
    assert words == set(WORDS)
    assert {len(example.fields["transcript"].split()) for example in Tones(size=60, longest=3)} == {1, 2, 3}
    other = Tones("test", size=3).example(2)
    assert other.fields["recording"].name != first.fields["recording"].name
    with pytest.raises(DataError, match="shortest"):
        Tones(shortest=4, longest=3)


def test_a_hiss_is_high_and_a_hum_is_low() -> None:
    speaker = Speaker(pitch=120.0, tract=1.0, speed=1.0)

    def centre(word: str) -> float:
        samples = synthesise([word], speaker, np.random.default_rng(1), noise=60.0)[450:950]
        power = np.abs(np.fft.rfft(samples)) ** 2
        return float((power * np.fft.rfftfreq(500, 1 / 8000)).sum() / power.sum())

    assert centre("sa") > 2500
    assert centre("ma") < 800


def test_takes_divide_the_digits_and_no_recording_is_in_two_splits(digits: Path) -> None:
    splits = {part: Fsdd(part, path=digits) for part in ("train", "valid", "test")}
    assert {part: len(found) for part, found in splits.items()} == {"train": 12, "valid": 30, "test": 30}
    levels = [{float(one.fields["recording"].samples[0]) for one in found} for found in splits.values()]
    assert sum(map(len, levels)) == len(set().union(*levels)) == 72
    labels = read_digits(digits).label
    for example in splits["test"]:
        number = round(float(example.fields["recording"].samples[0]) * 32768)
        assert example.fields["transcript"] == ("zero", "one", "two")[labels[number]]


def test_an_unseen_speaker_is_in_test_alone(digits: Path) -> None:
    strings = {"path": digits, "size": 20, "shortest": 2, "longest": 3, "unseen": "bo"}
    speakers = read_digits(digits).speaker
    for part, wanted in (("train", "ada"), ("valid", "ada"), ("test", "bo")):
        for example in Fsdd(part, **strings):  # type: ignore[arg-type]
            count = len(example.fields["transcript"].split())
            samples = example.fields["recording"].samples
            assert 2 <= count <= 3
            assert 40 * count <= len(samples) <= 40 * count + 800 * (count - 1)
            assert {str(speakers[round(float(samples[place]) * 32768)]) for place in (0, -1)} == {wanted}
    with pytest.raises(DataError, match="ada, bo"):
        len(Fsdd(path=digits, unseen="cy"))


def test_no_archive_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "fsdd.npz").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"fsdd\.npz"):
        len(Fsdd(path=tmp_path / "fsdd.npz"))


def test_recordings_are_lines_or_objects_and_a_bad_one_is_named(tmp_path: Path) -> None:
    write_wav(tmp_path / "a.wav", tone(), 8000)
    (tmp_path / "mine.tsv").write_text("a.wav\tseven one\nno tab\nb.wav\ttwo\na.wav\t\n")
    found = list(Recordings(tmp_path / "mine.tsv").read())
    assert found[0] == ({"recording": str(tmp_path / "a.wav"), "transcript": "seven one"}, f"{tmp_path}/mine.tsv:1")
    assert [one.where[-2:] for one in found if isinstance(one, BadLine)] == [":2", ":3", ":4"]
    rows = [{"recording": "a.wav", "transcript": "six"}, {"recording": 3}, ["a"]]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + "{\n")
    kinds = [type(one).__name__ for one in Recordings(tmp_path / "mine.jsonl").read()]
    assert kinds == ["Example", "BadLine", "BadLine", "BadLine"]
    asked = Recordings(tmp_path / "mine.tsv").asking({}).read()
    assert [isinstance(one, BadLine) for one in asked] == [False, True, True, False]

"""Tunes sampled from a run or read from a file, and their output as ABC, MIDI and WAV."""

from __future__ import annotations

from pathlib import Path

from regard.data.problems import DataError
from regard.data.sound.wav import write_wav
from regard.predictor import load
from regard.systems.melodies.abc import Tune, parse
from regard.systems.melodies.abc import tunes as tunes_of
from regard.systems.melodies.notes import tones, write_midi

_RATE = 16000
_LONGEST = 600.0  # maximum seconds of a recording
_TOGETHER = 64  # tunes per sampling batch


def generated(
    run: Path, prompt: str, count: int, *, seed: int = 0, overrides: list[str] | None = None
) -> list[tuple[str, Tune]]:
    """Return sampled tunes, as text and parsed.

    Args:
        run: run of the task melody.
        prompt: beginning of the tunes; "" for any metre and key.
        count: number of tunes.
        seed: seed of the samples.
        overrides: overrides of the recipe: `["decode.temperature=0.7"]`.
    """
    predictor = load(run, overrides=overrides)
    texts: list[str] = []
    for begin in range(0, count, _TOGETHER):
        many = min(_TOGETHER, count - begin)
        answers = predictor.n_best(prompt, many, strategy="sample", seed=seed + begin)
        texts += [answer.text for answer in answers[0]]
    return [(text, parse(text)) for text in texts]


def read(path: Path) -> list[tuple[str, Tune]]:
    """Return the tunes of an ABC file; a file without a line X is one tune."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        text = path.read_text(encoding="latin-1")
    return [(tune, parse(tune)) for _, tune in tunes_of(text)] or [(text, parse(text))]


def write(path: Path, text: str, tune: Tune, *, tempo: float | None = None) -> None:
    """Write a tune as .abc, and if it is valid also as .mid and .wav.

    Args:
        path: path of the files without a suffix.
        text: the tune in ABC notation.
        tune: the parsed tune.
        tempo: quarter notes per minute; None for the tempo of the tune.

    Raises:
        DataError: the tune is too long for a recording; the other files are still written.
    """
    first = "" if text.startswith("X:") else "X:1\n"
    path.with_suffix(".abc").write_text(f"{first}{text}\n", encoding="utf-8")
    if tune.errors:
        for suffix in (".mid", ".wav"):  # stale files of an earlier tune with this number
            path.with_suffix(suffix).unlink(missing_ok=True)
        return
    speed = tempo or tune.tempo
    write_midi(path.with_suffix(".mid"), tune.notes, tempo=speed)
    seconds = sum(note.beats for note in tune.notes) * 60 / speed
    if seconds > _LONGEST:
        raise DataError(f"the tune lasts {seconds:.0f} s; {_LONGEST:.0f} s are the most for a WAV, set --tempo higher")
    write_wav(path.with_suffix(".wav"), tones(tune.notes, rate=_RATE, tempo=speed), _RATE)

"""Recipe sections of speech: data and features, augmentation, and joint decoding."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from regard.recipes.data_section import DataSection, FieldLayout, GeneratedData, SplitName
from regard.recipes.data_sections import SplitFiles
from regard.recipes.files import DataFile
from regard.recipes.section import Section, own_keys

if TYPE_CHECKING:
    from regard.data.example import DataReader, Examples
    from regard.recipes.sections import Recipe


class FeaturesSection(Section):
    """Log-mel features of a recording."""

    rate: int = Field(16000, ge=1000, le=192000)
    """Samples per second; recordings of another rate are resampled."""
    window: float = Field(0.025, gt=0, le=1)
    """Length of a frame in seconds."""
    hop: float = Field(0.010, gt=0, le=1)
    """Hop between frames in seconds."""
    mels: int = Field(40, ge=1, le=512)
    """Number of mel bands."""
    low: float = Field(0.0, ge=0)
    """Lower edge of the lowest band in Hz."""
    high: float | None = Field(None, gt=0)
    """Upper edge of the highest band in Hz; None for half of the sampling rate."""
    floor: float = Field(1e-6, gt=0)
    """Floor of the energy of a band; lower energies are clamped to it."""
    deltas: Literal[0, 1, 2] = 0
    """Number of time derivatives appended to the bands: none, velocity (delta), and acceleration (delta-delta)."""
    normalise: Literal["utterance", "corpus", "none"] = "utterance"
    """Normalisation of each band to mean 0 and variance 1: per recording, over the training data, or none."""

    @model_validator(mode="after")
    def _fitting(self) -> FeaturesSection:
        top = self.rate / 2 if self.high is None else self.high
        if not self.low < top <= self.rate / 2:
            raise ValueError(f"low {self.low:g}, high {top:g} and half of the rate, {self.rate / 2:g}, must rise")
        if round(self.window * self.rate) < 2 or round(self.hop * self.rate) < 1:
            raise ValueError(f"a window of {self.window} s and a hop of {self.hop} s are less than a sample")
        return self


class NarrowFeatures(FeaturesSection):
    """Log-mel features of recordings of 8 kHz."""

    rate: int = Field(8000, ge=1000, le=192000)
    """Samples per second; recordings of another rate are resampled."""


class SpecAugmentSection(Section):
    """SpecAugment: time spans and bands are masked in training, differently in each epoch."""

    frequency_masks: int = Field(2, ge=0)
    """Number of frequency masks."""
    frequency_width: int = Field(8, ge=0)
    """Maximum width of a frequency mask in bands."""
    time_masks: int = Field(2, ge=0)
    """Number of time masks."""
    time_width: int = Field(30, ge=0)
    """Maximum length of a time mask in frames."""
    time_share: float = Field(0.2, ge=0, le=1)
    """Maximum length of a time mask as a share of the recording."""
    time_warp: int = Field(0, ge=0)
    """Maximum shift of the time warp in frames."""


class VoicesSection(Section):
    """Voice perturbation: speed, vocal tract length and gain change at random in training, anew in each epoch."""

    speed: float = Field(0.15, ge=0, le=0.5)
    """Maximum relative change of the duration of a recording."""
    tract: float = Field(0.15, ge=0, le=0.5)
    """Maximum relative shift of all frequencies, as by a shorter or longer vocal tract."""
    gain: float = Field(6.0, ge=0, le=60)
    """Maximum change of the level in decibels."""


class SpeechTraining(Section):
    """Keys of `train` that belong to speech."""

    voices: VoicesSection | None = None
    """Voice perturbation: speed, vocal tract length and gain; None for none."""

    spec_augment: SpecAugmentSection | None = None
    """SpecAugment; None for none."""


class SpeechDecoding(Section):
    """Keys of `decode` that belong to speech."""

    ctc_weight: float | None = Field(None, ge=0, le=1)
    """Weight of CTC in joint decoding of a listener, 0 for attention alone; None for its weight in training."""
    language_model: str | None = None
    """Folder of a run whose language model has the same tokens, for prefix beam search of the model `ctc`."""
    language_weight: float = Field(0.5, ge=0)
    """Weight of the log-probability of the language model."""
    language_bonus: float = 0.0
    """Bonus per token, which compensates for the preference of a language model for short outputs."""


class TonesData(GeneratedData):
    """Generated strings of syllables by synthetic speakers in noise; test speakers are unseen in training."""

    made: ClassVar[str] = "regard.systems.speech.tones:Tones"

    format: Literal["tones"]
    """Selects this format."""
    train_size: int = Field(2000, ge=1)
    """Number of strings to train on."""
    valid_size: int = Field(200, ge=1)
    """Number of strings to validate on."""
    test_size: int = Field(300, ge=1)
    """Number of strings to test on."""
    shortest: int = Field(1, ge=1)
    """Minimum number of syllables in a string."""
    longest: int = Field(5, ge=1, le=100)
    """Maximum number of syllables in a string."""
    speakers: int = Field(20, ge=1)
    """Number of speakers of each split."""
    seed: int = 0
    """Random seed of speakers and strings."""
    features: NarrowFeatures = NarrowFeatures()
    """Features of a recording."""

    def arguments(self, split: SplitName) -> dict[str, Any]:
        return {name: value for name, value in super().arguments(split).items() if name != "features"}

    def check(self) -> None:
        self._made(**self.arguments("train"))


class FsddData(DataSection):
    """Spoken digits of the Free Spoken Digit Dataset: single ones, or strings of several."""

    format: Literal["fsdd"]
    """Selects this format."""
    root: Path | None = None
    """Folder of the archive; None for the current one."""
    file: DataFile = "fsdd.npz"
    """File name of the archive with audio, offsets, label, speaker, index and rate."""
    shortest: int = Field(1, ge=1)
    """Minimum number of digits in a string."""
    longest: int = Field(1, ge=1, le=100)
    """Maximum number of digits in a string; 1 for single recordings."""
    gap: float = Field(0.1, ge=0, le=10)
    """Maximum gap between two digits in seconds."""
    unseen: str | None = None
    """Test speaker, excluded from training; None to test on other takes of the training speakers."""
    train_size: int | None = Field(None, ge=1)
    """Number of strings to train on; None for each recording once, as single digits."""
    valid_size: int | None = Field(None, ge=1)
    """Number of strings to validate on; None for each recording once, as single digits."""
    test_size: int | None = Field(None, ge=1)
    """Number of strings to test on; None for each recording once, as single digits."""
    seed: int = 0
    """Random seed of the strings."""
    features: NarrowFeatures = NarrowFeatures()
    """Features of a recording."""

    @model_validator(mode="after")
    def _fitting(self) -> FsddData:
        if self.shortest > self.longest:
            raise ValueError(f"shortest {self.shortest} is more than longest {self.longest}")
        if self.longest > 1 and None in (self.train_size, self.valid_size, self.test_size):
            raise ValueError("strings are drawn, so that they need numbers; set train_size, valid_size and test_size")
        return self

    def examples(self, split: SplitName, reading: FieldLayout) -> Examples | None:
        from regard.systems.speech.fsdd import Fsdd

        kept = self.model_dump(include={"shortest", "longest", "gap", "unseen", "seed"})
        path = (self.root or Path()) / self.file
        return Fsdd(split, path=path, size=getattr(self, f"{split}_size"), **kept)


class RecordingsData(SplitFiles):
    """Recordings in audio files: lines of path, tab and transcript, or JSON objects with both."""

    format: Literal["recordings"]
    """Selects this format."""
    features: FeaturesSection = FeaturesSection()
    """Features of a recording."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.systems.speech.recordings import Recordings

        return Recordings(self._path(named), **self.reading())


_CTC = "ctc"


def check_training(recipe: Recipe) -> None:
    """Check that label smoothing is used with a decoder only, and that there are no windows of running text."""
    if recipe.train.label_smoothing and recipe.model.kind == _CTC:
        raise ValueError("label_smoothing is of a decoder, and the model ctc has none; leave it out")
    if recipe.train.batch.window is not None:
        raise ValueError("a window is of running text; recordings are read whole: set batch.sentences or batch.tokens")
    features = getattr(recipe.data, "features", None)
    if own_keys(recipe.train, SpeechTraining).voices is not None and features is not None and features.deltas:
        raise ValueError("voices moves bands, and deltas are none; set data.features.deltas to 0, or leave voices out")


def check_decoding(recipe: Recipe) -> None:
    """Check the search: no sampling of frames, and joint decoding only for a listener trained with CTC."""
    decode = own_keys(recipe.decode, SpeechDecoding)
    if decode.language_model is not None and (recipe.model.kind != _CTC or recipe.search().strategy != "beam"):
        raise ValueError("language_model is for the model ctc with strategy 'beam'; leave it out")
    if recipe.model.kind == _CTC:
        if recipe.search().strategy == "sample":
            raise ValueError("the model ctc is decoded with strategy 'greedy' or 'beam'; it draws no samples")
        if decode.ctc_weight is not None:
            raise ValueError("ctc_weight mixes CTC with attention, and the model ctc has no attention; leave it out")
    elif decode.ctc_weight and not recipe.model.ctc:
        raise ValueError("ctc_weight needs a listener that is trained with CTC too; set model.ctc above 0")

"""Recipe sections of speech: its data with their features, augmentation, and joint decoding."""

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
    """Seconds per frame."""
    hop: float = Field(0.010, gt=0, le=1)
    """Seconds from one frame to the next."""
    mels: int = Field(40, ge=1, le=512)
    """Number of bands."""
    low: float = Field(0.0, ge=0)
    """The beginning of the lowest band, in Hz."""
    high: float | None = Field(None, gt=0)
    """The end of the highest band, in Hz; None for half of the rate."""
    floor: float = Field(1e-6, gt=0)
    """The least energy of a band; what lies below counts as silence."""
    deltas: Literal[0, 1, 2] = 0
    """Derivatives in time beside the bands: none, velocity, and acceleration."""
    normalise: Literal["utterance", "corpus", "none"] = "utterance"
    """Mean 0 and variance 1 of each band in every recording, over the training data, or not at all."""

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
    """SpecAugment: stretches of time and bands that are hidden in training, anew in each epoch."""

    frequency_masks: int = Field(2, ge=0)
    """Number of hidden bands."""
    frequency_width: int = Field(8, ge=0)
    """The widest hidden band, in features."""
    time_masks: int = Field(2, ge=0)
    """Number of hidden stretches of time."""
    time_width: int = Field(30, ge=0)
    """The longest hidden stretch, in frames."""
    time_share: float = Field(0.2, ge=0, le=1)
    """The longest hidden stretch, as a share of the recording."""
    time_warp: int = Field(0, ge=0)
    """Frames by which a random point of time is moved at most."""


class VoicesSection(Section):
    """Other voices: recordings are changed at random in training, anew in each epoch."""

    speed: float = Field(0.15, ge=0, le=0.5)
    """Share by which a recording becomes longer or shorter."""
    tract: float = Field(0.15, ge=0, le=0.5)
    """Share by which all frequencies move, as those of a shorter or longer vocal tract."""
    gain: float = Field(6.0, ge=0, le=60)
    """Decibels by which a recording becomes louder or softer."""


class SpeechTraining(Section):
    """Keys of `train` that belong to speech."""

    voices: VoicesSection | None = None
    """Random changes of speed, vocal tract and gain; None for none."""

    spec_augment: SpecAugmentSection | None = None
    """SpecAugment; None for none."""


class SpeechDecoding(Section):
    """Keys of `decode` that belong to speech."""

    ctc_weight: float | None = Field(None, ge=0, le=1)
    """Weight of CTC in joint decoding of a listener, 0 for attention alone; None for its weight in training."""
    language_model: str | None = None
    """Folder of a run whose language model has the same tokens, for prefix beam search of the model `ctc`."""
    language_weight: float = Field(0.5, ge=0)
    """Weight of its log-probability."""
    language_bonus: float = 0.0
    """Added per token, since a language model prefers short outputs."""


class TonesData(GeneratedData):
    """Strings of syllables, spoken by synthetic speakers in noise; test has speakers that train does not have."""

    made: ClassVar[str] = "regard.systems.speech.tones:Tones"

    format: Literal["tones"]
    """Selects this format."""
    train_size: int = Field(2000, ge=1)
    """Strings to learn from."""
    valid_size: int = Field(200, ge=1)
    """Strings to validate on."""
    test_size: int = Field(300, ge=1)
    """Strings to test on."""
    shortest: int = Field(1, ge=1)
    """The fewest syllables of a string."""
    longest: int = Field(5, ge=1, le=100)
    """The most syllables of a string."""
    speakers: int = Field(20, ge=1)
    """Number of speakers of each split."""
    seed: int = 0
    """Another seed, other speakers and strings."""
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
    """The archive: audio, offsets, label, speaker, index and rate."""
    shortest: int = Field(1, ge=1)
    """The fewest digits of a string."""
    longest: int = Field(1, ge=1, le=100)
    """The most digits of a string; 1 for single recordings."""
    gap: float = Field(0.1, ge=0, le=10)
    """The longest gap between two digits, in seconds."""
    unseen: str | None = None
    """The speaker of the test, whom training never hears; None for a test on other takes of the same speakers."""
    train_size: int | None = Field(None, ge=1)
    """Strings to learn from; None for every recording once, of single digits."""
    valid_size: int | None = Field(None, ge=1)
    """Strings to validate on, likewise."""
    test_size: int | None = Field(None, ge=1)
    """Strings to test on, likewise."""
    seed: int = 0
    """Another seed, other strings."""
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
    """Recordings of one's own: lines of a path, a tab and a transcript, or JSON objects with both."""

    format: Literal["recordings"]
    """Selects this format."""
    features: FeaturesSection = FeaturesSection()
    """Features of a recording."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.systems.speech.recordings import Recordings

        return Recordings(self._path(named), **self.reading())


_CTC = "ctc"


def check_training(recipe: Recipe) -> None:
    """Labels that are smoothed are those of a decoder, and windows are of running text."""
    if recipe.train.label_smoothing and recipe.model.kind == _CTC:
        raise ValueError("label_smoothing is of a decoder, and the model ctc has none; leave it out")
    if recipe.train.batch.window is not None:
        raise ValueError("a window is of running text; recordings are read whole: set batch.sentences or batch.tokens")
    features = getattr(recipe.data, "features", None)
    if own_keys(recipe.train, SpeechTraining).voices is not None and features is not None and features.deltas:
        raise ValueError("voices moves bands, and deltas are none; set data.features.deltas to 0, or leave voices out")


def check_decoding(recipe: Recipe) -> None:
    """Frames are not sampled; scores of both kinds are of a listener that was trained with both."""
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

"""Recipe sections of search: data, negatives, and what is searched."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from regard.recipes.data_section import FieldLayout, GeneratedData, SplitName
from regard.recipes.data_sections import SplitFiles
from regard.recipes.files import DataFile
from regard.recipes.section import Section

if TYPE_CHECKING:
    from regard.data.example import DataReader, Examples


class SmallAdsData(GeneratedData):
    """Small ads, and queries for one of them in other words; generated."""

    made: ClassVar[str] = "regard.systems.retrieval.small_ads:SmallAds"

    format: Literal["small_ads"]
    """Selects this format."""
    train_size: int = Field(20000, ge=1)
    """Number of pairs to train on."""
    valid_size: int = Field(500, ge=1)
    """Number of pairs to validate on; their ads are the index."""
    test_size: int = Field(1000, ge=1)
    """Number of pairs to test on; training has none of their combinations of concepts."""
    synonyms: float = Field(0.7, ge=0, le=1)
    """Probability that a query names a concept by another word than its ad does."""
    seed: int = 0
    """Seed of the pairs."""


class SquadSearchData(SplitFiles):
    """Questions and their paragraphs in the JSON of SQuAD; `split` divides by article."""

    format: Literal["squad"]
    """Selects this format."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.systems.retrieval.questions import SquadQueries

        return SquadQueries(self._path(named), **self.reading())

    def examples(self, split: SplitName, reading: FieldLayout) -> Examples | None:
        return super().examples(split, replace(reading, group="article"))


class NegativesSection(Section):
    """Wrong passages that training adds to those of the batch."""

    count: int = Field(0, ge=0, le=64)
    """Number per query, drawn anew in each epoch; 0 for those of the batch alone."""
    among: int = Field(20, ge=1)
    """Number of the best-ranked wrong passages that they are drawn from."""
    random: int = Field(0, ge=0, le=64)
    """Number of further ones per query, drawn from all passages. The best-ranked wrong passages of a large collection
    share more words with a query than the right one, and sharing few words is no sign of being right."""
    found_by: str = "bm25"
    """Ranking: `bm25`, or the folder of a run with a dual encoder."""


class RetrievalTraining(Section):
    """Keys of `train` for search."""

    negatives: NegativesSection = NegativesSection()
    """Wrong passages that a ranking finds."""


class RetrievalDecoding(Section):
    """Keys of `decode` for search."""

    passages: DataFile | None = None
    """Passages to search: a file with one per line, or what `regard index` wrote. An evaluation adds those of the
    split."""
    by: Literal["vectors", "bm25", "hybrid"] | None = None
    """Ranking: by the vectors of a dual encoder, by BM25, or by both merged (`hybrid`). A cross-encoder re-ranks what
    it finds. None for vectors with a dual encoder, and BM25 with a cross-encoder."""
    first: str | None = None
    """Run with the dual encoder whose vectors a cross-encoder re-ranks."""
    candidates: int = Field(20, ge=1)
    """Number of passages that a cross-encoder re-ranks."""
    depth: int = Field(100, ge=1)
    """Number of passages in a ranking that metrics see."""

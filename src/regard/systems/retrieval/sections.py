"""Recipe sections of retrieval: data, negatives, and the passages to search."""

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
    """Small ads, and queries that paraphrase one of them; generated."""

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
    """Probability that a query uses a synonym for a concept of its ad."""
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
    """Negative passages in addition to those of the batch."""

    count: int = Field(0, ge=0, le=64)
    """Number of mined negatives per query, drawn anew in each epoch; 0 for in-batch negatives only."""
    among: int = Field(20, ge=1)
    """Number of top-ranked wrong passages from which the negatives are drawn."""
    random: int = Field(0, ge=0, le=64)
    """Number of random negatives per query, drawn from all passages. In a large collection the top-ranked wrong
    passages share more words with a query than the correct one; without random negatives a model would learn that low
    overlap means relevance."""
    found_by: str = "bm25"
    """Ranking that finds the negatives: `bm25`, or the folder of a run with a dual encoder."""


class RetrievalTraining(Section):
    """Keys of `train` for search."""

    negatives: NegativesSection = NegativesSection()
    """Mined and random negative passages."""


class RetrievalDecoding(Section):
    """Keys of `decode` for search."""

    passages: DataFile | None = None
    """Passages to search: a file with one passage per line, or an index written by `regard index`. An evaluation adds
    the passages of its split."""
    by: Literal["vectors", "bm25", "hybrid"] | None = None
    """First-stage ranking: vectors of a dual encoder, BM25, or the fusion of both (`hybrid`). A cross-encoder re-ranks
    its results. None for vectors with a dual encoder, and for BM25 with a cross-encoder."""
    first: str | None = None
    """Run of the dual encoder for the first-stage vector search, when the model is a cross-encoder."""
    candidates: int = Field(20, ge=1)
    """Number of top passages that a cross-encoder re-ranks."""
    depth: int = Field(100, ge=1)
    """Depth of the rankings that metrics are computed on."""

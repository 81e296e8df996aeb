"""Search of an index: first-stage ranking by BM25 or vectors, and optional re-ranking by a cross-encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from regard.data.batching.batch import padded
from regard.data.fields.tokenizer import Tokenizer
from regard.models.signature import signature
from regard.specials import PAD, UNK
from regard.systems.retrieval.cross_encoder import CrossEncoder
from regard.systems.retrieval.dual_encoder import DualEncoder
from regard.systems.retrieval.index import Index
from regard.systems.retrieval.ranking import Ranking
from regard.tasks.task import in_batches

By = Literal["vectors", "bm25", "hybrid"]
_TOGETHER = 64  # texts per encoder batch


@dataclass(frozen=True)
class TextEncoder:
    """A dual encoder with its tokenizer: maps texts to vectors."""

    model: DualEncoder
    tokenizer: Tokenizer

    @property
    def signature(self) -> str:
        """Return a hash of the model, which identifies the vectors that it computed."""
        return signature(self.model.state_dict())

    def queries(self, texts: Sequence[str]) -> Tensor:
        """Return the vectors of queries, [Q, C]."""
        return self._vectors(texts, passages=False)

    def passages(self, texts: Sequence[str]) -> Tensor:
        """Return the vectors of passages, [M, C]."""
        return self._vectors(texts, passages=True)

    @torch.inference_mode()
    def _vectors(self, texts: Sequence[str], *, passages: bool) -> Tensor:
        device = next(self.model.parameters()).device
        found = torch.zeros(len(texts), self.model.output_dim, device=device)
        rows = [row[: self.model.longest] for row in self.tokenizer.encode_all(list(texts))] if texts else []
        encode = self.model.encode_passages if passages else self.model.encode_queries
        for part, ids, lengths in in_batches(rows, _TOGETHER, device):
            found[part] = encode(ids, lengths)
        return found


@dataclass(frozen=True)
class CrossEncoderReranker:
    """A cross-encoder with its tokenizer: scores the passages of a query.

    Attributes:
        candidates: number of top passages to re-rank.
    """

    model: CrossEncoder
    tokenizer: Tokenizer
    candidates: int = 20

    @torch.inference_mode()
    def scores(self, query: str, passages: Sequence[str]) -> Tensor:
        """Return a score per passage, [N]."""
        device = next(self.model.parameters()).device
        asked, *told = self.tokenizer.encode_all([query, *passages])
        rows = [row[: self.model.longest] or [UNK] for row in told]
        ids, lengths = padded([asked or [UNK]], PAD).to(device), torch.tensor([len(asked) or 1], device=device)
        sizes = torch.tensor([len(row) for row in rows], device=device)
        found: Tensor = self.model(ids, lengths, padded(rows, PAD).to(device), sizes).logits
        return found[0].float().cpu()

    def rank(self, query: str, index: Index, first: Ranking) -> Ranking:
        """Re-rank the top candidates of a first-stage ranking by the scores of the cross-encoder."""
        numbers = first.numbers[: self.candidates]
        if not len(numbers):
            return first
        scores = self.scores(query, [index.passages[number] for number in numbers.tolist()]).numpy()
        order = np.argsort(-scores, kind="stable")
        return Ranking(numbers[order], scores[order])


@dataclass(frozen=True)
class Searcher:
    """Searches an index.

    Attributes:
        index: the passages.
        by: method of the first-stage ranking.
        encoder: encoder of queries, for vector search.
        reranker: re-ranker of the top passages; None for no re-ranking.

    Raises:
        ValueError: vector search is requested, but the index has no vectors or those of another model.
    """

    index: Index
    by: By = "vectors"
    encoder: TextEncoder | None = None
    reranker: CrossEncoderReranker | None = None

    def __post_init__(self) -> None:
        if self.by == "bm25":
            return
        if self.encoder is None or self.index.vectors is None:
            raise ValueError(
                f"by is {self.by!r}, and there are no vectors; write the index with the run of a dual_encoder, or "
                "search by bm25"
            )
        if self.index.model != self.encoder.signature:
            raise ValueError(
                "the index has vectors of another model, which say nothing to the queries of this one; write it again "
                "with `regard index`"
            )

    def rank(self, queries: Sequence[str], k: int) -> list[Ranking]:
        """Return the k best passages of each query; with a re-ranker at most its number of candidates."""
        first = self._first(queries, k if self.reranker is None else self.reranker.candidates)
        if self.reranker is None:
            return first
        again = [self.reranker.rank(query, self.index, one) for query, one in zip(queries, first, strict=True)]
        return [Ranking(one.numbers[:k], one.scores[:k]) for one in again]

    def _first(self, queries: Sequence[str], k: int) -> list[Ranking]:
        if self.by == "bm25":
            return self.index.by_words(queries, k)
        assert self.encoder is not None
        vectors = self.encoder.queries(queries)
        if self.by == "hybrid":
            return self.index.by_both(queries, vectors, k)
        return self.index.by_vectors(vectors, k)

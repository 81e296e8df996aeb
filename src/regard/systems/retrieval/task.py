"""The retrieval task: losses of dual encoders and cross-encoders, and search."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.data.batching.batch import Batch
from regard.data.batching.corpus import Corpus
from regard.data.batching.feed import ExampleFeed, Feed
from regard.data.example import Example, Examples
from regard.data.fields.field import Field
from regard.data.fields.tokenizer import Tokenizer
from regard.data.formats.lines import lines
from regard.data.problems import DataError, TextError
from regard.decode.search import Search
from regard.explain.panel import Panel
from regard.models.model_output import ModelOutput
from regard.recipes.section import own_keys
from regard.recipes.sections import Recipe
from regard.specials import PAD
from regard.systems.retrieval.checks import CROSS
from regard.systems.retrieval.cross_encoder import CrossEncoder
from regard.systems.retrieval.dual_encoder import DualEncoder
from regard.systems.retrieval.index import Index
from regard.systems.retrieval.negatives import MinedNegatives, NegativesFeed
from regard.systems.retrieval.searcher import By, CrossEncoderReranker, Searcher, TextEncoder
from regard.systems.retrieval.sections import NegativesSection, RetrievalDecoding, RetrievalTraining
from regard.systems.retrieval.view import match_panels
from regard.tasks.input_output import no_head
from regard.tasks.loss import Loss
from regard.tasks.prediction import Prediction
from regard.tasks.task import MEASURED, FieldEncoders, Task
from regard.tasks.tokenizers import field_values, learned_tokenizer, tokens_field

if TYPE_CHECKING:
    from regard.tasks.splits import Split

_MIXED = 1024
"""Number of examples sorted by length together. It is small: otherwise the questions about one passage would share a
batch, where they give each other no negatives."""


@dataclass(frozen=True)
class SearchBatch:
    """Queries with one positive passage and optional negative passages each."""

    query: Tensor  # [B, Q]
    query_lengths: Tensor  # [B]
    passage: Tensor  # [B, S]
    passage_lengths: Tensor  # [B]
    negative: Tensor | None = None  # [B, K, S']
    negative_sizes: Tensor | None = None  # [B, K], their lengths


@dataclass(frozen=True)
class Retrieving(Task):
    """Passage retrieval: the loss of a dual encoder or a cross-encoder, and the best passages for a query.

    A dual encoder is trained with a softmax over the passages of a batch, and over its queries; a cross-encoder with a
    softmax over the correct passage and the negatives. Validation searches all passages of its split.

    Attributes:
        encoders: one tokenizer for "query" and "passage".
        negatives: settings of the negative passages in training.
        reranks: True for a cross-encoder.
        passages: file of the passages to search; None for the passages of the evaluated split.
        by, first, candidates, depth: search settings; see `RetrievalDecoding`.
        searcher: the index with its ranking; None before `bind`.
    """

    question: ClassVar[str] = "query"
    answer: ClassVar[str | None] = "passage"
    unit: ClassVar[str] = "query"
    outline_sizes: ClassVar[tuple[int, int | None]] = (8, None)

    encoders: FieldEncoders
    negatives: NegativesSection = field(default_factory=NegativesSection)
    reranks: bool = False
    passages: Path | None = None
    by: By | None = None
    first: Path | None = None
    candidates: int = 20
    depth: int = 100
    searcher: Searcher | None = None

    @classmethod
    def of(cls, recipe: Recipe, encoders: FieldEncoders) -> Retrieving:
        given = own_keys(recipe.decode, RetrievalDecoding)
        passages, first = (None if one is None else Path(one) for one in (given.passages, given.first))
        negatives = own_keys(recipe.train, RetrievalTraining).negatives
        reranks = recipe.model.kind == CROSS
        return cls(encoders, negatives, reranks, passages, given.by, first, given.candidates, given.depth)

    @classmethod
    def fields(cls, recipe: Recipe) -> dict[str, Field[Any]]:
        text = tokens_field(recipe.tokenizer, masked=recipe.system.reads_pairs(recipe))
        return {"query": text, "passage": text}

    @classmethod
    def learn_encoders(cls, recipe: Recipe, train: Examples, known: FieldEncoders) -> FieldEncoders:
        both = (
            known.get("query")
            or known.get("text")
            or learned_tokenizer(  # a pretrained run calls its tokenizer "text"
                recipe.tokenizer,
                chain(field_values(train, "query"), dict.fromkeys(field_values(train, "passage"))),
                masked=recipe.system.reads_pairs(recipe),
            )
        )
        return {"query": both, "passage": both}

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of queries and passages."""
        found = self.encoders["query"]
        assert isinstance(found, Tokenizer)
        return found

    @property
    def sizes(self) -> tuple[int, int | None]:
        return self.tokenizer.size, None

    def embeddings(self, model: nn.Module) -> dict[str, Any]:
        own = super().embeddings(model)
        found = {} if (words := own.get("query")) is None else {"query": words, "passage": words}
        apart = getattr(getattr(model, "passage_encoder", None), "words", None)
        return found if apart is None else {**found, "passage": apart}

    def unigram_loss(self, corpus: Corpus | None) -> float:
        others = self.negatives.count + self.negatives.random or MEASURED - 1
        return math.log(1 + others)

    def longest_texts(
        self, recipe: Recipe, splits: Mapping[str, Split | None], dropped: Collection[int]
    ) -> Iterator[tuple[str, str, int]]:
        model: Any = recipe.model
        for name, phrase, needed in super().longest_texts(recipe, splits, dropped):
            yield name, phrase, min(needed, model.longest)

    def training_feed(self, recipe: Recipe, split: Split) -> Feed:
        given = recipe.train.batch
        inner = ExampleFeed(
            split.corpus,
            counted="query",
            tokens=given.tokens,
            sentences=given.sentences,
            seed=recipe.train.seed,
            pool=_MIXED,
            weights=split.weights,
            dropouts=self.dropouts(recipe),
        )
        return self._with_negatives(inner, split, recipe.train.seed)

    def measuring_feed(self, recipe: Recipe, split: Split, *, carries: bool) -> Feed:
        inner = ExampleFeed(split.corpus, counted="query", tokens=None, sentences=MEASURED, pool=_MIXED)
        return self._with_negatives(inner, split, 0)

    def example_batch(self, split: Split, number: int) -> Batch | None:
        """Return None: the loss contrasts the passages of a batch, and is zero for a single example."""
        return None

    def _with_negatives(self, inner: Feed, split: Split, seed: int) -> Feed:
        """Add negative passages to a feed if the recipe configures them."""
        section = self.negatives
        if not section.count + section.random:
            return inner
        texts, passages = split.texts("query"), list(map(_plain, split.texts("passage")))
        numbers: dict[str, int] = {}
        owners = np.array([numbers.setdefault(passage, len(numbers)) for passage in passages], np.int64)
        examples = np.unique(owners, return_index=True)[1]
        if section.found_by == "bm25":
            searcher = Searcher(Index(list(numbers)), "bm25")
        else:
            encoder = dual_encoder_of(Path(section.found_by))
            searcher = Searcher(
                Index(list(numbers), encoder.passages(list(numbers)), encoder.signature), "vectors", encoder
            )
        mined = MinedNegatives(texts, owners, searcher.rank, among=section.among)
        return NegativesFeed(
            inner, split.corpus, mined, examples, count=section.count, random=section.random, seed=seed
        )

    def loss(self, model: nn.Module, batch: Batch, *, update: int | None = None, state: Any = None) -> Loss:
        found = batch.view(SearchBatch)
        return _candidate_loss(model, found) if self.reranks else _batch_loss(model, found)

    def bind(self, model: Any, examples: Iterable[Example] | None = None) -> Retrieving:
        """Return the task with an index of the passages to search.

        Raises:
            ValueError: the model is an ensemble, there are no passages, or the index belongs to another model.
        """
        if not isinstance(model, DualEncoder | CrossEncoder):
            raise ValueError("a search is by one model; leave other runs out")
        added = [] if examples is None else [_plain(str(example.fields["passage"])) for example in examples]
        if self.passages is None and not added:
            return self
        return replace(self, searcher=self.search_of(model, self._index(added)))

    def search_of(self, model: DualEncoder | CrossEncoder, index: Index) -> Searcher:
        """Return the searcher of an index; missing vectors are computed.

        Raises:
            ValueError: the index has vectors of another model.
        """
        encoder, reranker = None, None
        if isinstance(model, DualEncoder):
            encoder = TextEncoder(model, self.tokenizer)
        else:
            reranker = CrossEncoderReranker(model, self.tokenizer, self.candidates)
            encoder = None if self.first is None else dual_encoder_of(self.first)
        by = self.by or ("bm25" if encoder is None else "vectors")
        if by != "bm25" and encoder is not None and index.vectors is None:
            index = replace(index, vectors=encoder.passages(index.passages), model=encoder.signature)
        return Searcher(index, by, encoder, reranker)

    def _index(self, added: Sequence[str]) -> Index:
        """Return the index of the passages in the file and of `added` passages."""
        if self.passages is None:
            return Index(list(dict.fromkeys(added)))
        if self.passages.suffix == ".safetensors":
            stored = Index.load(self.passages)
            if set(added) <= set(stored.passages):
                return stored
            return Index(list(dict.fromkeys((*stored.passages, *added))))
        return Index(list(dict.fromkeys((*passages_of(self.passages), *added))))

    def merges_equal_inputs(self, recipe: Recipe) -> bool:
        return True

    def reference(self, text: str) -> str:
        return _plain(text)

    def predict(self, model: Any, texts: Sequence[str], search: Search, *, batch: int = 32) -> list[list[Prediction]]:
        """Return the best passages for each query; the first prediction carries the whole ranking."""
        if self.searcher is None:
            raise ValueError("there is nothing to search; name a file of passages: --decode passages=FILE")
        found, index = [], self.searcher.index
        for text, ranked in zip(texts, self.searcher.rank(texts, max(self.depth, search.n_best)), strict=True):
            passages = tuple(index.passages[number] for number in ranked.numbers.tolist())
            answers = [
                Prediction(text, passage, score, source_tokens=(), tokens=(), log_probs=())
                for passage, score in zip(passages[: search.n_best], ranked.scores.tolist(), strict=False)
            ] or [Prediction(text, "", -math.inf, source_tokens=(), tokens=(), log_probs=())]
            found.append([replace(answers[0], ranking=passages), *answers[1:]])
        return found

    def panels(self, model: Any, text: str, search: Search, *, head: int | None = None) -> list[Panel]:
        """Return the word matches of a query and a passage: the one after a tab, or else the best one found."""
        no_head(head)
        query, tab, passage = text.partition("\t")
        if not tab:
            if self.searcher is None:
                raise TextError(
                    "a view shows a query and a passage: give both with a tab between, or --decode passages=FILE"
                )
            passage = self.predict(model, [query], replace(search, n_best=1))[0][0].text
        return match_panels(model, self.tokenizer, query, passage)


def dual_encoder_of(run: Path) -> TextEncoder:
    """Load the dual encoder of a run.

    Raises:
        ValueError: the model of the run is not a dual encoder.
    """
    from regard.predictor import load  # the predictor imports this module, through the task registry

    loaded = load(run, overrides=["decode.passages=null"])
    if not isinstance(loaded.task, Retrieving) or not isinstance(loaded.model, DualEncoder):
        raise ValueError(f"{run} is no run of a dual_encoder; name one, or bm25")
    return TextEncoder(loaded.model, loaded.task.tokenizer)


def passages_of(path: Path) -> list[str]:
    """Return the passages of a file, one per line, without blank lines and duplicates.

    Raises:
        DataError: the file contains no passage, or a line cannot be read.
    """
    found: dict[str, None] = {}
    for line in lines(path):
        if line.problem is not None:
            raise DataError(f"{path}:{line.number}: {line.problem}")
        if plain := _plain(line.text):
            found[plain] = None
    if not found:
        raise DataError(f"{path}: there is nothing to search; write a passage on each line")
    return list(found)


def _plain(text: str) -> str:
    """Normalise white space to single spaces, so that duplicates compare equal."""
    return " ".join(text.split())


def _batch_loss(model: nn.Module, found: SearchBatch) -> Loss:
    """Mean of two cross-entropies: over the passages of a batch per query, and over its queries per passage.

    Duplicates of the passage, and passages of a duplicate query, are correct too, so they are masked as negatives.
    """
    passages, lengths = _all_passages(found)
    predicted: ModelOutput = model(found.query, found.query_lengths, passages, lengths)
    logits, size = predicted.logits.float(), len(found.query)
    target = torch.arange(size, device=logits.device)
    right = (passages[:size, None] == passages).all(2)  # [B, P]
    right[:, :size] |= (found.query[:, None] == found.query).all(2)
    right[target, target] = False  # the diagonal is the target itself, and stays
    logits = logits.masked_fill(right, -torch.inf)  # [B, P]
    nll = F.cross_entropy(logits, target, reduction="sum")
    back = F.cross_entropy(logits[:, :size].mT, target, reduction="sum")
    return Loss((nll + back) / 2, nll.detach(), size)


def _candidate_loss(model: nn.Module, found: SearchBatch) -> Loss:
    """Cross-entropy over the correct passage of each query (at index 0) and its negatives."""
    passages, lengths = _all_passages(found)
    size = len(found.query)
    many = len(passages) // size - 1
    own = torch.arange(size, device=passages.device).unsqueeze(1)
    others = size + torch.arange(size * many, device=passages.device).view(size, many)
    order = torch.cat((own, others), dim=1)  # [B, 1 + K]
    chosen = passages[order]  # [B, 1 + K, S]
    predicted: ModelOutput = model(found.query, found.query_lengths, chosen.flatten(0, 1), lengths[order].flatten())
    right = (chosen[:, 1:] == chosen[:, :1]).all(2)  # [B, K], duplicates of the correct passage
    logits = predicted.logits.float().masked_fill(F.pad(right, (1, 0)), -torch.inf)
    nll = F.cross_entropy(logits, torch.zeros_like(own[:, 0]), reduction="sum")
    return Loss(nll, nll.detach(), size)


def _all_passages(found: SearchBatch) -> tuple[Tensor, Tensor]:
    """Return the passages of a batch followed by its negatives, [P, S], and their lengths [P]."""
    if found.negative is None or found.negative_sizes is None:
        return found.passage, found.passage_lengths
    wrong = found.negative.flatten(0, 1)  # [B K, S']
    width = max(found.passage.shape[1], wrong.shape[1])
    both = [F.pad(one, (0, width - one.shape[1]), value=PAD) for one in (found.passage, wrong)]
    return torch.cat(both), torch.cat((found.passage_lengths, found.negative_sizes.flatten()))

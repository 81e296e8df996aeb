"""The task of cloze questions: filling the blank with a word of the passage or one of the candidates."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from rich.markup import escape
from rich.text import Text
from torch import Tensor, nn

from regard.data.batching.batch import Batch, padded
from regard.data.batching.corpus import Corpus
from regard.data.example import Example, Examples, Value
from regard.data.fields.field import Field
from regard.data.fields.tokenizer import Tokenizer
from regard.data.problems import TextError, shortened
from regard.data.word_ngrams import WordNGrams
from regard.decode.search import Search
from regard.explain.panel import Panel
from regard.explain.subject import Subject
from regard.models.model_output import ModelOutput
from regard.ops.pointer_sum import pointer_candidates
from regard.recipes.data_section import FieldLayout
from regard.recipes.section import own_keys
from regard.recipes.sections import Recipe
from regard.specials import PAD, SPECIALS, UNK
from regard.systems.cloze.cloze_reader import ClozeReader
from regard.systems.cloze.explained import ClozeSubject
from regard.systems.cloze.field import ClozeField, WithCloze
from regard.systems.cloze.mira import Floats
from regard.systems.cloze.pictures import PointerTargets, answer_panels, render_answer, render_candidates
from regard.systems.cloze.question import BLANK, KEYS, Cloze, cloze_of, parsed_cloze, renamed
from regard.systems.cloze.reading import ABSENT, ClozeReading, Numbered
from regard.systems.cloze.reranker import LanguageModelReranker, distinct_sentences
from regard.systems.cloze.sections import ClozeData, ClozeDecoding, ClozeTraining, ReplacedNames
from regard.tasks.input_output import no_head
from regard.tasks.loss import Loss
from regard.tasks.prediction import Prediction
from regard.tasks.task import MEASURED, FieldEncoders, Fields, Task
from regard.tasks.tokenizers import learned_tokenizer
from regard.view.text import isolated

if TYPE_CHECKING:
    from rich.console import RenderableType

RERANKING = "reranking"
"""Name of the re-ranker among the encoders of a run."""
_LEAST = 1e-30
"""Smallest probability of an answer whose logarithm is taken; below it, the gradient is zero."""


@dataclass(frozen=True)
class ClozeBatch:
    """A batch of passages with their questions."""

    passage: Tensor  # [B, S]
    passage_lengths: Tensor  # [B]
    passage_words: Tensor  # [B, S], equal words have the same number
    passage_question: Tensor  # [B, T]
    passage_question_lengths: Tensor  # [B]
    passage_answer: Tensor  # [B], number of the answer's word


@dataclass(frozen=True)
class ClozeAnswering(Task):
    """Cloze questions: the loss of a reader, -log P(answer), and its n most probable candidates.

    A model takes passages [B, S] and questions [B, T] with their lengths, and returns a distribution over the tokens of
    the passage. The probabilities of equal words are summed. In training, the sum is normalised over all words of the
    passage; in prediction, over the candidates, if there are any.

    Attributes:
        encoders: the tokenizer of "passage", also used for questions; optionally the re-ranker.
        placeholder, keys, slots, hide: as in the data section.
        rerank: re-rank the best candidates, if there is a re-ranker.
    """

    context: ClassVar[str | None] = "question"
    question: ClassVar[str] = "passage"
    answer: ClassVar[str | None] = "answer"
    unit: ClassVar[str] = "answer"
    outline_sizes: ClassVar[tuple[int, int | None]] = (8, None)

    encoders: FieldEncoders
    placeholder: str = BLANK
    keys: tuple[str, ...] = KEYS
    slots: int = 0
    hide: bool = False
    rerank: bool = True

    @classmethod
    def of(cls, recipe: Recipe, encoders: FieldEncoders) -> ClozeAnswering:
        data = recipe.data
        assert isinstance(data, ReplacedNames)
        keys = data.keys if isinstance(data, ClozeData) else KEYS
        return cls(
            encoders, data.placeholder, keys, data.slots, data.hide, own_keys(recipe.decode, ClozeDecoding).rerank
        )

    @classmethod
    def reading(cls, recipe: Recipe) -> FieldLayout:
        return replace(super().reading(recipe), group="passage")

    @classmethod
    def fields(cls, recipe: Recipe) -> dict[str, Field[Any]]:
        assert isinstance(recipe.data, ReplacedNames)
        return {"passage": ClozeField(slots=recipe.data.slots, hide=recipe.data.hide)}

    @classmethod
    def learn_encoders(cls, recipe: Recipe, train: Examples, known: FieldEncoders) -> FieldEncoders:
        texts = chain.from_iterable((*one.fields["passage"], one.fields["question"]) for one in train)
        words = known.get("passage") or learned_tokenizer(recipe.tokenizer, texts)
        wanted = own_keys(recipe.train, ClozeTraining).rerank
        if wanted is None:
            return {"passage": words}
        assert isinstance(words, Tokenizer)
        learned = LanguageModelReranker.of(
            words.encode_all(distinct_sentences(train)), words.size, **wanted.model_dump()
        )
        return {"passage": words, RERANKING: learned}

    @classmethod
    def encoder_fields(cls, recipe: Recipe) -> tuple[str, ...]:
        kept = super().encoder_fields(recipe)
        return kept if own_keys(recipe.train, ClozeTraining).rerank is None else (*kept, RERANKING)

    @classmethod
    def corpus(cls, recipe: Recipe, found: Examples, fields: Fields, cache: Path) -> Corpus | None:
        return Corpus.build(WithCloze.of(found), fields, cache)

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of passages and questions."""
        found = self.encoders["passage"]
        assert isinstance(found, Tokenizer)
        return found

    @property
    def sizes(self) -> tuple[int, int | None]:
        return self.tokenizer.size + self.slots, None

    @property
    def measured_in(self) -> str:
        return "nats an answer"

    @property
    def target_field(self) -> str:
        return "passage"

    @property
    def input_fields(self) -> tuple[str, ...]:
        return ("passage", "question")

    def embeddings(self, model: nn.Module) -> dict[str, Any]:
        """Return the embedding module of the words; the last rows of its table are the slots of unknown words."""
        words = getattr(getattr(model, "encoder", None), "words", None)
        table = getattr(words, "table", None)
        fits = isinstance(table, nn.Embedding) and table.num_embeddings == self.sizes[0]
        return {"passage": words} if fits else {}

    def loss(self, model: nn.Module, batch: Batch, *, update: int | None = None, state: Any = None) -> Loss:
        asked = batch.view(ClozeBatch)
        passage, question = asked.passage, asked.passage_question
        if update is not None and self.slots:
            passage, question = shuffle_unknown_slots(passage, question, first=self.tokenizer.size, slots=self.slots)
        predicted: ModelOutput = model(passage, asked.passage_lengths, question, asked.passage_question_lengths)
        likely = pointer_candidates(_weights(predicted), asked.passage_words, asked.passage_answer.unsqueeze(1))
        there = asked.passage_answer != ABSENT
        total = -likely[:, 0].clamp(min=_LEAST).log().masked_fill(~there, 0.0).sum()
        return Loss(total, total.detach(), int(there.sum()), attended=predicted.attended)

    def parse(self, given: Any) -> Cloze:
        """Parse a cloze question from a text, a JSON object, a mapping, a path, or the bytes of a file."""
        if isinstance(given, Cloze):
            return given
        try:
            if isinstance(given, Mapping):
                return cloze_of(renamed(given, self.keys), self.placeholder)
            return parsed_cloze(super().parse(given), self.placeholder)
        except TextError:
            raise
        except ValueError as problem:
            raise TextError(str(problem)) from None

    def reference(self, text: str) -> str:
        return " ".join(map(self.tokenizer.normal, text.split()))

    def ask(self, fields: Mapping[str, Value]) -> Cloze:
        return self.parse(dict(fields))

    def predict(self, model: Any, texts: Sequence[Any], search: Search, *, batch: int = 32) -> list[list[Prediction]]:
        asked = [self.parse(one) for one in texts]
        return [
            self._predictions(one, row, pointed)[: search.n_best]
            for one, (row, pointed) in zip(asked, self._read(model, asked, batch), strict=True)
        ]

    def tuned(self, model: Any, examples: Iterable[Example]) -> Task:
        """Tune the weights of the re-ranker on the validation data."""
        reranker = self.reranker
        if reranker is None:
            return self
        known = [(self.ask(one.fields), self.reference(one.fields["answer"])) for one in examples]
        lists, right = [], []
        for (asked, answer), (row, pointed) in zip(known, self._read(model, [one for one, _ in known]), strict=True):
            best = _best(self._shares(asked, row, pointed.weights), reranker.n_best)
            if answer in best:
                lists.append(self._features(reranker, asked, best))
                right.append(list(best).index(answer))
        return replace(self, encoders={**self.encoders, RERANKING: reranker.tuned(lists, right)})

    def drawing(self, prediction: Prediction) -> Text | None:
        """Render the candidates, and the passage with its attention weights."""
        return None if prediction.alignment is None else render_answer(prediction)

    def rendered(self, prediction: Prediction) -> Iterator[RenderableType]:
        """Yield the question with its answer, and the candidates with their probabilities."""
        asked, said, right = self.shown_input(prediction), prediction.text, prediction.reference
        line = f"  {escape(isolated(asked))}  →  [bold]{escape(isolated(said))}[/]"
        yield line if right in (None, said) else f"{line}  (reference: {escape(isolated(str(right)))})"
        yield render_candidates(prediction.scores or {})

    def shown_input(self, prediction: Prediction) -> str:
        return prediction.source.split("\t")[1]

    def panels(self, model: Any, text: Any, search: Search, *, head: int | None = None) -> list[Panel]:
        """Return panels of the passage with s, and of alpha and beta if the model uses attention over attention."""
        no_head(head)
        asked = self.parse(text)
        ((row, found),) = self._read(model, [asked])
        (answer, *_) = self._predictions(asked, row, found)
        return answer_panels(asked.question, answer, row, found)

    def subject(self, model: Any) -> Subject:
        if not isinstance(model, ClozeReader):
            raise ValueError(f"{type(model).__name__} is not explained: it is no reader that points by attention")
        return ClozeSubject(model, self.numbering, self.parse)

    def input_warnings(self, model: Any, texts: Sequence[Any]) -> list[str]:
        """Return warnings about candidates absent from their passage, and about passages without any known word."""
        found = []
        for text in texts:
            try:
                asked = self.parse(text)
            except TextError:  # `predict` reports it, with its position
                continue
            row = self.numbering(asked)
            absent = [name for name, number in zip(asked.candidates, row.candidates, strict=True) if number == ABSENT]
            if absent:
                found.append(f"the passage has no {', '.join(map(repr, absent))}: the probability of it is 0")
            if not any(len(SPECIALS) <= index < self.tokenizer.size for index in row.passage):
                found.append(
                    f"no word of {shortened(str(asked))!r} is in the vocabulary of this run: its answer says nothing"
                )
        return found

    def data_warnings(self, model: nn.Module, corpus: Corpus | None) -> list[str]:
        """Return a warning with the number of answers that do not occur in their passage."""
        assert corpus is not None
        absent = int((corpus.column("passage").values["answer"] == ABSENT).sum())
        said = f"{absent:,} of {len(corpus):,} answers do not stand in their passage: nothing is learned from them"
        return [said] if absent else []

    def unigram_loss(self, corpus: Corpus | None) -> float:
        """Return the loss of uniform attention: -log of the mean fraction of a passage that is its answer."""
        assert corpus is not None
        column = corpus.column("passage")
        words = column.rows("words", np.arange(len(corpus)))
        shares = [np.mean(row == one) for row, one in zip(words, column.values["answer"], strict=True) if one != ABSENT]
        return float(-np.log(shares).mean()) if shares else 0.0

    @property
    def reranker(self) -> LanguageModelReranker | None:
        """The re-ranker; None if none was learned."""
        found = self.encoders.get(RERANKING)
        assert found is None or isinstance(found, LanguageModelReranker)
        return found

    @property
    def numbering(self) -> ClozeReading:
        """Encoder of questions into word numbers."""
        return ClozeReading(self.tokenizer, self.slots, self.hide)

    def _read(self, model: Any, asked: Sequence[Cloze], batch: int = MEASURED) -> list[tuple[Numbered, PointerTargets]]:
        """Return each question in encoded form, with the weights of the model."""
        number = self.numbering
        rows = [number(one) for one in asked]
        # Sorted by length, so that batches need little padding; the original order is restored below.
        order = sorted(range(len(rows)), key=lambda index: len(rows[index].passage))
        found: dict[int, PointerTargets] = {}
        for begin in range(0, len(order), batch):
            part = order[begin : begin + batch]
            found.update(zip(part, pointer_targets(model, [rows[index] for index in part]), strict=True))
        return [(row, found[index]) for index, row in enumerate(rows)]

    def _shares(self, asked: Cloze, row: Numbered, weights: Tensor) -> dict[str, float]:
        """Return the probability of each candidate, or of each word of the passage, in descending order."""
        names = asked.candidates or tuple(row.names.values())
        numbers = row.candidates if asked.candidates else list(range(len(row.names)))
        summed = pointer_candidates(weights[None], torch.tensor([row.words]), torch.tensor([numbers]))[0]
        shares = (summed / summed.sum().clamp(min=_LEAST)).tolist()
        return dict(sorted(zip(names, shares, strict=True), key=lambda one: -one[1]))

    def _features(self, reranker: LanguageModelReranker, asked: Cloze, best: Mapping[str, float]) -> Floats:
        """Return the features of the re-ranker, [K, F]."""
        filled, words = [asked.filled(name) for name in best], self.numbering.normal_words
        numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))
        passage, local = (
            [[numbers[word] for word in words(text)] for text in part] for part in (asked.passage, filled)
        )
        near = WordNGrams.of(passage, len(numbers), order=reranker.order)
        logs = [math.log(max(share, _LEAST)) for share in best.values()]
        return reranker.features(logs, self.tokenizer.encode_all(filled), local, near)

    def _ranked(self, asked: Cloze, shares: dict[str, float]) -> dict[str, float]:
        """Return the candidates with the best ones re-ranked; their total probability does not change."""
        reranker = self.reranker if self.rerank else None
        if reranker is None or reranker.weights is None or not any(shares.values()):
            return shares
        best = _best(shares, reranker.n_best)
        scores = torch.from_numpy(reranker.scores(self._features(reranker, asked, best)))
        anew = (scores.softmax(0) * sum(best.values())).tolist()
        return dict(sorted(zip(best, anew, strict=True), key=lambda one: -one[1])) | {
            name: share for name, share in shares.items() if name not in best
        }

    def _predictions(self, asked: Cloze, row: Numbered, pointed: PointerTargets) -> list[Prediction]:
        shares = self._ranked(asked, self._shares(asked, row, pointed.weights))
        names = list(row.names.values())
        tokens = tuple(names[number] for number in row.words)
        return [
            Prediction(
                str(asked),
                self.reference(name),
                math.log(max(share, _LEAST)),
                tokens,
                (name,),
                (math.log(max(share, _LEAST)),),
                pointed.weights[None],
                labels=(self.reference(name),),
                scores=shares,
            )
            for name, share in shares.items()
        ]


@torch.inference_mode()
def pointer_targets(model: Any, rows: Sequence[Numbered]) -> list[PointerTargets]:
    """Return the attention of a model over each passage, without padding."""
    device = next(model.parameters()).device
    texts = [[row.passage or [UNK] for row in rows], [row.question or [UNK] for row in rows]]
    lengths = [torch.tensor([len(row) for row in text], device=device) for text in texts]
    ids = [padded(text, PAD).to(device) for text in texts]  # [B, S], [B, T]
    found: ModelOutput = model(ids[0], lengths[0], ids[1], lengths[1])
    weights = _weights(found).float().cpu()
    maps = {name: part.float().cpu() for name, part in found.extras.items()}
    return [
        PointerTargets(
            weights[index, : len(row.passage)],
            maps["alpha"][index, : len(row.question), : len(row.passage)] if maps else None,
            maps["beta"][index, : len(row.passage), : len(row.question)] if maps else None,
            maps["importance"][index, : len(row.question)] if maps else None,
        )
        for index, row in enumerate(rows)
    ]


def shuffle_unknown_slots(passage: Tensor, question: Tensor, *, first: int, slots: int) -> tuple[Tensor, Tensor]:
    """Permute the slots of unknown words randomly, with one permutation per example.

    Args:
        passage, question: [B, S] and [B, T].
        first: id of the first slot; all ids from it on are slots.
        slots: number of slots.
    """
    # Sorting random numbers yields one uniform permutation per row, without a loop.
    order = torch.rand(len(passage), slots, device=passage.device).argsort(dim=1) + first  # [B, slots]

    def turned(ids: Tensor) -> Tensor:
        # `clamp` keeps the index of known words valid; `where` discards what they gather.
        return torch.where(ids >= first, order.gather(1, (ids - first).clamp(min=0)), ids)

    return turned(passage), turned(question)


def _best(shares: Mapping[str, float], count: int) -> dict[str, float]:
    """Return the most probable candidates that occur in the passage."""
    return {name: share for name, share in list(shares.items())[:count] if share > 0}


def _weights(predicted: ModelOutput) -> Tensor:
    """Return the attention weights s [B, S]."""
    assert predicted.attended is not None
    return predicted.attended.weights()[:, 0]

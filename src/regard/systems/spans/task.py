"""The spans task: extractive question answering."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import torch
from rich.text import Text
from torch import Tensor, nn

from regard.data.batching.batch import Batch, padded
from regard.data.batching.corpus import Corpus
from regard.data.batching.mixture import Mixture
from regard.data.example import Examples, Value
from regard.data.fields.field import Field
from regard.data.fields.span import SpanField
from regard.data.fields.tokenizer import Tokenizer
from regard.data.problems import TextError, shortened
from regard.decode.search import Search
from regard.evaluate.squad import same_words
from regard.explain.panel import Panel
from regard.explain.subject import Subject
from regard.models.model_output import ModelOutput
from regard.parts import all_models, imported
from regard.recipes.sections import Recipe
from regard.specials import IGNORE, PAD, UNK
from regard.systems.spans.answer import ReaderTrace, SpanAnswer, reader_trace
from regard.systems.spans.explained import subject_of
from regard.systems.spans.panels import panels, render_maps
from regard.systems.spans.pointers import iterations_of
from regard.systems.spans.sections import SpanData
from regard.systems.spans.windows import PassageWindow, WindowCutter, Windows, word_numbers
from regard.tasks.input_output import mean_log_probs, no_head
from regard.tasks.length_check import check_text_lengths
from regard.tasks.loss import Loss, token_loss
from regard.tasks.panels import seen_heads, watched_heads
from regard.tasks.prediction import Prediction
from regard.tasks.task import FieldEncoders, Fields, Task
from regard.tasks.tokenizers import field_values, learned_tokenizer, tokens_field

if TYPE_CHECKING:
    from regard.tasks.splits import Split


@dataclass(frozen=True)
class SpanBatch:
    """Questions, windows of passages, and the first and last token of each answer."""

    question: Tensor  # [B, Q]
    question_lengths: Tensor  # [B]
    context: Tensor  # [B, S]
    context_lengths: Tensor  # [B]
    span: Tensor  # [B, 2]


@dataclass(frozen=True)
class SpanAnswering(Task):
    """Extractive question answering: the loss of a span reader, and the n best spans of a passage.

    A reader maps questions [B, Q] and passages [B, S] with their lengths to logits [B, S, 2] of the start and the end
    of the answer. An iterative reader also returns the extras `iterations` [B, K, S, 2] and `running` [B, K]:
    training minimises the sum of the losses of all iterations that ran; evaluation and prediction use the last one.
    Views show the extras `passage_weights` and `question_weights`, the attention between passage and question.

    A passage of more than `window` tokens is split into overlapping windows. Training skips windows without the
    answer. Prediction returns the span with the largest sum of logits over all windows; its log-probability is
    normalised over the tokens of all windows. An input has a tab between question and passage.

    Attributes:
        encoders: one tokenizer for "question" and "context".
        window, overlap: size of a window, and overlap of consecutive windows, in tokens.
        longest: maximum length of an answer in words.
    """

    context: ClassVar[str | None] = "context"
    question: ClassVar[str] = "question"
    answer: ClassVar[str | None] = "answer"
    unit: ClassVar[str] = "boundary"
    outline_sizes: ClassVar[tuple[int, int | None]] = (8, None)

    encoders: FieldEncoders
    window: int = 320
    overlap: int = 128
    longest: int = 15

    @classmethod
    def of(cls, recipe: Recipe, encoders: FieldEncoders) -> SpanAnswering:
        assert isinstance(recipe.data, SpanData)
        return cls(encoders, recipe.data.window, recipe.data.overlap, recipe.data.longest_answer)

    @classmethod
    def fields(cls, recipe: Recipe) -> dict[str, Field[Any]]:
        text = tokens_field(recipe.tokenizer, masked=recipe.system.reads_pairs(recipe))
        return {"question": text, "context": text, "span": SpanField()}

    @classmethod
    def learn_encoders(cls, recipe: Recipe, train: Examples, known: FieldEncoders) -> FieldEncoders:
        both = known.get("text") or learned_tokenizer(  # a pretrained run calls its tokenizer "text"
            recipe.tokenizer,
            chain(field_values(train, "context"), field_values(train, "question")),
            masked=recipe.system.reads_pairs(recipe),
        )
        return {"question": both, "context": both}

    @classmethod
    def corpus(cls, recipe: Recipe, found: Examples, fields: Fields, cache: Path) -> Corpus | None:
        """Return the windows of the passages as ids."""
        assert isinstance(recipe.data, SpanData)
        cutting = WindowCutter(fields["context"].learned, recipe.data.window, recipe.data.overlap)
        cut = found.each(lambda part: Windows(part, cutting)) if isinstance(found, Mixture) else Windows(found, cutting)
        return Corpus.build(cut, fields, cache)

    def longest_inputs(
        self, recipe: Recipe, splits: Mapping[str, Split | None], dropped: Collection[int]
    ) -> Iterator[tuple[str, int]]:
        reader = imported(all_models()[recipe.model.kind])
        for name, split in splits.items():
            if split is not None:
                most = max(_room(reader, *pair) for pair in self._lengths(split, asked=name != "train"))
                yield f"the longest question of the split {name} with its window, {most} tokens (data.window)", most

    def _lengths(self, split: Split, *, asked: bool) -> Iterator[tuple[int, int]]:
        """Yield the lengths of questions and windows in tokens: those used in training, or all if `asked`."""
        yield from zip(*(split.corpus.lengths(field).tolist() for field in ("question", "context")), strict=True)
        if asked:
            questions, passages = (
                map(len, self.tokenizer.encode_all(split.texts(field))) for field in ("question", "context")
            )
            yield from zip(questions, (min(passage, self.window) for passage in passages), strict=True)

    def drawing(self, prediction: Prediction) -> Text | None:
        """Return the distributions of start and end, and the attention between passage and question."""
        return render_maps(prediction) if isinstance(prediction, SpanAnswer) else None

    def shown_input(self, prediction: Prediction) -> str:
        return prediction.source.partition("\t")[0]

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of question and passage."""
        found = self.encoders[self.question]
        assert isinstance(found, Tokenizer)
        return found

    @property
    def target_field(self) -> str:
        return "span"

    @property
    def cutting(self) -> WindowCutter:
        """The cutter of long passages."""
        return WindowCutter(self.tokenizer, self.window, self.overlap)

    @property
    def sizes(self) -> tuple[int, int | None]:
        return self.tokenizer.size, None

    def loss(self, model: nn.Module, batch: Batch, *, update: int | None = None, state: Any = None) -> Loss:
        asked = batch.view(SpanBatch)
        predicted: ModelOutput = model(asked.question, asked.question_lengths, asked.context, asked.context_lengths)
        logits, running = iterations_of(predicted)  # [B, K, S, 2], [B, K]
        which, _ = running.nonzero(as_tuple=True)
        total, _ = _boundary_loss(logits[running], asked.span[which])
        _, nll = _boundary_loss(predicted.logits, asked.span)
        return Loss(total, nll.detach(), asked.span.numel())

    def averaged(self, logits: Sequence[Tensor]) -> Tensor:
        """Average the logits [B, S, 2] of an ensemble: the log of the mean probability of each token of a window.

        A softmax discards the scale of a window's logits. Adding the mean of their log-sum-exp keeps the windows of a
        passage comparable.
        """
        ends = [one.mT for one in logits]  # [B, 2, S]
        sums = torch.stack([one.logsumexp(2, keepdim=True) for one in ends]).mean(0)
        return (mean_log_probs(ends) + sums).mT

    @property
    def input_fields(self) -> tuple[str, ...]:
        return ("question", "context")

    def right(self, text: str, references: Sequence[str]) -> bool:
        return same_words(text, references)

    def references(self, fields: Mapping[str, Value]) -> list[str]:
        return list(fields["answers"])

    def predict(self, model: Any, texts: Sequence[str], search: Search, *, batch: int = 32) -> list[list[Prediction]]:
        asked = [_parts(text) for text in texts]
        cutting = self.cutting
        reads = [
            _Read(index, window, cutting.tokenizer.encode(window.text))
            for index, (_, passage) in enumerate(asked)
            for window in cutting.windows(passage)
        ]
        questions = self.tokenizer.encode_all([question for question, _ in asked]) if asked else []
        shown = [f"{asked[read.text][0]} | {read.window.text}" for read in reads]
        check_text_lengths(model, shown, [_room(model, len(questions[read.text]), len(read.ids)) for read in reads])
        found: list[list[_Span]] = [[] for _ in texts]
        order = sorted(range(len(reads)), key=lambda index: len(reads[index].ids))
        for begin in range(0, len(order), batch):
            part = [reads[index] for index in order[begin : begin + batch]]
            for read, spans in zip(part, self._spans(model, part, questions, search.n_best), strict=True):
                found[read.text] += spans
        return [self._predictions(text, spans)[: search.n_best] for text, spans in zip(texts, found, strict=True)]

    def panels(self, model: Any, text: str, search: Search, *, head: int | None = None) -> list[Panel]:
        """Return the distributions of start and end near the answer, and the attention between passage and question.

        For a Transformer that encodes both in one window, also return all layers and heads.
        """
        no_head(head)
        with watched_heads(model) as seen:
            (answer,) = self.predict(model, [text], replace(search, n_best=1))[0]
        assert isinstance(answer, SpanAnswer)
        read = (*answer.question_tokens, "</s>", *answer.source_tokens)
        return [*panels(answer, _parts(text)[0]), *seen_heads(seen, read, ("<s>", *read, "</s>"))]

    def subject(self, model: Any) -> Subject:
        def part(text: str) -> tuple[str, str]:
            """Return the question, and the window with the answer or a short passage as a whole."""
            question, passage = _parts(text)
            windows = list(self.cutting.windows(passage))
            if len(windows) < 2:
                return question, passage
            (answer, *_) = self.predict(model, [text], Search())[0]
            assert isinstance(answer, SpanAnswer)
            return question, next(one.text for one in windows if answer.text in one.text)

        return subject_of(model, self.tokenizer, part)

    @torch.inference_mode()
    def _spans(
        self, model: Any, reads: Sequence[_Read], questions: Sequence[Sequence[int]], n_best: int
    ) -> list[list[_Span]]:
        """Return the best spans of each window."""
        device = next(model.parameters()).device
        asked, told = [list(questions[read.text]) or [UNK] for read in reads], [read.ids or [UNK] for read in reads]
        lengths = [torch.tensor([len(row) for row in rows], device=device) for rows in (asked, told)]
        ids = [padded(rows, PAD).to(device) for rows in (asked, told)]
        predicted: ModelOutput = model(ids[0], lengths[0], ids[1], lengths[1])
        logits = predicted.logits.float()
        places = [self.tokenizer.places(read.window.text) for read in reads]
        numbers = [word_numbers(read.window.text, one) for read, one in zip(reads, places, strict=True)]
        words = padded(numbers, 0).to(device)
        words = torch.nn.functional.pad(words, (0, logits.shape[1] - words.shape[1]))
        ranked = best_spans(logits, words, longest=self.longest, n_best=n_best)
        logits = logits.cpu()
        found = []
        for row, read in enumerate(reads):
            size = len(read.ids)
            looked = reader_trace(predicted, row, len(asked[row]), size)
            tokens = [tuple(self.tokenizer.tokens(ids)) for ids in (asked[row], read.ids)]
            scored = _Scored(read.window, places[row], tokens[1], tokens[0], logits[row, :size], looked)
            found.append([_Span(score, first, last, scored) for score, first, last in ranked[row]])
        return found

    def _predictions(self, text: str, spans: Sequence[_Span]) -> list[Prediction]:
        """Merge the spans of all windows, best first; a span in the overlap of windows is reported once."""
        windows = {span.scored.window: span.scored.logits for span in spans}
        if not windows:
            return []
        total = torch.cat(list(windows.values())).logsumexp(0)  # [2], log of the normaliser over all windows
        found: dict[tuple[int, int], _Span] = {}
        for span in sorted(spans, key=lambda one: -one.score):
            found.setdefault(span.place, span)
        return [_answer(text, span, total) for span in found.values()]


class _Read(NamedTuple):
    """A window of the passage of an input, with the index of the input."""

    text: int
    window: PassageWindow
    ids: list[int]


class _Scored(NamedTuple):
    """A window with the logits [S, 2] of its tokens, and the attention of the reader."""

    window: PassageWindow
    places: list[tuple[int, int]]
    pieces: tuple[str, ...]
    question: tuple[str, ...]
    logits: Tensor
    looked: ReaderTrace


class _Span(NamedTuple):
    """Tokens `first` to `last` of a window, with the sum of the two logits."""

    score: float
    first: int
    last: int
    scored: _Scored

    @property
    def characters(self) -> tuple[int, int]:
        """Character offsets in the window: start, and end (exclusive)."""
        return self.scored.places[self.first][0], self.scored.places[self.last][1]

    @property
    def place(self) -> tuple[int, int]:
        """Character offsets in the passage: start, and end (exclusive)."""
        begin, end = self.characters
        return self.scored.window.begin + begin, self.scored.window.begin + end


def _answer(text: str, span: _Span, total: Tensor) -> SpanAnswer:
    """Return the answer for a span; `total` [2] is the log-sum-exp over the tokens of all windows."""
    scored, (begin, end) = span.scored, span.characters
    likely = scored.logits - total
    log_probs = (float(likely[span.first, 0]), float(likely[span.last, 1]))
    return SpanAnswer(
        source=text,
        text=scored.window.text[begin:end],
        score=sum(log_probs),
        source_tokens=scored.pieces,
        tokens=(scored.pieces[span.first], scored.pieces[span.last]),
        log_probs=log_probs,
        alignment=scored.logits.softmax(0).T,
        question_tokens=scored.question,
        looked=scored.looked,
    )


def _room(reader: Any, asked: int, told: int) -> int:
    """Return the number of positions that a reader (or its class) needs for a question and a window."""
    return asked + 1 + told if getattr(reader, "reads_as_one", True) else max(asked, told)


def _boundary_loss(logits: Tensor, span: Tensor) -> tuple[Tensor, Tensor]:
    """Cross-entropy of starts and ends: logits [N, S, 2], span [N, 2]."""
    return token_loss(logits.mT.flatten(0, 1), span.flatten(), padding=IGNORE)


def best_spans(logits: Tensor, words: Tensor, *, longest: int, n_best: int = 1) -> list[list[tuple[float, int, int]]]:
    """Return the spans with the largest sums of logits, best first: (sum, first token, last token).

    Args:
        logits: [B, S, 2], -inf at padding.
        words: [B, S], the index of the word that contains each token.
        longest: maximum length of a span in words.
        n_best: number of spans.

    >>> logits = torch.tensor([[[2.0, 7.0], [5.0, 0.0], [0.0, 3.0]]])
    >>> best_spans(logits, torch.tensor([[0, 1, 2]]), longest=2, n_best=2)      # not 5 + 7: its end precedes its start
    [[(9.0, 0, 0), (8.0, 1, 2)]]
    """
    size = logits.shape[1]
    sums = logits[:, :, None, 0] + logits[:, None, :, 1]  # [B, S, S], start x end
    far = words[:, None, :] - words[:, :, None]  # [B, S, S], length of the span in words, less 1
    places = torch.arange(size, device=logits.device)
    allowed = (places >= places[:, None]) & (far < longest)
    ranked = sums.masked_fill(~allowed, -torch.inf).flatten(1).topk(min(n_best, size * size))
    return [
        [(value, place // size, place % size) for value, place in zip(values, found, strict=True) if value > -torch.inf]
        for values, found in zip(ranked.values.tolist(), ranked.indices.tolist(), strict=True)
    ]


def _parts(text: str) -> tuple[str, str]:
    question, tab, passage = text.partition("\t")
    if not tab or not question.strip() or not passage.strip():
        raise TextError(f"a question and its passage have a tab between them; got {shortened(text)!r}")
    return question, passage

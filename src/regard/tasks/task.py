"""Task: the loss of a model on batches, its answers, and everything that training and commands ask of both."""

from __future__ import annotations

import abc
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from rich.markup import escape
from torch import Tensor, nn

from regard.data.batch import Batch, padded
from regard.data.bpe_dropout import BPEDropout
from regard.data.corpus import Corpus
from regard.data.example import Example, Examples, Value
from regard.data.feed import ExampleFeed, Feed, StreamFeed
from regard.data.joined import SECOND, Joined
from regard.data.labels import Labels
from regard.data.numbers import Numbers
from regard.data.problems import DataError, TextError, shortened
from regard.data.target_kinds import ONE_LABEL
from regard.data.tokenizer import Tokenizer
from regard.decode.search import Search
from regard.evaluate.class_scores import ClassScores
from regard.evaluate.perplexity import perplexity
from regard.evaluate.texts import References
from regard.explain.panel import Panel
from regard.models.outputs import log_softmax
from regard.recipes.data_section import Reading
from regard.recipes.sections import Recipe
from regard.specials import IGNORE, PAD, UNK
from regard.tasks.class_weights import ClassWeights
from regard.tasks.loss import Loss
from regard.tasks.lstmn_panels import tape_panels, taped
from regard.tasks.prediction import Prediction
from regard.tasks.tokenizers import learned_positions, learned_tokenizer, texts_end, values
from regard.view.direction import isolated
from regard.view.terminal import heat_map

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from regard.decode.constraint import Trie
    from regard.evaluate.score import Score
    from regard.recipes.data_section import Split as SplitName
    from regard.tasks.splits import Split

Encoders = Mapping[str, Tokenizer | Labels | Numbers]
"""The encoder of each field."""

Pace = Literal["steps", "at once"]
"""Whether a model learns a text step by step, for which Python is always too slow, or all of it in one pass."""

MEASURED = 64
"""Examples side by side when a model is measured."""
LONG_WINDOW = 512
"""Tokens that a model which carries its state reads at a time when it is measured."""


class Task(abc.ABC):
    """The loss of a model on batches, and its answers; built from a recipe and the encoders of its fields.

    Everything that training, prediction, evaluation, views and reports need to know of a system is a method here; no
    module outside a system's folder asks which task it is.

    Attributes:
        context: the field with what the question is about; None where the question is all there is.
        question: the field that is read.
        answer: the field with the right answer; None where the text itself is (language models).
        framed: fields that get a beginning and an end.
        unit: what the loss is the mean of.
        encoded: whether fields are turned into ids, by encoders that are learned and kept.
        beside: fields with encoders that only some recipes have.
        plain: fields that stay as they are all the same: the names of nodes.
        outline_sizes: sizes of a model that is made to check its arguments.
        encoders: of each field.
    """

    context: ClassVar[str | None] = None
    question: ClassVar[str]
    answer: ClassVar[str | None]
    framed: ClassVar[tuple[str, ...]] = ()
    unit: ClassVar[str] = "token"
    encoded: ClassVar[bool] = True
    plain: ClassVar[tuple[str, ...]] = ()
    beside: ClassVar[tuple[str, ...]] = ()
    outline_sizes: ClassVar[tuple[int, int | None]] = (8, 8)
    encoders: Encoders

    # ----------------------------------------------------------------------------------------------- from a recipe

    @classmethod
    @abc.abstractmethod
    def of(cls, recipe: Recipe, encoders: Encoders) -> Task:
        """Return the task of a recipe."""

    @classmethod
    def encoder_fields(cls) -> tuple[str, ...]:
        """Return the fields that have an encoder, those of some recipes last."""
        fields = (cls.context, cls.question, cls.answer, *cls.beside)
        return tuple(one for one in fields if one is not None and one not in cls.plain) if cls.encoded else ()

    @classmethod
    def reading(cls, recipe: Recipe) -> Reading:
        """Return how the data of a recipe are read."""
        return Reading(
            question=cls.question,
            answer=cls.answer,
            second=cls.context or SECOND,
            group=cls.context or cls.question,
            target_kind=ONE_LABEL,
            adapt=Joined if recipe.pairs else lambda found: found,
        )

    @classmethod
    def learn_encoders(cls, recipe: Recipe, train: Examples, known: Encoders) -> Encoders:
        """Return the encoders of all fields, learned from the training split but for those that are known.

        Args:
            recipe: with the settings of tokenizers.
            train: the examples.
            known: those of the run that this one begins with.
        """
        question = known.get(cls.question) or learned_tokenizer(
            recipe.tokenizer, values(train, cls.question), masked=recipe.reads_pairs
        )
        if cls.answer is None:
            return {cls.question: question}
        return {cls.question: question, cls.answer: cls.reading(recipe).target_kind.learn(values(train, cls.answer))}

    @classmethod
    def corpus(cls, recipe: Recipe, found: Examples, encoders: Encoders, cache: Path) -> Corpus | None:
        """Return examples as ids, from the cache if they are there; None where they have none."""
        return Corpus.build(found, encoders, cache)

    @classmethod
    def check_labels(cls, found: Examples, corpus: Corpus | None, encoders: Encoders, split: SplitName) -> None:
        """Check that some label of each field is known; those that are not count as wrong.

        Raises:
            DataError: none is.
        """
        for field, one in encoders.items():
            ids = corpus.ids(field) if corpus is not None and isinstance(one, Labels) else ()
            if len(ids) and (np.asarray(ids) == IGNORE).all():
                raise DataError(
                    f"no {field} of the split {split} occurs in the training data; look whether they are the same"
                )

    def training_feed(self, recipe: Recipe, split: Split) -> Feed:
        """Return the batches that a model is trained on."""
        given = recipe.train.batch
        if given.window is not None:
            assert given.sentences is not None
            return StreamFeed(split.corpus, rows=given.sentences, window=given.window, ends=texts_end(recipe))
        return ExampleFeed(
            split.corpus,
            framed=self.framed,
            counted=self.counted,
            tokens=given.tokens,
            sentences=given.sentences,
            seed=recipe.train.seed,
            weights=split.weights,
            dropouts=self.dropouts(recipe),
        )

    def measuring_feed(self, recipe: Recipe, split: Split, *, carries: bool) -> Feed:
        """Return the batches that a model is measured on, one epoch of them in a fixed order.

        A model that carries its state reads longer windows than it was trained on, which is the same and faster.
        """
        window = recipe.train.batch.window
        if window is None:
            return ExampleFeed(
                split.corpus,
                framed=self.framed,
                counted=self.counted,
                tokens=None,
                sentences=MEASURED,
                shuffle=False,
            )
        steps, rows = max(window, LONG_WINDOW) if carries else window, recipe.evaluate.rows
        tokens = len(split.corpus.ids(self.question)) + texts_end(recipe) * len(split.corpus)
        if tokens < 2 * rows:
            raise DataError(
                f"evaluate.rows is {rows}, and a text of {tokens} tokens is measured, which needs two a row; make it "
                "smaller, or the text longer"
            )
        return StreamFeed(split.corpus, rows=rows, window=steps, ends=texts_end(recipe))

    def dropouts(self, recipe: Recipe) -> dict[str, BPEDropout]:
        """Return what cuts the texts of each field anew in each epoch, where the recipe asks for it."""
        section, found = recipe.tokenizer, {}
        for field, encoder in self.encoders.items():
            part = section.target if field == self.answer and section.target is not None else section
            if part.dropout and isinstance(encoder, Tokenizer):
                longest = learned_positions(recipe)
                found[field] = BPEDropout(encoder, part.dropout, seed=recipe.train.seed, longest=longest)
        return found

    # ------------------------------------------------------------------------------------------ before the first step

    def check_model(self, model: nn.Module) -> None:  # noqa: B027, most tasks have nothing to check
        """Check that a model can do what the data ask of it.

        Args:
            model: outlined, without memory.

        Raises:
            ValueError: it cannot.
        """

    def longest_inputs(
        self, recipe: Recipe, splits: Mapping[str, Split | None], dropped: Collection[int]
    ) -> Iterator[tuple[str, int]]:
        """Yield what a model with learned positions reads or writes at most: a phrase, and the positions it takes.

        Args:
            recipe: whether texts are read in windows.
            splits: the data.
            dropped: examples of the split train that no batch has room for.
        """
        for _, what, needed in self.longest_texts(recipe, splits, dropped):
            yield what, needed

    def longest_texts(
        self, recipe: Recipe, splits: Mapping[str, Split | None], dropped: Collection[int]
    ) -> Iterator[tuple[str, str, int]]:
        """Yield the fields of `longest_inputs`, each with its phrase and its positions."""
        if recipe.train.batch.window is not None:  # which the recipe was checked for
            return
        generated = [] if self.unit != "token" else [self.answer or self.question]
        if recipe.model.kind == "bidirectional":
            generated.append(self.question)
        texts = [field for field, encoder in self.encoders.items() if isinstance(encoder, Tokenizer)]
        for name, split in splits.items():
            for field in texts if split is not None else ():
                assert split is not None
                lengths = np.delete(split.corpus.lengths(field), list(dropped) if name == "train" else [])
                most = int(lengths.max())
                yield field, f"the longest {field} of the split {name}, {most} tokens", most + (field in generated)

    def longest_samples(self, recipe: Recipe) -> Iterator[tuple[str, int]]:
        """Yield likewise what a model is shown to make of examples; in most tasks nothing is."""
        return iter(())

    def cuda_graph_obstacle(self, model: nn.Module) -> str | None:
        """Return why updates cannot be captured as CUDA graphs, where the task is the reason; None if they can."""
        return None

    # ---------------------------------------------------------------------------------------------------- inputs

    def parse(self, given: Any) -> Any:
        """Return an input as `predict` reads it: from a text, a mapping of fields, a path, or the bytes of a file.

        Raises:
            TextError: it is none of these, or lacks a field.
        """
        if isinstance(given, str):
            return given
        if isinstance(given, Mapping):
            missing = next((name for name in self.input_fields if name not in given), None)
            if missing is not None:
                raise TextError(f"the input has no {missing!r}; it should have {', '.join(self.input_fields)}")
            return self.ask(given)
        if isinstance(given, Path):
            given = given.read_bytes()
        if isinstance(given, bytes):
            try:
                return given.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError:
                raise TextError("the bytes are not text in UTF-8; this task reads text") from None
        raise TextError(f"{given!r} is not a text; give a string, a mapping of fields, a path or bytes")

    def is_blank(self, parsed: Any) -> bool:
        """Return whether an input is a text without a word, which has a blank answer."""
        return self.answer is not None and isinstance(parsed, str) and not parsed.strip()

    # ---------------------------------------------------------------------------------------------------- answers

    def drawing(self, prediction: Prediction) -> Text | None:
        """Return an answer drawn for a terminal, with where the model looked; None where there is nothing to draw."""
        drawn = prediction.drawn()
        if drawn is None:
            return None
        weights, rows = drawn
        return heat_map(weights, prediction.source_tokens, rows)

    def rendered(self, prediction: Prediction) -> Iterator[RenderableType]:
        """Yield an answer for a terminal: its drawing, then input and answer, and the right one where it differs."""
        drawn, right = self.drawing(prediction), prediction.reference
        if drawn is not None:
            yield ""
            yield drawn
        asked, said = escape(isolated(self.shown_input(prediction))), escape(isolated(prediction.said()))
        wrong = right is not None and prediction.text not in (right, *right.split(" / "))
        line = f"  {asked}  →  [bold]{said}[/]"
        yield f"{line}  (reference: {escape(isolated(str(right)))})" if wrong else line

    def shown_input(self, prediction: Prediction) -> str:
        """Return the input of an answer as it is shown beside it."""
        return prediction.source

    def likelihood_scores(self, split: Split, total: float, tokens: int) -> dict[str, Score]:
        """Return the scores that follow from the likelihood alone: perplexity of what generates text.

        Args:
            split: what was measured.
            total: -log p of all that is right, in nats.
            tokens: the number of units.
        """
        return {"perplexity": perplexity(total, tokens)} if self.unit == "token" else {}

    def samples(self, model: Any, texts: Sequence[str], search: Search) -> list[Prediction]:
        """Return answers to look at, where there are no right ones to compare with."""
        return []

    def merges_equal_inputs(self, recipe: Recipe) -> bool:
        """Return whether equal inputs are asked once, with all their right answers, when a model is measured."""
        return False

    def output_set(self, texts: Iterable[str] | Path) -> Trie:
        """Return a set of outputs, read once, that answers can be held to.

        Raises:
            ValueError: answers of this task are not searched for.
        """
        raise ValueError("only holds answers to a set of translations; this task does not translate, leave it out")

    @property
    def measured_in(self) -> str:
        """What the number of a loss means."""
        return "nats a token, given the right ones before it" if self.unit == "token" else f"nats a {self.unit}"

    @property
    def loss_unit(self) -> str:
        """The same, as short as a table has it."""
        return "nats"

    @property
    def counted(self) -> str:
        """The field whose ids are predicted."""
        return self.answer or self.question

    @property
    def sizes(self) -> tuple[int, int | None]:
        """How many ids there are to read and to say; None where they are the same."""
        return self.encoders[self.question].size, None if self.answer is None else self.encoders[self.answer].size

    @property
    def scale(self) -> float | None:
        """The largest entry of embeddings at first, where a recipe gives none; None for the model's own choice.

        That is small, for large vocabularies: a word that is seen once or twice keeps about the vector it began with,
        which is then little noise. Characters are few, each is seen often, and vectors of a size learn sooner.
        """
        encoder = self.encoders.get(self.question)
        return 1.0 if isinstance(encoder, Tokenizer) and encoder.kind == "characters" else None

    def fitted(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a model with those that the data decide, beyond sizes."""
        return dict(arguments)

    @abc.abstractmethod
    def loss(self, model: nn.Module, batch: Batch, *, update: int | None = None, state: Any = None) -> Loss:
        """The loss of a batch.

        Args:
            model: what predicts.
            batch: examples, or a window of a text.
            update: counts updates from 0 in training; None in evaluation.
            state: where the model stood after the window before; None at the beginning and for examples.
        """

    @property
    def input_fields(self) -> tuple[str, ...]:
        """The fields that `predict` is given, in the order of the columns of a file."""
        return (self.question,)

    def ask(self, fields: Mapping[str, Value]) -> Any:
        """Return the input that an example is, as `predict` takes it: several texts with tabs between."""
        found = [fields[name] for name in self.input_fields if name in fields]
        texts = [value if isinstance(value, str) else " ".join(value) for value in found]
        return texts[0] if len(texts) == 1 else "\t".join(" ".join(text.split("\t")) for text in texts)

    def right(self, text: str, references: Sequence[str]) -> bool | None:
        """Return whether an answer is one of the right ones, runs of spaces counted as one; None of numbers."""
        if self.constant is not None:
            return None
        return " ".join(text.split()) in {" ".join(reference.split()) for reference in references}

    def reference(self, text: str) -> str:
        """A right answer as `predict` would write it."""
        return text

    def weighted(self, weights: ClassWeights) -> Task:
        """Return the task with a weight per class in its training loss."""
        raise ValueError(f"train.class_weights is for labels; an answer of this task is no {self.unit} with a class")

    def classes(self, text: str) -> list[str]:
        """Return the classes that an answer names, to be counted one by one; none where answers are free text."""
        return []

    def class_scores(self, texts: Sequence[str], references: References) -> ClassScores | None:
        """Return the scores of classes where an answer can name several at once; None of other answers."""
        return None

    @property
    def floor(self) -> float:
        """The loss of a model that knows only how frequent each answer is, where there are no ids that would say it."""
        return 0.0

    def unigram_loss(self, corpus: Corpus) -> float | None:
        """The loss of answers that look at nothing, from the training data; None for the entropy of their ids."""
        return None

    @property
    def constant(self) -> str | None:
        """The answer that looks at nothing, which errors are measured beside; None where there is no such answer."""
        return None

    def averaged(self, logits: Sequence[Tensor]) -> Tensor:
        """Return the logits of several models, which answer together, as those of one: the mean probability."""
        return mean_log_probs(logits)

    def data_warnings(self, model: nn.Module, corpus: Corpus | None) -> list[str]:
        """Return what a person should know of the data beside this model before training, in sentences.

        Args:
            model: that is trained.
            corpus: of the training split; None where examples have no ids.
        """
        return []

    def remarks(self) -> list[str]:
        """What a person should know of the data before training, in sentences."""
        return []

    def references(self, fields: Mapping[str, Value]) -> list[str]:
        """All right answers to an example."""
        assert self.answer is not None
        value = fields[self.answer]
        return [self.reference(value if isinstance(value, str) else " ".join(value))]

    def apart(self, other: Task) -> str | None:
        """Why models of two runs cannot answer together, to be said of both; None if they can.

        Args:
            other: the task of the other run, of the same class.
        """
        for field, encoder in self.encoders.items():
            if other.encoders.get(field) != encoder:
                return (
                    f"have different vocabularies of {field!r}, and models answer together by one; train both on the "
                    "same data with the same tokenizer"
                )
        return None

    def pace(self, model: nn.Module) -> Pace | None:
        """How the loss of a model goes through its words; None where its updates cannot be recorded."""
        return None

    def validated(self, model: Any, loss: float) -> str | None:
        """What the loss of a validation changes in training, in a sentence; nothing in most tasks."""
        return None

    def tuned(self, model: Any, examples: Iterable[Example]) -> Task:
        """The task with whatever is tuned on the validation data when training is over; in most tasks nothing is.

        Args:
            model: the model that the run is remembered by, in evaluation mode.
            examples: of the validation split.
        """
        return self

    def ready(self, model: Any, examples: Iterable[Example] | None = None) -> Task:
        """The task as this model answers it: with whatever is computed once for all questions.

        Args:
            model: what answers, in evaluation mode.
            examples: those that it is measured on; None where nobody knows what will be asked.
        """
        return self

    def doubts(self, model: Any, texts: Sequence[str]) -> list[str]:
        """What a person should know of these questions before an answer is believed, in sentences."""
        encoder = self.encoders.get(self.question)
        if not isinstance(encoder, Tokenizer):
            return []
        return [
            f"no word of {shortened(text)!r} is in the vocabulary of this run: its answer says nothing"
            for text, row in zip(texts, encoder.encode_all(list(texts)), strict=True)
            if set(row) == {UNK}
        ]

    def panels(self, model: Any, text: Any, search: Search, *, head: int | None = None) -> list[Panel]:
        """Return the attention of a model that answers an input, to be drawn; of an LSTMN also that of its tape.

        Args:
            model: what answers.
            text: the input, parsed.
            search: how answers are looked for.
            head: of the attention, from 1, where a task lets one be chosen; None for what it shows by itself.
        """
        no_head(head)
        with taped(model, "encoder") as tapes:
            (found,) = self.predict(model, [text], search)[0][:1]
        drawn, texts = found.drawn(), text.split("\t")  # two texts have a tab between
        title = f"{' | '.join(map(isolated, texts))} → {isolated(found.text)}"
        shown = [] if drawn is None else [Panel(title, drawn[0], rows=drawn[1], columns=found.source_tokens)]
        if len(texts) == 1:
            shown += tape_panels(tapes, text if shown else title, found.source_tokens)
        if not shown:
            raise ValueError("the model attends to nothing that could be drawn")
        return shown

    @abc.abstractmethod
    def predict(self, model: Any, texts: Sequence[Any], search: Search, *, batch: int = 32) -> list[list[Prediction]]:
        """Return the n best answers to each input, independent of the batch that it is computed in.

        Args:
            model: what answers.
            texts: the inputs as `parse` returns them: texts, in most tasks.
            search: how answers are searched for; `n_best` of them.
            batch: inputs per batch.
        """


def no_head(head: int | None) -> None:
    """Refuse a head where there is none to choose."""
    if head is not None:
        raise ValueError("--head is for networks on graphs, whose heads can be chosen; leave it out")


def mean_log_probs(logits: Sequence[Tensor]) -> Tensor:
    """Return the logarithm of the mean probability: of each model's logits [..., V] -> [..., V].

    >>> mean_log_probs([torch.tensor([0.5, 0.5]).log(), torch.tensor([0.9, 0.1]).log()]).exp()
    tensor([0.7000, 0.3000])
    """
    return torch.stack([log_softmax(one) for one in logits]).logsumexp(0) - math.log(len(logits))


def in_batches(
    rows: Sequence[Sequence[int]], size: int, device: torch.device
) -> Iterator[tuple[list[int], Tensor, Tensor]]:
    """Rows of ids by similar length: (which rows, ids [B, S], lengths [B]); an empty row becomes one unknown word.

    >>> [(which, ids.tolist()) for which, ids, _ in in_batches([[7, 8], [9], []], 2, torch.device("cpu"))]
    [([2, 1], [[1], [9]]), ([0], [[7, 8]])]
    """
    order = sorted(range(len(rows)), key=lambda index: len(rows[index]))
    for begin in range(0, len(order), size):
        part = order[begin : begin + size]
        ids = [list(rows[index]) or [UNK] for index in part]
        yield part, padded(ids, PAD).to(device), torch.tensor([len(row) for row in ids], device=device)

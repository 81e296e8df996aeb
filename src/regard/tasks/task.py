"""Task: the loss of a model on batches, built from a recipe; its inputs and outputs are in `input_output.py`."""

from __future__ import annotations

import abc
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from regard.data.batching.batch import Batch, Collator, padded
from regard.data.batching.bpe_dropout import BPEDropout
from regard.data.batching.corpus import Corpus
from regard.data.batching.feed import ExampleFeed, Feed, StreamFeed
from regard.data.example import Example, Examples
from regard.data.fields.field import Field
from regard.data.fields.field_encoder import FieldEncoder
from regard.data.fields.target_kinds import ONE_LABEL
from regard.data.fields.tokenizer import Tokenizer
from regard.data.formats.joined_texts import SECOND, JoinedTexts
from regard.data.problems import DataError
from regard.parts import imported
from regard.recipes.data_section import FieldLayout
from regard.recipes.sections import Recipe, TokenizerPart
from regard.recipes.system import system_of
from regard.specials import EOS, PAD, UNK
from regard.tasks.class_weights import ClassWeights
from regard.tasks.input_output import InputOutput
from regard.tasks.loss import Loss
from regard.tasks.tokenizers import ends_texts, field_values, learned_positions, tokens_field

if TYPE_CHECKING:
    from regard.evaluate.metric_result import MetricResult
    from regard.recipes.data_section import SplitName
    from regard.tasks.splits import Split

FieldEncoders = Mapping[str, FieldEncoder]
"""The encoder of each field that has one."""
Fields = Mapping[str, Field[Any]]
"""The kind of each field of a corpus."""

Unrolling = Literal["steps", "at once"]
"""Unrolling of a loss over a text: step by step, where Python limits the speed, or in one pass."""

MEASURED = 64
"""Examples side by side when a model is measured."""
LONG_WINDOW = 512
"""Tokens that a model which carries its state reads at a time when it is measured."""


class Task(InputOutput):
    """Loss of a model on batches, with its inputs and outputs; built from a recipe and the encoders of its fields.

    Everything that training, prediction, evaluation, views and reports need to know of a system is a method here or of
    `InputOutput`; no module outside a system's folder asks which task it is.

    Attributes:
        context: a second input field, which the question is about; None for a single input.
        outline_sizes: sizes of a model that is built to check its arguments.
    """

    context: ClassVar[str | None] = None
    outline_sizes: ClassVar[tuple[int, int | None]] = (8, 8)

    @classmethod
    @abc.abstractmethod
    def of(cls, recipe: Recipe, encoders: FieldEncoders) -> Task:
        """Return the task of a recipe."""

    @classmethod
    def reading(cls, recipe: Recipe) -> FieldLayout:
        """Return how the data of a recipe are read."""
        return FieldLayout(
            question=cls.question,
            answer=cls.answer,
            second=cls.context or SECOND,
            group=cls.context or cls.question,
            target_kind=ONE_LABEL,
            adapt=JoinedTexts if recipe.system.joins_texts(recipe) else lambda found: found,
        )

    @classmethod
    def fields(cls, recipe: Recipe) -> dict[str, Field[Any]]:
        """Return the kind of each field of a corpus, without the encoders that are learned from the data.

        Those that learn an encoder keep it with the run. By default the question is a text, and the answer of the form
        that the data have.
        """
        question = tokens_field(recipe.tokenizer, masked=recipe.system.reads_pairs(recipe))
        if cls.answer is None:
            return {cls.question: question}
        return {cls.question: question, cls.answer: cls.reading(recipe).target_kind.field()}

    @classmethod
    def encoded_fields(cls, recipe: Recipe, encoders: FieldEncoders) -> dict[str, Field[Any]]:
        """Return the kinds of the fields with their encoders."""
        return {name: field.with_encoder(encoders.get(name)) for name, field in cls.fields(recipe).items()}

    @classmethod
    def encoder_fields(cls, recipe: Recipe) -> tuple[str, ...]:
        """Return the fields that learn an encoder."""
        return tuple(name for name, field in cls.fields(recipe).items() if field.LEARNS)

    @classmethod
    def learn_encoders(cls, recipe: Recipe, train: Examples, known: FieldEncoders) -> FieldEncoders:
        """Return the encoders of all fields, learned from the training split but for those that are known.

        Args:
            recipe: with the settings of tokenizers.
            train: the examples.
            known: those of the run that this one begins with.
        """
        kinds = {name: field for name, field in cls.fields(recipe).items() if field.LEARNS}
        return {name: known.get(name) or field.learn(field_values(train, name)) for name, field in kinds.items()}

    @classmethod
    def corpus(cls, recipe: Recipe, found: Examples, fields: Fields, cache: Path) -> Corpus | None:
        """Return examples encoded, from the cache if they are there; None where they are never all encoded."""
        return Corpus.build(found, fields, cache)

    @classmethod
    def check_labels(cls, found: Examples, corpus: Corpus | None, fields: Fields, split: SplitName) -> None:
        """Check that some value of each field is known; unknown ones count as wrong.

        Raises:
            DataError: none is.
        """
        for name, field in corpus.kinds.items() if corpus is not None else ():
            if corpus is not None and not field.known(corpus.column(name)):
                raise DataError(
                    f"no {name} of the split {split} occurs in the training data; look whether they are the same"
                )

    def training_feed(self, recipe: Recipe, split: Split) -> Feed:
        """Return the batches that a model is trained on."""
        given = recipe.train.batch
        if given.window is not None:
            assert given.sentences is not None
            ends = ends_texts(recipe)
            return StreamFeed(split.corpus, self.question, rows=given.sentences, window=given.window, ends=ends)
        return ExampleFeed(
            split.corpus,
            counted=self.target_field,
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
                counted=self.target_field,
                tokens=None,
                sentences=MEASURED,
                shuffle=False,
            )
        steps, rows = max(window, LONG_WINDOW) if carries else window, recipe.evaluate.rows
        tokens = len(split.corpus.ids(self.question)) + ends_texts(recipe) * len(split.corpus)
        if tokens < 2 * rows:
            raise DataError(
                f"evaluate.rows is {rows}, and a text of {tokens} tokens is measured, which needs two a row; make it "
                "smaller, or the text longer"
            )
        return StreamFeed(split.corpus, self.question, rows=rows, window=steps, ends=ends_texts(recipe))

    def example_batch(self, split: Split, number: int) -> Batch | None:
        """Return one example of a split as a batch; None where an example has no loss of its own.

        That is so of language models, whose examples are parts of one text.
        """
        if self.answer is None or split.encoded is None:
            return None
        return Collator(split.corpus, counted=self.target_field)([number])

    @classmethod
    def tokenizer_part(cls, recipe: Recipe, field: str) -> TokenizerPart:
        """Return the settings of the tokenizer of a field."""
        section = recipe.tokenizer
        return section.target if field == cls.answer and section.target is not None else section

    def embeddings(self, model: nn.Module) -> dict[str, Any]:
        """Return the module that embeds the words of each field, with their `table`; no entry where there is none.

        By default the input is embedded by `words` of the model's encoder, and what is generated by `words` of the
        model itself; a model without an encoder embeds its input itself.
        """
        encoder = getattr(model, "encoder", None)
        own, read = (getattr(one, "words", None) for one in (getattr(model, "model", model), encoder))
        found = {}
        for field, known in self.encoders.items():
            words = own if encoder is None or field == self.answer else read
            table = getattr(words, "table", None)
            if isinstance(known, Tokenizer) and isinstance(table, nn.Embedding) and table.num_embeddings == known.size:
                found[field] = words
        return found

    def dropouts(self, recipe: Recipe) -> dict[str, BPEDropout]:
        """Return what cuts the texts of each field anew in each epoch, where the recipe asks for it."""
        found = {}
        for field, encoder in self.encoders.items():
            part = self.tokenizer_part(recipe, field)
            if part.dropout and isinstance(encoder, Tokenizer):
                longest = learned_positions(recipe)
                found[field] = BPEDropout(encoder, part.dropout, seed=recipe.train.seed, longest=longest)
        return found

    def check_model(self, model: nn.Module) -> None:
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
        generated = self.generated_fields(recipe)
        texts = [field for field, encoder in self.encoders.items() if isinstance(encoder, Tokenizer)]
        for name, split in splits.items():
            for field in texts if split is not None else ():
                assert split is not None
                lengths = np.delete(split.corpus.lengths(field), list(dropped) if name == "train" else [])
                most = int(lengths.max())
                yield field, f"the longest {field} of the split {name}, {most} tokens", most + (field in generated)

    def generated_fields(self, recipe: Recipe) -> Sequence[str]:
        """Return the fields whose tokens the model generates."""
        return [self.answer or self.question] if self.unit == "token" else []

    def longest_samples(self, recipe: Recipe) -> Iterator[tuple[str, int]]:
        """Yield likewise what a model is shown to make of examples; in most tasks nothing is."""
        return iter(())

    def cuda_graph_obstacle(self, model: nn.Module) -> str | None:
        """Return why updates cannot be captured as CUDA graphs, where the task is the reason; None if they can."""
        return None

    @property
    def target_field(self) -> str:
        """Field whose ids are predicted."""
        return self.answer or self.question

    @property
    def sizes(self) -> tuple[int, int | None]:
        """Numbers of source and target ids; no second one where they are the same."""
        return self.encoders[self.question].size, None if self.answer is None else self.encoders[self.answer].size

    @property
    def scale(self) -> float | None:
        """Largest initial entry of embeddings, where a recipe gives none; None for the model's own choice.

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
        """Return the loss of a batch.

        Args:
            model: what predicts.
            batch: examples, or a window of a text.
            update: counts updates from 0 in training; None in evaluation.
            state: where the model stood after the window before; None at the beginning and for examples.
        """

    def weighted(self, weights: ClassWeights) -> Task:
        """Return the task with a weight per class in its training loss."""
        raise ValueError("train.class_weights needs a task with labels; the answers of this one are no classes")

    def unigram_loss(self, corpus: Corpus | None) -> float:
        """Return the loss, in nats, of a model that ignores its input and knows only the frequencies of the targets.

        Args:
            corpus: the training split; None where examples have no ids.
        """
        if corpus is None:
            return 0.0
        counts = np.bincount(corpus.ids(self.target_field), minlength=EOS + 1).astype(np.float64)
        if self.unit == "token":
            counts[EOS] += len(corpus)  # every text is trained to end
        shares = counts[counts > 0] / counts.sum()
        return float(-(shares * np.log(shares)).sum())

    def data_warnings(self, model: nn.Module, corpus: Corpus | None) -> list[str]:
        """Return warnings about the training data, printed before the first update.

        Args:
            model: the model to train.
            corpus: the training split; None where examples have no ids.
        """
        return []

    def incompatibility(self, other: Task) -> str | None:
        """Return why models of two runs cannot form an ensemble, as a clause about both; None if they can.

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

    def unrolling(self, model: nn.Module) -> Unrolling | None:
        """Return how the loss steps through a text; None where updates cannot be captured in a CUDA graph."""
        return None

    def after_validation(self, model: Any, loss: float) -> str | None:
        """Adapt the model to a validation loss; return a message about what changed, or None."""
        return None

    def final_scores(self, model: nn.Module, split: Split, recipe: Recipe) -> dict[str, MetricResult]:
        """Return scores that take long: measured after training and by `regard evaluate`; most tasks have none.

        Args:
            model: in evaluation mode; it is left as it was.
            split: the evaluation data.
            recipe: says what is measured.
        """
        return {}

    def tuned(self, model: Any, examples: Iterable[Example]) -> Task:
        """Return the task with parameters tuned on the validation split after training; most tasks have none.

        Args:
            model: the final model of the run, in evaluation mode.
            examples: of the validation split.
        """
        return self

    def restored(self, folder: Path) -> Task:
        """Return the task with what its run keeps beside encoders and weights; most runs keep nothing more.

        Args:
            folder: of the run.
        """
        return self

    def bind(self, model: Any, examples: Iterable[Example] | None = None) -> Task:
        """Return the task bound to a model, with everything that is computed once for all inputs.

        Args:
            model: the model that predicts, in evaluation mode.
            examples: the evaluation data; None for inputs that are not known yet.
        """
        return self


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


def task_class(task: str) -> type[Task]:
    """Return the class of a task."""
    made: type[Task] = imported(system_of(task).task)
    return made

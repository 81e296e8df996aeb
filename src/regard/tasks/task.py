"""Task interface: fields, encoders and losses, built from a recipe; inputs and outputs are in `input_output.py`."""

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
"""Encoders by field."""
Fields = Mapping[str, Field[Any]]
"""Corpus fields by name."""

Unrolling = Literal["steps", "at once"]
"""Unrolling of a loss over a text: one step per token, where Python overhead limits the speed, or one pass."""

MEASURED = 64
"""Batch size in evaluation."""
LONG_WINDOW = 512
"""Window length in evaluation of models that carry their state."""


class Task(InputOutput):
    """Loss of a model on batches, with its inputs and outputs; built from a recipe and the encoders of its fields.

    Training, prediction, evaluation, views and reports access a system only through methods of this class and of
    `InputOutput`; no module outside a system's folder branches on the task.

    Attributes:
        context: a second input field, such as the passage of a question; None for a single input.
        outline_sizes: vocabulary sizes of a model that is built only to check its arguments.
    """

    context: ClassVar[str | None] = None
    outline_sizes: ClassVar[tuple[int, int | None]] = (8, 8)

    @classmethod
    @abc.abstractmethod
    def of(cls, recipe: Recipe, encoders: FieldEncoders) -> Task:
        """Return the task of a recipe."""

    @classmethod
    def reading(cls, recipe: Recipe) -> FieldLayout:
        """Return the field layout for reading the data of a recipe."""
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
        """Return the field types of a corpus, without encoders that are learned from data.

        Learned encoders are saved with the run. By default the question is a text, and the type of the answer follows
        from the data.
        """
        question = tokens_field(recipe.tokenizer, masked=recipe.system.reads_pairs(recipe))
        if cls.answer is None:
            return {cls.question: question}
        return {cls.question: question, cls.answer: cls.reading(recipe).target_kind.field()}

    @classmethod
    def encoded_fields(cls, recipe: Recipe, encoders: FieldEncoders) -> dict[str, Field[Any]]:
        """Return the field types with their encoders."""
        return {name: field.with_encoder(encoders.get(name)) for name, field in cls.fields(recipe).items()}

    @classmethod
    def encoder_fields(cls, recipe: Recipe) -> tuple[str, ...]:
        """Return the fields whose encoder is learned from data."""
        return tuple(name for name, field in cls.fields(recipe).items() if field.LEARNS)

    @classmethod
    def learn_encoders(cls, recipe: Recipe, train: Examples, known: FieldEncoders) -> FieldEncoders:
        """Return the encoders of all fields; learns the missing ones from the training split.

        Args:
            recipe: contains the tokenizer settings.
            train: training examples.
            known: encoders of the pretrained run.
        """
        kinds = {name: field for name, field in cls.fields(recipe).items() if field.LEARNS}
        return {name: known.get(name) or field.learn(field_values(train, name)) for name, field in kinds.items()}

    @classmethod
    def corpus(cls, recipe: Recipe, found: Examples, fields: Fields, cache: Path) -> Corpus | None:
        """Return the encoded examples, from the cache if present; None if the task does not encode them in advance."""
        return Corpus.build(found, fields, cache)

    @classmethod
    def check_labels(cls, found: Examples, corpus: Corpus | None, fields: Fields, split: SplitName) -> None:
        """Check that each field has at least one known label; unknown labels count as errors.

        Raises:
            DataError: all labels of a field are unknown.
        """
        for name, field in corpus.kinds.items() if corpus is not None else ():
            if corpus is not None and not field.known(corpus.column(name)):
                raise DataError(
                    f"no {name} of the split {split} occurs in the training data; look whether they are the same"
                )

    def training_feed(self, recipe: Recipe, split: Split) -> Feed:
        """Return the training batches."""
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
        """Return the evaluation batches: one epoch in a fixed order.

        A model that carries its state uses longer windows than in training: the result is the same, and it is faster.
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
        """Return one example of a split as a batch; None if single examples have no loss.

        Examples of language models are parts of one text and have no separate loss.
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
        """Return the embedding module of each field, with its `table`; fields without embeddings are omitted.

        By default `words` of the model's encoder embeds the input and `words` of the model embeds the output. In a
        model without an encoder, `words` of the model embeds the input.
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
        """Return the BPE dropout of each field whose texts are re-segmented in each epoch."""
        found = {}
        for field, encoder in self.encoders.items():
            part = self.tokenizer_part(recipe, field)
            if part.dropout and isinstance(encoder, Tokenizer):
                longest = learned_positions(recipe)
                found[field] = BPEDropout(encoder, part.dropout, seed=recipe.train.seed, longest=longest)
        return found

    def check_model(self, model: nn.Module) -> None:
        """Check that a model supports the data of the task.

        Args:
            model: an outline without allocated parameters.

        Raises:
            ValueError: the model does not support the data.
        """

    def longest_inputs(
        self, recipe: Recipe, splits: Mapping[str, Split | None], dropped: Collection[int]
    ) -> Iterator[tuple[str, int]]:
        """Yield the longest inputs and outputs for the check of learned positions: a phrase and its positions.

        Args:
            recipe: determines whether texts are split into windows.
            splits: the data.
            dropped: training examples that exceed the size of a batch and are skipped.
        """
        for _, what, needed in self.longest_texts(recipe, splits, dropped):
            yield what, needed

    def longest_texts(
        self, recipe: Recipe, splits: Mapping[str, Split | None], dropped: Collection[int]
    ) -> Iterator[tuple[str, str, int]]:
        """Yield field, phrase and number of positions for the longest texts of `longest_inputs`."""
        if recipe.train.batch.window is not None:  # windows were checked with the recipe
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
        """Yield the longest samples generated during training, like `longest_inputs`; most tasks generate none."""
        return iter(())

    def cuda_graph_obstacle(self, model: nn.Module) -> str | None:
        """Return the task's reason why updates cannot be captured in CUDA graphs; None if they can."""
        return None

    @property
    def target_field(self) -> str:
        """Field whose ids are predicted."""
        return self.answer or self.question

    @property
    def sizes(self) -> tuple[int, int | None]:
        """Source and target vocabulary sizes; the second is None if they share a vocabulary."""
        return self.encoders[self.question].size, None if self.answer is None else self.encoders[self.answer].size

    @property
    def scale(self) -> float | None:
        """Default of the largest initial entry of embeddings; None for the model's own default.

        The model's default is small and suits large vocabularies: a word that occurs once or twice keeps nearly its
        initial vector, which then adds little noise. Characters are few and frequent, and larger vectors train faster.
        """
        encoder = self.encoders.get(self.question)
        return 1.0 if isinstance(encoder, Tokenizer) and encoder.kind == "characters" else None

    def fitted(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a model, completed by those that depend on the data, apart from sizes."""
        return dict(arguments)

    @abc.abstractmethod
    def loss(self, model: nn.Module, batch: Batch, *, update: int | None = None, state: Any = None) -> Loss:
        """Return the loss of a batch.

        Args:
            model: the model.
            batch: examples, or a window of a text.
            update: index of the update in training, from 0; None in evaluation.
            state: final state of the previous window; None at the start of a text and for independent examples.
        """

    def weighted(self, weights: ClassWeights) -> Task:
        """Return the task with a weight per class in its training loss."""
        raise ValueError("train.class_weights needs a task with labels; the answers of this one are no classes")

    def unigram_loss(self, corpus: Corpus | None) -> float:
        """Return the loss, in nats, of a model that ignores its input and knows only the frequencies of the targets.

        Args:
            corpus: the training split; None if examples are not encoded.
        """
        if corpus is None:
            return 0.0
        counts = np.bincount(corpus.ids(self.target_field), minlength=EOS + 1).astype(np.float64)
        if self.unit == "token":
            counts[EOS] += len(corpus)  # each text ends with one EOS target
        shares = counts[counts > 0] / counts.sum()
        return float(-(shares * np.log(shares)).sum())

    def data_warnings(self, model: nn.Module, corpus: Corpus | None) -> list[str]:
        """Return warnings about the training data, printed before the first update.

        Args:
            model: the model to train.
            corpus: the training split; None if examples are not encoded.
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
        """Return the loss's unrolling over a text; None if updates cannot be captured in a CUDA graph."""
        return None

    def after_validation(self, model: Any, loss: float) -> str | None:
        """Adapt the model to a validation loss; return a message about what changed, or None."""
        return None

    def final_scores(self, model: nn.Module, split: Split, recipe: Recipe) -> dict[str, MetricResult]:
        """Return scores that take long: measured after training and by `regard evaluate`; most tasks have none.

        Args:
            model: the model in evaluation mode; it is not changed.
            split: the evaluation data.
            recipe: selects the scores.
        """
        return {}

    def tuned(self, model: Any, examples: Iterable[Example]) -> Task:
        """Return the task with parameters tuned on the validation split after training; most tasks have none.

        Args:
            model: the final model of the run, in evaluation mode.
            examples: the validation examples.
        """
        return self

    def restored(self, folder: Path) -> Task:
        """Return the task with further files of its run restored, beyond encoders and weights; most tasks have none.

        Args:
            folder: folder of the run.
        """
        return self

    def bind(self, model: Any, examples: Iterable[Example] | None = None) -> Task:
        """Return the task bound to a model, with all computations that are shared by all inputs done in advance.

        Args:
            model: the model that predicts, in evaluation mode.
            examples: the evaluation data; None for inputs that are not known yet.
        """
        return self


def in_batches(
    rows: Sequence[Sequence[int]], size: int, device: torch.device
) -> Iterator[tuple[list[int], Tensor, Tensor]]:
    """Yield padded batches of similar length: (row indices, ids [B, S], lengths [B]); an empty row becomes one UNK.

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

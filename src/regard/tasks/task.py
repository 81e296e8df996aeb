"""What a model is trained for."""

from __future__ import annotations

import abc
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from regard.data.batch import Batch, padded
from regard.data.corpus import Corpus
from regard.data.example import Example, Value
from regard.data.labels import Labels
from regard.data.numbers import Numbers
from regard.data.problems import shortened
from regard.data.tokenizer import Tokenizer
from regard.decode.search import Search
from regard.evaluate.class_scores import ClassScores
from regard.evaluate.texts import References
from regard.explain.panel import Panel
from regard.models.outputs import log_softmax
from regard.specials import PAD, UNK
from regard.tasks.class_weights import ClassWeights
from regard.tasks.loss import Loss
from regard.tasks.lstmn_panels import tape_panels, taped
from regard.tasks.prediction import Prediction
from regard.view.direction import isolated

Encoders = Mapping[str, Tokenizer | Labels | Numbers]
"""What turns each field of the data into ids."""

Pace = Literal["steps", "at once"]
"""How a model learns a text: one step after the other, for which Python is always too slow, or all of it at once."""


class Task(abc.ABC):
    """How a model learns from batches, and how it answers.

    Attributes:
        context: the field with what the question is about; None where the question is all there is.
        question: the field that is read.
        answer: the field with what is to be said; None where the text itself is (language models).
        unit: what the loss is the mean of.
        encoded: whether fields are turned into ids, by encoders that are learned and kept.
        beside: fields with encoders that only some recipes have.
        plain: fields that stay as they are all the same: the names of nodes.
        encoders: what turns each field into ids.
    """

    context: ClassVar[str | None] = None
    question: ClassVar[str]
    answer: ClassVar[str | None]
    unit: ClassVar[str] = "token"
    encoded: ClassVar[bool] = True
    plain: ClassVar[tuple[str, ...]] = ()
    beside: ClassVar[tuple[str, ...]] = ()
    encoders: Encoders

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

    def ask(self, fields: Mapping[str, Value]) -> str:
        """An example as `predict` is asked it: several fields with tabs between."""
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

    def panels(self, model: Any, text: str, search: Search) -> list[Panel]:
        """What a model looks at while it answers a text, to be drawn; of an LSTMN also what words look back at."""
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
    def predict(self, model: Any, texts: Sequence[str], search: Search, *, batch: int = 32) -> list[list[Prediction]]:
        """The n best answers to each text, whatever the batch they are computed in."""


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

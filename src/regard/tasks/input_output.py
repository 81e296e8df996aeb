"""Inputs and outputs of a task: parsing, predictions, visualisations, references and scores."""

from __future__ import annotations

import abc
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from rich.markup import escape
from torch import Tensor

from regard.alignment.links import Links
from regard.data.example import Value
from regard.data.fields.tokenizer import Tokenizer
from regard.data.problems import TextError, shortened
from regard.decode.search import Search
from regard.evaluate.class_scores import ClassScores
from regard.evaluate.perplexity import perplexity
from regard.evaluate.texts import References
from regard.explain.panel import Panel
from regard.explain.subject import Subject
from regard.models.model_output import log_softmax
from regard.recipes.sections import Recipe
from regard.specials import UNK
from regard.tasks.panels import record_tapes, seen_heads, tape_panels, watched_heads
from regard.tasks.prediction import Prediction
from regard.view.terminal import heat_map
from regard.view.text import isolated

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from regard.decode.constraint import Trie
    from regard.evaluate.metric_result import MetricResult
    from regard.tasks.splits import Split
    from regard.tasks.task import FieldEncoders


class InputOutput(abc.ABC):
    """Inputs and outputs of a task, as prediction, evaluation, views and reports use them.

    Attributes:
        question: the input field.
        answer: the target field; None if the text is its own target (language models).
        unit: the loss is a mean per unit.
        encoders: encoder of each field.
    """

    question: ClassVar[str]
    answer: ClassVar[str | None]
    unit: ClassVar[str] = "token"
    encoders: FieldEncoders

    def parse(self, given: Any) -> Any:
        """Parse an input of `predict`: a text, a mapping of fields, a path, or the bytes of a file.

        Raises:
            TextError: unsupported type, or a missing field.
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
        """Return True for a blank text, whose answer is blank as well."""
        return self.answer is not None and isinstance(parsed, str) and not parsed.strip()

    @property
    def input_fields(self) -> tuple[str, ...]:
        """Input fields of `predict`, in column order of a file."""
        return (self.question,)

    def ask(self, fields: Mapping[str, Value]) -> Any:
        """Convert an example to an input of `predict`; several texts are joined by tabs."""
        found = [fields[name] for name in self.input_fields if name in fields]
        texts = [value if isinstance(value, str) else " ".join(value) for value in found]
        return texts[0] if len(texts) == 1 else "\t".join(" ".join(text.split("\t")) for text in texts)

    def input_warnings(self, model: Any, texts: Sequence[str]) -> list[str]:
        """Return warnings about inputs whose predictions are not reliable."""
        encoder = self.encoders.get(self.question)
        if not isinstance(encoder, Tokenizer):
            return []
        return [
            f"no word of {shortened(text)!r} is in the vocabulary of this run: its answer says nothing"
            for text, row in zip(texts, encoder.encode_all(list(texts)), strict=True)
            if set(row) == {UNK}
        ]

    @abc.abstractmethod
    def predict(self, model: Any, texts: Sequence[Any], search: Search, *, batch: int = 32) -> list[list[Prediction]]:
        """Return the n-best answers to each input, independent of the composition of its batch.

        Args:
            model: the model, in evaluation mode.
            texts: parsed inputs (see `parse`): texts, in most tasks.
            search: search settings, including `n_best`.
            batch: inputs per batch.
        """

    def panels(self, model: Any, text: Any, search: Search, *, head: int | None = None) -> list[Panel]:
        """Return panels of the attention weights that a model computes for an input.

        Includes the tape of an LSTMN, and all layers and heads of a Transformer that processes the input in one pass.

        Args:
            model: the model, in evaluation mode.
            text: the parsed input.
            search: search settings.
            head: attention head, from 1, in tasks that support the choice; None for the task's default.
        """
        no_head(head)
        with record_tapes(model, "encoder") as tapes, watched_heads(model) as seen:
            (found,) = self.predict(model, [text], search)[0][:1]
        drawn, texts = found.drawn(), found.source.split("\t")  # a tab separates the two texts of a pair
        title = f"{' | '.join(map(isolated, texts))} → {isolated(found.text)}"
        shown = [] if drawn is None else [Panel(title, drawn[0], rows=drawn[1], columns=found.source_tokens)]
        if len(texts) == 1:
            shown += tape_panels(tapes, found.source if shown else title, found.source_tokens)
        framed = ("<s>", *found.source_tokens, "</s>")
        shown += seen_heads(seen, found.source_tokens, framed, title="" if shown else title)
        if not shown:
            raise ValueError("the model attends to nothing that could be drawn")
        return shown

    def links(self, model: Any, predictions: Sequence[Prediction]) -> list[Links]:
        """Return word alignment links between each input and its answer.

        Args:
            model: the model that made the predictions.
            predictions: its answers.

        Raises:
            ValueError: the task or the model has no word alignment.
        """
        raise ValueError("answers of this task are not linked to words of the input; leave --align out")

    def subject(self, model: Any) -> Subject:
        """Return the `Subject` of `regard explain`: input units, attention weights over them, and answer probabilities.

        Raises:
            ValueError: the task or the model has no attention weights over input units.
        """
        raise ValueError("answers of this task are not explained; those of classifiers, readers and translators are")

    def drawing(self, prediction: Prediction) -> Text | None:
        """Return a terminal rendering of an answer with its attention; None if there is nothing to draw."""
        drawn = prediction.drawn()
        if drawn is None:
            return None
        weights, rows = drawn
        return heat_map(weights, prediction.source_tokens, rows)

    def rendered(self, prediction: Prediction) -> Iterator[RenderableType]:
        """Yield an answer for a terminal: its drawing, input and answer, and the reference where it differs."""
        drawn, right = self.drawing(prediction), prediction.reference
        if drawn is not None:
            yield ""
            yield drawn
        asked, said = escape(isolated(self.shown_input(prediction))), escape(isolated(prediction.said()))
        wrong = right is not None and prediction.text not in (right, *right.split(" / "))
        line = f"  {asked}  →  [bold]{said}[/]"
        yield f"{line}  (reference: {escape(isolated(str(right)))})" if wrong else line

    def shown_input(self, prediction: Prediction) -> str:
        """Return the input in the form displayed beside its answer."""
        return prediction.source

    def samples(self, model: Any, texts: Sequence[str], search: Search) -> list[Prediction]:
        """Return sample outputs for tasks without references, such as continuations of a language model."""
        return []

    def output_set(self, texts: Iterable[str] | Path) -> Trie:
        """Return a trie of allowed outputs for constrained decoding.

        Raises:
            ValueError: the task does not decode by search.
        """
        raise ValueError("only holds answers to a set of translations; this task does not translate, leave it out")

    def averaged(self, logits: Sequence[Tensor]) -> Tensor:
        """Combine the logits of an ensemble by averaging probabilities."""
        return mean_log_probs(logits)

    def references(self, fields: Mapping[str, Value]) -> list[str]:
        """Return all references of an example."""
        assert self.answer is not None
        value = fields[self.answer]
        return [self.reference(value if isinstance(value, str) else " ".join(value))]

    def record(self, asked: str) -> str:
        """Return the source record of an input, for metrics that count the facts of a record in the answer."""
        return asked

    def reference(self, text: str) -> str:
        """Return a reference in the output format of `predict`."""
        return text

    def right(self, text: str, references: Sequence[str]) -> bool | None:
        """Return True if an answer matches a reference up to runs of spaces; None for numeric answers."""
        if self.constant is not None:
            return None
        return " ".join(text.split()) in {" ".join(reference.split()) for reference in references}

    def merges_equal_inputs(self, recipe: Recipe) -> bool:
        """Return True if evaluation merges equal inputs into one with all their references."""
        return False

    @property
    def constant(self) -> str | None:
        """Constant answer for the baseline error; None without one."""
        return None

    def classes(self, text: str) -> list[str]:
        """Return the class labels in an answer; none if answers are free text."""
        return []

    def class_scores(self, texts: Sequence[str], references: References) -> ClassScores | None:
        """Return scores per class for multi-label answers; None for other tasks."""
        return None

    def prediction_scores(self, predictions: Sequence[Prediction], references: References) -> dict[str, MetricResult]:
        """Return scores that need more than the predicted texts, by name; none in most tasks.

        Args:
            predictions: one per input.
            references: all references of each input.
        """
        return {}

    def likelihood_scores(self, split: Split, total: float, tokens: int) -> dict[str, MetricResult]:
        """Return scores derived from the likelihood: perplexity for tasks that generate text.

        Args:
            split: the evaluated split.
            total: summed negative log-likelihood of the targets, in nats.
            tokens: number of units.
        """
        return {"perplexity": perplexity(total, tokens)} if self.unit == "token" else {}

    @property
    def measured_in(self) -> str:
        """Unit of the loss, in words."""
        return "nats a token, given the right ones before it" if self.unit == "token" else f"nats a {self.unit}"

    @property
    def loss_unit(self) -> str:
        """Unit of the loss, in a table."""
        return "nats"


def no_head(head: int | None) -> None:
    """Raise an error if a head is chosen for a task that does not support it."""
    if head is not None:
        raise ValueError("--head is supported for graph networks only; leave it out")


def mean_log_probs(logits: Sequence[Tensor]) -> Tensor:
    """Return the logarithm of the mean probability: of each model's logits [..., V] -> [..., V].

    >>> mean_log_probs([torch.tensor([0.5, 0.5]).log(), torch.tensor([0.9, 0.1]).log()]).exp()
    tensor([0.7000, 0.3000])
    """
    # log(Σ_m p_m / M) in the log domain, where small probabilities do not underflow
    return torch.stack([log_softmax(one) for one in logits]).logsumexp(0) - math.log(len(logits))

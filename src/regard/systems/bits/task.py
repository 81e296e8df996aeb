"""Task of bit prediction from sequences of vectors, for Neural Turing Machines and recurrent baselines."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.data.batching.batch import Batch
from regard.data.batching.corpus import Corpus
from regard.data.batching.feed import Feed
from regard.data.example import Examples
from regard.data.fields.field import Field
from regard.data.generated import ENDLESS
from regard.data.problems import DataError, TextError
from regard.decode.search import Search
from regard.evaluate.metric_result import MetricResult
from regard.evaluate.perplexity import bits_per_sequence
from regard.explain.panel import Panel
from regard.models.model_output import ModelOutput
from regard.recipes.sections import Recipe
from regard.systems.bits.episodes import Algorithm, Drawn, EpisodeQuestion
from regard.systems.bits.episodes.algorithm import bits_text
from regard.systems.bits.episodes.drawn import TOGETHER
from regard.systems.bits.feed import DrawnFeed
from regard.systems.bits.ntm import NTM
from regard.systems.bits.sections import EpisodeData
from regard.tasks.input_output import no_head
from regard.tasks.loss import Loss
from regard.tasks.prediction import Prediction
from regard.tasks.task import FieldEncoders, Fields, Task, Unrolling

if TYPE_CHECKING:
    from regard.tasks.splits import Split

FLOOR = math.log(2)
"""Loss per bit of a uniform prediction, in nats."""
_TOUCHED = 0.1  # tape rows whose weight is lower at every step are not drawn, unless it is for all rows


@dataclass(frozen=True)
class EpisodeBatch:
    """Batch of episodes of equal length."""

    inputs: Tensor  # [B, T, I]
    targets: Tensor  # [B, T, O]
    asked: Tensor  # [B, T]


@dataclass(frozen=True)
class Bits(Task):
    r"""Bit prediction from sequences of vectors: binary cross-entropy loss, and the more probable value of each bit.

    .. math:: L = -\sum_{t\, \text{asked}} \sum_i y_{ti} \log p_{ti} + (1 - y_{ti}) \log (1 - p_{ti})

    A batch contains inputs [B, T, I], targets [B, T, O] and the mask of the output steps [B, T].

    Attributes:
        algorithm: task that generates episodes and defines their text format.
        encoders: empty; bits need no tokenizer.
    """

    question: ClassVar[str] = "source"
    answer: ClassVar[str | None] = "target"
    unit: ClassVar[str] = "bit"

    algorithm: Algorithm
    encoders: FieldEncoders = field(default_factory=dict)

    @classmethod
    def of(cls, recipe: Recipe, encoders: FieldEncoders) -> Bits:
        assert isinstance(recipe.data, EpisodeData)
        return cls(recipe.data.algorithm())

    @classmethod
    def fields(cls, recipe: Recipe) -> dict[str, Field[Any]]:
        """Return no fields: sequences are generated as vectors on demand."""
        return {}

    @classmethod
    def corpus(cls, recipe: Recipe, found: Examples, fields: Fields, cache: Path) -> Corpus | None:
        """Return None: sequences are generated on demand."""
        return None

    def training_feed(self, recipe: Recipe, split: Split) -> Feed:
        assert recipe.train.batch.sentences is not None
        return DrawnFeed(_drawn(split), recipe.train.batch.sentences)

    def measuring_feed(self, recipe: Recipe, split: Split, *, carries: bool) -> Feed:
        if len(split) == ENDLESS:
            raise DataError("sequences to learn from are drawn without end; measure on valid or test")
        return DrawnFeed(_drawn(split), TOGETHER)

    def example_batch(self, split: Split, number: int) -> Batch | None:
        together, place = divmod(number, TOGETHER)
        return _drawn(split).draw(together, TOGETHER).batch(together * TOGETHER, place, TOGETHER)

    def check_model(self, model: nn.Module) -> None:
        self.check(model)

    def longest_inputs(
        self, recipe: Recipe, splits: Mapping[str, Split | None], dropped: Collection[int]
    ) -> Iterator[tuple[str, int]]:
        return iter(())

    def likelihood_scores(self, split: Split, total: float, tokens: int) -> dict[str, MetricResult]:
        """Return bits per sequence, and the optimum if the answers are not determined by the inputs."""
        drawn = _drawn(split)
        cost, least = bits_per_sequence(total, len(drawn)), drawn.optimum(TOGETHER)
        best = {"optimum": MetricResult("optimum", least, cost.signature, cost.count)} if least else {}
        return {"bits_per_sequence": cost, **best}

    @property
    def sizes(self) -> tuple[int, int | None]:
        """Width of an input and of an output."""
        return self.algorithm.input_dim, self.algorithm.output_dim

    def unigram_loss(self, corpus: Corpus | None) -> float:
        """Return the loss of a uniform prediction."""
        return FLOOR

    def loss(self, model: nn.Module, batch: Batch, *, update: int | None = None, state: Any = None) -> Loss:
        episodes = batch.view(EpisodeBatch)
        predicted: ModelOutput = model(episodes.inputs)
        # [B, T, O]; in float32, so that the sum over all steps is accurate in mixed precision
        each = F.binary_cross_entropy_with_logits(predicted.logits.float(), episodes.targets, reduction="none")
        total = (each * episodes.asked.unsqueeze(2)).sum()
        return Loss(total, total.detach(), batch.tokens)

    def incompatibility(self, other: Task) -> str | None:
        assert isinstance(other, Bits)
        names = [type(task.algorithm).__name__ for task in (other, self)]
        if names[0] != names[1] or other.sizes != self.sizes:
            return (
                f"learned different tasks ({names[0]} and {names[1]}, vectors of {other.sizes[1]} and {self.sizes[1]} "
                "bits); models answer together if data.format and data.bits are alike"
            )
        return None

    def unrolling(self, model: nn.Module) -> Unrolling | None:
        return "steps" if isinstance(model, NTM) else None

    def check(self, model: nn.Module, entries: int | None = None) -> None:
        """Check that the tape has at least one row per entry that must be kept.

        Args:
            model: any model; only a Neural Turing Machine is checked.
            entries: number of entries; None for the largest number of the task.

        Raises:
            ValueError: the tape has fewer rows.
        """
        needed = self.algorithm.entries if entries is None else entries
        if isinstance(model, NTM) and needed > model.rows:
            raise ValueError(
                f"the tape has {model.rows} rows, and {needed} things are to be kept: the last would come to lie on "
                "the first; make model.rows larger, or sequences shorter"
            )

    def predict(self, model: Any, texts: Sequence[str], search: Search, *, batch: int = 32) -> list[list[Prediction]]:
        if search.n_best > 1:
            raise ValueError(f"bits are the likelier value of each, one answer; got n_best={search.n_best}")
        asked = [self._laid(model, text) for text in texts]
        answers: list[list[Prediction]] = [[] for _ in texts]
        order = sorted(range(len(texts)), key=lambda index: len(asked[index].inputs))
        # Only sequences of equal length form a batch: there is no padding.
        for _, same in groupby(order, key=lambda index: len(asked[index].inputs)):
            alike = list(same)
            for begin in range(0, len(alike), batch):
                part = alike[begin : begin + batch]
                logits, looked = _followed(model, [asked[index] for index in part])
                for row, index in enumerate(part):
                    found = _prediction(
                        texts[index], asked[index], logits[row], None if looked is None else looked[row]
                    )
                    answers[index] = [found]
        return answers

    def _laid(self, model: nn.Module, text: str) -> EpisodeQuestion:
        """Parse a question and check that the tape of the model has enough rows for it."""
        try:
            asked = self.algorithm.lay(text)
            self.check(model, asked.entries)
        except ValueError as problem:
            raise TextError(str(problem)) from None
        return asked

    def panels(self, model: Any, text: str, search: Search, *, head: int | None = None) -> list[Panel]:
        """Return panels of inputs and answers; for a Neural Turing Machine also head weights and the final tape."""
        no_head(head)
        asked = self._laid(model, text)
        logits, _ = _followed(model, [asked])
        answered = torch.from_numpy(asked.asked)
        shown = [
            Panel("inputs", torch.from_numpy(asked.inputs).T, "channel", "step", columns=asked.steps),
            Panel("answers: p(1)", (logits[0].sigmoid() * answered.unsqueeze(1)).T, "bit", "step"),
        ]
        return [*shown, *_tape(model, asked)] if isinstance(model, NTM) else shown


def _drawn(split: Split) -> Drawn:
    assert isinstance(split.examples, Drawn)
    return split.examples


def _prediction(text: str, asked: EpisodeQuestion, logits: Tensor, looked: Tensor | None) -> Prediction:
    """Build the prediction from logits [T, O] and the weights between steps [T, T]."""
    answered, told = torch.from_numpy(asked.asked), torch.tensor([bool(step) for step in asked.steps], device="cpu")
    chosen = logits[answered]
    rows = tuple(bits_text(row) for row in (chosen > 0).float().numpy())
    log_probs = tuple(F.logsigmoid(chosen.abs()).sum(-1).tolist())  # the more probable value has p = σ(|logit|)
    return Prediction(
        source=text,
        text=" ".join(rows),
        score=sum(log_probs),
        source_tokens=tuple(step for step in asked.steps if step),
        tokens=rows,
        log_probs=log_probs,
        alignment=None if looked is None else looked[answered][:, told],
    )


def _followed(model: nn.Module, asked: Sequence[EpisodeQuestion]) -> tuple[Tensor, Tensor | None]:
    """Return logits [B, T, O] of questions of equal length; for a Neural Turing Machine also weights [B, T, T].

    The weight of step s at step t is the overlap of the rows read at t with the rows written at s.
    """
    inputs = _inputs(model, asked)
    with torch.inference_mode():
        if not isinstance(model, NTM):
            predicted: ModelOutput = model(inputs)
            return predicted.logits.float().cpu(), None
        trace = model.trace(inputs)
        seen = trace.read_weights.mean(1) @ trace.write_weights.sum(1).mT  # [B, T, N] @ [B, N, T] -> [B, T, T]
        return trace.logits.float().cpu(), seen.clamp(max=1.0).float().cpu()


def _tape(model: NTM, asked: EpisodeQuestion) -> list[Panel]:
    """Return panels of head weights, reads and the final tape, restricted to the rows that were used."""
    with torch.inference_mode():
        trace = model.trace(_inputs(model, [asked]))
    weights = {"write": trace.write_weights[0], "read": trace.read_weights[0]}  # [H, T, N]
    most = torch.stack([heads.amax((0, 1)) for heads in weights.values()]).amax(0)
    touched = most >= min(_TOUCHED, float(most.max()))
    rows = tuple(str(row) for row in torch.nonzero(touched).flatten().tolist())
    shown = [
        Panel(f"{name} head {number}: weights", head[:, touched].T, "row", "step", rows)
        for name, heads in weights.items()
        for number, head in enumerate(heads, start=1)
    ]
    return [
        *shown,
        Panel("what is read", trace.reads[0].T, "channel", "step"),
        Panel("the tape at the end", trace.tape.matrix[0][touched].T, "channel", "row", columns=rows),
    ]


def _inputs(model: nn.Module, asked: Sequence[EpisodeQuestion]) -> Tensor:
    """Stack the inputs of questions to [B, T, I] on the model's device."""
    return torch.stack([torch.from_numpy(one.inputs) for one in asked]).to(next(model.parameters()).device)

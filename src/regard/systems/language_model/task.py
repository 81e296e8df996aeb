"""The task of language modelling over words, subwords or characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from regard.data.batching.batch import Batch
from regard.data.batching.feed import StreamFeed
from regard.data.fields.field import Field
from regard.data.fields.tokenizer import Tokenizer
from regard.decode import generate
from regard.decode.hypothesis import Hypothesis
from regard.decode.search import Search
from regard.evaluate.metric_result import MetricResult
from regard.evaluate.perplexity import bits_per_character, perplexity
from regard.explain.panel import Panel
from regard.models.model_output import ModelOutput
from regard.recipes.section import own_keys
from regard.recipes.sections import Recipe
from regard.specials import BOS, EOS, PAD, UNK
from regard.systems.language_model.activation_penalties import ActivationPenalties
from regard.systems.language_model.dynamic_evaluation import Dynamics, dynamic_likelihood
from regard.systems.language_model.lstmn_lm import LSTMNLM
from regard.systems.language_model.prompted_model import PromptedModel
from regard.systems.language_model.sections import LanguageModelDecoding, LanguageModelEvaluation, LanguageModelTraining
from regard.tasks.input_output import no_head
from regard.tasks.loss import Loss, token_loss
from regard.tasks.panels import record_tapes, seen_heads, tape_panels, watched_heads
from regard.tasks.prediction import Prediction
from regard.tasks.scheduled_sampling import Exposure
from regard.tasks.splits import examples
from regard.tasks.task import FieldEncoders, Task, Unrolling
from regard.tasks.tokenizers import ends_texts, tokens_field
from regard.view.text import isolated

if TYPE_CHECKING:
    from regard.tasks.splits import Split

SAMPLED = 8
"""Number of prompt tokens of a sample."""
_SHOWN = 70  # maximum number of characters in the title of a panel
_VOCABULARY = "(vocabulary)"


@dataclass(frozen=True)
class TextBatch:
    """A batch of separate texts, or of windows of one long text, which have no lengths."""

    text: Tensor  # [B, T + 1]
    text_lengths: Tensor | None = None  # [B]


@dataclass(frozen=True)
class LanguageModelling(Task):
    """Language modelling on separate examples, or on windows of one long text with a carried state.

    A batch contains ids [B, T + 1]: all but the last are inputs, all but the first are targets. The model's state is
    carried from window to window if the model supports it (`carry`); gradients are truncated between windows.

    Attributes:
        encoders: the tokenizer of "text".
        first: id prepended to every text: begin of sequence if texts are separate examples, end of sequence if they
            form one stream; None if nothing is prepended, as for characters.
        smoothing: label smoothing.
        exposure: dropout or replacement of input words.
        generates_unknown: allow unknown words in a continuation.
        penalties: penalties of the activations in training.
        dynamics: settings of dynamic evaluation; None to disable it.
    """

    question: ClassVar[str] = "text"
    answer: ClassVar[str | None] = None
    outline_sizes: ClassVar[tuple[int, int | None]] = (8, None)

    encoders: FieldEncoders
    first: int | None
    smoothing: float = 0.0
    exposure: Exposure = field(default_factory=Exposure)
    generates_unknown: bool = False
    penalties: ActivationPenalties = field(default_factory=ActivationPenalties)
    dynamics: Dynamics | None = None

    @classmethod
    def of(cls, recipe: Recipe, encoders: FieldEncoders) -> LanguageModelling:
        first = BOS if recipe.train.batch.window is None else EOS if ends_texts(recipe) else None
        smoothing, unknown = (
            recipe.train.label_smoothing,
            own_keys(recipe.decode, LanguageModelDecoding).generate_unknown,
        )
        train, dynamic = (
            own_keys(recipe.train, LanguageModelTraining),
            own_keys(recipe.evaluate, LanguageModelEvaluation).dynamic,
        )
        penalties = ActivationPenalties(train.activation_penalty, train.temporal_penalty)
        dynamics = None if dynamic is None else Dynamics(**dynamic.model_dump())
        return cls(encoders, first, smoothing, Exposure.of(recipe), unknown, penalties, dynamics)

    @classmethod
    def fields(cls, recipe: Recipe) -> dict[str, Field[Any]]:
        return {"text": tokens_field(recipe.tokenizer, masked=recipe.system.reads_pairs(recipe), begin=True, end=True)}

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the text."""
        found = self.encoders["text"]
        assert isinstance(found, Tokenizer)
        return found

    def loss(self, model: nn.Module, batch: Batch, *, update: int | None = None, state: Any = None) -> Loss:
        read = batch.view(TextBatch)
        given, wanted = read.text[:, :-1], read.text[:, 1:]
        if update is not None:
            given = self.exposure.disturbed(given, vocabulary=self.tokenizer.size)
        predicted: ModelOutput = model(given, state)
        smoothing = 0.0 if update is None else self.smoothing
        total, nll = token_loss(predicted.logits, wanted, padding=PAD, smoothing=smoothing)
        if update is not None:
            total = total + self.penalties.loss(predicted.extras, wanted != PAD)
        goes_on = read.text_lengths is None  # a window of a stream; separate examples have lengths and no continuation
        return Loss(total, nll.detach(), int(batch.tokens), carried_state(model, predicted.state) if goes_on else None)

    def incompatibility(self, other: Task) -> str | None:
        assert isinstance(other, LanguageModelling)
        if other.first != self.first:
            return (
                "begin texts differently (train.batch.window or data.ends); language models answer together if they "
                "begin alike"
            )
        return super().incompatibility(other)

    def longest_samples(self, recipe: Recipe) -> Iterator[tuple[str, int]]:
        longest = recipe.search().max_length
        yield f"decode.max_length, {longest} tokens behind the {SAMPLED} of an example", longest + SAMPLED

    def likelihood_scores(self, split: Split, total: float, tokens: int) -> dict[str, MetricResult]:
        if self.tokenizer.kind != "characters":
            return {"perplexity": perplexity(total, tokens, unit=self.tokenizer.kind.removesuffix("s"))}
        return {
            "perplexity": perplexity(total, tokens, unit="character"),
            "bits_per_character": bits_per_character(total, tokens),
        }

    def final_scores(self, model: nn.Module, split: Split, recipe: Recipe) -> dict[str, MetricResult]:
        """Return the perplexity under dynamic evaluation, if the recipe enables it."""
        if self.dynamics is None:
            return {}
        feed = StreamFeed(
            split.corpus,
            self.question,
            rows=recipe.evaluate.rows,
            window=self.dynamics.window,
            ends=ends_texts(recipe),
        )
        total, tokens = dynamic_likelihood(self, model, feed, self.dynamics, self._training_text(recipe))
        scores = self.likelihood_scores(split, total, tokens)
        return {f"dynamic_{name}": self.dynamics.described(score) for name, score in scores.items()}

    def _training_text(self, recipe: Recipe) -> Iterable[int]:
        """Yield the ids of the training split as one text."""
        for example in examples(recipe, "train") or ():
            yield from self.tokenizer.encode(str(example.fields[self.question]))
            if ends_texts(recipe):
                yield EOS

    def unrolling(self, model: nn.Module) -> Unrolling | None:
        return "steps" if isinstance(model, LSTMNLM) else "at once"

    def predict(self, model: Any, texts: Sequence[str], search: Search, *, batch: int = 32) -> list[list[Prediction]]:
        """Return continuations of each prompt, which is processed in one pass before the search starts."""
        if not self.generates_unknown:
            search = replace(search, forbid=(*search.forbid, UNK))
        prompts = [self._prompt(text) for text in texts]
        answers: list[list[Prediction]] = [[] for _ in texts]
        # Only prompts of equal length share a batch, so that no prompt needs padding.
        order = sorted(range(len(texts)), key=lambda index: len(prompts[index]))
        for _, same in groupby(order, key=lambda index: len(prompts[index])):
            alike = list(same)
            for begin in range(0, len(alike), batch):
                part = alike[begin : begin + batch]
                ids = torch.tensor([prompts[index] for index in part], device=next(model.parameters()).device)
                with torch.inference_mode():
                    found = generate(PromptedModel(model), ids, search=search)
                for index, hypotheses in zip(part, found, strict=True):
                    answers[index] = [self._prediction(texts[index], prompts[index], one) for one in hypotheses]
        return answers

    @torch.inference_mode()
    def panels(self, model: Any, text: str, search: Search, *, head: int | None = None) -> list[Panel]:
        """Return panels of the attention behind each prediction, including the most probable word after the last.

        For a Transformer, all layers and heads are shown.
        """
        no_head(head)
        prompt = self._prompt(text)
        with record_tapes(model, "layers") as tapes, watched_heads(model) as seen:
            predicted: ModelOutput = model(torch.tensor([prompt], device=next(model.parameters()).device))
        if tapes:
            return tape_panels(tapes, text, self.tokenizer.tokens(prompt))
        if predicted.attended is None:
            if heads := seen_heads(seen, self.tokenizer.tokens(prompt), title=isolated(_shortened(text))):
                return list(heads)
            raise ValueError("the model attends to nothing that could be drawn")
        weights = predicted.attended.weights()[0].float().cpu()
        # With pairing "next", a pointer position represents the word after it.
        first = int(getattr(model, "pairing", "read") == "next")
        columns = self.tokenizer.tokens(prompt[first : first + weights.shape[1]])
        if "gate" in predicted.extras:  # a column for the weight of the vocabulary
            weights = torch.cat((predicted.extras["gate"][0].float().cpu().unsqueeze(1), weights), dim=1)
            columns = [_VOCABULARY, *columns]
        said = self.tokenizer.tokens([*prompt[1:], int(predicted.logits[0, -1].argmax())])
        return [
            Panel(
                f"{isolated(_shortened(text))} → {isolated(said[-1])}",
                weights,
                "to be said",
                "read before",
                tuple(said),
                tuple(columns),
            )
        ]

    def samples(self, model: Any, texts: Sequence[str], search: Search, *, tokens: int = SAMPLED) -> list[Prediction]:
        """Return continuations of the first tokens of each text, for display."""
        prompts = [self.tokenizer.decode(self.tokenizer.encode(text)[:tokens]) for text in texts]
        return [answers[0] for answers in self.predict(model, prompts, replace(search, n_best=1))]

    def _prompt(self, text: str) -> list[int]:
        """Return the ids of a prompt, at least one."""
        ids = ([] if self.first is None else [self.first]) + self.tokenizer.encode(text)
        return ids or self.tokenizer.encode("\n") or [UNK]

    def _prediction(self, source: str, prompt: list[int], hypothesis: Hypothesis) -> Prediction:
        return Prediction(
            source=source,
            text=self._text(source, prompt[self.first is not None :], hypothesis.output),
            score=hypothesis.score,
            source_tokens=tuple(self.tokenizer.tokens(prompt)),
            tokens=tuple(self.tokenizer.tokens(hypothesis.tokens)),
            log_probs=hypothesis.log_probs,
            finished=hypothesis.finished,
            penalty=str(hypothesis.penalty),
        )

    def _text(self, source: str, prompt: Sequence[int], output: Sequence[int]) -> str:
        """Return the prompt and its continuation; a prompt with unknown words is kept as written."""
        whole = self.tokenizer.decode((*prompt, *output))
        if UNK not in prompt:
            return whole
        # Decoding would replace the unknown words of the prompt by `<unk>`.
        rest = whole.removeprefix(self.tokenizer.decode(prompt))
        return (source.rstrip(" ") if rest.startswith(" ") else source) + rest


def carried_state(model: nn.Module, state: Any) -> Any:
    """Return the state carried to the next window; None for models without one."""
    carry = getattr(model, "carry", None)
    return None if carry is None else carry(state)


def _shortened(text: str) -> str:
    """Return the end of a long text."""
    return text if len(text) <= _SHOWN else f"… {text[-_SHOWN:]}"

"""Labels for texts: one for each text, or one for each of its words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from regard.data.batch import Batch
from regard.data.corpus import Corpus
from regard.data.example import Example, Value
from regard.data.joined import SECOND
from regard.data.labels import Labels
from regard.data.problems import TextError, shortened
from regard.data.spelling import LETTERS, letters_of
from regard.data.tokenizer import Tokenizer
from regard.decode.search import Search
from regard.evaluate.class_scores import ClassScores
from regard.evaluate.texts import References
from regard.explain.panel import Panel
from regard.models.acceptor import Acceptor
from regard.models.bert import BertEncoder
from regard.models.lstmn_encoder import LSTMNEncoder
from regard.models.outputs import Predicted, log_softmax
from regard.specials import EOS, IGNORE, UNK
from regard.tasks.class_weights import ClassWeights
from regard.tasks.layers import layers_panel
from regard.tasks.length_check import check_room
from regard.tasks.loss import Loss, token_loss
from regard.tasks.prediction import Prediction
from regard.tasks.targets.label import LabelTarget
from regard.tasks.targets.target import Answered, Target
from regard.tasks.task import Encoders, Pace, Task, in_batches


@dataclass(frozen=True)
class Classification(Task):
    """An acceptor learns the target of a text and answers with it: a label, several labels or a number.

    What a model adds to the loss is `extras["penalty"]`. Where it attends, an answer has a row of weights for each hop.

    Attributes:
        encoders: the tokenizer of "text" and the labels, or the numbers, of "label".
        smoothing: of the labels.
        pairs: whether a label is of two texts, which are asked with a tab between.
        weights: of the classes in the training loss; None for all alike.
        target_of: from the encoder of "label" to its form of target.
    """

    question: ClassVar[str] = "text"
    answer: ClassVar[str | None] = "label"
    unit: ClassVar[str] = "label"

    encoders: Encoders
    smoothing: float = 0.0
    pairs: bool = False
    weights: ClassWeights | None = None
    target_of: Callable[[Any], Target] = LabelTarget

    @property
    def input_fields(self) -> tuple[str, ...]:
        return ("text", SECOND) if self.pairs else ("text",)

    def weighted(self, weights: ClassWeights) -> Classification:
        return replace(self, weights=weights)

    def classes(self, text: str) -> list[str]:
        return [text] if self.target.single is None else []

    @cached_property
    def target(self) -> Target:
        """The form of the targets: their loss and their answers."""
        return self.target_of(self.encoders["label"])

    @property
    def measured_in(self) -> str:
        return self.target.measured_in

    @property
    def loss_unit(self) -> str:
        return self.target.loss_unit

    @property
    def constant(self) -> str | None:
        return self.target.constant

    def unigram_loss(self, corpus: Corpus) -> float | None:
        return self.target.floor(corpus, "label")

    def averaged(self, logits: Sequence[Tensor]) -> Tensor:
        return self.target.averaged(logits)

    def class_scores(self, texts: Sequence[str], references: References) -> ClassScores | None:
        return self.target.class_scores(texts, references)

    def references(self, fields: Mapping[str, Value]) -> list[str]:
        return [self.target.written(fields["label"])]

    def tuned(self, model: Any, examples: Iterable[Example]) -> Task:
        def answered() -> Answered:
            read = list(examples)
            found = self.predict(model, [self.ask(one.fields) for one in read], Search())
            return Answered([one.scores or {} for (one,) in found], [one.fields["label"] for one in read])

        encoder = self.target.tuned(answered)
        return self if encoder is None else replace(self, encoders={**self.encoders, "label": encoder})

    def loss(self, model: nn.Module, batch: Batch, *, update: int | None = None, state: Any = None) -> Loss:
        predicted: Predicted = model(batch.text, batch.text_lengths)
        smoothing, weights = (0.0, None) if update is None else (self.smoothing, self.weights)
        total, nll = self.target.loss(predicted.logits, batch.label, smoothing=smoothing, weights=weights)
        if update is None:
            return Loss(total, nll, self.target.count(batch.label))
        if "penalty" in predicted.extras:  # an empty text has no words that hops could look at
            total = total + predicted.extras["penalty"].masked_fill(batch.text_lengths == 0, 0.0).sum()
        return Loss(total, nll, batch.tokens)

    def pace(self, model: nn.Module) -> Pace | None:
        if not isinstance(model, Acceptor) or model.pair is not None:
            return None
        if not isinstance(self.target, LabelTarget):
            return None  # rows that fill up a recorded batch would count: only a single label can be IGNORE
        return "steps" if isinstance(model.encoder, LSTMNEncoder) else "at once"

    def predict(self, model: Any, texts: Sequence[str], search: Search, *, batch: int = 32) -> list[list[Prediction]]:
        if search.n_best > 1 and self.target.single is not None:
            raise ValueError(f"{self.target.single}; got n_best={search.n_best}")
        tokenizer = self.encoders["text"]
        assert isinstance(tokenizer, Tokenizer)
        if self.pairs and (alone := next((text for text in texts if "\t" not in text), None)) is not None:
            raise TextError(f"the label is of two texts with a tab between; this is one: {shortened(alone)!r}")
        encoded = tokenizer.encode_all(list(texts)) if texts else []
        check_room(model, texts, [_read_at_once(model, ids) for ids in encoded])
        answers: list[list[Prediction]] = [[] for _ in texts]
        for part, ids, lengths in in_batches(encoded, batch, next(model.parameters()).device):
            with torch.inference_mode():
                predicted: Predicted = model(ids, lengths)
                found = self.target.answers(predicted.logits, search.n_best)
                weights = None if predicted.attended is None else predicted.attended.weights().float().cpu()
            for row, index in enumerate(part):
                pieces = tokenizer.tokens(encoded[index] or [UNK])
                looked = None if weights is None else weights[row, :, : len(pieces)]
                answers[index] = [
                    Prediction(
                        texts[index], one.text, one.score, tuple(pieces), (one.text,), one.log_probs, looked,
                        labels=one.labels, scores=one.scores,
                    )
                    for one in found[row]
                ]  # fmt: skip
        return answers

    def panels(self, model: Any, text: str, search: Search) -> list[Panel]:
        """What a model looks at; of a BERT that does not pool by attention, what its layers look at."""
        if not isinstance(model, Acceptor) or not isinstance(model.encoder, BertEncoder):
            return super().panels(model, text, search)
        if model.attention is not None or model.pair is not None:
            return super().panels(model, text, search)
        (answer,) = self.predict(model, [text], search)[0][:1]
        tokenizer = self.encoders["text"]
        assert isinstance(tokenizer, Tokenizer)
        asked = text.replace("\t", " | ")
        return [layers_panel(model.encoder, tokenizer, text, title=f"{asked} → {answer.text}", pooling=model.pooling)]


@dataclass(frozen=True)
class Tagging(Task):
    """How a transducer learns a tag for each word, and how it answers: the likeliest tag of each word.

    Words may be cut into pieces (`tokenizer: {kind: bpe}`): then the state at a word's first piece has its tag. A model
    that scores tags together answers with the likeliest sequence, others with the likeliest tag of each word.

    Attributes:
        encoders: the tokenizer of "text", that of "letters" where words are read by them, and the labels of "tags".
        smoothing: of the labels.
        weights: of the tags in the training loss; None for all alike.
    """

    question: ClassVar[str] = "text"
    answer: ClassVar[str | None] = "tags"
    unit: ClassVar[str] = "tag"
    beside: ClassVar[tuple[str, ...]] = (LETTERS,)

    encoders: Encoders
    smoothing: float = 0.0
    weights: ClassWeights | None = None

    def weighted(self, weights: ClassWeights) -> Tagging:
        return replace(self, weights=weights)

    def classes(self, text: str) -> list[str]:
        return text.split()

    @cached_property
    def begins(self) -> Tensor:
        """[V], whether an id begins a word."""
        return torch.tensor(tokenizer_and_labels(self)[0].begins(), device="cpu")

    def loss(self, model: nn.Module, batch: Batch, *, update: int | None = None, state: Any = None) -> Loss:
        firsts = self._firsts(batch.text, batch.text_lengths)
        tags = batch.tags[inside(batch.tags, batch.tags_lengths)]  # of all words of the batch
        placed = torch.full_like(batch.text, IGNORE).masked_scatter(firsts, tags)  # [B, T], at their first pieces
        letters = batch.tensors.get(LETTERS)
        predicted: Predicted = model(batch.text, batch.text_lengths, firsts, placed, letters)
        logits = predicted.logits[firsts]
        smoothing, weights = (0.0, None) if update is None else (self.smoothing, self.weights)
        total, nll = token_loss(logits, tags, padding=IGNORE, smoothing=smoothing, weights=weights)
        return Loss(total, nll.detach(), int((tags != IGNORE).sum()))

    def predict(self, model: Any, texts: Sequence[str], search: Search, *, batch: int = 32) -> list[list[Prediction]]:
        if search.n_best > 1:
            raise ValueError(f"tags are the likeliest of each word, one answer; got n_best={search.n_best}")
        tokenizer, labels = tokenizer_and_labels(self)
        words = [text.split() for text in texts]
        encoded = tokenizer.encode_all(words) if texts else []
        check_room(model, texts, list(map(len, encoded)))
        answers: list[list[Prediction]] = [[] for _ in texts]
        for part, ids, lengths in in_batches(encoded, batch, next(model.parameters()).device):
            firsts = self._firsts(ids, lengths)
            letters = self._letters([words[index] for index in part], ids.device)
            with torch.inference_mode():
                predicted: Predicted = model(ids, lengths, firsts, None, letters)
                each = log_softmax(predicted.logits)
                path = predicted.extras.get("path", each.argmax(-1))  # [B, T]
                chosen = each.gather(2, path.unsqueeze(2)).squeeze(2)
                together = predicted.extras.get("path_score", (chosen * firsts).sum(1))
            for row, index in enumerate(part):
                tags = tuple(labels.decode(path[row][firsts[row]].tolist()))
                log_probs = tuple(chosen[row][firsts[row]].tolist())
                score = float(together[row])
                answers[index] = [Prediction(texts[index], " ".join(tags), score, tuple(words[index]), tags, log_probs)]
        return answers

    def fitted(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        found = dict(arguments)
        if found.get("tag_scheme") is not None:
            found["tag_names"] = tokenizer_and_labels(self)[1].names
        letters = self.encoders.get(LETTERS)
        if letters is not None:
            encoder = dict(found["encoder"])
            given = encoder["characters"]
            characters = {"kind": given} if isinstance(given, str) else dict(given)
            found["encoder"] = {**encoder, "characters": {**characters, "size": letters.size}}
        return found

    def doubts(self, model: Any, texts: Sequence[str]) -> list[str]:
        """Nothing of unknown words where their letters are read."""
        return [] if LETTERS in self.encoders else super().doubts(model, texts)

    def _letters(self, texts: Sequence[Sequence[str]], device: torch.device) -> Tensor | None:
        """[B, W, L], of the words of texts; a text without words has one that is unknown, as its ids have."""
        characters = self.encoders.get(LETTERS)
        if characters is None:
            return None
        assert isinstance(characters, Tokenizer)
        return letters_of([words or ["\N{REPLACEMENT CHARACTER}"] for words in texts], characters).to(device)

    def _firsts(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """[B, T], True where a word begins."""
        return self.begins.to(ids.device)[ids] & inside(ids, lengths)


def _read_at_once(model: Any, ids: list[int]) -> int:
    """How many ids a model reads at once: all of them, or of two texts that it compares those of the longer."""
    if getattr(model, "pair", None) is None or EOS not in ids:
        return len(ids)
    first = ids.index(EOS)
    return max(first, len(ids) - first - 1)


def inside(rows: Tensor, lengths: Tensor) -> Tensor:
    """[B, T], True before each row's end."""
    return torch.arange(rows.shape[1], device=rows.device) < lengths.to(rows.device).unsqueeze(1)


def tokenizer_and_labels(task: Task) -> tuple[Tokenizer, Labels]:
    """What the text and the answer of a labelling task are encoded by."""
    tokenizer, labels = task.encoders[task.question], task.encoders[str(task.answer)]
    assert isinstance(tokenizer, Tokenizer)
    assert isinstance(labels, Labels)
    return tokenizer, labels

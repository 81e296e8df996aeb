"""Explanations of translation: attributions to source words for each word of a forced translation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from regard.data.batching.batch import padded
from regard.decode.search import Search
from regard.explain.capture import capture
from regard.explain.changed_weights import changed_weights, same_weights
from regard.explain.embeddings import embeddings_of
from regard.explain.layer_stack import LayerStack, layer_measures, layers_of, moved
from regard.explain.subject import Extra, StagedSubject, Subject, SubjectBatch
from regard.models.generator import AttendingDecoder
from regard.models.transformer import Transformer
from regard.nn.attention_module import AttentionModule
from regard.nn.key_value import KeyValue
from regard.nn.transformer_layer import TransformerLayer
from regard.protocol import Selectable, device_of
from regard.specials import BOS, PAD, UNK
from regard.systems.translation.force_decoding import source_reads

if TYPE_CHECKING:
    from regard.systems.translation.task import Translation


def subject_of(task: Translation, model: object) -> Subject:
    """Return the explanation subject for a translation model.

    Args:
        task: the translation task.
        model: the model, in evaluation mode.

    Raises:
        ValueError: the model has no attention to its source, or it has a copy mechanism.
    """
    if isinstance(model, Transformer):
        return TransformerSubject(task, model)
    if isinstance(model, AttendingDecoder):
        return RecurrentSubject(task, model)
    raise ValueError(
        f"{type(model).__name__} is not explained: its answers do not follow from attention to the source alone"
    )


class _TranslationSubject(Subject):
    """Translator under forced decoding of its own translation: one item per source and target word.

    Args:
        task: the translation task.
        model: the model, in evaluation mode.
    """

    def __init__(self, task: Translation, model: AttendingDecoder[Any]) -> None:
        self.task, self.translator, self.device = task, model, device_of(model)
        self.embeddings = (embeddings_of(model.encoder),)

    def read(self, inputs: Sequence[str]) -> SubjectBatch:
        """Return sources [B, S], each repeated per word of its translation and for EOS.

        The batch also contains the translation with BOS [B, T], and the number of words before the explained one.
        """
        said = [found[0].text for found in self.task.predict(self.translator, list(inputs), Search())]
        sources = [ids or [UNK] for ids in self.task.source.encode_all(list(inputs))]
        targets = [[BOS, *ids] for ids in self.task.target.encode_all(said)]
        rows = [(number, place) for number, target in enumerate(targets) for place in range(len(target))]
        number, place = (torch.tensor(column, device=self.device) for column in zip(*rows, strict=True))
        lengths = torch.tensor([len(ids) for ids in sources], device=self.device)
        ids, target = (padded(part, PAD).to(self.device) for part in (sources, targets))
        return SubjectBatch(ids[number], lengths[number], PAD, beside=(target[number], place), source=number)

    def words(self, given: str) -> list[str]:
        """Return the words of the source."""
        return self.task.source.tokens(self.task.source.encode(given) or [UNK])

    def name(self, given: str, texts: SubjectBatch, answer: int) -> str:
        """Return the target word to be explained, preceded by its prefix."""
        target, place = texts.beside
        before = target[0, 1 : int(place) + 1].tolist()
        return " ".join([*self.task.target.tokens(before), f"[{self.task.target.tokens([answer])[0]}]"])

    def probabilities(self, texts: SubjectBatch, *, detach: bool = False) -> Tensor:
        """Return the probabilities of the word that is said, [B, V]."""
        target, place = texts.beside
        given = target[:, : int(place.max()) + 1]
        logits = self.translator(texts.ids, texts.lengths, given).logits  # [B, T, V]
        likely: Tensor = logits[torch.arange(len(place), device=place.device), place].softmax(-1)
        return likely


class _Step(NamedTuple):
    """Items of a batch with the same target position: their rows, the previous word, and the decoder state."""

    rows: Tensor
    token: Tensor
    state: Selectable


class RecurrentSubject(_TranslationSubject, StagedSubject):
    """Recurrent decoder with one attention read per target word; weights are those of that read.

    Gradients treat the weights of all reads as constants. Only the weights of the explained word can be replaced.
    """

    searched = False

    def __init__(self, task: Translation, model: AttendingDecoder[Any]) -> None:
        super().__init__(task, model)
        reader = model.source_reader
        self.reader: AttentionModule = reader.attention if isinstance(reader, KeyValue) else reader

    def probabilities(self, texts: SubjectBatch, *, detach: bool = False) -> Tensor:
        """Return the probabilities of the word that is said, [B, V]."""
        with changed_weights(self.reader, Tensor.detach if detach else same_weights):
            return super().probabilities(texts)

    def encode(self, texts: SubjectBatch) -> list[_Step]:
        """Return the decoder states before the explained words, grouped by target position."""
        target, place = texts.beside
        found = []
        for number in place.unique().tolist():
            rows = (place == number).nonzero().flatten()
            state: Any = self.translator.start(texts.ids[rows], texts.lengths[rows])
            for token in target[rows, :number].unbind(1):
                state = self.translator.step(token, state).state
            found.append(_Step(rows, target[rows, number], state))
        return found

    def attend(self, encoded: list[_Step]) -> Tensor:
        """Return the attention weights for each explained word, [B, H, S]."""
        reads = [self.translator.step(one.token, one.state).attended for one in encoded]
        weights = [read.weights() for read in reads if read is not None]
        return _together(encoded, [one[:, 0].unsqueeze(1) if one.dim() == 3 else one[:, :, 0] for one in weights])

    def answer(self, encoded: list[_Step], weights: Tensor) -> Tensor:
        """Return the output probabilities under replaced attention weights, [B, V]."""
        found = []
        for one in encoded:
            given = weights[one.rows].unsqueeze(2)  # [B', H, 1, S]
            with changed_weights(self.reader, partial(_replaced, given)):
                found.append(self.translator.step(one.token, one.state).log_probs.exp())
        return _together(encoded, found)


def _replaced(given: Tensor, _own: Tensor) -> Tensor:
    return given


def _together(steps: Sequence[_Step], parts: Sequence[Tensor]) -> Tensor:
    """Return results of texts with the same place in the order of their batch."""
    order = torch.cat([one.rows for one in steps])
    return torch.cat(list(parts))[order.argsort()]


class TransformerSubject(_TranslationSubject):
    """Transformer; weights are the mean over the heads of the layer that word links are extracted from."""

    def __init__(self, task: Translation, model: Transformer) -> None:
        super().__init__(task, model)
        self.model, self.layer = model, task.alignment_choice(model).layer - 1

    def weights(self, texts: SubjectBatch) -> Tensor:
        """Return the weights of the source's words for each word, [B, S]."""
        return self._cropped(self._crossing(texts).mean(1), texts)

    def extras(self) -> Mapping[str, Extra]:
        """Return the measures of the encoder as attended to by this word, and the norm-weighted cross-attention."""
        encoder = layer_measures(self._layers, self._cropped) if layers_of(self.model.encoder) else {}
        return {**encoder, "weighted norms": Extra(self._norms)}

    def _crossing(self, texts: SubjectBatch) -> Tensor:
        """Return the weights of all heads, [B, H, S]."""
        target, place = texts.beside
        name = source_reads(self.model)[self.layer]
        with torch.no_grad(), capture(self.model, name) as seen:
            self.model(texts.ids, texts.lengths, target[:, : int(place.max()) + 1])
        return seen.weights(name)[torch.arange(len(place), device=place.device), :, place]

    def _layers(self, texts: SubjectBatch) -> tuple[LayerStack, Tensor]:
        """Return the attention of the encoder's layers, and this word's attention to the final states, [B, S]."""
        encoder = self.model.encoder
        return LayerStack.of(layers_of(encoder), lambda: encoder(texts.ids, texts.lengths)), self._crossing(texts).mean(
            1
        )

    def _norms(self, texts: SubjectBatch) -> Tensor:
        """Return the norms of the weighted value vectors that this word receives, [B, S]."""
        layer = self.model.decoder.layers[self.layer]
        assert isinstance(layer, TransformerLayer)
        assert layer.cross is not None
        with torch.no_grad():
            states = self.model.encode(texts.ids, texts.lengths).states
            found = moved(layer.cross, self._crossing(texts).unsqueeze(2), states)  # [B, 1, S]
        return self._cropped(found[:, 0], texts)

    def _cropped(self, values: Tensor, texts: SubjectBatch) -> Tensor:
        """Select the values of the source words, 0 at padding."""
        return values.masked_fill(~texts.inside, 0.0)

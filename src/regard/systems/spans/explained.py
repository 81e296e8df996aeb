"""Explanations of span readers: attributions to question words for the start of the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn

from regard.data.batching.batch import padded
from regard.data.fields.tokenizer import Tokenizer
from regard.explain.embeddings import embeddings_of
from regard.explain.layer_stack import LayerStack, layer_measures, layers_of
from regard.explain.subject import Extra, Subject, SubjectBatch
from regard.models.bert import BertEncoder
from regard.models.model_output import ModelOutput
from regard.protocol import device_of
from regard.specials import PAD, UNK
from regard.systems.spans.coattention_reader import CoattentionReader
from regard.systems.spans.span_reader import SpanReader, join_texts

Parted = Callable[[str], tuple[str, str]]
"""Function from an input to its question and the passage window that contains the answer."""


def subject_of(model: nn.Module, tokenizer: Tokenizer, part: Parted) -> SpanSubject:
    """Return the explanation subject for a span reader.

    Args:
        model: the reader.
        tokenizer: tokenizer of question and passage.
        part: function from an input to its question and the passage window.

    Raises:
        ValueError: passage and question do not attend to each other.
    """
    if isinstance(model, CoattentionReader):
        return CoattentionSubject(model, tokenizer, part)
    if not isinstance(model, SpanReader) or not layers_of(model.encoder):
        raise ValueError("the reader does not attend to its question; take coattention, or a Transformer as encoder")
    return LayeredSubject(model, tokenizer, part)


class SpanSubject(Subject):
    """Span reader with question words as features; the passage is never changed, so its positions remain the classes.

    Args:
        model: the reader, in evaluation mode.
        tokenizer: tokenizer of question and passage.
        part: function from an input to its question and the passage window.
    """

    def __init__(self, model: CoattentionReader | SpanReader, tokenizer: Tokenizer, part: Parted) -> None:
        self.tokenizer, self.part, self.device = tokenizer, part, device_of(model)
        self.reader, self.embeddings = model, (embeddings_of(model.encoder),)

    def read(self, inputs: Sequence[str]) -> SubjectBatch:
        """Return a batch of questions [B, Q] with their passages."""
        questions, passages = zip(*map(self.part, inputs), strict=True)
        asked, told = ([row or [UNK] for row in self.tokenizer.encode_all(list(one))] for one in (questions, passages))
        lengths = [torch.tensor([len(row) for row in rows], device=self.device) for rows in (asked, told)]
        passage = padded(told, PAD).to(self.device)
        return SubjectBatch(padded(asked, PAD).to(self.device), lengths[0], PAD, beside=(passage, lengths[1]))

    def words(self, given: str) -> list[str]:
        """Return the words of the question."""
        return self.tokenizer.tokens(self.read([given]).ids[0].tolist())

    def name(self, given: str, texts: SubjectBatch, answer: int) -> str:
        """Return the first word of the answer in the passage."""
        passage, _ = texts.beside
        return self.tokenizer.tokens([int(passage[0, answer])])[0]

    def probabilities(self, texts: SubjectBatch, *, detach: bool = False) -> Tensor:
        """Return the probability of each passage position as the start of the answer, [B, S]."""
        return self._predicted(texts).logits[..., 0].softmax(-1)

    def _predicted(self, texts: SubjectBatch) -> ModelOutput:
        predicted: ModelOutput = self.reader(texts.ids, texts.lengths, *texts.beside)
        return predicted


class CoattentionSubject(SpanSubject):
    """Coattention reader; weights are the attention A^D from the answer's start to the question."""

    def __init__(self, model: CoattentionReader, tokenizer: Tokenizer, part: Parted) -> None:
        super().__init__(model, tokenizer, part)
        if model.interaction.output_dim == 0 or not hasattr(model.interaction, "coattention"):
            raise ValueError("no word of the passage attends to the question; take interaction: coattention")

    def weights(self, texts: SubjectBatch) -> Tensor:
        """Return the attention from the answer's start to the question words, [B, Q]."""
        predicted = self._predicted(texts)
        place = predicted.logits[..., 0].argmax(1)  # [B]
        rows = predicted.extras["passage_weights"][torch.arange(len(place)), place]  # [B, Q + 1]
        return rows[:, : texts.ids.shape[1]].masked_fill(~texts.inside, 0.0)


class LayeredSubject(SpanSubject):
    """Transformer over the concatenated question and passage; weights are the attention from the answer's start."""

    def __init__(self, model: SpanReader, tokenizer: Tokenizer, part: Parted) -> None:
        super().__init__(model, tokenizer, part)
        self.encoder, self.frame = model.encoder, int(isinstance(model.encoder, BertEncoder))

    def weights(self, texts: SubjectBatch) -> Tensor:
        """Return the attention of the last layer to the question words, averaged over heads, [B, Q]."""
        stack, looks = self._layers(texts)
        return self._cropped((looks.unsqueeze(1) @ stack.weights[:, -1].mean(1)).squeeze(1), texts)

    def fold(self, texts: SubjectBatch, values: Tensor) -> Tensor:
        """Map values of all positions to the question words."""
        return self._cropped(values, texts)

    def extras(self) -> Mapping[str, Extra]:
        """Return the measures of a Transformer encoder."""
        return layer_measures(self._layers, self._cropped)

    def _layers(self, texts: SubjectBatch) -> tuple[LayerStack, Tensor]:
        """Return the attention of all layers, and the start of the answer as a one-hot row [B, P]."""
        ids, lengths, places = join_texts(texts.ids, texts.lengths, *texts.beside)
        stack = LayerStack.of(layers_of(self.encoder), lambda: self.encoder(ids, lengths))
        with torch.no_grad():
            begins = self._predicted(texts).logits[..., 0].argmax(1, keepdim=True)  # [B, 1]
        place = places.gather(1, begins) + self.frame
        return stack, torch.zeros_like(stack.norms[:, 0]).scatter_(1, place, 1.0)

    def _cropped(self, values: Tensor, texts: SubjectBatch) -> Tensor:
        """Select the values of the question words, [B, Q], from those of all positions [B, P]."""
        return values[:, self.frame : self.frame + texts.ids.shape[1]].masked_fill(~texts.inside, 0.0)

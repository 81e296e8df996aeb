"""Forced decoding: the attention of a model for a given translation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.alignment.attention_links import word_weights, words_of_pieces
from regard.alignment.sentence_pairs import SentencePair
from regard.data.batching.batch import padded
from regard.explain.capture import capture
from regard.models.copying import Copying, with_copies
from regard.models.model_output import ModelOutput
from regard.models.transformer import Transformer
from regard.protocol import device_of
from regard.specials import BOS, PAD
from regard.systems.translation.alignment_choice import AlignmentChoice
from regard.systems.translation.bidirectional import Bidirectional
from regard.tasks.task import in_batches

if TYPE_CHECKING:
    from regard.systems.translation.task import Translation


@dataclass(frozen=True)
class ForcedAttention:
    """Attention of a sentence pair under teacher forcing.

    Attributes:
        number: index of the pair.
        weights: [L, H, T, S] of layers and heads; row t is the step that predicts target token t, the last one EOS.
        source, target: word index of each token; -1 for none, such as EOS.
        sizes: numbers of source and target words.
        tokens: tokens of source and target, including EOS.
    """

    number: int
    weights: NDArray[np.float32]
    source: list[int]
    target: list[int]
    sizes: tuple[int, int]
    tokens: tuple[list[str], list[str]]

    def between_words(self, choice: AlignmentChoice) -> NDArray[np.floating]:
        """Return the attention of one head, or the mean over the heads of a layer, between words [J, I]."""
        layer = self.weights[choice.layer - 1]
        weights = layer.mean(0) if choice.head is None else layer[choice.head - 1]
        return word_weights(weights, self.source, self.target, self.sizes, shift=choice.shift)


def source_reads(model: nn.Module) -> list[str]:
    """Return the names of the modules that read the source in the layers of a Transformer; none for other models.

    >>> from regard.models import Transformer
    >>> from regard.nn import LayerConfig
    >>> source_reads(Transformer(11, 11, LayerConfig(dim=6, num_heads=2), num_layers=2))
    ['decoder.layers.0.cross', 'decoder.layers.1.cross']
    """
    before = ""
    if isinstance(model, Bidirectional):
        model, before = model.forward_model, "forward_model."
    if isinstance(model, Copying):
        model, before = model.model, f"{before}model."
    if not isinstance(model, Transformer):
        return []
    return [f"{before}decoder.layers.{number}.cross" for number in range(len(model.decoder.layers))]


def force_decode(
    task: Translation, model: Any, pairs: Sequence[SentencePair], *, batch: int = 32
) -> Iterator[ForcedAttention]:
    """Yield the attention of each pair with words on both sides, ordered by source length.

    Args:
        task: task of the model.
        model: the model, in evaluation mode.
        pairs: the texts.
        batch: batch size.

    Raises:
        ValueError: the model has no attention to its source.
    """
    kept = [number for number, pair in enumerate(pairs) if pair.source.strip() and pair.target.strip()]
    sources = [pairs[number].source for number in kept]
    encoded = task.source.encode_all(sources) if sources else []
    for part, source, lengths in in_batches(encoded, batch, device_of(model)):
        rows = [_ids(task, pairs[kept[index]]) for index in part]
        if task.copy:
            source = with_copies(source, padded([copies for copies, _ in rows], PAD).to(source.device))
        target = padded([[BOS, *ids] for _, ids in rows], PAD).to(source.device)
        for index, weights in zip(part, _weights(model, source, lengths, target), strict=True):
            number, (_, ids) = kept[index], rows[part.index(index)]
            pair, pieces = pairs[number], encoded[index]
            here = words_of_pieces(pair.source, task.source.places(pair.source))
            there = words_of_pieces(pair.target, task.target.places(pair.target))
            yield ForcedAttention(
                number,
                weights[:, :, : len(ids) + 1, : len(pieces)],
                here,
                [*there, -1],
                (len(pair.source_words), len(pair.target_words)),
                (task.source.tokens(pieces), [*task.target.tokens(task.target.encode(pair.target)), "</s>"]),
            )


def _ids(task: Translation, pair: SentencePair) -> tuple[list[int], list[int]]:
    """Return the ids by which the source is copied, none where it is not, and those of the target."""
    vocabulary = task.copy_vocabulary
    if vocabulary is None:
        return [], task.target.encode(pair.target)
    copied = vocabulary.source_of([pair.source])
    return copied.ids, vocabulary.wanted(pair.target, copied)


def _weights(model: Any, source: Tensor, lengths: Tensor, target: Tensor) -> NDArray[np.float32]:
    """Return the weights of teacher forcing, [B, L, H, T, S]."""
    names = source_reads(model)
    with torch.inference_mode(), capture(model, names) if names else nullcontext() as seen:
        predicted: ModelOutput = model(source, lengths, target)
        if seen is not None:
            layers = [seen[name][0].weights() for name in names]
        elif predicted.attended is not None:
            layers = [predicted.attended.weights()]
        else:
            raise ValueError("the model attends to nothing, so it links no words; take one with attention")
    headed = [weights if weights.dim() == 4 else weights.unsqueeze(1) for weights in layers]
    found: NDArray[np.float32] = torch.stack(headed, dim=1).float().cpu().numpy()
    return found

"""Joint training of both translation directions with agreement of their alignments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.arguments import Choice, Factor, NotInRecipe, checked
from regard.constraints import no_draws_in_both
from regard.models.attention_config import mapping, unknown_name
from regard.models.build import COPYING, ENCODER_DECODERS, construct
from regard.models.embeddings import word_counts
from regard.models.generator import EncoderDecoder, NextInput
from regard.models.model_output import ModelOutput
from regard.ops.softmax import statistics_dtype
from regard.ops.symmetry import symmetry_bonus
from regard.ops.weights import Weights
from regard.protocol import Selectable, Step
from regard.specials import BOS, EOS, PAD


class ReversedPair(NamedTuple):
    """A batch with source and target swapped.

    Attributes:
        source: [B, T], y_1 ... y_n, followed by EOS if sources end with EOS.
        source_lengths: [B].
        target: [B, S + 1], BOS x_1 ... x_m.
        labels: [B, S + 1], x_1 ... x_m EOS.
        source_words: n [B].
        target_words: m [B].
    """

    source: Tensor
    source_lengths: Tensor
    target: Tensor
    labels: Tensor
    source_words: Tensor
    target_words: Tensor


Direction = Annotated[
    EncoderDecoder[Any],
    Choice("encoder_decoder", key="model", only=("bahdanau", "lstmn", "luong", "simple_attention", "transformer")),
]
Back = Annotated[EncoderDecoder[Any], NotInRecipe()]


class Bidirectional(nn.Module):
    r"""Models of X→Y and Y→X, trained jointly with a bonus for the agreement of their alignments.

    .. math:: \mathcal{L} = -\log p(y \mid x) - \log p(x \mid y) - \gamma\, \mathrm{tr}(A_{X \to Y} A_{Y \to X})

    The output is that of X→Y, and so are `start` and `step`. Two extras [B] are added to the loss, one value per
    sentence: `"backward"` is -log p(x | y), and `"symmetry"` is -γ tr(...).

    Args:
        forward_model: model of X→Y, an encoder-decoder with attention; in a recipe the `kind` and the arguments of both
            directions.
        backward_model: model of Y→X, likewise, with separate parameters.
        gamma: weight γ of the agreement in the loss.

    Heads are averaged. Rows and columns of BOS, EOS and padding are excluded. Cohn et al. 2016, bilingual symmetry;
    see `regard.ops.symmetry_bonus`.

    >>> from regard.models import Bahdanau
    >>> sizes = {"embedding_dim": 3, "hidden_dim": 5}
    >>> model = Bidirectional(Bahdanau(11, 13, **sizes), Bahdanau(13, 11, **sizes))
    >>> predicted = model(torch.tensor([[5, 6, 3]]), torch.tensor([3]), torch.tensor([[2, 7]]))
    >>> predicted.logits.shape, sorted(predicted.extras)
    (torch.Size([1, 2, 13]), ['backward', 'symmetry'])
    """

    unrewarded_draws: ClassVar[str] = "bidirectional"
    late_weights: ClassVar[bool] = True  # the agreement needs weights after the layers are done

    @checked(no_draws_in_both)
    def __init__(self, forward_model: Direction, backward_model: Back, *, gamma: Factor = 1.0) -> None:
        super().__init__()
        self.forward_model = forward_model
        self.backward_model = backward_model
        self.gamma = gamma

    @classmethod
    def of_sizes(cls, source_size: int, target_size: int, arguments: Mapping[str, Any]) -> Bidirectional:
        """Build a model from plain values: `model` has the kind and the arguments of both directions."""
        rest = dict(arguments)
        options = mapping("model", rest.pop("model", {}))
        kind = str(options.pop("kind", "bahdanau"))
        if kind not in ENCODER_DECODERS:
            raise ValueError(unknown_name("encoder-decoder", kind, ENCODER_DECODERS))
        for name in rest:
            if name != "gamma":
                known = ("gamma", "model")
                raise ValueError(unknown_name("argument of the model 'bidirectional' called", name, known))
        wrong = next((name for name in COPYING if options.get(name)), None)
        if wrong is not None:
            raise ValueError(f"{wrong} is not for 'bidirectional', whose sources are targets too; leave it out")
        there = construct(kind, ENCODER_DECODERS[kind], source_size, target_size, options)
        back = construct(kind, ENCODER_DECODERS[kind], target_size, source_size, options)
        return cls(there, back, **rest)  # type: ignore[arg-type]  # encoder-decoders, of their classes

    def forward(
        self, source: Tensor, source_lengths: Tensor | None, target: Tensor, feed: NextInput | None = None
    ) -> ModelOutput:
        """Teacher forcing in both directions, or inputs chosen by `feed`; see `EncoderDecoder.forward`."""
        if source_lengths is None:
            source_lengths = (source != PAD).sum(1)
        pair = reverse_pair(source, source_lengths.to(source.device), target)
        there: ModelOutput = self.forward_model(source, source_lengths, target, feed)
        back: ModelOutput = self.backward_model(pair.source, pair.source_lengths, pair.target, feed)
        logits = back.logits.to(statistics_dtype(back.logits.dtype))
        loss = F.cross_entropy(logits.mT, pair.labels, ignore_index=PAD, reduction="none").sum(1)
        extras = {**there.extras, "backward": loss, "symmetry": -self.gamma * _agreement(there, back, pair)}
        return there._replace(extras=extras)

    def start(self, source: Tensor | None, lengths: Tensor | None = None, *, batch: int | None = None) -> Selectable:
        """Return the state before the first token of X→Y."""
        state: Selectable = self.forward_model.start(source, lengths, batch=batch)
        return state

    def step(self, token: Tensor, state: Any) -> Step:
        """Advance X→Y by one token [B]."""
        return self.forward_model.step(token, state)

    def extra_repr(self) -> str:
        return f"gamma={self.gamma}"


def reverse_pair(source: Tensor, lengths: Tensor, target: Tensor) -> ReversedPair:
    """Turn the pair (x, BOS y) into (y, BOS x); the new source ends with EOS if x did.

    >>> pair = reverse_pair(torch.tensor([[5, 6, 3]]), torch.tensor([3]), torch.tensor([[2, 7, 8, 9]]))
    >>> pair.source, pair.target, pair.labels
    (tensor([[7, 8, 9, 3]]), tensor([[2, 5, 6, 0]]), tensor([[5, 6, 3, 0]]))
    """
    last = source.gather(1, (lengths - 1).clamp(min=0).unsqueeze(1)).squeeze(1)  # [B]
    ends = ((last == EOS) & (lengths > 0)).to(lengths.dtype)
    empty = (target == PAD).all(1)  # rows of padding (in captured batches) must stay padding
    there, back = word_counts(target), lengths - ends
    after = torch.where(ends == 1, EOS, PAD)
    new_source = _followed(F.pad(target[:, 1:], (0, 1), value=PAD), there, after)
    labels = _followed(F.pad(source, (0, 1), value=PAD), back, torch.where(empty, PAD, EOS))
    new_target = torch.where(labels == EOS, PAD, labels).roll(1, dims=1)  # shifted right, to start with BOS
    new_target[:, 0] = torch.where(empty, PAD, BOS)
    return ReversedPair(new_source, there + ends, new_target, labels, there, back)


def _followed(ids: Tensor, lengths: Tensor, after: Tensor) -> Tensor:
    """Return ids [B, T] up to `lengths` [B], followed by `after` [B] and padding."""
    places = torch.arange(ids.shape[1], device=ids.device)
    ends = lengths.unsqueeze(1)
    return torch.where(places < ends, ids, torch.where(places == ends, after.unsqueeze(1).to(ids.dtype), PAD))


def _agreement(there: ModelOutput, back: ModelOutput, pair: ReversedPair) -> Tensor:
    """Return tr(A_{X→Y} A_{Y→X}) per sentence pair, [B], without special tokens."""
    forward, backward = _alignment(there.attended), _alignment(back.attended)
    rows, columns = forward.shape[1] - 1, forward.shape[2]
    forward = forward[:, :rows]  # without the row that predicts EOS
    row = torch.arange(rows, device=forward.device) >= pair.source_words.unsqueeze(1)
    column = torch.arange(columns, device=forward.device) >= pair.target_words.unsqueeze(1)
    outside = row.unsqueeze(2) | column.unsqueeze(1)  # [B, rows, columns]
    return symmetry_bonus(forward.masked_fill(outside, 0.0), backward[:, :columns, :rows])


def _alignment(attended: Weights | None) -> Tensor:
    """Return the attention weights [B, T, S], averaged over heads."""
    if attended is None:
        raise ValueError("Bidirectional: both models must attend to their source; one of them has no attention")
    weights = attended.weights()
    return weights if weights.dim() == 3 else weights.mean(1)

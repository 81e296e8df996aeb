"""Two directions of translation that are trained together."""

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
    """A pair the other way round: what was the target as a source, what was the source as a target.

    Attributes:
        source: [B, T], y_1 ... y_n, and EOS if sources end so.
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
    r"""X→Y and Y→X side by side, rewarded where their alignments agree.

    .. math:: \mathcal{L} = -\log p(y \mid x) - \log p(x \mid y) - \gamma\, \mathrm{tr}(A_{X \to Y} A_{Y \to X})

    The prediction is that of X→Y, and so are `start` and `step`. The other two parts are extras, each [B], one number
    a sentence: `"backward"` is -log p(x | y), `"symmetry"` is -γ tr(...), to be added to the loss.

    Args:
        forward_model: model of X→Y, an encoder-decoder with attention; in a recipe the `kind` and the arguments of both
            directions.
        backward_model: model of Y→X, likewise; it shares no parameters with the first.
        gamma: weight γ of the agreement in the loss.

    Heads are averaged. Rows and columns of BOS, EOS and padding do not count. Cohn et al. 2016, bilingual symmetry;
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
        """Return a model of plain values: `model` are the kind and the arguments of both directions."""
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
        """Teacher forcing in both directions, or what `feed` makes of it; see `EncoderDecoder.forward`."""
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
        """The state before the first token of X→Y."""
        state: Selectable = self.forward_model.start(source, lengths, batch=batch)
        return state

    def step(self, token: Tensor, state: Any) -> Step:
        """One token [B] of X→Y."""
        return self.forward_model.step(token, state)

    def extra_repr(self) -> str:
        return f"gamma={self.gamma}"


def reverse_pair(source: Tensor, lengths: Tensor, target: Tensor) -> ReversedPair:
    """The pair (x, BOS y) as (y, BOS x): sources end with EOS where x did.

    >>> pair = reverse_pair(torch.tensor([[5, 6, 3]]), torch.tensor([3]), torch.tensor([[2, 7, 8, 9]]))
    >>> pair.source, pair.target, pair.labels
    (tensor([[7, 8, 9, 3]]), tensor([[2, 5, 6, 0]]), tensor([[5, 6, 3, 0]]))
    """
    last = source.gather(1, (lengths - 1).clamp(min=0).unsqueeze(1)).squeeze(1)
    ends = ((last == EOS) & (lengths > 0)).to(lengths.dtype)
    empty = (target == PAD).all(1)  # a row of nothing but padding stays one
    there, back = word_counts(target), lengths - ends
    after = torch.where(ends == 1, EOS, PAD)
    new_source = _followed(F.pad(target[:, 1:], (0, 1), value=PAD), there, after)
    labels = _followed(F.pad(source, (0, 1), value=PAD), back, torch.where(empty, PAD, EOS))
    new_target = torch.where(labels == EOS, PAD, labels).roll(1, dims=1)
    new_target[:, 0] = torch.where(empty, PAD, BOS)
    return ReversedPair(new_source, there + ends, new_target, labels, there, back)


def _followed(ids: Tensor, lengths: Tensor, after: Tensor) -> Tensor:
    """Ids [B, T] up to `lengths` [B], then one `after` [B], then padding."""
    places = torch.arange(ids.shape[1], device=ids.device)
    ends = lengths.unsqueeze(1)
    return torch.where(places < ends, ids, torch.where(places == ends, after.unsqueeze(1).to(ids.dtype), PAD))


def _agreement(there: ModelOutput, back: ModelOutput, pair: ReversedPair) -> Tensor:
    """tr(A_{X→Y} A_{Y→X}) of each pair of sentences, [B], over words alone."""
    forward, backward = _alignment(there.attended), _alignment(back.attended)
    rows, columns = forward.shape[1] - 1, forward.shape[2]
    forward = forward[:, :rows]
    row = torch.arange(rows, device=forward.device) >= pair.source_words.unsqueeze(1)
    column = torch.arange(columns, device=forward.device) >= pair.target_words.unsqueeze(1)
    outside = row.unsqueeze(2) | column.unsqueeze(1)
    return symmetry_bonus(forward.masked_fill(outside, 0.0), backward[:, :columns, :rows])


def _alignment(attended: Weights | None) -> Tensor:
    """Weights [B, T, S], heads averaged."""
    if attended is None:
        raise ValueError("Bidirectional: both models must attend to their source; one of them has no attention")
    weights = attended.weights()
    return weights if weights.dim() == 3 else weights.mean(1)

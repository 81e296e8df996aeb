"""n to n: every word of a text gets a label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import torch
from torch import Tensor, nn

from regard.arguments import NotInRecipe, Probability, Share, checked
from regard.constraints import scheme_needs_crf
from regard.masks import Mask
from regard.models.characters import LetterIds
from regard.models.embeddings import WordDropout
from regard.models.encoded import AnyEncoder, Encoded, width_of
from regard.models.model_output import ModelOutput
from regard.nn.crf import CRF
from regard.nn.dropout import Dropout
from regard.specials import PAD
from regard.systems.tagging.tag_scheme import tag_order


class Transducer(nn.Module):
    r"""A label for each word from its state, alone or together with the labels beside it.

    .. math:: p(y_t \mid x) = \mathrm{softmax}(W h_t + b) \qquad\text{or}\qquad
              p(y \mid x) \propto \exp \sum_t \big((W h_t + b)_{y_t} + A_{y_{t-1} y_t}\big)

    Args:
        encoder: encoder of the text, by `kind` and its arguments in a recipe; a bidirectional one knows the words that
            follow.
        num_tags: number of labels.
        crf: score neighbouring labels together in a linear chain, see `CRF`.
        tag_scheme: with a CRF, allow only sequences of this scheme; None for any.
        tag_names: names of the labels, for the scheme; None before they are known.
        dropout: dropout of the states.
        word_dropout: probability that a word becomes unknown in training; its letters stay. See `WordDropout`.

    >>> import torch
    >>> from regard.models import RecurrentEncoder
    >>> model = Transducer(RecurrentEncoder(11, embedding_dim=3, hidden_dim=10, bidirectional=True), 4)
    >>> model(torch.ones(2, 7).long(), torch.tensor([7, 4])).logits.shape
    torch.Size([2, 7, 4])
    """

    @checked(scheme_needs_crf)
    def __init__(
        self,
        encoder: AnyEncoder,
        num_tags: int,
        *,
        crf: bool = False,
        tag_scheme: Literal["bio", "bioes"] | None = None,
        tag_names: Annotated[Sequence[str] | None, NotInRecipe()] = None,
        dropout: Share = 0.0,
        word_dropout: Probability = 0.0,
    ) -> None:
        super().__init__()
        self.word_dropout = WordDropout(word_dropout)
        self.encoder = encoder
        self.dropout = Dropout(dropout)
        self.output_map = nn.Linear(width_of(self, encoder), num_tags)
        order = None if tag_scheme is None or tag_names is None else tag_order(tag_names, tag_scheme)
        self.crf = CRF(num_tags, order=order) if crf else None

    def forward(
        self,
        text: Tensor,
        lengths: Tensor | None = None,
        places: Tensor | None = None,
        tags: Tensor | None = None,
        letters: Tensor | None = None,
        features: Tensor | None = None,
    ) -> ModelOutput:
        """Words [B, T] of true `lengths` [B] -> logits [B, T, tags]; those of padding mean nothing.

        Args:
            text: ids of words, or of their pieces.
            lengths: None where there is no padding.
            places: [B, T], True where a word begins, and has a tag; None for everywhere up to `lengths`.
            tags: [B, T], the right ones; a CRF says then how likely each is given the one before it. Without them it
                gives log-marginals, in `extras["path"]` [B, T] the likeliest sequence, and in `extras["path_score"]`
                [B] its log-probability.
            letters: [B, W, L], of the W words that begin at the places; for an encoder that reads characters.
            features: [B, W], a feature of each of these words; for an encoder that embeds it.
        """
        words = self.word_dropout(text)
        if places is None:
            places = _inside(text, lengths)
        beside: dict[str, Any] = {} if letters is None else {"spelling": LetterIds(letters, places)}
        if features is not None:  # [B, W] -> [B, T], at the places
            beside["features"] = torch.zeros_like(text).masked_scatter(places, features[features != PAD])
        encoded: Encoded = self.encoder(words, lengths, **beside)
        emissions: Tensor = self.output_map(self.dropout(encoded.states))
        if self.crf is None:
            return ModelOutput(emissions)
        mask = Mask.of(places[:, None, None])
        if tags is not None:
            return ModelOutput(self.crf(emissions, tags, mask))
        chain, best = self.crf.marginals(emissions, mask), self.crf.path(emissions, mask)
        logits = chain.marginals.clamp(min=torch.finfo(chain.marginals.dtype).tiny).log()
        return ModelOutput(logits, extras={"path": best.labels, "path_score": best.score - chain.log_partition})


def _inside(text: Tensor, lengths: Tensor | None) -> Tensor:
    """[B, T], True up to each row's end."""
    if lengths is None:
        return torch.ones_like(text, dtype=torch.bool)
    return torch.arange(text.shape[1], device=text.device) < lengths.to(text.device).unsqueeze(1)

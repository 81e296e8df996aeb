"""Transducer: sequence labelling with an optional CRF."""

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
    r"""Sequence labeller: an encoder with a softmax per word, or with a linear-chain CRF over the sequence.

    .. math:: p(y_t \mid x) = \mathrm{softmax}(W h_t + b) \qquad\text{or}\qquad
              p(y \mid x) \propto \exp \sum_t \big((W h_t + b)_{y_t} + A_{y_{t-1} y_t}\big)

    Args:
        encoder: encoder of the text, by `kind` and its arguments in a recipe; a bidirectional one also uses the
            following words.
        num_tags: number of labels.
        crf: use a linear-chain CRF, see `CRF`.
        tag_scheme: with a CRF, allow only label sequences that are valid in this scheme; None for any.
        tag_names: names of the labels, for the scheme; None before they are known.
        dropout: dropout of the states.
        word_dropout: probability of replacing a word by the unknown word in training; its letters are kept. See
            `WordDropout`.

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
        """Tokens [B, T] of `lengths` [B] -> logits [B, T, tags]; undefined at padding.

        Args:
            text: ids of words or subword tokens.
            lengths: None if there is no padding.
            places: [B, T], True at the first token of each word, which is tagged; None for all tokens up to `lengths`.
            tags: [B, T], the expected tags; a CRF then returns the log-probability of each tag given the previous one.
                Without them it returns log-marginals, the most probable sequence in `extras["path"]` [B, T], and its
                log-probability in `extras["path_score"]` [B].
            letters: [B, W, L], letters of the W words that start at `places`; for encoders with characters.
            features: [B, W], one feature per word; for encoders that embed it.
        """
        words = self.word_dropout(text)
        if places is None:
            places = _inside(text, lengths)
        beside: dict[str, Any] = {} if letters is None else {"spelling": LetterIds(letters, places)}
        if features is not None:  # [B, W] -> [B, T], scattered to the first tokens
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
    """Return a mask [B, T], True up to the length of each row."""
    if lengths is None:
        return torch.ones_like(text, dtype=torch.bool)
    return torch.arange(text.shape[1], device=text.device) < lengths.to(text.device).unsqueeze(1)

"""Dual encoder: dense retrieval with separate encodings of queries and passages."""

from __future__ import annotations

import copy
from typing import Any, Literal

from torch import Tensor, nn
from torch.nn import functional as F

from regard.arguments import Scale, Share, Size, checked
from regard.models.encoded import AnyEncoder, width_of
from regard.models.model_output import ModelOutput
from regard.nn.dropout import Dropout
from regard.systems.retrieval.pooling import PooledStates, Pooling, PoolingKind


class DualEncoder(nn.Module):
    r"""Dense retriever: queries and passages are encoded separately and compared by an inner product.

    .. math:: u = W\, \mathrm{pool}(\mathrm{encoder}(q)), \quad v = W'\, \mathrm{pool}(\mathrm{encoder}'(p)), \quad
              s(q, p) = \frac{u \cdot v}{|u|\,|v|} \quad\text{or}\quad u \cdot v

    Passage vectors do not depend on the query, so an index stores them.

    Args:
        encoder: encoder of the texts, by `kind` and its arguments in a recipe.
        pooling: vector of a text: `"mean"` of its words, `"attention"` over them, or `"last"`, the encoder's summary.
        shared: use one encoder for queries and passages; otherwise passages have a second encoder, initialised with
            the same weights.
        similarity: `"cosine"` of the vectors, or their inner product (`"dot"`).
        temperature: divisor of the similarity in the loss; a cosine needs a small value.
        output_dim: width of the vectors after a linear projection W without bias; null for no projection.
        longest: maximum length of a text in tokens; longer texts are truncated.
        dropout: dropout of the pooled vectors.

    Karpukhin et al. 2020, "Dense Passage Retrieval" (two encoders, dot product); Reimers & Gurevych 2019,
    "Sentence-BERT" (one encoder, mean pooling, cosine).

    >>> import torch
    >>> from regard.models import RecurrentEncoder
    >>> model = DualEncoder(RecurrentEncoder(11, embedding_dim=3, hidden_dim=6))
    >>> queries, passages = torch.randint(4, 11, (2, 5)), torch.randint(4, 11, (3, 7))
    >>> model(queries, torch.tensor([5, 2]), passages, torch.tensor([7, 4, 6])).logits.shape
    torch.Size([2, 3])
    """

    @checked()
    def __init__(
        self,
        encoder: AnyEncoder,
        *,
        pooling: PoolingKind = "mean",
        shared: bool = True,
        similarity: Literal["cosine", "dot"] = "cosine",
        temperature: Scale = 0.05,
        output_dim: Size | None = None,
        longest: Size = 256,
        dropout: Share = 0.0,
    ) -> None:
        super().__init__()
        width = width_of(self, encoder)
        self.similarity, self.temperature, self.longest = similarity, temperature, longest
        self.encoder, self.pool = encoder, Pooling(width, pooling)
        self.output_map = None if output_dim is None else nn.Linear(width, output_dim, bias=False)
        self.passage_encoder: nn.Module | None = None if shared else copy.deepcopy(self.encoder)
        self.passage_pool: nn.Module | None = None if shared else copy.deepcopy(self.pool)
        self.passage_map: nn.Module | None = None if shared else copy.deepcopy(self.output_map)
        self.dropout = Dropout(dropout)
        self.output_dim = output_dim or width
        self.register_load_state_dict_pre_hook(_second_from_first)  # type: ignore[no-untyped-call]

    def forward(
        self, queries: Tensor, query_lengths: Tensor | None, passages: Tensor, passage_lengths: Tensor | None
    ) -> ModelOutput:
        """Score all pairs of queries [B, Q] and passages [P, S] -> logits [B, P], similarity / temperature."""
        vectors = self.encode_queries(queries, query_lengths), self.encode_passages(passages, passage_lengths)
        return ModelOutput(vectors[0] @ vectors[1].mT / self.temperature)

    def encode_queries(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Encode queries [B, Q] of `lengths` [B] as vectors [B, C], L2-normalised for cosine similarity."""
        return self._vector(self.pooled(ids, lengths, passages=False), self.output_map)

    def encode_passages(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Encode passages [B, S] of `lengths` [B] as vectors [B, C], L2-normalised for cosine similarity."""
        own = self.output_map if self.passage_encoder is None else self.passage_map
        return self._vector(self.pooled(ids, lengths, passages=True), own)

    def pooled(self, ids: Tensor, lengths: Tensor | None, *, passages: bool) -> PooledStates:
        """Return the pooled states of texts, before projection and L2 normalisation."""
        ids = ids[:, : self.longest]
        lengths = None if lengths is None else lengths.clamp(max=self.longest)
        found: PooledStates
        if passages and self.passage_encoder is not None and self.passage_pool is not None:
            found = self.passage_pool(self.passage_encoder(ids, lengths))
        else:
            found = self.pool(self.encoder(ids, lengths))
        return found

    def contributions(self, query: Tensor, passage: Tensor) -> Tensor | None:
        r"""Return the contribution of each word pair to the similarity of a query [Q] and a passage [S]: [Q, S].

        .. math:: s(q, p) = \sum_{ij} \frac{a_i W h_i \cdot b_j W' h'_j}{|u|\,|v|}

        Pooling and projection are linear, so the contributions sum exactly to the similarity. None for pooling "last",
        which is not a weighted sum over words.
        """
        sides = []
        for ids, is_passage in ((query, False), (passage, True)):
            found = self.pooled(ids.unsqueeze(0), None, passages=is_passage)
            if found.weights is None:
                return None
            linear = self.passage_map if is_passage and self.passage_encoder is not None else self.output_map
            parts = found.weights[0].unsqueeze(1) * found.states[0]  # [T, C]
            parts = parts if linear is None else linear(parts)
            # Dividing by the norm of the sum, the pooled vector, keeps the sum over pairs equal to the cosine.
            sides.append(parts / parts.sum(0).norm().clamp(min=1e-12) if self.similarity == "cosine" else parts)
        return sides[0] @ sides[1].mT

    def _vector(self, pooled: PooledStates, linear: nn.Module | None) -> Tensor:
        vector: Tensor = self.dropout(pooled.vector)
        vector = vector if linear is None else linear(vector)
        return F.normalize(vector, dim=1) if self.similarity == "cosine" else vector


def _second_from_first(model: DualEncoder, weights: dict[str, Any], prefix: str, *rest: Any) -> None:
    """State-dict hook: load the weights of one encoder, such as a pretrained one, into both encoders."""
    for name in [] if model.passage_encoder is None else list(weights):
        if name.startswith(f"{prefix}encoder."):
            weights.setdefault(f"{prefix}passage_{name.removeprefix(prefix)}", weights[name])

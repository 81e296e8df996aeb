"""The symmetry bonus (Cohn et al. 2016): two directions of translation should align alike."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.ops.card import Card
from regard.ops.softmax import statistics_dtype

CARD = Card(
    name="symmetry",
    family="structure loss",
    equation="tr(A_{X→Y} A_{Y→X}) = Σ_ji α_ji α'_ij",
    paper='Cohn et al. 2016, "Bilingual symmetry"',
    cost="T·S",
    op="symmetry_bonus",
    module="Symmetry",
)


def symmetry_bonus(forward_weights: Tensor, backward_weights: Tensor) -> Tensor:
    r"""Agreement of the alignments of two directions: the weight of X→Y at (j, i) times that of Y→X at (i, j).

    .. math:: \mathrm{tr}(A_{X \to Y}\, A_{Y \to X}) = \sum_{j,i} \alpha_{ji}\, \alpha'_{ij}

    Between 0 and min(I, J) where rows sum to one; the most is reached by one-hot rows that agree.

    Args:
        forward_weights: [B, J, I], A_{X→Y}: each of J target words attends to I source words.
        backward_weights: [B, I, J], A_{Y→X}: each of I source words attends to J target words.

    Returns:
        The bonus of each pair of sentences [B]; in float32 for half-precision inputs.

    Raises:
        ValueError: shapes that are not each other's transpose.

    Both must speak of the same words: drop the rows and columns of BOS and EOS from both first, so that row j of one
    is column j of the other. Padding takes care of itself: a padded key has weight 0, and every product has one
    factor in which the padded word is a key.

    Cohn et al. 2016, "Incorporating Structural Alignment Biases into an Attentional Neural Translation Model",
    bilingual symmetry. The notes print tr(AᵀA'), whose shapes do not fit unless I = J: one transpose too many.

    >>> forward, backward = torch.tensor([[[0.9, 0.1]]]), torch.tensor([[[1.0], [1.0]]])   # one word and two
    >>> symmetry_bonus(forward, backward)
    tensor([1.])
    """
    if forward_weights.dim() != 3 or forward_weights.mT.shape != backward_weights.shape:
        raise ValueError(
            "symmetry: forward_weights must be [B, J, I] and backward_weights [B, I, J]; "
            f"got {list(forward_weights.shape)} and {list(backward_weights.shape)}"
        )
    statistics = statistics_dtype(forward_weights.dtype)
    return torch.einsum("bji,bij->b", forward_weights.to(statistics), backward_weights.to(statistics))

"""Linear aligner: energies as weights, for the linear start of memory networks (Sukhbaatar et al. 2015)."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.masks import Mask
from regard.ops.card import Card
from regard.ops.softmax import restrict

CARD = Card(
    name="linear",
    family="aligner",
    equation="a_s = e_s",
    paper="Sukhbaatar et al. 2015, sec. 4.2",
    cost="T·S",
    op="linear_weights",
    module="LinearAligner",
)


def linear_weights(energy: Tensor, mask: Mask | None = None) -> Tensor:
    r"""Return energies as weights without normalisation, and zero at masked keys.

    .. math:: a_{ts} = e_{ts} \;\text{ if } s \text{ may be attended, else } 0

    The weights are not a distribution: they may be negative and have any sum. An energy of -inf also masks a key, as in
    `masked_softmax`.

    Args:
        energy: [B, H, T, S].
        mask: what may be attended; None for everything.

    Returns:
        Weights [B, H, T, S], in float32 for half-precision energies.

    Sukhbaatar, Szlam, Weston & Fergus 2015, "End-To-End Memory Networks", section 4.2: training begins with the
    softmax of the *memories* removed, and puts it back when the validation loss stops falling. The softmax of the
    answer stays throughout.

    >>> energy = torch.tensor([2.0, -3.0, 9.0]).expand(1, 1, 1, 3)
    >>> linear_weights(energy, Mask.padding([2]))
    tensor([[[[ 2., -3.,  0.]]]])
    """
    energy = restrict(energy, mask)
    return energy.masked_fill(energy == -torch.inf, 0.0)

"""Parameter counts of the parts of a model, trainable and frozen."""

from __future__ import annotations

import torch
from torch import nn

from regard.explain.panel import ParametersPanel


def parts(model: nn.Module, *, title: str = "") -> ParametersPanel:
    """Return a panel with a part per module with direct parameters; shared parameters count at their first occurrence.

    >>> panel = parts(nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2).requires_grad_(False)))
    >>> panel.rows, panel.values.flatten().tolist(), panel.trainable
    (('0', '2'), [20.0, 12.0], (1.0, 0.0))
    >>> panel.title
    '32 parameters, 20 of them trained'
    """
    names, sizes, shares, shapes, counted = [], [], [], [], set()
    for name, module in model.named_modules():
        own = [(key, one) for key, one in module.named_parameters(recurse=False) if id(one) not in counted]
        size = sum(one.numel() for _, one in own)
        if not size:
            continue
        counted |= {id(one) for _, one in own}
        names.append(name or type(model).__name__)
        sizes.append(size)
        shares.append(sum(one.numel() for _, one in own if one.requires_grad) / size)
        shapes.append(", ".join(f"{key} {' × '.join(map(str, one.shape))}" for key, one in own))
    trained = round(sum(size * share for size, share in zip(sizes, shares, strict=True)))
    told = f"{sum(sizes):,} parameters, {'all' if trained == sum(sizes) else f'{trained:,}'} of them trained"
    return ParametersPanel(
        f"{title}: {told}" if title else told,
        torch.tensor(sizes, dtype=torch.float64, device="cpu").unsqueeze(1),
        rows=tuple(names),
        trainable=tuple(shares),
        shapes=tuple(shapes),
    )

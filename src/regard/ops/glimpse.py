"""Glimpses (Mnih et al. 2014): patches of a picture at several scales around one location."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.ops.card import Card
from regard.ops.softmax import statistics_dtype

CARD = Card(
    name="glimpse",
    family="shape of use",
    equation="ρ(x, l) = [resize_g(crop(x, l, g·2^k))]_k",
    paper="Mnih, Heess, Graves & Kavukcuoglu 2014, sec. 3.1",
    cost="C·g²·4^K, whatever the picture's size",
    op="glimpse",
    module="Glimpse",
)


def glimpse(
    pictures: Tensor, location: Tensor, *, size: int, scales: int = 1, factor: int = 2, differentiable: bool = False
) -> Tensor:
    r"""Return patches around a location, each scale wider and coarser than the one before: the view of a retina.

    .. math:: \rho(x, l)_k = \mathrm{pool}_{f^k}\bigl(\mathrm{crop}(x, l, g f^k)\bigr), \quad k = 0, \dots, K - 1

    The crop of scale k is a square of g f^k pixels a side around l. The mean over blocks of f^k x f^k pixels brings it
    to g x g. What lies outside the picture is zero. Only the pixels of the crops are read, so the cost does not depend
    on the size of the picture.

    Args:
        pictures: x [B, C, H, W], floats.
        location: l [B, 2], x to the right and y downward; (-1, -1) is the upper left corner of the picture and (1, 1)
            the lower right one, (0, 0) its centre. It may lie outside.
        size: g, pixels per side of every patch.
        scales: K.
        factor: f, how much wider each crop is than the one before.
        differentiable: interpolate between pixels, so that the result has a gradient in the location; else crops begin
            at whole pixels, and there is none, as in the paper.

    Returns:
        Patches [B, K, C, g, g], the finest first. A location that is NaN sees zeros.

    Raises:
        ValueError: shapes that do not fit.

    Mnih, Heess, Graves & Kavukcuoglu 2014, "Recurrent Models of Visual Attention", section 3.1; Ba, Mnih & Kavukcuoglu
    2015, "Multiple Object Recognition with Visual Attention". They do not say how patches are resized; here it is the
    mean over blocks.

    >>> picture = torch.arange(16.0).reshape(1, 1, 4, 4)
    >>> glimpse(picture, torch.zeros(1, 2), size=2, scales=2)[0, :, 0]
    tensor([[[ 5.0000,  6.0000],
             [ 9.0000, 10.0000]],
    <BLANKLINE>
            [[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    """
    _check(pictures, location, size, scales, factor)
    crop = _interpolated if differentiable else _cropped
    location = location.to(statistics_dtype(location.dtype))  # half precision cannot count the pixels of a side
    patches = []
    for scale in range(scales):
        block = factor**scale
        patch = crop(pictures, location, size * block)  # [B, C, g f^k, g f^k]
        patches.append(F.avg_pool2d(patch, block) if block > 1 else patch)
    return torch.stack(patches, dim=1)  # [B, K, C, g, g]


def _cropped(pictures: Tensor, location: Tensor, side: int) -> Tensor:
    """Whole pixels around a location, by indices: of an edge between two pixels, the upper or left one is the centre's.

    An index outside the picture is moved to its nearest pixel, and what is read there is then replaced by zero.
    """
    batch, channels, height, width = pictures.shape
    column, inside_columns = _indices(location[:, 0], width, side)
    row, inside_rows = _indices(location[:, 1], height, side)
    inside = (inside_rows.unsqueeze(2) & inside_columns.unsqueeze(1)).unsqueeze(1)  # [B, 1, side, side]
    if not height or not width:
        return pictures.new_zeros(batch, channels, side, side)
    example = torch.arange(batch, device=pictures.device)[:, None, None]
    patch = pictures.permute(0, 2, 3, 1)[example, row.unsqueeze(2), column.unsqueeze(1)]  # [B, side, side, C], a copy
    return patch.permute(0, 3, 1, 2).masked_fill(~inside, 0.0)


def _indices(centre: Tensor, count: int, side: int) -> tuple[Tensor, Tensor]:
    """The pixels of a crop along one axis, and which of them lie in the picture, [B, side] each."""
    begin = (_edge(centre, count, side) + 0.5).floor()
    # Far outside nothing can be seen, however far: no need for an integer that could overflow.
    begin = begin.nan_to_num(nan=-float(side), posinf=count, neginf=-side).clamp(-side, count).long()
    places = begin.unsqueeze(1) + torch.arange(side, device=centre.device)
    return places.clamp(0, max(count - 1, 0)), (places >= 0) & (places < count)


def _interpolated(pictures: Tensor, location: Tensor, side: int) -> Tensor:
    """The same between pixels, linear in both directions."""
    height, width = pictures.shape[2:]
    if not height or not width:
        return pictures.new_zeros(*pictures.shape[:2], side, side)
    steps = torch.arange(side, device=pictures.device, dtype=location.dtype) + 0.5
    along = _edge(location[:, 0], width, side).unsqueeze(1) + steps  # [B, side], in pixels from the left edge
    down = _edge(location[:, 1], height, side).unsqueeze(1) + steps
    x, y = 2.0 * along / width - 1.0, 2.0 * down / height - 1.0
    grid = torch.stack((x.unsqueeze(1).expand(-1, side, -1), y.unsqueeze(2).expand(-1, -1, side)), dim=3)
    grid = grid.nan_to_num(nan=-9.0).to(pictures.dtype)  # [B, side, side, 2]
    return F.grid_sample(pictures, grid, mode="bilinear", padding_mode="zeros", align_corners=False)


def _edge(centre: Tensor, count: int, side: int) -> Tensor:
    """Return the beginning of a crop along one axis, in pixels from the edge of the picture."""
    return (centre + 1.0) / 2.0 * count - side / 2.0


def _check(pictures: Tensor, location: Tensor, size: int, scales: int, factor: int) -> None:
    if pictures.dim() != 4 or not pictures.is_floating_point():
        raise ValueError(
            f"glimpse: pictures must be floats, [B, C, H, W]; got {pictures.dtype} of {list(pictures.shape)}"
        )
    if location.shape != (len(pictures), 2) or not location.is_floating_point():
        raise ValueError(
            f"glimpse: location must be floats, [B, 2] with B = {len(pictures)}; "
            f"got {location.dtype} of {list(location.shape)}"
        )
    for name, value, least in (("size", size, 1), ("scales", scales, 1), ("factor", factor, 1)):
        if value < least:
            raise ValueError(f"glimpse: {name} must be at least {least}; got {value}")

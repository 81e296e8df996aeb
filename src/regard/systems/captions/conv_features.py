"""Convolutional picture encoder, trained from scratch: a small residual network with padding-aware norms."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.masks import Mask
from regard.models.encoded import Encoded
from regard.nn.checks import positive, probability
from regard.nn.dropout import Dropout
from regard.ops.softmax import statistics_dtype

NORMS = ("group", "batch")
_GROUPS = 8
_MEAN, _DEVIATION = 0.45, 0.25  # approximate statistics of photographs with values in [0, 1]


class ConvFeatures(nn.Module):
    r"""Convolutional encoder from pictures to regions, the cells of a feature map in row-major order.

    A stem is followed by stages of residual blocks x + conv(relu(norm(conv(relu(norm(x)))))). The stem and all stages
    but the first halve height and width, rounding up; the width doubles with each stage. A linear map projects the
    regions to `output_dim`, and another adds their positions.

    Pictures of different sizes can share a batch, padded on the right and at the bottom. Padding does not change the
    result: it is zero before every convolution and excluded from the statistics of every norm.

    Args:
        channels: number of channels of the pictures, 3 or 1.
        width: channels of the stem and of the first stage.
        depth: residual blocks per stage.
        stages: number of stages; height and width are divided by 2 ** stages in total.
        scales: number of stages, counted from the last, whose feature maps provide regions; coarse ones come first.
        output_dim: width C of a region; None for that of the last stage.
        norm: `"group"` (8 groups, or fewer if 8 does not divide the width) or `"batch"`.
        positions: add a learned projection of the position and size of each region.
        dropout: dropout of the regions.

    Shapes: source [B, channels, H, W], uint8 or floats in [0, 1], lengths [B, 2] (height and width of each picture;
    None without padding) -> `Encoded`: states [B, S, C], zero at padding; summary [B, C], the mean of the regions of
    the last stage; a mask if there are lengths; no state.

    He et al. 2016, "Identity Mappings in Deep Residual Networks", figure 1b; Wu & He 2018, "Group Normalization".
    Regions as the annotations of Xu et al. 2015, section 3.1.1.

    >>> encoder = ConvFeatures(width=8, stages=3, output_dim=10)
    >>> encoded = encoder(torch.zeros(2, 3, 32, 40, dtype=torch.uint8), torch.tensor([[32, 40], [9, 16]]))
    >>> encoded.states.shape, encoded.mask.allowed((2, 1, 1, 20)).sum(3).flatten()      # 4 x 5 regions, and 2 x 2
    (torch.Size([2, 20, 10]), tensor([20,  4]))
    """

    def __init__(
        self,
        channels: int = 3,
        *,
        width: int = 32,
        depth: int = 2,
        stages: int = 4,
        scales: int = 1,
        output_dim: int | None = None,
        norm: str = "group",
        positions: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        positive("ConvFeatures", channels=channels, width=width, depth=depth, stages=stages, scales=scales)
        positive("ConvFeatures", output_dim=output_dim)
        probability("ConvFeatures", dropout=dropout)
        if norm not in NORMS:
            raise ValueError(f"ConvFeatures: norm must be {' or '.join(NORMS)}; got {norm!r}")
        if scales > stages:
            raise ValueError(f"ConvFeatures: scales must be at most stages; got {scales} and {stages}")
        widths = [width * 2**stage for stage in range(stages)]
        self.channels = channels
        self.scales = scales
        self.output_dim = widths[-1] if output_dim is None else output_dim
        self.stem = nn.Conv2d(channels, width, 3, stride=2, padding=1, bias=False)
        self.stages = nn.ModuleList(
            _Stage(widths[max(0, stage - 1)], widths[stage], depth, norm, halve=stage > 0) for stage in range(stages)
        )
        self.norms = nn.ModuleList(_Norm(widths[-1 - scale], norm) for scale in range(scales))
        self.output_maps = nn.ModuleList(nn.Linear(widths[-1 - scale], self.output_dim) for scale in range(scales))
        self.place_map = nn.Linear(4, self.output_dim, bias=False) if positions else None
        self.dropout = Dropout(dropout)

    def forward(self, source: Tensor, lengths: Tensor | None = None) -> Encoded:
        """Encode pictures [B, channels, H, W] of true sizes `lengths` [B, 2]; None without padding."""
        self._check(source, lengths)
        sizes = None if lengths is None else lengths.to(source.device)
        x = self._standardized(source)
        # Zero the padding after standardization, which would turn zeros into -mean / deviation.
        x = self.stem(x if sizes is None else x.masked_fill(~_inside(sizes, x.shape[2:]), 0.0))
        sizes = None if sizes is None else _halved(sizes)
        maps: list[tuple[Tensor, Tensor | None]] = []
        for stage in self.stages:
            x, sizes = stage(x, sizes)
            maps.append((x, sizes))
        parts = [self._regions(scale, *maps[-1 - scale]) for scale in range(self.scales)]
        states = self.dropout(torch.cat([part for part, _ in parts], dim=1))  # [B, S, C]
        coarse, there = parts[0]
        if there is None:
            return Encoded(states, coarse.mean(1), None)
        allowed = torch.cat([inside for _, inside in parts if inside is not None], dim=1)
        count = there.sum(1, keepdim=True).clamp(min=1)
        return Encoded(states, coarse.sum(1) / count, Mask.keys(allowed))

    def grids(self, height: int, width: int) -> list[tuple[int, int]]:
        """Return the numbers of rows and columns of the regions of each scale, in the order of the states.

        >>> ConvFeatures(stages=3, scales=2).grids(32, 41)
        [(4, 6), (8, 11)]
        """
        sizes = [(height, width)]
        for _ in self.stages:
            sizes.append((-(-sizes[-1][0] // 2), -(-sizes[-1][1] // 2)))
        return [sizes[-1 - scale] for scale in range(self.scales)]

    def _regions(self, scale: int, x: Tensor, sizes: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Return the regions [B, S, C] of one scale and their mask [B, S]."""
        # [B, C', H, W] -> [B, S, C] with S = H * W
        states = self.output_maps[scale](torch.relu(self.norms[scale](x, sizes)).flatten(2).transpose(1, 2))
        if self.place_map is not None:
            states = states + self.place_map(_places(x.shape[2:], sizes, states))
        if sizes is None:
            return states, None
        there = _inside(sizes, x.shape[2:]).flatten(1)  # [B, S]
        return states.masked_fill(~there.unsqueeze(2), 0.0), there

    def _standardized(self, source: Tensor) -> Tensor:
        dtype = self.stem.weight.dtype
        values = source.to(dtype) if source.is_floating_point() else source.to(dtype) / 255.0
        return (values - _MEAN) / _DEVIATION

    def _check(self, source: Tensor, lengths: Tensor | None) -> None:
        if source.dim() != 4 or source.shape[1] != self.channels or not source.shape[2] or not source.shape[3]:
            raise ValueError(
                f"ConvFeatures: source must be [B, {self.channels}, H, W] with pixels; got {list(source.shape)}"
            )
        if lengths is not None and lengths.shape != (len(source), 2):
            raise ValueError(
                f"ConvFeatures: lengths must be the height and width of each picture, [{len(source)}, 2]; "
                f"got {list(lengths.shape)}"
            )


class _Stage(nn.Module):
    """Stage of residual blocks of equal width; the first block may halve height and width."""

    def __init__(self, before: int, width: int, depth: int, norm: str, *, halve: bool) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            _Block(before if number == 0 else width, width, norm, halve=halve and number == 0)
            for number in range(depth)
        )

    def forward(self, x: Tensor, sizes: Tensor | None) -> tuple[Tensor, Tensor | None]:
        for block in self.blocks:
            x, sizes = block(x, sizes)
        return x, sizes


class _Block(nn.Module):
    """Residual block x + conv(relu(norm(conv(relu(norm(x)))))); a 1 x 1 convolution adapts x if shapes differ."""

    def __init__(self, before: int, width: int, norm: str, *, halve: bool) -> None:
        super().__init__()
        stride = 2 if halve else 1
        self.halve = halve
        self.first_norm, self.second_norm = _Norm(before, norm), _Norm(width, norm)
        self.first = nn.Conv2d(before, width, 3, stride=stride, padding=1, bias=False)
        self.second = nn.Conv2d(width, width, 3, padding=1, bias=False)
        same = before == width and not halve
        self.shortcut = None if same else nn.Conv2d(before, width, 1, stride=stride, bias=False)

    def forward(self, x: Tensor, sizes: Tensor | None) -> tuple[Tensor, Tensor | None]:
        inner = torch.relu(self.first_norm(x, sizes))
        direct = x if self.shortcut is None else self.shortcut(inner)
        sizes = _halved(sizes) if self.halve and sizes is not None else sizes
        inner = self.second(torch.relu(self.second_norm(self.first(inner), sizes)))
        return direct + inner, sizes


class _Norm(nn.Module):
    """Group or batch norm with an affine map that ignores padding and returns zero there."""

    running_mean: Tensor
    running_variance: Tensor

    def __init__(self, width: int, kind: str, *, momentum: float = 0.1, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.groups = next(count for count in range(_GROUPS, 0, -1) if width % count == 0)
        self.batch = kind == "batch"
        self.momentum = momentum
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        if self.batch:
            self.register_buffer("running_mean", torch.zeros(width))
            self.register_buffer("running_variance", torch.ones(width))

    def forward(self, x: Tensor, sizes: Tensor | None) -> Tensor:
        """Normalize x [B, C, H, W] of true `sizes` [B, 2]; None without padding."""
        if sizes is None:
            if not self.batch:
                # Not `F.group_norm`, which raises an error for a single picture with a 1 x 1 feature map.
                return torch.group_norm(x, self.groups, self.weight, self.bias, self.epsilon)
            running = (self.running_mean, self.running_variance)
            return F.batch_norm(x, *running, self.weight, self.bias, self.training, self.momentum, self.epsilon)
        inside = _inside(sizes, x.shape[2:])  # [B, 1, H, W]
        dtype, x = x.dtype, x.to(statistics_dtype(x.dtype))  # sums over a picture overflow in half precision
        if self.batch and not self.training:
            mean, variance = self.running_mean[:, None, None], self.running_variance[:, None, None]
        else:
            mean, variance = self._over_batch(x, inside) if self.batch else self._over_groups(x, inside)
        normal = (x - mean) * (variance + self.epsilon).rsqrt()
        return (normal * self.weight[:, None, None] + self.bias[:, None, None]).masked_fill(~inside, 0.0).to(dtype)

    def _over_groups(self, x: Tensor, inside: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and variance per picture and group of channels, expanded to [B, C, 1, 1]."""
        grouped, there = x.unflatten(1, (self.groups, -1)), inside.unsqueeze(1)  # [B, G, C / G, H, W]
        count = (there.sum((2, 3, 4), keepdim=True) * grouped.shape[2]).clamp(min=1)
        mean = grouped.masked_fill(~there, 0.0).sum((2, 3, 4), keepdim=True) / count
        variance = (grouped - mean).masked_fill(~there, 0.0).square().sum((2, 3, 4), keepdim=True) / count
        size = grouped.shape[2]  # C / G; [B, G, 1, 1, 1] -> [B, C, 1, 1] below
        return mean.repeat(1, 1, size, 1, 1).flatten(1, 2), variance.repeat(1, 1, size, 1, 1).flatten(1, 2)

    def _over_batch(self, x: Tensor, inside: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and variance per channel, [C, 1, 1], and update the running statistics."""
        count = inside.sum().clamp(min=1)
        mean = x.masked_fill(~inside, 0.0).sum((0, 2, 3)) / count
        variance = (x - mean[:, None, None]).masked_fill(~inside, 0.0).square().sum((0, 2, 3)) / count
        with torch.no_grad():
            self.running_mean.lerp_(mean, self.momentum)
            # The running variance is the unbiased estimate, as in `nn.BatchNorm2d`.
            self.running_variance.lerp_(variance * count / (count - 1).clamp(min=1), self.momentum)
        return mean[:, None, None], variance[:, None, None]


def _halved(sizes: Tensor) -> Tensor:
    """Return heights and widths after a convolution with stride 2."""
    return (sizes + 1) // 2


def _inside(sizes: Tensor, shape: torch.Size) -> Tensor:
    """Return the mask [B, 1, H, W]: True inside the picture, False at padding."""
    rows, columns = (torch.arange(size, device=sizes.device) for size in shape)
    down, along = rows < sizes[:, :1], columns < sizes[:, 1:]  # [B, H], [B, W]
    return (down.unsqueeze(2) & along.unsqueeze(1)).unsqueeze(1)


def _places(shape: torch.Size, sizes: Tensor | None, like: Tensor) -> Tensor:
    """Return the centre (x, y) of each region in [-1, 1] and its relative width and height, [B or 1, S, 4]."""
    rows, columns = (torch.arange(size, device=like.device, dtype=like.dtype) for size in shape)
    if sizes is None:
        height, width = like.new_full((1, 1), shape[0]), like.new_full((1, 1), shape[1])
    else:
        height, width = sizes.clamp(min=1).to(like.dtype).split(1, dim=1)  # [B, 1] each
    y, x = (2.0 * rows + 1.0) / height - 1.0, (2.0 * columns + 1.0) / width - 1.0  # [B, H], [B, W]
    down, along = y.unsqueeze(2).expand(-1, -1, len(columns)), x.unsqueeze(1).expand(-1, len(rows), -1)
    size = torch.cat((1.0 / width, 1.0 / height), 1)[:, None, None].expand(-1, len(rows), len(columns), -1)
    return torch.cat((torch.stack((along, down), 3), size), 3).flatten(1, 2)  # [B or 1, H, W, 4] -> [B or 1, S, 4]

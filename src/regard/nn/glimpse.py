"""Recurrent visual attention: glimpse network, location policy, baseline and loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.nn.checks import check_width, positive
from regard.ops.glimpse import glimpse
from regard.ops.hard import Sample


class Glimpse(nn.Module):
    r"""Glimpse network: encodes the patches at a location, and the location, in one vector.

    .. math:: g = \mathrm{relu}\bigl(W_2 \, \mathrm{relu}(W_1 \rho(x, l)) + V_2 \, \mathrm{relu}(V_1 l)\bigr)

    Args:
        channels: number of channels of the images.
        size: side of a patch in pixels.
        scales: number of patches, each covering twice the width of the previous one.
        hidden_dim: width of W_1 ρ and of V_1 l; 128 in the paper.
        output_dim: C, width of g; 256 in the paper.
        differentiable: see `regard.ops.glimpse`.

    Parameters: `what_map` W_1, `what_out` W_2, `where_map` V_1, `where_out` V_2, each with a bias.
    Shapes: pictures [B, channels, H, W], location [B, 2] -> [B, C].

    Mnih et al. 2014, section 4, "Glimpse network"; see `regard.ops.glimpse`.

    >>> Glimpse(1, size=8, scales=3)(torch.zeros(2, 1, 60, 60), torch.zeros(2, 2)).shape
    torch.Size([2, 256])
    """

    def __init__(
        self,
        channels: int,
        *,
        size: int = 8,
        scales: int = 1,
        hidden_dim: int = 128,
        output_dim: int = 256,
        differentiable: bool = False,
    ) -> None:
        super().__init__()
        positive("Glimpse", channels=channels, size=size, scales=scales, hidden_dim=hidden_dim, output_dim=output_dim)
        self.channels = channels
        self.size = size
        self.scales = scales
        self.output_dim = output_dim
        self.differentiable = differentiable
        self.what_map = nn.Linear(scales * channels * size * size, hidden_dim)
        self.what_out = nn.Linear(hidden_dim, output_dim)
        self.where_map = nn.Linear(2, hidden_dim)
        self.where_out = nn.Linear(hidden_dim, output_dim)

    def forward(self, pictures: Tensor, location: Tensor) -> Tensor:
        """Encode the glimpse of images [B, channels, H, W] at `location` [B, 2] in [-1, 1]² (x, y)."""
        if pictures.dim() != 4 or pictures.shape[1] != self.channels:
            raise ValueError(f"Glimpse: pictures must be [B, {self.channels}, H, W]; got {list(pictures.shape)}")
        patches = glimpse(
            pictures, location, size=self.size, scales=self.scales, differentiable=self.differentiable
        )  # [B, K, C, g, g]
        what = self.what_out(torch.relu(self.what_map(patches.flatten(1))))
        where = self.where_out(torch.relu(self.where_map(location.to(what.dtype))))
        return torch.relu(what + where)

    def extra_repr(self) -> str:
        return f"size={self.size}, scales={self.scales}, differentiable={self.differentiable}"


class LocationSample(NamedTuple):
    """The next location that a policy chose.

    Attributes:
        location: [B, 2] in [-1, 1]², without gradient.
        log_prob: [B], log-density of the sample, with gradient; zero if the location is the mean.
        entropy: [B], of the distribution, with gradient if its deviation is learned.
    """

    location: Tensor
    log_prob: Tensor
    entropy: Tensor

    @staticmethod
    def join(steps: Sequence[LocationSample]) -> Sample:
        """Join consecutive locations to a `Sample` for `regard.ops.reinforce_loss`; its keys are -1."""
        # T steps of [B] -> [B, 1, T] each
        log_prob, entropy = (torch.stack(parts, 1).unsqueeze(1) for parts in list(zip(*steps, strict=True))[1:])
        return Sample(torch.full_like(log_prob, -1, dtype=torch.long), log_prob, entropy)


class LocationPolicy(nn.Module):
    r"""Gaussian policy of the next location, with a mean computed from the state.

    .. math:: \mu = \tanh(W h + b), \quad \tilde l \sim \mathcal{N}(\mu, \sigma^2 I), \quad
              l = \mathrm{clip}(\tilde l, -1, 1), \\
              \log p(\tilde l) = \sum_{i} \log \mathcal{N}(\tilde l_i; \mu_i, \sigma)

    The log-density is that of the sample before it is clipped to the image, so REINFORCE is unbiased for the policy
    that samples and clips. In evaluation the location is μ.

    Args:
        input_dim: D, width of the state.
        deviation: σ, or its initial value if it is learned. Training is more sensitive to it than to other settings.
        learned: learn log σ, shared by both coordinates.
        detach: stop the policy's gradient at the state, as common implementations do; False propagates it.

    Parameters: `mean_map` W, b; `log_deviation` if it is learned.
    Shapes: state [B, D] -> `LocationSample`.

    Mnih et al. 2014, section 4, "Location network"; Williams 1992.

    >>> located = LocationPolicy(5)(torch.zeros(3, 5))
    >>> located.location.shape, located.log_prob.shape
    (torch.Size([3, 2]), torch.Size([3]))
    """

    def __init__(self, input_dim: int, *, deviation: float = 0.1, learned: bool = False, detach: bool = True) -> None:
        super().__init__()
        positive("LocationPolicy", input_dim=input_dim)
        if not 0.0 < deviation < math.inf:
            raise ValueError(f"LocationPolicy: deviation must be above 0; got {deviation}")
        self.detach = detach
        self.mean_map = nn.Linear(input_dim, 2)
        start = torch.tensor(math.log(deviation))
        self.log_deviation: Tensor
        if learned:
            self.log_deviation = nn.Parameter(start)
        else:
            self.register_buffer("log_deviation", start, persistent=False)

    def forward(self, state: Tensor, generator: torch.Generator | None = None) -> LocationSample:
        """Sample a location for each state [B, D]; `generator` None is PyTorch's default generator."""
        check_width(self, state, self.mean_map.in_features, "states")
        mean = torch.tanh(self.mean_map(state.detach() if self.detach else state))  # [B, 2]
        spread = self.log_deviation.to(mean.dtype)
        entropy = (1.0 + math.log(2.0 * math.pi) + 2.0 * spread).expand(len(mean))  # of two coordinates
        if not self.training:
            return LocationSample(mean.detach(), mean.new_zeros(len(mean)), entropy)
        noise = torch.empty_like(mean).normal_(generator=generator)
        drawn = (mean + spread.exp() * noise).detach()
        return LocationSample(drawn.clamp(-1.0, 1.0), self.log_prob(drawn, mean), entropy)

    def log_prob(self, drawn: Tensor, mean: Tensor) -> Tensor:
        """Return the log-density [B] of samples [B, 2] before clipping."""
        spread = self.log_deviation.to(mean.dtype)
        distance = (drawn - mean) * (-spread).exp()
        return (-0.5 * distance.square() - spread - 0.5 * math.log(2.0 * math.pi)).sum(1)

    def extra_repr(self) -> str:
        kind = "learned" if isinstance(self.log_deviation, nn.Parameter) else "fixed"
        return f"{kind} deviation, detach={self.detach}"


class StateBaseline(nn.Module):
    r"""Baseline per step: expected reward predicted from the state, b = w h + c, without gradient to the state.

    Args:
        input_dim: D, width of the state.

    Shapes: state [..., D] -> [...].

    Mnih et al. 2014, section 3.2, the paragraph on variance.

    >>> StateBaseline(5)(torch.zeros(2, 7, 5)).shape
    torch.Size([2, 7])
    """

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.map = nn.Linear(input_dim, 1)

    def forward(self, state: Tensor) -> Tensor:
        """Predict the rewards [...] of states [..., D]."""
        check_width(self, state, self.map.in_features, "states")
        expected: Tensor = self.map(state.detach())
        return expected.squeeze(-1)


def location_loss(log_prob: Tensor, reward: Tensor, baseline: Tensor, *, reward_weight: float = 1.0) -> Tensor:
    r"""Return the loss of a location policy and its baseline: REINFORCE plus squared error.

    .. math:: \frac{1}{B} \sum_{b,t} \Bigl[-\lambda \, (R_b - b_{bt})_{\text{const}} \log p(\tilde l_{bt})
              + \tfrac{1}{T} (R_b - b_{bt})^2 \Bigr]

    Args:
        log_prob: [B, T], log-density of each sampled location.
        reward: R [B], 1 for a correct answer and 0 otherwise; treated as a constant.
        baseline: b [B, T], from the state before each sample. It must not depend on that sample.
        reward_weight: λ.

    Returns:
        A scalar.

    For one baseline per sequence or a moving average, see `regard.nn.Reinforce`. Mnih et al. 2014, section 3.2.

    >>> location_loss(torch.tensor([[-2.0]]), torch.tensor([1.0]), torch.tensor([[0.5]]))        # 0.5 · 2 + 0.25
    tensor(1.2500)
    """
    if log_prob.dim() != 2 or log_prob.shape != baseline.shape or reward.shape != log_prob.shape[:1]:
        raise ValueError(
            "location_loss: log_prob and baseline must be [B, T] and reward [B]; "
            f"got {list(log_prob.shape)}, {list(baseline.shape)} and {list(reward.shape)}"
        )
    target = reward.detach().to(baseline.dtype).unsqueeze(1).expand_as(baseline)
    advantage = (target - baseline).detach()
    return -reward_weight * (advantage * log_prob).sum(1).mean() + F.mse_loss(baseline, target)

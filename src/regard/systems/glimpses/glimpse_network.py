"""Recurrent attention over pictures: small glimpses at locations that a policy chooses (Mnih 2014, Ba 2015)."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.arguments import Count, Factor, NotInRecipe, Scale, Size, checked
from regard.models.model_output import ModelOutput
from regard.nn.glimpse import Glimpse, LocationPolicy, LocationSample, StateBaseline
from regard.tasks.input_output import mean_log_probs

_SEED = 20140624  # seed of the paths that a prediction averages


class Draws(NamedTuple):
    """Random numbers of one path in evaluation, [steps, 2] each, the same for every picture.

    Attributes:
        uniform: uniform in [-1, 1).
        normal: standard normal.
    """

    uniform: Tensor
    normal: Tensor


class GlimpseOutput(NamedTuple):
    """Outputs along one path of glimpses per picture.

    Attributes:
        logits: [B, objects, V].
        locations: [B, steps, 2].
        log_prob: log-probability [B, drawn] of each location drawn by the policy.
        baseline: expected reward [B, drawn].
    """

    logits: Tensor
    locations: Tensor
    log_prob: Tensor
    baseline: Tensor


class GlimpseNetwork(nn.Module):
    r"""Recurrent network that takes a sequence of glimpses of a picture and predicts its labels.

    .. math:: g_n = \mathrm{glimpse}(x, l_n), \quad h_n = \mathrm{core}(g_n, h_{n-1}), \quad
              l_{n+1} \sim \mathcal{N}(\tanh(W h_n), \sigma^2 I), \quad p(y_s) = \mathrm{softmax}(V h_{s N})

    The network reads only the pixels of the glimpses, so its cost does not depend on the size of the picture, except
    for the downsampling of a context network. In evaluation each location is the mean of the policy.

    Args:
        channels: channels of a picture.
        num_classes: number of labels.
        objects: number of labels per picture, predicted one after another; with several, one more class marks the end.
        size: pixels per side of the finest patch of a glimpse.
        scales: number of patches, each twice as wide as the previous one, all resized to the same number of pixels.
        glimpses: number N of glimpses before each label.
        glimpse_dim: width of the two hidden layers of the glimpse network.
        hidden_dim: width of a glimpse and of the recurrent layers.
        cell: `"rnn"`, relu(W h + V g + b), or `"lstm"`.
        initial: initialisation of W in an `rnn`: `"uniform"`, or `"identity"` (Le, Jaitly & Hinton 2015).
        location_layer: compute locations with a second recurrent layer above the first; labels still come from the
            first (Ba et al. 2015).
        context: side of a downsampled copy of the picture, from which a small convolutional network computes the first
            state of the upper layer and the first location (Ba et al. 2015); null for none.
        first: first location in training without a context network: `"random"`, uniform, or the `"centre"`. In
            evaluation it is the centre.
        policy: `"learned"`, or `"random"` for locations that are always uniform, as a control.
        deviation: σ of the policy, or its initial value; training is more sensitive to it than to any other setting.
        learned_deviation: learn σ.
        reward_weight: factor of the REINFORCE term in the loss.
        samples: number of paths per picture in training; their gradients are averaged.
        paths: number of sampled paths per picture in evaluation; their probabilities are averaged. 0 for the single
            path of means.

    Shapes: pictures [B, channels, H, W] -> logits [B, objects, V]; V is num_classes, plus one with several objects. In
    `extras`: `locations` [B, steps, 2]; in training also `log_prob` and `baseline` [B, drawn] of the last drawn steps.

    Mnih, Heess, Graves & Kavukcuoglu 2014, "Recurrent Models of Visual Attention"; Ba, Mnih & Kavukcuoglu 2015,
    "Multiple Object Recognition with Visual Attention". The glimpse network is that of 2014 for both: that of 2015
    multiplies patches and location.

    >>> model = GlimpseNetwork(1, 10, scales=3, glimpses=4).eval()
    >>> predicted = model(torch.zeros(2, 1, 60, 60))
    >>> predicted.logits.shape, predicted.extras["locations"].shape
    (torch.Size([2, 1, 10]), torch.Size([2, 4, 2]))
    """

    @checked()
    def __init__(
        self,
        channels: int,
        num_classes: int,
        *,
        objects: Annotated[Size, NotInRecipe()] = 1,
        size: Size = 8,
        scales: Size = 1,
        glimpses: Size = 6,
        glimpse_dim: Size = 128,
        hidden_dim: Size = 256,
        cell: Literal["rnn", "lstm"] = "rnn",
        initial: Literal["uniform", "identity"] = "uniform",
        location_layer: bool = False,
        context: Size | None = None,
        first: Literal["random", "centre"] = "random",
        policy: Literal["learned", "random"] = "learned",
        deviation: Scale = 0.1,
        learned_deviation: bool = False,
        reward_weight: Factor = 1.0,
        samples: Size = 1,
        paths: Count = 0,
    ) -> None:
        super().__init__()
        self.objects, self.glimpses, self.hidden_dim = objects, glimpses, hidden_dim
        self.first, self.reward_weight, self.samples, self.paths = first, reward_weight, samples, paths
        self.retina = Glimpse(channels, size=size, scales=scales, hidden_dim=glimpse_dim, output_dim=hidden_dim)
        self.core = Core(hidden_dim, hidden_dim, cell, initial)
        self.location_core = Core(hidden_dim, hidden_dim, cell, initial) if location_layer else None
        self.context = None if context is None else Context(channels, context, hidden_dim)
        if policy == "random" and (location_layer or context is not None):
            raise ValueError("GlimpseNetwork: location_layer and context are for policy 'learned'; got 'random'")
        # A single recurrent layer is trained by the labels alone, so the policy's input is detached. An upper layer
        # gets its gradients only through the policy.
        self.policy = (
            LocationPolicy(hidden_dim, deviation=deviation, learned=learned_deviation, detach=not location_layer)
            if policy == "learned"
            else None
        )
        self.baseline = StateBaseline(hidden_dim)
        self.output_map = nn.Linear(hidden_dim, num_classes + (objects > 1))

    def forward(self, pictures: Tensor) -> ModelOutput:
        """Pictures [B, channels, H, W] -> logits [B, objects, V]."""
        if self.training:
            looked = self._look(pictures, None)
            drawn = {"log_prob": looked.log_prob, "baseline": looked.baseline}
            return ModelOutput(looked.logits, extras={"locations": looked.locations, **drawn})
        each = [self._look(pictures, draws) for draws in self._draws(pictures)]
        logits = each[0].logits if len(each) == 1 else mean_log_probs([one.logits for one in each])
        return ModelOutput(logits, extras={"locations": each[0].locations})

    def _draws(self, pictures: Tensor) -> list[Draws | None]:
        """Return the random numbers of each evaluation path, independent of the batch; None for the path of means."""
        if not self.paths and self.policy is not None:
            return [None]
        generator = torch.Generator().manual_seed(_SEED)
        shape = (max(self.paths, 1), self.objects * self.glimpses, 2)
        # Drawn on the CPU, so that predictions are the same on every device.
        uniform = 2.0 * torch.rand(shape, generator=generator, device="cpu") - 1.0  # [paths, steps, 2]
        normal = torch.randn(shape, generator=generator, device="cpu")
        return [Draws(one.to(pictures), two.to(pictures)) for one, two in zip(uniform, normal, strict=True)]

    def _look(self, pictures: Tensor, draws: Draws | None) -> GlimpseOutput:
        """Run all glimpses of a path."""
        low = self.core.start(pictures)
        high = self.location_core.start(pictures) if self.location_core is not None else low
        logits, locations = list[Tensor](), list[Tensor]()
        chosen, expected = list[LocationSample](), list[Tensor]()
        if self.context is not None:
            high = high._replace(hidden=self.context(pictures))
            low = low if self.location_core is not None else high
        for number in range(self.objects * self.glimpses):
            if self.policy is not None and (number or self.context is not None):
                chosen.append(self._moved(self.policy(high.hidden), draws, number))
                expected.append(self.baseline(high.hidden))
                location = chosen[-1].location
            else:
                location = self._uniform(pictures, draws, number)
            locations.append(location)
            low = self.core(self.retina(pictures, location), low)
            high = low if self.location_core is None else self.location_core(low.hidden, high)
            if (number + 1) % self.glimpses == 0:
                logits.append(self.output_map(low.hidden))
        none = pictures.new_zeros(len(pictures), 0)
        return GlimpseOutput(
            torch.stack(logits, 1),  # [B, objects, V]
            torch.stack(locations, 1),  # [B, steps, 2]
            torch.stack([one.log_prob for one in chosen], 1) if chosen else none,  # [B, drawn]
            torch.stack(expected, 1) if chosen else none,  # [B, drawn]
        )

    def _moved(self, located: LocationSample, draws: Draws | None, number: int) -> LocationSample:
        """Return the policy's location; on a sampled path in evaluation, add its noise."""
        if draws is None or self.policy is None:
            return located
        # In evaluation the policy returns its mean; the noise is shared by all pictures.
        moved = located.location + self.policy.log_deviation.exp() * draws.normal[number]  # [B, 2]
        return located._replace(location=moved.detach().clamp(-1.0, 1.0))

    def _uniform(self, pictures: Tensor, draws: Draws | None, number: int) -> Tensor:
        """Return the locations [B, 2] of steps without a policy."""
        centre = pictures.new_zeros(len(pictures), 2)
        if self.policy is not None and self.first == "centre":
            return centre
        if self.training:
            return centre.uniform_(-1.0, 1.0)
        return centre if draws is None else centre + draws.uniform[number]


class CoreState(NamedTuple):
    """State of a recurrent layer: hidden [B, C], and the LSTM cell [B, C], zero for other cells."""

    hidden: Tensor
    memory: Tensor


class Core(nn.Module):
    """A recurrent layer, one step at a time.

    Args:
        input_dim: width of the input.
        hidden_dim: width C of the state.
        cell: `"rnn"`, with a relu, or `"lstm"`.
        initial: initialisation of the recurrent weights of an `rnn`.
    """

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        cell: Literal["rnn", "lstm"],
        initial: Literal["uniform", "identity"] = "uniform",
    ) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.cell: nn.RNNCell | nn.LSTMCell = (
            nn.LSTMCell(input_dim, hidden_dim)
            if cell == "lstm"
            else nn.RNNCell(input_dim, hidden_dim, nonlinearity="relu")
        )
        if initial == "identity" and isinstance(self.cell, nn.RNNCell):
            # With the identity the initial network sums all glimpses; random weights forget the first ones.
            with torch.no_grad():
                self.cell.weight_hh.copy_(torch.eye(hidden_dim))

    def start(self, pictures: Tensor) -> CoreState:
        """Return the state before the first step, zero for each of B pictures."""
        zero = pictures.new_zeros(len(pictures), self.hidden_dim)
        return CoreState(zero, zero)

    def forward(self, given: Tensor, state: CoreState) -> CoreState:
        """Run one step on inputs [B, input_dim]."""
        if isinstance(self.cell, nn.LSTMCell):
            return CoreState(*self.cell(given, (state.hidden, state.memory)))
        return CoreState(self.cell(given, state.hidden), state.memory)


class Context(nn.Module):
    """Context network: computes the first state of the location layer from a downsampled copy of the picture.

    Args:
        channels: channels of a picture.
        size: pixels per side of the copy, by average pooling.
        hidden_dim: width C of the state.

    Shapes: pictures [B, channels, H, W] -> [B, C]. Ba et al. 2015, section 3, "Context network", with two layers of
    filters instead of three.
    """

    def __init__(self, channels: int, size: int, hidden_dim: int) -> None:
        super().__init__()
        self.size = size
        self.filters = nn.Sequential(
            nn.Conv2d(channels, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU()
        )
        self.state_map = nn.Linear(16 * size * size, hidden_dim)

    def forward(self, pictures: Tensor) -> Tensor:
        """Pictures [B, channels, H, W] -> states [B, C]."""
        found = self.filters(F.adaptive_avg_pool2d(pictures, self.size))
        return torch.relu(self.state_map(found.flatten(1)))

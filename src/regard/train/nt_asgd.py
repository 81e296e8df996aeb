"""NT-ASGD: gradient descent with weight averaging that a non-monotone criterion triggers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.optim import SGD


class NTASGD(SGD):
    r"""Non-monotonically triggered averaged SGD.

    SGD until a validation is worse than the best one, not counting the n validations before it. From then on, the
    result is the mean of the weights after each update, while descent continues from the last weights.

    .. math:: v_t > \min_{l \le t - n - 1} v_l \;\Rightarrow\; T = k, \qquad
              \bar w = \frac{1}{K - T} \sum_{i=T+1}^{K} w_i

    History, count and mean are part of the optimizer's state, so that a resumed run equals an uninterrupted one.

    Args:
        parameters: parameters to optimise.
        lr: learning rate.
        interval: non-monotone interval n.
        momentum: momentum of SGD.
        weight_decay: added to the gradient.

    Merity, Keskar & Socher 2018, algorithm 1; averaging: Polyak & Juditsky 1992.

    >>> weight = nn.Parameter(torch.zeros(1))
    >>> optimizer = NTASGD([weight], lr=1.0, interval=1)
    >>> for loss in (3.0, 2.0, 4.0):                     # worse than 3.0, the best without the last
    ...     optimizer.observe(loss, higher_is_better=False)
    >>> for gradient in (-1.0, -2.0):                    # weights 1 and 3
    ...     weight.grad = torch.tensor([gradient])
    ...     _ = optimizer.step()
    >>> with optimizer.averaged():
    ...     weight.item()
    2.0
    >>> weight.item()
    3.0
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        lr: float,
        *,
        interval: int = 5,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(parameters, lr=lr, momentum=momentum, weight_decay=weight_decay)
        for group in self.param_groups:
            group |= {"interval": interval, "history": [], "triggered": False, "averaged_updates": 0}

    @property
    def is_averaging(self) -> bool:
        """True after averaging was triggered."""
        return bool(self.param_groups[0]["triggered"])

    def observe(self, value: float, *, higher_is_better: bool) -> None:
        """Record a validation result, and trigger averaging if it satisfies the criterion."""
        cost = -value if higher_is_better else value  # lower is better, as in the algorithm
        for group in self.param_groups:
            history, interval = group["history"], group["interval"]
            group["triggered"] = group["triggered"] or (len(history) > interval and cost > min(history[:-interval]))
            group["history"] = [*history, cost]

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Make an SGD step, and update the running mean of the weights."""
        super().step(closure)
        for group in self.param_groups:
            if not group["triggered"]:
                continue
            group["averaged_updates"] += 1
            for parameter in group["params"]:
                mean = self.state[parameter].setdefault("average", torch.zeros_like(parameter))
                # Running mean: m + (w - m) / k, stable in float32, unlike a sum over many updates.
                mean.lerp_(parameter.detach(), 1 / group["averaged_updates"])

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Replace the parameters by their means inside this context; no effect before the first averaged update."""
        means: list[tuple[nn.Parameter, Tensor]] = [
            (parameter, self.state[parameter]["average"])
            for group in self.param_groups
            for parameter in group["params"]
            if "average" in self.state[parameter]
        ]
        last = [parameter.detach().clone() for parameter, _ in means]
        try:
            _copy(means)
            yield
        finally:
            _copy([(parameter, weights) for (parameter, _), weights in zip(means, last, strict=True)])


@torch.no_grad()
def _copy(pairs: Iterable[tuple[nn.Parameter, Tensor]]) -> None:
    """Copy weights into parameters in place, because CUDA graphs refer to the parameters' memory."""
    for parameter, weights in pairs:
        parameter.copy_(weights)

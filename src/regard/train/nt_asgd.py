"""NT-ASGD: gradient descent whose weights are averaged from a non-monotone trigger on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.optim import SGD


class NTASGD(SGD):
    r"""Non-monotonically triggered averaged SGD.

    Plain gradient descent until a validation is worse than the best of all but the last n before it; from then on the
    result is the mean of the weights after each update, while descent itself goes on from the last weights.

    .. math:: v_t > \min_{l \le t - n - 1} v_l \;\Rightarrow\; T = k, \qquad
              \bar w = \frac{1}{K - T} \sum_{i=T+1}^{K} w_i

    History, count and mean are part of the optimizer's state, so that a resumed run continues as if it had not stopped.

    Args:
        parameters: to learn.
        lr: learning rate.
        interval: n.
        momentum: of the descent.
        weight_decay: added to the gradient.

    Merity, Keskar & Socher 2018, algorithm 1; averaging: Polyak & Juditsky 1992.

    >>> weight = nn.Parameter(torch.zeros(1))
    >>> optimizer = NTASGD([weight], lr=1.0, interval=1)
    >>> for loss in (3.0, 2.0, 4.0):                     # worse than 3.0, the best but for the last
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
        """True after the trigger."""
        return bool(self.param_groups[0]["triggered"])

    def observe(self, value: float, *, higher_is_better: bool) -> None:
        """Take note of a validation result, and trigger the averaging."""
        cost = -value if higher_is_better else value
        for group in self.param_groups:
            history, interval = group["history"], group["interval"]
            group["triggered"] = group["triggered"] or (len(history) > interval and cost > min(history[:-interval]))
            group["history"] = [*history, cost]

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Descend, and add the new weights to their mean."""
        super().step(closure)
        for group in self.param_groups:
            if not group["triggered"]:
                continue
            group["averaged_updates"] += 1
            for parameter in group["params"]:
                mean = self.state[parameter].setdefault("average", torch.zeros_like(parameter))
                mean.lerp_(parameter.detach(), 1 / group["averaged_updates"])

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Inside, the parameters have their means; before the first averaged update they stay as they are."""
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
    """Write weights into parameters, which stay the tensors that they are: CUDA graphs hold on to them."""
    for parameter, weights in pairs:
        parameter.copy_(weights)

"""Dynamic evaluation: a language model is updated on the text while it is evaluated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

import torch
from torch import Tensor, nn

from regard.data.batching.batch import Batch
from regard.data.batching.feed import BatchPosition, Feed
from regard.data.batching.stream import Stream
from regard.evaluate.metric_result import MetricResult
from regard.tasks.task import Task


@dataclass(frozen=True)
class Dynamics:
    r"""Update rule of dynamic evaluation: a gradient step per window, with decay towards the trained weights θ₀.

    .. math:: \text{sgd: } & \theta \leftarrow \theta - \eta g + \lambda (\theta_0 - \theta) \\
              \text{rms: } & \theta \leftarrow \theta - \eta \frac{g}{s + \epsilon}
                             + \min\Bigl(1, \lambda \frac{s}{\bar s}\Bigr) \odot (\theta_0 - \theta), \quad
              s = \sqrt{\tfrac{1}{N} \sum_n g_n^2}

    with the gradient g of the mean loss of a window, and s over N windows of the training text; s̄ is its mean over all
    parameters.

    Attributes:
        rule: scaling of the gradients.
        rate: η.
        decay: λ.
        window: number of tokens per window.
        epsilon: ε.
        statistics: number of training tokens over which s is computed.

    Krause, Kahembwe, Murray & Renals 2018, equations 5 to 8.
    """

    rule: Literal["rms", "sgd"] = "rms"
    rate: float = 1e-3
    decay: float = 1e-3
    window: int = 20
    epsilon: float = 1e-3
    statistics: int = 20_000

    def described(self, score: MetricResult) -> MetricResult:
        """Return a score whose name and signature describe the dynamic evaluation."""
        how = f"dynamic:{self.rule}|rate:{self.rate:g}|decay:{self.decay:g}|window:{self.window}"
        return replace(score, name=f"{score.name}, dynamic", signature=f"{score.signature}|{how}")

    @torch.no_grad()
    def update(self, parameter: nn.Parameter, trained: Tensor, scale: Tensor | None, mean: float) -> None:
        """Update a parameter in place from its gradient.

        Args:
            parameter: θ, with its gradient.
            trained: θ₀.
            scale: s; None for `sgd`.
            mean: s̄.
        """
        assert parameter.grad is not None
        back = trained - parameter
        if scale is None:
            parameter.sub_(self.rate * parameter.grad).add_(back, alpha=self.decay)
            return
        # Parameters with large gradients decay faster; more than the whole difference would overshoot.
        share = (scale * (self.decay / mean)).clamp(max=1.0) if mean else 0.0
        parameter.sub_(self.rate * parameter.grad / (scale + self.epsilon)).add_(back * share)


def dynamic_likelihood(
    task: Task, model: nn.Module, feed: Feed, dynamics: Dynamics, training: Iterable[int]
) -> tuple[float, int]:
    """Return -log p of a text, in nats, and its number of tokens; the weights of the model are restored afterwards.

    Each window is scored before the update on it, so that every token is predicted only from preceding text.

    Args:
        task: task that computes the loss.
        model: model in evaluation mode.
        feed: windows of the text in order.
        dynamics: update rule.
        training: ids of the training text, for `rms`.
    """
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    with _restored(parameters) as trained:
        # Statistics are collected with the trained weights, before the first update.
        scales = _root_mean_squares(task, model, dynamics, training) if dynamics.rule == "rms" else {}
        count = sum(scale.numel() for scale in scales.values())
        mean = sum(float(scale.double().sum()) for scale in scales.values()) / max(count, 1)
        total, tokens, state = 0.0, 0, None
        for number in range(feed.per_epoch):
            batch = feed.batch(BatchPosition(0, number))
            nll, state = _learned_from(task, model, batch, state)
            total, tokens = total + nll, tokens + batch.tokens
            for parameter, first in zip(parameters, trained, strict=True):
                if parameter.grad is not None:
                    dynamics.update(parameter, first, scales.get(parameter), mean)
    return total, tokens


def _root_mean_squares(
    task: Task, model: nn.Module, dynamics: Dynamics, training: Iterable[int]
) -> dict[nn.Parameter, Tensor]:
    """Return the root mean square s of each parameter's gradient over training windows."""
    squares = {parameter: torch.zeros_like(parameter) for parameter in model.parameters() if parameter.requires_grad}
    ids = list(islice(training, dynamics.statistics + 1))
    stream, state = Stream(ids, batch=1, steps=dynamics.window), None
    for window in stream:
        text = torch.cat((window.text, window.target[:, -1:]), dim=1)  # [1, T + 1]
        _, state = _learned_from(task, model, Batch({"text": text}, (0,), window.target.numel()), state)
        for parameter, total in squares.items():
            if parameter.grad is not None:
                total.add_(parameter.grad.square())
    return {parameter: (total / len(stream)).sqrt() for parameter, total in squares.items()}


def _learned_from(task: Task, model: nn.Module, batch: Batch, state: object) -> tuple[float, object]:
    """Compute the gradients of the mean loss of a window; return -log p and the next state."""
    model.zero_grad(set_to_none=True)
    cudnn = torch.backends.cudnn.flags(enabled=False)  # cuDNN has no backward pass of RNNs in evaluation mode
    with cudnn, torch.enable_grad():
        loss = task.loss(model, batch.to(next(model.parameters()).device), state=state)
        (loss.total / max(loss.tokens, 1)).backward()
    return float(loss.nll), loss.state


@contextmanager
def _restored(parameters: list[nn.Parameter]) -> Iterator[list[Tensor]]:
    """Yield copies of parameters; on exit, restore the values and clear the gradients."""
    before = [parameter.detach().clone() for parameter in parameters]
    try:
        yield before
    finally:
        with torch.no_grad():
            for parameter, first in zip(parameters, before, strict=True):
                parameter.copy_(first)
                parameter.grad = None

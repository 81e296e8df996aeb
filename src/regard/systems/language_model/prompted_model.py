"""Language models conditioned on a prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.protocol import Selectable, Step


@dataclass(frozen=True)
class PromptState:
    """Unprocessed prompts, the state before the first step; later states are those of the model."""

    prompts: Tensor

    def select(self, rows: Tensor) -> PromptState:
        """Select the given rows of the prompts, with repetition."""
        return PromptState(self.prompts.index_select(0, rows))


class PromptedModel:
    """Language model whose source is the prompt: the first step processes all of it, and a search continues from there.

    Samples depend only on the prompt and the seed, as for any other source.

    Args:
        model: a language model: `forward(text)` returns logits [B, T, V] and a state, from which `step` continues.

    >>> from regard.decode import Search, generate
    >>> from regard.models import LanguageModel
    >>> model = LanguageModel(11, embedding_dim=4, hidden_dim=4).eval()
    >>> found = generate(PromptedModel(model), torch.tensor([[5, 6, 7]]), search=Search(min_length=4, max_length=4))
    >>> len(found[0][0].tokens)
    4
    """

    def __init__(self, model: nn.Module) -> None:
        self.model: Any = model

    @property
    def training(self) -> bool:
        """True if the model is in training mode."""
        return bool(self.model.training)

    def start(self, source: Tensor | None, lengths: Tensor | None, *, batch: int | None = None) -> Selectable:
        """Return the state of prompts [B, T] of equal length T ≥ 1, without running the model."""
        if source is None or source.dim() != 2 or source.shape[1] == 0:
            got = None if source is None else list(source.shape)
            raise ValueError(f"prompts are ids [B, T] with T at least 1; got {got}")
        if lengths is not None and bool((lengths != source.shape[1]).any()):
            raise ValueError(f"prompts of one call are all of one length; got {lengths.tolist()}")
        return PromptState(source)

    def step(self, token: Tensor, state: Any) -> Step:
        """Process the prompt in the first step, ignoring `token`; later steps are those of the model."""
        if not isinstance(state, PromptState):
            step: Step = self.model.step(token, state)
            return step
        predicted = self.model(state.prompts)
        return Step(torch.log_softmax(predicted.logits[:, -1].float(), dim=-1), predicted.state)

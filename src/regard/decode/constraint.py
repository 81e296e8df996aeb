"""Constrained decoding: a finite set of outputs, or a required prefix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from regard.protocol import Generates, Selectable, Step, device_of
from regard.specials import EOS, PAD


class Constraint(Protocol):
    """Constraint on the next token. Its state is a tensor, batch first, so that a beam can reorder it."""

    def start(self, batch: int, device: torch.device) -> Tensor:
        """Return the state before the first token, [B, ...]."""
        ...

    def advance(self, state: Tensor, token: Tensor) -> Tensor:
        """Return the state after one more token, ids [B]."""
        ...

    def allowed(self, state: Tensor, size: int) -> Tensor:
        """Return a mask [B, size], True for ids that are allowed next."""
        ...


class Trie:
    """Finite set of outputs, as a prefix tree.

    Args:
        outputs: allowed sequences of ids, without BOS; a missing EOS is added.

    Attributes:
        longest: maximal length of an output, counting EOS.

    The state of a row is its node: 0 for the root, -1 outside of the tree.

    >>> trie = Trie([[5, 7], [5, 6, 7], [4]])
    >>> root = trie.start(1, torch.device("cpu"))
    >>> trie.allowed(root, 8).nonzero()[:, 1].tolist()
    [4, 5]
    >>> trie.allowed(trie.advance(root, torch.tensor([4])), 8).nonzero()[:, 1].tolist()    # only the end
    [3]
    """

    def __init__(self, outputs: Sequence[Sequence[int]]) -> None:
        if not outputs:
            raise ValueError("a set of allowed outputs needs at least one; got none")
        edges: list[dict[int, int]] = [{}]
        self.longest = 0
        for index, output in enumerate(outputs):
            ids = [*output, *([] if output and output[-1] == EOS else [EOS])]
            if EOS in ids[:-1] or min(ids) < 0:
                raise ValueError(
                    f"allowed output {index} needs ids of at least 0, EOS ({EOS}) last; got {list(output)}"
                )
            self.longest = max(self.longest, len(ids))
            node = 0
            for token in ids:
                if token not in edges[node]:
                    edges[node][token] = len(edges)
                    edges.append({})
                node = edges[node][token]
        self._fill(edges)

    def _fill(self, edges: list[dict[int, int]]) -> None:
        """Store the edges as arrays, sorted by node and token; node i has the edges first[i] to first[i + 1]."""
        flat = [(node, token, after) for node, each in enumerate(edges) for token, after in sorted(each.items())]
        node, token, after = (torch.tensor(column, device="cpu") for column in zip(*flat, strict=True))
        self._base = int(token.max()) + 1
        self._key = node * self._base + token
        self._token, self._after = token, after
        self._first = torch.tensor([0, *map(len, edges)], device="cpu").cumsum(0)

    def start(self, batch: int, device: torch.device) -> Tensor:
        """Return the root for each row, [B]."""
        return torch.zeros(batch, dtype=torch.long, device=device)

    def advance(self, state: Tensor, token: Tensor) -> Tensor:
        """Follow one edge per row; -1 for a token without an edge."""
        keys, after = self._key.to(state.device), self._after.to(state.device)
        wanted = state * self._base + token
        position = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
        inside = (state >= 0) & (token < self._base) & (keys[position] == wanted)
        return torch.where(inside, after[position], -1)

    def allowed(self, state: Tensor, size: int) -> Tensor:
        """Return the tokens of the edges of each node, as a mask [B, size]."""
        if size < self._base:
            raise ValueError(f"an allowed output holds id {self._base - 1}; the model's vocabulary has {size} tokens")
        first = self._first.to(state.device)
        begin = first[state.clamp(min=0)]
        count = (first[state.clamp(min=0) + 1] - begin) * (state >= 0)
        row = torch.arange(len(state), device=state.device).repeat_interleave(count)
        within = torch.arange(len(row), device=state.device) - (count.cumsum(0) - count)[row]
        mask = torch.zeros(len(state), size, dtype=torch.bool, device=state.device)
        mask[row, self._token.to(state.device)[begin[row] + within]] = True
        return mask


class PrefixConstraint:
    """Required prefixes: prompts of a language model, or the beginning of a translation that a user has fixed.

    Args:
        prefixes: one per row of the batch, without BOS; an empty prefix leaves its row unconstrained.

    The prefix is part of the hypothesis, with its log-probabilities. State of a row: its index and its position.
    """

    def __init__(self, prefixes: Sequence[Sequence[int]]) -> None:
        lengths = [len(prefix) for prefix in prefixes]
        longest = max(lengths, default=0)
        padded = [[*prefix, *[PAD] * (longest - len(prefix) + 1)] for prefix in prefixes]
        self._tokens = torch.tensor(padded, dtype=torch.long, device="cpu").view(len(prefixes), longest + 1)
        self._lengths = torch.tensor(lengths, dtype=torch.long, device="cpu")

    def start(self, batch: int, device: torch.device) -> Tensor:
        """Return index and position 0 for each row, [B, 2]."""
        if batch != len(self._lengths):
            raise ValueError(f"one prefix a row is needed; got {len(self._lengths)} prefixes for {batch} rows")
        rows = torch.arange(batch, device=device)
        return torch.stack((rows, torch.zeros_like(rows)), 1)  # [B, 2]

    def advance(self, state: Tensor, token: Tensor) -> Tensor:
        """Advance each position by one."""
        return state + torch.tensor([0, 1], device=state.device)

    def allowed(self, state: Tensor, size: int) -> Tensor:
        """Allow the next token of the prefix; after its end, all tokens."""
        row, position = state.unbind(1)
        token = self._tokens.to(state.device)[row, position.clamp(max=self._tokens.shape[1] - 1)]
        free = position >= self._lengths.to(state.device)[row]
        return free.unsqueeze(1) | (token.unsqueeze(1) == torch.arange(size, device=state.device))


@dataclass(frozen=True)
class ConstrainedState:
    """State of a model and of its constraint; `begun` is True after BOS, which the constraint does not see."""

    inner: Selectable
    said: Tensor
    begun: bool

    def select(self, rows: Tensor) -> ConstrainedState:
        """Keep, repeat or reorder the rows of both; `rows`: [B'] indices."""
        return ConstrainedState(self.inner.select(rows), self.said.index_select(0, rows), self.begun)


class ConstrainedModel:
    """Model under a constraint; follows the same protocol, so that any search and any ensemble can use it.

    Forbidden tokens have log-probability -inf. Allowed tokens keep the log-probability of the model, so that scores
    are comparable with those of the unconstrained model; sampling renormalises over the allowed ones.

    >>> from regard.decode import Search, generate
    >>> class Uniform:
    ...     def start(self, source, lengths, *, batch=None): return self
    ...     def select(self, rows): return self
    ...     def step(self, token, state): return Step(torch.full((len(token), 8), 1 / 8).log(), self)
    >>> model = ConstrainedModel(Uniform(), Trie([[5, 7], [5, 6, 7], [4, 4]]))
    >>> [hypothesis.output for hypothesis in generate(model, batch=1, search=Search(n_best=3))[0]]
    [(4, 4), (5, 7), (5, 6, 7)]
    """

    def __init__(self, model: Generates, constraint: Constraint) -> None:
        self.model = model
        self.constraint = constraint

    @property
    def training(self) -> bool:
        """True if the model is in training mode."""
        return bool(getattr(self.model, "training", False))

    def parameters(self) -> Iterator[Tensor]:
        """Return the parameters of the model."""
        return iter(getattr(self.model, "parameters", tuple)())

    def start(self, source: Tensor | None, lengths: Tensor | None, *, batch: int | None = None) -> ConstrainedState:
        """Return the initial states of model and constraint."""
        rows = (batch or 0) if source is None else len(source)
        device = device_of(self.model) if source is None else source.device
        return ConstrainedState(
            self.model.start(source, lengths, batch=batch), self.constraint.start(rows, device), begun=False
        )

    def step(self, token: Tensor, state: ConstrainedState) -> Step:
        """Step the model; forbidden tokens get log-probability -inf."""
        step = self.model.step(token, state.inner)
        said = self.constraint.advance(state.said, token) if state.begun else state.said
        allowed = self.constraint.allowed(said, step.log_probs.shape[-1])
        return Step(
            step.log_probs.masked_fill(~allowed, -torch.inf),
            ConstrainedState(step.state, said, begun=True),
            step.attended,
        )

"""Span decoders (pointers): from the states of a passage to the start and end of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from regard.arguments import Size, checked
from regard.models.model_output import ModelOutput
from regard.nn.rnn import Recurrent, RecurrentState, token_mask
from regard.systems.spans.scorers import HighwayMaxout, MLPScorer, PointScorer

PointerKind = Literal["dynamic", "bilinear"]


@checked()
@dataclass(frozen=True, kw_only=True)
class Pointer:
    """Configuration of a span decoder.

    Attributes:
        kind: decoder: `dynamic`, which refines the span iteratively, or `bilinear`, which compares each word with the
            question as one vector.
        scorer: scorer of the words in `dynamic`: a highway maxout network, or an MLP of two layers.
        pool: number p of linear maps in each maxout of a highway maxout network.
        iterations: maximum number of iterations in `dynamic`.
    """

    kind: PointerKind = "dynamic"
    scorer: Literal["highway_maxout", "mlp"] = "highway_maxout"
    pool: Size = 16
    iterations: Size = 4

    def build(self, state_dim: int, hidden_dim: int, question_dim: int) -> DynamicPointer | BilinearPointer:
        """Return the decoder, for states and questions of these widths.

        Raises:
            ValueError: an argument is not supported by the chosen decoder or scorer.
        """
        if self.kind == "bilinear":
            if self != Pointer(kind="bilinear"):
                raise ValueError("decoder: scorer, pool and iterations are of kind 'dynamic'; leave them out")
            return BilinearPointer(state_dim, question_dim)
        if self.scorer == "mlp" and self.pool != Pointer.pool:
            raise ValueError("decoder: pool is of the scorer 'highway_maxout'; leave it out")
        scorers = [
            MLPScorer(state_dim, hidden_dim)
            if self.scorer == "mlp"
            else HighwayMaxout(state_dim, hidden_dim, pool=self.pool)
            for _ in range(2)
        ]
        return DynamicPointer(scorers[0], scorers[1], state_dim, hidden_dim, iterations=self.iterations)


class BilinearPointer(nn.Module):
    r"""Bilinear comparison of each passage word with the question vector.

    .. math:: p(\text{begin} = i) = \mathrm{softmax}_i(q^\top W_b u_i), \quad
              p(\text{end} = j) = \mathrm{softmax}_j(q^\top W_e u_j)

    Args:
        state_dim: width of the states u.
        question_dim: width of the question q.

    Shapes: states [B, S, U], lengths [B], question [B, Q] -> logits [B, S, 2], -inf at padding.

    Chen, Fisch, Weston & Bordes 2017, "Reading Wikipedia to Answer Open-Domain Questions", section 3.2.

    >>> BilinearPointer(6, 5)(torch.randn(2, 7, 6), torch.tensor([7, 4]), torch.randn(2, 5)).logits.shape
    torch.Size([2, 7, 2])
    """

    def __init__(self, state_dim: int, question_dim: int) -> None:
        super().__init__()
        self.question_map = nn.Linear(question_dim, 2 * state_dim, bias=False)

    def forward(self, states: Tensor, lengths: Tensor, question: Tensor) -> ModelOutput:
        """Score all positions as start and end."""
        queries = self.question_map(question).unflatten(1, (2, -1))  # [B, 2, U]
        logits = states @ queries.mT  # [B, S, 2]
        return ModelOutput(logits.masked_fill(~token_mask(lengths, states.shape[1]).unsqueeze(2), -torch.inf))


class DynamicPointer(nn.Module):
    r"""Iterative pointer: an LSTM refines the span from its last estimate until it is stable or `iterations` are over.

    .. math:: h_i = \mathrm{LSTM}(h_{i-1}, [u_{s_{i-1}}; u_{e_{i-1}}]), \quad
              s_i = \arg\max_t \mathrm{begin}(u_t, h_i, u_{s_{i-1}}, u_{e_{i-1}}), \quad
              e_i = \arg\max_t \mathrm{end}(u_t, h_i, u_{s_i}, u_{e_{i-1}})

    Iteration lets the decoder leave local maxima. The end is scored given the start of the same iteration. Each passage
    of a batch stops independently: its computation ends, and it keeps its last logits. The paper does not specify s_0
    and e_0; here they are the first and the last word, and are not compared in the test for a stable span.

    Args:
        begin, end: scorers of start and end, with separate parameters.
        state_dim: U, width of the states u.
        hidden_dim: width of h.
        iterations: maximum number of iterations.

    Shapes: states [B, S, U], lengths [B] -> logits [B, S, 2] of the last iteration, -inf at padding. Extras:
    `iterations` [B, K, S, 2], the logits of all K, and `running` [B, K], False once a passage has stopped.

    Xiong, Zhong & Socher 2017, equations 5 to 8.

    >>> pointer = DynamicPointer(MLPScorer(6, 3), MLPScorer(6, 3), 6, 3, iterations=1)
    >>> found = pointer(torch.randn(2, 7, 6), torch.tensor([7, 4]))
    >>> found.logits.shape, found.extras["iterations"].shape, found.extras["running"].tolist()
    (torch.Size([2, 7, 2]), torch.Size([2, 1, 7, 2]), [[True], [True]])
    """

    def __init__(
        self, begin: PointScorer, end: PointScorer, state_dim: int, hidden_dim: int, *, iterations: int = 4
    ) -> None:
        super().__init__()
        self.begin = begin
        self.end = end
        self.layer = Recurrent(2 * state_dim, hidden_dim, "lstm")
        self.iterations = iterations

    def forward(self, states: Tensor, lengths: Tensor, question: Tensor | None = None) -> ModelOutput:
        """Iterate until the span is stable; `question` is unused, since the states already depend on it."""
        live, logits = self._start(states, lengths), None
        path, running = [], []
        for number in range(self.iterations):
            there = torch.zeros(len(states), dtype=torch.bool, device=states.device)
            running.append(there.index_fill(0, live.rows, True))
            scores, after = self._estimate(live)
            logits = scores if logits is None else logits.index_copy(0, live.rows, scores)
            path.append(logits)
            if number > 0:  # the initial span is no estimate, so the first iteration cannot be stable
                # The loop synchronises with the device, but stable passages cost nothing in further iterations.
                moved = (after.first != live.first) | (after.last != live.last)
                after = after if bool(moved.all()) else after.select(moved.nonzero().squeeze(1))
            live = after
            if not len(live.rows):
                break
        assert logits is not None
        # [B, K, S, 2] and [B, K]
        extras = {"iterations": torch.stack(path, dim=1), "running": torch.stack(running, dim=1)}
        return ModelOutput(logits, extras=extras)

    def _start(self, states: Tensor, lengths: Tensor) -> _Live:
        return _Live(
            rows=torch.arange(len(states), device=states.device),
            states=states,
            here=token_mask(lengths, states.shape[1]),
            begin_words=self.begin.words(states),
            end_words=self.end.words(states),
            hidden=self.layer.start(len(states)),
            first=torch.zeros_like(lengths),
            last=(lengths - 1).clamp(min=0),
        )

    def _estimate(self, live: _Live) -> tuple[Tensor, _Live]:
        """Run one iteration; return logits [B', S, 2] and the passages with their new estimates."""
        first, last = live.at(live.first), live.at(live.last)  # u_s, u_e [B', U]
        h, hidden = self.layer.step(torch.cat((first, last), dim=1), live.hidden)  # h [B', L]
        begins = self.begin(live.begin_words, torch.cat((h, first, last), dim=1))
        begins = begins.masked_fill(~live.here, -torch.inf)  # [B', S]
        new_first = begins.argmax(1)
        ends = self.end(live.end_words, torch.cat((h, live.at(new_first), last), dim=1))
        ends = ends.masked_fill(~live.here, -torch.inf)  # [B', S]
        after = live._replace(hidden=hidden, first=new_first, last=ends.argmax(1))
        return torch.stack((begins, ends), dim=2), after  # [B', S, 2]

    def extra_repr(self) -> str:
        return f"iterations={self.iterations}"


class _Live(NamedTuple):
    """The B' passages of a batch whose span is not yet stable.

    Attributes:
        rows: indices in the batch, [B'].
        states: u, [B', S, U].
        here: True at words, False at padding, [B', S].
        begin_words, end_words: the scorers' precomputed projections of the words.
        hidden: state of the decoder.
        first, last: estimates s and e, [B'].
    """

    rows: Tensor
    states: Tensor
    here: Tensor
    begin_words: Tensor
    end_words: Tensor
    hidden: RecurrentState
    first: Tensor
    last: Tensor

    def at(self, places: Tensor) -> Tensor:
        """Return the states [B', U] at positions [B']."""
        index = places[:, None, None].expand(-1, 1, self.states.shape[2])
        return self.states.gather(1, index).squeeze(1)

    def select(self, rows: Tensor) -> _Live:
        """Return the subset of passages at `rows`."""
        parts = {name: part[rows] for name, part in self._asdict().items() if isinstance(part, Tensor)}
        return _Live(**parts, hidden=self.hidden.select(rows))


def iterations_of(predicted: ModelOutput) -> tuple[Tensor, Tensor]:
    """Return the logits of all iterations [B, K, S, 2] of a reader, and which of them ran [B, K].

    A reader without iterations has one.

    >>> logits, running = iterations_of(ModelOutput(torch.zeros(2, 7, 2)))
    >>> logits.shape, running.tolist()
    (torch.Size([2, 1, 7, 2]), [[True], [True]])
    """
    extras: Mapping[str, Tensor] = predicted.extras
    if "iterations" in extras:
        return extras["iterations"], extras["running"]
    logits = predicted.logits.unsqueeze(1)
    return logits, torch.ones(logits.shape[:2], dtype=torch.bool, device=logits.device)

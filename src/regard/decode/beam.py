"""Batch-invariant beam search: results depend neither on the batch, nor on padding, nor on `n_best`.

Each step expands every open hypothesis by every token and keeps the best 2k continuations, where k is the beam width
(per group, in diverse beam search). Continuations among the first k that end in EOS are finished and scored; the best
k others stay open. Open hypotheses have equal lengths and are ranked by their sums of log-probabilities; finished ones
are ranked by their scores with penalties. Log-probabilities and the coverage penalty are never positive, and lp never
decreases with the length. A row is therefore done when no open hypothesis can still enter its `n_best`,

    max_b sum_b / lp(longest) <= the n_best-th best finished score,

or, unless the search is exact, when no open hypothesis would enter the k best by ending at the next step,

    max_b sum_b / lp(n + 1) <= the k-th best finished score,

or at the maximal length. It then leaves the batch. The first rule stops only searches whose result is final, and the
second does not depend on `n_best`, so `n_best` changes the number of hypotheses that are returned, never their order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.decode.candidates import Candidates, expand, stable_topk
from regard.decode.hypothesis import Hypothesis
from regard.decode.penalties import Penalty
from regard.decode.request import Request, SearchLimits
from regard.decode.search import Search
from regard.decode.trace import Trace, TraceLeaf, TraceStep
from regard.protocol import Generates, Selectable, Step, attention
from regard.specials import BOS, EOS


@torch.no_grad()
def beam_search(model: Generates, request: Request, search: Search) -> list[list[Hypothesis]]:
    """Return up to `n_best` hypotheses for each input, best first.

    Finished hypotheses precede those cut off at the maximal length. Ties go to the shorter one, then to smaller ids.
    There are fewer than `n_best` only if the model and its constraints allow no others.
    """
    if not request.batch:
        return []
    finished = _Finished(request, search)
    beam: _Beam | None = _Beam.first(model, request, search)
    limits, trace, n = SearchLimits.of(search, request), Trace(), 0
    while beam is not None:
        step, n = model.step(beam.token, beam.state), n + 1
        beam = _advance(beam, step, n, limits, trace, finished, search)
    return finished.ranked(trace, request, search)


@dataclass(frozen=True)
class _Beam:
    """Open hypotheses of the b active rows: G groups of w, K = G * w.

    A group starts with the empty hypothesis (w = 1) and then holds k, or as many as exist.

    Attributes:
        rows: [b], index of the input of each row.
        sums: [b, G, w], sums of log-probabilities in float64; -inf for an unused slot.
        token: [b * K], last token of each hypothesis.
        came: [b * K], node of each hypothesis in the trace.
        covered: [b, K, S], accumulated attention for the coverage penalty; None without one.
        closed: [b, G], True for a group that is done by the second rule and finishes no more hypotheses.
        scores: [b, G, k], best scores of finished hypotheses, best first.
        bound: [b], lp(longest).
        state: state of the model for b * K rows.
    """

    rows: Tensor
    sums: Tensor
    token: Tensor
    came: Tensor
    covered: Tensor | None
    closed: Tensor
    scores: Tensor
    bound: Tensor
    state: Selectable

    @classmethod
    def first(cls, model: Generates, request: Request, search: Search) -> _Beam:
        """Return the initial beam: one empty hypothesis per group."""
        rows, groups = request.rows(), search.groups
        sums = torch.zeros(len(rows), groups, 1, dtype=torch.float64, device=rows.device)
        longest = SearchLimits.of(search, request).longest.tolist()
        return _Beam(
            rows=rows,
            sums=sums,
            token=torch.full((len(rows) * groups,), BOS, device=rows.device),
            came=torch.zeros(len(rows) * groups, dtype=torch.long, device=rows.device),
            covered=_uncovered(request, search),
            closed=torch.zeros(len(rows), groups, dtype=torch.bool, device=rows.device),
            scores=sums.new_full((len(rows), groups, search.width), -torch.inf),
            bound=sums.new_tensor([search.penalty.divisor(length) for length in longest]),
            state=request.start(model, groups),
        )


def _advance(
    beam: _Beam, step: Step, n: int, limits: SearchLimits, trace: Trace, finished: _Finished, search: Search
) -> _Beam | None:
    """Search step n: expand, score finished hypotheses, keep the best open ones, and remove rows that are done."""
    b, groups, before = beam.sums.shape
    found = _found(beam, step.log_probs.float().view(b, groups, before, -1), n, limits, search)
    count, width = found.token.shape[-1], min(search.width, found.token.shape[-1])
    offset = torch.arange(b * groups, device=beam.rows.device).view(b, groups, 1)
    row = (offset * before + found.beam).flatten()
    trace.add(TraceStep(beam.came, row, found.token.flatten(), found.log_prob.flatten()), step.attended)

    covered = None if beam.covered is None else _cover(beam.covered, attention(step))
    ends = found.token == EOS
    if not bool(ends.any()):
        scores, sums = beam.scores, found.total[..., :width]
        node = (offset * count + torch.arange(width, device=offset.device)).flatten()
    else:
        accepted = ends & found.total.isfinite() & (torch.arange(count, device=ends.device) < width)
        accepted &= ~beam.closed.unsqueeze(-1)
        score = _score(found.total, row, covered, n, search.penalty).masked_fill(~accepted, -torch.inf)
        finished.add(beam.rows, accepted, score, n)
        scores = stable_topk(torch.cat((beam.scores, score), -1), search.width)[0]
        keep = ends.long().sort(dim=-1, stable=True).indices[..., :width]
        node = (offset * count + keep).flatten()
        sums = found.total.gather(-1, keep).masked_fill(ends.gather(-1, keep), -torch.inf)  # [b, G, w]
    token, continued = found.token.flatten().index_select(0, node), row.index_select(0, node)
    after = replace(beam, sums=sums, token=token, came=node, covered=covered, scores=scores, state=step.state)
    return _leave(beam, after, continued, n, limits.longest, finished, search)


def _leave(
    beam: _Beam, after: _Beam, row: Tensor, n: int, longest: Tensor, finished: _Finished, search: Search
) -> _Beam | None:
    """Remove rows that are done and reorder the state; `row` [b * K]: the hypothesis that each continues."""
    hope = after.sums.amax(-1)
    settled = after.scores[..., min(search.n_best, search.width) - 1] >= hope / after.bound.unsqueeze(1)
    closed = after.closed
    if not search.exact:
        closed = closed | (after.scores[..., -1] >= hope / search.penalty.divisor(n + 1))
    cut = longest.index_select(0, after.rows) <= n
    done = (settled | closed).all(-1) | cut
    if not bool(done.any()):  # a row without continuations has hope -inf, which every score reaches, so it is settled
        covered = _reordered(after.covered, row, len(after.rows))
        return replace(after, covered=covered, closed=closed, state=after.state.select(row))
    lost = after.sums.isneginf().all(-1).all(-1) & after.scores.isneginf().all(-1).all(-1)
    finished.cut(after, cut & ~lost, n)
    finished.cut(beam, lost, n - 1)
    going = (~(done | lost)).nonzero().flatten()
    if not len(going):
        return None
    each = torch.arange(len(after.came), device=going.device).view(len(after.rows), -1)[going].flatten()
    continued = row[each]
    return _Beam(
        rows=after.rows[going],
        sums=after.sums[going],
        token=after.token[each],
        came=after.came[each],
        covered=_reordered(after.covered, continued, len(going)),
        closed=closed[going],
        scores=after.scores[going],
        bound=after.bound[going],
        state=after.state.select(continued),
    )


class _Finished:
    """Ends of all hypotheses found so far, by input and group."""

    def __init__(self, request: Request, search: Search) -> None:
        self._ended: list[list[list[tuple[float, TraceLeaf]]]] = [
            [[] for _ in range(search.groups)] for _ in range(request.batch)
        ]
        self._cut: list[list[TraceLeaf]] = [[] for _ in range(request.batch)]

    def add(self, rows: Tensor, accepted: Tensor, score: Tensor, n: int) -> None:
        """Add the hypotheses that end at step n: those `accepted` [b, G, c], with their `score` [b, G, c]."""
        positions = accepted.nonzero().tolist()
        scores, inputs = score[accepted].tolist(), rows.tolist() if positions else []
        _, groups, count = accepted.shape
        for (position, group, rank), value in zip(positions, scores, strict=True):
            leaf = TraceLeaf(inputs[position], n, (position * groups + group) * count + rank, True)
            self._ended[leaf.row][group].append((value, leaf))

    def cut(self, beam: _Beam, rows: Tensor, n: int) -> None:
        """Add the open hypotheses of the selected rows, booleans [b], as unfinished ones of n tokens."""
        for position in rows.nonzero().flatten().tolist():
            nodes = beam.came.view(len(beam.rows), -1)[position].tolist()
            open_ = beam.sums[position].isfinite().flatten().tolist()
            row = int(beam.rows[position])
            self._cut[row] += [
                TraceLeaf(row, n, node, False) for node, there in zip(nodes, open_, strict=True) if there
            ]

    def ranked(self, trace: Trace, request: Request, search: Search) -> list[list[Hypothesis]]:
        """Return the `n_best` hypotheses of each input."""
        leaves = []
        for groups, cut in zip(self._ended, self._cut, strict=True):
            for ended in groups:
                leaves += [leaf for _, leaf in sorted(ended, key=lambda end: -end[0])[: search.width]]
            leaves += cut
        found: list[dict[tuple[int, ...], Hypothesis]] = [{} for _ in range(request.batch)]
        for leaf, made in zip(leaves, trace.hypotheses(leaves, request, search.penalty), strict=True):
            found[leaf.row].setdefault(made.tokens, made)  # two groups may find the same hypothesis
        return [sorted(row.values(), key=_rank)[: search.n_best] for row in found]


def _rank(made: Hypothesis) -> tuple[bool, float, int, tuple[int, ...]]:
    return (not made.finished, -made.score, len(made.tokens), made.tokens)


def _found(beam: _Beam, log_probs: Tensor, n: int, limits: SearchLimits, search: Search) -> Candidates:
    """Return the best allowed continuations by log-probabilities [b, G, w, V]."""
    size = log_probs.shape[3]

    def barred(tokens: Tensor) -> Tensor:
        return limits.barred(tokens, size, beam.rows, n)

    return expand(beam.sums, log_probs, 2 * search.width, search.diversity, barred, len(search.forbid) + 1)


def _uncovered(request: Request, search: Search) -> Tensor | None:
    """Return the initial coverage [B, G, S]: 0, and 1 at padding, which is then free of penalty."""
    if not search.coverage:
        return None
    if request.source is None or request.lengths is None:
        raise ValueError("a coverage penalty needs sources with lengths; set coverage=0")
    positions = torch.arange(request.source.shape[1], device=request.device)
    padding = positions >= torch.tensor(request.lengths, device=request.device).unsqueeze(1)
    return padding.double().unsqueeze(1).repeat(1, search.groups, 1)


def _cover(covered: Tensor, seen: Tensor | None) -> Tensor:
    """Add the attention of this step, [b * K, S], to the coverage."""
    if seen is None:
        raise ValueError("a coverage penalty needs a model that attends to its source; set coverage=0")
    return covered + seen.double().view_as(covered)


def _reordered(covered: Tensor | None, row: Tensor, rows: int) -> Tensor | None:
    """Return the coverage of the hypotheses that are continued; `row`: [b' * K], for b' `rows`."""
    return None if covered is None else covered.flatten(0, 1)[row].unflatten(0, (rows, -1))


def _score(total: Tensor, row: Tensor, covered: Tensor | None, n: int, penalty: Penalty) -> Tensor:
    """Score candidates that end here, shaped like `total`; `row`: the hypothesis that each continues."""
    scores = total / penalty.divisor(n)
    if covered is None:
        return scores
    return scores + penalty.uncovered(covered).flatten()[row].view_as(scores)

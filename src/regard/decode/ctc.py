"""Transcripts from CTC outputs: the best path, and prefix beam search with an optional language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.decode.ctc_viterbi import Floats, Integers, Spans, best_frames, checked
from regard.protocol import Generates, Selectable, Step, device_of
from regard.specials import BOS, EOS


@dataclass(frozen=True)
class Transcript:
    """One reading of the frames.

    Attributes:
        tokens: the symbols, without blanks.
        log_prob: log p(tokens | frames): of the best path alone from `ctc_greedy`, and of all alignments that the beam
            kept from `ctc_beam_search`.
        score: the number that ranked it: `log_prob`, with a language model plus α log p_lm and β per symbol.
        frames: for each symbol its first frame, and the one after its last, in the likeliest alignment.
    """

    tokens: tuple[int, ...]
    log_prob: float
    score: float
    frames: Spans


@dataclass(frozen=True)
class FusionLanguageModel:
    """A language model over the symbols of a CTC model ("shallow fusion").

    Attributes:
        model: anything that implements `Generates` without a source, in evaluation mode.
        alpha: α, the weight of its log-probabilities, that of EOS after the last symbol among them.
        beta: β, added per symbol, since a language model prefers short outputs.
        ids: [V], the model's token for each symbol (any for the blank); None if they are numbered alike.
    """

    model: Generates
    alpha: float = 0.5
    beta: float = 0.0
    ids: Sequence[int] | None = None


def ctc_greedy(log_probs: Tensor, lengths: Tensor | None = None, *, blank: int = 0) -> list[Transcript]:
    """Take the likeliest symbol of every frame, merge repeats and drop blanks (best path decoding).

    Args:
        log_probs: [B, T, V], log p(symbol v in frame t), normalised.
        lengths: [B], true frames; None for T.
        blank: the number of the blank.

    Returns:
        One transcript per row. It is that of the likeliest path, not always the likeliest transcript.

    Graves, Fernández, Gomez & Schmidhuber 2006, "Connectionist Temporal Classification", section 3.2.

    >>> probs = torch.tensor([[0.1, 0.8, 0.1], [0.2, 0.7, 0.1], [0.6, 0.3, 0.1], [0.2, 0.7, 0.1]])
    >>> [found] = ctc_greedy(probs.log()[None])
    >>> found.tokens, found.frames
    ((1, 1), ((0, 2), (3, 4)))
    """
    emission, frames = checked(log_probs, lengths, blank)
    found = []
    for row, count in zip(emission, frames, strict=True):
        path = row[:count].argmax(1)
        first = np.flatnonzero(np.diff(path, prepend=-1))
        runs = zip(path[first].tolist(), first.tolist(), np.append(first, count)[1:].tolist(), strict=True)
        symbols = [(symbol, (start, end)) for symbol, start, end in runs if symbol != blank]
        likely = float(row[:count].max(1).sum())
        spans = tuple(span for _, span in symbols)
        found.append(Transcript(tuple(symbol for symbol, _ in symbols), likely, likely, spans))
    return found


def ctc_beam_search(
    log_probs: Tensor,
    lengths: Tensor | None = None,
    *,
    blank: int = 0,
    beam_size: int = 16,
    n_best: int = 1,
    language_model: FusionLanguageModel | None = None,
) -> list[list[Transcript]]:
    r"""Search for the likeliest transcripts, each the sum of its alignments (prefix beam search).

    For every prefix y that is kept, two sums over the paths of the first t frames that collapse to it: of those that
    end in a blank, and of those that end in its last symbol.

    .. math:: p^b_t(y) &= \big(p^b_{t-1}(y) + p^n_{t-1}(y)\big)\, p_t(\text{blank}) \\
              p^n_t(y) &= p^n_{t-1}(y)\, p_t(y_{-1})
                          + \big(p^b_{t-1}(y_{<}) + [y_{-1} \ne y_{-2}]\, p^n_{t-1}(y_{<})\big)\, p_t(y_{-1})

    with :math:`y_<` the prefix without its last symbol. Prefixes are ranked by
    :math:`\log(p^b + p^n) + \alpha \log p_{lm}(y) + \beta |y|`.

    Args:
        log_probs: [B, T, V], log p(symbol v in frame t), normalised; computed with in float64.
        lengths: [B], true frames; None for T. What lies behind them has no influence.
        blank: the number of the blank.
        beam_size: prefixes kept per frame.
        n_best: transcripts returned per row, at most `beam_size`.
        language_model: see `FusionLanguageModel`; None for the CTC model alone.

    Returns:
        For each row its transcripts, best first. With a beam that keeps every prefix, `log_prob` is the log-likelihood
        of `regard.ops.ctc_alignment`; otherwise it can be smaller, never larger.

    Graves 2006, section 3.2; Hannun, Maas, Jurafsky & Ng 2014, "First-Pass Large Vocabulary Continuous Speech
    Recognition using Bi-Directional Recurrent DNNs", algorithm 1, with every symbol as a word.

    The best path is two blanks, 0.36, but 1 has the paths "1 1", "1 -" and "- 1", 0.64 in all:

    >>> probs = torch.tensor([[[0.6, 0.4], [0.6, 0.4]]])
    >>> [[first, second]] = ctc_beam_search(probs.log(), n_best=2)
    >>> first.tokens, round(2.718281828 ** first.log_prob, 4), second.tokens
    ((1,), 0.64, ())
    """
    if beam_size < 1 or not 1 <= n_best <= beam_size:
        raise ValueError(f"ctc: need 1 <= n_best <= beam_size; got n_best={n_best} and beam_size={beam_size}")
    emission, frames = checked(log_probs, lengths, blank)
    if not len(emission):
        return []
    # Longest first, so that the rows that still have frames are always the first ones.
    order = np.argsort(-frames, kind="stable")
    with torch.no_grad():
        search = _Search(emission[order], frames[order], blank, beam_size, language_model)
        ranked = search.run(n_best)
    tokens = [found[0] for row in ranked for found in row]
    rows = np.repeat(np.arange(len(emission)), [len(row) for row in ranked])
    spans = iter(best_frames(search.emission, search.frames, rows, tokens, blank))
    made = [[Transcript(*found, next(spans)) for found in row] for row in ranked]
    return [made[place] for place in np.argsort(order)]


@dataclass
class _Prefixes:
    """Every prefix that was ever kept, as trees: one root per row of the batch, and one node per prefix.

    A prefix that returns after it was dropped is the same node again, so that prefixes are equal where their nodes are.
    """

    parent: list[int]
    symbol: list[int]
    depth: list[int]
    children: dict[tuple[int, int], int] = field(default_factory=dict)

    def child(self, node: int, symbol: int) -> int:
        """The node of a prefix with one more symbol."""
        found = self.children.setdefault((node, symbol), len(self.parent))
        if found == len(self.parent):
            self.parent.append(node)
            self.symbol.append(symbol)
            self.depth.append(self.depth[node] + 1)
        return found

    def tokens(self, node: int) -> tuple[int, ...]:
        """The symbols of a prefix."""
        found = []
        while self.parent[node] >= 0:
            found.append(self.symbol[node])
            node = self.parent[node]
        return tuple(reversed(found))


class _Search:
    """Prefix beam search over a batch whose rows are sorted by length, the longest first.

    Arrays of the beam are [B, K]; a place that is empty has log-probability -inf and the node `_NOBODY`.
    """

    def __init__(
        self, emission: Floats, frames: Integers, blank: int, beam_size: int, language_model: FusionLanguageModel | None
    ) -> None:
        self.emission, self.frames, self.blank = emission, frames, blank
        batch, _, self.symbols = emission.shape
        self.prefixes = _Prefixes([_ROOT] * batch, [blank] * batch, [0] * batch)
        self.fusion = None if language_model is None else _Fusion(language_model, batch, self.symbols)
        self.node = np.full((batch, beam_size), _NOBODY)
        self.node[:, 0] = np.arange(batch)
        self.parent = np.full((batch, beam_size), _ROOT)
        self.last = np.full((batch, beam_size), blank)
        self.in_blank = np.full((batch, beam_size), -np.inf)
        self.in_blank[:, 0] = 0.0
        self.in_symbol = np.full((batch, beam_size), -np.inf)
        self.bonus = np.zeros((batch, beam_size))  # α log p_lm + β |y|
        self.gain = None if self.fusion is None else self.fusion.gains(self.node)  # [B, K, V], of one more symbol

    def run(self, n_best: int) -> list[list[tuple[tuple[int, ...], float, float]]]:
        """Tokens, log-probability and score of the best transcripts of each row, best first."""
        longest = int(self.frames[0])
        going = (self.frames[None, :] > np.arange(longest)[:, None]).sum(1)
        for t, rows in enumerate(going.tolist()):
            self._advance(rows, self.emission[:rows, t])
        total = np.logaddexp(self.in_blank, self.in_symbol)
        score = total + self.bonus + (0.0 if self.fusion is None else self.fusion.ends(self.node))
        order = np.argsort(-score, axis=1, kind="stable")[:, :n_best]
        return [
            [
                (self.prefixes.tokens(int(self.node[row, place])), float(total[row, place]), float(score[row, place]))
                for place in places
                if score[row, place] > -np.inf
            ]
            for row, places in enumerate(order.tolist())
        ]

    def _advance(self, rows: int, emission: Floats) -> None:
        """One more frame [b, V] of the first b rows."""
        each = np.arange(rows)[:, None]
        node, last, bonus = self.node[:rows], self.last[:rows], self.bonus[:rows]
        in_blank, in_symbol = self.in_blank[:rows], self.in_symbol[:rows]
        total = np.logaddexp(in_blank, in_symbol)
        stay_blank = total + emission[:, self.blank, None]
        stay_symbol = in_symbol + emission[each, last]  # the empty prefix has -inf here
        longer = total[:, :, None] + emission[:, None, :]  # [b, K, V]
        # The same symbol again is another symbol only after a blank.
        places = np.arange(node.shape[1])
        longer[each, places, last] = in_blank + emission[each, last]
        longer[:, :, self.blank] = -np.inf
        # A longer prefix that is in the beam already: both ways to it are summed, and it is no candidate of its own.
        row, shorter, there = (self.parent[:rows, None, :] == node[:, :, None]).nonzero()
        joined = row, shorter, last[row, there]
        stay_symbol[row, there] = np.logaddexp(stay_symbol[row, there], longer[joined])
        longer[joined] = -np.inf
        ranked = longer if self.gain is None else longer + (bonus[:, :, None] + self.gain[:rows])
        stay = np.logaddexp(stay_blank, stay_symbol) + bonus
        chosen = _largest(np.concatenate((stay, ranked.reshape(rows, -1)), 1), node.shape[1])
        self._keep(rows, chosen, stay_blank, stay_symbol, longer)

    def _keep(self, rows: int, chosen: Integers, stay_blank: Floats, stay_symbol: Floats, longer: Floats) -> None:
        """The chosen candidates [b, K] as the new beam of the first b rows: K that stay, and K * V that are longer."""
        width = chosen.shape[1]
        each = np.arange(rows)[:, None]
        grows = chosen >= width
        came, symbol = np.divmod(np.where(grows, chosen - width, 0), self.symbols)
        came = np.where(grows, came, np.minimum(chosen, width - 1))
        grown = longer[each, came, symbol]
        grows &= grown > -np.inf
        node, parent = self.node[:rows][each, came], self.parent[:rows][each, came]
        bonus = self.bonus[:rows][each, came]
        if self.gain is not None:
            bonus = np.where(grows, bonus + self.gain[:rows][each, came, symbol], bonus)
        in_blank = np.where(grows, -np.inf, stay_blank[each, came])
        in_symbol = np.where(grows, grown, stay_symbol[each, came])
        lost = np.isneginf(np.logaddexp(in_blank, in_symbol)) | ((chosen >= width) & ~grows)
        parent = np.where(grows, node, parent)
        for row, place in zip(*(places.tolist() for places in grows.nonzero()), strict=True):
            node[row, place] = self.prefixes.child(int(node[row, place]), int(symbol[row, place]))
        if self.gain is not None and self.fusion is not None:
            self.fusion.read(self.prefixes, np.where(lost, _NOBODY, node).flatten().tolist())
            self.gain[:rows] = self.gain[:rows][each, came]
            self.gain[:rows][grows] = self.fusion.gains(node[grows])
        self.last[:rows] = np.where(grows, symbol, self.last[:rows][each, came])
        self.node[:rows], self.parent[:rows] = np.where(lost, _NOBODY, node), np.where(lost, _ROOT, parent)
        self.in_blank[:rows] = np.where(lost, -np.inf, in_blank)
        self.in_symbol[:rows] = np.where(lost, -np.inf, in_symbol)
        self.bonus[:rows] = bonus


_NOBODY = -1  # the node of an empty place; no prefix has it as its parent
_ROOT = -2  # the parent of the empty prefix; no prefix has it as its node


def _largest(values: Floats, count: int) -> Integers:
    """The places of the largest values of each row, largest first; of equals the first."""
    if values.shape[1] > count:
        chosen = np.sort(np.argpartition(-values, count - 1, axis=1)[:, :count], axis=1)
    else:
        chosen = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    order = np.argsort(-np.take_along_axis(values, chosen, 1), axis=1, kind="stable")
    return np.take_along_axis(chosen, order, 1)


class _Fusion:
    """A language model that has read prefixes: its state and its next log-probabilities for each node."""

    def __init__(self, language_model: FusionLanguageModel, batch: int, symbols: int) -> None:
        self._model, self._alpha, self._beta = language_model.model, language_model.alpha, language_model.beta
        if getattr(self._model, "training", False):
            raise ValueError("decoding needs a language model without dropout; call model.eval() first")
        ids = range(symbols) if language_model.ids is None else language_model.ids
        if len(ids) != symbols:
            raise ValueError(f"ctc: language_model.ids must hold one token per symbol, {symbols}; got {len(ids)}")
        self._ids = np.array(ids)
        self._device = device_of(self._model)
        self._state: dict[int, tuple[Any, int]] = {}
        self._gain: dict[int, Floats] = {}  # [V]: α log p + β of each symbol
        self._end: dict[int, float] = {}  # α log p of EOS
        start = self._model.start(None, None, batch=batch)
        self._keep(range(batch), self._step([BOS] * batch, start))

    def read(self, prefixes: _Prefixes, nodes: Sequence[int]) -> None:
        """Let the model read the prefixes of a beam; those that it has not seen have a parent that it has seen.

        States cannot be joined, so that prefixes whose parents were read together take one step, and others several.
        Where that is more steps than the longest prefix has symbols, all prefixes are read again from the beginning,
        side by side. Those of one length then share a state, and the next frames need few steps.
        """
        live = [node for node in dict.fromkeys(nodes) if node >= 0]
        fresh = [node for node in live if node not in self._state]
        groups: dict[int, list[int]] = {}
        for node in fresh:
            groups.setdefault(id(self._state[prefixes.parent[node]][0]), []).append(node)
        if len(groups) > 1 and len(groups) > max(prefixes.depth[node] for node in fresh):
            self._read_again(prefixes, live)
        else:
            for group in groups.values():
                parents = [self._state[prefixes.parent[node]] for node in group]
                rows = torch.tensor([row for _, row in parents], device=self._device)
                tokens = [int(self._ids[prefixes.symbol[node]]) for node in group]
                self._keep(group, self._step(tokens, parents[0][0].select(rows)))
        # A prefix that was dropped is read again if it returns; states can be large.
        self._state = {node: self._state[node] for node in live}
        self._gain = {node: self._gain[node] for node in live}

    def _read_again(self, prefixes: _Prefixes, nodes: Sequence[int]) -> None:
        """Read whole prefixes, the longest first, so that the ones that go on are always the first rows."""
        nodes = sorted(nodes, key=lambda node: -prefixes.depth[node])
        texts = [[BOS, *(int(self._ids[symbol]) for symbol in prefixes.tokens(node))] for node in nodes]
        state: Any = self._model.start(None, None, batch=len(nodes))
        going = len(nodes)
        for place in range(len(texts[0])):
            step = self._step([text[place] for text in texts[:going]], state)
            state, longer = step.state, sum(len(text) > place + 1 for text in texts[:going])
            self._keep(nodes[longer:going], step, first=longer)
            if longer < going:
                state = state.select(torch.arange(longer, device=self._device))
            going = longer

    def _step(self, tokens: Sequence[int], state: Selectable) -> Step:
        step = self._model.step(torch.tensor(tokens, device=self._device), state)
        if self._ids.max() >= step.log_probs.shape[1]:
            raise ValueError(
                f"ctc: a symbol is token {self._ids.max()} of the language model, which has {step.log_probs.shape[1]}"
            )
        return step

    def _keep(self, nodes: Sequence[int], step: Step, first: int = 0) -> None:
        """The state and the next log-probabilities of nodes, which are the rows of a step from `first` on."""
        rows = np.arange(first, first + len(nodes))
        gain, end = np.zeros((len(nodes), len(self._ids))), np.zeros(len(nodes))
        if self._alpha:
            log_probs = step.log_probs.double().cpu().numpy()
            gain, end = self._alpha * log_probs[rows[:, None], self._ids], self._alpha * log_probs[rows, EOS]
        for place, (node, row) in enumerate(zip(nodes, rows.tolist(), strict=True)):
            self._state[node] = step.state, row
            self._gain[node], self._end[node] = gain[place] + self._beta, float(end[place])

    def gains(self, nodes: Integers) -> Floats:
        """Gain in score by one more symbol after nodes [...]: [..., V]; 0 for an empty place."""
        nothing = np.zeros(len(self._ids))
        found = [self._gain.get(node, nothing) for node in nodes.flatten().tolist()]
        return np.array(found, dtype=np.float64).reshape(*nodes.shape, len(self._ids))

    def ends(self, nodes: Integers) -> Floats:
        """Gain in score by the end of the text after nodes [...]; 0 for an empty place."""
        found = [self._end.get(node, 0.0) for node in nodes.flatten().tolist()]
        return np.array(found).reshape(nodes.shape)

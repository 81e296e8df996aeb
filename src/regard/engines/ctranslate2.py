"""CTranslate2 engine: conversion of models and search settings, decoding, and exact scores of its results."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cached_property
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn

from regard.decode.hypothesis import Hypothesis
from regard.decode.request import Request, SearchLimits
from regard.decode.search import Search
from regard.engines.layout import TransformerLayout
from regard.specials import BOS, EOS, UNK

PATIENCE = 2
"""Patience of an inexact search: a row ends when this multiple of `beam_size` hypotheses have finished."""


def options(search: Search, longest: int) -> dict[str, Any]:
    """Translate search settings to arguments of `translate_batch`, for outputs of up to `longest` tokens.

    Both searches keep the same beam and count EOS as a token. All hypotheses of CTranslate2 are returned and re-ranked
    by the formula of `regard.decode`, so its own length penalty is always 1, the mean per token. An exact search runs
    up to the maximum length.

    Raises:
        ValueError: a setting that CTranslate2 does not support, or defines differently.

    >>> options(Search(beam_size=5), 80)["num_hypotheses"]
    10
    >>> options(Search(strategy="sample"), 80)
    Traceback (most recent call last):
    ValueError: strategy="sample" draws other samples in the engine ctranslate2; leave the engine out
    """
    _check(search)
    chosen: dict[str, Any] = {
        "beam_size": 1,
        "max_decoding_length": longest,
        "min_decoding_length": 0,
        "suppress_sequences": [[str(number)] for number in search.forbid],
        "length_penalty": 1,
        "max_input_length": 0,
        "return_end_token": True,
        "return_scores": True,
    }
    if search.strategy == "beam":
        patience = longest if search.exact else min(PATIENCE, longest)
        chosen |= {"beam_size": search.beam_size, "patience": patience, "num_hypotheses": search.beam_size * patience}
    return chosen


def _check(search: Search) -> None:
    refused = {
        'strategy="sample" draws other samples': search.strategy == "sample",
        f"coverage={search.coverage} has another formula": search.coverage > 0,
        f"groups={search.groups} does not exist": search.groups > 1,
        f"min_length={search.min_length} changes the probabilities of what is allowed": search.min_length > 1,
        f"min_ratio={search.min_ratio} changes the probabilities of what is allowed": search.min_ratio is not None,
    }
    for what, asked in refused.items():
        if asked:
            raise ValueError(f"{what} in the engine ctranslate2; leave the engine out")
    if search.strategy == "beam" and search.beam_size == 1:
        raise ValueError('beam_size=1 is greedy search in the engine ctranslate2; set strategy="greedy"')


Tokens = tuple[int, ...]

_NEVER = -1e30  # log-probability of a forbidden token


class CTranslate2:
    """Encoder-decoder Transformer in CTranslate2; `regard.decode.generate` accepts it instead of the model.

    Args:
        model: the Transformer; it is copied.
        compute: `"float32"`, `"int8"` or another CTranslate2 type that the device supports.
        device: the device; None for a GPU if CTranslate2 finds one.

    Weights are transferred in CTranslate2's Transformer specification, with ids as token names. In float32 the
    log-probabilities equal the model's up to rounding. Padding and BOS have probability zero during the search;
    log-probabilities and scores of the results are then recomputed without this restriction. They and the alignments
    are computed lazily, for the whole batch on first access, so that texts alone do not pay for them.

    On a CPU each torch thread becomes a worker with a share of the batch. Threads that share a matrix product instead
    spin while they wait for each other: two use 1.5 to 2 times the CPU time of one, far more on a busy machine.

    Raises:
        ValueError: the package is missing, or the model or the number type is not supported.
    """

    def __init__(self, model: nn.Module, *, compute: str = "float32", device: str | torch.device | None = None) -> None:
        layout = TransformerLayout.of(model)
        self._program = _program(layout, compute, device)
        self._workers: int = self._program.num_translators
        self._places, self._size = layout.places, layout.sizes[1]

    def search(self, request: Request, search: Search) -> list[list[Hypothesis]]:
        """Return up to `n_best` hypotheses per source, best first."""
        sources, limits = self._sources(request), SearchLimits.of(search, request).longest.tolist()
        if any(number >= self._size for number in search.forbid):
            raise ValueError(f"forbid has the id {max(search.forbid)}; the model knows {self._size} ids from 0 on")
        found: list[list[Hypothesis]] = [[] for _ in sources]
        # translate_batch takes a single maximum length: one call per distinct limit.
        for longest in set(limits):
            rows = [row for row, limit in enumerate(limits) if limit == longest]
            chosen = self._search([sources[row] for row in rows], search, longest)
            for row, hypotheses in zip(rows, chosen, strict=True):
                found[row] = hypotheses
        return found

    def _sources(self, request: Request) -> list[list[str]]:
        if request.source is None or request.source.dim() != 2 or request.lengths is None:
            raise ValueError("the engine ctranslate2 reads ids, [B, S]")
        longest = max(request.lengths, default=0)
        if self._places is not None and longest > self._places:
            raise ValueError(f"a source has {longest} tokens; the engine ctranslate2 has positions for {self._places}")
        rows = zip(request.source.tolist(), request.lengths, strict=True)
        return [[str(number) for number in ids[:length]] for ids, length in rows]

    def _search(self, sources: list[list[str]], search: Search, longest: int) -> list[list[Hypothesis]]:
        """Return the best hypotheses of sources with the same maximum output length."""
        if self._places is not None and longest > self._places:
            raise ValueError(f"max_length={longest} is beyond the model's {self._places} positions; lower max_length")
        best = [_best(result, search) for result in self._translated(sources, options(search, longest))]
        details = _Details(self, sources, best, search, longest)
        found = [details.hypotheses(row) for row in range(len(sources))]
        if search.n_best > 1:  # rank by the recomputed scores of the unrestricted model
            found = [sorted(row, key=lambda made: (not made.finished, -made.score)) for row in found]
        return found

    def _translated(self, sources: list[list[str]], chosen: dict[str, Any]) -> Any:
        return self._program.translate_batch(sources, max_batch_size=self._share(sources), **chosen)

    def _share(self, sources: list[list[str]]) -> int:
        """Number of sources per worker."""
        return -(-len(sources) // self._workers)

    def log_probs(self, sources: list[list[str]], outputs: list[Tokens]) -> list[tuple[float, ...]]:
        """Score outputs by teacher forcing: log-probability per token, without EOS if it was not reached."""
        targets = [[str(number) for number in tokens if number != EOS] for tokens in outputs]
        scored = self._program.score_batch(sources, targets, max_input_length=0, max_batch_size=self._share(sources))
        return [tuple(one.log_probs[: len(tokens)]) for one, tokens in zip(scored, outputs, strict=True)]

    def attention(self, sources: list[list[str]], search: Search, longest: int) -> list[dict[Tokens, Tensor]]:
        """Repeat the search to collect the alignment [T, S] of every hypothesis.

        CTranslate2 computes the first step before it expands the beam, and takes that step's attention from the wrong
        row of the batch. Workaround: the first row depends on the source alone, so a greedy step provides it.
        """
        results = self._translated(sources, options(search, longest) | {"return_attention": True})
        first = options(Search(strategy="greedy"), 1) | {"return_attention": True}
        firsts = self._translated(sources, first) if search.strategy == "beam" and len(sources) > 1 else results
        found: list[dict[Tokens, Tensor]] = []
        for result, other in zip(results, firsts, strict=True):
            each = [torch.tensor(attention, device="cpu") for attention in result.attention]
            for alignment in each:
                alignment[0] = torch.tensor(other.attention[0][0], device="cpu")
            found.append(dict(zip(map(_ids, result.hypotheses), each, strict=True)))
        return found


class _Details:
    """Log-probabilities and alignments of a batch of answers, computed together on first access."""

    def __init__(
        self, engine: CTranslate2, sources: list[list[str]], best: list[list[Tokens]], search: Search, longest: int
    ) -> None:
        self._engine, self._sources, self._best = engine, sources, best
        self._search, self._longest = search, longest

    def hypotheses(self, row: int) -> list[Hypothesis]:
        """Return the hypotheses of one source."""
        return [self._hypothesis(row, tokens) for tokens in self._best[row]]

    def _hypothesis(self, row: int, tokens: Tokens) -> Hypothesis:
        return Hypothesis.later(
            tokens,
            lambda: self._log_probs[row, tokens],
            self._search.penalty,
            finished=tokens[-1] == EOS,
            alignment=lambda: self._alignments[row][tokens],
        )

    @cached_property
    def _log_probs(self) -> dict[tuple[int, Tokens], tuple[float, ...]]:
        answers = [(row, tokens) for row, each in enumerate(self._best) for tokens in each]
        sources = [self._sources[row] for row, _ in answers]
        scored = self._engine.log_probs(sources, [tokens for _, tokens in answers])
        return dict(zip(answers, scored, strict=True))

    @cached_property
    def _alignments(self) -> list[dict[Tokens, Tensor]]:
        return self._engine.attention(self._sources, self._search, self._longest)


def _best(result: Any, search: Search) -> list[Tokens]:
    """Return the best hypotheses by the score of `regard.decode`; CTranslate2 returns the mean per token."""
    ranked = []
    for names, mean in zip(result.hypotheses, result.scores, strict=True):
        if mean < _NEVER:
            continue
        tokens = _ids(names)
        ranked.append(
            (tokens[-1] != EOS, -mean * len(tokens) / search.penalty.divisor(len(tokens)), len(tokens), tokens)
        )
    return [tokens for *_, tokens in sorted(ranked)[: search.n_best]]


def _ids(names: Sequence[str]) -> Tokens:
    return tuple(map(int, names))


def _program(layout: TransformerLayout, compute: str, device: str | torch.device | None) -> Any:
    """Return a CTranslate2 translator loaded with the model."""
    if importlib.util.find_spec("ctranslate2") is None:
        raise ValueError(
            "the engine ctranslate2 needs its package, which is not installed; pip install 'regard[ctranslate2]'"
        )
    import ctranslate2

    place = torch.device(device or ("cuda" if ctranslate2.get_cuda_device_count() else "cpu"))
    if place.type not in ("cpu", "cuda"):
        raise ValueError(f"the engine ctranslate2 computes on cpu or cuda; got {str(place)!r}")
    if place.type == "cuda" and not ctranslate2.get_cuda_device_count():
        raise ValueError("the engine ctranslate2 sees no GPU; set device to 'cpu'")
    known = sorted(ctranslate2.get_supported_compute_types(place.type, place.index or 0))
    if compute not in known:
        raise ValueError(f"the engine ctranslate2 computes in {', '.join(known)} on {place.type}; got {compute!r}")
    with TemporaryDirectory() as folder:
        _specification(layout).save(folder)
        return ctranslate2.Translator(
            folder,
            device=place.type,
            device_index=place.index or 0,
            compute_type=compute,
            inter_threads=torch.get_num_threads() if place.type == "cpu" else 1,
            intra_threads=1,
        )


def _specification(layout: TransformerLayout) -> Any:
    from ctranslate2 import specs

    kind = {"relu": specs.Activation.RELU, "gelu": specs.Activation.GELU}[layout.activation]
    rotary = {} if layout.rotary_base is None else {"rotary_dim": 0, "rotary_base": layout.rotary_base}
    same = {"pre_norm": layout.pre_norm, "activation": kind, **rotary}
    encoder = specs.TransformerEncoderSpec(layout.num_layers, layout.num_heads, **same)
    # The alignment averages all heads of the last layer.
    decoder = specs.TransformerDecoderSpec(layout.num_layers, layout.num_heads, alignment_heads=0, **same)
    made = specs.TransformerSpec(encoder, decoder)
    for name, weight in layout.weights.items():
        _assign(made, name.split("/"), weight)
    source, target = layout.sizes
    made.register_source_vocabulary(_names(source))
    made.register_target_vocabulary(_names(target))
    made.config.unk_token, made.config.bos_token, made.config.eos_token = str(UNK), str(BOS), str(EOS)
    made.config.decoder_start_token = str(BOS)
    made.config.layer_norm_epsilon = layout.epsilon
    made.validate()
    made.optimize()
    return made


def _assign(part: Any, path: Sequence[str], weight: Tensor) -> None:
    """Assign a weight by its path; `layer_2` is the third entry of a list."""
    for name in path[:-1]:
        group, _, number = name.rpartition("_")
        part = getattr(part, name) if hasattr(part, name) else getattr(part, group)[int(number)]
    setattr(part, path[-1], weight.numpy())


def _names(size: int) -> list[str]:
    """Return a vocabulary whose token names are the ids."""
    return [str(number) for number in range(size)]

"""A search in CTranslate2's words, or why it cannot be done there."""

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
"""Unless a search is exact, CTranslate2 ends a row when so many times `beam_size` hypotheses have finished."""


def options(search: Search, longest: int) -> dict[str, Any]:
    """The arguments of `translate_batch` that stand for a search up to `longest` tokens.

    Both searches keep the same hypotheses open and count EOS among the tokens. CTranslate2 is asked for all that it
    found, to be ranked by our own formula, so its own length penalty is 1 throughout: the mean of a token. An exact
    search is one that ends at the greatest length.

    Raises:
        ValueError: what CTranslate2 does not have, or has with another meaning.

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

_NEVER = -1e30  # a log-probability that stands for one that may not be, where nothing better was left


class CTranslate2:
    """An encoder-decoder Transformer inside CTranslate2; `regard.decode.generate` takes it in the model's place.

    Args:
        model: the Transformer; it is copied.
        compute: `"float32"`, `"int8"` or another of CTranslate2's types that the device has.
        device: where it computes; None for a GPU if CTranslate2 sees one.

    Weights are handed over by CTranslate2's own specification of a Transformer, and ids stand for tokens. In float32
    the log-probabilities are the model's up to rounding. What is forbidden (padding and BOS) has no probability at all
    while CTranslate2 searches; the log-probabilities and the score of what it found are the model's own again. These
    and the alignments are computed for the batch when one of them is first read, so texts alone do not wait for them.

    On a CPU each of torch's threads is a worker with a share of the batch. Threads that share a product instead wait
    for each other, spinning: two cost 1.5 to 2 times the processor time of one, and far more on a busy machine.

    Raises:
        ValueError: the package is missing, the model is none that it can run, or the type is none of the device's.
    """

    def __init__(self, model: nn.Module, *, compute: str = "float32", device: str | torch.device | None = None) -> None:
        layout = TransformerLayout.of(model)
        self._program = _program(layout, compute, device)
        self._workers: int = self._program.num_translators
        self._places, self._size = layout.places, layout.sizes[1]

    def search(self, request: Request, search: Search) -> list[list[Hypothesis]]:
        """Up to `n_best` hypotheses for each source, best first."""
        sources, limits = self._sources(request), SearchLimits.of(search, request).longest.tolist()
        if any(number >= self._size for number in search.forbid):
            raise ValueError(f"forbid has the id {max(search.forbid)}; the model knows {self._size} ids from 0 on")
        found: list[list[Hypothesis]] = [[] for _ in sources]
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
        """The best hypotheses of sources that may all become equally long."""
        if self._places is not None and longest > self._places:
            raise ValueError(f"max_length={longest} is beyond the model's {self._places} positions; lower max_length")
        best = [_best(result, search) for result in self._translated(sources, options(search, longest))]
        details = _Details(self, sources, best, search, longest)
        found = [details.hypotheses(row) for row in range(len(sources))]
        if search.n_best > 1:  # by the model's own scores, which are computed for this
            found = [sorted(row, key=lambda made: (not made.finished, -made.score)) for row in found]
        return found

    def _translated(self, sources: list[list[str]], chosen: dict[str, Any]) -> Any:
        return self._program.translate_batch(sources, max_batch_size=self._share(sources), **chosen)

    def _share(self, sources: list[list[str]]) -> int:
        """The part of a batch that each worker gets."""
        return -(-len(sources) // self._workers)

    def log_probs(self, sources: list[list[str]], outputs: list[Tokens]) -> list[tuple[float, ...]]:
        """The model's own log-probabilities of each token; EOS, which is always scored, only where it was reached."""
        targets = [[str(number) for number in tokens if number != EOS] for tokens in outputs]
        scored = self._program.score_batch(sources, targets, max_input_length=0, max_batch_size=self._share(sources))
        return [tuple(one.log_probs[: len(tokens)]) for one, tokens in zip(scored, outputs, strict=True)]

    def attention(self, sources: list[list[str]], search: Search, longest: int) -> list[dict[Tokens, Tensor]]:
        """The alignment [T, S] of everything that the search finds, by the same search once more.

        CTranslate2 makes the first step of a beam before it is a beam, and takes that step's attention from the wrong
        row of a batch. It depends on the source alone, and a greedy step has it right.
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
    """Log-probabilities and alignments of the answers to a batch, computed for all of them when one is read."""

    def __init__(
        self, engine: CTranslate2, sources: list[list[str]], best: list[list[Tokens]], search: Search, longest: int
    ) -> None:
        self._engine, self._sources, self._best = engine, sources, best
        self._search, self._longest = search, longest

    def hypotheses(self, row: int) -> list[Hypothesis]:
        """The answers to one source."""
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
    """The best, ranked as our own search ranks; CTranslate2 scores by the mean of a token."""
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
    """CTranslate2 with the model in it."""
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
    # All heads of the last layer are averaged for the alignment.
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
    """Put a weight under its name; `layer_2` is the third of a list."""
    for name in path[:-1]:
        group, _, number = name.rpartition("_")
        part = getattr(part, name) if hasattr(part, name) else getattr(part, group)[int(number)]
    setattr(part, path[-1], weight.numpy())


def _names(size: int) -> list[str]:
    """A vocabulary of ids."""
    return [str(number) for number in range(size)]

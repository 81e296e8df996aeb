"""Our own decoding beside the engines, and beside CTranslate2 called directly: milliseconds per batch.

    python benchmarks/engines.py --batches 1 32 --device cpu

The model was never trained: it has the size of a small translation model, and never ends before the greatest length,
so that all programs take the same steps. First a gate: in float32 all must say the same, word for word. Then the
programs take turns, and the medians of the clock and of the processor time of all threads are printed; of eight bits
also how many words are those of float32, each of which changes all that follow. On a machine that others use the
processor time is what to compare, with one thread.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import torch

from regard.decode import Hypothesis, Search, generate
from regard.decode.request import Request
from regard.engines import CTranslate2, Onnx
from regard.models import Transformer
from regard.nn.cpu_decode.pack import packed_copy
from regard.nn.transformer_layer import LayerConfig
from regard.specials import EOS, SPECIALS

SEARCHES = {"greedy": {"strategy": "greedy"}, "beam 5": {"strategy": "beam", "beam_size": 5}}


def main() -> None:
    options = parse()
    model = never_ending(options.words, options.dim, options.layers).to(options.device)
    own = packed_copy(model) if options.device == "cpu" else model  # as `regard predict` answers
    programs: dict[str, Any] = {"own": own, "CTranslate2": CTranslate2(model, device=options.device)}
    if options.device == "cpu":
        programs["own int8"] = packed_copy(model, "int8")
        programs["onnxruntime"] = Onnx(model)
    programs["CTranslate2 int8"] = CTranslate2(model, compute="int8", device=options.device)
    programs["CTranslate2, directly"] = Direct(programs["CTranslate2"])
    print(f"{options.device}, {torch.get_num_threads()} threads, {options.tokens} tokens, {options.words:,} words")
    print("milliseconds: clock, processor (times as fast as own by the processor)")
    print(f"| batch | search | {' | '.join(programs)} | same words in int8 |")
    print("|---" * (len(programs) + 3) + "|")
    for batch in options.batches:
        source = torch.randint(len(SPECIALS), options.words, (batch, options.tokens), device=options.device)
        for name, settings in SEARCHES.items():
            search = Search(**settings, max_length=options.tokens)
            same = gate(programs, source, search)
            took = medians(programs, source, search, options.repeats)
            each = [f"{clock:.1f}, {busy:.1f} ({took['own'][1] / busy:.2f})" for clock, busy in took.values()]
            print(f"| {batch} | {name} | {' | '.join(each)} | {same:.0%} |")


class Direct:
    """CTranslate2 called as its own documentation has it, for the best answer alone."""

    def __init__(self, engine: CTranslate2) -> None:
        self._program = engine._program

    def search(self, request: Request, search: Search) -> list[list[Hypothesis]]:
        """The best hypothesis of each source."""
        assert request.source is not None
        names = [[str(number) for number in row] for row in request.source.tolist()]
        beam = search.beam_size if search.strategy == "beam" else 1
        share = -(-len(names) // self._program.num_translators)
        found = self._program.translate_batch(
            names, beam_size=beam, max_decoding_length=search.max_length, max_batch_size=share
        )
        said = [tuple(map(int, one.hypotheses[0])) for one in found]
        return [[Hypothesis.of(tokens, (), search.penalty, finished=False)] for tokens in said]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--tokens", type=int, default=20, help="of a source and of an output")
    parser.add_argument("--words", type=int, default=8000, help="of both vocabularies")
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--layers", type=int, default=3, help="of the encoder and of the decoder")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--device", default="cpu")
    return parser.parse_args()


def never_ending(words: int, dim: int, layers: int) -> Transformer:
    """A Transformer that was never trained, sure enough of its words that rounding does not choose among them."""
    torch.manual_seed(1)
    model = Transformer(words, words, LayerConfig(dim=dim, num_heads=4), num_layers=layers, tied="none")
    with torch.no_grad():
        model.output_map.weight.mul_(2.0)
        model.output_map.bias[EOS] -= 50.0
    return model.eval()


def gate(programs: dict[str, Any], source: torch.Tensor, search: Search) -> float:
    """See that float32 says the same everywhere; the share of words that eight bits say too."""
    said = {name: outputs(program, source, search) for name, program in programs.items()}
    for name, words in said.items():
        if words != said["own"] and "int8" not in name:
            raise SystemExit(f"{search.strategy}, {len(source)} rows: {name} says something else in float32")
    words = [
        (one, other)
        for ours, theirs in zip(said["own"], said["CTranslate2 int8"], strict=True)
        for one, other in zip(ours, theirs, strict=True)
    ]
    return sum(one == other for one, other in words) / len(words)


def outputs(program: Any, source: torch.Tensor, search: Search) -> list[tuple[int, ...]]:
    with torch.inference_mode():
        return [found[0].tokens for found in generate(program, source, search=search)]


def medians(
    programs: dict[str, Any], source: torch.Tensor, search: Search, repeats: int
) -> dict[str, tuple[float, float]]:
    """Milliseconds of each program in turns, by the clock and of the processor."""
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
    for _ in range(repeats):
        for name, program in programs.items():
            clock, busy = time.perf_counter(), time.process_time()
            outputs(program, source, search)
            took[name].append((1000 * (time.perf_counter() - clock), 1000 * (time.process_time() - busy)))
    columns = {name: tuple(zip(*times, strict=True)) for name, times in took.items()}
    return {name: (statistics.median(clock), statistics.median(busy)) for name, (clock, busy) in columns.items()}


if __name__ == "__main__":
    main()

"""Our own decoding beside CTranslate2's, in float32 and in eight bits: milliseconds a batch.

    python benchmarks/engines.py --batches 1 32 --device cpu

The model was never trained: it has the size of a small translation model, and never ends before the greatest length,
so that both programs take the same steps. First a gate: in float32 both must say the same, word for word. Then the
programs take turns, and the median of their times is printed; of eight bits also how many words are those of float32,
each of which changes all that follow.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import torch

from regard.decode import Search, generate
from regard.engines import CTranslate2
from regard.models import Transformer
from regard.nn.cpu_decode.pack import packed_copy
from regard.nn.transformer_layer import LayerConfig
from regard.specials import EOS, SPECIALS

SEARCHES = {"greedy": {"strategy": "greedy"}, "beam 5": {"strategy": "beam", "beam_size": 5}}


def main() -> None:
    options = parse()
    model = never_ending(options.words, options.dim, options.layers).to(options.device)
    own = packed_copy(model) if options.device == "cpu" else model  # as `regard predict` answers
    programs: dict[str, Any] = {"own": own, "float32": CTranslate2(model, device=options.device)}
    programs["int8"] = CTranslate2(model, compute="int8", device=options.device)
    rows = []
    for batch in options.batches:
        source = torch.randint(len(SPECIALS), options.words, (batch, options.tokens), device=options.device)
        for name, settings in SEARCHES.items():
            search = Search(**settings, max_length=options.tokens)
            same = gate(programs, source, search)
            rows.append((batch, name, medians(programs, source, search, options.repeats), same))
    print(f"{options.device}, {torch.get_num_threads()} threads, {options.tokens} tokens, {options.words:,} words")
    print("| batch | search | own | CTranslate2 float32 | CTranslate2 int8 | same words in int8 |")
    print("|---|---|---|---|---|---|")
    for batch, name, took, same in rows:
        faster = [f"{took[each]:.1f} ms ({took['own'] / took[each]:.1f} times as fast)" for each in ("float32", "int8")]
        print(f"| {batch} | {name} | {took['own']:.1f} ms | {' | '.join(faster)} | {same:.0%} |")


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
    """See that float32 says the same as we do; the share of words that eight bits say too."""
    said = {name: outputs(program, source, search) for name, program in programs.items()}
    if said["own"] != said["float32"]:
        raise SystemExit(f"{search.strategy}, {len(source)} rows: CTranslate2 says something else in float32")
    words = [
        (one, other)
        for ours, theirs in zip(said["own"], said["int8"], strict=True)
        for one, other in zip(ours, theirs, strict=True)
    ]
    return sum(one == other for one, other in words) / len(words)


def outputs(program: Any, source: torch.Tensor, search: Search) -> list[tuple[int, ...]]:
    with torch.inference_mode():
        return [found[0].tokens for found in generate(program, source, search=search)]


def medians(programs: dict[str, Any], source: torch.Tensor, search: Search, repeats: int) -> dict[str, float]:
    """Milliseconds of each program, in turns."""
    took: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(repeats):
        for name, program in programs.items():
            begin = time.perf_counter()
            outputs(program, source, search)
            took[name].append(1000 * (time.perf_counter() - begin))
    return {name: statistics.median(times) for name, times in took.items()}


if __name__ == "__main__":
    main()

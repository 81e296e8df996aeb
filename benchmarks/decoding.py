"""Output tokens a second on the CPU: our decoding beside that of Hugging Face transformers and of OpenNMT-py.

    python -m benchmarks.decoding --threads 1 --rounds 9

First the gates: our greedy search says what the plain model says by teacher forcing, token by token; and with the
weights of a Marian model our greedy search and our beam find the hypotheses that transformers finds. Then all are timed
in turn, each in a process of its own: 20 source words, 20 output tokens, random weights, float32, no early end. The
others are used where they can be imported; without them our own are timed alone.

OpenNMT-py's recurrent models are of the same cell, width and attention as ours, not the same function: theirs feed the
last context back in, and the two directions of their encoders are together as wide as the decoder, which are so each in
Bahdanau's model.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import importlib
import importlib.util
import statistics
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from benchmarks import opennmt
from benchmarks.worker import CLOCKS, Timed, Worker
from regard.decode import Search, generate
from regard.models import build
from regard.nn import pack
from regard.specials import BOS, EOS, PAD

WORDS, LENGTH, DIM, HEADS, HIDDEN, LAYERS, PLACES = 8000, 20, 256, 4, 1024, 3, 512
FORBIDDEN = (PAD, BOS, EOS)

RECURRENT: dict[str, dict[str, Any]] = {"bahdanau": {}, "luong": {"bidirectional": True}}
OURS = ("transformer", *RECURRENT)
EMBEDDING, STATE = 256, 512

Find = Callable[[list[list[int]], int], object]
"""Sources of one length and a beam size -> what was found."""


class Row(NamedTuple):
    """The median tokens a second of each system at one batch size and beam size."""

    batch: int
    beam: int
    speeds: dict[str, float]


def main() -> None:
    options = parse()
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    marian = make_marian()
    models = make_models(marian)
    with torch.inference_mode():
        gates({name: pack(copy.deepcopy(model)) for name, model in models.items()}, models, marian)
    with contextlib.ExitStack() as stack:
        runs: dict[str, Timed] = {
            name: stack.enter_context(Worker(make_run, name, threads=options.threads, clock=options.clock))
            for name in (*peers(), *OURS)
        }
        rows = [timed(runs, batch, beam, options.rounds) for batch in options.batches for beam in options.beams]
    print(table(rows, options.threads))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=1, help="threads of every system")
    parser.add_argument("--rounds", type=int, default=9, help="times that each is timed; the median counts")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 32], help="sources decoded together")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5], help="beam sizes; 1 is greedy search")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu, for one thread on a busy machine")
    return parser.parse_args()


def make_models(marian: Any) -> dict[str, nn.Module]:
    """Our models by name, the Transformer with the weights of Marian where there is one."""
    transformer = build(
        "transformer", WORDS, WORDS, num_layers=LAYERS, dim=DIM, num_heads=HEADS, hidden_dim=HIDDEN, dropout=0.0,
        norm="post", activation="gelu", positions="learned", max_length=PLACES, tied="all",
    )  # fmt: skip
    if marian is not None:
        with torch.no_grad():
            hand_over(marian, transformer)
    made = {
        "transformer": transformer,
        **{
            kind: build(kind, WORDS, WORDS, embedding_dim=EMBEDDING, hidden_dim=STATE, **rest)
            for kind, rest in RECURRENT.items()
        },
    }
    return {name: model.eval() for name, model in made.items()}


def peers() -> list[str]:
    """What our models are compared with, named after ours: those that can be imported."""
    here = {"transformer": importlib.util.find_spec("transformers") is not None}
    return [theirs(name) for name in OURS if here.get(name, opennmt.package() is not None)]


def make_run(name: str) -> Find:
    """What finds hypotheses with a system."""
    run: Callable[[Tensor, int], object]
    if name == theirs("transformer"):
        run = partial(found_by, make_marian())
    elif name in OURS:
        run = partial(found, pack(make_models(None)[name]))
    else:
        kind = next(one for one in RECURRENT if theirs(one) == name)
        opennmt.package()
        model = opennmt.make(kind, words=WORDS, embedding=EMBEDDING, hidden=STATE)
        run = partial(opennmt.found, model, length=LENGTH)

    def find(source: list[list[int]], beam: int) -> object:
        with torch.inference_mode():
            return run(torch.tensor(source), beam)

    return find


def theirs(name: str) -> str:
    """How the peer of our system is called."""
    return f"HF {name}" if name == "transformer" else f"ONMT {name}"


def make_marian() -> Any:
    """A Marian model of the same size with random weights; None without transformers."""
    try:
        transformers: Any = importlib.import_module("transformers")
    except ImportError:
        return None
    config = transformers.MarianConfig(
        vocab_size=WORDS, d_model=DIM, encoder_layers=LAYERS, decoder_layers=LAYERS, encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS, encoder_ffn_dim=HIDDEN, decoder_ffn_dim=HIDDEN, pad_token_id=PAD,
        eos_token_id=EOS, bos_token_id=BOS, decoder_start_token_id=BOS, forced_eos_token_id=None,
        max_position_embeddings=PLACES, scale_embedding=True, init_std=0.06,
    )  # fmt: skip
    return transformers.MarianMTModel(config).eval()


def hand_over(marian: Any, ours: Any) -> None:
    """Give our Transformer the weights of a Marian model."""
    theirs = marian.model
    ours.words.table.weight.copy_(theirs.shared.weight)
    ours.output_map.bias.copy_(marian.final_logits_bias[0])
    ours.encoder.words.places.table.copy_(theirs.encoder.embed_positions.weight)
    ours.words.places.table.copy_(theirs.decoder.embed_positions.weight)
    for side in ("encoder", "decoder"):
        for mine, layer in zip(getattr(ours, side).layers, getattr(theirs, side).layers, strict=True):
            parts = [(mine.attention, layer.self_attn)]
            pairs = [(mine.attention_norm, layer.self_attn_layer_norm), (mine.hidden_norm, layer.final_layer_norm)]
            pairs += [(mine.inner_map, layer.fc1), (mine.outer_map, layer.fc2)]
            if side == "decoder":
                parts.append((mine.cross, layer.encoder_attn))
                pairs.append((mine.cross_norm, layer.encoder_attn_layer_norm))
            for attention, given in parts:
                pairs += [(attention.score.query_map, given.q_proj), (attention.score.key_map, given.k_proj)]
                pairs += [(attention.value_map, given.v_proj), (attention.output_map, given.out_proj)]
            for module, given in pairs:
                module.weight.copy_(given.weight)
                module.bias.copy_(given.bias)


def gates(systems: dict[str, nn.Module], models: dict[str, nn.Module], marian: Any) -> None:
    """Nothing is timed that says something else than the plain models, or than transformers."""
    source = torch.randint(4, WORDS, (3, LENGTH))
    for name, model in systems.items():
        if found(model, source, 1) != by_teacher_forcing(models[name], source):
            raise SystemExit(f"gate: greedy search with {name} does not say what teacher forcing says")
    for beam in (1, 5) if marian is not None else ():
        if found(systems["transformer"], source, beam) != found_by(marian, source, beam):
            raise SystemExit(f"gate: with a beam of {beam} transformers finds something else than we do")
    print("gates: all passed", flush=True)


def by_teacher_forcing(model: Any, source: Tensor) -> list[list[int]]:
    """The likeliest tokens, the whole prefix read anew for each."""
    said = torch.full((len(source), 1), BOS)
    for _ in range(LENGTH):
        logits = model(source, None, said).logits[:, -1].clone()
        logits[:, list(FORBIDDEN)] = -torch.inf
        said = torch.cat((said, logits.argmax(-1, keepdim=True)), dim=1)
    return said[:, 1:].tolist()


def found(model: Any, source: Tensor, beam: int) -> list[list[int]]:
    """Our best hypotheses."""
    strategy: dict[str, Any] = {"strategy": "greedy"} if beam == 1 else {"strategy": "beam", "beam_size": beam}
    search = Search(**strategy, max_length=LENGTH, min_length=LENGTH, forbid=FORBIDDEN)
    return [list(hypotheses[0].tokens) for hypotheses in generate(model, source, None, search)]


def found_by(marian: Any, source: Tensor, beam: int) -> list[list[int]]:
    """Those of transformers."""
    said = marian.generate(
        source, attention_mask=torch.ones_like(source), num_beams=beam, do_sample=False, early_stopping=False,
        max_new_tokens=LENGTH, suppress_tokens=list(FORBIDDEN),
    )  # fmt: skip
    return [row[1:] for row in said.tolist()]


def timed(runs: dict[str, Timed], batch: int, beam: int, rounds: int) -> Row:
    """Every system in turn, `rounds` times; the median of each."""
    source = torch.randint(4, WORDS, (batch, LENGTH)).tolist()
    times: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds + 1):
        for name, run in runs.items():
            seconds, _ = run(source, beam)
            if number:  # the first is for warming up
                times[name].append(seconds)
    return Row(batch, beam, {name: batch * LENGTH / statistics.median(taken) for name, taken in times.items()})


def table(rows: list[Row], threads: int) -> str:
    """Tokens a second, and how many times as fast our systems are as their peers."""
    names = list(rows[0].speeds)
    compared = [name for name in names if theirs(name) in names]
    lines = [
        f"tokens/s, {threads} thread(s), torch {torch.__version__}; then ours over theirs: {', '.join(compared)}",
        f"{'':16}" + "".join(f"{name:>16}" for name in names),
    ]
    for row in rows:
        cells = "".join(f"{row.speeds[name]:16,.0f}" for name in names)
        ratios = "".join(f"{row.speeds[name] / row.speeds[theirs(name)]:8.2f}x" for name in compared)
        lines.append(f"batch {row.batch:2}, beam {row.beam:<2}{cells}{ratios}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()

"""Fingerprints of short trainings, to compare two versions of the code bit for bit.

    python benchmarks/fingerprint.py --output before.json          # on the one commit
    python benchmarks/fingerprint.py --against before.json         # on the other: names every row that differs

Every shipped recipe that needs no files is trained for a few updates on little data, and so are variants that cover the
other models, scores and aligners. A fingerprint holds the rows of `metrics.jsonl`, a hash of the trained weights, and
the answers to the questions of the run's own report. With `--data PATH` the recipes that read files are trained too,
where their folder is below PATH. The bits are those of one machine: compare fingerprints from the same one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

RECIPES = Path(__file__).parents[1] / "src" / "regard"
SHORT = ["train.steps=6", "train.log_every=1", "train.valid_every=3", "train.checkpoint_every=4"]
FEW = ["data.train_size=200", "data.valid_size=20", "data.test_size=20"]
_SMALL = "embedding_dim: 12, hidden_dim: 16"
_BLOCKS = "dim: 16, num_heads: 2, num_layers: 2, hidden_dim: 32"
VARIANTS: dict[str, list[str]] = {
    **{
        f"dates-{name}": ["dates", f"model={{{model}}}"]
        for name, model in {
            "luong": f"kind: luong, {_SMALL}",
            "luong-local-p": f"kind: luong, {_SMALL}, attention: {{score: general, align: local_p}}",
            "luong-local-m": f"kind: luong, {_SMALL}, attention: {{score: concat, align: local_m}}",
            "seq2seq": f"kind: seq2seq, {_SMALL}, cells: lstm",
            "simple": f"kind: simple_attention, {_SMALL}",
            "lstmn": f"kind: lstmn, {_SMALL}",
            "transformer": f"kind: transformer, {_BLOCKS}",
            "transformer-pre": f"kind: transformer, {_BLOCKS}, norm: pre, positions: rotary",
            "hard": f"kind: bahdanau, {_SMALL}, attention: {{score: additive, align: hard}}",
            "terms": f"kind: bahdanau, {_SMALL}, attention: {{score: additive, terms: [markov, position]}}",
            "cosine": f"kind: bahdanau, {_SMALL}, attention: cosine",
            "both-ways": f"kind: bidirectional, gamma: 0.1, model: {{kind: bahdanau, {_SMALL}, attention: additive}}",
        }.items()
    },
    **{
        f"tales-{name}": ["tales", f"model={{{model}}}"]
        for name, model in {
            "lstm": f"kind: language_model, cells: lstm, {_SMALL}, dropout: 0.1",
            "lstmn": f"kind: lstmn_lm, {_SMALL}",
            "transformer": f"kind: transformer_lm, {_BLOCKS}",
        }.items()
    },
    "tales-window": ["tales", f"model={{kind: language_model, {_SMALL}}}", "train.batch={sentences: 4, window: 8}"],
    "opinions-rnn": ["opinions", f"model={{kind: acceptor, pooling: attention, encoder: {{{_SMALL}}}}}"],
    "opinions-last": ["opinions", f"model={{kind: acceptor, pooling: last, encoder: {{cells: lstm, {_SMALL}}}}}"],
    "ntm-lstm": ["ntm_copy", "model.controller=lstm"],
    "ntm-none": ["ntm_copy", "model={kind: rnn, hidden_dim: 16}"],
}


def main() -> None:
    options = _arguments()
    jobs = dict(_jobs(options.data))
    chosen = {name: job for name, job in jobs.items() if not options.only or name in options.only}
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(options.jobs) as pool:
        rows = pool.map(lambda item: fingerprint(*item, Path(scratch) / item[0]), chosen.items())
        found = {}
        for name, row in zip(chosen, rows, strict=True):
            found[name] = row
            print(f"{name:24} {row.get('error') or row['weights']}", flush=True)
    if options.output is not None:
        options.output.write_text(json.dumps(found, ensure_ascii=False, indent=1), encoding="utf-8")
    if options.against is not None:
        sys.exit(compare(json.loads(options.against.read_text(encoding="utf-8")), found))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fingerprints of short trainings.")
    parser.add_argument("--output", type=Path, help="Write the fingerprints here.")
    parser.add_argument("--against", type=Path, help="Fingerprints of another version, to compare with.")
    parser.add_argument("--data", type=Path, help="The folder of the data sets, for recipes that read files.")
    parser.add_argument("--only", nargs="*", help="Names of some trainings.")
    parser.add_argument("--jobs", type=int, default=2, help="Trainings side by side.")
    return parser.parse_args()


def _jobs(data: Path | None) -> Iterator[tuple[str, list[str]]]:
    """The overrides of each training, by its name."""
    for path in sorted(RECIPES.rglob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        if "data.root=PATH" not in text:
            yield path.stem, [path.stem, *(FEW if "train_size" in text else [])]
        elif data is not None and (folder := _folder(text, data)) is not None:
            yield path.stem, [path.stem, f"data.root={folder}"]
    for name, given in VARIANTS.items():
        yield name, [*given, *(FEW if given[0] != "ntm_copy" else [])]


def _folder(text: str, data: Path) -> Path | None:
    """The folder below `data` with the first file that a recipe names."""
    named = re.search(r"\b(?:train|source|file): ([\w.*-]+\.[\w.*]+)", text)
    return None if named is None else next((path.parent for path in sorted(data.rglob(named[1]))), None)


def fingerprint(name: str, given: list[str], folder: Path) -> dict[str, Any]:
    """Train in a process of its own; the rows of the log, a hash of the weights, and the shown predictions."""
    command = [sys.executable, "-m", "regard", "train", given[0], "--runs", str(folder), "run=run", *SHORT, *given[1:]]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    log = (folder / "run" / "metrics.jsonl").read_text(encoding="utf-8")
    predictions = [line for line in (folder / "run" / "report.md").read_text("utf-8").splitlines() if "→" in line]
    return {
        "metrics": [json.loads(line) for line in log.splitlines()],
        "weights": weights_hash(folder / "run" / "model.safetensors"),
        "predictions": predictions,
    }


def weights_hash(path: Path) -> str:
    """The hash of names, shapes and bytes of all tensors, whatever the file's own layout."""
    digest = hashlib.sha256()
    for name, tensor in sorted(load_file(path).items()):
        digest.update(f"{name} {tensor.dtype} {tensor.shape}".encode())
        digest.update(tensor.tobytes())
    return digest.hexdigest()[:16]


def compare(before: dict[str, Any], after: dict[str, Any]) -> int:
    """Print what differs; 1 if anything does."""
    differing = [name for name in after if before.get(name) != after[name]]
    missing = sorted(before.keys() - after.keys())
    for name in differing:
        was, now = before.get(name, {}), after[name]
        parts = [part for part in ("metrics", "weights", "predictions", "error") if was.get(part) != now.get(part)]
        print(f"differs: {name}: {', '.join(parts)}" if was else f"new: {name}")
    for name in missing:
        print(f"not trained: {name}")
    print(f"{len(after) - len(differing)} of {len(after)} fingerprints are the same")
    return int(bool(differing or missing))


if __name__ == "__main__":
    main()

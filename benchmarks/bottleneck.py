"""BLEU against the length of the source, with and without attention: the bottleneck of one vector.

Captions are short, so longer texts are made by joining neighbours: up to three at a time to learn from, up to five to
be asked, so that the last ones are longer than all that was learned.

    python benchmarks/bottleneck.py join tok/train.lc.norm.tok.de.gz tok/train.lc.norm.tok.en.gz joined
    regard train multi30k_seq2seq data.root=... "data.train={source: joined/source, target: joined/target}" ...
    python benchmarks/bottleneck.py draw runs/joined_seq2seq runs/joined_bahdanau \
        --source tok/test_2016_flickr.lc.norm.tok.de --target tok/test_2016_flickr.lc.norm.tok.en

The whole commands stand in docs/notebook/results.md. Cho et al. 2014, "On the Properties of Neural Machine Translation:
Encoder-Decoder Approaches", figure 4; Bahdanau, Cho & Bengio 2015, figure 2.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

import regard
from regard.data.formats.lines import lines as read_lines
from regard.evaluate import metric

LONGEST = 400
"""Tokens that an answer may have."""


class Point(NamedTuple):
    """BLEU of sources that are `joined` sentences long, `length` words on average."""

    joined: int
    length: float
    bleu: float


def main() -> None:
    options = parse()
    if options.command == "join":
        join(options.source, options.target, options.folder, options.most)
        return
    sources, targets = lines(options.source), lines(options.target)
    curves: dict[str, list[Point]] = {}
    for folder in options.runs:
        curves[folder.name] = measure(regard.load(folder), sources, targets, options.most)
        for point in curves[folder.name]:
            print(
                f"{folder.name:>24}, {point.joined} joined, {point.length:5.1f} words: BLEU {point.bleu:.1f}",
                flush=True,
            )
    options.picture.parent.mkdir(parents=True, exist_ok=True)
    draw(curves, options.picture)
    options.picture.with_suffix(".json").write_text(json.dumps(curves, indent=1) + "\n", encoding="utf-8")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("join", help="write joined sentences to learn from")
    make.add_argument("source", type=Path)
    make.add_argument("target", type=Path)
    make.add_argument("folder", type=Path, help="where `source` and `target` go")
    make.add_argument("--most", type=int, default=3, help="sentences joined at most")
    show = commands.add_parser("draw", help="measure runs and draw their curves")
    show.add_argument("runs", nargs="+", type=Path, help="folders of runs that translate")
    show.add_argument("--source", type=Path, required=True, help="test sentences")
    show.add_argument("--target", type=Path, required=True, help="their translations")
    show.add_argument("--most", type=int, default=5, help="sentences joined at most")
    show.add_argument("--picture", type=Path, default=Path("bottleneck.png"), help="where the picture goes")
    return parser.parse_args()


def join(source: Path, target: Path, folder: Path, most: int) -> None:
    """Write all sentences by themselves, then two at a time, and so on."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in (("source", source), ("target", target)):
        texts = lines(path)
        grown = [text for size in range(1, most + 1) for text in joined(texts, size)]
        (folder / name).write_text("\n".join(grown) + "\n", encoding="utf-8")


def lines(path: Path) -> list[str]:
    return [line.text for line in read_lines(path)]


def joined(texts: list[str], size: int) -> list[str]:
    """Neighbours joined, `size` at a time; what is left over at the end is left out.

    >>> joined(["a b .", "c .", "d ."], 2)
    ['a b . c .']
    """
    return [" ".join(texts[begin : begin + size]) for begin in range(0, len(texts) - size + 1, size)]


def measure(predictor: Any, sources: list[str], targets: list[str], most: int) -> list[Point]:
    points = []
    for size in range(1, most + 1):
        asked, right = joined(sources, size), joined(targets, size)
        answers = [answer.text for answer in predictor.predict(asked, max_length=LONGEST)]
        length = sum(len(text.split()) for text in asked) / len(asked)
        points.append(Point(size, length, metric("bleu", tokenize="none")(answers, right).value))
    return points


def draw(curves: dict[str, list[Point]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(6, 3.6), layout="constrained")
    for name, points in curves.items():
        axis.plot([point.length for point in points], [point.bleu for point in points], "o-", label=name)
    axis.set(xlabel="words of the source (sentences joined)", ylabel="BLEU", ylim=(0, None))
    axis.grid(alpha=0.3)
    axis.legend()
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


if __name__ == "__main__":
    main()

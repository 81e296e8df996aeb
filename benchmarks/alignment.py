"""Alignment error rates of statistical aligners and of attention, trained on the same texts.

    python -m benchmarks.alignment --data PATH --folder runs/alignment                     # the grid: hours of a GPU
    python -m benchmarks.alignment --data PATH --folder runs/alignment --models --pairs 140000     # statistics alone
    python -m benchmarks.alignment --data PATH --folder runs/alignment --quick --models bahdanau bahdanau_guided

PATH holds `word_alignment` (gold links of Europarl de-en and Hansards en-fr), `tatoeba_deu_eng` or `tatoeba_fra_eng`,
and `multi30k/tok`. Texts are cut at punctuation and lower-cased. All train on the same pairs: those with gold links
(their texts, never their links), `--pairs` of Tatoeba and, without `--quick`, the training split of Multi30k; 500 other
pairs of Tatoeba validate. `--quick` is small enough for a CPU: width 128, 800 updates.

Attention is force-decoded; layer and head of a Transformer are chosen by agreement with the links of the diagonal
aligner on the validation pairs, never by gold links. For each run the AER with the row of the step that predicts a word
and with the row after it, and match and probability mass by offset against possible gold links. What is done already
(`results.jsonl` in the folder) is not done again. The last lines are tables.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from regard.alignment.links import GoldLinks, Links, read_gold
from regard.alignment.sentence_pairs import SentencePair, read_pairs
from regard.alignment.statistical import AlignerName, fit_aligner
from regard.alignment.symmetrise import Symmetrisation, symmetrise, transpose_links
from regard.evaluate.alignment_error import alignment_scores
from regard.recipes.load import load
from regard.runs.run import Run
from regard.systems.translation.aligning import AlignmentInput, RunAligner, rank_choices
from regard.train.screen import Screen
from regard.train.trainer import Trainer

LANGUAGES = {"deen": ("de", "en", "tatoeba_deu_eng/deu.txt.gz"), "enfr": ("en", "fr", "tatoeba_fra_eng/fra.txt.gz")}
VALID = 500
LUONG = {
    f"luong_{score}_{align}": f"{{score: {score}, align: {align}}}"
    for score in ("general", "dot", "concat", "location")
    for align in ("softmax", "local_m", "local_p")
    if (score, align) not in (("location", "local_m"), ("location", "local_p"))
}
MODELS = (*(f"{name}{how}" for name in ("bahdanau", *LUONG, "transformer") for how in ("", "_guided")),)


def main() -> None:
    options = arguments()
    options.folder.mkdir(parents=True, exist_ok=True)
    results = options.folder / "results.jsonl"
    found = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    for row in _missing(options, found):
        found.append(row)
        with results.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)
    print("\n".join(("", *table(found))))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of word_alignment, tatoeba_* and multi30k")
    parser.add_argument("--folder", type=Path, required=True, help="folder of runs and results")
    parser.add_argument("--languages", nargs="*", choices=LANGUAGES, default=list(LANGUAGES))
    parser.add_argument("--aligners", nargs="*", choices=get_args(AlignerName), default=list(get_args(AlignerName)))
    parser.add_argument("--models", nargs="*", choices=MODELS, default=list(MODELS))
    parser.add_argument("--seeds", nargs="*", type=int, default=[1, 2, 3])
    parser.add_argument("--pairs", type=int, default=140_000, help="pairs of Tatoeba")
    parser.add_argument("--updates", type=int, default=None, help="updates of a model; default: 20000, 800 if quick")
    parser.add_argument("--weight", type=float, default=0.05, help="weight of guided alignment")
    parser.add_argument("--quick", action="store_true", help="small models, no Multi30k")
    return parser.parse_args()


def _missing(options: argparse.Namespace, found: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the results that are not there yet."""
    done = {(row["language"], row["name"], row["seed"], row["pairs"]) for row in found}
    for language in options.languages:
        texts, more, valid = corpus(options, language)
        for name in options.aligners:
            if (language, name, 0, options.pairs) not in done:
                yield from _statistics(language, name, texts, more, options)
        folder = options.folder / f"{language}_{options.pairs}"
        _write(folder, "train", [*texts.pairs, *more])
        _write(folder, "valid", valid)
        for name in options.models:
            for seed in options.seeds:
                if (language, name, seed, options.pairs) not in done:
                    yield _attention(language, name, seed, texts, folder, options)


def corpus(options: argparse.Namespace, language: str) -> tuple[AlignmentInput, list[SentencePair], list[SentencePair]]:
    """Return the texts with gold links, further training pairs, and validation pairs."""
    source, target, tatoeba = LANGUAGES[language]
    gold = options.data / "word_alignment"
    pairs = [SentencePair(*(text.lower() for text in pair)) for pair in read_pairs(gold / f"{language}.src-tgt")]
    lines = _lines(options.data / tatoeba)
    random.Random(0).shuffle(lines)
    rows = []
    for line in lines[: options.pairs + VALID]:
        english, other = map(cut, line.split("\t")[:2])
        rows.append(SentencePair(english, other) if source == "en" else SentencePair(other, english))
    more = rows[VALID:]
    if not options.quick:
        folder = options.data / "multi30k" / "tok"
        texts = [_lines(folder / f"train.lc.norm.tok.{one}.gz") for one in (source, target)]
        more += [SentencePair(*pair) for pair in zip(*texts, strict=True)]
    return AlignmentInput(pairs, read_gold(gold / f"{language}.gold")), more, rows[:VALID]


def _lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def cut(text: str) -> str:
    """Return a text in lower case with spaces around punctuation."""
    return " ".join(re.findall(r"\w+(?:[-'’]\w+)*|[^\w\s]", text.lower()))


def _statistics(
    language: str, name: AlignerName, texts: AlignmentInput, more: Sequence[SentencePair], options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    assert texts.gold is not None
    words = [(pair.source_words, pair.target_words) for pair in [*texts.pairs, *more]]
    begin, count = time.perf_counter(), len(texts.pairs)
    forward = fit_aligner(words, name).links()[:count]
    back = [transpose_links(links) for links in fit_aligner([pair[::-1] for pair in words], name).links()[:count]]
    both = {
        how: [symmetrise(*pair, how) for pair in zip(forward, back, strict=True)] for how in get_args(Symmetrisation)
    }
    row = {how: aer(links, texts.gold) for how, links in {"forward": forward, "backward": back, **both}.items()}
    seconds = time.perf_counter() - begin
    yield {"language": language, "name": name, "seed": 0, "pairs": options.pairs, "seconds": round(seconds), "aer": row}


def aer(links: Sequence[Links], gold: Sequence[GoldLinks]) -> float:
    """Return the alignment error rate."""
    scores = alignment_scores(links, [one.sure for one in gold], [one.possible for one in gold])
    return round(scores["aer"].value, 4)


def _attention(
    language: str, name: str, seed: int, texts: AlignmentInput, data: Path, options: argparse.Namespace
) -> dict[str, Any]:
    """Return the alignment error rates of a model that is trained now."""
    assert texts.gold is not None
    begin = time.perf_counter()
    recipe = load("multi30k_luong", _keys(name, seed, data, options)).recipe
    folder = options.folder / f"{data.name}_{name}_{seed}"
    outcome = Trainer(recipe, Run(folder), screen=Screen(quiet=True)).fit()
    aligner = RunAligner.of(folder)
    if not aligner.is_chosen:
        aligner = replace(aligner, choice=rank_choices(aligner, None)[0])
    links = [one.possible for one in texts.gold]
    shifted = {shift: replace(aligner, choice=replace(aligner.choice, shift=shift)) for shift in (0, 1)}
    assert outcome.valid is not None
    return {
        "language": language,
        "name": name,
        "seed": seed,
        "pairs": options.pairs,
        "seconds": round(time.perf_counter() - begin),
        "parameters": outcome.parameters,
        "perplexity": outcome.valid.scores["perplexity"].value,
        "bleu": outcome.valid.scores["bleu"].value,
        "choice": str(aligner.choice),
        "aer": {f"shift {shift}": aer(one.links(texts.pairs), texts.gold) for shift, one in shifted.items()},
        "offsets": [score._asdict() for score in aligner.offsets(texts.pairs, links)],
    }


def _keys(name: str, seed: int, data: Path, options: argparse.Namespace) -> list[str]:
    """Return the keys of a run that differ from the recipe `multi30k_luong`."""
    plain, width = name.removesuffix("_guided"), 128 if options.quick else 512
    dropout = 0.1 if options.quick else 0.3
    model = f"{{kind: bahdanau, embedding_dim: {width}, hidden_dim: {width}, dropout: {dropout}}}"
    if plain == "transformer":
        model = f"{{kind: transformer, dim: {width}, hidden_dim: {2 * width}, num_heads: 4, num_layers: 3}}"
    elif plain in LUONG:
        model = (
            f"{{kind: luong, embedding_dim: {width}, hidden_dim: {width}, dropout: {dropout}, bidirectional: true, "
            f"attention: {LUONG[plain]}}}"
        )
    updates = options.updates or (800 if options.quick else 20_000)
    files = {split: f"{{source: {split}.source, target: {split}.target}}" for split in ("train", "valid")}
    return [
        f"data={{format: pairs, root: {data}, train: {files['train']}, valid: {files['valid']}}}",
        f"model={model}",
        f"tokenizer.size={4000 if options.quick else 16000}",
        f"train.steps={updates}",
        f"train.valid_every={updates}",
        f"train.checkpoint_every={updates}",
        f"train.batch={{sentences: {64 if options.quick else 256}}}",
        f"train.schedule.warmup={min(100, updates // 4) if options.quick else 1000}",
        f"train.optimizer.rate={1e-3 if plain == 'transformer' else 2e-3}",
        f"train.seed={seed}",
        "decode={strategy: greedy, max_length: 60}",
        "evaluate.select=loss",
        *([f"train.guided={{weight: {options.weight}}}"] if name != plain else []),
    ]


def _write(folder: Path, split: str, pairs: Sequence[SentencePair]) -> None:
    """Write the pairs with words on both sides."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = [pair for pair in pairs if pair.source and pair.target]
    for side in ("source", "target"):
        text = "".join(f"{getattr(pair, side)}\n" for pair in kept)
        (folder / f"{split}.{side}").write_text(text, encoding="utf-8")


def table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield tables of all results: means and standard deviations over the seeds."""
    statistical = [row for row in rows if "forward" in row["aer"]]
    if statistical:
        methods = list(statistical[0]["aer"])
        yield f"| languages | pairs | aligner | {' | '.join(methods)} | seconds |"
        yield "|---" * (len(methods) + 4) + "|"
    for row in statistical:
        cells = " | ".join(f"{row['aer'][how]:.3f}" for how in methods)
        yield f"| {row['language']} | {row['pairs']:,} | {row['name']} | {cells} | {row['seconds']} |"
    groups: dict[tuple[str, int, str], list[dict[str, Any]]] = {}
    for row in rows:
        if row not in statistical:
            groups.setdefault((row["language"], row["pairs"], row["name"]), []).append(row)
    if groups:
        offsets = [score["offset"] for score in next(iter(groups.values()))[0]["offsets"]]
        shown = " | ".join(f"match, mass {offset:+d}" for offset in offsets)
        yield f"\n| languages | pairs | model | seeds | AER | AER, shift | perplexity | BLEU | {shown} | seconds |"
        yield "|---" * (len(offsets) + 9) + "|"
    for (language, pairs, name), mine in groups.items():
        rates = [_shown([row["aer"][f"shift {shift}"] for row in mine]) for shift in (0, 1)]
        quality = [_shown([row[key] for row in mine], 1) for key in ("perplexity", "bleu")]
        by_offset = [
            ", ".join(_shown([row["offsets"][place][key] for row in mine], 2) for key in ("match", "mass"))
            for place in range(len(mine[0]["offsets"]))
        ]
        seconds = round(statistics.mean(row["seconds"] for row in mine))
        cells = [language, f"{pairs:,}", name, str(len(mine)), *rates, *quality, *by_offset, str(seconds)]
        yield f"| {' | '.join(cells)} |"


def _shown(values: Sequence[float], digits: int = 3) -> str:
    spread = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.{digits}f}{spread}"


if __name__ == "__main__":
    main()

"""Word alignment by the attention of a run, or by statistical aligners."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from regard.alignment.attention_links import attention_links
from regard.alignment.links import GoldLinks, Links, check_links, parse_gold, read_gold
from regard.alignment.offsets import OFFSETS, OffsetScore, offset_scores
from regard.alignment.sentence_pairs import SentencePair, read_pairs
from regard.alignment.statistical import AlignerName, align
from regard.data.example import Example, Examples
from regard.data.problems import DataError
from regard.explain.panel import Panel
from regard.predictor import Predictor, load
from regard.recipes.data_section import SplitName
from regard.systems.translation.alignment_choice import AlignmentChoice, kept_choice, ranked
from regard.systems.translation.force_decoding import ForcedAttention, force_decode
from regard.systems.translation.links_field import LINKS
from regard.systems.translation.task import Translation
from regard.tasks.splits import examples
from regard.view.text import isolated

HELPED = 20_000
"""Maximum number of training pairs that an aligner is fitted to, in addition to the validation split."""

Advance = Callable[[int], None]
"""Progress callback: called with the number of pairs processed since the last call."""


class AlignmentInput(NamedTuple):
    """Sentence pairs with their gold links, if any."""

    pairs: list[SentencePair]
    gold: list[GoldLinks] | None

    def turned(self) -> list[SentencePair]:
        """Return the pairs with source and target swapped."""
        return [pair.turned() for pair in self.pairs]


def texts_of_files(source: Path, target: Path | None, gold: Path | None, first: int | None = None) -> AlignmentInput:
    """Read texts and their gold links.

    Args:
        source, target: as in `read_pairs`.
        gold: file of gold links.
        first: as in `read_gold`.

    Raises:
        DataError: the files differ in length, a line cannot be read, or a link is outside its texts.
    """
    pairs = read_pairs(source, target)
    if not pairs:
        raise DataError(f"{source}: the file is empty; it should have one text per line")
    return AlignmentInput(pairs, None if gold is None else _gold(gold, pairs, first))


def texts_of_split(loaded: Predictor, split: SplitName, gold: Path | None, first: int | None = None) -> AlignmentInput:
    """Return the texts of a split of a run's data; generated data may have gold links of their own.

    Raises:
        DataError: the split does not exist, or as in `texts_of_files`.
    """
    found = examples(loaded.recipe, split)
    if found is None:
        raise DataError(f"the recipe of {loaded.run.folder} has no split {split!r}; give --source and --target")
    pairs, own = [], []
    for example in found:
        pairs.append(_pair(example.fields))
        if isinstance(links := example.fields.get(LINKS), str):
            own.append(parse_gold(links))
    if gold is not None:
        return AlignmentInput(pairs, _gold(gold, pairs, first))
    return AlignmentInput(pairs, own if len(own) == len(pairs) else None)


@dataclass(frozen=True)
class RunAligner:
    """Alignment by the attention of a run: forced decoding, with tokens merged to words.

    Attributes:
        loaded: the loaded run.
        choice: layer, head and shift of the attention.
        threshold: as in `attention_links`.
    """

    loaded: Predictor
    choice: AlignmentChoice
    threshold: float | None = None

    @classmethod
    def of(cls, folder: Path, *, threshold: float | None = None) -> RunAligner:
        """Load a run, with its stored choice or the default of its model.

        Raises:
            RunError: the folder is not a trained run.
        """
        loaded = load(folder)
        assert isinstance(loaded.task, Translation)
        return cls(loaded, loaded.task.alignment_choice(loaded.model), threshold)

    @property
    def is_chosen(self) -> bool:
        """True if the run has a stored choice, or was trained with guided alignment."""
        task = self.loaded.task
        assert isinstance(task, Translation)
        return kept_choice(self.loaded.run.folder) is not None or task.guidance is not None

    def with_choice(self, layer: int | None, head: int | None, shift: bool | None) -> RunAligner:
        """Return the aligner with another layer, head or shift; None keeps the current one."""
        choice = self.choice
        if layer is not None:  # a head is one of its layer
            choice = AlignmentChoice(layer, head, choice.shift)
        elif head is not None:
            choice = replace(choice, head=head)
        if shift is not None:
            choice = replace(choice, shift=int(shift))
        return replace(self, choice=choice)

    def attention(
        self, pairs: Sequence[SentencePair], advance: Advance = lambda done: None
    ) -> Iterator[ForcedAttention]:
        """Yield the attention of each pair with words on both sides, in arbitrary order."""
        assert isinstance(self.loaded.task, Translation)
        for one in force_decode(self.loaded.task, self.loaded.model, pairs):
            self.choice.check(*one.weights.shape[:2])
            yield one
            advance(1)

    def links(self, pairs: Sequence[SentencePair], advance: Advance = lambda done: None) -> list[Links]:
        """Return the links of each pair."""
        found: list[Links] = [frozenset() for _ in pairs]
        for one in self.attention(pairs, advance):
            found[one.number] = attention_links(one.between_words(self.choice), threshold=self.threshold)
        return found

    def offsets(self, pairs: Sequence[SentencePair], links: Sequence[Links]) -> list[OffsetScore]:
        """Return the agreement of attention with links for each row offset relative to the unshifted row of a word."""
        every = list(self.attention(pairs))
        shifted = [lambda offset, one=one: one.between_words(replace(self.choice, shift=offset)) for one in every]
        return offset_scores(shifted, [links[one.number] for one in every], OFFSETS)

    def ranked(
        self, pairs: Sequence[SentencePair], wanted: Sequence[GoldLinks], by: str, advance: Advance = lambda done: None
    ) -> list[AlignmentChoice]:
        """Return all choices with their alignment error rates on these pairs, best first."""
        return ranked(self.attention(pairs, advance), wanted, by, threshold=self.threshold)

    def panel(self, pair: SentencePair, gold: Links) -> Panel:
        """Return the attention between the words of a pair, with links outlined (Koehn & Knowles 2017, figure 8)."""
        found = next(self.attention([pair]), None)
        if found is None:
            raise DataError("a pair with a blank side has no attention to draw; name another with --line")
        return _panel(pair, found.between_words(self.choice), gold)


def rank_choices(
    aligner: RunAligner, texts: AlignmentInput | None, advance: Advance = lambda done: None
) -> list[AlignmentChoice]:
    """Rank the choices of a run by gold links, or by the links of the diagonal aligner without gold links.

    Args:
        aligner: aligner of the run.
        texts: texts to rank on; None for the validation split of its data.
        advance: progress callback.
    """
    loaded, helpers = aligner.loaded, list[SentencePair]()
    if texts is None:
        texts = texts_of_split(loaded, "valid", None)
        if texts.gold is None:
            train = examples(loaded.recipe, "train")
            helpers = [_pair(example.fields) for example in islice(_some(train), HELPED)]
    if texts.gold is not None:
        return aligner.ranked(texts.pairs, texts.gold, "gold links", advance)
    links = align([*texts.pairs, *helpers], "diagonal")[: len(texts.pairs)]
    wanted = [GoldLinks(one, one) for one in links]
    return aligner.ranked(texts.pairs, wanted, "links of the diagonal aligner", advance)


def statistical_panel(pair: SentencePair, links: Links, gold: Links) -> Panel:
    """Return the links of a pair as cells, with gold links outlined."""
    import numpy as np

    cells = np.zeros((len(pair.target_words), len(pair.source_words)))
    for source, target in links:
        cells[target, source] = 1.0
    return _panel(pair, cells, gold)


def with_corpus(pairs: Sequence[SentencePair], corpus: tuple[Path, Path] | None) -> list[SentencePair]:
    """Return pairs followed by those of a larger corpus."""
    return [*pairs, *([] if corpus is None else read_pairs(*corpus))]


def both_directions(
    pairs: Sequence[SentencePair], name: AlignerName, advance: Advance
) -> tuple[list[Links], list[Links]]:
    """Return the links of source to target and of target to source, both as (source, target), by statistics."""
    forward = align(pairs, name, method=None, progress=advance)
    back = align([pair.turned() for pair in pairs], name, method=None, progress=advance)
    return forward, back


def _panel(pair: SentencePair, weights: object, gold: Links) -> Panel:
    import torch

    return Panel(
        f"{isolated(pair.source)} → {isolated(pair.target)}",
        torch.as_tensor(weights),
        rows=tuple(pair.target_words),
        columns=tuple(pair.source_words),
        outlined=tuple(sorted((target, source) for source, target in gold)),
    )


def _gold(path: Path, pairs: Sequence[SentencePair], first: int | None) -> list[GoldLinks]:
    gold = read_gold(path, first=first)
    if len(gold) != len(pairs):
        raise DataError(f"{path} has {len(gold)} lines of links, and there are {len(pairs)} pairs; line n is of pair n")
    for number, (one, pair) in enumerate(zip(gold, pairs, strict=True), start=1):
        check_links(path, number, one.possible, (len(pair.source_words), len(pair.target_words)))
    return gold


def _pair(fields: dict[str, object]) -> SentencePair:
    return SentencePair(str(fields["source"]), str(fields["target"]))


def _some(found: Examples | None) -> Iterator[Example]:
    return iter(()) if found is None else iter(found)

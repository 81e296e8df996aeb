"""Baselines for the data of a recipe, for comparison with its results: `python -m benchmarks.baselines RECIPE`.

- Sentence: the whole sentence with the largest overlap with the question, weighted by inverse document frequency.
- Logistic: log-linear models of the start and the end of an answer, with lexical features of each word: question words
  near it and in its sentence; its word shape and that of its neighbours, each also conjoined with the question type.

Rajpurkar et al. 2016, section 5, rank the constituents of a parse by such features. Without a parser, each word is a
candidate start or end, and the answer is the span of at most `data.longest_answer` words with the largest sum.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from zlib import crc32

import torch
from torch import Tensor, nn

from regard.data.example import Example
from regard.evaluate.metrics import metric
from regard.recipes.sections import Recipe
from regard.systems.spans.sections import SpanData
from regard.systems.spans.task import best_spans
from regard.tasks.splits import examples

_WORD = re.compile(r"\w+(?:[-'’.,]\w+)*|[^\w\s]")
_KINDS = ("who", "when", "where", "why", "which", "how many", "how much", "how", "what")
_REACHES = (1, 2, 4, 8)
"""Distances, in words, within which words of the question are counted."""
_HASHES = 2**16
_DENSE = 2 * len(_REACHES) + 3


class Word(NamedTuple):
    """A word of a text in lower case, with its shape and its character offsets."""

    text: str
    form: str
    begin: int
    end: int


class FeaturedQuestion(NamedTuple):
    """A question with features of the S words of its passage.

    Attributes:
        words: words of the passage.
        hashed: [S, F], indices of hashed binary features.
        dense: [S, D], real-valued features.
        first, last: indices of the first and the last word of the answer; -1 to exclude the example from training.
    """

    words: list[Word]
    hashed: Tensor
    dense: Tensor
    first: int = -1
    last: int = -1


def words_of(text: str) -> list[Word]:
    """Return the words and punctuation marks of a text.

    >>> [(word.text, word.form) for word in words_of("In 1843, Ada's")]
    [('in', 'Aa'), ('1843', '0'), (',', ','), ("ada's", 'Aa')]
    """
    return [Word(one.group().lower(), _form(one.group()), *one.span()) for one in _WORD.finditer(text)]


def _form(word: str) -> str:
    if word[0].isdigit():
        return "0"
    if not word[0].isalpha():
        return word
    return "A" if word.isupper() else "Aa" if word[0].isupper() else "a"


def kind_of(question: str) -> str:
    """Return the type of a question, given by its first question word; "" without one.

    >>> kind_of("In the end, how many came?")
    'how many'
    """
    lower = f" {question.lower()} "
    found = [(lower.find(f" {kind} "), order, kind) for order, kind in enumerate(_KINDS) if f" {kind} " in lower]
    return min(found)[2] if found else ""


@dataclass(frozen=True)
class WordRarity:
    """Inverse document frequency log(N / n) of words in the N training passages.

    Attributes:
        rarity: value of each word.
        unseen: value of words that are not in training.
    """

    rarity: dict[str, float]
    unseen: float

    @classmethod
    def of(cls, passages: Iterable[str]) -> WordRarity:
        """Compute the frequencies from passages, each distinct passage once."""
        counts: Counter[str] = Counter()
        total = 0
        for passage in set(passages):
            counts.update({word.text for word in words_of(passage)})
            total += 1
        return cls({word: math.log(total / count) for word, count in counts.items()}, math.log(total))

    def weight(self, word: str) -> float:
        """Return the rarity of a word; 0 for punctuation."""
        return self.rarity.get(word, self.unseen) if word[0].isalnum() else 0.0

    def features(self, example: Example) -> FeaturedQuestion:
        """Return the features of an example."""
        words = words_of(str(example.fields["context"]))
        asked = {word.text for word in words_of(str(example.fields["question"]))}
        shared = torch.tensor([self.weight(word.text) if word.text in asked else 0.0 for word in words])
        sentences = torch.tensor(_sentences(words))
        best = torch.zeros(int(sentences.max()) + 1).index_add(0, sentences, shared)
        total = sum(map(self.weight, asked)) or 1.0
        columns = [best[sentences] / total, (best == best.max()).float()[sentences], (shared > 0).float()]
        sums = torch.cat((torch.zeros(1), shared.cumsum(0)))  # prefix sums: any window is one difference
        places = torch.arange(len(words))
        for reach in _REACHES:
            left, right = (places - reach).clamp(min=0), (places + 1 + reach).clamp(max=len(words))
            columns += [(sums[places] - sums[left]) / total, (sums[right] - sums[places + 1]) / total]
        hashed = torch.tensor(_hashed(words, kind_of(str(example.fields["question"]))))
        return FeaturedQuestion(words, hashed, torch.stack(columns, dim=1), *_span(words, example))


def _sentences(words: Sequence[Word]) -> list[int]:
    """Return the sentence index of each word."""
    found, number = [], 0
    for word in words:
        found.append(number)
        number += word.text in (".", "?", "!")
    return found


def _hashed(words: Sequence[Word], kind: str) -> list[list[int]]:
    """Return hashed features per position: words and shapes around it, alone and conjoined with the question type."""
    rows = []
    for place, word in enumerate(words):
        before = words[place - 1] if place else Word("<s>", "<s>", 0, 0)
        after = words[place + 1] if place + 1 < len(words) else Word("</s>", "</s>", 0, 0)
        plain = [f"f{word.form}", f"b{before.form}", f"a{after.form}", f"F{before.form}{word.form}{after.form}"]
        plain += [f"w{word.text}", f"B{before.text}", f"A{after.text}"]
        rows.append([crc32(f"{one}|{told}".encode()) % _HASHES for one in plain for told in ("", kind or "?")])
    return rows


def _span(words: Sequence[Word], example: Example) -> tuple[int, int]:
    """Return the indices of the first and the last word of the answer; -1 and -1 if it contains no word."""
    start = int(str(example.fields["start"]))
    end = start + len(str(example.fields["answer"]))
    inside = [number for number, word in enumerate(words) if word.end > start and word.begin < end]
    return (inside[0], inside[-1]) if inside else (-1, -1)


class LogisticReader(nn.Module):
    """Log-linear models of start and end over the words of a passage: logits [S, 2], linear in the features."""

    def __init__(self) -> None:
        super().__init__()
        self.hashed = nn.EmbeddingBag(_HASHES, 2, mode="sum")
        self.dense = nn.Linear(_DENSE, 2, bias=False)
        nn.init.zeros_(self.hashed.weight)

    def forward(self, hashed: Tensor, dense: Tensor) -> Tensor:
        """Score words by features [S, F] and [S, D]."""
        scores: Tensor = self.hashed(hashed) + self.dense(dense)
        return scores

    def fit(self, found: Sequence[FeaturedQuestion], *, epochs: int = 5, rate: float = 0.02, batch: int = 32) -> None:
        """Minimise the cross-entropy of starts and ends with Adam."""
        known = [one for one in found if one.first >= 0]
        optimizer = torch.optim.Adam(self.parameters(), lr=rate)
        draws = torch.Generator().manual_seed(0)
        for _ in range(epochs):
            for rows in torch.randperm(len(known), generator=draws).split(batch):
                part = [known[row] for row in rows.tolist()]
                optimizer.zero_grad()
                self._loss(part).backward()
                optimizer.step()

    def _loss(self, part: Sequence[FeaturedQuestion]) -> Tensor:
        logits = self(torch.cat([one.hashed for one in part]), torch.cat([one.dense for one in part]))
        each = logits.split([len(one.words) for one in part])
        losses = [-row.log_softmax(0)[[one.first, one.last], [0, 1]].sum() for row, one in zip(each, part, strict=True)]
        return torch.stack(losses).mean()

    @torch.inference_mode()
    def answer(self, one: FeaturedQuestion, passage: str, *, longest: int) -> str:
        """Return the most probable span of at most `longest` words."""
        logits = self(one.hashed, one.dense).unsqueeze(0)
        ((_, first, last),) = best_spans(logits, torch.arange(len(one.words)).unsqueeze(0), longest=longest)[0]
        return passage[one.words[first].begin : one.words[last].end]


def sentence_of(one: FeaturedQuestion, passage: str) -> str:
    """Return the sentence with the largest weighted overlap with the question."""
    chosen = [word for word, best in zip(one.words, one.dense[:, 1].tolist(), strict=True) if best]
    ends = [number for number, word in enumerate(chosen) if word.text in (".", "?", "!")]
    last = chosen[ends[0]] if ends else chosen[-1]
    return passage[chosen[0].begin : last.end]


def answers(train: Sequence[Example], test: Sequence[Example], *, longest: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each baseline and its answers to the test questions."""
    lexicon = WordRarity.of(str(one.fields["context"]) for one in train)
    passages = [str(one.fields["context"]) for one in test]
    asked = [lexicon.features(one) for one in test]
    yield "sentence", [sentence_of(one, passage) for one, passage in zip(asked, passages, strict=True)]
    reader = LogisticReader()
    reader.fit([lexicon.features(one) for one in train])
    said = [reader.answer(one, passage, longest=longest) for one, passage in zip(asked, passages, strict=True)]
    yield "logistic", said


def baselines(recipe: Recipe) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield name and metrics of each baseline on the test split."""
    assert isinstance(recipe.data, SpanData)
    train, test = examples(recipe, "train"), examples(recipe, "test")
    assert train is not None
    if test is None:
        raise SystemExit("the recipe names no test split")
    asked = list(test)
    references = [list(one.fields["answers"]) for one in asked]
    for name, said in answers(list(train), asked, longest=recipe.data.longest_answer):
        yield name, {kind: metric(kind)(said, references).value for kind in ("squad_f1", "squad_exact")}

"""The 20 tasks of bAbI with end-to-end memory networks, many side by side: the tables of Sukhbaatar et al. 2015.

    tar xzf babi_en_and_en-10k.tar.gz
    python benchmarks/babi.py en                         # a network for each task, 1,000 questions
    python benchmarks/babi.py en --joint                 # one network for all tasks
    python benchmarks/babi.py en-10k                     # 10,000 questions
    python benchmarks/babi.py en --tasks 1 4 6 15 --restarts 3

The networks are `regard.models.MemoryNetwork` with adjacent tying, written with a leading dimension for the run (a test
compares them), so that 20 tasks with 10 restarts each train as one. The published recipe: position encoding, time
encoding with random noise, linear start (80 epochs at half the rate without the softmax of the memories), then SGD at
0.01, halved every 25 epochs, for 100 epochs (joint: 60), batches of 32 with summed gradients of a norm up to 40, the
last 50 sentences, d = 20 (joint: 50). A tenth of the training questions is held back, as in the paper; nothing here
looks at it. **Of the restarts, the one with the lowest error on the training questions is the result**; the median of
all restarts stands beside it. Test questions decide nothing.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from regard.data import Stories
from regard.data.batching.order import permutation
from regard.ops.memory_hops import position_encoding

MEMORY, BATCH, NOISE, CLIP, RATE, SPREAD = 50, 32, 0.1, 40.0, 0.01, 0.1
PUBLISHED = {
    "en": "0.1 8.2 41.8 4.4 13.7 7.9 20.3 11.7 13.6 9.7 0.7 0.0 0.3 0.9 0.0 0.4 51.0 10.5 81.4 0.0",
    "en joint": "0.0 13.1 23.4 5.9 12.9 3.7 22.9 9.1 2.7 7.2 0.8 0.1 0.1 4.2 0.0 1.2 43.6 10.5 86.7 0.0",
}
"""Test errors in per cent, by the authors' programs, as this project's notes have them; 10k: only the mean, 6.6."""


class Questions(NamedTuple):
    """Questions of one split: stories [N, M] as numbers of sentences, the latest first, 0 where there is none more.

    Attributes:
        story: [N, M].
        count: [N], how many sentences there are.
        question: [N], numbers of sentences too.
        answer: [N], numbers of words.
        task: [N], the number of the task.
    """

    story: Tensor
    count: Tensor
    question: Tensor
    answer: Tensor
    task: Tensor

    def at(self, rows: Tensor) -> Questions:
        """Some of them."""
        return Questions(*(column[rows] for column in self))


@dataclass(frozen=True)
class Text:
    """What one network reads: its sentences [U, J] as words, and the questions to learn from and to be tested on."""

    sentences: Tensor
    words: int
    train: Questions
    test: Questions

    @property
    def slots(self) -> int:
        """The size of the memory: for the longest story, and what noise inserts."""
        longest = max(int(part.count.max()) for part in (self.train, self.test))
        return min(MEMORY, 5 + longest + longest // 2)


class Words(dict[str, int]):
    """Numbers of words or sentences in the order in which they come; 0 is nothing."""

    def number(self, word: str) -> int:
        return self.setdefault(word, len(self) + 1)


def read(folder: Path, tasks: Sequence[int]) -> Text:
    """The questions of some tasks, in lower case; the first nine tenths of each training file are learned from."""
    words, sentences = Words(), Words()
    parts: dict[str, list[Questions]] = {"train": [], "test": []}
    for task in tasks:
        for split, found in parts.items():
            examples = [example.fields for example in Stories(folder / f"qa{task}_*_{split}.txt")]
            rows = [_numbers(example, words, sentences) for example in examples]
            if split == "train":
                rows = [rows[place] for place in permutation(len(rows), task)[: round(0.9 * len(rows))]]
            columns = [torch.tensor(column) for column in zip(*rows, strict=True)]
            found.append(Questions(*columns, task=torch.full((len(rows),), task)))
    table = [[]] + [[words.number(word) for word in sentence.split()] for sentence in sentences]
    width = max(map(len, table))
    return Text(
        torch.tensor([row + [0] * (width - len(row)) for row in table]),
        len(words) + 1,
        *(Questions(*map(torch.cat, zip(*parts[split], strict=True))) for split in ("train", "test")),
    )


def _numbers(fields: dict[str, str | list[str]], words: Words, sentences: Words) -> tuple[list[int], int, int, int]:
    """A question as a row of `Questions`, without its task."""
    story = [sentences.number(sentence.lower()) for sentence in fields["story"]][-MEMORY:][::-1]
    question, answer = (str(fields[name]).lower() for name in ("question", "answer"))
    return story + [0] * (MEMORY - len(story)), len(story), sentences.number(question), words.number(answer)


class Fleet:
    """R networks that learn side by side: S restarts on each of G texts, R = G S.

    A sentence is encoded as Σ_j l_j ⊙ A x_j with l_kj = (1 - j/J) - (k/d)(1 - 2j/J), which is linear in k/d: two counts
    of words, one weighted by 1 - j/J and one by 1 - 2j/J, times the table A. All sentences are encoded at once.

    Args:
        texts: what each group of restarts reads.
        restarts: S.
        dim: d.
        hops: K.
        device: where.
        seed: of the first weights, batches and noise.

    Parameters: `tables` [R, V, K + 1, d] are A¹, C¹, ..., C^K, `times` [R, M, K + 1, d] the ages that go with them.
    """

    def __init__(
        self, texts: Sequence[Text], restarts: int, dim: int, hops: int, *, device: torch.device, seed: int = 0
    ) -> None:
        self.texts, self.restarts, self.dim, self.hops, self.device = texts, restarts, dim, hops, device
        self.runs = len(texts) * restarts
        slots = torch.tensor([text.slots for text in texts], device=device)
        self.slots, self.memory = slots.repeat_interleave(restarts).view(-1, 1, 1), int(slots.max())
        generator = torch.Generator().manual_seed(seed)
        vocabulary = max(text.words for text in texts)
        shape = (self.runs, vocabulary, hops + 1, dim), (self.runs, self.memory, hops + 1, dim)
        drawn = [(SPREAD * torch.randn(size, generator=generator)).to(device) for size in shape]
        self.tables, self.times = (tensor.requires_grad_() for tensor in drawn)
        self.first, self.slope = (bags.to(device) for bags in _bags(texts, vocabulary))
        self.known = torch.stack([torch.arange(vocabulary) < text.words for text in texts]).to(device)
        self.known[:, 0] = False
        self.depth = torch.arange(1, dim + 1, device=device) / dim
        with torch.no_grad():
            self.tables[:, 0] = 0.0

    @property
    def parameters(self) -> list[Tensor]:
        return [self.tables, self.times]

    def encode(self) -> Tensor:
        """All sentences by all tables, [R, U, K + 1, d]."""
        runs, words, tables, dim = self.tables.shape
        weights = self.tables.view(len(self.texts), self.restarts, words, tables * dim)
        plain, sloped = (bags.unsqueeze(1) @ weights for bags in (self.first, self.slope))
        return (plain - self.depth.repeat(tables) * sloped).view(runs, -1, tables, dim)

    def logits(self, batch: Questions, *, linear: bool = False, noise: float = 0.0) -> Tensor:
        """Answers [R, B, V] to questions whose columns are [R, B]."""
        encoded = self.encode()
        story, real = _aged(batch.story[..., : self.memory], batch.count, noise, self.slots)
        memory = _looked_up(encoded, story) + self.times.unsqueeze(1)  # [R, B, M, K + 1, d]
        state = _looked_up(encoded[:, :, 0], batch.question)
        for hop in range(self.hops):
            energy = (memory[..., hop, :] * state.unsqueeze(2)).sum(-1)
            weights = energy * real if linear else self._weights(energy, real)
            state = state + (weights.unsqueeze(-1) * memory[..., hop + 1, :]).sum(2)
        said = state @ self.tables[:, :, -1].transpose(1, 2)
        return said.masked_fill(~self.known.repeat_interleave(self.restarts, 0).unsqueeze(1), -torch.inf)

    def _weights(self, energy: Tensor, real: Tensor) -> Tensor:
        """The softmax of [R, B, M], in which empty slots take part (see `regard.nn.SlotSoftmax`)."""
        empty = (self.slots - real.sum(-1, keepdim=True)).clamp(min=0).log()
        return torch.cat((energy.masked_fill(~real, -torch.inf), empty), -1).softmax(-1)[..., :-1]

    def update(self, batch: Questions, rate: Tensor, *, linear: bool) -> None:
        """One step of SGD in each run, on its summed loss, with its gradient cut to the norm `CLIP`."""
        log_probs = self.logits(batch, linear=linear, noise=NOISE).log_softmax(-1)
        loss = -log_probs.gather(-1, batch.answer.unsqueeze(-1)).sum()
        gradients = torch.autograd.grad(loss, self.parameters)
        with torch.no_grad():
            gradients[0][:, 0] = 0.0
            squares = sum(gradient.flatten(1).square().sum(1) for gradient in gradients)
            assert isinstance(squares, Tensor)
            factor = (CLIP / squares.sqrt().clamp(min=CLIP)).nan_to_num(0.0, 0.0, 0.0)
            for parameter, gradient in zip(self.parameters, gradients, strict=True):
                parameter -= rate * factor.view(-1, 1, 1, 1) * gradient.nan_to_num(0.0, 0.0, 0.0)

    @torch.no_grad()
    def errors(self, split: str, *, linear: bool = False, size: int = 250) -> Tensor:
        """The share of wrong answers, [R, N] as zeros and ones; texts have equally many questions."""
        columns = self.together(split)
        wrong = []
        for begin in range(0, columns.answer.shape[1], size):
            part = Questions(*(column[:, begin : begin + size] for column in columns))
            wrong.append(self.logits(part, linear=linear).argmax(-1) != part.answer)
        return torch.cat(wrong, 1).float()

    def together(self, split: str) -> Questions:
        """All questions of a split, columns [R, N, ...]; as many of each text as the smallest has."""
        parts = [getattr(text, split) for text in self.texts]
        size = min(len(part.answer) for part in parts)
        cut = (part.at(torch.arange(size)) for part in parts)
        stacked = (torch.stack(column).to(self.device) for column in zip(*cut, strict=True))
        return Questions(*(column.repeat_interleave(self.restarts, 0) for column in stacked))


def _looked_up(table: Tensor, rows: Tensor) -> Tensor:
    """Rows [R, ...] of tables [R, U, ...]; unlike an index, its backward pass adds on a GPU without sorting."""
    runs, size = table.shape[:2]
    first = torch.arange(runs, device=rows.device).view(-1, *([1] * (rows.dim() - 1))) * size
    found = table.flatten(0, 1).index_select(0, (rows + first).flatten())
    return found.view(*rows.shape, *table.shape[2:])


def _bags(texts: Sequence[Text], vocabulary: int) -> tuple[Tensor, Tensor]:
    """How often each word stands in each sentence [G, U, V], weighted by 1 - j/J and by 1 - 2j/J."""
    size = max(len(text.sentences) for text in texts)
    bags = torch.zeros(2, len(texts), size, vocabulary)
    for number, text in enumerate(texts):
        count = (text.sentences != 0).sum(1)
        ends = position_encoding(count, 2, size=text.sentences.shape[1])  # at k/d = 1/2 and 1: l is a line in k/d
        slope = 2 * (ends[..., 0] - ends[..., 1])
        for bag, weight in zip(bags, (ends[..., 1] + slope, slope), strict=True):
            bag[number, : len(count)].scatter_add_(1, text.sentences, weight)
    return bags[0], bags[1]


def _aged(story: Tensor, count: Tensor, noise: float, slots: Tensor) -> tuple[Tensor, Tensor]:
    """The story by age [R, B, M] with empty memories in between, and which ages there are.

    Behind each sentence comes an empty memory with probability `noise`: all that is older grows older by one.
    """
    memory = story.shape[-1]
    place = torch.arange(memory, device=story.device)
    real = place < count.unsqueeze(-1)
    empty = (torch.rand(story.shape, device=story.device) < noise) & real
    age = (place + empty.cumsum(-1)).masked_fill(~real, memory).clamp(max=memory)
    aged = torch.zeros(*story.shape[:-1], memory + 1, dtype=story.dtype, device=story.device).scatter(-1, age, story)
    return aged[..., :memory], place < torch.minimum((count + empty.sum(-1)).unsqueeze(-1), slots)


def train(fleet: Fleet, epochs: int, linear_epochs: int, *, seed: int = 0, halve: int = 25) -> None:
    """All epochs of all runs; each run draws its batches in its own order."""
    everything = fleet.together("train")
    size = everything.answer.shape[1]
    runs = torch.arange(fleet.runs, device=fleet.device)[:, None]
    generator = torch.Generator(fleet.device).manual_seed(seed)
    rate, rows = (
        torch.zeros((), device=fleet.device),
        torch.zeros(fleet.runs, BATCH, dtype=torch.long, device=fleet.device),
    )
    torch.manual_seed(seed)

    def step(linear: bool) -> Callable[[], None]:
        return lambda: fleet.update(Questions(*(column[runs, rows] for column in everything)), rate, linear=linear)

    for linear, count, first in ((True, linear_epochs, RATE / 2), (False, epochs, RATE)):
        run = recorded(step(linear), fleet) if count else step(linear)
        for epoch in range(count):
            rate.fill_(first * 0.5 ** (0 if linear else epoch // halve))
            order = torch.rand(fleet.runs, size, generator=generator, device=fleet.device).argsort(1)
            for begin in range(0, size - BATCH + 1, BATCH):
                rows.copy_(order[:, begin : begin + BATCH])
                run()


def recorded(step: Callable[[], None], fleet: Fleet) -> Callable[[], None]:
    """The step as a CUDA graph; as it is on other devices."""
    if fleet.device.type != "cuda":
        return step
    kept = [parameter.detach().clone() for parameter in fleet.parameters]
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    with torch.no_grad():
        for parameter, before in zip(fleet.parameters, kept, strict=True):
            parameter.copy_(before)
    return graph.replay


class Row(NamedTuple):
    """Errors in per cent on a task: of the restart with the lowest training error, and the median of all."""

    task: int
    train: float
    test: float
    median: float


def chosen(fleet: Fleet) -> list[Row]:
    """A row for each task."""
    found = []
    train, test = fleet.errors("train"), fleet.errors("test")
    tasks = fleet.together("test").task
    for number in range(len(fleet.texts)):
        mine = slice(number * fleet.restarts, (number + 1) * fleet.restarts)
        learned = train[mine].mean(1)
        best = int(learned.argmin())
        for task in tasks[mine][0].unique().tolist():
            of_task = test[mine][:, tasks[mine][0] == task].mean(1)
            errors = (learned[best], of_task[best], of_task.median())
            found.append(Row(task, *(100 * float(error) for error in errors)))
    return sorted(found)


def table(rows: Sequence[Row], published: str | None) -> str:
    """For people; failed tasks have more than 5% of errors."""
    theirs = [None if published is None else float(published.split()[row.task - 1]) for row in rows]
    lines = ["task  train   test  median of restarts  published"]
    for row, other in zip(rows, theirs, strict=True):
        lines.append(
            f"{row.task:4d}{row.train:7.1f}{row.test:7.1f}{row.median:20.1f}{'' if other is None else f'{other:11.1f}'}"
        )
    columns = [[row.train for row in rows], [row.test for row in rows], [row.median for row in rows]]
    mean = [sum(column) / len(column) for column in columns]
    known = [other for other in theirs if other is not None]
    lines.append(
        f"mean{mean[0]:7.1f}{mean[1]:7.1f}{mean[2]:20.1f}{f'{sum(known) / len(known):11.1f}' if known else ''}"
    )
    return "\n".join([*lines, f"failed tasks: {sum(row.test > 5 for row in rows)} of {len(rows)}"])


def main() -> None:
    options = parse()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    folder = options.folder
    tasks = [task for task in options.tasks if list(folder.glob(f"qa{task}_*_train.txt"))]
    for missing in sorted(set(options.tasks) - set(tasks)):
        print(f"task {missing}: there are no training questions in {folder}, left out")
    begin = time.perf_counter()
    texts = [read(folder, tasks)] if options.joint else [read(folder, [task]) for task in tasks]
    dim = options.dim or (50 if options.joint else 20)
    fleet = Fleet(texts, options.restarts, dim, options.hops, device=device, seed=options.seed)
    print(f"{fleet.runs} networks on {device}, data read in {time.perf_counter() - begin:.0f} s", flush=True)
    train(fleet, options.epochs or (60 if options.joint else 100), options.linear, seed=options.seed)
    rows = chosen(fleet)
    seconds = time.perf_counter() - begin
    kind = f"{folder.name} joint" if options.joint else folder.name
    print(table(rows, PUBLISHED.get(kind)))
    print(f"{kind}: {options.hops} hops, d = {dim}, best of {options.restarts} by training error, {seconds:.0f} s")
    if options.output is not None:
        record = {"kind": kind, "seconds": seconds, "rows": [row._asdict() for row in rows]}
        options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="with qa1_*_train.txt and so on: en, en-10k")
    parser.add_argument("--joint", action="store_true", help="one network for all tasks")
    parser.add_argument("--tasks", type=int, nargs="+", default=list(range(1, 21)))
    parser.add_argument("--restarts", type=int, default=10)
    parser.add_argument("--hops", type=int, default=3)
    parser.add_argument("--dim", type=int, help="20, joint 50")
    parser.add_argument("--epochs", type=int, help="after the linear start: 100, joint 60")
    parser.add_argument("--linear", type=int, default=80, help="epochs of the linear start")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="a JSON file for the rows")
    return parser.parse_args()


if __name__ == "__main__":
    main()

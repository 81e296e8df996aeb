"""Passage index: vectors, BM25 postings and texts in one memory-mapped file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import overload

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from regard.data.problems import DataError
from regard.systems.retrieval.bm25 import BM25
from regard.systems.retrieval.ranking import Ranking, fused

KIND = "regard.index"
FUSED = 100
"""Depth of the two rankings that hybrid search merges."""
_PARTS = {
    "texts": torch.uint8,
    "text_ends": torch.int64,
    "words": torch.uint8,
    "word_ends": torch.int64,
    "offsets": torch.int64,
    "postings": torch.int32,
    "weights": torch.float32,
}
"""The types of the arrays of a file, each [N]."""
_NUMBERS = (torch.float32, torch.float16)
_BLOCK = 1 << 20
"""Elements per block of a float32 search: 4 MB, which fit in the cache of a CPU."""
_AGAIN = "`regard index` writes it again"


class TextArray(Sequence[str]):
    """Sequence of texts in one byte array, decoded on access.

    Args:
        content: the concatenated UTF-8 bytes of all texts.
        ends: [M], end offset of each text.

    >>> texts = TextArray.of(["a red car", "für"])
    >>> len(texts), texts[1], list(texts)
    (2, 'für', ['a red car', 'für'])
    """

    def __init__(self, content: NDArray[np.uint8], ends: NDArray[np.int64]) -> None:
        self.content, self.ends = content, ends

    @classmethod
    def of(cls, texts: Sequence[str]) -> TextArray:
        """Pack texts into one array."""
        rows = [text.encode() for text in texts]
        content = np.frombuffer(b"".join(rows), np.uint8)
        return cls(content, np.cumsum([len(row) for row in rows], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        begin = self.ends[index - 1] if index else 0
        return self.content[begin : self.ends[index]].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        return (self[index] for index in range(len(self)))


@dataclass(frozen=True, eq=False)
class Index:
    """Searchable collection of passages.

    Attributes:
        passages: the texts.
        vectors: [M, C] of a dual encoder, float32 or float16; None for a BM25-only index.
        model: signature of the model that computed the vectors; queries must be encoded by the same model.
        stored_words: the inverted index; None to build it on first use.

    >>> index = Index(["a red car", "a blue boat"])
    >>> [index.passages[number] for number in index.by_words(["the boat"], 5)[0].numbers]
    ['a blue boat']
    """

    passages: Sequence[str]
    vectors: Tensor | None = None
    model: str = ""
    stored_words: BM25 | None = None

    def __len__(self) -> int:
        return len(self.passages)

    @cached_property
    def words(self) -> BM25:
        """The inverted index."""
        return BM25.of(self.passages) if self.stored_words is None else self.stored_words

    def by_words(self, queries: Sequence[str], k: int) -> list[Ranking]:
        """Return the k best passages of each query by BM25."""
        return [self.words.rank(query, k) for query in queries]

    def by_vectors(self, queries: Tensor, k: int) -> list[Ranking]:
        """Return the k best passages for the vectors [Q, C] of queries."""
        if self.vectors is None:
            raise ValueError(
                "the index has no vectors; write it again with the run of a dual encoder, or search by bm25"
            )
        return nearest(queries, self.vectors, k)

    def by_both(self, queries: Sequence[str], vectors: Tensor, k: int) -> list[Ranking]:
        """Return the k best passages by reciprocal rank fusion of both rankings."""
        deep = max(k, FUSED)
        both = zip(self.by_words(queries, deep), self.by_vectors(vectors, deep), strict=True)
        return [fused(pair, k) for pair in both]

    def save(self, path: Path) -> None:
        """Write a .safetensors file.

        Raises:
            OSError: the file cannot be written.
        """
        texts, words = TextArray.of(self.passages), self.words
        names = TextArray.of(list(words.numbers))  # in the order of their numbers
        arrays = {
            "texts": texts.content,
            "text_ends": texts.ends,
            "words": names.content,
            "word_ends": names.ends,
            "offsets": words.offsets,
            "postings": words.passages,
            "weights": words.weights,
        }
        tensors = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
        if self.vectors is not None:
            tensors["vectors"] = self.vectors.detach().cpu().contiguous()
        try:
            save_file(tensors, path, {"kind": KIND, "model": self.model})
        except SafetensorError as problem:
            raise OSError(f"{path}: cannot be written ({problem})") from problem

    @classmethod
    def load(cls, path: Path) -> Index:
        """Memory-map a file written by `save`; vectors, postings and texts are read from disk on demand.

        Raises:
            DataError: the file does not exist, is not an index, or is damaged.
        """
        try:
            with safe_open(path, "pt") as file:
                about = file.metadata() or {}
                if about.get("kind") != KIND:
                    raise DataError(f"{path} is no index; `regard index` writes one")
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, no mapping
        except (OSError, SafetensorError) as problem:
            raise DataError(f"{path}: cannot be read ({problem}); {_AGAIN}") from problem
        if (wrong := _inconsistency(tensors)) is not None:
            raise DataError(f"{path} is damaged ({wrong}); {_AGAIN}")
        array = {name: tensor.numpy() for name, tensor in tensors.items() if name != "vectors"}
        numbers = {word: number for number, word in enumerate(TextArray(array["words"], array["word_ends"]))}
        count = len(array["text_ends"])
        words = BM25(numbers, array["offsets"], array["postings"], array["weights"], count)
        texts = TextArray(array["texts"], array["text_ends"])
        return cls(texts, tensors.get("vectors"), about.get("model", ""), words)


def _inconsistency(tensors: Mapping[str, Tensor]) -> str | None:
    """Return a description of an inconsistency between the tensors of a file; None if there is none.

    Values of vectors and texts are not checked, since that would read the whole memory-mapped file.
    """
    missing = next((name for name in _PARTS if name not in tensors or tensors[name].dim() != 1), None)
    if missing is not None:
        return f"it has no list {missing!r}"
    count, known = len(tensors["text_ends"]), len(tensors["word_ends"])
    ends = {name: int(tensors[name][-1]) if len(tensors[name]) else 0 for name in ("text_ends", "word_ends", "offsets")}
    lengths = {
        "texts": ends["text_ends"],
        "words": ends["word_ends"],
        "offsets": known + 1,
        "postings": ends["offsets"],
        "weights": ends["offsets"],
    }
    for name, kind in _PARTS.items():
        found, wanted = tensors[name], lengths.get(name, len(tensors[name]))
        if (found.dtype, len(found)) != (kind, wanted):
            return f"{name} is {len(found)} of {found.dtype}, and {wanted} of {kind} are needed"
        if name in ends and (found.diff(prepend=found.new_zeros(1)) < 0).any():
            return f"{name} does not ascend"
    vectors = tensors.get("vectors")
    if vectors is not None and (vectors.dim() != 2 or len(vectors) != count or vectors.dtype not in _NUMBERS):
        return f"vectors is {list(vectors.shape)} of {vectors.dtype}, and there are {count} passages"
    posted = tensors["postings"]
    wrong = len(posted) and not 0 <= int(posted.min()) <= int(posted.max()) < count
    return "a posting is of no passage" if wrong else None


def nearest(queries: Tensor, vectors: Tensor, k: int) -> list[Ranking]:
    """Return for each query the k vectors with the largest inner products (exact search).

    Args:
        queries: [Q, C].
        vectors: [M, C], float32 or float16, in memory or memory-mapped; processed in blocks with a running top k, so
            memory use does not grow with M.
        k: number of results per query.

    >>> [one.numbers.tolist() for one in nearest(torch.eye(2), torch.tensor([[1.0, 0.0], [0.5, 2.0], [3.0, 1.0]]), 2)]
    [[2, 0], [1, 2]]
    """
    count, width = vectors.shape
    queries, k = queries.float(), min(k, count)
    scores = queries.new_full((len(queries), 0), -torch.inf)
    numbers = torch.zeros(len(queries), 0, dtype=torch.int64, device=queries.device)
    size = max(_BLOCK // max(width, 1), k, 1)
    for begin in range(0, count, size):
        block = vectors[begin : begin + size].to(queries.device, torch.float32)
        found = queries @ block.mT  # [Q, N]
        # Merge the top k of the block with the top k so far, [Q, up to 2 k].
        top = found.topk(min(k, found.shape[1]), dim=1)
        scores = torch.cat((scores, top.values), dim=1)
        numbers = torch.cat((numbers, top.indices + begin), dim=1)
        kept = scores.topk(min(k, scores.shape[1]), dim=1)
        scores, numbers = kept.values, numbers.gather(1, kept.indices)
    return [Ranking.best(row.numpy(), value.numpy(), k) for row, value in zip(numbers.cpu(), scores.cpu(), strict=True)]

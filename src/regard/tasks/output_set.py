"""Output sets for constrained decoding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from regard.data.fields.tokenizer import Tokenizer
from regard.data.formats.lines import lines
from regard.data.problems import DataError, shortened
from regard.decode.constraint import Trie
from regard.decode.search import Search
from regard.specials import UNK


def output_set(outputs: Iterable[str] | Path, tokenizer: Tokenizer) -> Trie:
    """Return the trie of the outputs that a model may generate.

    Args:
        outputs: the texts, or a file with one on each line.
        tokenizer: tokenizer of the target.

    Raises:
        DataError: the set is empty, or an output cannot be encoded; with file and line, or its index.

    >>> tokenizer = Tokenizer.train(["yes", "no"], kind="characters")
    >>> output_set(["yes", "no"], tokenizer).longest          # with its end
    4
    >>> output_set(["yes", "maybe"], tokenizer)
    Traceback (most recent call last):
    regard.data.problems.DataError: only, text 2: 'maybe' has characters that the model does not know; leave it out
    """
    if isinstance(outputs, str):
        raise DataError(f"only: {shortened(outputs)!r} is one text; give a list of texts, or a Path to a file of them")
    places, texts = [], []
    for place, text in _placed(outputs):
        if not isinstance(text, str):
            raise DataError(f"{place}: {text!r} is not a text")
        places.append(place)
        texts.append(text)
    if not texts:
        where = outputs if isinstance(outputs, Path) else "only"
        raise DataError(f"{where}: the set of outputs is empty; give one or more")
    encoded = tokenizer.encode_all(texts)
    for place, text, ids in zip(places, texts, encoded, strict=True):
        if not ids or not text.strip():
            raise DataError(f"{place}: the output is empty; leave it out")
        if UNK in ids:
            pieces = {"characters": "characters", "words": "words"}.get(tokenizer.kind, "pieces")
            raise DataError(f"{place}: {shortened(text)!r} has {pieces} that the model does not know; leave it out")
    return Trie(encoded)


def search_within(search: Search, trie: Trie) -> Search:
    """Return a search limited to the lengths of an output set, without banned tokens."""
    return replace(search, min_length=1, max_length=trie.longest, min_ratio=None, max_ratio=None, forbid=())


def _placed(outputs: Iterable[str] | Path) -> Iterator[tuple[str, str]]:
    """Yield each text with its location for messages."""
    if not isinstance(outputs, Path):
        yield from ((f"only, text {number}", text) for number, text in enumerate(outputs, start=1))
        return
    for line in lines(outputs):
        if line.problem is not None:
            raise DataError(f"{outputs}:{line.number}: not UTF-8; convert it with iconv -t utf-8")
        yield f"{outputs}:{line.number}", line.text

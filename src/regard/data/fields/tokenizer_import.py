"""Import of pretrained tokenizers: `tokenizer.json` of the tokenizers library, and SentencePiece `.model` files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tokenizers

from regard.data.fields.sentencepiece import described as described_by_sentencepiece
from regard.data.fields.tokenizer import Tokenizer
from regard.data.fields.tokenizer_style import types_of
from regard.data.problems import DataError
from regard.specials import BOS, EOS, MASK, MASKED, PAD, SPECIALS, UNK

_NAMES: dict[int, tuple[str, ...]] = {
    PAD: ("<pad>", "[PAD]", "<|pad|>", "<|padding|>"),
    UNK: ("<unk>", "[UNK]", "<|unk|>", "<|unknown|>"),
    BOS: ("<s>", "[CLS]", "<bos>", "[BOS]", "<|startoftext|>", "<|begin_of_text|>", "<|im_start|>"),
    EOS: ("</s>", "[SEP]", "<eos>", "[EOS]", "<|endoftext|>", "<|end_of_text|>", "<|im_end|>"),
    MASK: ("<mask>", "[MASK]", "<|mask|>"),
}
"""Common names of special pieces in other libraries; all of them are replaced by ours."""


def import_tokenizer(path: str | Path, *, masked: bool = False) -> Tokenizer:
    """Import a tokenizer from a file; its special pieces are replaced by ours, which come first.

    The other pieces keep their order, so their ids are shifted by a constant if the special pieces came first or last.
    Normalisation and pre-tokenisation are kept. Post-processing, such as adding `[CLS]` to a text, is not.

    Args:
        path: a `tokenizer.json`, or a SentencePiece model of type unigram or BPE.
        masked: whether to include `<mask>` as the fifth id.

    Raises:
        DataError: the file is missing, not a tokenizer, or not supported.
    """
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise DataError(f"{path}: cannot be read ({problem.strerror or problem})") from None
    try:
        described = _described(content) if content.lstrip()[:1] == b"{" else described_by_sentencepiece(content)
        specials = MASKED if masked else SPECIALS
        return Tokenizer(json.dumps(_renumbered(described, specials)))
    except DataError as problem:
        raise DataError(f"{path}: {problem}") from None
    except Exception as problem:  # the library raises a bare Exception
        raise DataError(f"{path}: not a tokenizer that can be used ({_short(problem)})") from problem


def _described(content: bytes) -> dict[str, Any]:
    """Parse a `tokenizer.json`; the round trip through the library adds keys that older versions omit."""
    try:
        given = json.loads(content)
    except (ValueError, RecursionError) as problem:
        raise DataError(f"not a tokenizer.json: {_short(problem)}") from None
    if not isinstance(given, dict) or not isinstance(given.get("model"), dict):
        raise DataError("not a tokenizer.json: it has no 'model'; save the tokenizer anew with the tokenizers library")
    try:
        library = tokenizers.Tokenizer.from_str(json.dumps(given))
    except Exception as problem:  # bare
        raise DataError(f"not a tokenizer.json: {_short(problem)}") from None
    found: dict[str, Any] = json.loads(library.to_str())
    return found


def _renumbered(described: dict[str, Any], specials: tuple[str, ...]) -> dict[str, Any]:
    """Return the tokenizer with our special pieces first."""
    model = described["model"]
    unknown = _unknown(model)
    if unknown is None and not _covers_bytes(described):
        raise DataError(
            "it has no unknown token, which text needs that it has no piece for; give it one, or use another"
        )
    theirs = {name for names in _NAMES.values() for name in names} | ({unknown} if unknown else set())
    theirs |= {token["content"] for token in described["added_tokens"] if token["special"]}
    kept = [piece for piece in _ordered(model) if piece not in theirs]  # in the order of their ids
    if not kept:
        raise DataError("it has no pieces but special ones")
    added = [token for token in described["added_tokens"] if token["content"] not in theirs and not token["special"]]
    _set_pieces(model, [*specials, *kept])
    numbers = {piece: number for number, piece in enumerate([*specials, *kept])}
    for token in added:
        token["id"] = numbers.setdefault(token["content"], len(numbers))
    return described | {
        "model": model,
        "added_tokens": [
            *map(_special, range(len(specials)), specials),
            *sorted(added, key=lambda one: int(one["id"])),
        ],
        "post_processor": None,  # `<s>` and `</s>` are added in batches
        "truncation": None,
        "padding": None,
    }


def _unknown(model: dict[str, Any]) -> str | None:
    """Return the piece for unknown text; None if there is none."""
    if model["type"] == "Unigram":
        return None if model["unk_id"] is None else str(model["vocab"][model["unk_id"]][0])
    named = model.get("unk_token")
    return named if named in model["vocab"] else None


def _covers_bytes(described: dict[str, Any]) -> bool:
    """Return whether any text can be encoded without unknown pieces, by falling back to bytes."""
    model = described["model"]
    return bool(model.get("byte_fallback")) or "ByteLevel" in types_of(described["pre_tokenizer"])


def _ordered(model: dict[str, Any]) -> list[str]:
    """Return the pieces in the order of their ids."""
    vocabulary = model["vocab"]
    if isinstance(vocabulary, list):
        return [piece for piece, _ in vocabulary]
    return sorted(vocabulary, key=lambda piece: int(vocabulary[piece]))


def _set_pieces(model: dict[str, Any], pieces: list[str]) -> None:
    """Set the vocabulary of a model, in this order."""
    if model["type"] == "Unigram":
        scores = dict(model["vocab"])
        model["vocab"] = [[piece, 0.0 if piece in MASKED else scores[piece]] for piece in pieces]
        model["unk_id"] = UNK
        return
    model["vocab"] = {piece: number for number, piece in enumerate(pieces)}
    if model["type"] != "BPE" or model["unk_token"] is not None:
        model["unk_token"] = SPECIALS[UNK]
    if model["type"] == "BPE":
        model["dropout"] = None  # replaced by our reproducible BPE-dropout (`tokenizer.dropout`)


def _special(number: int, piece: str) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": number, "content": piece, **flags}


def _short(problem: Exception) -> str:
    return str(problem).partition("\n")[0][:200]

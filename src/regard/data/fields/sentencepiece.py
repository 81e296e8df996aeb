"""Conversion of SentencePiece models (protocol buffers) to the JSON of the tokenizers library."""

from __future__ import annotations

import base64
import struct
from collections import defaultdict
from typing import Any, NamedTuple

from regard.data.problems import DataError

_SPACE = "▁"
_UNIGRAM, _BPE = 1, 2  # of TrainerSpec.ModelType
_NORMAL, _UNKNOWN, _CONTROL, _USER, _UNUSED = 1, 2, 3, 4, 5  # of SentencePiece.Type
_KINDS = {3: "words", 4: "characters"}

Fields = dict[int, list[Any]]
"""The values of each field of a protocol-buffer message, by field number."""


class _Piece(NamedTuple):
    text: str
    score: float
    type: int


def described(content: bytes) -> dict[str, Any]:
    """Convert the bytes of a SentencePiece model to the content of a `tokenizer.json`.

    Raises:
        DataError: not a SentencePiece model, or one of an unsupported kind.
    """
    try:
        model = _fields(content)
        pieces = [_piece(_fields(part)) for part in model[1]]
        trainer, normaliser = (_fields(model[number][-1]) if model[number] else defaultdict(list) for number in (2, 3))
    except (ValueError, IndexError, TypeError, struct.error, UnicodeDecodeError):
        raise DataError("neither a tokenizer.json nor a SentencePiece model") from None
    if not pieces:
        raise DataError("neither a tokenizer.json nor a SentencePiece model with pieces")
    kind = _last(trainer, 3, _UNIGRAM)
    if kind not in (_UNIGRAM, _BPE):
        raise DataError(f"a SentencePiece model of {_KINDS.get(kind, kind)}; only unigram and BPE can be read")
    if _last(trainer, 24, 0):  # TrainerSpec.treat_whitespace_as_suffix
        raise DataError(
            "a SentencePiece model with the space behind a word (treat_whitespace_as_suffix); train one without"
        )
    unknown = next((piece.text for piece in pieces if piece.type == _UNKNOWN), None)
    if unknown is None:
        raise DataError("the SentencePiece model has no unknown piece")
    fallback = bool(_last(trainer, 35, 0))  # TrainerSpec.byte_fallback
    known = [piece for piece in pieces if piece.type not in (_CONTROL, _UNUSED)]
    # Fields 3 and 4 of NormalizerSpec: add_dummy_prefix and remove_extra_whitespaces, both True by default.
    first, clean = (bool(_last(normaliser, number, 1)) for number in (3, 4))
    # User-defined pieces are never split: in BPE as added tokens, in unigram by a high score.
    named = [piece.text for piece in known if piece.type == _USER] if kind == _BPE else []
    # Pieces that span several words require a model that does not pre-split text at spaces.
    inside = any(_SPACE in piece.text[1:] and piece.text.strip(_SPACE) for piece in known)
    return {
        "version": "1.0",
        "normalizer": _normaliser(_last(normaliser, 2, b""), clean=clean and not named, first=first and not clean),
        "pre_tokenizer": {
            "type": "Metaspace",
            "replacement": _SPACE,
            "prepend_scheme": "never" if not (first and clean) else "first" if named else "always",
            "split": not inside,
        },
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": _SPACE}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                *([{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if first else []),
            ],
        },
        "model": _unigram(known, unknown, fallback) if kind == _UNIGRAM else _bpe(known, unknown, fallback),
        "added_tokens": [_added(text) for text in named],
    }


def _unigram(pieces: list[_Piece], unknown: str, fallback: bool) -> dict[str, Any]:
    return {
        "type": "Unigram",
        "unk_id": next(number for number, piece in enumerate(pieces) if piece.text == unknown),
        "vocab": [[piece.text, _score(piece)] for piece in pieces],
        "byte_fallback": fallback,
    }


def _score(piece: _Piece) -> float:
    """Return the log-probability of a piece; user-defined pieces get a positive score, so that they are never split."""
    return 10.0 * len(piece.text) if piece.type == _USER else piece.score


def _bpe(pieces: list[_Piece], unknown: str, fallback: bool) -> dict[str, Any]:
    """Return a BPE model; SentencePiece stores no merges, so they are rebuilt from the scores of the merged pieces."""
    numbers = {piece.text: number for number, piece in enumerate(pieces)}
    merges = sorted(
        (-piece.score, numbers[piece.text[:cut]], numbers[piece.text[cut:]], [piece.text[:cut], piece.text[cut:]])
        for piece in pieces
        for cut in range(1, len(piece.text))
        if piece.type == _NORMAL and piece.text[:cut] in numbers and piece.text[cut:] in numbers
    )
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": unknown,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": fallback,
        "ignore_merges": False,
        "vocab": numbers,
        "merges": [pair for *_, pair in merges],
    }


def _normaliser(table: bytes, *, clean: bool, first: bool) -> dict[str, Any] | None:
    """Return a normaliser: the character table, single spaces between words, and a space before the first word."""
    parts: list[dict[str, Any]] = []
    if table:
        parts.append({"type": "Precompiled", "precompiled_charsmap": base64.b64encode(table).decode("ascii")})
    if clean:
        parts += [
            {"type": "Strip", "strip_left": True, "strip_right": True},
            {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
        ]
    if first:  # the pre-tokenizer would not add a space to a text that already starts with one
        parts.append({"type": "Prepend", "prepend": _SPACE})
    return {"type": "Sequence", "normalizers": parts} if parts else None


def _added(text: str) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    return {"id": 0, "content": text, **flags}


def _piece(fields: Fields) -> _Piece:
    return _Piece(_last(fields, 1, b"").decode("utf-8"), float(_last(fields, 2, 0.0)), int(_last(fields, 3, 1)))


def _last(fields: Fields, number: int, default: Any) -> Any:
    return fields[number][-1] if fields.get(number) else default


def _fields(message: bytes) -> Fields:
    """Parse a protocol-buffer message to its fields: integers, floats and bytes."""
    found: Fields = defaultdict(list)
    place = 0
    value: Any
    while place < len(message):
        key, place = _varint(message, place)
        number, wire = key >> 3, key & 7  # field number, wire type
        if wire == 0:
            value, place = _varint(message, place)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            (value,), place = struct.unpack("<d" if wire == 1 else "<f", message[place : place + size]), place + size
        elif wire == 2:
            size, place = _varint(message, place)
            value, place = message[place : place + size], place + size
        else:
            raise ValueError(f"there is no wire type {wire}")
        if place > len(message) or number == 0:
            raise ValueError("the message is cut off")
        found[number].append(value)
    return found


def _varint(message: bytes, place: int) -> tuple[int, int]:
    """Decode a varint (seven bits per byte); return its value and the position after it."""
    value = 0
    for shift in range(0, 70, 7):
        byte = message[place]
        value |= (byte & 0x7F) << shift
        place += 1
        if byte < 0x80:
            return value, place
    raise ValueError("a number of more than ten bytes")

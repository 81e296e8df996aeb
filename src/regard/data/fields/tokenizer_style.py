"""Style of a tokenizer: its kind, and the spelling of its pieces at word boundaries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args

from regard.data.fields.word_splitting import WordSplit
from regard.data.problems import DataError

TokenizerKind = Literal["characters", "words", "bpe", "unigram", "wordpiece"]
Marks = Literal["bytes", "spaces", "fallback", "inside", "none"]
"""Spelling of pieces: as the characters of its bytes; with "▁" for a space, and bytes as <0x0A> with a fallback; with
"##" if it is not the first of its word; or as it is."""


class TokenizerStyle(NamedTuple):
    """Kind, spelling of pieces, and word splitting of a tokenizer."""

    kind: TokenizerKind
    marks: Marks
    split: WordSplit | None = None

    @staticmethod
    def of(description: dict[str, Any]) -> TokenizerStyle:
        """Detect the style of a tokenizer from the library's JSON.

        Raises:
            DataError: the style is not supported.
        """
        model, before = description["model"], list(types_of(description.get("pre_tokenizer")))
        match model["type"]:
            case "WordLevel":
                return _whole(description["pre_tokenizer"], before)
            case "WordPiece" if before and model["continuing_subword_prefix"] == "##":
                return TokenizerStyle("wordpiece", "inside")
            case "Unigram" | "BPE" if _marks_spaces(description) and not _joins(model):
                kind: TokenizerKind = "bpe" if model["type"] == "BPE" else "unigram"
                return TokenizerStyle(kind, "fallback" if model.get("byte_fallback") else "spaces")
            case "BPE" if "ByteLevel" in before and not _joins(model):
                return TokenizerStyle("bpe", "bytes")
        behind = " and ".join(before) or "no pre-tokenizer"
        raise DataError(
            f"a tokenizer with model {model['type']} behind {behind} is none of {', '.join(get_args(TokenizerKind))}"
        )


def types_of(part: Any) -> Iterator[str]:
    """Yield the types of a pre-tokenizer, normaliser or decoder, including nested ones."""
    if isinstance(part, dict):
        inside = (*part.get("pretokenizers", ()), *part.get("normalizers", ()), *part.get("decoders", ()))
        if not inside:
            yield str(part.get("type"))
        for one in inside:
            yield from types_of(one)


def _whole(pre_tokenizer: dict[str, Any] | None, before: list[str]) -> TokenizerStyle:
    """Return the style of a vocabulary of whole words or characters."""
    if before == ["Split"] and pre_tokenizer is not None and not pre_tokenizer.get("invert"):
        return TokenizerStyle("characters", "none")  # the pattern matches pieces; for words, separators
    return TokenizerStyle("words", "none", "whitespace" if before == ["WhitespaceSplit"] else "punctuation")


def _marks_spaces(description: dict[str, Any]) -> bool:
    """Return whether spaces become "▁", in the pre-tokenizer or (in older files) in the normaliser."""
    replaced = [
        part
        for part in _parts(description.get("normalizer"))
        if part.get("type") == "Replace" and part.get("content") == "▁"
    ]
    return "Metaspace" in types_of(description.get("pre_tokenizer")) or bool(replaced)


def _parts(normaliser: dict[str, Any] | None) -> list[dict[str, Any]]:
    if normaliser is None:
        return []
    return list(normaliser.get("normalizers", (normaliser,)))


def _joins(model: dict[str, Any]) -> bool:
    """Return whether pieces have other word-boundary marks, such as "##" or the "</w>" of BPE."""
    return bool(model.get("continuing_subword_prefix") or model.get("end_of_word_suffix"))

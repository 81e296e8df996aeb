"""Style of a tokenizer of the library: its kind, and the marks of its pieces at the beginnings of words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args

from regard.data.fields.word_splitting import WordSplit
from regard.data.problems import DataError

TokenizerKind = Literal["characters", "words", "bpe", "unigram", "wordpiece"]
Marks = Literal["bytes", "spaces", "fallback", "inside", "none"]
"""How a piece is spelt: as the characters of its bytes; with "▁" for a space, and bytes as <0x0A> with a fallback; with
"##" if it is not the first of its word; or as it is."""


class TokenizerStyle(NamedTuple):
    """The kind, the spelling of pieces, and of words how they are cut."""

    kind: TokenizerKind
    marks: Marks
    split: WordSplit | None = None

    @staticmethod
    def of(description: dict[str, Any]) -> TokenizerStyle:
        """Return the style of what the library's JSON describes.

        Raises:
            DataError: it is none that is known here.
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
    """The types of a pre-tokenizer, a normaliser or a decoder, and of those in it."""
    if isinstance(part, dict):
        inside = (*part.get("pretokenizers", ()), *part.get("normalizers", ()), *part.get("decoders", ()))
        if not inside:
            yield str(part.get("type"))
        for one in inside:
            yield from types_of(one)


def _whole(pre_tokenizer: dict[str, Any] | None, before: list[str]) -> TokenizerStyle:
    """A vocabulary of whole words or characters."""
    if before == ["Split"] and pre_tokenizer is not None and not pre_tokenizer.get("invert"):
        return TokenizerStyle("characters", "none")  # what is matched; of words what is not
    return TokenizerStyle("words", "none", "whitespace" if before == ["WhitespaceSplit"] else "punctuation")


def _marks_spaces(description: dict[str, Any]) -> bool:
    """Return whether spaces become "▁", in the pre-tokenizer or, as older files have it, in the normaliser."""
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
    """Return whether pieces are marked in a way of their own: "##" or "</w>" of byte pairs."""
    return bool(model.get("continuing_subword_prefix") or model.get("end_of_word_suffix"))

"""BERT's text normalisation in Hugging Face: case, accents, Chinese characters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from regard.runs.folder import RunError
from regard.systems.masked_language_model.hugging_face.reading import read_mapping

_KEYS = {
    "lowercase": "do_lower_case",
    "strip_accents": "strip_accents",
    "handle_chinese_chars": "tokenize_chinese_chars",
}
_DEFAULTS = {"do_lower_case": True, "strip_accents": None, "tokenize_chinese_chars": True}
_PLAIN = ("PreTrainedTokenizerFast", "TokenizersBackend")  # their classes that follow tokenizer.json alone


def read_normaliser(folder: Path) -> dict[str, Any]:
    """The normaliser that `tokenizer_config.json` says, or what a BERT has where it says nothing.

    Raises:
        RunError: it cannot be read, or says neither true nor false.
    """
    settings = _settings(folder)
    return {"type": "BertNormalizer", "clean_text": True} | {own: settings[key] for own, key in _KEYS.items()}


def agreed(normaliser: dict[str, Any] | None, source: Path) -> dict[str, Any] | None:
    """The normaliser of `tokenizer.json`, if `tokenizer_config.json` beside it says the same.

    Raises:
        RunError: they differ, and transformers would follow the second.
    """
    settings = _settings(source.parent)
    if settings.get("tokenizer_class") in _PLAIN:
        return normaliser
    said, other = _explicit(normaliser or {}), _explicit(read_normaliser(source.parent))
    for own, key in _KEYS.items():
        if said.get(own) != other[own]:
            raise RunError(
                f"{source}: {own} of normalizer is {said.get(own)}, and by tokenizer_config.json, which transformers "
                f"follows, it is {other[own]}; write the right one in both, there as {key}"
            )
    return normaliser


def _settings(folder: Path) -> dict[str, Any]:
    """`tokenizer_config.json`, with what a BERT has where it says nothing."""
    path = folder / "tokenizer_config.json"
    settings = _DEFAULTS | (read_mapping(path) if path.exists() else {})
    for key, default in _DEFAULTS.items():
        if not isinstance(settings[key], bool) and settings[key] is not default:
            raise RunError(f"{path}: {key} is {settings[key]!r}, and must be true or false")
    return settings


def _explicit(normaliser: dict[str, Any]) -> dict[str, Any]:
    """Accents are stripped as letters are lower-cased, unless it is said."""
    if normaliser.get("strip_accents") is None:
        return normaliser | {"strip_accents": normaliser.get("lowercase")}
    return normaliser

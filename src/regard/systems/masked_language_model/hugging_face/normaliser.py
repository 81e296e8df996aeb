"""Text normalisation settings of Hugging Face BERTs: case, accents, Chinese characters."""

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
_PLAIN = ("PreTrainedTokenizerFast", "TokenizersBackend")  # transformers classes that use only tokenizer.json


def read_normaliser(folder: Path) -> dict[str, Any]:
    """Return the normaliser set in `tokenizer_config.json`, with the defaults of BERT.

    Raises:
        RunError: the file cannot be read, or a setting is not a boolean.
    """
    settings = _settings(folder)
    return {"type": "BertNormalizer", "clean_text": True} | {own: settings[key] for own, key in _KEYS.items()}


def agreed(normaliser: dict[str, Any] | None, source: Path) -> dict[str, Any] | None:
    """Return the normaliser of `tokenizer.json`, after checking it against `tokenizer_config.json`.

    Raises:
        RunError: they differ; transformers would use `tokenizer_config.json`.
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
    """Return the settings of `tokenizer_config.json`, with the defaults of BERT."""
    path = folder / "tokenizer_config.json"
    settings = _DEFAULTS | (read_mapping(path) if path.exists() else {})
    for key, default in _DEFAULTS.items():
        if not isinstance(settings[key], bool) and settings[key] is not default:
            raise RunError(f"{path}: {key} is {settings[key]!r}, and must be true or false")
    return settings


def _explicit(normaliser: dict[str, Any]) -> dict[str, Any]:
    """Return the normaliser with an explicit `strip_accents`, which defaults to `lowercase`."""
    if normaliser.get("strip_accents") is None:
        return normaliser | {"strip_accents": normaliser.get("lowercase")}
    return normaliser

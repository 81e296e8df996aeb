"""Vocabulary of a Hugging Face BERT: WordPiece, with the special tokens moved to the front."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import tokenizers

from regard.data import Tokenizer
from regard.data.fields.tokenizer_training import wordpieces
from regard.runs.files import write_json
from regard.runs.folder import RunError
from regard.specials import BOS, EOS, MASK, MASKED, PAD, UNK
from regard.systems.masked_language_model.hugging_face.normaliser import agreed, read_normaliser
from regard.systems.masked_language_model.hugging_face.reading import read_mapping, read_text

_THEIRS = {PAD: "[PAD]", UNK: "[UNK]", BOS: "[CLS]", EOS: "[SEP]", MASK: "[MASK]"}
_CUT = {"unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
"""WordPiece settings of BERT."""


class Vocabulary(NamedTuple):
    """A tokenizer, and the original order of its ids: our embedding row i is row `order[i]` of theirs."""

    tokenizer: Tokenizer
    order: list[int]


def read(folder: Path) -> Vocabulary:
    """Read `tokenizer.json`, or `vocab.txt` with `tokenizer_config.json`.

    Raises:
        RunError: both files are missing, or the vocabulary is not that of a BERT.
    """
    described, listed = folder / "tokenizer.json", folder / "vocab.txt"
    if described.exists():
        return _described(described)
    if not listed.exists():
        raise RunError(f"{folder} has neither tokenizer.json nor vocab.txt; save the tokenizer there too")
    return _moved(_listed(listed), read_normaliser(folder), listed)


def write(tokenizer: Tokenizer, folder: Path, *, max_length: int) -> None:
    """Write `tokenizer.json` and `tokenizer_config.json` for `AutoTokenizer`."""
    content = json.loads(tokenizer.json)
    frame = [_special(BOS, 0), {"Sequence": {"id": "A", "type_id": 0}}, _special(EOS, 0)]
    second = [{"Sequence": {"id": "B", "type_id": 1}}, _special(EOS, 1)]
    tokens = {MASKED[index]: {"id": MASKED[index], "ids": [index], "tokens": [MASKED[index]]} for index in (BOS, EOS)}
    content["post_processor"] = {
        "type": "TemplateProcessing",
        "single": frame,
        "pair": [*frame, *second],
        "special_tokens": tokens,
    }
    names = {"pad": PAD, "unk": UNK, "cls": BOS, "sep": EOS, "mask": MASK}
    settings: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": max_length,
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
    }
    settings |= {f"{name}_token": MASKED[index] for name, index in names.items()}
    write_json(folder / "tokenizer.json", content)
    write_json(folder / "tokenizer_config.json", settings)


def _described(path: Path) -> Vocabulary:
    """Read `tokenizer.json`, written by transformers or by `write`."""
    given = read_mapping(path)
    if not isinstance(given.get("model"), dict):
        raise RunError(f"{path} has no model, which lists the pieces; save the tokenizer anew by save_pretrained")
    try:
        # The round trip through the library adds keys that older versions omit.
        content = json.loads(tokenizers.Tokenizer.from_str(json.dumps(given)).to_str())
        model = content["model"]
        if model["type"] != "WordPiece" or "[MASK]" not in model["vocab"]:
            unframed = {"post_processor": None, "truncation": None, "padding": None}
            tokenizer = Tokenizer(json.dumps(content | unframed))
            return Vocabulary(tokenizer, list(range(tokenizer.size)))
    except Exception as problem:  # the library raises a bare Exception
        raise RunError(
            f"{path} is no tokenizer of BERT's kind ({problem}); save that of the model there by save_pretrained"
        ) from problem
    _check_cut(content, path)
    return _moved(model["vocab"], agreed(content["normalizer"], path), path)


def _check_cut(content: dict[str, Any], path: Path) -> None:
    """Check that the tokenizer has the WordPiece settings of BERT."""
    before = (content["pre_tokenizer"] or {}).get("type")
    if before != "BertPreTokenizer":
        raise RunError(f"{path}: pre_tokenizer is {before!r}; only 'BertPreTokenizer' can be read")
    for key, value in _CUT.items():
        if content["model"][key] != value:
            raise RunError(f"{path}: {key} of model is {content['model'][key]!r}; only {value!r} can be read")
    for token in content["added_tokens"]:
        if token["content"] not in _THEIRS.values():
            raise RunError(
                f"{path}: added_tokens has {token['content']!r}; only {', '.join(_THEIRS.values())} can be read"
            )


def _listed(path: Path) -> dict[str, int]:
    """Read the pieces of `vocab.txt`, one per line; like transformers, do not end lines at U+2028."""
    found: dict[str, int] = {}
    for index, piece in enumerate(read_text(path).removesuffix("\n").split("\n")):
        if piece in found:
            raise RunError(
                f"{path} has the piece {piece!r} in line {found[piece] + 1} and in line {index + 1}; a piece has one id"
            )
        found[piece] = index
    return found


def _moved(vocabulary: dict[str, int], normaliser: dict[str, Any] | None, source: Path) -> Vocabulary:
    """Return the vocabulary with our special tokens in place of theirs, moved to the front."""
    missing = [piece for piece in _THEIRS.values() if piece not in vocabulary]
    if missing:
        raise RunError(f"{source} has no {', '.join(missing)}, which a BERT needs")
    taken = [piece for piece in MASKED if piece in vocabulary]
    if taken:
        raise RunError(f"{source} has the piece {taken[0]!r}, which is a special one here; give it another name")
    special = [vocabulary[_THEIRS[index]] for index in range(len(MASKED))]
    rest = sorted((index, piece) for piece, index in vocabulary.items() if piece not in _THEIRS.values())
    order = special + [index for index, _ in rest]
    if sorted(order) != list(range(len(order))):
        raise RunError(f"{source}: {len(order):,} pieces have other ids than 0 to {len(order) - 1:,}")
    pieces = {piece: index for index, piece in enumerate((*MASKED, *(piece for _, piece in rest)))}
    content = json.loads(wordpieces(pieces, []).to_str())
    content["normalizer"]["normalizers"] = [] if normaliser is None else [normaliser]
    return Vocabulary(Tokenizer(json.dumps(content)), order)


def _special(index: int, segment: int) -> dict[str, Any]:
    return {"SpecialToken": {"id": MASKED[index], "type_id": segment}}

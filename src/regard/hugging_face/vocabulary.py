"""The vocabulary of a BERT of Hugging Face: pieces of words, with the special ones moved to the front."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from tokenizers import normalizers

from regard.data import DataError, Tokenizer
from regard.data.tokenizer import wordpieces
from regard.specials import BOS, EOS, MASK, MASKED, PAD, UNK
from regard.train.folder import RunError

_THEIRS = {PAD: "[PAD]", UNK: "[UNK]", BOS: "[CLS]", EOS: "[SEP]", MASK: "[MASK]"}


class Vocabulary(NamedTuple):
    """A tokenizer, and where each of its ids stood: row `order[i]` of their embeddings is our row i."""

    tokenizer: Tokenizer
    order: list[int]


def read(folder: Path) -> Vocabulary:
    """From `tokenizer.json`, or from `vocab.txt` beside `tokenizer_config.json`.

    Raises:
        RunError: neither is there, or it is no vocabulary of BERT's kind.
    """
    text = folder / "tokenizer.json"
    if text.exists():
        content = json.loads(text.read_text(encoding="utf-8"))
        if content["model"]["type"] == "WordPiece" and "[MASK]" in content["model"]["vocab"]:
            return _moved(content["model"]["vocab"], _lowercase(content.get("normalizer")), text)
        try:
            tokenizer = Tokenizer(json.dumps({**content, "post_processor": None}))
        except (DataError, KeyError) as problem:
            raise RunError(f"{text} is no tokenizer of BERT's kind: {problem}") from None
        return Vocabulary(tokenizer, list(range(tokenizer.size)))
    listed = folder / "vocab.txt"
    if not listed.exists():
        raise RunError(f"{folder} has neither tokenizer.json nor vocab.txt; save the tokenizer there too")
    pieces = listed.read_text(encoding="utf-8").splitlines()
    settings = folder / "tokenizer_config.json"
    chosen = json.loads(settings.read_text(encoding="utf-8")) if settings.exists() else {}
    return _moved({piece: index for index, piece in enumerate(pieces)}, chosen.get("do_lower_case", True), listed)


def write(tokenizer: Tokenizer, folder: Path, *, max_length: int) -> None:
    """As `tokenizer.json` and `tokenizer_config.json`, which `AutoTokenizer` reads."""
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
    settings: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": max_length}
    settings |= {f"{name}_token": MASKED[index] for name, index in names.items()}
    (folder / "tokenizer.json").write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2), encoding="utf-8")


def _moved(vocabulary: dict[str, int], lowercase: bool, source: Path) -> Vocabulary:
    """Their pieces with ours for the special ones, which come first."""
    missing = [piece for piece in _THEIRS.values() if piece not in vocabulary]
    if missing:
        raise RunError(f"{source} has no {', '.join(missing)}, which a BERT needs")
    special = [vocabulary[_THEIRS[index]] for index in range(len(MASKED))]
    rest = sorted((index, piece) for piece, index in vocabulary.items() if piece not in _THEIRS.values())
    pieces = {piece: index for index, piece in enumerate((*MASKED, *(piece for _, piece in rest)))}
    library = wordpieces(pieces, [normalizers.BertNormalizer(lowercase=lowercase)])
    return Vocabulary(Tokenizer(library.to_str()), special + [index for index, _ in rest])


def _lowercase(normalizer: dict[str, Any] | None) -> bool:
    return bool((normalizer or {}).get("lowercase", True))


def _special(index: int, segment: int) -> dict[str, Any]:
    return {"SpecialToken": {"id": MASKED[index], "type_id": segment}}

"""The tokenizer of a BERT of Hugging Face: its pieces, and what it does to a text before it cuts it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from regard.runs.folder import RunError
from regard.systems.masked_language_model.hugging_face.vocabulary import read
from tests.systems.hugging_face.folders import PIECES

SETTINGS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["the", "dog", "中", "a"]),
    ({"strip_accents": None, "do_lower_case": True}, ["the", "dog", "中", "a"]),
    ({"strip_accents": False}, ["thé", "dog", "中", "a"]),
    ({"do_lower_case": False}, ["<unk>", "<unk>", "中", "a"]),
    ({"do_lower_case": False, "strip_accents": True}, ["<unk>", "<unk>", "中", "a"]),
    ({"tokenize_chinese_chars": False}, ["the", "dog", "中a"]),
]


def described(pieces: list[str], settings: dict[str, Any]) -> str:
    """`tokenizer.json` with these settings."""
    library = Tokenizer(models.WordPiece({piece: index for index, piece in enumerate(pieces)}, unk_token="[UNK]"))
    library.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    library.normalizer = normalizers.BertNormalizer(
        lowercase=settings.get("do_lower_case", True),
        strip_accents=settings.get("strip_accents"),
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True),
    )
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return library.to_str()


def cut(folder: Path, text: str) -> list[str]:
    tokenizer = read(folder).tokenizer
    return [piece.removeprefix("▁") for piece in tokenizer.tokens(tokenizer.encode(text))]


def test_special_pieces_move_to_the_front(saved: Path) -> None:
    tokenizer, order = read(saved)
    assert order[:5] == [PIECES.index(piece) for piece in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")]
    assert sorted(order) == list(range(len(PIECES)))
    assert tokenizer.tokens(tokenizer.encode("Played zebra")) == ["▁play", "ed", "<unk>"]


@pytest.mark.parametrize(("settings", "pieces"), SETTINGS)
@pytest.mark.parametrize("whole", [True, False])
def test_case_accents_and_chinese_characters_are_theirs(
    tmp_path: Path, settings: dict[str, Any], pieces: list[str], whole: bool
) -> None:
    known = [*PIECES, "thé", "中", "中a"]
    (tmp_path / "vocab.txt").write_text("\n".join(known), encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    if whole:
        (tmp_path / "tokenizer.json").write_text(described(known, settings), encoding="utf-8")
    assert cut(tmp_path, "Thé DOG 中a") == pieces


def test_a_tokenizer_alone_is_followed_where_transformers_follows_it(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(described(PIECES, {"do_lower_case": False}))
    with pytest.raises(RunError, match=r"lowercase of normalizer is False, and by tokenizer_config.json, which transf"):
        read(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
    assert cut(tmp_path, "The dog") == ["<unk>", "dog"]


def test_what_an_old_tokenizer_does_not_say_is_filled_in(tmp_path: Path) -> None:
    content = json.loads(described(PIECES, {}))
    del content["model"]["type"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    assert cut(tmp_path, "The dog played") == ["the", "dog", "play", "ed"]


def test_a_line_of_pieces_ends_where_transformers_ends_it(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join([*PIECES, "\u2028", "\x85", "last"]), encoding="utf-8")
    tokenizer, order = read(tmp_path)
    assert len(order) == tokenizer.size == len(PIECES) + 3
    assert order[tokenizer.encode("last")[0]] == len(PIECES) + 2


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("pre_tokenizer", {"type": "Whitespace"}, "pre_tokenizer is 'Whitespace'; only 'BertPreTokenizer' can be read"),
    ("normalizer", {"type": "NFC"}, "lowercase of normalizer is None, and by tokenizer_config.json"),
    ("model", {"continuing_subword_prefix": "@@"}, "continuing_subword_prefix of model is '@@'; only '##' can be read"),
    ("model", {"unk_token": "[PAD]"}, r"unk_token of model is '\[PAD\]'; only '\[UNK\]' can be read"),
    ("model", {"vocab": {"[MASK]": 0}}, r"has no \[PAD\], \[UNK\], \[CLS\], \[SEP\], which a BERT needs"),
]


@pytest.mark.parametrize(("key", "value", "sentence"), WRONG)
def test_what_cannot_be_carried_over_is_one_sentence(
    tmp_path: Path, key: str, value: dict[str, Any], sentence: str
) -> None:
    content = json.loads(described(PIECES, {}))
    content[key] = content[key] | value if key == "model" else value
    content["added_tokens"] = []
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(RunError, match=sentence):
        read(tmp_path)


def test_pieces_that_cannot_be_here_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join([*PIECES, "<mask>"]))
    with pytest.raises(RunError, match=r"vocab.txt has the piece '<mask>', which is a special one here"):
        read(tmp_path)
    (tmp_path / "vocab.txt").write_text("\n".join([*PIECES, "cat"]))
    with pytest.raises(RunError, match=r"vocab.txt has the piece 'cat' in line 4 and in line 18"):
        read(tmp_path)
    library = Tokenizer.from_str(described(PIECES, {}))
    library.add_tokens(["zebra"])
    (tmp_path / "tokenizer.json").write_text(library.to_str())
    with pytest.raises(RunError, match="added_tokens has 'zebra'; only"):
        read(tmp_path)
    gap = json.loads(described(PIECES, {}))
    gap["model"]["vocab"]["he"] = 99
    (tmp_path / "tokenizer.json").write_text(json.dumps(gap))
    with pytest.raises(RunError, match="17 pieces have other ids than 0 to 16"):
        read(tmp_path)

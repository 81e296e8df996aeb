"""SentencePiece models, against what SentencePiece 0.2.3 says of two small ones that it was trained for here."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from regard.data import SPECIALS, DataError
from regard.data.fields.tokenizer_import import import_tokenizer

FOLDER = Path(__file__).parent / "sentencepiece"

CUT = {
    "unigram": {
        "the lower house": "▁the ▁ l o we r ▁house",
        "  two  spaces, Wider? ": "▁ t w o ▁ s <unk> a <unk> e s , ▁ <unk> i d er ?",
        "naïve ☃ x": "▁n a ï v e ▁ <unk> ▁ <unk>",
        "": "",
        "the<sep>house": "▁the <sep> h o u s e",
        "newest newest": "▁ ne we s t ▁ ne we s t",
    },
    "bpe": {
        "the lower house": "▁the ▁lower ▁house",
        "  two  spaces, Wider? ": "▁ ▁ ▁ t w o ▁ ▁ s <0x70> a <0x63> es , ▁ <0x57> id er ? ▁",
        "naïve ☃ x": "▁n aïve ▁ <0xE2> <0x98> <0x83> ▁ <0x78>",
        "": "",
        "the<sep>house": "▁the <0x3C> se <0x70> <0x3E> hou se",
        "newest newest": "▁new est ▁new est",
    },
}


@pytest.mark.parametrize("kind", CUT)
def test_text_is_cut_as_sentencepiece_cuts_it(kind: str) -> None:
    tokenizer = import_tokenizer(FOLDER / f"{kind}.model")
    assert tokenizer.kind == kind
    assert tokenizer.tokens(range(4)) == list(SPECIALS)
    for text, pieces in CUT[kind].items():
        assert [tokenizer._library.id_to_token(index) for index in tokenizer.encode(text)] == pieces.split()


def test_texts_come_back() -> None:
    bpe = import_tokenizer(FOLDER / "bpe.model")
    assert [bpe.decode(bpe.encode(text)) for text in CUT["bpe"]] == list(CUT["bpe"])
    unigram = import_tokenizer(FOLDER / "unigram.model")
    assert unigram.decode(unigram.encode(" the  lower<sep>house")) == "the lower<sep>house"


@pytest.mark.parametrize("kind", CUT)
def test_words_begin_where_they_do(kind: str) -> None:
    tokenizer = import_tokenizer(FOLDER / f"{kind}.model")
    begins = tokenizer.begins()
    assert [begins[index] for index in tokenizer.encode(["newest", "house", "the"])].count(True) == 3
    assert tokenizer.words_of(tokenizer.encode("the house"))[-1] == 1


def message(*fields: tuple[int, object]) -> bytes:
    """A message of a protocol buffer."""
    found = b""
    for number, value in fields:
        if isinstance(value, int):
            found += bytes([number << 3]) + varint(value)
        elif isinstance(value, float):
            found += bytes([number << 3 | 5]) + struct.pack("<f", value)
        else:
            given = value.encode() if isinstance(value, str) else value
            assert isinstance(given, bytes)
            found += varint(number << 3 | 2) + varint(len(given)) + given
    return found


def varint(value: int) -> bytes:
    if value < 0x80:
        return bytes([value])
    return bytes([value & 0x7F | 0x80]) + varint(value >> 7)


def model(kind: int = 1, *, unknown: bool = True, suffix: int = 0) -> bytes:
    pieces = [message((1, "<unk>"), (2, 0.0), (3, 2))] if unknown else []
    pieces += [message((1, piece), (2, -float(number))) for number, piece in enumerate("▁ab", start=1)]
    trainer = varint(24 << 3) + varint(suffix)
    return message(*((1, piece) for piece in pieces), (2, message((3, kind)) + trainer))


def test_a_model_without_anything_optional_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.model").write_bytes(model())
    tokenizer = import_tokenizer(tmp_path / "a.model")
    assert tokenizer.tokens(tokenizer.encode(" a  b x")) == ["▁", "a", "▁", "b", "▁", "<unk>"]
    assert tokenizer.size == len(SPECIALS) + 3


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (model(4), "of characters"),
        (model(3), "of words"),
        (model(unknown=False), "no unknown"),
        (model(suffix=1), "treat_whitespace_as_suffix"),
        (model()[:-1], "neither"),
        (model()[:9], "neither"),
        (message((1, b"\xff\xff")), "neither"),
        (message((1, message((1, b"\xff")))), "neither"),
        (b"\x00" * 20, "neither"),
        (b"\xff" * 20, "neither"),
        (message((2, b"")), "neither"),
    ],
)
def test_what_cannot_be_read_is_said_by_name(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "some.model"
    path.write_bytes(content)
    with pytest.raises(DataError, match=said) as caught:
        import_tokenizer(path)
    assert str(caught.value).startswith(f"{path}: ")

"""Tokenizers of others: text is cut as they cut it, and the special pieces are ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from regard.data import EOS, SPECIALS, DataError, Tokenizer
from regard.data.fields.tokenizer_import import import_tokenizer
from regard.specials import MASK, MASKED

TEXTS = ["the lower house is lower", "The newest house, isn't it?", "a  wide  house", "naïve 日本 ☃", ""] * 3
FRAME = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]


def byte_level() -> tokenizers.Tokenizer:
    """As GPT-2: no space before the first word, no unknown piece, one special piece, the last."""
    library = tokenizers.Tokenizer(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    library.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet))
    library.add_special_tokens(["<|endoftext|>"])
    library.post_processor = processors.ByteLevel()
    return library


def wordpiece() -> tokenizers.Tokenizer:
    """As BERT: special pieces in another order, and a frame around each text."""
    library = tokenizers.Tokenizer(models.WordPiece({"[UNK]": 0}, unk_token="[UNK]"))
    library.normalizer = normalizers.BertNormalizer(lowercase=True)
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.decoder = decoders.WordPiece("##", cleanup=False)
    library.train_from_iterator(TEXTS, trainers.WordPieceTrainer(vocab_size=60, special_tokens=FRAME))
    library.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    library.enable_truncation(3)
    library.enable_padding()
    return library


def unigram() -> tokenizers.Tokenizer:
    """As T5."""
    library = tokenizers.Tokenizer(models.Unigram())
    library.normalizer = normalizers.NFKC()
    library.pre_tokenizer = pre_tokenizers.Metaspace()
    library.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=60, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>")
    library.train_from_iterator(TEXTS, trainer)
    return library


def llama() -> tokenizers.Tokenizer:
    """As older files of Llama: spaces are marked by the normaliser, and bytes are pieces too."""
    spaces = byte_fallback_pieces()
    library = tokenizers.Tokenizer(
        models.BPE(spaces, [("▁", "h"), ("▁h", "o"), ("e", "r")], unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    library.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    library.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    library.add_special_tokens(["<unk>", "<s>", "</s>"])
    library.add_tokens([tokenizers.AddedToken("<sep>", normalized=False)])
    return library


def byte_fallback_pieces() -> dict[str, int]:
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", *"abcdefghijklmnopqrstuvwxyz"]
    return {piece: number for number, piece in enumerate([*pieces, "▁h", "▁ho", "er"])}


def words() -> tokenizers.Tokenizer:
    library = tokenizers.Tokenizer(models.WordLevel({"[UNK]": 0, "house": 1, "the": 2, ",": 3}, unk_token="[UNK]"))
    library.pre_tokenizer = pre_tokenizers.Whitespace()
    return library


LIBRARIES = {made.__name__: made for made in (byte_level, wordpiece, unigram, llama, words)}
KINDS = {"byte_level": "bpe", "wordpiece": "wordpiece", "unigram": "unigram", "llama": "bpe", "words": "words"}


def written(library: tokenizers.Tokenizer, folder: Path) -> Path:
    path = folder / "tokenizer.json"
    library.save(str(path))
    return path


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("masked", [False, True])
def test_text_is_cut_as_theirs_cuts_it(name: str, masked: bool, tmp_path: Path) -> None:
    library = LIBRARIES[name]()
    tokenizer = import_tokenizer(written(library, tmp_path), masked=masked)
    specials = MASKED if masked else SPECIALS
    assert (tokenizer.kind, tokenizer.masked) == (KINDS[name], masked)
    assert tokenizer.tokens(range(len(specials))) == list(specials)
    library.no_truncation()
    library.no_padding()
    for text in TEXTS:
        theirs = library.encode(text, add_special_tokens=False).tokens
        ours = [tokenizer._library.id_to_token(index) for index in tokenizer.encode(text)]
        assert ours == ["<unk>" if piece in ("[UNK]", "<unk>") else piece for piece in theirs]
        if "☃" not in text:
            assert (
                tokenizer.decode(tokenizer.encode(text)).split()
                == library.decode(library.encode(text, add_special_tokens=False).ids, skip_special_tokens=False)
                .replace("[UNK]", "<unk>")
                .replace(" ,", "," if name == "words" else " ,")
                .split()
            )


@pytest.mark.parametrize("name", LIBRARIES)
def test_it_is_saved_with_a_run_like_any_other(name: str, tmp_path: Path) -> None:
    tokenizer = import_tokenizer(written(LIBRARIES[name](), tmp_path))
    tokenizer.save(tmp_path / "tokenizer.source.json")
    again = Tokenizer.load(tmp_path / "tokenizer.source.json")
    assert again == tokenizer == import_tokenizer(tmp_path / "tokenizer.json")
    assert [again.encode(text) for text in TEXTS] == [tokenizer.encode(text) for text in TEXTS]
    assert import_tokenizer(tmp_path / "tokenizer.source.json") == tokenizer  # and one of ours is one too


@pytest.mark.parametrize("name", LIBRARIES)
def test_their_special_pieces_are_gone_and_no_text_becomes_ours(name: str, tmp_path: Path) -> None:
    tokenizer = import_tokenizer(written(LIBRARIES[name](), tmp_path), masked=True)
    pieces = [tokenizer._library.id_to_token(index) for index in range(tokenizer.size)]
    assert not {"<|endoftext|>", *FRAME} & set(pieces)
    assert len(set(pieces)) == tokenizer.size
    assert not {0, 2, 3, MASK} & set(tokenizer.encode("</s> [SEP] <mask> <|endoftext|> <pad> house"))
    assert tokenizer.encode("the\thouse").count(EOS) == 1


def test_the_other_pieces_keep_their_order(tmp_path: Path) -> None:
    library = byte_level()
    tokenizer = import_tokenizer(written(library, tmp_path))
    theirs = library.encode("the lower house").ids
    assert tokenizer.encode("the lower house") == [len(SPECIALS) + index for index in theirs]
    assert tokenizer.size == len(SPECIALS) + library.get_vocab_size() - 1


@pytest.mark.parametrize("name", LIBRARIES)
def test_words_of_a_list_begin_once_each(name: str, tmp_path: Path) -> None:
    tokenizer = import_tokenizer(written(LIBRARIES[name](), tmp_path))
    begins = tokenizer.begins()
    for given in (["house", "the", "house"], ["house,", "lower"], ["it", "isn't"]):
        assert [begins[index] for index in tokenizer.encode(given)].count(True) == len(given), name


def test_pieces_added_to_a_vocabulary_are_read_as_such(tmp_path: Path) -> None:
    tokenizer = import_tokenizer(written(llama(), tmp_path))
    ids = tokenizer.encode("house<sep>her")
    assert "<sep>" in tokenizer.tokens(ids)
    assert tokenizer.tokens(tokenizer.encode("A")) == ["▁", "A"]
    assert "<0x41>" in [tokenizer._library.id_to_token(index) for index in tokenizer.encode("A")]


def wrong(library: tokenizers.Tokenizer, **model: object) -> str:
    content = json.loads(library.to_str())
    content["model"] |= model
    return json.dumps(content)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not a tokenizer.json"),
        ("[3]", "neither a tokenizer.json nor a SentencePiece"),
        ('{"model": 3}', "has no 'model'"),
        ('{"model": {"type": "WordPiece"}}', "not a tokenizer.json"),
        ("", "neither a tokenizer.json nor a SentencePiece"),
        ("no tokenizer\n", "neither a tokenizer.json nor a SentencePiece"),
        (wrong(words(), unk_token="[NO]"), "no unknown token"),
        (wrong(words(), vocab={"[UNK]": 0}), "no pieces but special ones"),
        (wrong(llama(), unk_token=None, byte_fallback=False), "no unknown token"),
        (wrong(wordpiece(), continuing_subword_prefix="@@"), "model WordPiece"),
        (wrong(llama(), end_of_word_suffix="</w>"), "model BPE"),
    ],
)
def test_what_is_no_tokenizer_is_said_by_name(content: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    path.write_text(content)
    with pytest.raises(DataError, match=said) as caught:
        import_tokenizer(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.json: cannot be read"):
        import_tokenizer(tmp_path / "none.json")

"""Arrays from examples to batches: every rank, bytes and floats, files, and values that are none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import (
    Batches,
    Collator,
    Corpus,
    DataError,
    Example,
    SkippedLines,
    Tokenizer,
    TokensField,
    VectorsField,
)
from regard.data.fields.vector_shape import VectorShape
from regard.train.cuda_graphs import recorded_sizes

WORDS = Tokenizer.train(["a b c"], kind="words")


@dataclass(frozen=True)
class Given:
    """Examples in memory."""

    rows: tuple[dict[str, Any], ...]
    name: str = "given"

    files: tuple[Path, ...] = ()

    @property
    def skipped(self) -> SkippedLines:
        return SkippedLines()

    def settings(self) -> str:
        return self.name

    def __iter__(self) -> Iterator[Example]:
        return (Example(row, f"examples.jsonl:{number}") for number, row in enumerate(self.rows, start=1))


def built(folder: Path, arrays: list[Any], field: VectorsField | None = None) -> Corpus:
    """A corpus with the field "frames", opened again from the cache."""
    field = VectorsField() if field is None else field
    learned = field if field.encoder is not None else field.with_encoder(field.learn(arrays))
    data = Given(tuple({"frames": array} for array in arrays))
    for _ in range(2):
        corpus = Corpus.build(data, {"frames": learned}, folder)
    return corpus


@settings(deadline=None, max_examples=30)
@given(
    shapes=st.integers(1, 3).flatmap(
        lambda rank: st.lists(st.tuples(*[st.integers(0, 5)] * rank), min_size=1, max_size=7)
    ),
    dtype=st.sampled_from(["float32", "float16", "uint8"]),
)
def test_every_value_comes_back_and_the_rest_is_padding(
    shapes: list[tuple[int, ...]], dtype: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    numbers = np.random.default_rng(0)
    arrays = [numbers.integers(1, 256, shape).astype(dtype) for shape in shapes]
    corpus = built(tmp_path_factory.mktemp("cache"), arrays, VectorsField(dtype=dtype, scale=1.0, pad=-1.0))
    chosen = list(range(len(arrays)))[::-1]
    batch = Collator(corpus)(chosen)
    most = np.array(shapes).max(0)
    assert batch["frames"].dtype == torch.float32
    assert tuple(batch["frames"].shape) == (len(arrays), *most)
    for row, number in enumerate(chosen):
        inside = tuple(slice(size) for size in shapes[number])
        assert np.array_equal(batch["frames"][row][inside].numpy(), arrays[number].astype(np.float32))
        assert int((batch["frames"][row] == -1).sum()) == most.prod() - arrays[number].size
    varies = len({shape[0] for shape in shapes}) > 1
    assert ("frames_lengths" in batch) is varies
    if varies:
        assert batch["frames_lengths"].tolist() == [shapes[number][0] for number in chosen]


def test_bytes_of_images_are_scaled_in_a_batch(tmp_path: Path) -> None:
    images = [np.array([[[0, 51, 255]] * 2] * 3, np.uint8), np.full((3, 5, 3), 102, np.uint8)]
    corpus = built(tmp_path, images, VectorsField(dtype="uint8"))
    assert (corpus.folder / "frames.values").stat().st_size == 3 * 2 * 3 + 3 * 5 * 3  # a byte per value
    batch = Collator(corpus)([0, 1])
    assert tuple(batch["frames"].shape) == (2, 3, 5, 3)
    assert batch["frames"][0, 1, 1].tolist() == pytest.approx([0, 0.2, 1])
    assert batch["frames"][0, :, 2:].unique().tolist() == [0]
    assert batch["frames"][1].unique().tolist() == pytest.approx([0.4])
    assert "frames_lengths" not in batch  # the height is fixed
    assert Collator(corpus).lengths().tolist() == [[1], [1]]


def test_lengths_decide_what_goes_together_and_what_is_rounded(tmp_path: Path) -> None:
    rows = tuple(
        {"frames": np.ones((size, 7)), "caption": "a b c"[: 2 * size - 1] or "a"} for size in (11, 2, 13, 3, 5)
    )
    frames = VectorsField(VectorShape((None, 7)))
    fields = {"frames": frames, "caption": TokensField(WORDS, begin=True, end=True)}
    collate = Collator(Corpus.build(Given(rows), fields, tmp_path), counted="caption")
    assert collate.lengths().tolist() == [[11, 5], [2, 4], [13, 5], [3, 5], [5, 5]]
    batches = Batches(collate.lengths("frames"), sentences=2, shuffle=False)
    assert [batch.tolist() for batch in batches.epoch(0)] == [[1, 3], [4, 0], [2]]
    batch = collate([0, 2, 4])
    assert batch.tokens == 12
    assert recorded_sizes(batch) == (
        ("frames", (4, 16, 7)),  # rows and frames are rounded up, the width never
        ("frames_lengths", (4,)),
        ("caption", (4, 5)),  # all but the last of 5 are read
        ("caption_lengths", (4,)),
    )


def test_no_examples_make_a_batch_of_none(tmp_path: Path) -> None:
    batch = Collator(built(tmp_path, [np.ones((2, 3)), np.ones((4, 3))]))([])
    assert (tuple(batch["frames"].shape), tuple(batch["frames_lengths"].shape)) == ((0, 0, 3), (0,))


def test_files_of_numpy_are_read(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", np.full((2, 3), 5.0))
    np.savez(tmp_path / "single.npz", frames=np.full((4, 3), 7.0))
    np.savez(tmp_path / "many.npz", first=np.full((1, 3), 2.0), second=np.full((1, 3), 3.0))
    paths = [str(tmp_path / name) for name in ("one.npy", "single.npz", "many.npz:second")]
    corpus = built(tmp_path / "cache", paths)
    assert corpus.kinds["frames"].learned == VectorShape((None, 3))
    assert Collator(corpus)([0, 1, 2])["frames"][:, 0, 0].tolist() == [5, 7, 3]


FLOATS = VectorsField(VectorShape((None, 2)))


@pytest.mark.parametrize(
    ("bad", "field", "words"),
    [
        (np.ones((2, 3)), FLOATS, ("[2, 3]", "[any, 2]")),
        (np.ones(2), FLOATS, ("[2]", "[any, 2]")),
        (np.array([[1.0, np.nan]]), FLOATS, ("not finite",)),
        (np.array([[1e39, 0]]), FLOATS, ("not finite", "float32")),
        (np.array([["a", "b"]]), FLOATS, ("real numbers",)),
        (np.array([[1j, 0]]), FLOATS, ("real numbers",)),
        (np.ones((1, 2)), VectorsField(VectorShape((None, 2)), dtype="uint8"), ("float64", "uint8")),
        (7, FLOATS, ("int", ".npy")),
        ("none.npy", FLOATS, ("none.npy", "no such file")),
        ("broken.npy", FLOATS, ("broken.npy",)),
        ("broken.npz", FLOATS, ("broken.npz",)),
        ("pickled.npy", FLOATS, ("pickled.npy",)),
        ("two.npz", FLOATS, ("2 arrays", "two.npz:a")),
        ("two.npz:c", FLOATS, ("'c'", "a, b")),
    ],
)
def test_a_bad_value_is_one_sentence_with_its_line(
    bad: Any, field: VectorsField, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("broken.npy", "broken.npz"):
        Path(name).write_bytes(b"PK\x03\x04 nothing" if name.endswith("z") else b"nothing")
    np.save("pickled.npy", np.array([{}], dtype=object))
    np.savez("two.npz", a=np.ones((1, 2)), b=np.ones((1, 2)))
    good = np.ones((3, 2), np.uint8)
    with pytest.raises(DataError) as caught:
        built(tmp_path / "cache", [good, bad, good], field)
    said = str(caught.value)
    assert said.startswith("examples.jsonl:2: ")
    assert "\n" not in said
    for word in words:
        assert word in said


def test_shapes_of_a_training_split_that_do_not_agree_are_refused() -> None:
    with pytest.raises(DataError, match="1 and 2 axes"):
        VectorsField().learn([np.ones(2), np.ones((2, 3))])
    with pytest.raises(DataError, match="no arrays"):
        VectorsField().learn([])
    with pytest.raises(DataError, match="0 axes"):
        VectorsField().learn([np.array(1.0)])


def test_a_shape_is_kept_with_a_run(tmp_path: Path) -> None:
    shape = VectorShape((None, 5, 3))
    shape.save(tmp_path / "vectors.frames.json")
    assert VectorShape.load(tmp_path / "vectors.frames.json") == shape
    assert shape.size == 3
    for content in ("[]", "[1.5]", "{}", "[true]", "nothing"):
        (tmp_path / "bad.json").write_text(content)
        with pytest.raises(DataError, match=r"bad\.json"):
            VectorShape.load(tmp_path / "bad.json")


def test_a_kind_without_its_encoder_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="VectorsField has no encoder"):
        Corpus.build(Given(({"frames": np.ones(3)},)), {"frames": VectorsField()}, tmp_path)

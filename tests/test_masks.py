"""Masks: one polarity, structure kept, aligned to the end."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard import Mask
from regard.cuda_capture import recording
from regard.masks import MaskShapeError, Shape
from tests.mechanism import on_the_device

ANY = settings(deadline=None, derandomize=True, max_examples=100)
BLOCK = st.tuples(st.integers(1, 7), st.integers(1, 8))


def table(mask: Mask, queries: int, keys: int) -> list[list[int]]:
    """The mask of one sequence and head as zeros and ones."""
    return mask.allowed((1, 1, queries, keys))[0, 0].expand(queries, keys).int().tolist()


def whole(mask: Mask, shape: Shape) -> Tensor:
    """The mask at its full size, on the CPU."""
    return mask.allowed(shape).expand(shape).cpu()


def test_padding_forbids_keys_at_and_after_the_length() -> None:
    allowed = Mask.padding([2, 0, 3]).allowed((3, 1, 2, 3))
    assert allowed.shape == (3, 1, 1, 3), "no larger than it must be"
    assert allowed[:, 0, 0].int().tolist() == [[1, 1, 0], [0, 0, 0], [1, 1, 1]]
    assert Mask.padding(torch.tensor([2, 0, 3])) == Mask.padding([2, 0, 3])


def test_a_recording_does_not_look_at_lengths() -> None:
    lengths = torch.tensor([2, 0, 3])
    with recording(), on_the_device():
        mask = Mask.padding(lengths)
        spans = (mask & Mask.causal()).spans((3, 1, 3, 3))
        served = mask.serves_every_query((3, 1, 3, 3))
    assert spans.lengths is not None
    assert spans.lengths.tolist() == [2, 0, 3]
    assert not served
    assert mask == Mask.padding(lengths)


def test_lengths_stay_on_their_device() -> None:
    lengths = torch.tensor([2, 3])
    with torch.device("meta"):
        mask = Mask.padding(lengths)
    assert mask == Mask.padding([2, 3])


def test_one_length_serves_every_sequence() -> None:
    assert whole(Mask.padding([2]), (5, 1, 1, 3)).sum() == 10


@pytest.mark.parametrize(
    ("queries", "keys", "expected"),
    [
        (3, 3, [[1, 0, 0], [1, 1, 0], [1, 1, 1]]),
        (2, 4, [[1, 1, 1, 0], [1, 1, 1, 1]]),
        (1, 4, [[1, 1, 1, 1]]),
        (3, 2, [[0, 0], [1, 0], [1, 1]]),
    ],
)
def test_causal_is_aligned_to_the_end(queries: int, keys: int, expected: list[list[int]]) -> None:
    assert table(Mask.causal(), queries, keys) == expected


@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_a_window_holds_exactly_its_width(width: int) -> None:
    """Query i of six over six keys sees min(W, i + 1) keys, the last one its own."""
    rows = table(Mask.window(width), 6, 6)
    assert [sum(row) for row in rows] == [min(width, i + 1) for i in range(6)]
    assert all(row[i] == 1 and not any(row[i + 1 :]) for i, row in enumerate(rows))


def test_a_window_may_look_ahead() -> None:
    assert table(Mask.window(3, ahead=1), 4, 4) == [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]
    assert table(Mask.window(2, ahead=1), 2, 4) == [[0, 0, 1, 1], [0, 0, 0, 1]]


def test_a_wide_window_is_causal() -> None:
    assert table(Mask.window(9), 4, 6) == table(Mask.causal(), 4, 6)


@pytest.mark.parametrize(
    ("shape", "broadcast"),
    [((5,), (1, 1, 1, 5)), ((3, 5), (1, 1, 3, 5)), ((2, 3, 5), (2, 1, 3, 5)), ((2, 7, 3, 5), (2, 7, 3, 5))],
)
def test_a_tensor_has_one_to_four_dimensions(shape: tuple[int, ...], broadcast: tuple[int, ...]) -> None:
    allowed = torch.rand(shape) < 0.5
    assert torch.equal(Mask.of(allowed).allowed((2, 7, 3, 5)), allowed.reshape(broadcast))


def test_a_tokenizers_rows_are_one_row_of_keys_a_sequence() -> None:
    """[B, S] as tokenizers give it becomes [B, 1, S]."""
    attention_mask = torch.tensor([[1, 1, 0], [1, 1, 1]])
    assert torch.equal(whole(Mask.keys(attention_mask.bool()), (2, 1, 4, 3)), whole(Mask.padding([2, 3]), (2, 1, 4, 3)))


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: Mask.padding(torch.tensor([1.0])), MaskShapeError, r"one integer a sequence.*float32 of shape \[1\]"),
        (lambda: Mask.padding(torch.tensor([True])), MaskShapeError, "one integer a sequence"),
        (lambda: Mask.padding(torch.tensor([[1, 2]])), MaskShapeError, r"shape \[B\]; got torch.int64 of shape"),
        (lambda: Mask.padding([2, -1]), ValueError, "at least 0; got -1"),
        (lambda: Mask.of(torch.ones(2, 2)), TypeError, "'may attend', not torch.float32"),
        (lambda: Mask.of(torch.ones(2, 2, dtype=torch.long)), TypeError, "the polarity is in your hands"),
        (lambda: Mask.of(torch.ones(1, 1, 1, 2, 2).bool()), MaskShapeError, r"1 to 4 dimensions.*\[1, 1, 1, 2, 2\]"),
        (lambda: Mask.of(torch.tensor(True)), MaskShapeError, r"1 to 4 dimensions.*got shape \[\]"),
        (lambda: Mask.window(0), ValueError, "width=0, ahead=0"),
        (lambda: Mask.window(3, ahead=3), ValueError, "width=3, ahead=3"),
        (lambda: Mask.window(3, ahead=-1), ValueError, "width=3, ahead=-1"),
    ],
)
def test_a_mask_that_cannot_be(make: Callable[[], Mask], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        make()


@pytest.mark.parametrize(
    ("mask", "sentence"),
    [
        (lambda: Mask.padding([1, 2, 3]), r"for 3 sequences does not fit scores of shape \[2, 1, 4, 5\] \(B=2\)"),
        (lambda: Mask.padding([6, 1]), r"lengths up to 6 do not fit scores of shape \[2, 1, 4, 5\] \(S=5\)"),
        (lambda: Mask.of(torch.ones(4, 6).bool()), r"shape \[1, 1, 4, 6\] does not fit scores of shape \[2, 1, 4, 5\]"),
        (lambda: Mask.of(torch.ones(2, 5).bool()), r"\[1, 1, 2, 5\].*write Mask.keys\(allowed\)"),
    ],
)
def test_a_mask_that_does_not_fit(mask: Callable[[], Mask], sentence: str) -> None:
    shape = (2, 1, 4, 5)
    asked = (
        lambda m: m.allowed(shape),
        lambda m: m.blocks(shape, (2, 2)),
        lambda m: (~(Mask.causal() & m) | Mask.causal()).allowed(shape),
    )
    for ask in asked:
        with pytest.raises(MaskShapeError, match=sentence):
            ask(mask())


@pytest.mark.parametrize(
    "text",
    [
        "Mask.padding([2, 3])",
        "Mask.causal()",
        "Mask.window(3)",
        "Mask.window(3, ahead=1)",
        "~Mask.causal()",
        "Mask.padding([2, 3]) & Mask.causal()",
        "(Mask.padding([2]) | Mask.window(2)) & ~Mask.causal()",
        "~(Mask.window(4) & Mask.causal() & Mask.padding([1]))",
    ],
)
def test_a_mask_reads_as_it_is_written(text: str) -> None:
    mask, again = eval(text), eval(text)
    assert repr(mask) == text
    assert mask == again
    assert len({mask, again}) == 1


def test_a_tensor_is_named_by_shape_and_count() -> None:
    assert repr(Mask.of(torch.tensor([[True, False], [True, True]]))) == "Mask.of(<1x1x2x2, 3 allowed>)"


def test_different_masks_are_different() -> None:
    masks = (
        Mask.causal(),
        Mask.window(1),
        Mask.window(2),
        Mask.window(2, ahead=1),
        Mask.padding([1]),
        Mask.padding([2]),
        Mask.of(torch.tensor([True, False])),
        Mask.of(torch.tensor([False, True])),
        Mask.of(torch.tensor([[True], [False]])),
        Mask.causal() & Mask.window(1),
        Mask.causal() | Mask.window(1),
        ~Mask.causal(),
    )
    assert all(one != other for one, other in itertools.combinations(masks, 2))
    assert Mask.causal() != "Mask.causal()"


def test_drawing() -> None:
    mask = Mask.padding([3, 1]) & Mask.causal()
    assert mask.draw(2, 4) == "■ ■ ■ □\n■ ■ ■ □"
    assert (~Mask.window(1)).draw(2, 2) == "□ ■\n■ □"
    assert Mask.of(torch.tensor([True, False])).draw(2, 2) == "■ □\n■ □"


def test_moving() -> None:
    mask = ~(Mask.padding([1, 2]) & Mask.of(torch.ones(2, 1, 3).bool())) | Mask.causal()
    there = mask.to("meta")
    assert there.allowed((2, 1, 3, 3), device="meta").device.type == "meta"
    assert Mask.padding([1, 2]).to("meta").lengths(2, 3).device.type == "meta"  # type: ignore[union-attr]
    assert mask.to(torch.get_default_device()) == mask


def test_lengths() -> None:
    padding, other = Mask.padding([4, 2]), Mask.padding([1, 5])
    holes = Mask.of(torch.tensor([[[0, 1, 0, 1, 0]], [[0, 0, 0, 0, 0]]]).bool())

    def lengths(mask: Mask) -> list[int] | None:
        found = mask.lengths(2, 5)
        return None if found is None else found.tolist()

    assert lengths(padding) == [4, 2]
    assert lengths(Mask.padding([3])) == [3, 3]
    assert lengths(holes) == [4, 0], "the last key that anyone may attend to"
    assert lengths(padding & other) == [1, 2]
    assert lengths(padding | other) == [4, 5]
    assert lengths(padding & Mask.causal()) == [4, 2]
    assert lengths(padding | Mask.causal()) is None
    assert lengths(Mask.causal()) is None
    assert lengths(~padding) is None
    assert Mask.of(torch.ones(2, 1, 1, 0).bool()).lengths(2, 0).tolist() == [0, 0]  # type: ignore[union-attr]


def test_selecting_keeps_masks_of_all_sequences() -> None:
    rows = torch.tensor([1, 1, 0])
    mask = Mask.padding([2]) & Mask.causal() & Mask.of(torch.ones(4, 4).bool())
    assert mask.select(rows) == mask
    assert Mask.padding([2, 3]).select(rows) == Mask.padding([3, 3, 2])


def test_embedding_frees_the_other_keys() -> None:
    assert Mask.padding([1]).embed(0, 2, 1).draw(1, 3) == "■ □ ■"
    assert Mask.padding([1]).embed(2, 2, 0).draw(1, 4) == "■ ■ ■ □"
    assert (~Mask.padding([1])).embed(1, 2, 1).draw(1, 4) == "■ □ ■ ■"
    assert (Mask.padding([1]) & Mask.of(torch.tensor([False]))).embed(1, 2, 1).draw(1, 4) == "■ □ □ ■"


def test_embedding_leaves_places_to_the_end() -> None:
    assert (Mask.causal() & Mask.window(2)).embed(3, 2, 1) == Mask.causal() & Mask.window(2)


def test_a_mask_by_query_cannot_grow() -> None:
    with pytest.raises(MaskShapeError, match=r"shape \[1, 1, 2, 3\] differs by query"):
        Mask.of(torch.ones(2, 3).bool()).embed(0, 3, 1)


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    return draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(0, 6)), draw(st.integers(0, 7))


@st.composite
def leaves(draw: st.DrawFn, shape: Shape, *, by_key: bool = False) -> tuple[Mask, Tensor]:
    """A leaf and its meaning [B, H, T, S], written without the leaf; `by_key`: the same for every query."""
    batch, _, queries, keys = shape
    kind = draw(st.sampled_from(("padding", "dense") if by_key else ("padding", "dense", "causal", "window")))
    place = torch.arange(queries, device="cpu").unsqueeze(1) + keys - queries
    key = torch.arange(keys, device="cpu")
    if kind == "padding":
        lengths = draw(st.lists(st.integers(0, keys), min_size=batch, max_size=batch))
        return Mask.padding(lengths), (key < torch.tensor(lengths, device="cpu")[:, None, None, None]).expand(shape)
    if kind == "causal":
        return Mask.causal(), (key <= place).expand(shape)
    if kind == "window":
        width = draw(st.integers(1, 5))
        ahead = draw(st.integers(0, width - 1))
        offset = key - place
        return Mask.window(width, ahead=ahead), ((offset <= ahead) & (offset > ahead - width)).expand(shape)
    sizes = [size if draw(st.booleans()) else 1 for size in shape]
    sizes[2] = 1 if by_key else sizes[2]
    generator = torch.Generator("cpu").manual_seed(draw(st.integers(0, 999)))
    pairs = torch.rand(sizes, generator=generator, device="cpu") < draw(st.sampled_from((0.1, 0.5, 0.9)))
    return Mask.of(pairs.to(torch.get_default_device())), pairs.expand(shape)


@st.composite
def expressions(draw: st.DrawFn, shape: Shape, depth: int = 3, *, by_key: bool = False) -> tuple[Mask, Tensor]:
    """A mask of at most `depth` operators on any path, and its meaning."""
    sign = draw(st.sampled_from("&|~.")) if depth else "."
    if sign == ".":
        return draw(leaves(shape, by_key=by_key))
    mask, meaning = draw(expressions(shape, depth - 1, by_key=by_key))
    if sign == "~":
        return ~mask, ~meaning
    other, theirs = draw(expressions(shape, depth - 1, by_key=by_key))
    return (mask & other, meaning & theirs) if sign == "&" else (mask | other, meaning | theirs)


def blocked(meaning: Tensor, block: tuple[int, int]) -> list[list[Tensor]]:
    """The meaning cut into blocks of queries by keys."""
    return [list(rows.split(block[1], dim=3)) for rows in meaning.split(block[0], dim=2)]


@ANY
@given(st.data())
def test_an_expression_means_what_it_says(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    mask, meaning = data.draw(expressions(shape))
    assert torch.equal(whole(mask, shape), meaning)
    assert ~~mask == mask


@ANY
@given(st.data())
def test_de_morgan(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    one, other = data.draw(expressions(shape, 1))[0], data.draw(expressions(shape, 1))[0]
    assert torch.equal(whole(~(one & other), shape), whole(~one | ~other, shape))
    assert torch.equal(whole(~(one | other), shape), whole(~one & ~other, shape))


@ANY
@given(st.data())
def test_blocks_are_safe(data: st.DataObject) -> None:
    shape = data.draw(shapes().filter(lambda shape: 0 not in shape))
    mask, meaning = data.draw(expressions(shape))
    block = data.draw(BLOCK)
    ruled_out, full = (part.cpu().expand(*shape[:2], -1, -1) for part in mask.blocks(shape, block))
    for t, row in enumerate(blocked(meaning, block)):
        for s, part in enumerate(row):
            assert not (part.any(3).any(2) & ruled_out[:, :, t, s]).any()
            assert not (~part.all(3).all(2) & full[:, :, t, s]).any()


@ANY
@given(st.data())
def test_blocks_of_a_leaf_are_sharp(data: st.DataObject) -> None:
    shape = data.draw(shapes().filter(lambda shape: 0 not in shape))
    mask, meaning = data.draw(leaves(shape))
    block = data.draw(BLOCK)
    ruled_out, full = (part.cpu().expand(*shape[:2], -1, -1) for part in mask.blocks(shape, block))
    for t, row in enumerate(blocked(meaning, block)):
        for s, part in enumerate(row):
            assert torch.equal(ruled_out[:, :, t, s], ~part.any(3).any(2))
            assert torch.equal(full[:, :, t, s], part.all(3).all(2))


@ANY
@given(st.data())
def test_blocks_of_nothing_are_none(data: st.DataObject) -> None:
    batch, heads, queries, keys = data.draw(shapes())
    for shape in ((batch, heads, 0, keys), (batch, heads, queries, 0)):
        mask, _ = data.draw(expressions(shape))
        assert mask.blocks(shape, (2, 3)).full.numel() == 0


@ANY
@given(st.data())
def test_selecting_is_indexing(data: st.DataObject) -> None:
    batch, heads, queries, keys = shape = data.draw(shapes())
    mask, meaning = data.draw(expressions(shape))
    rows = data.draw(st.lists(st.integers(0, batch - 1), min_size=1, max_size=5))
    chosen = whole(mask.select(torch.tensor(rows)), (len(rows), heads, queries, keys))
    assert torch.equal(chosen, meaning[rows])


@ANY
@given(st.data())
def test_a_tile_is_a_slice_of_the_whole(data: st.DataObject) -> None:
    shape = data.draw(shapes().filter(lambda shape: 0 not in shape))
    mask, meaning = data.draw(expressions(shape))
    heads, rows, cols = (data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=4)) for size in shape[1:])
    tile = mask.allowed(
        shape,
        heads=torch.tensor(heads),
        rows=torch.tensor(rows),
        cols=torch.tensor(cols),
        device=torch.get_default_device(),
    )
    expected = meaning[:, heads][:, :, rows][..., cols]
    assert torch.equal(tile.cpu().expand(expected.shape), expected)


@ANY
@given(st.data())
def test_embedding_pads_with_what_may_be_attended(data: st.DataObject) -> None:
    batch, heads, queries, keys = shape = data.draw(shapes())
    mask, meaning = data.draw(expressions(shape, by_key=True))
    before, after = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    longer = whole(mask.embed(before, keys, after), (batch, heads, queries, before + keys + after))
    assert torch.equal(longer, torch.nn.functional.pad(meaning, (before, after), value=True))


@ANY
@given(st.data())
def test_no_key_matters_past_the_lengths(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    mask, meaning = data.draw(expressions(shape))
    lengths = mask.lengths(shape[0], shape[3])
    if lengths is not None:
        past = torch.arange(shape[3], device="cpu") >= lengths.cpu()[:, None, None, None]
        assert not (meaning & past).any()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Mask.causal(),
        lambda: Mask.window(2),
        lambda: Mask.window(3, ahead=1) & Mask.padding([4, 2]),
        lambda: ~(Mask.of(torch.rand(2, 1, 3, 5) < 0.5) | Mask.window(1)),
    ],
)
def test_a_row_alone_has_the_mask_it_had_among_others(make: Callable[[], Mask]) -> None:
    mask = make()
    whole = mask.allowed((2, 1, 3, 5)).expand(2, 1, 3, 5)
    for index in range(3):
        alone = mask.row(index, 3).allowed((2, 1, 1, 5)).expand(2, 1, 1, 5)
        assert torch.equal(alone, whole[:, :, index : index + 1])


def test_joining_dense_masks_gives_one() -> None:
    left, right = torch.rand(2, 1, 1, 5) < 0.5, torch.rand(1, 3, 4, 5) < 0.5
    assert Mask.of(left) & Mask.of(right) == Mask.of(left & right)
    with pytest.raises(MaskShapeError, match=r"shapes \[1, 1, 1, 5\] and \[1, 1, 1, 4\] cannot be joined"):
        Mask.of(left[0, 0, 0]) & Mask.of(torch.ones(4).bool())


def test_a_mask_does_not_follow_its_tensor() -> None:
    lengths, allowed = torch.tensor([2, 1]), torch.ones(2, 3).bool()
    padding, dense = Mask.padding(lengths), Mask.keys(allowed)
    lengths += 1
    allowed[:] = False
    assert padding == Mask.padding([2, 1])
    assert dense == Mask.keys(torch.ones(2, 3).bool())


def test_and_or_not_are_refused() -> None:
    with pytest.raises(TypeError, match="combine masks with &"):
        _ = Mask.causal() and Mask.padding([1])
    with pytest.raises(TypeError, match="must be a regard"):
        Mask.causal() & torch.ones(2, 2).bool()  # type: ignore[operator]


def test_keys_are_one_row_a_sequence_even_if_there_are_as_many_queries() -> None:
    allowed = torch.tensor([[1, 1, 0], [1, 0, 0]]).bool()
    assert Mask.keys(allowed).allowed((2, 1, 2, 3)).shape == (2, 1, 1, 3)
    with pytest.raises(MaskShapeError, match=r"\[B, S\]; got shape \[3\]"):
        Mask.keys(allowed[0])


def test_true_lengths_are_of_padding_alone() -> None:
    assert Mask.padding([2, 3]).true_lengths(2, 3).tolist() == [2, 3]
    assert Mask.keys(torch.tensor([[1, 1, 0]]).bool()).true_lengths(1, 3).tolist() == [2]
    for mask in (Mask.window(2), Mask.keys(torch.tensor([[1, 0, 1]]).bool()), ~Mask.padding([2])):
        with pytest.raises(MaskShapeError, match="only padding fits here"):
            mask.true_lengths(1, 3)


def grown(mask: Mask, size: int, steps: int) -> Mask:
    """The mask of a memory of `size` keys to which keys without a mask are appended one by one."""
    for step in range(steps):
        mask = mask.embed(0, size + step, 1)
    return mask


def test_a_window_decides_about_new_keys_beside_a_mask_of_old_ones() -> None:
    """A window, and the first key always: the same on a memory that grew as on one that was whole."""
    first = torch.tensor([True, False, False])
    mask = Mask.window(2) | Mask.of(first)
    whole = Mask.window(2) | Mask.of(torch.nn.functional.pad(first, (0, 4)))
    assert torch.equal(grown(mask, 3, 4).allowed((1, 1, 1, 7)), whole.allowed((1, 1, 1, 7)))
    assert (grown(Mask.padding([1]), 3, 2) & Mask.causal()).allowed((1, 1, 1, 5)).tolist() == [[[[1, 0, 0, 1, 1]]]]


def test_a_mask_that_grows_for_long_stays_small() -> None:
    mask, step = Mask.padding([2, 3]) & Mask.causal(), Mask.causal()
    for size in range(3, 1500):
        mask = mask.embed(0, size, 1) & step
    assert len(repr(mask)) < 100
    assert mask.allowed((2, 1, 1, 1500))[0, 0, 0].sum() == 1499


def test_a_padding_mask_for_every_query_knows_its_lengths() -> None:
    """[B, T, S], as some libraries write it."""
    pairs = torch.tensor([[1, 1, 0], [1, 1, 1]]).bool()[:, None, :].expand(2, 4, 3).clone()
    assert Mask.of(pairs).lengths(2, 3).tolist() == [2, 3]  # type: ignore[union-attr]
    assert Mask.of(pairs).row(1, 4).lengths(2, 3).tolist() == [2, 3]  # type: ignore[union-attr]


def test_what_was_kept_is_not_an_answer_to_another_question() -> None:
    """On a CPU the last answer is kept; other sizes, what is forbidden, and gradients after inference ask anew."""
    mask, device = Mask.padding([2, 3]), torch.device("cpu")
    for keys in (3, 5, 3):
        allowed = mask.allowed((2, 1, 1, keys), device=device)
        assert allowed.flatten(1).sum(1).tolist() == [2, 3]
        assert allowed.shape == (2, 1, 1, keys)
        assert torch.equal(mask.forbidden((2, 1, 1, keys), device=device), ~allowed)
    with torch.inference_mode():
        mask.forbidden((2, 1, 1, 4), device=device)
    energy = torch.zeros(2, 1, 1, 4, requires_grad=True, device=device)
    energy.masked_fill(mask.forbidden((2, 1, 1, 4), device=device), 0.0).sum().backward()
    assert energy.grad is not None
    assert energy.grad.flatten(1).sum(1).tolist() == [2, 3]

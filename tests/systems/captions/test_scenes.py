"""Generated scenes: what is drawn is what the captions say, and splits share nothing."""

from __future__ import annotations

import numpy as np
import pytest

from regard.data.problems import DataError
from regard.systems.captions.scenes import CAPTIONS, COLOURS, Scene, Scenes, Thing, draw

RED, BLUE = Thing("small", "red", "circle"), Thing("large", "blue", "square")


def where(picture: np.ndarray, colour: str) -> tuple[float, float]:
    """The mean place of the pixels of a colour, down and right."""
    apart = np.abs(picture.astype(float) - np.array(COLOURS[colour])[:, None, None]).sum(0)
    rows, columns = np.nonzero(apart < 60)
    return float(rows.mean()), float(columns.mean())


@pytest.mark.parametrize("seed", range(7))
def test_things_lie_where_the_caption_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    picture = draw(Scene("beside", (RED, BLUE)), rng, noise=0)
    red, blue = where(picture, "red"), where(picture, "blue")
    assert red[1] + 8 < blue[1]
    assert abs(red[0] - blue[0]) < 5
    picture = draw(Scene("above", (RED, BLUE)), rng, noise=0)
    red, blue = where(picture, "red"), where(picture, "blue")
    assert red[0] + 8 < blue[0]
    assert abs(red[1] - blue[1]) < 5


def test_captions_say_the_same() -> None:
    assert Scene("above", (RED, BLUE)).captions() == (
        "a small red circle above a large blue square",
        "a large blue square below a small red circle",
        "there is a small red circle above a large blue square",
        "there is a large blue square below a small red circle",
    )
    cross = Thing("large", "white", "cross")
    assert Scene("count", (cross,) * 3).captions()[1] == "there are three large white crosses"


def test_an_example_is_a_function_of_its_number() -> None:
    first, again = Scenes("valid", size=20), Scenes("valid", size=9)
    for index in (0, 5, 8):
        assert first[index].fields["caption"] == again[index].fields["caption"]
        assert (first[index].fields["picture"].source == again[index].fields["picture"].source).all()
    assert (Scenes("valid", seed=3)[5].fields["picture"].source != first[5].fields["picture"].source).any()


def test_no_scene_is_in_two_splits() -> None:
    found = {
        split: {Scenes(split, size=400).scene(index).captions()[0] for index in range(400)}  # type: ignore[arg-type]
        for split in ("train", "valid", "test")
    }
    assert not found["train"] & (found["valid"] | found["test"])
    assert not found["valid"] & found["test"]
    assert all(len(one) > 80 for one in found.values())


def test_a_test_picture_comes_with_each_of_its_captions() -> None:
    data = Scenes("test", size=8)
    for begin in (0, CAPTIONS):
        rows = [data[begin + place].fields for place in range(CAPTIONS)]
        assert len({row["picture"] for row in rows}) == 1
        assert [row["caption"] for row in rows] == list(data.scene(begin).captions())
    assert data[0].fields["picture"] != data[CAPTIONS].fields["picture"]


def test_no_scenes_are_refused() -> None:
    with pytest.raises(DataError, match="size is 0"):
        Scenes("train", size=0)

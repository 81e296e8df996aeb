"""Generated reviews: what their targets say of them."""

from __future__ import annotations

import pytest

from regard.data import DataError
from regard.data.generated import adjectives
from regard.systems.classification.reviews import Reviews

PRAISE, BLAME = set(adjectives()[1::2]), set(adjectives()[0::2])
ASPECTS = {"breakfast": "food", "coffee": "food", "food": "food", "soup": "food", "street": "noise", "lift": "noise",
           "heating": "noise", "downstairs": "noise", "price": "price", "bill": "price", "minibar": "price",
           "room": "room", "bed": "room", "bath": "room", "view": "room", "staff": "staff", "porter": "staff",
           "desk": "staff"}  # fmt: skip


def parts(text: str) -> list[list[str]]:
    return [part.split() for part in text.split(" , ")]


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_targets_follow_from_the_text(split: str) -> None:
    made = {kind: Reviews(split, size=200, target=kind) for kind in ("labels", "number", "label")}  # type: ignore[arg-type]
    for index in range(200):
        fields = {kind: data[index].fields for kind, data in made.items()}
        text = fields["labels"]["text"]
        assert isinstance(text, str)
        assert all(one["text"] == text for one in fields.values())
        said = parts(text)
        assert 1 <= len(said) <= 4
        assert fields["labels"]["label"] == sorted(
            ASPECTS[part[part.index("was") - 1]] for part in said if part[-1] in BLAME
        )
        points = [(1 if part[-1] in PRAISE else -1) * (2 if part[-2] in ("very", "so") else 1) for part in said]
        mean = sum(points) / len(points)
        assert fields["number"]["label"] == f"{3 + mean:.2f}"
        assert fields["label"]["label"] == ("good" if mean > 0 else "bad" if mean < 0 else "fair")


def test_splits_share_no_review_and_seeds_differ() -> None:
    texts = [{str(one.fields["text"]) for one in Reviews(split, size=300)} for split in ("train", "valid", "test")]  # type: ignore[arg-type]
    assert not texts[0] & texts[1] | texts[0] & texts[2] | texts[1] & texts[2]
    assert Reviews(size=9)[3] != Reviews(size=9, seed=1)[3]
    assert list(Reviews(size=9)) == list(Reviews(size=9))
    assert any(not one.fields["label"] for one in Reviews(size=50))  # no label at all


@pytest.mark.parametrize("options", [{"target": "stars"}, {"words": 0}, {"words": 9999}, {"split": "dev"}])
def test_what_does_not_exist_is_one_sentence(options: dict[str, object]) -> None:
    with pytest.raises(DataError, match=str(next(iter(options.values())))):
        Reviews(**options)  # type: ignore[arg-type]

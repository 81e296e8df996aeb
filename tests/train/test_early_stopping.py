"""Which validation is kept, and when patience begins anew."""

from __future__ import annotations

from regard.train.early_stopping import judge, last_kept

BOTH = ("accuracy", "loss")


def row(accuracy: float, loss: float) -> dict[str, float]:
    return {"accuracy": accuracy, "loss": loss}


def test_by_one_measure_it_must_be_better_than_all_before() -> None:
    assert judge(["loss"], row(0, 1.0), {}) == (True, True, {"loss": 1.0})
    assert judge(["loss"], row(0, 0.9), {"loss": 1.0}) == (True, True, {"loss": 0.9})
    assert judge(["loss"], row(0, 1.0), {"loss": 1.0}) == (False, False, {"loss": 1.0})
    assert judge(["accuracy"], row(0.6, 9), {"accuracy": 0.5}) == (True, True, {"accuracy": 0.6})


def test_by_two_it_must_be_as_good_in_both_and_either_is_hope() -> None:
    reached = {"accuracy": 0.8, "loss": 1.0}
    assert judge(BOTH, row(0.8, 1.0), reached) == (True, True, reached)
    assert judge(BOTH, row(0.8, 0.9), reached) == (True, True, {"accuracy": 0.8, "loss": 0.9})
    assert judge(BOTH, row(0.9, 1.1), reached) == (False, True, {"accuracy": 0.9, "loss": 1.0})
    assert judge(BOTH, row(0.7, 0.9), reached) == (False, True, {"accuracy": 0.8, "loss": 0.9})
    assert judge(BOTH, row(0.7, 1.1), reached) == (False, False, reached)


def test_what_is_best_apart_must_be_met_together() -> None:
    """The accuracy of the second and the loss of the third were never reached at once before the last."""
    rows = [row(0.5, 2.0), row(0.9, 2.1), row(0.6, 1.0), row(0.8, 1.0), row(0.9, 1.0), row(0.9, 1.2)]
    assert last_kept(BOTH, rows) is rows[4]
    assert last_kept(["loss"], rows) is rows[2]
    assert last_kept(BOTH, []) == {}

"""Words filled in by any encoder: neither padding nor the word itself reaches its prediction."""

from __future__ import annotations

import pytest
import torch

from regard.models import build
from regard.specials import MASK
from tests.mechanism import assert_close

RNN = {"kind": "rnn", "embedding_dim": 5, "hidden_dim": 6, "bidirectional": True}
ENCODERS = (
    RNN,
    {"kind": "lstmn", "embedding_dim": 5, "hidden_dim": 6},
    {"kind": "conv", "hidden_dim": 6, "num_layers": 1, "dropout": 0.0},
    {"kind": "transformer", "dim": 6, "num_heads": 2, "num_layers": 1, "dropout": 0.0},
)
SIZE = 13


def model(kind: str, encoder: dict[str, object] | None = None) -> torch.nn.Module:
    return build(kind, SIZE, encoder=RNN if encoder is None else encoder).double().eval()


@pytest.mark.parametrize("kind", ["masked_lm", "middle_word"])
def test_padding_changes_nothing(kind: str) -> None:
    text, lengths = torch.randint(5, SIZE, (3, 7)), torch.tensor([7, 4, 1])
    for encoder in ENCODERS if kind == "masked_lm" else (RNN,):
        mine = model(kind, encoder)
        whole = mine(text, lengths).logits
        for row, length in enumerate(lengths.tolist()):
            assert_close(mine(text[row : row + 1, :length]).logits[0], whole[row, :length])


def test_a_middle_word_is_read_from_both_sides_and_not_itself() -> None:
    mine, text = model("middle_word"), torch.randint(5, SIZE, (1, 7))
    before = mine(text).logits[0]
    for place in range(7):
        changed = text.clone()
        changed[0, place] = 5 + (changed[0, place] - 4) % (SIZE - 5)
        differs = (mine(changed).logits[0] - before).abs().amax(1) > 1e-12
        assert differs.tolist() == [other != place for other in range(7)]


def test_states_beyond_the_ends_are_zero() -> None:
    mine = model("middle_word")
    text = torch.randint(5, SIZE, (2, 4))
    states = mine.states(text, torch.tensor([4, 2]))  # type: ignore[operator]
    assert_close(states[0, 0, :3], [0.0] * 3)
    assert_close(states[0, 3, 3:], [0.0] * 3)
    assert_close(states[1, 1, 3:], [0.0] * 3)


def test_the_output_is_the_embedding_and_only_chosen_places_are_computed() -> None:
    for kind in ("masked_lm", "middle_word"):
        mine, text = model(kind), torch.tensor([[5, MASK, 7], [MASK, 8, 9]])
        assert mine.output_map.weight is mine.encoder.words.table.weight  # type: ignore[union-attr]
        assert_close(mine(text, None, text == MASK).logits, mine(text).logits[text == MASK].tolist())


@pytest.mark.parametrize(
    ("encoder", "said"),
    [
        ({**RNN, "bidirectional": False}, "both sides"),
        ({**RNN, "cells": {"kind": "gru", "num_layers": 2}}, "set it to 1"),
        ({**RNN, "reverse": True}, "reverse"),
    ],
)
def test_encoders_that_would_read_the_word_are_refused(encoder: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        build("middle_word", SIZE, encoder=encoder)

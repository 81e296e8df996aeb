"""A BERT that transformers could have saved."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.systems.hugging_face.folders import CONFIG, PIECES, save, weights


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Its folder."""
    torch.manual_seed(0)
    save(tmp_path / "saved", weights(CONFIG), CONFIG, PIECES)
    return tmp_path / "saved"

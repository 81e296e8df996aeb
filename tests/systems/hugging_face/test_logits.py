"""An imported and an exported BERT say what its weights say in plain PyTorch, whether transformers is there or not."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from regard.runs.run import Run
from regard.systems.masked_language_model.hugging_face import export_bert, import_bert
from regard.systems.masked_language_model.hugging_face.vocabulary import read
from tests.systems.hugging_face.folders import CONFIG, CUT, PIECES, answered, save, weights
from tests.systems.hugging_face.plain_bert import PlainBert


@pytest.mark.parametrize("epsilon", [1e-12, 0.1])
def test_an_imported_model_says_what_its_weights_say(tmp_path: Path, epsilon: float) -> None:
    torch.manual_seed(1)
    saved, config = tmp_path / "saved", {**CONFIG, "layer_norm_eps": epsilon}
    save(saved, weights(config), config, PIECES)
    import_bert(saved, Run(tmp_path / "run"))
    _, said = answered(tmp_path / "run", precise=True)
    order = read(saved).order
    for row, text in enumerate(CUT):
        words, follows = PlainBert(saved)([PIECES.index(piece) for piece in text.split()])
        own = words[1:-1][:, order]
        assert torch.allclose(own, said.logits[row, : len(own)], rtol=0, atol=1e-10)
        assert torch.allclose(follows, said.extras["next"][row], rtol=0, atol=1e-10)


def test_an_exported_model_says_what_its_run_says(saved: Path, tmp_path: Path) -> None:
    import_bert(saved, Run(tmp_path / "run"))
    export_bert(Run(tmp_path / "run"), tmp_path / "back")
    ids, said = answered(tmp_path / "run", precise=True)
    for row, own in enumerate(ids):
        words, follows = PlainBert(tmp_path / "back")([2, *own, 3])
        assert torch.allclose(words[1:-1], said.logits[row, : len(own)], rtol=0, atol=1e-10)
        assert torch.allclose(follows, said.extras["next"][row], rtol=0, atol=1e-10)

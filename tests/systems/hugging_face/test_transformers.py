"""Against transformers itself, 4 or 5, where it is installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.runs.run import Run
from regard.systems.masked_language_model.hugging_face import export_bert, import_bert
from regard.systems.masked_language_model.hugging_face.vocabulary import read
from tests.systems.hugging_face.folders import CONFIG, PIECES, SECONDS, TEXTS, answered

transformers: Any = pytest.importorskip("transformers", reason="transformers is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")


def tokenizer_of(folder: Path, pieces: list[str], settings: dict[str, Any]) -> Any:
    """Theirs, of these pieces and settings, as either version reads it from files."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "vocab.txt").write_text("\n".join(pieces), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer"} | settings))
    return transformers.AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize("kind", ["BertForMaskedLM", "BertForPreTraining"])
def test_equal_logits(tmp_path: Path, kind: str) -> None:
    torch.manual_seed(0)
    tokenizer = tokenizer_of(tmp_path / "pieces", PIECES, {})
    config = transformers.BertConfig(**{key: value for key, value in CONFIG.items() if key != "model_type"})
    model = getattr(transformers, kind)(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    folder, run, back = (tmp_path / part for part in ("saved", "run", "back"))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    import_bert(folder, Run(run))
    export_bert(Run(run), back)
    returned = getattr(transformers, kind).from_pretrained(back).eval()
    _, predicted = answered(run)
    others = (
        (model, tokenizer, read(folder).order),
        (returned, transformers.AutoTokenizer.from_pretrained(back), None),
    )
    for other, words, order in others:
        asked = words(TEXTS, text_pair=SECONDS, padding=True, return_tensors="pt")
        assert set(asked["token_type_ids"].flatten().tolist()) == {0, 1}
        with torch.inference_mode():
            said = other(**asked)
        logits = said.logits if kind == "BertForMaskedLM" else said.prediction_logits
        logits = logits if order is None else logits[..., order]
        for row, size in enumerate((asked["attention_mask"].sum(1) - 2).tolist()):
            assert torch.allclose(logits[row, 1 : 1 + size], predicted.logits[row, :size], atol=1e-5)
        if kind == "BertForPreTraining":
            assert torch.allclose(said.seq_relationship_logits, predicted.extras["next"], atol=1e-5)


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("accents", [None, True, False])
@pytest.mark.parametrize("chinese", [True, False])
def test_equal_pieces(tmp_path: Path, lowercase: bool, accents: bool | None, chinese: bool) -> None:
    settings = {"do_lower_case": lowercase, "strip_accents": accents, "tokenize_chinese_chars": chinese}
    pieces = [*PIECES, "thé", "Thé", "The", "中", "中a", "\u2028", "last"]
    theirs = tokenizer_of(tmp_path / "listed", pieces, settings)
    theirs.save_pretrained(tmp_path / "whole")
    asked = "Thé thé DOG last 中a playéd"
    for folder in (tmp_path / "listed", tmp_path / "whole"):
        tokenizer, order = read(folder)
        assert [order[index] for index in tokenizer.encode(asked)] == theirs(asked)["input_ids"][1:-1]

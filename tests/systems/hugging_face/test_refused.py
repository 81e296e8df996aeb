"""What cannot be imported is one sentence: the file, the key, and what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from regard.cli import app
from regard.runs.folder import RunError
from regard.runs.run import Run
from regard.systems.masked_language_model.hugging_face import export_bert, import_bert
from tests.systems.hugging_face.folders import CONFIG

RUN = CliRunner(env={"COLUMNS": "400"})
WORDS = "bert.embeddings.word_embeddings.weight"
DECODER = "cls.predictions.decoder"
JUNK = bytes(range(256))


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in CONFIG.items() if name != key}


WRONG: list[tuple[str, Any, str]] = [
    ("config.json", None, "has no config.json; give the folder that save_pretrained wrote"),
    ("config.json", [], r"config.json cannot be read \(it holds \[\], and keys with values are needed\); put a whole"),
    ("config.json", "{", r"config.json cannot be read \(Expecting property name"),
    ("config.json", "", r"config.json cannot be read \(Expecting value"),
    ("config.json", JUNK, r"config.json cannot be read \('utf-8' codec"),
    ("config.json", {**CONFIG, "model_type": "gpt2"}, "model_type is 'gpt2'; only 'bert' can be read"),
    ("config.json", {**CONFIG, "hidden_act": "relu"}, "hidden_act is 'relu'; only 'gelu' can be read"),
    ("config.json", without("hidden_size"), "config.json has no hidden_size; put the config.json there that was saved"),
    ("config.json", without("vocab_size"), "config.json has no vocab_size; put the config.json there that was saved"),
    ("config.json", {**CONFIG, "hidden_size": "16x"}, "hidden_size is '16x', and must be a whole number from 1 on"),
    ("config.json", {**CONFIG, "num_hidden_layers": True}, "num_hidden_layers is True, and must be a whole number"),
    ("config.json", {**CONFIG, "max_position_embeddings": 3}, "max_position_embeddings is 3, and must be .* from 4 on"),
    ("config.json", {**CONFIG, "num_attention_heads": 5}, r"hidden_size is 24, which 5 heads \(num_attention_heads\)"),
    ("config.json", {**CONFIG, "layer_norm_eps": 0}, "layer_norm_eps is 0, and must be a number from 0 to 1"),
    ("config.json", {**CONFIG, "hidden_dropout_prob": "x"}, "hidden_dropout_prob is 'x', and must be a number"),
    ("config.json", {**CONFIG, "vocab_size": 30}, "vocab_size is 30, and the tokenizer has 17 pieces; put files of"),
    ("config.json", {**CONFIG, "hidden_size": 48}, rf"hidden_size is 48, and {WORDS} in model.* is \[17, 24\]; put"),
    ("config.json", {**CONFIG, "intermediate_size": 20}, "intermediate_size is 20, and bert.encoder.layer.0.intermed"),
    ("config.json", {**CONFIG, "max_position_embeddings": 8}, r"max_position_embeddings is 8, and .* is \[32, 24\]"),
    ("config.json", {**CONFIG, "num_hidden_layers": 3}, "num_hidden_layers is 3, and model.safetensors has 2; put the"),
    ("config.json", {**CONFIG, "num_hidden_layers": 1}, "num_hidden_layers is 1, and model.safetensors has 2; put the"),
    ("model.safetensors", None, "has no model.safetensors; save it by save_pretrained"),
    ("model.safetensors", "", r"model.safetensors cannot be read \(.*\); put a whole one there, as save_pretrained"),
    ("model.safetensors", JUNK, r"model.safetensors cannot be read \(.*\); put a whole one there, as save_pretrained"),
    ("tokenizer.json", {"a": 1}, "tokenizer.json has no model, which lists the pieces; save the tokenizer anew by"),
    ("tokenizer.json", {"model": []}, "tokenizer.json has no model, which lists the pieces; save the tokenizer anew"),
    ("tokenizer.json", {"model": {}}, r"tokenizer.json is no tokenizer of BERT's kind \(.*\); save that of the model"),
    ("tokenizer.json", "x", r"tokenizer.json cannot be read \(Expecting value"),
    ("tokenizer.json", "", r"tokenizer.json cannot be read \(Expecting value"),
    ("tokenizer.json", JUNK, r"tokenizer.json cannot be read \('utf-8' codec"),
    ("tokenizer.json", {"model": {"type": "BPE", "vocab": {}, "merges": []}}, "no tokenizer of BERT's kind .* BPE"),
    ("tokenizer_config.json", "x", r"tokenizer_config.json cannot be read \(Expecting value"),
    ("tokenizer_config.json", {"do_lower_case": "no"}, "do_lower_case is 'no', and must be true or false"),
    ("vocab.txt", None, "has neither tokenizer.json nor vocab.txt"),
    ("vocab.txt", "[PAD]\n[UNK]\na\n", r"vocab.txt has no \[CLS\], \[SEP\], \[MASK\]"),
    ("vocab.txt", "", r"vocab.txt has no \[PAD\], \[UNK\], \[CLS\], \[SEP\], \[MASK\]"),
    ("vocab.txt", JUNK, r"vocab.txt cannot be read \('utf-8' codec"),
]


@pytest.mark.parametrize(("name", "content", "sentence"), WRONG)
def test_what_is_no_bert_is_one_sentence(saved: Path, name: str, content: Any, sentence: str, tmp_path: Path) -> None:
    if content is None:
        (saved / name).unlink()
    elif isinstance(content, bytes):
        (saved / name).write_bytes(content)
    else:
        (saved / name).write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(RunError, match=sentence) as raised:
        import_bert(saved, Run(tmp_path / "run"))
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "run").exists()


WEIGHTS: list[tuple[str, torch.Tensor | None, str]] = [
    (f"{DECODER}.weight", torch.zeros(17, 24), f"{DECODER}.weight is not {WORDS}; only a BERT that ties them"),
    (f"{DECODER}.bias", torch.ones(17), f"{DECODER}.bias is not cls.predictions.bias; only a BERT that ties them"),
    (WORDS, None, f"lacks 2 of the weights of a BERT for masked language modelling: {WORDS} ...; save a"),
    ("bert.pooler.dense.bias", None, "lacks 1 of the weights of .*: bert.pooler.dense.bias ..."),
    ("cls.seq_relationship.weight", None, r"cls.seq_relationship.bias is \[2\], and config.json has no place for it"),
    ("cls.predictions.bias", torch.zeros(5), r"cls.predictions.bias is \[5\], and config.json asks for \[17\]"),
]


@pytest.mark.parametrize(("name", "tensor", "sentence"), WEIGHTS)
def test_other_weights_are_one_sentence(
    saved: Path, name: str, tensor: torch.Tensor | None, sentence: str, tmp_path: Path
) -> None:
    tensors = load_file(saved / "model.safetensors")
    if tensor is None:
        del tensors[name]
    else:
        tensors[name] = tensor
    save_file(tensors, saved / "model.safetensors")
    with pytest.raises(RunError, match=sentence):
        import_bert(saved, Run(tmp_path / "run"))


def test_a_tied_copy_is_no_other_weight(saved: Path, tmp_path: Path) -> None:
    tensors = load_file(saved / "model.safetensors")
    tensors |= {f"{DECODER}.weight": tensors[WORDS].clone(), f"{DECODER}.bias": tensors["cls.predictions.bias"].clone()}
    import_bert(saved, Run(tmp_path / "tied"))
    save_file(tensors, saved / "model.safetensors")
    import_bert(saved, Run(tmp_path / "run"))
    torch.testing.assert_close(Run(tmp_path / "run").tensors(), Run(tmp_path / "tied").tensors(), atol=0, rtol=0)


def test_weights_in_parts_are_one_sentence(saved: Path, tmp_path: Path) -> None:
    (saved / "model.safetensors").rename(saved / "model-00001-of-00001.safetensors")
    (saved / "model.safetensors.index.json").write_text("{}")
    with pytest.raises(RunError, match=r"has its weights in parts, as model.safetensors.index.json says; save them as"):
        import_bert(saved, Run(tmp_path / "run"))


def test_foreign_weights_and_taken_names_are_one_sentence(saved: Path, tmp_path: Path) -> None:
    import_bert(saved, Run(tmp_path / "run"))
    with pytest.raises(RunError, match="holds a run already"):
        import_bert(saved, Run(tmp_path / "run"))
    with pytest.raises(RunError, match="holds a model already"):
        export_bert(Run(tmp_path / "run"), saved)
    save_file({"classifier.weight": torch.zeros(2, 24)}, saved / "model.safetensors")
    failed = RUN.invoke(app, ["import", str(saved), str(tmp_path / "other")])
    assert failed.exit_code == 2
    assert "a weight 'classifier.weight', which a BERT for masked language modelling has not" in failed.output

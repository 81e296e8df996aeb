"""BERTs to and from Hugging Face's transformers, with equal logits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

import regard
from regard.cli import app
from regard.data.batch import padded
from regard.hugging_face import export_bert, import_bert
from regard.hugging_face.names import ours, theirs
from regard.hugging_face.vocabulary import read
from regard.models import build
from regard.models.predicted import Predicted
from regard.train.folder import RunError
from regard.train.run import Run

RUN = CliRunner(env={"COLUMNS": "200"})
SPECIAL = ["[UNK]", "[CLS]", "[SEP]"]
PIECES = [
    "[PAD]",
    "[unused0]",
    "the",
    "cat",
    *SPECIAL,
    "play",
    "##ing",
    "##ed",
    "[MASK]",
    "dog",
    "a",
    ".",
    ",",
    "he",
    "##s",
]
TEXTS, SECONDS = ["The cat played.", "a dog , playing zebra he"], ["the dog", "cats ."]
CONFIG: dict[str, Any] = {
    "model_type": "bert",
    "vocab_size": len(PIECES),
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": 32,
    "layer_norm_eps": 1e-12,
}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A folder as transformers saves it, made by hand: names and shapes are theirs."""
    torch.manual_seed(0)
    folder = tmp_path / "saved"
    folder.mkdir()
    encoder = {"dim": 24, "num_heads": 3, "hidden_dim": 40, "num_layers": 2, "max_length": 32, "pooled": True}
    model = build("bert", len(PIECES), encoder=encoder, next_sentence=True)
    tensors = {name: tensor + 0.1 * torch.randn_like(tensor) for name, tensor in theirs(model.state_dict()).items()}
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    return folder


def answered(run: Path) -> tuple[list[list[int]], Predicted]:
    loaded = regard.load(run, device="cpu")
    ids = loaded.task.encoders["text"].encode_all(
        [f"{first}\t{second}" for first, second in zip(TEXTS, SECONDS, strict=True)]
    )
    with torch.inference_mode():
        return ids, loaded.model(padded(ids, 0), torch.tensor([len(row) for row in ids], device="cpu"))


def test_there_and_back_is_the_same_model(saved: Path, tmp_path: Path) -> None:
    done = RUN.invoke(app, ["import", str(saved), str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    ids, predicted = answered(tmp_path / "run")
    assert RUN.invoke(app, ["export", str(tmp_path / "run"), str(tmp_path / "back")]).exit_code == 0
    import_bert(tmp_path / "back", Run(tmp_path / "again"))
    other_ids, again = answered(tmp_path / "again")
    assert ids == other_ids
    assert torch.equal(predicted.logits, again.logits)
    assert torch.equal(predicted.extras["next"], again.extras["next"])
    order = read(saved).order
    words = "bert.embeddings.word_embeddings.weight"
    before, after = load_file(saved / "model.safetensors"), load_file(tmp_path / "back" / "model.safetensors")
    assert before.keys() == after.keys()
    assert torch.equal(before[words][order], after[words])
    asked = RUN.invoke(app, ["predict", str(tmp_path / "run"), "the <mask> played"])
    assert asked.exit_code == 0, asked.output


def test_special_pieces_move_to_the_front(saved: Path) -> None:
    tokenizer, order = read(saved)
    assert order[:5] == [PIECES.index(piece) for piece in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")]
    assert sorted(order) == list(range(len(PIECES)))
    assert tokenizer.tokens(tokenizer.encode("Played zebra")) == ["▁play", "ed", "<unk>"]
    settings = saved / "tokenizer_config.json"
    settings.write_text(json.dumps({"do_lower_case": False}))
    assert read(saved).tokenizer.tokens(read(saved).tokenizer.encode("Played")) == ["<unk>"]


def test_names_of_old_checkpoints() -> None:
    zero = torch.zeros(1)
    found = ours({"bert.embeddings.LayerNorm.gamma": zero, "cls.predictions.decoder.bias": zero}, "a file")
    assert list(found) == ["encoder.words.norm.weight"]


WRONG: list[tuple[str, Any, str]] = [
    ("config.json", None, "has no config.json; give the folder that save_pretrained wrote"),
    ("config.json", {**CONFIG, "model_type": "gpt2"}, "model_type is 'gpt2'; only 'bert' can be read"),
    ("config.json", {**CONFIG, "hidden_act": "relu"}, "hidden_act is 'relu'; only 'gelu' can be read"),
    ("config.json", {**CONFIG, "vocab_size": 30}, "the tokenizer has 17 pieces and the model 30"),
    ("config.json", {**CONFIG, "num_hidden_layers": 3}, "lacks 16 weights of a BERT for masked language modelling"),
    ("model.safetensors", None, "has no model.safetensors; save it by save_pretrained"),
    ("vocab.txt", None, "has neither tokenizer.json nor vocab.txt"),
    ("vocab.txt", "[PAD]\n[UNK]\na\n", r"vocab.txt has no \[CLS\], \[SEP\], \[MASK\]"),
]


@pytest.mark.parametrize(("name", "content", "sentence"), WRONG)
def test_what_is_no_bert_is_one_sentence(saved: Path, name: str, content: Any, sentence: str, tmp_path: Path) -> None:
    if content is None:
        (saved / name).unlink()
    else:
        (saved / name).write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(RunError, match=sentence):
        import_bert(saved, Run(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_other_weights_and_taken_names_are_one_sentence(saved: Path, tmp_path: Path) -> None:
    import_bert(saved, Run(tmp_path / "run"))
    with pytest.raises(RunError, match="holds a run already"):
        import_bert(saved, Run(tmp_path / "run"))
    with pytest.raises(RunError, match="holds a model already"):
        export_bert(Run(tmp_path / "run"), saved)
    save_file({"classifier.weight": torch.zeros(2, 24)}, saved / "model.safetensors")
    failed = RUN.invoke(app, ["import", str(saved), str(tmp_path / "other")])
    assert failed.exit_code == 2
    assert "a weight 'classifier.weight', which a BERT for masked language modelling has not" in failed.output


@pytest.mark.filterwarnings("ignore")
def test_equal_logits_with_transformers(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(0)
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES))
    tokenizer = transformers.BertTokenizerFast(vocab_file=str(tmp_path / "vocab.txt"), do_lower_case=True)
    config = transformers.BertConfig(**{key: value for key, value in CONFIG.items() if key != "model_type"})
    for kind in ("BertForMaskedLM", "BertForPreTraining"):
        model = getattr(transformers, kind)(config).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.3 * torch.randn_like(parameter))
        folder, run, back = (tmp_path / f"{kind}.{part}" for part in ("saved", "run", "back"))
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        import_bert(folder, Run(run))
        export_bert(Run(run), back)
        returned = getattr(transformers, kind).from_pretrained(back).eval()
        _, predicted = answered(run)
        order = read(folder).order
        for other, words, columns in ((model, tokenizer, order), (returned, _tokenizer(back), slice(None))):
            asked = words(TEXTS, text_pair=SECONDS, padding=True, return_tensors="pt")
            with torch.inference_mode():
                said = other(**asked)
            logits = said.logits if kind == "BertForMaskedLM" else said.prediction_logits
            for row, size in enumerate((asked["attention_mask"].sum(1) - 2).tolist()):
                theirs_here = logits[row, 1 : 1 + size][:, columns]
                assert torch.allclose(theirs_here, predicted.logits[row, :size], atol=1e-5)
            if kind == "BertForPreTraining":
                assert torch.allclose(said.seq_relationship_logits, predicted.extras["next"], atol=1e-5)


def _tokenizer(folder: Path) -> Any:
    import transformers  # type: ignore[import-not-found]

    return transformers.AutoTokenizer.from_pretrained(folder)

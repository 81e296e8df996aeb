"""Import of a Hugging Face model folder as a run, and export of a run."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor, nn

from regard.data import Tokenizer
from regard.models.bert import Bert
from regard.recipes.sections import Recipe
from regard.runs.files import write_json, write_tensors
from regard.runs.folder import RunError, task_of
from regard.runs.lock import locked
from regard.runs.run import Run
from regard.systems.masked_language_model.hugging_face import config, vocabulary
from regard.systems.masked_language_model.hugging_face.names import BIAS, WORDS, ours, their_name, theirs
from regard.systems.masked_language_model.hugging_face.reading import read_tensors
from regard.tasks.build import make_model
from regard.tasks.task import task_class
from regard.tensor_mismatch import tensor_mismatch

_TASK = "masked_language_model"


def import_bert(folder: Path, run: Run) -> Recipe:
    """Import a `BertForMaskedLM` or `BertForPreTraining` saved by transformers as a run.

    Returns:
        The recipe of the run: `regard predict` fills in masks, and `regard train RECIPE init=RUN` starts from it.

    Raises:
        RunError: the folder is incomplete, the BERT is not supported, or the run already exists.
    """
    with locked(run.folder):
        return _imported(folder, run)


def _imported(folder: Path, run: Run) -> Recipe:
    if run.trained:
        raise RunError(f"{run.folder} holds a run already; give another name, or remove the folder")
    said = config.read(folder)
    read = vocabulary.read(folder)
    if len(read.order) != said["vocab_size"]:
        raise RunError(
            f"{folder / 'config.json'}: vocab_size is {said['vocab_size']:,}, and the tokenizer has "
            f"{len(read.order):,} pieces; put files of one model side by side"
        )
    weights = _weights(folder)
    tensors = ours(weights, str(folder / "model.safetensors"))
    config.check_weights(said, weights, folder)
    follows = "next_map.weight" in tensors
    pooled = follows or "encoder.pool_map.weight" in tensors
    recipe = config.recipe_of(said, run.folder.name, pooled=pooled, next_sentence=follows, source=folder)
    model = make_model(recipe, task_class(recipe.task).of(recipe, {"text": read.tokenizer}))
    _check_shapes(model, tensors, folder)
    for name in (WORDS, "output_map.weight", BIAS):
        tensors[name] = tensors[name][read.order].contiguous()
    model.load_state_dict(tensors)
    run.begin(recipe)
    run.save_encoders({"text": read.tokenizer})
    run.save_model(model.state_dict())
    return recipe


def export_bert(run: Run, folder: Path) -> None:
    """Export the model of a run of the task masked_language_model in the format of transformers.

    Raises:
        RunError: the run has another task, transformers has no such model, or the folder already contains a model.
    """
    trained = task_of(run.folder)
    if trained != _TASK:
        raise RunError(
            f"{run.folder} was trained for the task {trained!r}; only a BERT of the task {_TASK!r} can be exported"
        )
    recipe = run.recipe()
    _check_theirs(recipe, run.folder)
    encoders = run.needed_encoders()
    model = make_model(recipe, task_class(recipe.task).of(recipe, encoders))
    assert isinstance(model, Bert)
    run.load_model(model)
    if (folder / "config.json").exists():
        raise RunError(f"{folder} holds a model already; give another name, or remove the folder")
    tokenizer = encoders["text"]
    assert isinstance(tokenizer, Tokenizer)
    content = config.config_json(model, tokenizer.size)
    vocabulary.write(tokenizer, folder, max_length=content["max_position_embeddings"])
    write_tensors(folder / "model.safetensors", theirs(model.state_dict()))
    write_json(folder / "config.json", content)


def _weights(folder: Path) -> dict[str, Tensor]:
    path = folder / "model.safetensors"
    if path.exists():
        return read_tensors(path)
    if (folder / "model.safetensors.index.json").exists():
        raise RunError(
            f"{folder} has its weights in parts, as model.safetensors.index.json says; save them as one "
            "model.safetensors: save_pretrained(..., max_shard_size='100GB')"
        )
    raise RunError(f"{folder} has no model.safetensors; save it by save_pretrained, which writes one")


def _check_shapes(model: nn.Module, tensors: dict[str, Tensor], folder: Path) -> None:
    """Check that names and shapes of the weights match the model exactly."""
    own, path = model.state_dict(), folder / "model.safetensors"
    missing = sorted(set(own) - set(tensors))
    if missing:
        raise RunError(
            f"{path} lacks {len(missing)} of the weights of a BERT for masked language modelling: "
            f"{their_name(missing[0])} ...; save a BertForMaskedLM or a BertForPreTraining"
        )
    for name, tensor in tensors.items():
        wanted = list(own[name].shape) if name in own else None
        if list(tensor.shape) != wanted:
            fits = "has no place for it" if wanted is None else f"asks for {wanted}"
            raise RunError(
                f"{path}: {their_name(name)} is {list(tensor.shape)}, and config.json {fits}; "
                "put files of one model side by side"
            )
    floats = {name: one.to(own[name].dtype) if one.is_floating_point() else one for name, one in tensors.items()}
    if (wrong := tensor_mismatch(floats, own)) is not None:
        raise RunError(f"{path}: {wrong}; put a whole one there, as save_pretrained writes it")


def _check_theirs(recipe: Recipe, folder: Path) -> None:
    """Check that transformers supports the BERT of a recipe."""
    encoder = recipe.model.encoder
    if encoder.score is not None:
        raise RunError(
            f"{folder}: model.encoder.score is {encoder.score.name!r}, which no BERT of transformers has; "
            "only one that was trained without this key can be exported"
        )
    if encoder.activation != "gelu":  # hidden_act also sets the activation of the word head, which is always gelu here
        raise RunError(
            f"{folder}: model.encoder.activation is {encoder.activation!r}, and its head for words has gelu; a BERT of "
            "transformers has one activation for both, so only gelu can be exported"
        )

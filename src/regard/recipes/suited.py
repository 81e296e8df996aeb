"""What a task can learn from, and by."""

from __future__ import annotations

from regard.decode.search import Search
from regard.recipes.data_sections import FORMATS
from regard.recipes.sections import Recipe

_BLIND = "seq2seq"  # the one encoder-decoder without attention
_OF_LABELS = {"accuracy": ("classify", "tag"), "f1": ("classify", "tag"), "span_f1": ("tag",)}


def suited_data(recipe: Recipe) -> None:
    """The data must be of a format that the task learns from."""
    if recipe.data.format not in FORMATS[recipe.task]:
        known = ", ".join(FORMATS[recipe.task])
        raise ValueError(
            f"format {recipe.data.format!r} is not for the task {recipe.task!r}, which learns from {known}"
        )


def suited_tokenizer(recipe: Recipe) -> None:
    """Tags belong to words, which characters do not tell apart; joint and target are of pairs."""
    section = recipe.tokenizer
    if recipe.task == "tag" and section.kind == "characters":
        raise ValueError("kind 'characters' does not know words, which have the tags; use words, bpe or unigram")
    if recipe.task != "translate" and (section.joint or section.target is not None):
        raise ValueError(f"joint and target are for the task 'translate'; the task is {recipe.task!r}")


def suited_training(recipe: Recipe) -> None:
    """Windows are of language models; a decoder's own words are fed only where it has a source."""
    if recipe.train.batch.window is not None and recipe.task != "language_model":
        raise ValueError(f"window is for the task 'language_model'; the task is {recipe.task!r}")
    exposure = recipe.train.exposure
    if exposure.sampling is not None and recipe.task != "translate":
        raise ValueError(f"sampling is for the task 'translate'; the task is {recipe.task!r}")
    if (exposure.word_dropout or exposure.corruption) and recipe.task in ("classify", "tag"):
        raise ValueError(f"word_dropout and corruption are of generated words; the task is {recipe.task!r}")


def suited_search(recipe: Recipe) -> None:
    """Texts are searched for; labels and tags are ranked; unknown words are copied from a source."""
    search, decode = recipe.search(), recipe.decode
    if search != Search() and recipe.task in ("classify", "tag"):
        raise ValueError(f"a search is for texts that are generated; the task {recipe.task!r} has none, leave it out")
    if search.coverage and recipe.model.get("kind") == _BLIND:
        raise ValueError(f"coverage is of a model that attends to its source; {_BLIND} does not")
    if decode.unknown == "copy":
        _suited_copies(recipe)
    elif decode.dictionary is not None:
        raise ValueError("a dictionary is for unknown words that are copied; set unknown to copy")


def _suited_copies(recipe: Recipe) -> None:
    """A word can be copied where there is a source of words that is attended to."""
    if recipe.task != "translate":
        raise ValueError(f"unknown 'copy' is for the task 'translate'; the task is {recipe.task!r}")
    if recipe.model.get("kind") == _BLIND:
        raise ValueError(f"unknown 'copy' takes the word that was attended to; {_BLIND} attends to nothing")
    parts = [recipe.tokenizer, *([] if recipe.tokenizer.target is None else [recipe.tokenizer.target])]
    other = next((part.kind for part in parts if part.kind != "words"), None)
    if other is not None and recipe.init is None:  # the tokenizers of another run say so themselves
        raise ValueError(f"unknown 'copy' is for tokenizers of kind words; there is one of kind {other}")


def suited_evaluation(recipe: Recipe) -> None:
    """Metrics of labels need labels; only translations of one source can differ; rows are of windows."""
    section = recipe.evaluate
    for metric in section.chosen(recipe.task):
        if recipe.task not in _OF_LABELS.get(metric.name, (recipe.task,)):
            tasks = " and ".join(_OF_LABELS[metric.name])
            raise ValueError(f"metric {metric.name!r} is for the task {tasks}; the task is {recipe.task!r}")
        metric(["O"], [["O"]])  # an option with a wrong value shows at once
    if section.group and recipe.task != "translate":
        raise ValueError(f"group is for the task 'translate'; the task is {recipe.task!r}")
    if section.rows > 1 and recipe.train.batch.window is None:
        raise ValueError("rows are those of a text that is read in windows; train.batch has no window")

"""What a task can learn from, and by."""

from __future__ import annotations

from typing import Any

from regard.decode.search import Search
from regard.recipes.data_sections import FORMATS, TWO_TEXTS, CommunitiesData, reader_formats
from regard.recipes.encoder_sections import BlocksSection
from regard.recipes.episode_sections import EpisodeData
from regard.recipes.generated_sections import DatesData
from regard.recipes.section import parts
from regard.recipes.sections import MaskingSection, Recipe, TrainSection
from regard.recipes.span_section import SpanData
from regard.recipes.target_section import COMPARED, TARGET_METRICS
from regard.specials import FRAME

_BLIND = "seq2seq"  # the one encoder-decoder without attention
_RANKED = ("classify", "tag", "answer", "nodes", "spans")  # tasks whose answers are ranked, not generated
_UNSEARCHED = (*_RANKED, "masked_language_model", "bits")
_LABELLED = ("classify", "tag", "answer", "nodes")
_WEIGHTED = ("classify", "tag", "nodes")
_MEASURED = {"labels": _LABELLED, "chunks": ("tag",), "label_sets": ("classify",), "numbers": ("classify",)}
"""The tasks of metrics, by what they compare."""


def suited_data(recipe: Recipe) -> None:
    """The data must be of a format that the task learns from."""
    if recipe.data.format not in (formats := (*FORMATS[recipe.task], *reader_formats(recipe.task))):
        known = ", ".join(formats)
        raise ValueError(
            f"format {recipe.data.format!r} is not for the task {recipe.task!r}, which learns from {known}"
        )
    if recipe.target is None and getattr(recipe.data, "target_kind", "label") != "label":
        raise ValueError(f"target_kind is of the task 'classify'; the task is {recipe.task!r}")
    learned = getattr(recipe.data, "train", None)
    if isinstance(learned, tuple) and recipe.train.batch.window and any(part.weight != 1 for part in learned):
        raise ValueError(
            "'weight' is of examples, and train.batch.window reads all texts as one; leave one of them out"
        )
    source = getattr(recipe.data, "source", None)
    if recipe.task in TWO_TEXTS:
        if source is not None and not (isinstance(source, list) and len(source) == 2):
            raise ValueError(f"source has two columns, {TWO_TEXTS[recipe.task]}; got {source!r}")
    elif isinstance(source, list) and (len(source) != 2 or not recipe.reads_pairs or recipe.task == "tag"):
        raise ValueError(
            "source has one column, or two for labels by a model that reads two texts: with pair_dim, or with encoder "
            "{kind: bert}"
        )
    if recipe.pairs and not isinstance(source, list) and not (recipe.reads_pairs and recipe.task == "classify"):
        raise ValueError(
            "pairs are two texts, for labels by a model that reads two: with pair_dim, or with encoder {kind: bert}"
        )
    if recipe.compares and not recipe.pairs:
        given = f"format {recipe.data.format!r}" if source is None else f"source {source!r}"
        raise ValueError(f"{given} has one text, and the model compares two: give it two, or leave its pair_dim out")
    if isinstance(recipe.data, DatesData) and recipe.data.languages is not None:
        from regard.data.dates import Dates

        Dates("train", size=1, languages=tuple(recipe.data.languages))
    if isinstance(recipe.data, CommunitiesData):
        from regard.data.graphs import Communities

        Communities(**recipe.data.model_dump(exclude={"format"}))
    if isinstance(recipe.data, EpisodeData):
        from regard.data.episodes import ALGORITHMS

        ALGORITHMS[recipe.data.format](**recipe.data.rule())


def suited_tokenizer(recipe: Recipe) -> None:
    """Tags belong to words, which characters do not tell apart; answers are words; joint and target are of pairs."""
    section = recipe.tokenizer
    if recipe.task == "answer" and section.kind != "words":
        raise ValueError(f"an answer is one word, so kind is 'words' for the task 'answer'; it is {section.kind!r}")
    if recipe.task == "answer" and section.split != "whitespace":
        raise ValueError(f"an answer is one word, apple,milk too, so split is 'whitespace'; it is {section.split!r}")
    if recipe.task == "tag" and section.kind == "characters":
        raise ValueError(
            "kind 'characters' does not know words, which have the tags; use words, bpe, unigram or wordpiece"
        )
    if recipe.spells and recipe.task != "tag":
        raise ValueError(f"characters of the encoder are for the task 'tag', which has words; it is {recipe.task!r}")
    if recipe.train.masking.whole_words and section.kind == "characters":
        raise ValueError("kind 'characters' does not know words, and masking.whole_words is true; use another kind")
    if section.dropout and recipe.train.batch.window is not None:
        raise ValueError("dropout cuts examples anew, and train.batch.window reads all texts as one; leave one out")
    if section.dropout and isinstance(recipe.data, SpanData):
        raise ValueError("dropout would move the pieces that answers begin and end with; leave it out of 'spans'")
    inner = getattr(recipe.model, "model", recipe.model)
    if (
        recipe.task == "translate"
        and getattr(inner, "tied", None) == "all"
        and not section.joint
        and recipe.init is None
    ):
        raise ValueError("the model's tied 'all' is of one vocabulary for source and target; set 'joint' to true")
    if recipe.task != "translate" and (section.joint or section.target is not None):
        raise ValueError(f"joint and target are for the task 'translate'; the task is {recipe.task!r}")


def suited_training(recipe: Recipe) -> None:
    """Windows are of language models; a decoder's own words are fed only where it has a source."""
    if recipe.train.batch.window is not None and recipe.task not in ("language_model", "masked_language_model"):
        raise ValueError(
            f"window is for the task 'language_model' or 'masked_language_model'; the task is {recipe.task!r}"
        )
    if recipe.train.masking != MaskingSection() and recipe.task != "masked_language_model":
        raise ValueError(f"masking is for the task 'masked_language_model'; the task is {recipe.task!r}")
    if getattr(recipe.model, "next_sentence", False) and recipe.train.batch.window is None:
        raise ValueError("batch has no window, and next_sentence of the model learns from the two parts of a window")
    if getattr(recipe.model, "next_sentence", False) and recipe.train.batch.sentences == 1:
        raise ValueError(
            "'sentences' is 1, and next_sentence of the model also learns from parts of another window of the batch; "
            "set it to 2 or more"
        )
    if recipe.task == "bits" and recipe.train.batch.sentences is None:
        raise ValueError("batch has no sentences, and the task 'bits' draws so many at a time; set sentences")
    if recipe.task == "nodes" and recipe.train.batch != TrainSection.model_fields["batch"].default:
        raise ValueError("batch is of examples; the task 'nodes' learns from its whole graph at once, leave it out")
    if recipe.train.class_weights is not None and recipe.task not in _WEIGHTED:
        raise ValueError(f"class_weights is for the tasks {', '.join(_WEIGHTED)}; the task is {recipe.task!r}")
    if recipe.task == "spans" and recipe.train.label_smoothing:
        raise ValueError("label_smoothing would be of padding too, where no answer can begin; leave it out of 'spans'")
    if recipe.target is not None and recipe.target.target_kind == "number":
        given = {"label_smoothing": recipe.train.label_smoothing, "class_weights": recipe.train.class_weights}
        if (key := next((key for key, value in given.items() if value), None)) is not None:
            raise ValueError(f"{key} is of labels, and data.target_kind is 'number'; leave it out")
    if recipe.task == "bits" and recipe.train.label_smoothing:
        raise ValueError(f"label_smoothing is of words and labels; the task is {recipe.task!r}")
    if recipe.train.gradient_checkpointing and not any(isinstance(part, BlocksSection) for part in parts(recipe.model)):
        raise ValueError(
            f"gradient_checkpointing is of the layers of a Transformer or BERT; the model {recipe.model.kind} has none"
        )
    exposure = recipe.train.exposure
    if exposure.sampling is not None and recipe.task != "translate":
        raise ValueError(f"sampling is for the task 'translate'; the task is {recipe.task!r}")
    if (exposure.word_dropout or exposure.corruption) and recipe.task in _UNSEARCHED:
        raise ValueError(f"word_dropout and corruption are of generated words; the task is {recipe.task!r}")


def suited_places(recipe: Recipe) -> None:
    """Learned positions reach as far as what the recipe itself says is read and written; texts are looked at later."""
    inner = getattr(recipe.model, "model", recipe.model)
    part: Any = getattr(inner, "encoder", inner)
    between = int(getattr(recipe.model, "next_sentence", False))  # an end between the two parts of a window
    frame = FRAME + between if part.kind == "bert" else 0
    if part.kind != "bert" and getattr(part, "positions", None) != "learned":
        return
    window, longest = recipe.train.batch.window, recipe.search().max_length
    read = [("train.batch.window", window or 0, frame)]
    if recipe.task in ("translate", "language_model", "recall"):
        read.append(("decode.max_length", longest, 0))
    for key, count, more in read:
        if count + more > part.max_length:
            short = f"'max_length' is {part.max_length}, too short for {key}, {count} tokens"
            raise ValueError(f"{short}; raise it to {count + more} or more")


def suited_search(recipe: Recipe) -> None:
    """Texts are searched for; labels and tags are ranked; unknown words are copied from a source."""
    search, decode = recipe.search(), recipe.decode
    if search != Search() and recipe.task in _UNSEARCHED:
        raise ValueError(f"a search is for texts that are generated; the task {recipe.task!r} has none, leave it out")
    if search.coverage and recipe.model.kind == _BLIND:
        raise ValueError(f"coverage is of a model that attends to its source; {_BLIND} does not")
    if search.coverage and recipe.task == "recall":
        raise ValueError("coverage is of a source that is read word by word; the task 'recall' looks answers up")
    if decode.memory is not None and recipe.task != "recall":
        raise ValueError(f"a memory is for the task 'recall'; the task is {recipe.task!r}")
    if decode.generate_unknown and recipe.task != "language_model":
        raise ValueError(f"generate_unknown is for the task 'language_model'; the task is {recipe.task!r}")
    if decode.threshold != 0.5 and (recipe.target is None or recipe.target.target_kind != "labels"):
        raise ValueError(f"a threshold is for data.target_kind 'labels'; got {decode.threshold!r}")
    if decode.unknown == "copy":
        _suited_copies(recipe)
    elif decode.dictionary is not None:
        raise ValueError("a dictionary is for unknown words that are copied; set unknown to copy")


def _suited_copies(recipe: Recipe) -> None:
    """A word can be copied where there is a source of words that is attended to."""
    if recipe.task != "translate":
        raise ValueError(f"unknown 'copy' is for the task 'translate'; the task is {recipe.task!r}")
    if recipe.model.kind == _BLIND:
        raise ValueError(f"unknown 'copy' takes the word that was attended to; {_BLIND} attends to nothing")
    parts = [recipe.tokenizer, *([] if recipe.tokenizer.target is None else [recipe.tokenizer.target])]
    other = next((part.kind for part in parts if part.kind != "words"), None)
    if other is not None and recipe.init is None:  # the tokenizers of another run say so themselves
        raise ValueError(f"unknown 'copy' is for tokenizers of kind words; there is one of kind {other}")


def suited_evaluation(recipe: Recipe) -> None:
    """Metrics of labels need labels; only translations of one source can differ; rows are of windows."""
    section = recipe.evaluate
    for metric in recipe.metrics:
        if recipe.task not in _MEASURED.get(metric.compares, (recipe.task,)):
            *others, last = _MEASURED[metric.compares]
            tasks = f"{', '.join(others)} or {last}" if others else last
            raise ValueError(f"metric {metric.name!r} is for the task {tasks}; the task is {recipe.task!r}")
        if recipe.target is not None and metric.compares not in COMPARED[recipe.target.target_kind]:
            kind = recipe.target.target_kind
            usual = ", ".join(TARGET_METRICS[kind])
            raise ValueError(f"metric {metric.name!r} is not for data.target_kind {kind!r}; it has {usual}")
        some = "0" if metric.compares == "numbers" else "O"
        try:
            metric([some], [[some]])  # an option with a wrong value shows at once
        except TypeError:
            raise ValueError(f"the metric {metric.name!r} does not take {dict(metric.options)}") from None
    if section.group and recipe.task != "translate":
        raise ValueError(f"group is for the task 'translate'; the task is {recipe.task!r}")
    if section.rows > 1 and recipe.train.batch.window is None:
        raise ValueError("rows are those of a text that is read in windows; train.batch has no window")

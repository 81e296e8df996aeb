"""Data: readers, tokenizers, corpora on disk, batches."""

from typing import TYPE_CHECKING

from regard.lazy import lazy

if TYPE_CHECKING:
    from regard.data.batch import Batch, Collator
    from regard.data.batches import Batches
    from regard.data.cmudict import Cmudict
    from regard.data.columns import Columns
    from regard.data.conllu import Conllu
    from regard.data.corpus import Corpus
    from regard.data.dates import Dates
    from regard.data.diaries import Diaries
    from regard.data.digits import Digits
    from regard.data.endings import Endings
    from regard.data.example import Example, Examples, Reader
    from regard.data.glossary import Glossary
    from regard.data.hub import Hub
    from regard.data.joined import Joined
    from regard.data.jsonl import Jsonl
    from regard.data.label_sets import LabelSets
    from regard.data.labelled import Labelled
    from regard.data.labels import Labels
    from regard.data.mixture import Mixture
    from regard.data.numbers import Numbers
    from regard.data.opinions import Opinions
    from regard.data.pairs import Pairs
    from regard.data.problems import DataError, Skipped
    from regard.data.reviews import Reviews
    from regard.data.sentences import Sentences
    from regard.data.spans import Spans, Squad
    from regard.data.split import Slice, Split
    from regard.data.stories import Stories
    from regard.data.stream import Stream, Window
    from regard.data.table import Table
    from regard.data.tales import Tales
    from regard.data.text import Text
    from regard.data.tokenizer import Tokenizer
    from regard.data.world import World
    from regard.specials import BOS, EOS, IGNORE, PAD, SPECIALS, UNK

__all__ = [
    "BOS",
    "EOS",
    "IGNORE",
    "PAD",
    "SPECIALS",
    "UNK",
    "Batch",
    "Batches",
    "Cmudict",
    "Collator",
    "Columns",
    "Conllu",
    "Corpus",
    "DataError",
    "Dates",
    "Diaries",
    "Digits",
    "Endings",
    "Example",
    "Examples",
    "Glossary",
    "Hub",
    "Joined",
    "Jsonl",
    "LabelSets",
    "Labelled",
    "Labels",
    "Mixture",
    "Numbers",
    "Opinions",
    "Pairs",
    "Reader",
    "Reviews",
    "Sentences",
    "Skipped",
    "Slice",
    "Spans",
    "Split",
    "Squad",
    "Stories",
    "Stream",
    "Table",
    "Tales",
    "Text",
    "Tokenizer",
    "Window",
    "World",
]

__getattr__ = lazy(
    __name__,
    {
        "BOS": "regard.specials",
        "EOS": "regard.specials",
        "IGNORE": "regard.specials",
        "PAD": "regard.specials",
        "SPECIALS": "regard.specials",
        "UNK": "regard.specials",
        "Batch": "regard.data.batch",
        "Batches": "regard.data.batches",
        "Cmudict": "regard.data.cmudict",
        "Collator": "regard.data.batch",
        "Columns": "regard.data.columns",
        "Conllu": "regard.data.conllu",
        "Corpus": "regard.data.corpus",
        "DataError": "regard.data.problems",
        "Dates": "regard.data.dates",
        "Diaries": "regard.data.diaries",
        "Digits": "regard.data.digits",
        "Endings": "regard.data.endings",
        "Example": "regard.data.example",
        "Examples": "regard.data.example",
        "Glossary": "regard.data.glossary",
        "Hub": "regard.data.hub",
        "Joined": "regard.data.joined",
        "Mixture": "regard.data.mixture",
        "Jsonl": "regard.data.jsonl",
        "Labelled": "regard.data.labelled",
        "LabelSets": "regard.data.label_sets",
        "Labels": "regard.data.labels",
        "Numbers": "regard.data.numbers",
        "Opinions": "regard.data.opinions",
        "Pairs": "regard.data.pairs",
        "Reader": "regard.data.example",
        "Reviews": "regard.data.reviews",
        "Sentences": "regard.data.sentences",
        "Skipped": "regard.data.problems",
        "Slice": "regard.data.split",
        "Spans": "regard.data.spans",
        "Split": "regard.data.split",
        "Squad": "regard.data.spans",
        "Stories": "regard.data.stories",
        "Stream": "regard.data.stream",
        "Table": "regard.data.table",
        "Tales": "regard.data.tales",
        "Text": "regard.data.text",
        "Tokenizer": "regard.data.tokenizer",
        "Window": "regard.data.stream",
        "World": "regard.data.world",
    },
)


def __dir__() -> list[str]:
    return list({*globals(), *__all__})

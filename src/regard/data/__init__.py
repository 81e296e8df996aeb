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
    from regard.data.fields.field import Field
    from regard.data.fields.graph import GraphField
    from regard.data.fields.record import RecordField
    from regard.data.fields.span import SpanField
    from regard.data.fields.story import StoryField
    from regard.data.fields.tags import TagsField
    from regard.data.fields.tokens import TokensField
    from regard.data.fields.vectors import VectorsField
    from regard.data.glossary import Glossary
    from regard.data.hub import Hub
    from regard.data.joined import Joined
    from regard.data.jsonl import Jsonl
    from regard.data.label_sets import LabelSetField, LabelSets
    from regard.data.labelled import Labelled
    from regard.data.labels import LabelField, Labels
    from regard.data.mixture import Mixture
    from regard.data.numbers import NumberField, Numbers
    from regard.data.opinions import Opinions
    from regard.data.pairs import Pairs
    from regard.data.problems import DataError, Skipped
    from regard.data.reviews import Reviews
    from regard.data.sentences import Sentences
    from regard.data.spans import Spans, Squad
    from regard.data.spelling import SpellingField
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
    "Field",
    "Glossary",
    "GraphField",
    "Hub",
    "Joined",
    "Jsonl",
    "LabelField",
    "LabelSetField",
    "LabelSets",
    "Labelled",
    "Labels",
    "Mixture",
    "NumberField",
    "Numbers",
    "Opinions",
    "Pairs",
    "Reader",
    "RecordField",
    "Reviews",
    "Sentences",
    "Skipped",
    "Slice",
    "SpanField",
    "Spans",
    "SpellingField",
    "Split",
    "Squad",
    "Stories",
    "StoryField",
    "Stream",
    "Table",
    "TagsField",
    "Tales",
    "Text",
    "Tokenizer",
    "TokensField",
    "VectorsField",
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
        "Field": "regard.data.fields.field",
        "GraphField": "regard.data.fields.graph",
        "LabelField": "regard.data.labels",
        "LabelSetField": "regard.data.label_sets",
        "NumberField": "regard.data.numbers",
        "RecordField": "regard.data.fields.record",
        "SpanField": "regard.data.fields.span",
        "SpellingField": "regard.data.spelling",
        "StoryField": "regard.data.fields.story",
        "TagsField": "regard.data.fields.tags",
        "TokensField": "regard.data.fields.tokens",
        "VectorsField": "regard.data.fields.vectors",
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

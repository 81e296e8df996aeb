"""Data: readers, tokenizers, corpora on disk, batches."""

from typing import TYPE_CHECKING

from regard.lazy import lazy

if TYPE_CHECKING:
    from regard.data.batching.batch import Batch, Collator
    from regard.data.batching.batches import Batches
    from regard.data.batching.corpus import Corpus
    from regard.data.batching.mixture import Mixture
    from regard.data.batching.stream import Stream, StreamWindow
    from regard.data.example import DataReader, Example, Examples
    from regard.data.fields.field import Field
    from regard.data.fields.graph import GraphField
    from regard.data.fields.label_sets import LabelSetField, LabelSets
    from regard.data.fields.labels import LabelField, Labels, TagsField
    from regard.data.fields.numbers import NumberField, Numbers
    from regard.data.fields.record import RecordField
    from regard.data.fields.sentences import Sentences
    from regard.data.fields.span import SpanField
    from regard.data.fields.spelling import SpellingField
    from regard.data.fields.story import StoryField
    from regard.data.fields.tokenizer import Tokenizer
    from regard.data.fields.tokens import TokensField
    from regard.data.fields.vectors import VectorsField
    from regard.data.formats.cmudict import Cmudict
    from regard.data.formats.columns import Columns
    from regard.data.formats.conllu import Conllu
    from regard.data.formats.hub import Hub
    from regard.data.formats.joined_texts import JoinedTexts
    from regard.data.formats.jsonl import Jsonl
    from regard.data.formats.labelled_lines import LabelledLines
    from regard.data.formats.pairs import Pairs
    from regard.data.formats.spans import SpanTable, Squad
    from regard.data.formats.stories import Stories
    from regard.data.formats.table import Table
    from regard.data.formats.text import Text
    from regard.data.hash_split import HashSplit, OrderedSlice
    from regard.data.problems import DataError, SkippedLines
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
    "DataReader",
    "Example",
    "Examples",
    "Field",
    "GraphField",
    "HashSplit",
    "Hub",
    "JoinedTexts",
    "Jsonl",
    "LabelField",
    "LabelSetField",
    "LabelSets",
    "LabelledLines",
    "Labels",
    "Mixture",
    "NumberField",
    "Numbers",
    "OrderedSlice",
    "Pairs",
    "RecordField",
    "Sentences",
    "SkippedLines",
    "SpanField",
    "SpanTable",
    "SpellingField",
    "Squad",
    "Stories",
    "StoryField",
    "Stream",
    "StreamWindow",
    "Table",
    "TagsField",
    "Text",
    "Tokenizer",
    "TokensField",
    "VectorsField",
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
        "Batch": "regard.data.batching.batch",
        "Batches": "regard.data.batching.batches",
        "Cmudict": "regard.data.formats.cmudict",
        "Collator": "regard.data.batching.batch",
        "Columns": "regard.data.formats.columns",
        "Conllu": "regard.data.formats.conllu",
        "Corpus": "regard.data.batching.corpus",
        "DataError": "regard.data.problems",
        "Example": "regard.data.example",
        "Examples": "regard.data.example",
        "Field": "regard.data.fields.field",
        "GraphField": "regard.data.fields.graph",
        "LabelField": "regard.data.fields.labels",
        "LabelSetField": "regard.data.fields.label_sets",
        "NumberField": "regard.data.fields.numbers",
        "RecordField": "regard.data.fields.record",
        "SpanField": "regard.data.fields.span",
        "SpellingField": "regard.data.fields.spelling",
        "StoryField": "regard.data.fields.story",
        "TagsField": "regard.data.fields.labels",
        "TokensField": "regard.data.fields.tokens",
        "VectorsField": "regard.data.fields.vectors",
        "Hub": "regard.data.formats.hub",
        "JoinedTexts": "regard.data.formats.joined_texts",
        "Mixture": "regard.data.batching.mixture",
        "Jsonl": "regard.data.formats.jsonl",
        "LabelledLines": "regard.data.formats.labelled_lines",
        "LabelSets": "regard.data.fields.label_sets",
        "Labels": "regard.data.fields.labels",
        "Numbers": "regard.data.fields.numbers",
        "Pairs": "regard.data.formats.pairs",
        "DataReader": "regard.data.example",
        "Sentences": "regard.data.fields.sentences",
        "SkippedLines": "regard.data.problems",
        "OrderedSlice": "regard.data.hash_split",
        "SpanTable": "regard.data.formats.spans",
        "HashSplit": "regard.data.hash_split",
        "Squad": "regard.data.formats.spans",
        "Stories": "regard.data.formats.stories",
        "Stream": "regard.data.batching.stream",
        "Table": "regard.data.formats.table",
        "Text": "regard.data.formats.text",
        "Tokenizer": "regard.data.fields.tokenizer",
        "StreamWindow": "regard.data.batching.stream",
    },
)


def __dir__() -> list[str]:
    return list({*globals(), *__all__})

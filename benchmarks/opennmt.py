"""OpenNMT-py's recurrent models with random weights, for benchmarks/decoding.py.

Its beam and greedy search are called as its `Translator` calls them. What it imports and does not need in order to
decode (tokenizers and cleaners of texts) is left out where it is not installed.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import torch
from torch import Tensor, nn

from regard.specials import BOS, EOS, PAD, UNK

KINDS = {"bahdanau": ("GRU", "mlp"), "luong": ("LSTM", "general")}
"""Our model's name -> their cell and attention; both with one layer and input feeding, as they build them."""

_NOT_NEEDED = ("ahocorasick", "ctranslate2", "fasttext", "flask", "pyonmttok", "rapidfuzz", "sentencepiece", "spacy",
               "subword_nmt", "waitress")  # fmt: skip


@functools.cache
def package() -> ModuleType | None:
    """OpenNMT-py, or None where it is not installed."""
    if importlib.util.find_spec("onmt") is None:
        return None
    for name in _NOT_NEEDED:
        if importlib.util.find_spec(name) is None:
            sys.modules[name] = MagicMock(__spec__=None)
    return importlib.import_module("onmt.translate.translator")


def make(kind: str, *, words: int, embedding: int, hidden: int) -> Any:
    """The model that stands beside ours of this name: a bidirectional encoder and a decoder with attention."""
    cell, attention = KINDS[kind]
    onmt: Any = importlib.import_module("onmt")
    first, second = (onmt.modules.Embeddings(embedding, words, PAD) for _ in range(2))
    encoder = onmt.encoders.RNNEncoder(cell, True, 1, hidden, embeddings=first)
    decoder = onmt.decoders.InputFeedRNNDecoder(cell, True, 1, hidden, attn_type=attention, embeddings=second)
    model = onmt.models.NMTModel(encoder, decoder)
    model.generator = nn.Linear(hidden, words)
    return model.eval()


def found(model: Any, source: Tensor, beam: int, length: int) -> list[list[int]]:
    """Its best hypotheses of just this length."""
    kind: Any = importlib.import_module("onmt.translate.translator").Translator
    translator = kind.__new__(kind)  # without the vocabulary and the files that it is made with
    translator.model, translator.copy_attn, translator.tgt_file_prefix = model, False, False
    translator.report_align, translator._gold_score = False, lambda *_: (None, None)
    strategy = _strategy(len(source), beam, length)
    translator.global_scorer, translator.beam_size = strategy.global_scorer, beam
    batch = {"src": source.unsqueeze(2), "srclen": torch.full((len(source),), source.shape[1])}
    results = translator._translate_batch_with_strategy(batch, strategy)
    return [said[0].tolist() for said in results["predictions"]]


def _strategy(batch: int, beam: int, length: int) -> Any:
    same: dict[str, Any] = {
        "pad": PAD, "bos": BOS, "eos": EOS, "unk": UNK, "start": BOS, "n_best": 1, "batch_size": batch,
        "min_length": length, "max_length": length, "block_ngram_repeat": 0, "exclusion_tokens": set(),
        "return_attention": False, "ban_unk_token": False, "beam_size": beam,
    }  # fmt: skip
    searches = importlib.import_module("onmt.translate.beam_search")
    scorer = searches.GNMTGlobalScorer(0.0, 0.0, "none", "none")
    if beam > 1:
        return searches.BeamSearch(global_scorer=scorer, stepwise_penalty=False, ratio=0.0, **same)
    greedy = importlib.import_module("onmt.translate.greedy_search")
    return greedy.GreedySearch(global_scorer=scorer, sampling_temp=0.0, keep_topk=1, keep_topp=0.0, **same)

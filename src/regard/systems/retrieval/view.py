"""Visualisation of retrieval: word matches of a query and a passage, and similarity matrices."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from regard.data.fields.tokenizer import Tokenizer
from regard.explain.panel import Panel, TextPanel
from regard.systems.retrieval.cross_encoder import CrossEncoder
from regard.systems.retrieval.dual_encoder import DualEncoder
from regard.systems.retrieval.searcher import TextEncoder
from regard.tasks.panels import head_panels
from regard.view.text import isolated

_SHOWN = 60  # maximum number of passage words in a view
_TITLE = 48  # maximum length of a row or column label in characters


@torch.inference_mode()
def match_panels(model: DualEncoder | CrossEncoder, tokenizer: Tokenizer, query: str, passage: str) -> list[Panel]:
    """Return panels of the word matches of a query and a passage.

    For a dual encoder, each cell is the contribution of a word pair, and the cells sum to the similarity. For a
    cross-encoder, rows are the attention of query words to the passage; for a Transformer over the concatenated texts,
    there is one panel per layer and head.

    Raises:
        ValueError: the model has no weights over words.
    """
    device = next(model.parameters()).device
    asked, told = tokenizer.encode(query), tokenizer.encode(passage)[: model.longest]
    if not asked or not told:
        raise ValueError("a query or a passage without words matches nothing")
    ids = [torch.tensor(one, device=device) for one in (asked, told)]
    if isinstance(model, DualEncoder):
        matched, what = model.contributions(*ids), "share of the similarity"
    else:
        matched, what = _attention(model, *ids), "attention"
    if matched is None and isinstance(model, CrossEncoder):
        lengths = [torch.tensor([len(one)], device=device) for one in ids]
        read = [*tokenizer.tokens(asked), "</s>", *tokenizer.tokens(told)]
        run = partial(model, ids[0].unsqueeze(0), lengths[0], ids[1].unsqueeze(0), lengths[1])
        if heads := head_panels(model, run, read, ["<s>", *read, "</s>"]):
            return list(heads)
    if matched is None:
        raise ValueError("the model has no weights over words: pooling is 'last', or both texts stand in one row")
    rows, columns = (tuple(tokenizer.tokens(one)) for one in (asked, told))
    matched = matched.float().cpu()
    marks = matched.sum(0).clamp(min=0)
    title = (
        f"{isolated(query)}\n{what}, {matched.sum():.2f} in all" if isinstance(model, DualEncoder) else isolated(query)
    )
    return [
        Panel(title, matched[:, :_SHOWN], "query", "passage", rows=rows, columns=columns[:_SHOWN]),
        TextPanel("the passage, by what its words add", marks.unsqueeze(0), words=(columns,), line_weights=(1.0,)),
    ]


def similarity_panel(encoder: TextEncoder, queries: Sequence[str], passages: Sequence[str]) -> Panel:
    """Return a panel of the similarities of all queries to all passages."""
    values = encoder.queries(queries) @ encoder.passages(passages).mT
    names = [tuple(isolated(_short(text)) for text in texts) for texts in (queries, passages)]
    return Panel("similarity", values.cpu(), "query", "passage", rows=names[0], columns=names[1])


def _attention(model: CrossEncoder, query: Tensor, passage: Tensor) -> Tensor | None:
    sizes = (torch.tensor([len(one)], device=one.device) for one in (query, passage))
    lengths = tuple(sizes)
    attended = model(query.unsqueeze(0), lengths[0], passage.unsqueeze(0), lengths[1]).attended
    return None if attended is None else attended.weights()[0]


def _short(text: str) -> str:
    return text if len(text) <= _TITLE else text[: _TITLE - 1] + "…"

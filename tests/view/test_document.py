"""Pages: what is in them, and that texts in them are texts."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
import torch
from torch import nn

import regard
from regard.explain.panel import (
    CurvesPanel,
    FramesPanel,
    GlimpsePanel,
    GraphPanel,
    HeadsPanel,
    Panel,
    ParametersPanel,
    RegionsPanel,
    TextPanel,
)
from regard.models import build
from regard.models.bert import BertEncoder, BertLayerConfig
from regard.nn.attention_module import AttentionModule
from regard.view.document import Document, script, section, style
from regard.view.payload import styles_of
from tests.mechanism import assert_close
from tests.view.pages import Page

NASTY = ("</script><script>alert(1)</script>", "<!--", "a & b", "\u2028", "\x1b[31m", "&lt;", "\ud800")
WEIGHTS = torch.rand(2, 3, 7, 7, generator=torch.Generator().manual_seed(0)).softmax(-1)
EVERY = [
    Panel("weights", torch.eye(7), rows=NASTY, columns=NASTY, outlined=((0, 1),), centres=(1.0,) * 7),
    HeadsPanel("heads", WEIGHTS.mean((0, 1)), rows=NASTY, columns=NASTY, weights=WEIGHTS, kind="self",
          queries=torch.randn(2, 3, 7, 5), keys=torch.randn(2, 3, 7, 5)),
    TextPanel("text", torch.rand(1, 2), words=(NASTY[:2],), line_weights=(0.5,)),
    RegionsPanel("regions", torch.rand(2, 10), rows=NASTY[:2], picture=torch.rand(3, 8, 12), grids=((2, 3), (2, 2))),
    GlimpsePanel("path", torch.rand(3, 2), picture=torch.rand(1, 8, 8)),
    FramesPanel("frames", torch.rand(2, 5), rows=NASTY[:2], spectrogram=torch.rand(20, 4)),
    GraphPanel("network", torch.rand(2, 2), rows=NASTY[:2], places=torch.rand(2, 2), groups=("a", "")),
    CurvesPanel("curves", torch.randn(2, 7), rows=NASTY[:2], columns=NASTY),
    ParametersPanel("sizes", torch.tensor([[3.0], [5.0]]), rows=NASTY[:2], trainable=(0.0, 1.0), shapes=("3", "5")),
]  # fmt: skip


class Balanced(HTMLParser):
    """Sees that what is opened is closed, and keeps names of tags and texts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page() -> str:
    return Document("A <b> & c").add(EVERY).html()


def test_what_is_opened_is_closed_and_texts_are_no_markup(page: str) -> None:
    read = Balanced()
    read.feed(page)
    assert read.open == []
    assert read.tags.count("script") == 2 * len(EVERY) + 1  # two of data each, and the viewer
    assert "b" not in read.tags
    assert "alert(1)</script>" not in page
    assert "\x1b" not in page
    assert read.tags.count("h1") == 1
    page.encode()  # no half of a surrogate pair


def test_nothing_comes_from_outside(page: str) -> None:
    read = Balanced()
    read.feed(page)
    assert not {name for name, _ in read.attributes} & {"src", "href", "style", "onclick", "onload", "srcset"}
    assert "://" not in page
    assert "url(" not in page
    (policy,) = re.findall(r'Content-Security-Policy" content="(.*?)"', page)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    for text in (script(), style()):
        digest = b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
        assert text in page


def test_the_same_panels_are_the_same_bytes(page: str) -> None:
    assert Document("A <b> & c").add(EVERY).html() == page


def test_every_panel_says_how_it_can_be_drawn(page: str) -> None:
    for number, panel in enumerate(EVERY):
        described = Page(page, number).panel
        assert described["title"] == panel.title
        assert described["styles"] == styles_of(panel)
        assert described["first"] == described["styles"][0]
    assert Page(page, 1).panel["styles"] == ["heatmap", "lines", "birdseye", "text", "neurons"]


def test_the_first_style_can_be_chosen_where_there_is_such_a_one() -> None:
    view = regard.view.heads(WEIGHTS, ["a", "b", "c", "d", "e", "f", "g"])
    assert Page(replace(view, style="lines").html()).panel["first"] == "lines"
    assert Page(replace(view, style="tree").html()).panel["first"] == "heatmap"


def test_sections_stand_in_a_page_of_others() -> None:
    parts = section(EVERY[:2], key="x", style_first="lines")
    assert re.findall(r'<section class="regard" id="(.*?)"', parts) == ["x-1", "x-2"]
    whole = (
        Document("mine").insert("<p>before</p>").add(EVERY[:1]).insert("<p>after</p>").html(more_style="p{margin:0}")
    )
    assert whole.index("<p>before</p>") < whole.index("<section") < whole.index("<p>after</p>")
    assert "p{margin:0}</style>" in whole


def test_the_table_has_the_largest_weights_of_each_row(page: str) -> None:
    table = page.split("<tbody>")[1].split("</tbody>")[0]
    assert table.count("<tr>") == 7
    assert "<bdi>&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;</bdi> 1" in table


def test_a_notebook_gets_a_frame() -> None:
    shown = regard.view.heatmap(torch.eye(2), ["a", '"'], ["x", "y"])._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert shown.count('"') == 6


@pytest.mark.parametrize("kind", ["transformer", "bert"])
def test_the_weights_of_a_page_are_those_of_the_reference(kind: str) -> None:
    """Captured beside the fused path, drawn, and read back: equal to eager weights to 1e-6."""
    torch.manual_seed(0)
    source, target = torch.randint(4, 11, (1, 7)), torch.randint(4, 13, (1, 5))
    if kind == "bert":
        model: nn.Module = BertEncoder(11, BertLayerConfig(dim=12, num_heads=4), num_layers=2)
    else:
        model = build("transformer", 11, 13, dim=12, num_heads=4, num_layers=2)
    model.eval()

    def run() -> None:
        model(source, torch.tensor([7]), *([target] if kind == "transformer" else []))

    def seen() -> dict[str, torch.Tensor]:
        with torch.no_grad(), regard.capture(model) as found:
            run()
        return {name: found.weights(name)[0] for name in found}

    with torch.no_grad(), regard.capture(model) as fused:
        run()
    html = regard.view.captured(fused, list("abcde"), list("abcdefg")).html()
    for module in model.modules():
        if isinstance(module, AttentionModule):
            module.impl = "reference"
    eager = list(seen().values())
    count = html.count('regard-panel">')
    drawn = [Page(html, number) for number in range(count)]
    maps = sorted((page.exact(one) for page in drawn for one in page.panel["maps"]), key=_order)
    wanted = sorted((head.numpy() for layer in eager for head in layer), key=_order)
    assert len(maps) == len(wanted) == 4 * (6 if kind == "transformer" else 2)
    for found, expected in zip(maps, wanted, strict=True):
        assert_close(torch.tensor(found), torch.tensor(expected), tolerance=1e-6)


def _order(weights: np.ndarray) -> tuple[object, ...]:
    return (weights.shape, *np.round(weights.ravel()[:20], 4).tolist())

"""The viewer in a browser: pointer, keyboard, search, small screens, large maps, and what it must not do.

These tests need Chromium and the package playwright; without them they skip and say so. `.ci/run` installs both.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import regard
from regard.explain.panel import Panel, TextPanel
from regard.view import payload
from regard.view.document import Document
from tests.view.test_document import EVERY

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt-get install chromium")

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
ROWS, COLUMNS = ("Die", "schwarze", "Katze", "שלום", "</script>"), ("The", "black", "cat", "cats", "السلام", "नमस्ते")
COLOURS = """() => {
  const canvas = document.querySelector("canvas"), seen = {};
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  for (let i = 0; i < data.length; i += 4) {
    const colour = `${data[i]},${data[i + 1]},${data[i + 2]}`;
    if (data[i + 3] === 255) seen[colour] = (seen[colour] ?? 0) + 1;
  }
  return seen;
}"""
"""How many pixels of the first canvas have each colour."""
DRAWN = """() => Array.from(document.querySelectorAll("section.regard"), (section) => {
  if (section.querySelector(".regard-stage").hidden) return section.querySelectorAll(".regard-word").length;
  const canvas = section.querySelector("canvas");
  return canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((one) => one > 0);
})"""
"""Whether there is something on the stage of each view."""
NEXT_STYLE = """() => document.querySelectorAll("section.regard").forEach((section) => {
  const tabs = Array.from(section.querySelectorAll("[role=radio]"));
  const at = tabs.findIndex((one) => one.getAttribute("aria-checked") === "true");
  if (tabs.length) tabs[(at + 1) % tabs.length].click();
})"""
WEIGHTS = torch.rand(2, 3, 5, 6, generator=torch.Generator().manual_seed(0)).softmax(-1)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def heads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with two layers of three heads."""
    path = tmp_path_factory.mktemp("pages") / "heads.html"
    regard.view.heads(WEIGHTS, ROWS, COLUMNS, title="The black cat").save(path)
    return path


class Opened:
    """A page in a browser that notes its requests and mistakes."""

    def __init__(self, browser: Any, path: Path, fragment: str = "", **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        self.page = self.context.new_page()
        self.requests: list[str] = []
        self.problems: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", lambda said: self.problems.append(said.text) if said.type == "error" else None)
        self.page.goto(f"{path.as_uri()}{fragment}")
        self.page.wait_for_selector("section.regard[data-drawn]", timeout=60_000)

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()
        assert self.problems == []
        assert all(url.startswith(("file:", "blob:", "data:")) for url in self.requests)

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 20)))")

    def address(self) -> str:
        """The fragment of the address."""
        self.settle()
        return str(self.evaluate("location.hash"))

    def readout(self) -> str:
        """What is said of the weight under the pointer or the cursor."""
        self.settle()
        return " ".join(self.page.locator(".regard-readout").first.inner_text().split())

    def assert_says(self, begin: str, end: str = "") -> None:
        """Wait until something is said."""
        for _ in range(100):
            said = self.readout()
            if said.startswith(begin) and said.endswith(end):
                return
        raise AssertionError(f"{said!r} is not {begin!r} ... {end!r}")

    def evaluate(self, code: str) -> Any:
        return self.page.evaluate(code)


def told(matrix: torch.Tensor, row: int, column: int) -> str:
    """What the viewer says of a weight."""
    value = f"{float(matrix[row, column]):.6g}"
    return f"{ROWS[row]} → {COLUMNS[column]} {value} row {row + 1}, column {column + 1}"


def test_keyboard_alone_reaches_everything(browser: Any, heads: Path) -> None:
    mean = WEIGHTS.mean(1)
    with Opened(browser, heads) as opened:
        keyboard = opened.page.keyboard
        opened.page.locator("canvas").focus()
        keyboard.press("ArrowRight")  # the first key shows where one is
        opened.assert_says(f"{told(mean[0], 0, 0)}, layer 1, mean of all heads")
        for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
            keyboard.press(key)
        opened.assert_says(f"{told(mean[0], 2, 1)}, layer 1, mean of all heads")
        keyboard.press("Enter")
        assert "v1.row=3" in opened.address()
        keyboard.press("]")
        keyboard.press(".")
        keyboard.press(".")
        opened.assert_says("layer 2, head 2")
        keyboard.press("ArrowUp")
        opened.assert_says(f"{told(WEIGHTS[1, 1], 1, 1)}, layer 2, head 2")
        keyboard.press("/")
        keyboard.type("cat")
        opened.assert_says("0 rows and 2 columns")
        keyboard.press("Enter")
        opened.assert_says(f"schwarze → cat {float(WEIGHTS[1, 1, 1, 2]):.6g}")
        keyboard.press("n")
        opened.assert_says("schwarze → cats")
        keyboard.press("v")
        assert "v1.style=lines" in opened.address()
        keyboard.press("?")
        assert opened.page.locator("dialog").is_visible()
        keyboard.press("Escape")
        assert not opened.page.locator("dialog").is_visible()
        opened.page.locator("canvas").focus()
        keyboard.press("Escape")
        assert "row" not in opened.address()
        assert "search" not in opened.address()


def test_the_pointer_shows_the_exact_weight_and_a_click_pins_its_row(browser: Any, heads: Path) -> None:
    with Opened(browser, heads, "#v1.layer=2&v1.head=3") as opened:
        box = opened.page.locator("canvas").bounding_box()
        found = set()
        for x in range(0, 360, 9):
            opened.page.mouse.move(box["x"] + x, box["y"] + box["height"] - 30)  # the last row
            found.add(opened.readout())
        wanted = {f"{told(WEIGHTS[1, 2], 4, column)}, layer 2, head 3" for column in range(6)}
        assert wanted <= found
        assert any(text.startswith("</script> →") and "row" not in text for text in found)  # the name of the row
        opened.page.mouse.click(box["x"] + 200, box["y"] + box["height"] - 30)
        assert "v1.row=5" in opened.address()
        opened.page.mouse.click(box["x"] + 200, box["y"] + box["height"] - 30)
        assert "v1.row" not in opened.address()


def test_layers_heads_and_styles_are_switched_and_stand_in_the_address(browser: Any, heads: Path) -> None:
    with Opened(browser, heads) as opened:
        page = opened.page
        page.locator("select").nth(0).select_option(index=1)
        page.locator("select").nth(1).select_option(index=1)
        page.get_by_role("radio", name="Lines").click()
        page.get_by_role("button", name="head 3").click()
        fragment = opened.address()
        assert set(fragment[1:].split("&")) == {"v1.style=lines", "v1.layer=2", "v1.head=1", "v1.heads=3"}
    with Opened(browser, heads, fragment) as again:
        assert again.page.get_by_role("radio", name="Lines").get_attribute("aria-checked") == "true"
        assert again.page.get_by_role("button", name="head 3").get_attribute("aria-pressed") == "true"
        assert again.page.locator("select").nth(0).input_value() == "1"
        again.page.get_by_role("radio", name="All heads").click()
        box = again.page.locator("canvas").bounding_box()
        again.page.mouse.click(box["x"] + 34 + 52, box["y"] + 22 + 30)  # the first of all
        assert "v1.layer" not in again.address()
        assert "v1.head=1" in again.address()
        assert again.page.get_by_role("radio", name="Heat map").get_attribute("aria-checked") == "true"


def test_an_address_of_another_page_does_no_harm(browser: Any, heads: Path) -> None:
    with Opened(
        browser, heads, "#v1.style=no&v1.layer=99&v1.head=x&v1.row=-1&v1.least=1e9&v1.zoom=NaN&<b>=1"
    ) as opened:
        assert opened.page.get_by_role("radio", name="Heat map").get_attribute("aria-checked") == "true"


def test_a_threshold_hides_what_lies_below(browser: Any, tmp_path: Path) -> None:
    regard.view.heatmap([[1.0, 0.64], [0.2, 0.1]], ["a", "b"], ["x", "y"]).save(tmp_path / "a.html")
    darkest, strong = "8,29,88", "30,139,189"
    with Opened(browser, tmp_path / "a.html") as opened:
        assert {darkest, strong} <= set(opened.evaluate(COLOURS))
        opened.page.locator("input[type=range]").fill("90")  # 0.81 of the largest
        opened.settle()
        assert darkest in opened.evaluate(COLOURS)
        assert strong not in opened.evaluate(COLOURS)


def test_a_small_screen_has_no_sideways_scroll_and_controls_fit(browser: Any, tmp_path: Path) -> None:
    view = Document("Everything").add(EVERY).add(regard.view.heads(WEIGHTS, ROWS, COLUMNS))
    (tmp_path / "a.html").write_text(view.html(), encoding="utf-8")
    with Opened(browser, tmp_path / "a.html", viewport={"width": 360, "height": 740}) as opened:
        assert opened.evaluate("document.documentElement.scrollWidth") == 360
        wide = (
            "[...document.querySelectorAll('.regard-bar *')].filter((one) => one.getBoundingClientRect().right > 360)"
        )
        assert opened.evaluate(f"{wide}.length") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_style_of_every_panel_is_drawn(browser: Any, tmp_path: Path, scheme: str) -> None:
    (tmp_path / "a.html").write_text(Document("Everything").add(EVERY).html(), encoding="utf-8")
    with Opened(browser, tmp_path / "a.html", color_scheme=scheme) as opened:
        for _ in range(5):  # the most styles that a panel has
            opened.page.wait_for_function(f"() => ({DRAWN})().every(Boolean)")
            opened.evaluate(NEXT_STYLE)


def test_texts_are_texts_and_have_their_own_direction(browser: Any, heads: Path) -> None:
    with Opened(browser, heads, "#v1.style=text") as opened:
        words = opened.page.locator(".regard-word")
        assert words.nth(5).inner_text() == "नमस्ते"
        assert opened.page.locator(".regard-row").nth(4).inner_text() == "</script>"
        assert opened.evaluate("getComputedStyle(document.querySelector('.regard-word')).unicodeBidi") == "isolate"
        opened.page.locator("summary").click()
        rows = opened.page.locator(".regard-table tbody tr")
        assert rows.count() == 5
        best = int(WEIGHTS[0].mean(0)[3].argmax())
        assert rows.nth(3).locator("bdi").nth(1).inner_text() == COLUMNS[best]


def test_a_browser_without_decompression_inflates_by_itself(browser: Any, tmp_path: Path) -> None:
    weights = torch.softmax(2 * torch.randn(600, 600, generator=torch.Generator().manual_seed(0)), -1)
    regard.view.heatmap(weights).save(tmp_path / "a.html")
    shown = []
    for without in (False, True):
        context = browser.new_context(viewport={"width": 900, "height": 900})
        page = context.new_page()
        if without:
            page.add_init_script("delete window.DecompressionStream; delete Uint8Array.fromBase64;")
        page.goto((tmp_path / "a.html").as_uri())
        page.wait_for_selector("section.regard[data-drawn]", timeout=60_000)
        page.wait_for_timeout(200)
        shown.append(page.evaluate(COLOURS))
        context.close()
    assert shown[0] == shown[1]


def test_ten_thousand_tokens_open_and_zoom_to_single_weights(browser: Any, tmp_path: Path) -> None:
    size = 10_000

    def rows(first: int, last: int) -> np.ndarray[Any, Any]:
        made = np.zeros((last - first, size), np.float32)
        for row in range(first, last):
            made[row - first, max(0, row - 2) : row + 1] = 0.25
            made[row - first, 0] += 0.125 + row / 1e6
        return made

    names = [f"token {number}" for number in range(1, size + 1)]
    regard.view.heatmap(regard.view.LazyRows((size, size), rows), names, names).save(tmp_path / "a.html")
    assert (tmp_path / "a.html").stat().st_size < 8e6
    with Opened(browser, tmp_path / "a.html") as opened:
        assert float(opened.page.locator("section.regard").get_attribute("data-drawn") or "inf") < 20_000
        opened.page.locator("input[type=search]").fill("token 7777")
        opened.page.keyboard.press("Enter")
        opened.page.keyboard.press("ArrowRight")
        opened.page.keyboard.press("ArrowLeft")
        opened.assert_says("token 7777 → token 1 0.132776")  # one of the largest: exact
        for _ in range(14):
            opened.page.keyboard.press("+")
        opened.page.keyboard.press("ArrowRight")
        opened.page.wait_for_timeout(500)
        opened.assert_says("token 7777 → token 2 ")
        assert opened.evaluate("document.querySelector('.regard-stage').scrollTop") > 100_000


@pytest.mark.parametrize(
    ("most", "legend", "said"),
    [
        (
            105_000,
            "31 shades; none below 0.003604; exact (float32): the largest 8 of each row",
            "1 → 1 below 0.0036035",
        ),
        (
            76_000,
            "a cell is the largest of 2 × 2 values; exact (float32): the largest 8 of each row",
            "1 → 1 at most ≈ ",
        ),
    ],
)
def test_a_page_says_how_exact_it_is(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, legend: str, said: str
) -> None:
    monkeypatch.setattr(payload, "budget", lambda _: most)
    weights = torch.softmax(2 * torch.randn(600, 600, generator=torch.Generator().manual_seed(0)), -1)
    regard.view.heatmap(weights).save(tmp_path / "a.html")
    strongest = int(weights[0].argmax())
    with Opened(browser, tmp_path / "a.html", f"#v1.column={strongest + 1}") as opened:
        assert legend in opened.page.locator(".regard-legend").inner_text()
        opened.page.locator("canvas").focus()
        opened.page.keyboard.press("ArrowRight")
        opened.assert_says(f"1 → {strongest + 1} {float(weights[0, strongest]):.6g} row 1")
        opened.page.keyboard.press("Escape")
        for _ in range(-(-strongest // 10)):
            opened.page.keyboard.press("Control+ArrowLeft")
        opened.assert_says(said)


def test_what_is_zero_stays_white_at_any_zoom(browser: Any, tmp_path: Path) -> None:
    """A coarser level, whose cells are the strongest of many, never shows through a finer one."""
    weights = torch.zeros(1500, 1500)
    weights[:, 0] = 1.0
    regard.view.heatmap(weights).save(tmp_path / "a.html")
    with Opened(browser, tmp_path / "a.html", "#v1.zoom=60") as opened:
        opened.settle()
        assert opened.evaluate("document.querySelector('.regard-stage').scrollLeft") == 0
        shown = opened.evaluate(COLOURS)
        sides = opened.page.locator("canvas").bounding_box()
        assert shown["8,29,88"] < 0.05 * sides["width"] * sides["height"]


def test_axe_finds_no_violation(browser: Any, tmp_path: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    view = regard.view.heads(WEIGHTS, ROWS, COLUMNS, title="The black cat")
    text = TextPanel("A review", torch.rand(1, 2), words=(("a", "gem"),), line_weights=(0.5,))
    page = Document("Two views").add(view).add([text, Panel("weights", torch.eye(3))])
    (tmp_path / "a.html").write_text(page.html(), encoding="utf-8")
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme, bypass_csp=True)  # axe is a script from outside
        opened = context.new_page()
        for fragment in ("", "#v1.style=lines", "#v1.style=text"):
            opened.goto(f"{(tmp_path / 'a.html').as_uri()}{fragment}")
            opened.wait_for_selector("section.regard[data-drawn]")
            opened.locator("summary").first.click()
            found = axe.Axe().run(opened)
            assert found.violations_count == 0, found.generate_report()
        context.close()

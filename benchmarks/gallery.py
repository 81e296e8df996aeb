"""Gallery: one picture per system, of a model that its offline recipe trains; `docs/gallery`.

    python -m benchmarks.gallery --list                         # what there is, and which pictures are missing
    python -m benchmarks.gallery --runs runs/gallery            # trains what is not trained, draws all, writes the page
    python -m benchmarks.gallery translation nodes              # some of them
    python -m benchmarks.gallery --page                         # only the page, of the pictures that are there

A recipe says in its header what is drawn, in one line: the input as `regard view` takes it, or an example of the test
split by its number, then what is seen:

    # Gallery: "el 3 de marzo de 2021" Each digit of the date reads the letters that tell it.
    # Gallery: test 3 Each word of a caption reads its part of the picture.
    # Gallery: test 0 memory=fact Each word of an answer reads the entry that holds it.

The last one is answered from a memory: that field of the first examples of the split.

Of a system without such a line the first recipe that runs offline is drawn, with the first example of its test split.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from PIL import Image

from regard.predictor import Predictor, load
from regard.recipes.library import shipped
from regard.tasks.splits import examples
from regard.view.panels import draw as draw_panels

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "docs" / "gallery"
SYSTEMS = ROOT / "src" / "regard" / "systems"
LARGEST = 100_000
"""Bytes of a picture, at most."""
_FIRST = "translation"
_LINE = re.compile(
    r'^# Gallery: (?:test (?P<number>\d+)(?: memory=(?P<memory>\w+))?|"(?P<text>[^"]*)") (?P<seen>.+)$', re.MULTILINE
)
_STORED = 30  # texts of a memory
_OFFLINE = re.compile(r"^# regard train \w+$")


@dataclass(frozen=True)
class Entry:
    """One picture.

    Attributes:
        system: the folder of the system.
        recipe: what is trained.
        given: the input; None for an example of the test split.
        number: of that example.
        seen: what the picture shows, in a sentence.
        memory: the field of examples that a memory is made of; None for no memory.
    """

    system: str
    recipe: str
    given: str | None
    number: int
    seen: str
    memory: str | None = None

    @property
    def picture(self) -> Path:
        """The file of the picture."""
        return GALLERY / f"{self.system}.png"


def entries() -> list[Entry]:
    """Return the pictures that there should be, the translation of dates first, then by system."""
    found: dict[str, Entry] = {}
    for name, path in shipped().items():
        header = path.read_text(encoding="utf-8")
        line = _LINE.search(header)
        if line is not None:
            number = int(line["number"] or 0)
            text = None if line["text"] is None else line["text"].replace("\\n", "\n").replace("\\t", "\t")
            found[path.parent.name] = Entry(path.parent.name, name, text, number, line["seen"], line["memory"])
        elif _OFFLINE.match(header.partition("\n")[0]):
            found.setdefault(path.parent.name, Entry(path.parent.name, name, None, 0, "What the model looks at."))
    return sorted(found.values(), key=lambda entry: (entry.system != _FIRST, entry.system))


def trained(entry: Entry, runs: Path) -> Path:
    """Return the folder of the run; train it first if it is not there."""
    folder = runs / entry.recipe
    if not (folder / "summary.json").exists():
        command = [sys.executable, "-m", "regard", "train", entry.recipe, "--runs", str(runs), "train.trackers=[]"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder


def asked(entry: Entry, predictor: Predictor) -> Any:
    """Return the input that is drawn, parsed."""
    if entry.given is not None:
        return predictor.task.parse(entry.given)
    test = examples(predictor.recipe, "test")
    assert test is not None, f"{entry.recipe} has no test split; name an input in its line Gallery"
    (example,) = islice(test, entry.number, entry.number + 1)
    return predictor.task.ask(example.fields)


def loaded(entry: Entry, folder: Path) -> Predictor:
    """Return the model of a run, with the memory that an entry names."""
    predictor = load(folder, device="cpu")
    if entry.memory is None:
        return predictor
    test = examples(predictor.recipe, "test")
    assert test is not None
    texts = [str(example.fields[entry.memory]) for example in islice(test, _STORED)]
    with tempfile.TemporaryDirectory() as place:
        stored = Path(place) / "memory.txt"
        stored.write_text("\n".join(texts) + "\n", encoding="utf-8")
        return load(folder, device="cpu", overrides=[f"decode.memory={stored}"])


def draw(entry: Entry, runs: Path) -> None:
    """Train a system if need be, and draw what its model looks at; without an input the picture of its page stays."""
    predictor = loaded(entry, trained(entry, runs))
    GALLERY.mkdir(parents=True, exist_ok=True)
    try:
        panels = predictor.task.panels(predictor.model, asked(entry, predictor), predictor.search)
    except ValueError as problem:  # a memory or an index that its run does not hold
        print(f"{entry.system}: {problem}; the gallery shows the picture of its page")
        return
    doubt = draw_panels(panels, entry.picture)
    with Image.open(entry.picture) as picture:  # which Matplotlib needs, too
        picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(entry.picture, optimize=True)
    size = entry.picture.stat().st_size
    print(f"{entry.picture}: {size:,} bytes{'' if doubt is None else f'; {doubt}'}")
    if size > LARGEST:
        sys.exit(f"{entry.picture} has more than {LARGEST:,} bytes; choose a smaller input")


def of_page(system: str) -> tuple[Path, str] | None:
    """Return the first picture of a system's page, and what it shows; None where it has none."""
    page = SYSTEMS / system / "README.md"
    found = re.search(r"!\[([^]]+)\]\(([^)]+\.png)\)", page.read_text(encoding="utf-8"))
    return None if found is None else ((page.parent / found[2]).resolve(), f"{found[1]}.")


def page(found: list[Entry]) -> str:
    """Return the page: of each system the picture that was drawn, or that of its own page until there is one."""
    lines = [
        "# Gallery",
        "",
        "*One picture per system, each of a model that a recipe trains offline in minutes. `python -m "
        "benchmarks.gallery` draws them again.*",
    ]
    for entry in found:
        title = shown_title(entry.system)
        if not entry.picture.exists() and (other := of_page(entry.system)) is not None:
            place = Path("..") / other[0].relative_to(ROOT / "docs")
            lines += ["", f"## {title}", "", f"![{other[1]}]({place.as_posix()})", ""]
            lines += [f"{other[1]} From its [page](../../src/regard/systems/{entry.system}/README.md)."]
        if entry.picture.exists():
            one_line = entry.given is not None and not {"\n", "\t"} & set(entry.given)
            view = f" and `regard view runs/{entry.recipe} '{entry.given}'`" if one_line else ""
            lines += [
                "",
                f"## {title}",
                "",
                f"![{entry.seen}]({entry.picture.name})",
                "",
                f"{entry.seen} `regard train {entry.recipe}`{view}; "
                f"[page](../../src/regard/systems/{entry.system}/README.md).",
            ]
    return "\n".join([*lines, ""])


def shown_title(system: str) -> str:
    """Return the name of a system's folder as a title.

    >>> shown_title("language_model")
    'Language model'
    """
    words = system.replace("_", " ")
    return words[:1].upper() + words[1:]


def main() -> None:
    """Draw what is asked for, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="*", help="folders of systems; all of them if none is named")
    parser.add_argument("--runs", type=Path, default=Path("runs/gallery"), help="folder of the runs")
    parser.add_argument("--list", action="store_true", help="print what there is, and draw nothing")
    parser.add_argument("--page", action="store_true", help="write the page of the pictures that are there, and stop")
    arguments = parser.parse_args()
    found = entries()
    known = {entry.system for entry in found}
    if unknown := [name for name in arguments.systems if name not in known]:
        parser.error(f"there is no system {unknown[0]!r} with an offline recipe; there are {', '.join(sorted(known))}")
    for entry in () if arguments.page else found:
        if arguments.list:
            print(f"{entry.system:22} {entry.recipe:20} {'drawn' if entry.picture.exists() else 'missing'}")
        elif not arguments.systems or entry.system in arguments.systems:
            draw(entry, arguments.runs)
    if not arguments.list:
        (GALLERY / "README.md").write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()

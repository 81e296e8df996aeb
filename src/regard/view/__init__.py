"""Attention visualisation from weights and tokens, independent of models.

regard.view.heatmap(weights, rows, columns).save("a.html")      # or .png, .svg, .pdf, .npz, .json, ...
regard.view.heads(weights, tokens)                              # [layers, heads, queries, keys]
with regard.capture(model) as seen:
    model(x)
regard.view.captured(seen, tokens).save("a.html")
"""

from typing import TYPE_CHECKING

from regard.lazy import lazy

if TYPE_CHECKING:
    from regard.explain.lazy_rows import LazyRows
    from regard.view.document import Document
    from regard.view.make import captured, curves, difference, heads, heatmap, lines, load, neurons, parameters
    from regard.view.terminal import heat_map
    from regard.view.view import View

__all__ = [
    "Document",
    "LazyRows",
    "View",
    "captured",
    "curves",
    "difference",
    "heads",
    "heat_map",
    "heatmap",
    "lines",
    "load",
    "neurons",
    "parameters",
]

_MADE = ("captured", "curves", "difference", "heads", "heatmap", "lines", "load", "neurons", "parameters")
__getattr__ = lazy(
    __name__,
    {
        "Document": "regard.view.document",
        "LazyRows": "regard.explain.lazy_rows",
        "View": "regard.view.view",
        "heat_map": "regard.view.terminal",
        **dict.fromkeys(_MADE, "regard.view.make"),
    },
)

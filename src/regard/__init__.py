"""Regard: an attention-first toolkit for sequence models. A query reads a memory."""

from typing import TYPE_CHECKING

from regard.lazy import lazy

if TYPE_CHECKING:
    from regard import nn, ops, view
    from regard.explain.capture import capture
    from regard.masks import Mask
    from regard.predictor import load
    from regard.registry import register

__version__ = "0.1.0"

__all__ = ["Mask", "__version__", "capture", "load", "nn", "ops", "register", "view"]

__getattr__ = lazy(
    __name__,
    {
        "Mask": "regard.masks",
        "capture": "regard.explain",
        "load": "regard.predictor",
        "nn": "regard.nn",
        "ops": "regard.ops",
        "register": "regard.registry",
        "view": "regard.view",
    },
)


def __dir__() -> list[str]:
    return list({*globals(), *__all__})

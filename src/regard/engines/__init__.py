"""Other programs that search in a model's place: what is trained here, run there."""

from regard.engines.choice import EngineName, make_engine
from regard.engines.ctranslate2 import CTranslate2
from regard.engines.layout import TransformerLayout

__all__ = ["CTranslate2", "EngineName", "TransformerLayout", "make_engine"]

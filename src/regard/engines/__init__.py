"""Other programs that search in a model's place: what is trained here, run there."""

from regard.engines.choice import EngineName, make_engine
from regard.engines.ctranslate2 import CTranslate2
from regard.engines.layout import TransformerLayout
from regard.engines.onnx import Onnx

__all__ = ["CTranslate2", "EngineName", "Onnx", "TransformerLayout", "make_engine"]

"""External inference engines that decode with a trained model: CTranslate2 and onnxruntime."""

from regard.engines.choice import EngineName, make_engine
from regard.engines.ctranslate2 import CTranslate2
from regard.engines.layout import TransformerLayout
from regard.engines.onnx import Onnx

__all__ = ["CTranslate2", "EngineName", "Onnx", "TransformerLayout", "make_engine"]

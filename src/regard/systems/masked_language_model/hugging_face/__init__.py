"""Import of Hugging Face BERTs as runs, and export of runs."""

from regard.systems.masked_language_model.hugging_face.folder import export_bert, import_bert

__all__ = ["export_bert", "import_bert"]

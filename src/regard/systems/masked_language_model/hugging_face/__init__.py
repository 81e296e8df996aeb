"""BERTs of Hugging Face's transformers as runs, and runs as theirs."""

from regard.systems.masked_language_model.hugging_face.folder import export_bert, import_bert

__all__ = ["export_bert", "import_bert"]

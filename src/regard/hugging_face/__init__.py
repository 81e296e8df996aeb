"""BERTs of Hugging Face's transformers as runs, and runs as theirs."""

from regard.hugging_face.folder import export_bert, import_bert

__all__ = ["export_bert", "import_bert"]

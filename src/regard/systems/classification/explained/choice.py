"""Selection of the explanation adapter of a classifier."""

from __future__ import annotations

from torch import nn

from regard.data.fields.tokenizer import Tokenizer
from regard.explain.layer_stack import layers_of
from regard.explain.subject import Subject
from regard.systems.classification.acceptor import Acceptor
from regard.systems.classification.decomposable import DecomposableAttention
from regard.systems.classification.esim import ESIM
from regard.systems.classification.explained.documents import DocumentSubject
from regard.systems.classification.explained.pairs import AcrossSubject, PairSubject
from regard.systems.classification.explained.texts import AttendingSubject, LayeredSubject
from regard.systems.classification.hierarchical import HierarchicalAttention
from regard.systems.classification.targets.label import LabelTarget
from regard.systems.classification.targets.target import Target


def subject_of(model: nn.Module, tokenizer: Tokenizer, target: Target, *, matches: bool) -> Subject:
    """Wrap a classifier as a subject of explanations.

    Args:
        model: classifier to explain.
        tokenizer: tokenizer of its texts.
        target: kind of its answers.
        matches: True if the model reads exact-match features of pairs.

    Raises:
        ValueError: the model has no attention, or its target is not a single label.
    """
    if not isinstance(target, LabelTarget):
        raise ValueError("only classifiers with one label per text are explained")
    names = tuple(target.labels.decode(list(range(target.labels.size))))
    if isinstance(model, HierarchicalAttention):
        return DocumentSubject(model, tokenizer, names)
    if isinstance(model, DecomposableAttention | ESIM):
        return AcrossSubject(model, tokenizer, names, matches=matches)
    if not isinstance(model, Acceptor):
        raise ValueError(f"{type(model).__name__} is not explained: it is no classifier that ships with attention")
    if model.attention is not None and model.compares:
        return PairSubject(model, tokenizer, names, matches=matches)
    if model.attention is not None:
        return AttendingSubject(model, tokenizer, names)
    if not layers_of(model.encoder) or model.compares or model.pooling == "max":
        raise ValueError("the model pools words without attention; train it with model.pooling=attention")
    return LayeredSubject(model, tokenizer, names)

"""Captured attention and its evaluation as explanation: importance measures, interventions and erasure."""

from regard.explain.agreement import divergence, kendall, overlap, variation
from regard.explain.capture import Captured, capture
from regard.explain.erasure import erasure
from regard.explain.importance import gradient, input_gradient, integrated_gradients, leave_one_out
from regard.explain.interventions import adversary, permuted, uniform
from regard.explain.rollout import flow, rollout, weighted_norms
from regard.explain.study import Study, study
from regard.explain.subject import StagedSubject, Subject, SubjectBatch

__all__ = [
    "Captured",
    "StagedSubject",
    "Study",
    "Subject",
    "SubjectBatch",
    "adversary",
    "capture",
    "divergence",
    "erasure",
    "flow",
    "gradient",
    "input_gradient",
    "integrated_gradients",
    "kendall",
    "leave_one_out",
    "overlap",
    "permuted",
    "rollout",
    "study",
    "uniform",
    "variation",
    "weighted_norms",
]

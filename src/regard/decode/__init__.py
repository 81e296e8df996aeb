"""Greedy search, sampling and beam search over one protocol of generating models."""

from typing import TYPE_CHECKING

from regard.lazy import lazy

if TYPE_CHECKING:
    from regard.decode.constraint import ConstrainedModel, Constraint, PrefixConstraint, Trie
    from regard.decode.ctc import FusionLanguageModel, Transcript, ctc_beam_search, ctc_greedy
    from regard.decode.ctc_viterbi import ctc_frames
    from regard.decode.ensemble import Ensemble
    from regard.decode.follow import score
    from regard.decode.generation import generate
    from regard.decode.hypothesis import Hypothesis
    from regard.decode.joint_ctc import JointCTC
    from regard.decode.penalties import Penalty
    from regard.decode.search import Search
    from regard.decode.unknown import replace_unknown
    from regard.protocol import Generates, Selectable, Step

__all__ = [
    "ConstrainedModel",
    "Constraint",
    "Ensemble",
    "FusionLanguageModel",
    "Generates",
    "Hypothesis",
    "JointCTC",
    "Penalty",
    "PrefixConstraint",
    "Search",
    "Selectable",
    "Step",
    "Transcript",
    "Trie",
    "ctc_beam_search",
    "ctc_frames",
    "ctc_greedy",
    "generate",
    "replace_unknown",
    "score",
]

__getattr__ = lazy(
    __name__,
    {
        "ConstrainedModel": "regard.decode.constraint",
        "Constraint": "regard.decode.constraint",
        "Ensemble": "regard.decode.ensemble",
        "Generates": "regard.protocol",
        "Hypothesis": "regard.decode.hypothesis",
        "JointCTC": "regard.decode.joint_ctc",
        "FusionLanguageModel": "regard.decode.ctc",
        "Penalty": "regard.decode.penalties",
        "PrefixConstraint": "regard.decode.constraint",
        "Search": "regard.decode.search",
        "Selectable": "regard.protocol",
        "Step": "regard.protocol",
        "Transcript": "regard.decode.ctc",
        "Trie": "regard.decode.constraint",
        "ctc_beam_search": "regard.decode.ctc",
        "ctc_frames": "regard.decode.ctc_viterbi",
        "ctc_greedy": "regard.decode.ctc",
        "generate": "regard.decode.generation",
        "replace_unknown": "regard.decode.unknown",
        "score": "regard.decode.follow",
    },
)


def __dir__() -> list[str]:
    return list({*globals(), *__all__})

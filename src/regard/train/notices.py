"""What a person looking over your shoulder would say."""

from __future__ import annotations

from dataclasses import dataclass, field

from regard.train.validation import Measured

_DIVERGED = 1e6  # a loss with more digits than anybody reads


@dataclass
class Notices:
    """Warnings that a run earns: a model at the unigram floor or one that learns by heart, attention that stays flat.

    Attributes:
        floor: the loss of a model that knows only how frequent each token is, in nats.
        said: the kinds of warnings that were given.
    """

    floor: float
    said: set[str] = field(default_factory=set)

    def after(self, step: int, steps: int, measured: Measured, learned: float | None = None) -> list[str]:
        """What to say after a validation, each thing once; nothing in the first tenth of a run.

        Args:
            step: updates so far.
            steps: updates in all.
            measured: the validation.
            learned: the loss on the training data; None if it is not known.
        """
        if step * 10 < steps:
            return []
        found = {}
        if measured.loss > 0.95 * self.floor:
            overfitted = learned is not None and learned < 0.5 * measured.loss
            found["floor"] = self._by_heart(measured, learned) if overfitted else self._at_the_floor(measured)
        if measured.flatness is not None and measured.flatness > 0.95:
            found["flat"] = (
                f"attention is flat ({measured.flatness:.0%} of the entropy of looking everywhere alike): it has not "
                "found what to look at; train longer, or try a larger learning rate or another score"
            )
        new = {kind: sentence for kind, sentence in found.items() if kind not in self.said}
        self.said.update(new)
        return list(new.values())

    def _at_the_floor(self, measured: Measured) -> str:
        loss = f"{measured.loss:.2f}" if measured.loss < _DIVERGED else f"{measured.loss:.3g}"
        return (
            f"the loss {loss} is hardly below the unigram floor {self.floor:.2f}, or above it: the model "
            "knows at most which ones are frequent; try another learning rate, and look whether what is read and what "
            "is to be said belong together"
        )

    def _by_heart(self, measured: Measured, learned: float | None) -> str:
        return (
            f"the model learns the training data by heart: its loss is {learned:.2f} there and {measured.loss:.2f} in "
            "validation; try more dropout, a smaller model, fewer steps or more data"
        )

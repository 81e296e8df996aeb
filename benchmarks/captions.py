"""Baselines of the recipe `scenes`: the most frequent caption, and the caption of the nearest training picture.

python -m benchmarks.captions
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from regard.evaluate.metrics import metric
from regard.systems.captions.scenes import CAPTIONS, Scenes

TRAIN, TEST = 24_000, 4_000


def baselines(train: int = TRAIN, test: int = TEST) -> dict[str, list[str]]:
    """Return the answers of each baseline to the test pictures, by its name."""
    learned = [(one.fields["picture"].source, one.fields["caption"]) for one in Scenes("train", size=train)]
    known = np.stack([picture.ravel() for picture, _ in learned]).astype(np.float32)  # [N, 3 * 32 * 32]
    captions = [caption for _, caption in learned]
    data = Scenes("test", size=test)
    asked = np.stack([data[index].fields["picture"].source.ravel() for index in range(0, test, CAPTIONS)])
    # |x - y|² less |x|², which is the same for all training pictures.
    distances = np.square(known).sum(1) - 2.0 * asked.astype(np.float32) @ known.T
    frequent = Counter(captions).most_common(1)[0][0]
    return {
        "most frequent": [frequent] * len(asked),
        "nearest neighbour": [captions[place] for place in distances.argmin(1).tolist()],
    }


def main() -> None:
    data = Scenes("test", size=TEST)
    references = [list(data.scene(index).captions()) for index in range(0, TEST, CAPTIONS)]
    for name, said in baselines().items():
        for scored in ("exact_match", "caption_bleu"):
            print(f"{name:20} {metric(scored)(said, references)}")


if __name__ == "__main__":
    main()

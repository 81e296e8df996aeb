"""Baselines of the recipe `scenes`: the most frequent caption, and the caption of the nearest training picture.

python -m benchmarks.captions --seed 101
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

from regard.evaluate.metrics import metric
from regard.systems.captions.scenes import CAPTIONS, Scenes

TRAIN, TEST = 24_000, 4_000


def baselines(seed: int = 0, train: int = TRAIN, test: int = TEST) -> dict[str, list[str]]:
    """Return the answers of each baseline to the test pictures, by its name."""
    learned = [(one.fields["picture"].source, one.fields["caption"]) for one in Scenes("train", size=train, seed=seed)]
    known = np.stack([picture.ravel() for picture, _ in learned]).astype(np.float32)  # [N, 3 * 32 * 32]
    captions = [caption for _, caption in learned]
    data = Scenes("test", size=test, seed=seed)
    asked = np.stack([data[index].fields["picture"].source.ravel() for index in range(0, test, CAPTIONS)])
    # |x - y|² less |x|², which is the same for all training pictures.
    distances = np.square(known).sum(1) - 2.0 * asked.astype(np.float32) @ known.T
    frequent = Counter(captions).most_common(1)[0][0]
    return {
        "most frequent": [frequent] * len(asked),
        "nearest neighbour": [captions[place] for place in distances.argmin(1).tolist()],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="data.seed of the recipe")
    seed = parser.parse_args().seed
    data = Scenes("test", size=TEST, seed=seed)
    references = [list(data.scene(index).captions()) for index in range(0, TEST, CAPTIONS)]
    for name, said in baselines(seed).items():
        for scored in ("exact_match", "caption_bleu"):
            print(f"{name:20} {metric(scored)(said, references)}")


if __name__ == "__main__":
    main()

"""Generated small ads, and queries that paraphrase them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from regard.data.batching.order import splitmix64
from regard.data.example import Example
from regard.data.generated import Generated
from regard.data.hash_split import Part
from regard.data.problems import DataError

WHO = (
    ("doctor", "physician", "medic"), ("teacher", "tutor", "instructor"), ("lawyer", "attorney", "solicitor"),
    ("farmer", "grower", "planter"), ("singer", "vocalist", "chanter"), ("writer", "author", "novelist"),
    ("sailor", "seaman", "mariner"), ("cook", "chef", "caterer"), ("painter", "artist", "illustrator"),
    ("guard", "sentry", "watchman"), ("clerk", "secretary", "typist"), ("student", "pupil", "learner"),
)  # fmt: skip
DEEDS = (
    ("sells", "offers", "parts with"), ("buys", "purchases", "wants"), ("rents out", "lends", "leases"),
    ("repairs", "mends", "fixes"), ("gives away", "donates", "bestows"), ("swaps", "trades", "exchanges"),
)  # fmt: skip
WHAT = (
    ("car", "automobile", "motor"), ("bicycle", "bike", "cycle"), ("sofa", "couch", "settee"),
    ("boat", "vessel", "dinghy"), ("coat", "jacket", "parka"), ("lamp", "lantern", "light"),
    ("violin", "fiddle", "viola"), ("house", "home", "cottage"), ("picture", "painting", "canvas"),
    ("carpet", "rug", "mat"), ("bed", "bunk", "cot"), ("dog", "hound", "puppy"), ("watch", "timepiece", "clock"),
    ("bag", "suitcase", "trunk"), ("stove", "oven", "cooker"), ("book", "volume", "paperback"),
)  # fmt: skip
LOOKS = (
    ("old", "aged", "antique"), ("cheap", "inexpensive", "budget"), ("big", "large", "huge"),
    ("small", "little", "tiny"), ("red", "scarlet", "crimson"), ("broken", "damaged", "faulty"),
    ("pretty", "lovely", "beautiful"), ("rare", "unusual", "scarce"),
)  # fmt: skip
WHERE = (
    ("harbour", "port", "docks"), ("forest", "woods", "grove"), ("shop", "store", "market"),
    ("hill", "slope", "rise"), ("river", "stream", "brook"), ("church", "chapel", "abbey"),
    ("road", "street", "lane"), ("school", "college", "academy"),
)  # fmt: skip
_SLOTS = (WHO, DEEDS, LOOKS, WHAT, WHERE)
_ADS = ("{0} {1} {2} {3} near the {4}", "near the {4} : {0} {1} {2} {3}", "{2} {3} , {0} {1} it near the {4}")
_QUESTIONS = (
    "which {0} {1} a {2} {3} near the {4} ?",
    "{2} {3} near the {4} that a {0} {1}",
    "{0} near the {4} who {1} a {2} {3}",
)


@dataclass(frozen=True)
class SmallAds(Generated):
    """Ads of five concepts, and queries for the same concepts, often with synonyms.

    "which doctor offers an old fiddle near the port ?" is a query for "physician sells antique violin near the docks".
    Each concept has three synonyms. BM25 only counts the words that query and ad share; a model has to learn that
    "fiddle" and "violin" are synonyms. Fields "query" and "passage". Combinations of concepts are disjoint between
    splits.

    Args:
        split: "train" (80% of all combinations), "valid" or "test" (10% each).
        size: number of pairs.
        synonyms: probability that a query uses a synonym for a concept of its ad.
        seed: random seed of the ads.

    >>> for example in SmallAds(size=2):
    ...     print(example.fields["query"], "|", example.fields["passage"])
    physician near the street who offers a scarce bicycle | unusual bike , medic offers it near the road
    which medic fixes a crimson violin near the shop ? | physician mends red violin near the store
    """

    split: Part = "train"
    size: int = field(default=1000, kw_only=True)
    synonyms: float = field(default=0.7, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        self.check_split()
        if not 0 <= self.synonyms <= 1:
            raise DataError(f"synonyms is {self.synonyms}; it is a probability, 0 to 1")

    def example(self, index: int) -> Example:
        attempt = 0
        while True:
            draws = splitmix64(np.arange(4 * len(_SLOTS) + 2, dtype=np.uint64), self.seed, index, attempt).tolist()
            concepts = [draws.pop() % len(slot) for slot in _SLOTS]
            if self.is_here(" ".join(map(str, concepts))):
                return Example(self._fields(concepts, draws), self.where(index))
            attempt += 1

    def _fields(self, concepts: list[int], draws: list[int]) -> dict[str, str]:
        """Return the ad and the query of some concepts, in words that the draws choose."""
        said, asked = [], []
        for slot, concept in zip(_SLOTS, concepts, strict=True):
            words = slot[concept]
            first, other = draws.pop() % len(words), 1 + draws.pop() % (len(words) - 1)
            is_other = draws.pop() % 1000 < 1000 * self.synonyms
            said.append(words[first])
            asked.append(words[(first + other * is_other) % len(words)])
        ad, question = _ADS[draws.pop() % len(_ADS)], _QUESTIONS[draws.pop() % len(_QUESTIONS)]
        return {"query": question.format(*asked), "passage": ad.format(*said)}

"""Baselines of taggers: attributes and frequent tags by hand, and a CRF that needs the neighbours."""

from __future__ import annotations

from pathlib import Path

from benchmarks.baselines import baselines as printed

from regard.data.example import Example
from regard.recipes.load import load
from regard.systems.tagging.baseline import attributes, baselines, most_frequent


def tagged(words: str, tags: str) -> Example:
    return Example({"text": words.split(), "tags": tags.split()}, "here")


def test_the_attributes_of_a_word_by_hand() -> None:
    first, second = attributes(["Re-sold", "ABC"], ["VB", "NN"])
    assert first == [
        *(
            "w0=Re-sold",
            "w1=ABC",
            "w0,1=Re-sold ABC",
            "ending1=ABC",
            "lower=re-sold",
            "p1=R",
            "s1=d",
            "p2=Re",
            "s2=ld",
            "p3=Re-",
        ),
        *("s3=old", "p4=Re-s", "s4=sold", "capital", "hyphen", "f0=VB", "f1=NN", "f0,1=VB NN"),
    ]
    assert {"w-1=Re-sold", "capitals", "s3=ABC", "f-1=VB", "f-1,0=VB NN", "ending-1=old"} <= set(second)
    assert not any(name.startswith(("p4", "s4", "f1", "w1")) for name in second)
    assert "f-1,0,1=A B C" in attributes(["a", "b", "c"], ["A", "B", "C"])[1]
    assert not any(name.startswith("f") for one in attributes(["a", "b"]) for name in one)


def test_a_word_has_its_most_frequent_tag_and_a_new_one_that_of_all() -> None:
    train = [tagged("saw a saw", "VB DT NN"), tagged("saw cats", "VB NN"), tagged("dogs", "NN")]
    assert most_frequent(train, [tagged("a new saw", "DT JJ NN")]) == [["DT", "NN", "VB"]]


RECIPE = """\
task: tag
data: {format: columns, train: train.txt, valid: train.txt, test: test.txt, source: [0, 1], target: 2}
tokenizer: {kind: words}
model: {kind: transducer, encoder: {embedding_dim: 4, hidden_dim: 4, feature_dim: 3}}
train: {steps: 1}
evaluate: {metrics: [accuracy]}
"""


def test_the_crf_reads_neighbours_and_features(tmp_path: Path) -> None:
    """A word's tag is the feature of the word before it: words say nothing of it, and features all."""
    for name, words in (("train", "abcdefgh"), ("test", "hgfedcba")):
        blocks = []
        for start in range(16):
            features = [str((start >> place) % 2) for place in range(4)]
            rows = zip(words, features, ["0", *features], strict=False)
            blocks.append("".join(f"{word} {feature} T{tag}\n" for word, feature, tag in rows))
        (tmp_path / f"{name}.txt").write_text("\n".join(blocks))
    (tmp_path / "mine.yaml").write_text(RECIPE)
    recipe = load(str(tmp_path / "mine.yaml"), [f"data.root={tmp_path}"]).recipe
    found = dict(baselines(recipe))
    assert found["CRF, with features"]["accuracy"] == 1.0
    assert found["CRF"]["accuracy"] < 0.8
    assert found["most frequent tag"]["accuracy"] < 0.8
    assert [name for name, _ in printed(recipe)] == list(found)  # nothing of texts besides

"""Search from the commands: trained, indexed, asked by vectors, words and both, re-ranked, measured and drawn."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from safetensors.torch import load_file

from regard.systems.retrieval.small_ads import SmallAds
from tests.cli.command import asked, refused
from tests.mechanism import assert_close

SMALL = ("data.train_size=64", "data.valid_size=12", "data.test_size=12", "train.batch.sentences=16")
TINY = ("model.encoder.embedding_dim=8", "model.encoder.hidden_dim=8", "train.steps=2", "train.valid_every=2")
ADS = [str(example.fields["passage"]) for example in SmallAds(size=20)]
QUERY = str(next(iter(SmallAds(size=1))).fields["query"])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("search")
    assert "small_ads: finished" in asked("train", "small_ads", "--runs", folder, *SMALL, *TINY)
    asked("train", "small_ads_rerank", "--runs", folder, *SMALL, *TINY)
    (folder / "ads.txt").write_text("\n\n".join([*ADS, ADS[0]]) + "\n")
    said = asked("index", folder / "small_ads", folder / "ads.txt", "--output", folder / "index.safetensors")
    assert "20 passages, vectors of width 8" in said
    return folder


def found(*arguments: str | Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in asked("search", *arguments, "--json").splitlines()]


@pytest.mark.parametrize("by", ["vectors", "bm25", "hybrid"])
def test_the_best_passages_are_printed(by: str, runs: Path) -> None:
    given = (runs / "small_ads", QUERY, "--index", runs / "index.safetensors", "--n-best", "3", "--by", by)
    (row,) = found(*given)
    passages = row["passages"]
    assert isinstance(passages, list)
    assert [ADS[one["number"]] for one in passages] == [one["passage"] for one in passages]
    assert [one["score"] for one in passages] == sorted((one["score"] for one in passages), reverse=True)
    lines = asked("search", *given).splitlines()
    assert [line.partition("\t")[2] for line in lines] == [one["passage"] for one in passages]


def test_queries_of_a_file_and_a_matrix(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "queries.txt").write_text(f"{QUERY}\n\na red boat\n")
    rest = ("--file", tmp_path / "queries.txt", "--index", runs / "index.safetensors", "--n-best", "2")
    assert [row["query"] for row in found(runs / "small_ads", *rest)] == [QUERY, "a red boat"]
    assert asked("search", runs / "small_ads", *rest).count("\n\n") == 1
    asked("search", runs / "small_ads", *rest, "--matrix", tmp_path / "matrix.png")
    assert (tmp_path / "matrix.png").stat().st_size > 1000


def test_half_precision_takes_less_space(runs: Path, tmp_path: Path) -> None:
    half = tmp_path / "half.safetensors"
    asked("index", runs / "small_ads", runs / "ads.txt", "--output", half, "--precision", "float16")
    assert (runs / "index.safetensors").stat().st_size - half.stat().st_size == 20 * 8 * 2
    rows = [
        found(runs / "small_ads", QUERY, "--index", one, "--n-best", "20") for one in (half, runs / "index.safetensors")
    ]
    first, second = ({one["number"]: one["score"] for one in row[0]["passages"]} for row in rows)  # type: ignore[union-attr]
    assert first == pytest.approx(second, abs=2e-3)


def test_a_cross_encoder_reranks(runs: Path, tmp_path: Path) -> None:
    index = ("--index", runs / "index.safetensors")
    rerank = ("--rerank", runs / "small_ads_rerank", "--candidates", "4")
    (again,) = found(runs / "small_ads", QUERY, *index, *rerank)
    (first,) = found(runs / "small_ads", QUERY, *index, "--n-best", "4")
    numbers = [{one["number"] for one in row["passages"]} for row in (again, first)]  # type: ignore[attr-defined]
    assert numbers[0] == numbers[1]
    words = tmp_path / "words.safetensors"
    assert "words alone" in asked("index", runs / "small_ads_rerank", runs / "ads.txt", "--output", words)
    assert found(runs / "small_ads_rerank", QUERY, "--index", words)


def test_it_is_measured_over_more_passages_and_beside_bm25(runs: Path) -> None:
    rows = [
        json.loads(asked("evaluate", runs / "small_ads", "--json", *more))
        for more in (
            (),
            ("--decode", "by=bm25"),
            ("--decode", f"passages={runs}/ads.txt"),
            ("--decode", f"passages={runs}/index.safetensors"),
        )
    ]
    assert {"mrr", "recall_at:k=1", "recall_at:k=5", "recall_at:k=10", "ndcg"} <= rows[0].keys()
    assert rows[1]["mrr"] != rows[0]["mrr"] >= rows[2]["mrr"] == rows[3]["mrr"]
    first = f"first={runs}/small_ads"
    row = json.loads(asked("evaluate", runs / "small_ads_rerank", "--json", "--decode", first))
    beside = asked("evaluate", runs / "small_ads", "--json", "--against", runs / "small_ads_rerank")
    assert row["recall_at:k=10"] <= 1.0
    assert "mrr" in json.loads(beside)["against"]


def test_predictions_and_views(runs: Path, tmp_path: Path) -> None:
    given = ("--decode", f"passages={runs}/ads.txt")
    assert asked("predict", runs / "small_ads", QUERY, *given, "--n-best", "2").count("\t") == 2
    asked("view", runs / "small_ads", QUERY, *given, "--output", tmp_path / "match.png")
    asked("view", runs / "small_ads_rerank", f"{QUERY}\t{ADS[0]}", "--output", tmp_path / "attention.png")
    assert "tab between, or --decode passages=FILE" in refused("view", runs / "small_ads", QUERY)


def test_a_dry_run_knows_the_memory_of_wrong_passages(tmp_path: Path) -> None:
    assert "memory" in asked("train", "small_ads_rerank", "--runs", tmp_path, "--dry-run", *SMALL, *TINY)


def test_negatives_of_a_dual_encoder(runs: Path, tmp_path: Path) -> None:
    mined = f"train.negatives={{count: 2, among: 5, found_by: {runs}/small_ads}}"
    asked("train", "small_ads_rerank", "--runs", tmp_path, *SMALL, *TINY, mined)
    wrong = mined.replace("/small_ads}", "/small_ads_rerank}")
    said = refused("train", "small_ads_rerank", "--runs", tmp_path, *SMALL, *TINY, wrong, "run=other")
    assert "small_ads_rerank is no run of a dual_encoder" in said


def test_a_killed_run_goes_on_as_if_it_had_not_been(runs: Path, tmp_path: Path) -> None:
    given = ("train", "small_ads_rerank", *SMALL, *TINY, "train.checkpoint_every=1")
    asked(*given, "train.steps=4", "--runs", tmp_path / "whole")
    asked(*given, "train.steps=2", "--runs", tmp_path / "parts")
    asked(*given, "train.steps=4", "--runs", tmp_path / "parts")
    whole, parts = (
        (tmp_path / name / "small_ads_rerank" / "metrics.jsonl").read_text().splitlines()[-1]
        for name in ("whole", "parts")
    )
    assert whole == parts


def test_squad_is_divided_by_article(tmp_path: Path) -> None:
    paragraphs = [{"context": f"passage {n}  of words", "qas": [{"question": f"which is {n}?"}] * 2} for n in range(40)]
    articles = [{"title": f"article {n}", "paragraphs": paragraphs[2 * n : 2 * n + 2]} for n in range(20)]
    path = tmp_path / "squad.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"data": articles}).encode()))
    data = f"data={{format: squad, train: {path}, split: {{valid: 0.3}}}}"
    asked("train", "small_ads", "--runs", tmp_path, data, *TINY, "train.batch.sentences=4")
    for broken, said in (("[]", "no list 'data' of articles"), ("{", "is not JSON"), ('{"data": [1]}', "article 1")):
        (tmp_path / "broken.json").write_text(broken)
        assert said in refused(
            "train", "small_ads", data.replace("squad.json.gz", "broken.json"), "--runs", tmp_path / "no"
        )


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("train small_ads model.poolin=mean", "pooling"),
        ("train small_ads train.negatives.found=3", "found"),
        ("train small_ads train.batch.sentences=1", "learns from the other passages of a batch"),
        (
            "train small_ads_rerank train.negatives.count=0 train.negatives.random=0",
            "negatives.count and negatives.random",
        ),
        ("train small_ads decode.first=runs/a", "first is for a cross_encoder"),
        ("train small_ads_rerank decode.by=hybrid", "name a run with some: first=runs/dual"),
        ("train small_ads evaluate.metrics=[bleu]", "metric 'bleu' compares texts"),
        ("search RUNS/small_ads x --index RUNS/ads.txt", "cannot be read"),
        ("search RUNS/small_ads x --index RUNS/none.safetensors", "none.safetensors"),
        ("search RUNS/small_ads --index RUNS/index.safetensors", "give queries, or a file"),
        ("search RUNS/small_ads_rerank x --index RUNS/index.safetensors --matrix RUNS/m.png", "--matrix"),
        ("search RUNS/small_ads_rerank x --index RUNS/index.safetensors --rerank RUNS/small_ads", "is another model"),
        ("index RUNS/small_ads RUNS/ads.txt --output RUNS/index.bin", "ends in .safetensors"),
        ("predict RUNS/small_ads near", "--decode passages=FILE"),
    ],
)
def test_what_is_wrong_is_one_sentence(command: str, said: str, runs: Path) -> None:
    assert said in refused(*command.replace("RUNS", str(runs)).split())


def test_an_index_of_another_model_is_refused(runs: Path, tmp_path: Path) -> None:
    asked("train", "small_ads", "--runs", tmp_path, *SMALL, *TINY, "train.seed=5")
    given = (tmp_path / "small_ads", QUERY, "--index", runs / "index.safetensors")
    assert "vectors of another model" in refused("search", *given)
    assert found(*given, "--by", "bm25")


@pytest.mark.parametrize("kind", ["dual_encoder", "cross_encoder"])
def test_a_pretrained_encoder_starts_it(kind: str, tmp_path: Path) -> None:
    encoder = ("model.encoder.embedding_dim=8", "model.encoder.hidden_dim=8", "train.steps=2", "train.valid_every=2")
    sizes = ("data.train_size=40", "data.valid_size=10", "data.test_size=10", "train.batch.sentences=10")
    asked("train", "middle_opinions", "--runs", tmp_path, *sizes, *encoder)
    init, shared = f"init={tmp_path}/middle_opinions", ("model.shared=false",) * (kind == "dual_encoder")
    recipe = "small_ads" if kind == "dual_encoder" else "small_ads_rerank"
    said = asked("train", recipe, "--runs", tmp_path, *SMALL, *TINY, init, "train.optimizer.rate=1.0e-12", *shared)
    assert "parameters are taken (encoder.words, encoder.layers)" in " ".join(said.split())
    first, second = (load_file(tmp_path / name / "model.safetensors") for name in ("middle_opinions", recipe))
    towers = ("encoder.", "passage_encoder.") if shared else ("encoder.",)
    for tower in towers:
        name = f"{tower}layers.layers.weight_hh_l0_reverse"
        assert_close(second[name], first[name.removeprefix("passage_")].tolist())

"""Glimpse network: its shapes, what it sees, the gradient of its policy, and its cost."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from regard.data.batching.batch import Batch
from regard.data.fields.labels import Labels
from regard.data.fields.vector_shape import VectorShape
from regard.data.pictures.reading import PictureShape
from regard.decode.search import Search
from regard.specials import IGNORE
from regard.systems.glimpses.glimpse_network import GlimpseNetwork
from regard.systems.glimpses.task import GlimpseInput, Glimpses, PictureBatch
from regard.systems.glimpses.whole_image import Convolutional, FullyConnected

SMALL: dict[str, Any] = {"size": 3, "scales": 2, "glimpses": 5, "glimpse_dim": 7, "hidden_dim": 11}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"cell": "lstm", "first": "centre"},
    {"location_layer": True, "context": 5, "objects": 2},
    {"context": 4, "cell": "lstm", "location_layer": True},
    {"policy": "random"},
    {"paths": 3},
    {"learned_deviation": True, "samples": 3, "objects": 2},
]


def task(objects: int = 1, side: int = 13, classes: int = 3) -> Glimpses:
    labels = Labels(tuple("abcdefghij"[:classes]))
    shape = PictureShape(height=side, width=side, channels=1)
    return Glimpses({"picture": VectorShape((1, side, side)), "labels": labels}, shape, objects)


def batch(labels: list[list[int]], side: int = 13) -> Batch:
    width = max(map(len, labels))
    padded = torch.tensor([row + [IGNORE] * (width - len(row)) for row in labels])
    lengths = torch.tensor([len(row) for row in labels])
    pictures = torch.rand(len(labels), 1, side, side, generator=torch.Generator().manual_seed(2))
    tensors = {"picture": pictures, "labels": padded, "labels_lengths": lengths}
    return Batch(tensors, tuple(range(len(labels))), int(lengths.sum()))


def test_an_identity_core_begins_by_adding_up_its_glimpses() -> None:
    """With the identity as recurrent weights and no biases, a state is the sum of its inputs."""
    core = GlimpseNetwork(2, 7, **SMALL, initial="identity").core
    with torch.no_grad():
        core.cell.bias_ih.zero_()
        core.cell.bias_hh.zero_()
        core.cell.weight_ih.copy_(torch.eye(11))
    state = core.start(torch.zeros(3, 2, 5, 5))
    given = torch.rand(4, 3, 11, generator=torch.Generator().manual_seed(1))
    for one in given:
        state = core(one, state)
    assert torch.allclose(state.hidden, given.sum(0), atol=1e-6)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_shapes_and_gradients(options: dict[str, Any]) -> None:
    torch.manual_seed(1)
    model = GlimpseNetwork(2, 7, **SMALL, **options)
    objects = options.get("objects", 1)
    pictures = torch.rand(3, 2, 17, 19)
    predicted = model(pictures)
    assert predicted.logits.shape == (3, objects, 7 + (objects > 1))
    assert predicted.extras["locations"].shape == (3, 5 * objects, 2)
    assert predicted.extras["locations"].abs().max() <= 1
    drawn = 0 if "policy" in options else 5 * objects - ("context" not in options)
    assert predicted.extras["log_prob"].shape == predicted.extras["baseline"].shape == (3, drawn)
    total = predicted.logits.sum() + predicted.extras["log_prob"].sum() + predicted.extras["baseline"].sum()
    total.backward()
    unused = {name for name, one in model.named_parameters() if one.grad is None}
    assert unused == ({"baseline.map.weight", "baseline.map.bias"} if drawn == 0 else set())


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_an_answer_is_the_same_each_time_and_in_each_batch(options: dict[str, Any]) -> None:
    torch.manual_seed(1)
    model = GlimpseNetwork(1, 5, **SMALL, **options).eval().double()
    pictures = torch.rand(4, 1, 17, 19, dtype=torch.float64)
    whole, again = model(pictures), model(pictures)
    assert torch.equal(whole.logits, again.logits)
    for row in range(4):
        torch.testing.assert_close(model(pictures[row : row + 1]).logits, whole.logits[row : row + 1])


def test_it_sees_only_its_glimpses() -> None:
    torch.manual_seed(1)
    model = GlimpseNetwork(1, 5, **(SMALL | {"glimpses": 2, "scales": 1})).eval()
    picture = torch.rand(1, 1, 41, 43)
    seen = model(picture)
    across, down = (((seen.extras["locations"][0] + 1) / 2) * torch.tensor([43.0, 41.0])).T
    far = torch.ones(41, 43, dtype=torch.bool)
    for x, y in zip(across.tolist(), down.tolist(), strict=True):
        far[max(0, int(y) - 4) : int(y) + 5, max(0, int(x) - 4) : int(x) + 5] = False
    assert far.sum() > 1000
    assert torch.equal(model(picture.masked_fill(far, 9.0)).logits, seen.logits)
    assert not torch.equal(model(picture.masked_fill(~far, 9.0)).logits, seen.logits)


@pytest.mark.parametrize("options", [{}, {"scales": 3, "cell": "lstm", "location_layer": True}], ids=str)
def test_the_cost_does_not_depend_on_the_size_of_the_picture(options: dict[str, Any]) -> None:
    def cost(model: nn.Module, side: int) -> int:
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            model.eval()(torch.rand(1, 1, side, side))
        return int(counter.get_total_flops())

    glimpses = GlimpseNetwork(1, 10, **(SMALL | options))
    assert cost(glimpses, 28) == cost(glimpses, 280) > 0
    full = [cost(FullyConnected(1, 10, height=side, width=side), side) for side in (28, 280)]
    filters = [cost(Convolutional(1, 10, height=side, width=side), side) for side in (28, 280)]
    assert full[1] > 50 * full[0] - 50 * 2 * 256 * 266
    assert filters[1] > 50 * filters[0]


def test_paths_average_probabilities() -> None:
    torch.manual_seed(1)
    model = GlimpseNetwork(1, 5, **SMALL, paths=3).eval()
    picture = torch.rand(2, 1, 17, 19)
    each = [model._look(picture, draws) for draws in model._draws(picture)]
    assert len({one.logits.sum().item() for one in each}) == 3
    mean = torch.stack([one.logits.softmax(-1) for one in each]).mean(0)
    torch.testing.assert_close(model(picture).logits.exp(), mean)


def test_the_policy_learns_where_the_reward_is() -> None:
    """A label is written at the right edge of a dark picture, which the first glimpse at the centre cannot see."""
    torch.manual_seed(3)
    model = GlimpseNetwork(
        1, 2, size=4, glimpses=2, glimpse_dim=16, hidden_dim=16, first="centre", deviation=0.3, reward_weight=1.0
    )
    optimizer, rule = torch.optim.Adam(model.parameters(), lr=0.01), task(side=16, classes=2)
    for update in range(150):
        label = torch.randint(2, (64, 1))
        pictures = torch.zeros(64, 1, 16, 16)
        pictures[:, 0, 6:10, 12:] = torch.where(label == 1, 1.0, -1.0)[:, :, None]
        tensors = {"picture": pictures, "labels": label, "labels_lengths": torch.ones(64, dtype=torch.long)}
        loss = rule.loss(model, Batch(tensors, tuple(range(64)), 64), update=update)
        optimizer.zero_grad()
        (loss.total / loss.tokens).backward()
        optimizer.step()
    predicted = model.eval()(pictures)
    assert predicted.extras["locations"][0, 1, 0] > 0.4
    assert (predicted.logits[:, 0].argmax(-1) == label[:, 0]).float().mean() > 0.95


class Fixed(GlimpseNetwork):
    """Says the same of every picture, so that rewards are known."""

    def forward(self, pictures: Tensor) -> Any:
        predicted = super().forward(pictures)
        logits = torch.zeros_like(predicted.logits)
        logits[..., 0] = 5.0
        return predicted._replace(logits=logits)


def test_the_loss_by_hand() -> None:
    torch.manual_seed(1)
    model, rule = Fixed(1, 3, **(SMALL | {"glimpses": 2}), objects=2, reward_weight=0.5), task(2)
    given = batch([[0, 0], [1, 0], [0]])
    target = rule.targets(given.view(PictureBatch))
    assert target.tolist() == [[0, 0], [1, 0], [0, 3]]  # 3 is the end
    torch.manual_seed(4)
    loss = rule.loss(model, given, update=0)
    torch.manual_seed(4)
    predicted = model(given["picture"])
    log_prob, baseline = predicted.extras["log_prob"], predicted.extras["baseline"]
    reward = torch.tensor([[2.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 0.0, 0.0]])  # of the draws before glimpses 2, 3, 4
    hybrid = -0.5 * ((reward - baseline).detach() * log_prob).sum() + (reward - baseline).square().sum() / 3
    cross_entropy = -predicted.logits.log_softmax(-1).gather(2, target.unsqueeze(2)).sum()
    torch.testing.assert_close(loss.nll, cross_entropy)
    torch.testing.assert_close(loss.total, cross_entropy + hybrid)
    assert loss.tokens == 5


@pytest.mark.parametrize("samples", [1, 3])
def test_rows_that_fill_a_batch_and_wider_labels_change_nothing(samples: int) -> None:
    model, rule = Fixed(1, 3, **SMALL, objects=2, samples=samples, first="centre", deviation=1e-6), task(2)
    given = batch([[0, 0], [1]])
    filled = Batch(
        {
            "picture": torch.cat((given["picture"], torch.zeros(1, 1, 13, 13))),
            "labels": nn.functional.pad(given["labels"], (0, 2, 0, 1), value=IGNORE),
            "labels_lengths": torch.tensor([2, 1, 0]),
        },
        (0, 1),
        3,
    )
    for update in (None, 0):
        model.train(update is not None)
        torch.manual_seed(4)
        model.reward_weight = 0.0  # draws differ between batches of two sizes
        plain = rule.loss(model, given, update=update)
        more = rule.loss(model, filled, update=update)
        torch.testing.assert_close(more.nll, plain.nll)
        torch.testing.assert_close(more.total, plain.total, rtol=1e-4, atol=1e-5)
        assert torch.isfinite(more.total)


def test_the_n_best_sequences_are_those_of_all() -> None:
    scores = torch.tensor([[0.5, 0.3, 0.15, 0.05], [0.1, 0.3, 0.2, 0.4]]).log()
    best = task(2)._answers(GlimpseInput("p", torch.zeros(1, 2, 2, dtype=torch.uint8).numpy()), scores, (), 4)
    assert [one.text for one in best] == ["a", "a b", "b", "a c"]
    assert best[0].score == pytest.approx(float(torch.tensor(0.5 * 0.4).log()))
    assert best[3].score == pytest.approx(float(torch.tensor(0.5 * 0.2).log()))


def test_a_picture_is_asked_as_path_bytes_array_or_mapping(tmp_path: Any) -> None:
    from PIL import Image

    from regard.data.problems import TextError

    pixels = torch.randint(0, 99, (13, 13), dtype=torch.uint8).numpy()
    path = tmp_path / "digit.png"
    Image.fromarray(pixels).save(path)
    rule = task()
    for given in (str(path), path, path.read_bytes(), pixels, {"picture": path}):
        assert (rule.parse(given).pixels == pixels).all()
    model = FullyConnected(1, 3, height=13, width=13, hidden_dim=5).eval()
    (answers,) = rule.predict(model, [rule.parse(path)], Search(n_best=3))
    assert sorted(one.text for one in answers) == ["a", "b", "c"]
    assert sum(answers[0].scores.values()) == pytest.approx(1.0)  # type: ignore[union-attr]
    with pytest.raises(TextError, match=r"nowhere\.png"):
        rule.parse("nowhere.png")
    with pytest.raises(TextError, match="'picture'"):
        rule.parse({"photo": "a.png"})
    with pytest.raises(TextError, match="int"):
        rule.parse(7)


def test_dark_ink_on_paper_is_inverted_with_a_notice() -> None:
    from dataclasses import replace

    paper = torch.full((13, 13), 250, dtype=torch.uint8).numpy()
    paper[4:9, 6] = 10
    rule = replace(task(), light_on_dark=True)
    asked = rule.parse(paper)
    assert asked.pixels[0, 5, 6] == 245
    assert "inverted" in rule.input_warnings(None, [paper])[0]
    assert rule.parse(255 - paper).notes == task().parse(paper).notes == ()

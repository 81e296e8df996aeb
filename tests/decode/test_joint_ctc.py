"""Joint CTC-attention scores against all paths."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from regard.decode import ConstrainedModel, Ensemble, JointCTC, Search, Trie, generate, score
from regard.ops import ctc_alignment
from tests.decode.test_ctc import all_transcripts
from tests.decode.toys import Random, sentences
from tests.mechanism import assert_close

SIZE = 7  # ids; 0 is the blank, and 2 and 3, BOS and EOS, are no symbols of CTC

Frames = tuple[Tensor, Tensor | None]


def heard(batch: int, frames: int, sharpness: float = 1.5) -> Tensor:
    logits = sharpness * torch.randn(batch, frames, SIZE, dtype=torch.float64)
    logits[:, :, [2, 3]] = -torch.inf
    return logits.log_softmax(-1)


def fixed(log_probs: Tensor, frames: Tensor | None = None) -> Callable[[Tensor, Tensor | None], Frames]:
    return lambda source, lengths: (log_probs, frames)


def joint(log_probs: Tensor, weight: float, frames: Tensor | None = None) -> JointCTC:
    return JointCTC(Random(SIZE), fixed(log_probs, frames), weight=weight)


def test_prefix_scores_are_sums_over_all_paths() -> None:
    """With the weight 1, exp of the summed scores is the share of the outputs that begin with a prefix."""
    log_probs = heard(1, 5)
    expected = all_transcripts(log_probs[0], 0)
    model = joint(log_probs, 1.0)
    for prefix in [(1,), (4, 4), (5, 1, 5), (6, 6, 6), (4, 5, 6, 1, 4)]:
        state = model.start(*sentences(1, SIZE))
        for token in (2, *prefix):
            step = model.step(torch.tensor([token]), state)
            assert float(step.log_probs.double().exp().sum()) == pytest.approx(1.0, abs=1e-5)
            state = step.state  # type: ignore[assignment]
        prefixes = state.prefixes
        truth = sum(likely for made, likely in expected.items() if made[: len(prefix)] == prefix)
        assert float(prefixes.total) == pytest.approx(math.log(truth), abs=1e-12)
        assert float(prefixes.following(0)[0, 3]) == pytest.approx(math.log(expected[prefix]), abs=1e-12)
        for symbol in (1, 4, 5, 6):
            longer = (*prefix, symbol)
            truth = sum(likely for made, likely in expected.items() if made[: len(longer)] == longer)
            found = float(prefixes.following(0)[0, symbol].exp())
            assert found == pytest.approx(truth, abs=1e-14)


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_scores_add_up_to_those_of_both_models(weight: float) -> None:
    (source, lengths), log_probs, frames = sentences(3, SIZE), heard(3, 11), torch.tensor([11, 7, 9])
    model = joint(log_probs, weight, frames)
    targets = [[4, 4, 5, 3], [1, 3], [6, 5, 6, 5, 3]]
    padded = torch.tensor([[*target[:-1], *[0] * (5 - len(target))] for target in targets])
    counts = torch.tensor([len(target) - 1 for target in targets])
    by_ctc = ctc_alignment(log_probs, padded, frames, counts).log_likelihood
    by_attention = torch.tensor([made.score for made in score(model.model, source, lengths, targets)])
    found = torch.tensor([made.score for made in score(model, source, lengths, targets)])
    assert_close(found, (1 - weight) * by_attention + weight * by_ctc, tolerance=1e-5)


@pytest.mark.parametrize("weight", [0.2, 0.8])
def test_a_beam_finds_the_best_of_all_outputs(weight: float) -> None:
    (source, lengths), log_probs = sentences(3, SIZE), heard(3, 4)
    model = joint(log_probs, weight)
    outputs = [list(output) for n in range(4) for output in itertools.product((1, 4, 5, 6), repeat=n)]
    search = Search(beam_size=90, n_best=5, length_penalty="none", max_length=4, exact=True, forbid=(0, 2))
    for row, found in enumerate(generate(model, source, lengths, search)):
        one = JointCTC(model.model, fixed(log_probs[row : row + 1].expand(len(outputs), -1, -1)), weight=weight)
        many = source[row : row + 1].expand(len(outputs), -1), lengths[row].expand(len(outputs))
        scores = [made.score for made in score(one, *many, [[*output, 3] for output in outputs])]
        ranked = sorted(zip(scores, outputs, strict=True), reverse=True)[:5]
        finished = [made for made in found if made.finished]
        assert [list(made.output) for made in finished] == [output for _, output in ranked][: len(finished)]
        assert [made.score for made in finished] == pytest.approx(
            [value for value, _ in ranked][: len(finished)], abs=1e-5
        )


def test_answers_depend_neither_on_the_batch_nor_on_the_padding() -> None:
    (source, lengths), log_probs, frames = sentences(5, SIZE), heard(5, 13), torch.tensor([13, 4, 9, 2, 11])
    rubbish = log_probs.clone()
    for row, count in enumerate(frames.tolist()):
        rubbish[row, count:] = float("nan")
    search, model = Search(beam_size=4, n_best=3, max_length=8), joint(rubbish, 0.5, frames)
    together = generate(model, source, lengths, search)
    for row, count in enumerate(frames.tolist()):
        own = log_probs[row : row + 1, :count]
        one = JointCTC(model.model, fixed(own), weight=0.5)
        alone = generate(one, source[row : row + 1, : lengths[row]], lengths[row : row + 1], search)[0]
        assert [made.tokens for made in alone] == [made.tokens for made in together[row]]
        assert [made.score for made in alone] == pytest.approx([made.score for made in together[row]], abs=1e-5)


def test_outputs_that_no_path_gives_are_never_there() -> None:
    """Two frames have no room for two equal symbols, nor for three."""
    (source, lengths), log_probs = sentences(1, SIZE), heard(1, 2)
    model = joint(log_probs, 0.1)
    assert math.isfinite(score(model, source, lengths, [[4, 5, 3]])[0].score)
    for target in ([4, 4, 3], [4, 5, 6, 3]):
        assert score(model, source, lengths, [target])[0].score == -math.inf
    found = generate(model, source, lengths, Search(beam_size=30, n_best=30, max_length=9))[0]
    assert all(len(made.output) <= 2 for made in found)
    assert all(math.isfinite(made.score) for made in found)


def test_it_is_a_model_like_any_other() -> None:
    (source, lengths), log_probs = sentences(2, SIZE), heard(2, 8)
    model = joint(log_probs, 0.4)
    [found, _] = generate(ConstrainedModel(model, Trie([[4, 5], [6]])), source, lengths, Search(n_best=2))
    assert {made.output for made in found} == {(4, 5), (6,)}
    assert found[0].alignment is not None
    assert found[0].alignment.shape == (len(found[0].tokens), int(lengths[0]))
    free = generate(model, source, lengths)
    assert generate(Ensemble([model]), source, lengths)[0][0].tokens == free[0][0].tokens
    assert list(model.parameters())
    assert not model.training


def test_without_weight_it_is_the_model() -> None:
    (source, lengths), log_probs = sentences(2, SIZE), heard(2, 8)
    model = joint(log_probs, 0.0)
    assert generate(model, source, lengths) == generate(model.model, source, lengths)


def test_without_frames_the_only_output_is_the_empty_one() -> None:
    (source, lengths), log_probs = sentences(2, SIZE), heard(2, 5)
    for model in (joint(log_probs[:, :0], 0.5), joint(log_probs, 0.5, torch.tensor([0, 0]))):
        assert [[made.output for made in row] for row in generate(model, source, lengths, Search(n_best=3))] == [
            [()]
        ] * 2


def test_wrong_use_is_named() -> None:
    (source, lengths), log_probs = sentences(2, SIZE), heard(2, 8)
    with pytest.raises(ValueError, match=r"weight must lie between 0 .* got 1.5"):
        joint(log_probs, 1.5)
    with pytest.raises(ValueError, match="blank cannot be EOS"):
        JointCTC(Random(SIZE), fixed(log_probs), blank=3)
    with pytest.raises(ValueError, match="without a source"):
        joint(log_probs, 0.5).start(None, None, batch=2)
    with pytest.raises(ValueError, match=r"\[B, T, V\] with B = 2; got \[1, 8, 7\]"):
        generate(joint(log_probs[:1], 0.5), source, lengths)
    with pytest.raises(ValueError, match="have 7 and 6 tokens"):
        generate(joint(log_probs[..., :6], 0.5), source, lengths)

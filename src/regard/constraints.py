"""Constraints between arguments, checked when a recipe is parsed (without PyTorch) and when a model is built.

The parameters of a rule are names of constructor arguments, and a violated rule raises a ValueError. A constructor
lists its rules in `regard.arguments.checked`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def heads_divide(dim: int, num_heads: int) -> None:
    """Require that the number of heads divides the width of a Transformer."""
    if dim % num_heads:
        raise ValueError(
            f"a Transformer of width {dim} cannot be split among {num_heads} heads; dim is a multiple of num_heads"
        )


def channels_pair(dim: int, num_heads: int) -> None:
    """Require an even number of channels per head for rotary positions, which rotate pairs of channels."""
    if dim // num_heads % 2:
        raise ValueError(
            f"rotary positions turn pairs of channels, and a head has an odd number, {dim // num_heads}: "
            f"dim is {dim}, num_heads {num_heads}"
        )


def rotary_pairs(dim: int, num_heads: int, rotary: bool) -> None:
    """Require an even number of channels per head in layers with rotary positions."""
    if rotary:
        channels_pair(dim, num_heads)


def rotary_scores(positions: str, dim: int, num_heads: int, score: Any) -> None:
    """Require a dot-product score with an even number of channels for rotary positions."""
    if positions != "rotary":
        return
    name, hidden_dim = _spec(score)
    channels_pair(*((dim, num_heads) if hidden_dim is None else (hidden_dim, 1)))
    if name not in (None, "dot", "scaled_dot", "cosine"):
        raise ValueError(
            f"rotary positions need a score of inner products (dot, scaled_dot, cosine); the score is {name!r}"
        )


def directions_halve(hidden_dim: int) -> None:
    """Require an even width of a bidirectional encoder: each direction has half of it."""
    if hidden_dim % 2:
        raise ValueError(
            f"a bidirectional encoder splits its width between two directions; hidden_dim is {hidden_dim}, which is odd"
        )


def two_directions(bidirectional: bool, hidden_dim: int) -> None:
    """Require an even width if the encoder is bidirectional."""
    if bidirectional:
        directions_halve(hidden_dim)


def two_directions_of_letters(kind: str, hidden_dim: int) -> None:
    """Require an even width for a bidirectional LSTM over the characters of a word."""
    if kind == "lstm":
        directions_halve(hidden_dim)


def dot_fits(query_dim: int, key_dim: int) -> None:
    """Require queries and keys of equal width for a dot product without projections."""
    if query_dim != key_dim:
        raise ValueError(
            f"the score 'dot' needs queries and keys of one width; got {query_dim} and {key_dim}: "
            "give it hidden_dim, which maps both, or take bilinear"
        )


def identity_fits(hidden_dim: int | None, key_dim: int, identity_key: bool) -> None:
    """Require keys as wide as the hidden layer if they are added to it without a projection."""
    if identity_key and hidden_dim not in (None, key_dim):
        raise ValueError(
            f"identity_key adds keys of width {key_dim} to the hidden layer as they are, "
            f"so hidden_dim must be {key_dim} too; got {hidden_dim}"
        )


def terms_fit(score: Any, terms: Any) -> None:
    """Require the additive score if there are additional terms, which are summands inside its tanh."""
    name, _ = _spec(score)
    if terms and name != "additive":
        raise ValueError(f"terms stand inside the additive score; the score {name!r} has no place for them")


def heads_of_aligner(align: Any, num_heads: int) -> None:
    """Require an aligner to predict one position for all heads, or one per head."""
    heads = align.get("num_heads", 1) if isinstance(align, Mapping) else 1
    if heads not in (1, num_heads):
        raise ValueError(f"num_heads of align is 1 or that of the attention, {num_heads}")


def attention_fits(attention: Any, query_dim: int, key_dim: int) -> None:
    """Require a score that fits the widths of queries and keys, for an attention given by plain values.

    Modules and factories check their own widths when they are built.
    """
    if not isinstance(attention, Mapping):
        return
    if attention.get("key_value", False):
        key_dim //= 2
    if key_dim < 1:
        raise ValueError("key_value halves a vector, which has one channel; hidden_dim is at least 2")
    score = attention.get("score", "additive")
    name, hidden_dim = _spec(score)
    if name == "dot" and (hidden_dim or attention.get("hidden_dim")) is None and attention.get("num_heads", 1) == 1:
        dot_fits(query_dim, key_dim)
    score_fits(score, key_dim)


def score_fits(score: Any, key_dim: int) -> None:
    """Require a score that fits the width of the keys, for a score given by plain values."""
    if isinstance(score, Mapping):
        identity_fits(score.get("hidden_dim"), key_dim, bool(score.get("identity_key")))


def past_attended(attention: Any, hidden_dim: int) -> None:
    """Require an attention that fits keys that are earlier states of the model itself."""
    attention_fits(attention, hidden_dim, hidden_dim)


def source_attended(attention: Any, hidden_dim: int, encoder: Any) -> None:
    """Require an attention that fits the states of the encoder; the default encoder is as wide as `hidden_dim`."""
    attention_fits(attention, hidden_dim, source_dim(encoder, hidden_dim))


def directions_attended(attention: Any, hidden_dim: int, bidirectional: bool, encoder: Any) -> None:
    """Require an attention that fits the encoder's states; the default encoder has width `hidden_dim` per direction."""
    attention_fits(attention, hidden_dim, source_dim(encoder, 2 * hidden_dim if bidirectional else hidden_dim))


def source_dim(encoder: Any, own: int) -> int:
    """Return the width of the states of an encoder given by plain values; `own` is the width of the default encoder."""
    return encoder.get("dim", encoder.get("hidden_dim", own)) if isinstance(encoder, Mapping) else own


def heads_attend(score: Any, dim: int) -> None:
    """Require a score that fits the width of a Transformer."""
    score_fits(score, dim)


def embeddings_tie(dim: int, embedding_dim: int) -> None:
    """Require an output layer with tied weights to have an input as wide as an embedding."""
    if dim != embedding_dim:
        raise ValueError(
            f"tied embeddings need the output layer's input to be as wide as an embedding; "
            f"got {dim} and an embedding_dim of {embedding_dim}"
        )


def states_tie(tied: bool, hidden_dim: int, embedding_dim: int) -> None:
    """Require states as wide as an embedding if the output layer is tied."""
    if tied:
        embeddings_tie(hidden_dim, embedding_dim)


def readout_ties(tied: bool, readout_dim: int | None, embedding_dim: int) -> None:
    """Require a maxout layer as wide as an embedding if the output layer is tied."""
    if tied and readout_dim is not None:
        embeddings_tie(readout_dim, embedding_dim)


def fertility_weighed(fertility: int | None, fertility_weight: float) -> None:
    """Require the fertility loss if its weight is set."""
    if fertility is None and fertility_weight != 1.0:
        raise ValueError(
            "fertility_weight is of the loss of 'fertility', which is null; set its width, or leave it out"
        )


def fusion_ties(tied: bool, fusion: str, hidden_dim: int, embedding_dim: int, encoder: Any) -> None:
    """Require a tied output layer to have an input as wide as an embedding; shallow fusion concatenates the context."""
    if tied and isinstance(encoder, Mapping | int | None):
        embeddings_tie(hidden_dim + (source_dim(encoder, hidden_dim) if fusion == "shallow" else 0), embedding_dim)


def one_direction_is_own(encoder: Any, bidirectional: bool) -> None:
    """Reject `bidirectional` for an encoder that is specified separately; the default encoder is unidirectional."""
    _is_own(encoder, "bidirectional", bidirectional)


def two_directions_are_own(encoder: Any, bidirectional: bool) -> None:
    """Reject `bidirectional: false` if the encoder is specified separately; the default one is bidirectional."""
    _is_own(encoder, "bidirectional", not bidirectional)


def order_is_own(encoder: Any, reverse: bool) -> None:
    """Reject `reverse` for an encoder that is specified separately."""
    _is_own(encoder, "reverse", reverse)


def embeddings_are_own(encoder: Any, tied: str) -> None:
    """Require the Transformer's default encoder if source and target embeddings are tied."""
    if tied == "all" and not isinstance(encoder, int | None):
        raise ValueError(
            "tied 'all' shares the target embedding with the Transformer's own encoder, and here it has another one; "
            "set tied to output or none"
        )


def no_letters(encoder: Any) -> None:
    """Reject a character encoder where the data are not lists of words."""
    if isinstance(encoder, Mapping) and encoder.get("characters") is not None:
        raise ValueError("characters of an encoder is for the task 'tag', whose data have words")


def window_is_odd(window: int) -> None:
    """Require an odd window, so that a convolution is centred."""
    if window < 1 or window % 2 == 0:
        raise ValueError(f"window must be odd, as many neighbours on either side; got {window}")


def windows_have_filters(windows: Any, hidden_dim: int) -> None:
    """Require at least one filter per window size."""
    if not windows or hidden_dim < len(windows):
        raise ValueError(
            "hidden_dim is the number of filters of all windows, at least one each; "
            f"got {hidden_dim} for {len(windows)} windows"
        )


def _is_own(encoder: Any, key: str, given: bool) -> None:
    if given and not isinstance(encoder, int | None):
        raise ValueError(
            f"{key} describes the encoder that the model builds itself, and here it has another one; "
            f"leave {key} out, or set it inside encoder"
        )


def shifts_balance(shifts: int) -> None:
    """Require an odd number of shifts, symmetric around 0."""
    if shifts < 1 or shifts % 2 == 0:
        raise ValueError(f"shifts must be odd, as many back as forth; got {shifts}")


def shifts_fit(shifts: int, rows: int) -> None:
    """Require at most as many shifts as there are memory rows, so that shifted positions are distinct."""
    if shifts > rows:
        raise ValueError(f"shifts are different places on the tape, so at most its {rows} rows; got {shifts}")


def one_comparison(pair_dim: int | None, comparison: str | None) -> None:
    """Reject two methods of comparing a pair of texts."""
    if pair_dim is not None and comparison is not None:
        raise ValueError("pair_dim and comparison are two ways to compare two texts; give one of them")


def matches_are_pooled(exact_match: bool, pooling: str) -> None:
    """Reject exact-match features with the pooling 'last', which ignores all states but one."""
    if exact_match and pooling == "last":
        raise ValueError(
            "exact_match is of the states of all words, and pooling 'last' reads one; take another pooling"
        )


def one_hidden_layer(hidden_dim: int | None, pruned: Any) -> None:
    """Reject a hidden layer that is both dense and pruned."""
    if hidden_dim is not None and pruned is not None:
        raise ValueError("hidden_dim and pruned are two ways to make one hidden layer; give one of them")


def scheme_needs_crf(tag_scheme: str | None, crf: bool) -> None:
    """Require a CRF for a tag scheme, which constrains transitions between tags."""
    if tag_scheme is not None and not crf:
        raise ValueError("tag_scheme is of a crf, which knows the tag before; set crf to true")


def sentences_need_pooling(next_sentence: bool, encoder: Any) -> None:
    """Require an encoder with a pooler for next-sentence prediction."""
    pooled = encoder.get("pooled", False) if isinstance(encoder, Mapping) else getattr(encoder, "pool_map", None)
    if next_sentence and not pooled:
        raise ValueError("next_sentence looks at the pooled summary of a text; set pooled of the encoder to true")


def directions_apart(encoder: Any) -> None:
    """Require one bidirectional layer, whose two states around a word do not depend on that word."""
    if isinstance(encoder, Mapping):
        cells = encoder.get("cells")
        layers = cells.get("num_layers", 1) if isinstance(cells, Mapping) else 1
        both, turned = encoder.get("bidirectional", True), encoder.get("reverse", False)
    else:
        layers, both = encoder.layers.cells.num_layers, encoder.layers.directions == 2
        turned = encoder.reverse
    if not both:
        raise ValueError("a middle word is predicted from both sides; set bidirectional of the encoder to true")
    if layers > 1:
        raise ValueError(
            f"num_layers of the encoder is {layers}: a second layer reads both directions, and with them the word that "
            "is to be predicted; set it to 1"
        )
    if turned:
        raise ValueError("the encoder has reverse, which changes nothing for two directions here; leave it out")


def memory_alone(reads: str, num_layers: int) -> None:
    """Require at least two layers if the last one reads only the memory."""
    if reads == "memory" and num_layers < 2:
        raise ValueError("reads 'memory' lets the last of several layers read it alone; num_layers is 1")


def no_draws(attention: Any) -> None:
    """Reject hard attention: the attention before the first word is sampled, but has no reward for REINFORCE."""
    if _draws(attention):
        draws_are_rewarded("simple_attention")


def no_draws_in_both(model: Any) -> None:
    """Reject hard attention in a bidirectional model."""
    if isinstance(model, Mapping) and _draws(model.get("attention")):
        draws_are_rewarded("bidirectional")


def draws_are_rewarded(kind: str) -> None:
    """Reject hard attention in models in which some samples have no reward for REINFORCE."""
    unrewarded = {
        "bidirectional": "draws of its second direction have no reward",
        "simple_attention": "the read before its first word has no reward",
    }
    if kind in unrewarded:
        raise ValueError(f"align 'hard' is not for {kind!r}: {unrewarded[kind]}")


def _draws(attention: Any) -> bool:
    return isinstance(attention, Mapping) and _spec(attention.get("align"))[0] == "hard"


def _spec(spec: Any) -> tuple[str | None, int | None]:
    """Return the name and the hidden width of a component given by plain values."""
    if isinstance(spec, Mapping):
        return spec.get("name"), spec.get("hidden_dim")
    return (spec if isinstance(spec, str) else None), None

"""Constraints between arguments, checked when a recipe is parsed (without PyTorch) and when a model is built.

The parameters of a rule are names of arguments. A constructor names its rules in `regard.arguments.checked`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def heads_divide(dim: int, num_heads: int) -> None:
    """The heads of a Transformer divide its width."""
    if dim % num_heads:
        raise ValueError(
            f"a Transformer of width {dim} cannot be split among {num_heads} heads; dim is a multiple of num_heads"
        )


def channels_pair(dim: int, num_heads: int) -> None:
    """Rotary positions rotate pairs of a head's channels."""
    if dim // num_heads % 2:
        raise ValueError(
            f"rotary positions turn pairs of channels, and a head has an odd number, {dim // num_heads}: "
            f"dim is {dim}, num_heads {num_heads}"
        )


def rotary_pairs(dim: int, num_heads: int, rotary: bool) -> None:
    """Layers with rotary positions have heads with an even number of channels."""
    if rotary:
        channels_pair(dim, num_heads)


def rotary_scores(positions: str, dim: int, num_heads: int, score: Any) -> None:
    """Rotary positions need a score of inner products, with an even number of channels."""
    if positions != "rotary":
        return
    name, hidden_dim = _spec(score)
    channels_pair(*((dim, num_heads) if hidden_dim is None else (hidden_dim, 1)))
    if name not in (None, "dot", "scaled_dot", "cosine"):
        raise ValueError(
            f"rotary positions need a score of inner products (dot, scaled_dot, cosine); the score is {name!r}"
        )


def directions_halve(hidden_dim: int) -> None:
    """Each direction of an encoder has half of its width."""
    if hidden_dim % 2:
        raise ValueError(
            f"a bidirectional encoder splits its width between two directions; hidden_dim is {hidden_dim}, which is odd"
        )


def two_directions(bidirectional: bool, hidden_dim: int) -> None:
    """A bidirectional encoder has an even width."""
    if bidirectional:
        directions_halve(hidden_dim)


def two_directions_of_letters(kind: str, hidden_dim: int) -> None:
    """An LSTM over the letters of a word reads both directions."""
    if kind == "lstm":
        directions_halve(hidden_dim)


def dot_fits(query_dim: int, key_dim: int) -> None:
    """Inner products without linear maps need queries and keys of equal width."""
    if query_dim != key_dim:
        raise ValueError(
            f"the score 'dot' needs queries and keys of one width; got {query_dim} and {key_dim}: "
            "give it hidden_dim, which maps both, or take bilinear"
        )


def identity_fits(hidden_dim: int | None, key_dim: int, identity_key: bool) -> None:
    """Keys that are added to a hidden layer without a linear map have its width."""
    if identity_key and hidden_dim not in (None, key_dim):
        raise ValueError(
            f"identity_key adds keys of width {key_dim} to the hidden layer as they are, "
            f"so hidden_dim must be {key_dim} too; got {hidden_dim}"
        )


def terms_fit(score: Any, terms: Any) -> None:
    """Terms stand inside the additive score."""
    name, _ = _spec(score)
    if terms and name != "additive":
        raise ValueError(f"terms stand inside the additive score; the score {name!r} has no place for them")


def heads_of_aligner(align: Any, num_heads: int) -> None:
    """An aligner predicts one position for all heads, or one per head."""
    heads = align.get("num_heads", 1) if isinstance(align, Mapping) else 1
    if heads not in (1, num_heads):
        raise ValueError(f"num_heads of align is 1 or that of the attention, {num_heads}")


def attention_fits(attention: Any, query_dim: int, key_dim: int) -> None:
    """An attention of plain values can read keys of one width by queries of another.

    Modules and factories check themselves when they are built.
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
    """A score of plain values fits keys of a width."""
    if isinstance(score, Mapping):
        identity_fits(score.get("hidden_dim"), key_dim, bool(score.get("identity_key")))


def past_attended(attention: Any, hidden_dim: int) -> None:
    """Keys are earlier states of the model itself."""
    attention_fits(attention, hidden_dim, hidden_dim)


def source_attended(attention: Any, hidden_dim: int, encoder: Any) -> None:
    """Keys are states of the encoder; the model's own is as wide as its layers."""
    attention_fits(attention, hidden_dim, source_dim(encoder, hidden_dim))


def directions_attended(attention: Any, hidden_dim: int, bidirectional: bool, encoder: Any) -> None:
    """Keys are states of the encoder; the model's own has layers of its width in each direction."""
    attention_fits(attention, hidden_dim, source_dim(encoder, 2 * hidden_dim if bidirectional else hidden_dim))


def source_dim(encoder: Any, own: int) -> int:
    """Return the width of the states of an encoder of plain values, `own` of that which the model builds itself."""
    return encoder.get("dim", encoder.get("hidden_dim", own)) if isinstance(encoder, Mapping) else own


def heads_attend(score: Any, dim: int) -> None:
    """The score of a Transformer's attention fits its width."""
    score_fits(score, dim)


def embeddings_tie(dim: int, embedding_dim: int) -> None:
    """An output layer that shares the embedding reads vectors of its width."""
    if dim != embedding_dim:
        raise ValueError(
            f"tied embeddings need the output layer's input to be as wide as an embedding; "
            f"got {dim} and an embedding_dim of {embedding_dim}"
        )


def states_tie(tied: bool, hidden_dim: int, embedding_dim: int) -> None:
    """A tied output layer reads states as wide as an embedding."""
    if tied:
        embeddings_tie(hidden_dim, embedding_dim)


def readout_ties(tied: bool, readout_dim: int | None, embedding_dim: int) -> None:
    """A tied output layer reads a maxout as wide as an embedding."""
    if tied and readout_dim is not None:
        embeddings_tie(readout_dim, embedding_dim)


def fertility_weighed(fertility: int | None, fertility_weight: float) -> None:
    """A weight is of a loss that is there."""
    if fertility is None and fertility_weight != 1.0:
        raise ValueError(
            "fertility_weight is of the loss of 'fertility', which is null; set its width, or leave it out"
        )


def fusion_ties(tied: bool, fusion: str, hidden_dim: int, embedding_dim: int, encoder: Any) -> None:
    """A tied output layer reads states, and with shallow fusion the context beside them."""
    if tied and isinstance(encoder, Mapping | int | None):
        embeddings_tie(hidden_dim + (source_dim(encoder, hidden_dim) if fusion == "shallow" else 0), embedding_dim)


def one_direction_is_own(encoder: Any, bidirectional: bool) -> None:
    """`bidirectional` describes the encoder that the model builds itself, which has one direction by default."""
    _is_own(encoder, "bidirectional", bidirectional)


def two_directions_are_own(encoder: Any, bidirectional: bool) -> None:
    """`bidirectional` describes the encoder that the model builds itself, which has two directions by default."""
    _is_own(encoder, "bidirectional", not bidirectional)


def order_is_own(encoder: Any, reverse: bool) -> None:
    """`reverse` describes the encoder that the model builds itself."""
    _is_own(encoder, "reverse", reverse)


def embeddings_are_own(encoder: Any, tied: str) -> None:
    """Source and target share an embedding in a Transformer with its own encoder."""
    if tied == "all" and not isinstance(encoder, int | None):
        raise ValueError(
            "tied 'all' shares the target embedding with the Transformer's own encoder, and here it has another one; "
            "set tied to output or none"
        )


def no_letters(encoder: Any) -> None:
    """Words are encoded by their letters where the data have words."""
    if isinstance(encoder, Mapping) and encoder.get("characters") is not None:
        raise ValueError("characters of an encoder is for the task 'tag', whose data have words")


def window_is_odd(window: int) -> None:
    """A convolution covers as many neighbours on the left as on the right."""
    if window < 1 or window % 2 == 0:
        raise ValueError(f"window must be odd, as many neighbours on either side; got {window}")


def windows_have_filters(windows: Any, hidden_dim: int) -> None:
    """Each window has a filter."""
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
    """A head moves by as many rows back as forth."""
    if shifts < 1 or shifts % 2 == 0:
        raise ValueError(f"shifts must be odd, as many back as forth; got {shifts}")


def shifts_fit(shifts: int, rows: int) -> None:
    """The rows that a head can move to are different ones."""
    if shifts > rows:
        raise ValueError(f"shifts are different places on the tape, so at most its {rows} rows; got {shifts}")


def one_comparison(pair_dim: int | None, comparison: str | None) -> None:
    """Two texts are compared in one way."""
    if pair_dim is not None and comparison is not None:
        raise ValueError("pair_dim and comparison are two ways to compare two texts; give one of them")


def matches_are_pooled(exact_match: bool, pooling: str) -> None:
    """Exact matches stand beside the states of words, which the pooling 'last' does not read."""
    if exact_match and pooling == "last":
        raise ValueError(
            "exact_match is of the states of all words, and pooling 'last' reads one; take another pooling"
        )


def one_hidden_layer(hidden_dim: int | None, pruned: Any) -> None:
    """A hidden layer is dense or pruned."""
    if hidden_dim is not None and pruned is not None:
        raise ValueError("hidden_dim and pruned are two ways to make one hidden layer; give one of them")


def scheme_needs_crf(tag_scheme: str | None, crf: bool) -> None:
    """A tag scheme constrains a linear chain of tags."""
    if tag_scheme is not None and not crf:
        raise ValueError("tag_scheme is of a crf, which knows the tag before; set crf to true")


def sentences_need_pooling(next_sentence: bool, encoder: Any) -> None:
    """Predicting the next sentence reads the pooled summary."""
    pooled = encoder.get("pooled", False) if isinstance(encoder, Mapping) else getattr(encoder, "pool_map", None)
    if next_sentence and not pooled:
        raise ValueError("next_sentence looks at the pooled summary of a text; set pooled of the encoder to true")


def directions_apart(encoder: Any) -> None:
    """A word between two directions is read by neither: one layer, in both directions, from the beginning."""
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
    """The last of several layers may read the memory alone."""
    if reads == "memory" and num_layers < 2:
        raise ValueError("reads 'memory' lets the last of several layers read it alone; num_layers is 1")


def no_draws(attention: Any) -> None:
    """The decoder reads the source before its first word, and that draw has no reward."""
    if _draws(attention):
        draws_are_rewarded("simple_attention")


def no_draws_in_both(model: Any) -> None:
    """Hard attention of two directions is not supported."""
    if isinstance(model, Mapping) and _draws(model.get("attention")):
        draws_are_rewarded("bidirectional")


def draws_are_rewarded(kind: str) -> None:
    """Hard attention is supported in models that learn from every draw."""
    unrewarded = {
        "bidirectional": "draws of its second direction have no reward",
        "simple_attention": "the read before its first word has no reward",
    }
    if kind in unrewarded:
        raise ValueError(f"align 'hard' is not for {kind!r}: {unrewarded[kind]}")


def _draws(attention: Any) -> bool:
    return isinstance(attention, Mapping) and _spec(attention.get("align"))[0] == "hard"


def _spec(spec: Any) -> tuple[str | None, int | None]:
    """The name and the hidden width of a part that is given by plain values."""
    if isinstance(spec, Mapping):
        return spec.get("name"), spec.get("hidden_dim")
    return (spec if isinstance(spec, str) else None), None

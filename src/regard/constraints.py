"""Size constraints, checked both when a recipe is parsed (without PyTorch) and when a model is built."""

from __future__ import annotations


def heads_divide(dim: int, num_heads: int) -> None:
    """Check that the number of heads divides the width of a Transformer."""
    if dim % num_heads:
        raise ValueError(
            f"a Transformer of width {dim} cannot be split among {num_heads} heads; dim is a multiple of num_heads"
        )


def channels_pair(dim: int, num_heads: int) -> None:
    """Check that a head has an even number of channels, which rotary positions turn in pairs."""
    if dim // num_heads % 2:
        raise ValueError(
            f"rotary positions turn pairs of channels, and a head has an odd number, {dim // num_heads}: "
            f"dim is {dim}, num_heads {num_heads}"
        )


def directions_halve(hidden_dim: int) -> None:
    """Check that the width of a bidirectional encoder is even: each direction has half of it."""
    if hidden_dim % 2:
        raise ValueError(
            f"a bidirectional encoder splits its width between two directions; hidden_dim is {hidden_dim}, which is odd"
        )


def dot_fits(query_dim: int, key_dim: int) -> None:
    """Check that queries and keys have one width, for inner products without projections."""
    if query_dim != key_dim:
        raise ValueError(
            f"the score 'dot' needs queries and keys of one width; got {query_dim} and {key_dim}: "
            "give it hidden_dim, which maps both, or take bilinear"
        )


def identity_fits(hidden_dim: int, key_dim: int) -> None:
    """Check that keys without a projection have the width of the hidden layer."""
    if hidden_dim != key_dim:
        raise ValueError(
            f"identity_key adds keys of width {key_dim} to the hidden layer as they are, "
            f"so hidden_dim must be {key_dim} too; got {hidden_dim}"
        )


def embeddings_tie(dim: int, embedding_dim: int) -> None:
    """Check that a tied output layer has inputs as wide as an embedding."""
    if dim != embedding_dim:
        raise ValueError(
            f"tied embeddings need the output layer's input to be as wide as an embedding; "
            f"got {dim} and an embedding_dim of {embedding_dim}"
        )


def shifts_balance(shifts: int) -> None:
    """Check that a head shifts as many places back as forth."""
    if shifts < 1 or shifts % 2 == 0:
        raise ValueError(f"shifts must be odd, as many back as forth; got {shifts}")


def shifts_fit(shifts: int, rows: int) -> None:
    """Check that the shifts of a head lead to different places."""
    if shifts > rows:
        raise ValueError(f"shifts are different places on the tape, so at most its {rows} rows; got {shifts}")


def draws_are_rewarded(kind: str) -> None:
    """Check that hard attention has a reward for each of its draws."""
    unrewarded = {
        "bidirectional": "draws of its second direction have no reward",
        "simple_attention": "the read before its first word has no reward",
    }
    if kind in unrewarded:
        raise ValueError(f"align 'hard' is not for {kind!r}: {unrewarded[kind]}")

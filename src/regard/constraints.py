"""What fits together: rules that a recipe is held to before PyTorch is there, and a model when it is made."""

from __future__ import annotations

from collections.abc import Sequence


def heads_divide(dim: int, num_heads: int) -> None:
    """A Transformer's width is divided among its heads."""
    if dim % num_heads:
        raise ValueError(
            f"a Transformer of width {dim} cannot be split among {num_heads} heads; dim is a multiple of num_heads"
        )


def channels_pair(dim: int, num_heads: int) -> None:
    """Rotary positions turn pairs of a head's channels."""
    if dim // num_heads % 2:
        raise ValueError(
            f"rotary positions turn pairs of channels, and a head has an odd number, {dim // num_heads}: "
            f"dim is {dim}, num_heads {num_heads}"
        )


def directions_halve(hidden_dim: int) -> None:
    """Each direction of an encoder has half of its width."""
    if hidden_dim % 2:
        raise ValueError(
            f"a bidirectional encoder splits its width between two directions; hidden_dim is {hidden_dim}, which is odd"
        )


def dot_fits(query_dim: int, key_dim: int) -> None:
    """Inner products without maps are of vectors of one width."""
    if query_dim != key_dim:
        raise ValueError(
            f"the score 'dot' needs queries and keys of one width; got {query_dim} and {key_dim}: "
            "give it hidden_dim, which maps both, or take bilinear"
        )


def identity_fits(hidden_dim: int, key_dim: int) -> None:
    """Keys that are added to a hidden layer as they are have its width."""
    if hidden_dim != key_dim:
        raise ValueError(
            f"identity_key adds keys of width {key_dim} to the hidden layer as they are, "
            f"so hidden_dim must be {key_dim} too; got {hidden_dim}"
        )


def embeddings_tie(dim: int, embedding_dim: int) -> None:
    """An output layer that is the embedding reads vectors of its width."""
    if dim != embedding_dim:
        raise ValueError(
            f"tied embeddings need the output layer's input to be as wide as an embedding; "
            f"got {dim} and an embedding_dim of {embedding_dim}"
        )


def encoder_is_own(model: str, keys: Sequence[str]) -> None:
    """Keys of the encoder that a model builds itself have no effect beside another one."""
    if keys:
        raise ValueError(
            f"{keys[0]} describes the encoder that {model} builds itself, and here it has another one; "
            f"leave {keys[0]} out, or set it inside encoder"
        )


def embeddings_are_own(tied: str) -> None:
    """Source and target share an embedding where a Transformer has both."""
    if tied == "all":
        raise ValueError(
            "tied 'all' shares the target embedding with the Transformer's own encoder, and here it has another one; "
            "set tied to output or none"
        )


def window_is_odd(window: int) -> None:
    """A convolution reads as many neighbours on the left as on the right."""
    if window < 1 or window % 2 == 0:
        raise ValueError(f"window must be odd, as many neighbours on either side; got {window}")


def shifts_balance(shifts: int) -> None:
    """A head moves as many places back as forth."""
    if shifts < 1 or shifts % 2 == 0:
        raise ValueError(f"shifts must be odd, as many back as forth; got {shifts}")


def shifts_fit(shifts: int, rows: int) -> None:
    """The places that a head can move to are different ones."""
    if shifts > rows:
        raise ValueError(f"shifts are different places on the tape, so at most its {rows} rows; got {shifts}")


def draws_are_rewarded(kind: str) -> None:
    """Hard attention is of models that learn from every draw."""
    unrewarded = {
        "bidirectional": "draws of its second direction have no reward",
        "simple_attention": "the read before its first word has no reward",
    }
    if kind in unrewarded:
        raise ValueError(f"align 'hard' is not for {kind!r}: {unrewarded[kind]}")

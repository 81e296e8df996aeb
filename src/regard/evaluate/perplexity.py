"""Perplexity and its relatives, from a summed negative log-likelihood."""

from __future__ import annotations

import math

from regard.evaluate.metric_result import MetricResult, signature


def perplexity(negative_log_likelihood: float, count: int, *, unit: str = "token") -> MetricResult:
    r"""The inverse probability of a text, a geometric mean over its tokens: the branching factor of an equal guess.

    .. math:: \mathrm{PP}(W) = P(w_1 \dots w_N)^{-1/N} = \exp\Big(-\frac{1}{N} \sum_i \ln P(w_i \mid w_{<i})\Big)

    Args:
        negative_log_likelihood: −Σ ln P in nats, summed over everything that was predicted, each token given the *true*
            ones before it. Sum over all batches first: a mean of the perplexities of batches is another number.
        count: N, how many tokens were predicted: with the end of sentence, without padding.
        unit: what a token is, for the signature: perplexities over different units cannot be compared.

    Returns:
        Score; its value is infinite where the text has probability 0.

    The notes' Shannon game: operator, sales and support are asked for once in 4 calls each, 30,000 names share the
    fourth; the notes round 2^5.718 to 53.

    >>> entropy = 3 / 4 * math.log(4) + 1 / 4 * math.log(4 * 30_000)
    >>> print(perplexity(100 * entropy, 100, unit="call"))
    perplexity 52.65 (unit:call|context:true)
    """
    nats = nats_per_token(negative_log_likelihood, count)
    value = math.exp(nats) if nats < 700 else math.inf
    return MetricResult("perplexity", value, signature(unit=unit, context="true"), count)


def nats_per_token(negative_log_likelihood: float, count: int) -> float:
    """−Σ ln P / N: the cross-entropy in nats, whose exponential is the perplexity.

    >>> nats_per_token(30 * math.log(10), 30)   # ten equal digits
    2.303
    """
    if count < 1:
        raise ValueError(f"perplexity: the count of predicted tokens must be 1 or more; got {count}")
    if negative_log_likelihood < 0 or math.isnan(negative_log_likelihood):
        raise ValueError(
            f"perplexity: the summed negative log-likelihood must be 0 or more; got {negative_log_likelihood} "
            "(a sum of log-probabilities has the other sign)"
        )
    return negative_log_likelihood / count


def bits_per_character(negative_log_likelihood: float, characters: int) -> MetricResult:
    """−Σ log₂ P over the number of characters: comparable whatever the model's tokens are.

    Args:
        negative_log_likelihood: −Σ ln P in nats over all tokens, as for `perplexity`.
        characters: length of the same text in characters, with the line ends if they are predicted.

    Returns:
        Score.

    >>> print(bits_per_character(1.48 * 1000, 1000))   # nats become bits
    bits per character 2.135 (unit:character|context:true)
    """
    bits = nats_per_token(negative_log_likelihood, characters) / math.log(2)
    return MetricResult("bits per character", bits, signature(unit="character", context="true"), characters)


def bits_per_sequence(negative_log_likelihood: float, sequences: int) -> MetricResult:
    """−Σ log₂ P over the number of sequences: what Graves, Wayne & Danihelka 2014 call the cost.

    Args:
        negative_log_likelihood: −Σ ln P in nats over all bits that were asked for.
        sequences: how many there were.

    Returns:
        Score.

    >>> print(bits_per_sequence(10 * 20 * math.log(2), 10))   # ten sequences of twenty guesses
    bits per sequence 20.00 (unit:sequence)
    """
    bits = nats_per_token(negative_log_likelihood, sequences) / math.log(2)
    return MetricResult("bits per sequence", bits, signature(unit="sequence"), sequences)

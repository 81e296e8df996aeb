"""Models that predict words from encoder states: masked words, or each word from its left and right context."""

from __future__ import annotations

import abc
from typing import Annotated, Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.arguments import Choice, checked
from regard.constraints import directions_apart
from regard.models.encoded import Encoded, width_of
from regard.models.model_output import ModelOutput


class WordFiller(nn.Module, abc.ABC):
    r"""Word prediction head over the states of an encoder.

    .. math:: p(w_t) = \mathrm{softmax}(E\, \mathrm{norm}(\mathrm{gelu}(W h_t + b)) + c)

    E is the tied word embedding; W maps states to its width.

    Args:
        encoder: encoder of the text, with its embedding as `words.table`.
    """

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        table: Any = getattr(encoder, "words").table  # noqa: B009, present in all supported encoders
        self.word_map = nn.Linear(width_of(self, encoder), table.embedding_dim)
        self.word_norm = nn.LayerNorm(table.embedding_dim)
        self.output_map = nn.Linear(table.embedding_dim, table.num_embeddings)
        nn.init.zeros_(self.output_map.bias)
        self.output_map.weight = table.weight

    @abc.abstractmethod
    def states(self, text: Tensor, lengths: Tensor | None) -> Tensor:
        """Return the state [B, T, C] that predicts each word."""

    def forward(self, text: Tensor, lengths: Tensor | None = None, chosen: Tensor | None = None) -> ModelOutput:
        """Words [B, T], `lengths` [B] -> logits [B, T, V], or [N, V] for the N True positions in `chosen` [B, T]."""
        states = self.states(text, lengths)
        # Selected before the output layer, which is by far the most expensive part with a large vocabulary.
        states = states if chosen is None else states[chosen]  # [B, T, C] or [N, C]
        logits: Tensor = self.output_map(self.word_norm(F.gelu(self.word_map(states))))
        return ModelOutput(logits)


class MaskedLM(WordFiller):
    """Masked language model over any encoder: predicts each masked word from its state.

    A bidirectional RNN sees the target unless it is masked in the input. Selected words that stay unchanged teach it to
    copy, so their fraction should be small. A forward RNN sees only the preceding words.

    Args:
        encoder: encoder of the text, by `kind` and its arguments in a recipe. BERT's own heads are `kind: bert`.

    Devlin et al. 2019, section 3.1, for the objective and the head.

    >>> from regard.models import RecurrentEncoder
    >>> model = MaskedLM(RecurrentEncoder(11, embedding_dim=3, hidden_dim=6, bidirectional=True))
    >>> text = torch.tensor([[5, 4, 7], [4, 8, 0]])                       # 4 is the mask
    >>> model(text, torch.tensor([3, 2])).logits.shape, model(text, torch.tensor([3, 2]), text == 4).logits.shape
    (torch.Size([2, 3, 11]), torch.Size([2, 11]))
    """

    @checked()
    def __init__(
        self, encoder: Annotated[nn.Module, Choice("encoder", only=("rnn", "lstmn", "conv", "transformer"))]
    ) -> None:
        super().__init__(encoder)

    def states(self, text: Tensor, lengths: Tensor | None) -> Tensor:
        encoded: Encoded = self.encoder(text, lengths)
        return encoded.states


class MiddleWord(WordFiller):
    r"""Predicts each word from both sides: the forward state before it, and the backward state after it.

    .. math:: p(w_t \mid w_{<t}, w_{>t}) = \mathrm{softmax}(E\, f([\overrightarrow{h}_{t-1}; \overleftarrow{h}_{t+1}]))

    No word is masked, and all positions are predicted in parallel, because neither state depends on w_t. This holds for
    one layer only: a second layer would receive both directions of the first, and thus the word itself.

    Args:
        encoder: bidirectional recurrent encoder of one layer.

    States beyond the ends of a text are zero. f is the head of BERT (see `WordFiller`).

    After the "biRNN: predict the middle words" of the lecture notes; Mousa & Schuller 2017, "Contextual Bidirectional
    Long Short-Term Memory Recurrent Neural Network Language Models"; the shift is that of Peters et al. 2017, whose two
    directions predict separately.

    >>> from regard.models import RecurrentEncoder
    >>> model = MiddleWord(RecurrentEncoder(11, embedding_dim=3, hidden_dim=6, bidirectional=True)).eval()
    >>> one, other = torch.tensor([[5, 6, 7]]), torch.tensor([[5, 9, 7]])
    >>> torch.equal(model(one).logits[:, 1], model(other).logits[:, 1])    # the word in the middle is not read
    True
    """

    @checked(directions_apart)
    def __init__(self, encoder: Annotated[nn.Module, Choice("encoder", only=("rnn",))]) -> None:
        super().__init__(encoder)

    def states(self, text: Tensor, lengths: Tensor | None) -> Tensor:
        encoded: Encoded = self.encoder(text, lengths)
        before, behind = encoded.states.chunk(2, dim=2)
        if lengths is not None:  # there is no backward state after the last word
            inside = torch.arange(text.shape[1], device=text.device) < lengths.to(text.device).unsqueeze(1)
            behind = behind.masked_fill(~inside.unsqueeze(2), 0.0)
        # Forward states move one position right, backward states one left, so that position t excludes w_t.
        return torch.cat((F.pad(before[:, :-1], (0, 0, 1, 0)), F.pad(behind[:, 1:], (0, 0, 0, 1))), dim=2)

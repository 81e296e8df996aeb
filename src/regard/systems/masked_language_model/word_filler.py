"""Models that fill in words by the states of any encoder: hidden words, or the word between two directions."""

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
    r"""A head for words over the states of an encoder.

    .. math:: p(w_t) = \mathrm{softmax}(E\, \mathrm{norm}(\mathrm{gelu}(W h_t + b)) + c)

    E is the embedding of the words (tied), so W maps states to its width.

    Args:
        encoder: encoder of the text, with its embedding as `words.table`.
    """

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        table: Any = getattr(encoder, "words").table  # noqa: B009, of the encoders below
        self.word_map = nn.Linear(width_of(self, encoder), table.embedding_dim)
        self.word_norm = nn.LayerNorm(table.embedding_dim)
        self.output_map = nn.Linear(table.embedding_dim, table.num_embeddings)
        nn.init.zeros_(self.output_map.bias)
        self.output_map.weight = table.weight

    @abc.abstractmethod
    def states(self, text: Tensor, lengths: Tensor | None) -> Tensor:
        """Return what each word is predicted from, [B, T, C]."""

    def forward(self, text: Tensor, lengths: Tensor | None = None, chosen: Tensor | None = None) -> ModelOutput:
        """Words [B, T] of true `lengths` [B] -> logits [B, T, V]; of those `chosen` [B, T] alone, N in all, [N, V]."""
        states = self.states(text, lengths)
        states = states if chosen is None else states[chosen]
        logits: Tensor = self.output_map(self.word_norm(F.gelu(self.word_map(states))))
        return ModelOutput(logits)


class MaskedLM(WordFiller):
    """Masked language model over any encoder: each hidden word from its state.

    A bidirectional RNN sees the word that it is to predict, unless it is hidden in the input: of the selected words
    those that stay teach it to copy, which is why they are few. A forward RNN knows only the words before.

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
    r"""Each word from both sides: the forward state before it, and the backward state behind it.

    .. math:: p(w_t \mid w_{<t}, w_{>t}) = \mathrm{softmax}(E\, f([\overrightarrow{h}_{t-1}; \overleftarrow{h}_{t+1}]))

    No word is hidden, and all are predicted in one pass: neither state has read w_t. That holds for one layer; a second
    one would read both directions of the first, and through them the word itself.

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
        if lengths is not None:  # no backward state behind the last word
            inside = torch.arange(text.shape[1], device=text.device) < lengths.to(text.device).unsqueeze(1)
            behind = behind.masked_fill(~inside.unsqueeze(2), 0.0)
        return torch.cat((F.pad(before[:, :-1], (0, 0, 1, 0)), F.pad(behind[:, 1:], (0, 0, 0, 1))), dim=2)

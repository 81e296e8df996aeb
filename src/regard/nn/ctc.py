"""Connectionist temporal classification: loss, alignment and attention of labels to frames."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.nn.attention_module import CapturableModule
from regard.nn.checks import mapped
from regard.ops.attended import Attended
from regard.ops.ctc import CTCAlignment, ctc_alignment, ctc_attention, ctc_lengths, ctc_losses
from regard.ops.softmax import statistics_dtype


class CTC(CapturableModule):
    r"""CTC over a linear map from frames to symbols; each label attends to frames by its posterior alignment.

    .. math:: p(v \mid x_t) = \mathrm{softmax}(W x_t + b)_v, \quad
              -\log p(y \mid x) = -\log \sum_{\pi : \mathrm{collapse}(\pi) = y} \prod_t p(\pi_t \mid x_t)

    Args:
        input_dim: width C of a frame of the encoder.
        num_labels: V, number of symbols including the blank.
        blank: index of the blank symbol.

    Parameters: `label_map` W, b.

    Shapes: frames [B, T, C], targets [B, U] -> context [B, U, C], weights [B, U, T].

    Graves, Fernández, Gomez & Schmidhuber 2006; see `regard.ops.ctc_alignment`.

    >>> ctc = CTC(input_dim=5, num_labels=4)
    >>> frames, targets = torch.randn(2, 11, 5), torch.tensor([[1, 3, 3], [2, 0, 0]])
    >>> out = ctc(frames, targets, target_lengths=torch.tensor([3, 1]))
    >>> out.context.shape, out.weights().shape
    (torch.Size([2, 3, 5]), torch.Size([2, 3, 11]))
    """

    def __init__(self, input_dim: int, num_labels: int, *, blank: int = 0) -> None:
        super().__init__()
        if not 0 <= blank < num_labels:
            raise ValueError(f"CTC: blank={blank} is not one of {num_labels} symbols")
        self.blank = blank
        self.label_map = nn.Linear(input_dim, num_labels)

    def log_probs(self, frames: Tensor) -> Tensor:
        """log p(symbol | frame): [B, T, C] -> [B, T, V], in float32 for half precision."""
        logits = mapped(self, self.label_map, frames, "frames")
        return logits.to(statistics_dtype(logits.dtype)).log_softmax(-1)

    def alignment(
        self,
        frames: Tensor,
        targets: Tensor,
        input_lengths: Tensor | None = None,
        target_lengths: Tensor | None = None,
    ) -> CTCAlignment:
        """Return the likelihood of the transcripts and the posterior of their alignments."""
        return ctc_alignment(self.log_probs(frames), targets, input_lengths, target_lengths, blank=self.blank)

    def forward(
        self,
        frames: Tensor,
        targets: Tensor,
        input_lengths: Tensor | None = None,
        target_lengths: Tensor | None = None,
    ) -> Attended:
        """Read the frames of each label.

        Args:
            frames: [B, T, C].
            targets: [B, U]; padding values are ignored.
            input_lengths: [B], numbers of frames; None for T.
            target_lengths: [B], numbers of labels; None for U.

        Returns:
            Attended with context [B, U, C] and weights [B, U, T].
        """
        read = ctc_attention(self.log_probs(frames), frames, targets, input_lengths, target_lengths, blank=self.blank)
        return self.show(read.replace(context=read.context.squeeze(1), has_heads=False, state=None))

    def loss(
        self,
        frames: Tensor,
        targets: Tensor,
        input_lengths: Tensor | None = None,
        target_lengths: Tensor | None = None,
    ) -> Tensor:
        """Return the mean of -log p(y | x), computed by PyTorch's fused kernel; impossible transcripts count as 0."""
        log_probs = self.log_probs(frames)
        lengths = ctc_lengths(log_probs, targets, input_lengths, target_lengths, blank=self.blank)
        return ctc_losses(log_probs, targets, *lengths, blank=self.blank).mean()

    @torch.no_grad()
    def greedy(self, frames: Tensor, input_lengths: Tensor | None = None) -> list[list[int]]:
        """Decode the best path: the best symbol per frame, repeats merged, then blanks removed.

        It is not always the most probable transcript, whose probability is a sum over paths.
        """
        path = self.log_probs(frames).argmax(-1)
        first = F.pad(path[:, 1:] != path[:, :-1], (1, 0), value=True)
        keep = first & (path != self.blank)
        if input_lengths is not None:
            keep &= torch.arange(path.shape[1], device=path.device) < input_lengths.to(path.device).unsqueeze(1)
        return [row[chosen].tolist() for row, chosen in zip(path, keep, strict=True)]

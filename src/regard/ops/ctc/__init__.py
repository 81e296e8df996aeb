"""Connectionist temporal classification (Graves et al. 2006)."""

from regard.ops.ctc.reference import CARD, CTCAlignment, ctc_alignment, ctc_attention, ctc_lengths, ctc_losses

__all__ = ["CARD", "CTCAlignment", "ctc_alignment", "ctc_attention", "ctc_lengths", "ctc_losses"]

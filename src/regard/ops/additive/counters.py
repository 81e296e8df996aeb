"""Counters on a GPU that are zero before every launch, and that its last program leaves at zero.

Zeros cost a launch of their own, a fifth of the time of a short read. So they are made once: for each stream, whose
launches follow each other, and for each call that is being captured, which may be replayed beside any other.
"""

from __future__ import annotations

import torch
from torch import Tensor

_ROOM = 1 << 16

_of_streams: dict[tuple[torch.device, int], Tensor] = {}
_reserves: dict[torch.device, Tensor] = {}


def counters(count: int, device: torch.device) -> Tensor:
    """At least `count` zeros in int32, for the current stream or for the call that is captured."""
    if torch.cuda.is_current_stream_capturing():
        return _captured(count, device)
    if device not in _reserves:  # what is captured was run before
        _reserves[device] = torch.zeros(_ROOM, dtype=torch.int32, device=device)
        torch.cuda.synchronize(device)
    place = device, torch.cuda.current_stream(device).cuda_stream
    if place not in _of_streams or len(_of_streams[place]) < count:
        _of_streams[place] = torch.zeros(max(count, 1024), dtype=torch.int32, device=device)
    return _of_streams[place]


def _captured(count: int, device: torch.device) -> Tensor:
    """A part of the reserve that nobody else gets, or zeros that are made in every replay."""
    reserve = _reserves.get(device)
    if reserve is None or len(reserve) < count:
        return torch.zeros(count, dtype=torch.int32, device=device)
    _reserves[device] = reserve[count:]
    return reserve[:count]

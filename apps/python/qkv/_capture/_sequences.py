"""Which tokens the queries and keys of a call are: the ids that the model was given, forward after forward."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ._watch import Frame


class Sequences:
    """The ids [B,T] that the model has read so far; a forward may go on from there, or begin again with the same."""

    def __init__(self, named: tuple[int, int] | None) -> None:
        self.ids: Tensor | None = None
        self.named = named  # (B,T) of tokens that the caller names, however many ids the model is given

    def place(self, frame: Frame, is_cross: bool, sizes: tuple[int, int, int], offset: int | None) -> int | None:
        """Which token query 0 of a call is, where key j is token j; None where that is not so. sizes: (B, Tq, Tk)."""
        batch, queries, keys = sizes
        if is_cross:
            return None
        ids = frame.token_ids()
        if ids is None:
            return 0 if queries == keys and (batch, keys) == self.named else None
        if tuple(ids.shape) != (batch, queries):
            return None
        start = keys - queries if offset is None else offset  # a cache of fixed size has room behind the newest key
        if "start" not in frame.notes and self._goes_on(ids, start):
            frame.notes["start"] = start
        if self.named is not None and (batch != self.named[0] or start + queries > self.named[1]):
            return None
        return start if frame.notes.get("start") == start else None

    def _goes_on(self, ids: Tensor, start: int) -> bool:
        ids = ids.detach().cpu()
        if self.ids is None:
            if start == 0:
                self.ids = ids.clone()
            return start == 0
        known = self.ids.shape[1]
        shared = min(known - start, ids.shape[1])
        if start not in (0, known) or ids.shape[0] != self.ids.shape[0]:
            return False
        if not torch.equal(self.ids[:, start:start + shared], ids[:, :shared]):
            return False  # another text
        self.ids = torch.cat((self.ids, ids[:, shared:]), 1)
        return True

    def lists(self) -> list[list[int]] | None:
        found: Any = None if self.ids is None else self.ids.tolist()
        return found

"""Dense masks that say causal, a window or padding and nothing else, as those options: hidden tiles are then not read.

A model makes one mask for all of its layers, with Tq·Tk elements; to compare it with what it seems to be takes a small
part of what attention takes.
"""

from __future__ import annotations

import threading
from typing import Any

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

SMALLEST = 1 << 14  # elements below which a mask is used as it is

Options = dict[str, Any]


class _Known(threading.local):
    """What masks have turned out to be: to (version, tokens, options)."""

    def __init__(self) -> None:
        self.masks = WeakIdKeyDictionary()


_known = _Known()


def options_of(mask: Tensor, batch: int, queries: int, keys: int) -> Options | None:
    """The options that hide exactly the keys that a boolean or floating mask hides, which broadcasts to [B,H,Tq,Tk].

    causal, offset, window and key_mask; None where the mask says more than that, or is too small to matter.
    """
    if torch.compiler.is_compiling() or mask.requires_grad or queries * keys < SMALLEST or queries == 1:
        return None
    if not 2 <= mask.ndim <= 4 or mask.shape[-2:] != (queries, keys) or (mask.ndim > 2 and mask.shape[-3] != 1):
        return None
    if mask.is_inference():  # which does not say when it is written to
        found = _compact(mask[(None,) * (4 - mask.ndim)][:, 0])
    else:
        version, found = _known.masks.get(mask, (None, None))
        if version != mask._version:
            found = _compact(mask[(None,) * (4 - mask.ndim)][:, 0])
            _known.masks[mask] = mask._version, found
    if found is not None and "key_mask" in found:
        found = found | {"key_mask": found["key_mask"].expand(batch, keys)}
    return found


@torch.no_grad()
def _compact(mask: Tensor) -> Options | None:
    """Of a mask [B or 1,queries,keys]."""
    _, queries, keys = mask.shape
    seen = mask if mask.dtype == torch.bool else mask == 0
    ever = seen.any(1)
    options: Options = {} if bool(ever.all()) else {"key_mask": ever}
    expected = ever[:, None]
    if not torch.equal(seen[:, 0], seen[:, -1]):
        offset, left = _positions(seen, ever)
        distance = torch.arange(keys) - torch.arange(offset, offset + queries)[:, None]
        band = (distance <= 0) if left is None else (distance <= 0) & (distance >= -left)
        options |= {"causal": True, "offset": offset} | ({} if left is None else {"window": (left, 0)})
        if bool((band.any(0) <= ever).all()):  # keys that no query ever sees are the future's, not padding
            options.pop("key_mask", None)
            expected = band[None]
        else:
            expected = band & expected
    if mask.dtype == torch.bool:
        return options if bool((mask == expected).all()) else None
    if not bool(torch.where(expected, mask == 0, mask <= torch.finfo(mask.dtype).min).all()):
        return None
    # A row that finite numbers hide as a whole is the mean of v; one that is masked is 0.
    return options if bool((expected.any(-1) | mask.amax(-1).isneginf()).all()) else None


def _positions(seen: Tensor, ever: Tensor) -> tuple[int, int | None]:
    """Where query 0 stands, and how far back a query sees (None: to the first key), if the mask is causal.

    Told by three rows; padding hides keys on the left of one and on the right of another.
    """
    queries = seen.shape[1]
    rows = (0, queries // 2, queries - 1)
    offset = max((int(keys[-1]) - row for row in rows for keys in _keys_of(seen[:, row])), default=0)
    pairs = [(int(keys[0]), int(all_keys[0])) for keys, all_keys in zip(_keys_of(seen[:, -1]), _keys_of(ever))]
    if all(first <= first_of_all for first, first_of_all in pairs):
        return offset, None
    return offset, queries - 1 + offset - min(first for first, _ in pairs)


def _keys_of(seen: Tensor) -> list[Tensor]:
    """The numbers of the keys that are seen, for each batch entry that sees one."""
    return [keys for keys in (row.nonzero().flatten() for row in seen) if len(keys)]

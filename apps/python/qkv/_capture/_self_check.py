"""The self-check: rows of every call are recomputed from what was captured, and held to what the model returned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .._attention import attention, trace
from ._fields import CaptureError
from ._record import Error
from ._terms import Terms

ROWS = 8  # of a call that are recomputed
_SHARE_OF_V = {torch.float32: 1e-4, torch.float64: 1e-9}  # of a head's largest |v|: what is allowed

Floats = np.ndarray[Any, np.dtype[np.float64]]
Options = dict[str, Any]


@dataclass(frozen=True)
class Picked:
    """The tensors of a call that go into the file: picked heads, KV heads once. `o` is the model's own [B,H,R,Dv]."""

    q: Tensor
    k: Tensor
    v: Tensor
    o: Tensor
    rows: list[int]
    groups: list[tuple[int, list[int]]]  # (KV head, its query heads)


def rows_of(queries: int) -> list[int]:
    """Spread over the call, first and last among them."""
    return sorted({round(i * (queries - 1) / (ROWS - 1)) for i in range(ROWS)}) if queries else []


def recomputed(picked: Picked, terms: Terms) -> tuple[Floats, Floats]:
    """o of the rows in float64, [B,H,R,Dv], and their lse [B,H,R]."""
    o, lse = np.zeros(tuple(picked.o.shape)), np.zeros(tuple(picked.o.shape[:3]))
    for heads, place, (q, k, v), options in _problems(picked, terms):
        found, sums = attention(q, k, v, return_lse=True, **options)
        o[:, heads, place], lse[:, heads, place] = found[:, :, 0], sums[:, :, 0]
    return o, lse


def _problems(picked: Picked, terms: Terms) -> Iterator[tuple[list[int], int, tuple[Floats, ...], Options]]:
    """(query heads, place of the row, (q, k, v) in float64, options): one query of the heads that read one KV head."""
    for kv_head, heads in picked.groups:
        k, v = (_float64(x[:, kv_head:kv_head + 1]) for x in (picked.k, picked.v))
        own = terms.of_heads(heads)
        for place, row in enumerate(picked.rows):
            yield heads, place, (_float64(picked.q[:, heads, row:row + 1]), k, v), own.options_of_row(row)


def _float64(x: Tensor) -> Floats:
    return x.detach().double().cpu().numpy()


def seeing(picked: Picked, terms: Terms) -> Picked:
    """Without rows that see no key where the model's mask is a finite number: o is 0 here, and a mean of v there."""
    if not terms.finite:
        return picked
    empty = np.isneginf(recomputed(picked, terms)[1]).any((0, 1))
    places = [place for place in range(len(picked.rows)) if not empty[place]]
    if not places:
        raise CaptureError("hides all keys of a sequence by a finite number, which makes its o a mean of v: capture "
                           "the sequences of the batch one at a time")
    return replace(picked, rows=[picked.rows[place] for place in places], o=picked.o[:, :, places])


def check(picked: Picked, terms: Terms, hints: dict[str, Any]) -> Error:
    """The error of the head that is nearest to what is allowed. Raises CaptureError, with the likely term, above it."""
    if picked.o.numel() == 0:
        return Error(0.0, 0.0)
    exact = recomputed(picked, terms)[0]
    errors, allowed = _off(picked, exact), _allowed(picked, terms, exact)
    if bool((errors <= allowed).all()):
        worst = int(np.divide(errors, allowed, out=np.zeros_like(errors), where=allowed > 0).argmax())
        return Error(float(errors[worst]), float(allowed[worst]))
    if not (bool(torch.isfinite(picked.o).all()) and np.isfinite(exact).all()):  # PyTorch makes 0 of a row of NaN
        raise CaptureError("the model's own q, k, v or o has NaN or Inf: there is nothing to hold the capture to")
    worst = int(np.argmax(errors - allowed))
    raise CaptureError(
        f"o recomputed from q, k and v is {errors[worst]:.2g} off what the model returned, where {allowed[worst]:.2g} "
        f"is allowed ({str(picked.o.dtype).removeprefix('torch.')}): {_likely(picked, terms, allowed, hints)}")


def _off(picked: Picked, exact: Floats) -> Floats:
    """[H]: the largest |o − o′| of each head; inf for NaN, which is near to nothing."""
    off = np.abs(exact - _float64(picked.o))
    return np.where(np.isnan(off), np.inf, off).max((0, 2, 3))


def _allowed(picked: Picked, terms: Terms, exact: Floats) -> Floats:
    """[H]. float32: 1e-4 of the head's largest |v|; float64: 1e-9 of it. Half types: twice the error of the plain
    computation, which rounds scores and weights to the type, and 4 ulp of the largest |v|."""
    largest = np.zeros(picked.o.shape[1])
    for kv_head, heads in picked.groups:
        largest[heads] = float(picked.v[:, kv_head].abs().max()) if picked.v.numel() else 0.0
    narrow = min((picked.q.dtype, picked.o.dtype), key=lambda dtype: torch.finfo(dtype).bits)
    if narrow in _SHARE_OF_V:
        return largest * _SHARE_OF_V[narrow]
    return 2 * _plain_errors(picked, terms, exact, narrow) + 4 * torch.finfo(narrow).eps * largest


def _plain_errors(picked: Picked, terms: Terms, exact: Floats, dtype: torch.dtype) -> Floats:
    """[H]: what rounding does to the rows where scores and weights are written out in the type."""
    errors = np.zeros(picked.o.shape[1])
    for heads, place, (q, k, v), options in _problems(picked, terms):
        q, k, v = (torch.from_numpy(x).to(dtype) for x in (q, k, v))
        scores = q @ k.transpose(2, 3) * terms.scale
        if terms.softcap is not None:
            scores = torch.tanh(scores / terms.softcap) * terms.softcap
        scores = (scores + _added(scores, options)).float()
        if terms.sinks is not None:
            sinks = torch.from_numpy(options["sinks"])[None, :, None, None].expand(len(q), -1, -1, -1)
            scores = torch.cat((scores, sinks), -1)
        p = torch.softmax(scores, -1)[..., :k.shape[2]].to(dtype).nan_to_num()
        off = (p @ v).double().numpy() - exact[:, heads, place:place + 1]
        errors[heads] = np.maximum(errors[heads], np.abs(off).max((0, 2, 3)))
    return errors


def _added(scores: Tensor, options: Options) -> Tensor:
    """What bias, slopes and masks add to scores: those of queries and keys that are all zero, by the reference."""
    batch, heads, queries, keys = scores.shape
    q, k = np.zeros((batch, heads, queries, 1)), np.zeros((batch, 1, keys, 1))
    return torch.from_numpy(trace(q, k, k, **options)["masked"]).to(scores.dtype)


def _likely(picked: Picked, terms: Terms, allowed: np.ndarray[Any, Any], hints: dict[str, Any]) -> str:
    for words, other in _suspects(picked, terms, hints):
        if bool((_off(picked, recomputed(picked, other)[0]) <= allowed).all()):
            return f"it is the same {words}"
    return ("no single term that is known explains it (scale, causal, window, padding, bias, softcap, sinks): its "
            "attention computes something beside softmax(q kᵀ) v")


def _suspects(picked: Picked, terms: Terms, hints: dict[str, Any]) -> list[tuple[str, Terms]]:
    """What may have been missed, in words that follow 'it is the same'."""
    queries, keys, width = picked.q.shape[2], picked.k.shape[2], picked.q.shape[3]
    device = picked.q.device
    found = []
    if hints.get("softcap"):
        found.append((f"with a softcap of {hints['softcap']}, which the model's config names and the call does not",
                      replace(terms, softcap=float(hints["softcap"]))))
    if terms.softcap is not None:
        found.append(("without the softcap that the call names", replace(terms, softcap=None)))
    if hints.get("sinks") is not None:
        found.append(("with the sinks of its module, which the call does not pass",
                      replace(terms, sinks=hints["sinks"].detach().float().to(device))))
    if terms.sinks is not None:
        found.append(("without the sinks that the call names", replace(terms, sinks=None)))
    window = hints.get("window")
    if window:
        for offset in dict.fromkeys((keys - queries, 0)):
            found.append((f"with a window of {window} keys, which the model's config names and its mask does not have",
                          replace(terms, causal=True, offset=offset, window=(int(window) - 1, 0))))
    for name, corner, offset in (("top left", "top_left", 0), ("bottom right", "bottom_right", keys - queries)):
        found.append((f"if it is causal with the corner at the {name}, which nothing in the call says",
                      replace(terms, causal=True, corner=corner, offset=offset)))
    if terms.causal:
        found.append(("without causality", replace(terms, causal=False, corner=None, offset=None, window=None)))
    if terms.key_mask is not None:
        found.append(("without the padding mask", replace(terms, key_mask=None)))
    if terms.bias is not None:
        found.append(("without the bias", replace(terms, bias=None)))
    for words, scale in (("1", 1.0), ("1/√D", width**-0.5), ("1/D", 1 / width)):
        found.append((f"with the scale {words} instead of {terms.scale:.4g}", replace(terms, scale=scale)))
    return found


def hints_of(module: Any, heads: list[int] | None) -> dict[str, Any]:
    """What a module of Hugging Face or its config names that its call may not pass; sinks of the picked heads."""
    config, sinks = getattr(module, "config", None), getattr(module, "sinks", None)
    return {"softcap": getattr(config, "attn_logit_softcapping", None),
            "sinks": sinks if sinks is None or heads is None else sinks[heads],
            "window": getattr(module, "sliding_window", None) or getattr(config, "sliding_window", None)}

"""Whether an implementation is right, and if not, which mistake it makes:
how it is called.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _arrays, _core
from ._attention import attention
from ._operations import OPERATIONS
from ._report import Report

_POSITIONS = ("corner", "offset")


def check(
    fn: Callable[..., Any],
    *,
    operation: str = "attention",
    arrays: str | None = None,
    dtype: Any = "float32",
    backward: bool | None = None,
    corner: str | None = None,
    accept: Sequence[str] = (),
    quick: bool = False,
    seed: int = 0,
    progress: Callable[[int, int], Any] | None = None,
) -> Report:
    """Is an implementation of attention right, and if not, what is wrong?

        def mine(q, k, v, causal=False, scale=None):
            ...
            return o

        report = qkv.check(mine)
        print(report)      # WRONG: equals attention with the scale
                           # applied twice; 39 of 41 probes fail ...

    fn            called as fn(q, k, v, **options) with q [B,Hq,Tq,D], k
                  [B,Hkv,Tk,D] and v [B,Hkv,Tk,Dv], some of them strided.
                  The options are those of `attention` by its names, each
                  only where a problem has it; masks, lengths, slopes and
                  sinks are arrays, return_lse is asked for where fn takes
                  it. A problem with an option that fn does not take counts
                  as refused, and so does one for which it raises
                  NotImplementedError; every other exception is a finding.
                  It returns o, (o, lse), or a dict with o and any of lse,
                  dq, dk, dv, dbias, dsinks
    operation     what fn computes:
                  "attention": as above
                  "decode": fn(q, k, v, k_cache, v_cache, cache_lengths,
                  **options): q [B,Hq,t,D] attends to the cache_lengths[b]
                  tokens that k_cache [B,Hkv,Tk,D] and v_cache hold and to
                  the t new ones k, v [B,Hkv,t,D], causally. They belong
                  into the slots behind the old ones: written there in
                  place, or into the k_cache and v_cache of a returned dict;
                  caches that come back unchanged are not judged
                  "layer": fn(x, **parameters): x [B,T,C] and wq wk wv bq bk
                  bv (or wqkv bqkv), wo bo, gamma beta eps, query_heads
                  kv_heads, shapes as in `layer`, each only where a problem
                  has it, and the options of its attention. It returns y, or
                  a dict with y and, given d_y, dx, dwq ...
                  "layernorm": fn(x, gamma, beta, eps) likewise, all but x
                  by name
    arrays        "numpy", "torch" or "jax": what fn takes and returns; what
                  fn.arrays says if not given, else "numpy"
    dtype         of q, k and v: float64, float32, float16 or bfloat16
    backward      ask for gradients. fn then takes d_o (d_lse too, or that
                  problem is refused) and returns them in its dict; of a
                  torch or jax function that takes no d_o the library's own
                  gradients are taken. If not given: whether fn takes d_o
                  (d_y of a layer)
    corner        "top_left" or "bottom_right": what causal and window mean
                  to a function that takes neither corner nor offset, where
                  Tq and Tk differ. If not given, it is found out by one
                  question
    accept        names of policies that count as right, such as
                  "empty_row_nan" (`qkv check --mistakes` lists them)
    quick         fewer problems: every option alone, and no pairs
    seed          of the numbers
    progress      called with (done, total) after each problem

    Raises TypeError and ValueError for arguments that do not fit, never for
    what fn does.
    Numerics: against float64 under the bounds of docs/semantics.md; a run
    whose bounds a fake would pass too says that it cannot judge.
    """
    if not callable(fn):
        raise TypeError(f"fn is a {type(fn).__name__}; expected a function of q, k, v")
    if operation not in OPERATIONS:
        raise ValueError(f"operation '{operation}' is unknown; expected some of {', '.join(OPERATIONS)}")
    library = _arrays.library(arrays or getattr(fn, "arrays", "numpy"))
    like = np.empty(0, dtype=_arrays.dtype(dtype))
    library.admit(like.dtype)
    question = _Question(fn, operation, library, like.dtype, corner)
    if backward and operation == "decode":
        raise ValueError("a decode step has no gradient; leave backward out")
    if backward is None:
        backward = question.operation.upstream in question.parameters and operation != "decode"
    report = _core.check(_name_of(fn), question, (like, seed, backward, quick, accept, progress, operation))
    return Report(json.loads(report))


def _name_of(fn: Callable[..., Any]) -> str:
    return str(getattr(fn, "__name__", None) or type(fn).__name__)


class _Question:
    """Asks one problem: what the C++ part calls with a dict of arguments; returns (end, message, outputs)."""

    def __init__(
        self,
        fn: Callable[..., Any],
        operation: str,
        library: _arrays.Library,
        dtype: np.dtype[Any],
        corner: str | None,
    ) -> None:
        self.fn = fn
        self.operation = OPERATIONS[operation]
        self.library = library
        self.dtype = dtype
        self.parameters = _parameters_of(fn)
        self.takes_any = any(one.kind is one.VAR_KEYWORD for one in self.parameters.values())
        if corner not in (None, "top_left", "bottom_right"):
            raise ValueError(f"corner '{corner}' is unknown; expected 'top_left' or 'bottom_right'")
        knows_positions = any(self.takes(name) for name in _POSITIONS)
        if corner is not None and knows_positions:
            raise ValueError("fn takes corner or offset itself; leave corner out")
        self.corner = corner
        if corner is not None and operation != "attention":
            raise ValueError(f"corner is a question of attention, not of {operation}")
        if corner is None and not knows_positions and self.takes("causal") and operation == "attention":
            self.corner = self.find_corner()

    def takes(self, name: str) -> bool:
        return self.takes_any or name in self.parameters

    def __call__(self, given: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
        upstream = self.operation.upstream
        first, options = {name: given.pop(name) for name in self.operation.positional}, given
        if not self.takes("return_lse"):
            options.pop("return_lse", None)
        if self.corner is not None and options.get("corner") == self.corner:
            del options["corner"]
        differentiated = upstream in options and not self.takes(upstream) and self.library.gradients is not None
        if differentiated and "d_lse" in options:
            return "refused", "the gradient of lse is not asked of a library's own gradients", {}
        for name in options:
            if not self.takes(name) and not (differentiated and name == upstream):
                return "refused", f"it takes no {name}", {}
        try:
            return self.answer(first | options, differentiated)
        except NotImplementedError as error:
            return "refused", str(error), {}
        except Exception as error:  # whatever it is, it is what fn did
            return "failed", f"it raised {type(error).__name__}: {error}".split("\n")[0], {}

    def answer(self, arguments: dict[str, Any], differentiated: bool) -> tuple[str, str, dict[str, Any]]:
        if differentiated:
            outputs = self.library.gradients(self.fn, self.operation, arguments)
        else:
            outputs = self.operation.call(self.fn, self.library.given(arguments))
        unknown = [name for name in outputs if name not in self.operation.names]
        if unknown:
            return "failed", f"it gave '{unknown[0]}'; expected some of {', '.join(self.operation.names)}", {}
        missing = [name for name in self.expected(arguments) if outputs.get(name) is None]
        if missing:
            return "failed", f"it gave no {missing[0]}", {}
        return "answered", "", {name: self.library.taken(out) for name, out in outputs.items() if out is not None}

    def expected(self, arguments: dict[str, Any]) -> tuple[str, ...]:
        operation = self.operation
        if operation.upstream not in arguments:
            return (operation.result,)
        wanted = [name for name in operation.differentiable if name in arguments and name not in ("bias", "sinks")]
        return (operation.result, *(f"d{name}" for name in wanted))

    def find_corner(self) -> str:
        """The corner whose attention is nearer to fn's own on one problem;
        top_left if it answers none.
        """
        rng = np.random.default_rng(0)
        q, k, v = (rng.standard_normal((1, 1, n, 4)).astype(self.dtype) for n in (2, 5, 5))
        end, _, outputs = self({"q": q.copy(), "k": k.copy(), "v": v.copy(), "causal": True})
        if end != "answered" or tuple(getattr(outputs["o"], "shape", ())) != q.shape:
            return "top_left"
        o = _arrays.as_float64(outputs["o"])
        q, k, v = (x.astype(np.float64) for x in (q, k, v))
        errors = {corner: np.abs(o - attention(q, k, v, causal=True, corner=corner)).max()
                  for corner in ("top_left", "bottom_right")}
        return min(errors, key=lambda corner: errors[corner])


def _parameters_of(fn: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """By name; none for a function that tells none (some of those that are written in C)."""
    try:
        parameters = inspect.signature(fn).parameters
    except (TypeError, ValueError):
        return {}
    return {name: one for name, one in parameters.items() if one.kind is not one.POSITIONAL_ONLY}

"""One row of the benchmark: its problem line, its tensors, and what float64 says about some of its rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

WHOLE_HEAD = 2048 * 2048  # pairs up to which the gradients of k and v are checked: float64 needs all of a head for them


@dataclass(frozen=True)
class Problem:
    """The words of a problem line that the peers know; see include/qkv/problem.h."""

    line: str
    batch: int
    query_heads: int
    kv_heads: int
    query_length: int
    key_length: int
    width: int
    value_width: int
    causal: bool
    left: int  # window to the left, -1: open
    dtype: str

    @property
    def pairs(self) -> float:
        """Visible (query, key) pairs of a head."""
        if not self.causal:
            return self.query_length * self.key_length
        seen = np.arange(self.query_length) + 1 + self.key_length - self.query_length
        if self.left >= 0:
            seen = np.minimum(seen, self.left + 1)
        return float(np.clip(seen, 0, self.key_length).sum())

    @property
    def itemsize(self) -> int:
        return 2 if self.dtype in ("bf16", "f16") else 4


def parse_problem(line: str) -> Problem:
    """Raises ValueError for a word that no peer could be asked for."""
    words = line.split()
    if not words or words[0] != "attention":
        raise ValueError(f"expected 'attention' first, found {line!r}")
    numbers = {"B": (1, 1), "H": (1, 1), "T": (1, 1), "D": (1, 1)}
    causal, left, dtype = False, -1, "f32"
    for word in words[1:]:
        if match := re.fullmatch(r"([BHTD])(\d+)(?:[x/](\d+))?", word):
            first = int(match[2])
            numbers[match[1]] = (first, int(match[3] or first))
        elif word in ("causal", "causal=bottom_right"):
            causal = True
        elif match := re.fullmatch(r"window=(\d+),0", word):
            left = int(match[1])
        elif word in ("f32", "bf16"):
            dtype = word
        elif word not in ("backward", "lse"):
            raise ValueError(f"{line!r}: no peer is asked for {word!r}")
    return Problem(line, numbers["B"][0], *numbers["H"], *numbers["T"], *numbers["D"], causal, left, dtype)


@dataclass
class Case:
    """Float32 arrays [B,H,T,D] whose values the element type holds exactly, and sampled rows in float64."""

    problem: Problem
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    d_o: np.ndarray | None = None
    want: dict[str, list[tuple[tuple, np.ndarray]]] = field(default_factory=dict)  # tensor: (index, values)

    def error(self, got: dict[str, np.ndarray]) -> float:
        """The largest difference from float64 over the sampled rows of every tensor that was computed."""
        worst = 0.0
        for name, samples in self.want.items():
            for index, values in samples if name in got else []:
                difference = np.abs(got[name][index].astype(np.float64) - values)
                worst = max(worst, float(np.nan_to_num(difference, nan=np.inf).max()))
        return worst

    @property
    def tolerance(self) -> float:
        """Above it a result is wrong, whoever made it. Gradients of k and v sum over every query."""
        scale = 1.0 if self.d_o is None else 4.0
        return scale * (0.06 if self.problem.dtype == "bf16" else 1e-4)


def rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    """To the element type (nearest, ties to even) and back."""
    if dtype != "bf16":
        return values
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


def make_case(problem: Problem, with_gradients: bool = False, seed: int = 0) -> Case:
    random = np.random.default_rng(seed)
    p = problem

    def normal(*shape: int) -> np.ndarray:
        return rounded(random.standard_normal(shape, dtype=np.float32), p.dtype)

    case = Case(
        p,
        normal(p.batch, p.query_heads, p.query_length, p.width),
        normal(p.batch, p.kv_heads, p.key_length, p.width),
        normal(p.batch, p.kv_heads, p.key_length, p.value_width),
    )
    if with_gradients:
        case.d_o = normal(p.batch, p.query_heads, p.query_length, p.value_width)
    add_samples(case)
    return case


def weights(case: Case, batch: int, head: int, rows: np.ndarray) -> np.ndarray:
    """float64 weights [rows, Tk] of one head."""
    p = case.problem
    q = case.q[batch, head, rows].astype(np.float64)
    k = case.k[batch, head // (p.query_heads // p.kv_heads)].astype(np.float64)
    scores = q @ k.T / np.sqrt(p.width)
    if p.causal:
        position = rows[:, None] + p.key_length - p.query_length
        key = np.arange(p.key_length)[None, :]
        hidden = key > position
        if p.left >= 0:
            hidden |= key < position - p.left
        scores[hidden] = -np.inf
    scores -= scores.max(axis=1, keepdims=True)
    e = np.exp(scores)
    return e / e.sum(axis=1, keepdims=True)


def add_samples(case: Case) -> None:
    """o (and dq) of a few rows of the first and the last head; dk and dv of the first KV head if it is not too long."""
    p = case.problem
    rows = np.unique(np.linspace(0, p.query_length - 1, 24).astype(int))
    for batch, head in {(0, 0), (p.batch - 1, p.query_heads - 1)}:
        a = weights(case, batch, head, rows)
        kv_head = head // (p.query_heads // p.kv_heads)
        v = case.v[batch, kv_head].astype(np.float64)
        case.want.setdefault("o", []).append(((batch, head, rows), a @ v))
        if case.d_o is not None:
            ds = score_gradient(a, v, case.d_o[batch, head, rows].astype(np.float64))
            dq = ds @ case.k[batch, kv_head].astype(np.float64) / np.sqrt(p.width)
            case.want.setdefault("dq", []).append(((batch, head, rows), dq))
    if case.d_o is not None and p.query_length * p.key_length <= WHOLE_HEAD:
        add_key_gradients(case)


def score_gradient(a: np.ndarray, v: np.ndarray, d_o: np.ndarray) -> np.ndarray:
    dp = d_o @ v.T
    return a * (dp - (a * dp).sum(axis=1, keepdims=True))


def add_key_gradients(case: Case) -> None:
    p = case.problem
    every_row = np.arange(p.query_length)
    v = case.v[0, 0].astype(np.float64)
    dk, dv = np.zeros((p.key_length, p.width)), np.zeros((p.key_length, p.value_width))
    for head in range(p.query_heads // p.kv_heads):
        a = weights(case, 0, head, every_row)
        d_o = case.d_o[0, head].astype(np.float64)
        dv += a.T @ d_o
        dk += score_gradient(a, v, d_o).T @ case.q[0, head].astype(np.float64) / np.sqrt(p.width)
    keys = np.unique(np.linspace(0, p.key_length - 1, 24).astype(int))
    case.want["dk"] = [((0, 0, keys), dk[keys])]
    case.want["dv"] = [((0, 0, keys), dv[keys])]


@dataclass
class ProductCase:
    """The fused projection of a layer: y [M,E] = x [M,C] w [C,E] + b."""

    problem: Problem
    x: np.ndarray
    w: np.ndarray
    b: np.ndarray

    def error(self, got: dict[str, np.ndarray]) -> float:
        """Over the first and the last rows."""
        rows = np.r_[0:8, -8:0]
        want = self.x[rows].astype(np.float64) @ self.w.astype(np.float64) + self.b
        return float(np.nan_to_num(np.abs(got["y"][rows] - want), nan=np.inf).max())

    @property
    def tolerance(self) -> float:
        return 0.06 if self.problem.dtype == "bf16" else 1e-4


def make_product(p: Problem, seed: int = 0) -> ProductCase:
    random = np.random.default_rng(seed)
    width = p.query_heads * p.width
    columns = (p.query_heads + 2 * p.kv_heads) * p.width

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal(shape, dtype=np.float32)

    return ProductCase(p, rounded(normal(p.batch * p.query_length, width), p.dtype),
                       rounded(normal(width, columns) / np.float32(np.sqrt(width)), p.dtype),
                       rounded(normal(columns), p.dtype))

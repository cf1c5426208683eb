"""What a contender hands over for one row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


class NotOffered(Exception):
    """The peer cannot do this row; the message says why."""


@dataclass
class Timed:
    """`run` is what is timed; `outputs` gives o, dq, dk, dv of the last run as float32 [B,H,T,D]."""

    run: Callable[[], object]
    outputs: Callable[[], dict[str, np.ndarray]]
    error: float | None = None  # already known: the contender checks itself against float64

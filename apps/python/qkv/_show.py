"""How results with many matrices show themselves: a short text, and in a notebook the explorer's panel."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

# What a panel may send to a browser: about 20 bytes of JSON each, and a notebook may keep them.
MOST_NUMBERS = 500_000
_SCRIPT = Path(__file__).with_name("widget.js")
_MOST_ROWS, _MOST_COLUMNS = 6, 8
_SHOWN = ("q", "k", "v", "masked", "p", "o")


class Shown:
    """A result that prints as a text and shows itself as a panel. What it is made of is for its classes to say."""

    def _sizes(self) -> tuple[int, int]:
        """The number of batch entries and of query heads."""
        raise NotImplementedError

    def _place(self) -> tuple[int, int]:
        """The batch entry and the query head that are looked at first."""
        raise NotImplementedError

    def _numbers(self) -> int:
        """How many numbers the document of one head holds."""
        raise NotImplementedError

    def _document(self, batch: int, head: int) -> str:
        """The document of docs/explain.md, as its text. Raises ValueError."""
        raise NotImplementedError

    def _title(self) -> str:
        raise NotImplementedError

    def _stages(self) -> list[tuple[str, Sequence[int]]]:
        """Names and shapes."""
        raise NotImplementedError

    def _matrix(self, name: str) -> np.ndarray[Any, Any] | None:
        """The matrix of a stage at that place."""
        raise NotImplementedError

    def __repr__(self) -> str:
        stages = self._stages()
        width = max((len(name) for name, _ in stages), default=0)
        lines = [self._title(), "", *(f"  {name:{width}}  [{','.join(map(str, shape))}]" for name, shape in stages)]
        lines += ["", "batch entry {}, head {}:".format(*self._place())]
        for name in _SHOWN:
            matrix = self._matrix(name)
            if matrix is not None:
                lines += ["", *_matrix_lines(name, matrix)]
        return "\n".join(lines)

    __str__ = __repr__

    def _repr_mimebundle_(self, **_: Any) -> Any:
        """What IPython asks for: the panel where it can be shown, else the text and why it is only that."""
        text = repr(self)
        if _in_terminal():
            return {"text/plain": text}
        reason = self._why_no_panel()
        if reason:
            return {"text/plain": f"{text}\n\nNo panel: {reason}"}
        from ._panel import Panel

        data, metadata = Panel(self)._repr_mimebundle_()
        return {**data, "text/plain": text}, metadata

    def _why_no_panel(self) -> str | None:
        if self._numbers() > MOST_NUMBERS:
            return (f"one head has {self._numbers():,} numbers; a notebook is sent up to {MOST_NUMBERS:,}. "
                    "Cut the sequence, or look at a file of it with `qkv explore FILE`.")
        if not _SCRIPT.is_file():
            return "this qkv was built without it; build with node and npm (-C cmake.define.QKV_EMBED_PAGE=ON)."
        try:
            import anywidget  # noqa: F401
        except ImportError:
            return "pip install anywidget, and restart the kernel."
        return None


def _in_terminal() -> bool:
    """Whether IPython asks for a terminal, which draws no panel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return type(shell).__name__ == "TerminalInteractiveShell"


def _matrix_lines(name: str, matrix: np.ndarray[Any, Any]) -> list[str]:
    """The first rows and columns with two decimals; `...` where there are more."""
    rows, columns = matrix.shape
    cells = [[_number(value) for value in row[:_MOST_COLUMNS]] for row in matrix[:_MOST_ROWS].tolist()]
    wide = max((len(cell) for row in cells for cell in row), default=0)
    index = len(str(len(cells)))
    more = " ..." if columns > _MOST_COLUMNS else ""
    lines = [f"  {row:{index}}  {' '.join(cell.rjust(wide) for cell in line)}{more}" for row, line in enumerate(cells)]
    return [f"{name} [{rows},{columns}]", *lines, *(["  ..."] if rows > _MOST_ROWS else [])]


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    text = f"{value:.2f}" if abs(value) < 1e6 else f"{value:.1e}"
    return "0.00" if text == "-0.00" else text

"""The panel in a notebook: the explorer's view (web/src/widget) of one head at a time, which this kernel computes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anywidget  # an optional dependency: _show.py imports this file where there is one
import traitlets

from ._show import Shown


class Panel(anywidget.AnyWidget):
    """Shows `shown`; the reader chooses a batch entry and a head, and `answer` follows."""

    _esm = Path(__file__).with_name("widget.js")
    answer = traitlets.Unicode().tag(sync=True)  # JSON: batch, head, and the document or the error
    batch = traitlets.Int(0).tag(sync=True)
    head = traitlets.Int(0).tag(sync=True)
    batches = traitlets.Int(1).tag(sync=True)
    heads = traitlets.Int(1).tag(sync=True)

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        (batches, heads), (batch, head) = shown._sizes(), shown._place()
        super().__init__(batches=batches, heads=heads, batch=batch, head=head, answer=_answer(shown, batch, head))
        self.observe(self._follow, names=["batch", "head"])

    def _follow(self, _: Any) -> None:
        self.answer = _answer(self._shown, self.batch, self.head)


def _answer(shown: Shown, batch: int, head: int) -> str:
    try:
        batches, heads = shown._sizes()
        if not (0 <= batch < batches and 0 <= head < heads):
            raise ValueError(f"batch {batch}, head {head}: there are {batches} batch entries of {heads} heads")
        return f'{{"batch": {batch}, "head": {head}, "document": {shown._document(batch, head)}}}'
    except ValueError as error:
        return json.dumps({"batch": batch, "head": head, "error": str(error)})

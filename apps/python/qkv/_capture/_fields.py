"""Fields of JSON that somebody else may have written, taken one by one and checked."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


class CaptureError(ValueError):
    """A call that cannot be captured faithfully, or a file that is no capture.

    The message says why and what to do.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)


Check = Callable[[str, Any], Any]  # (where, value) to the value; raises CaptureError


class Fields:
    """A JSON object whose fields are taken one by one."""

    def __init__(self, where: str, given: Any) -> None:
        if not isinstance(given, dict):
            raise CaptureError(f"{where} is {_shown(given)}; expected an object")
        self.where, self.values = where, given

    def take(self, name: str, check: Check) -> Any:
        if name not in self.values:
            raise CaptureError(f"{self.where} has no field '{name}'")
        return check(f"{self.where}.{name}", self.values[name])


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else text[:57] + "..."


def _expected(where: str, what: str, value: Any) -> CaptureError:
    return CaptureError(f"{where} is {_shown(value)}; expected {what}")


def a_text(where: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _expected(where, "text", value)
    return value


def a_flag(where: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _expected(where, "true or false", value)
    return value


def an_integer(low: int, high: int) -> Check:
    def check(where: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise _expected(where, f"a whole number from {low} to {high}", value)
        return value

    return check


def a_number(low: float = -math.inf) -> Check:
    def check(where: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < low:
            raise _expected(where, "a finite number" + (f", at least {low}" if math.isfinite(low) else ""), value)
        return float(value)

    return check


def one_of(*names: str) -> Check:
    def check(where: str, value: Any) -> str:
        if value not in names:
            raise _expected(where, " or ".join(names), value)
        return str(value)

    return check


def maybe(check: Check) -> Check:
    return lambda where, value: None if value is None else check(where, value)


def a_list(check: Check, length: int | None = None) -> Check:
    def checked(where: str, value: Any) -> list[Any]:
        if not isinstance(value, list) or (length is not None and len(value) != length):
            raise _expected(where, "a list" if length is None else f"a list of {length}", value)
        return [check(f"{where}[{i}]", entry) for i, entry in enumerate(value)]

    return checked

"""Assertions for tests of an implementation of attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._check import check
from ._report import Report


def assert_attention(fn: Callable[..., Any], **options: Any) -> Report:
    """`qkv.check(fn, **options)` as an assertion: that fn is right.

        def test_mine():
            qkv.testing.assert_attention(mine, backward=True)

    The message of the AssertionError is the headline ("WRONG: equals
    attention with the scale applied twice; ...") and below it the policies,
    invariants and probes that tell why. A run that cannot judge is no
    success either. Returns the report.
    """
    __tracebackhide__ = True  # pytest shows the caller's line
    report = check(fn, **options)
    if report.verdict != "right":
        raise AssertionError(str(report))
    return report

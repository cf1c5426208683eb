"""FlashAttention's own list of shapes, on qkv.attention: its widths, its pairs of lengths, causal and local, grouped.

Source: tests/test_flash_attn.py of FlashAttention 2 (Dao-AILab/flash-attention, BSD-3-Clause), the lists only.
"""

import ml_dtypes
import numpy as np
import pytest
import qkv
from conftest import normal, plain_attention

WIDTHS = [32, 40, 59, 64, 96, 111, 128, 160, 192, 224, 256]
LENGTHS = [(1, 147), (113, 203), (128, 217), (113, 211), (108, 256), (256, 512), (512, 256), (1024, 1024),
           (1023, 1024), (1024, 1023)]
BF16 = ml_dtypes.bfloat16


def inputs(n, m, d, dtype):
    return (normal(1, 1, 3, n, d, dtype=dtype), normal(2, 1, 1, m, d, dtype=dtype), normal(3, 1, 1, m, d, dtype=dtype))


def rows_of(n):
    """The edges of tiles and some between, enough to see a lost row or tile."""
    return sorted({i for i in (0, 1, 15, 16, 31, 32, 63, 64, 127, 128, 255, 256, 511, 512, 1022, n // 2, n - 2, n - 1)
                   if 0 <= i < n})


@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("n, m", LENGTHS)
@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 2e-6), (BF16, 2.0**-7)], ids=["f32", "bf16"])
def test_every_shape_is_near_float64(n, m, d, dtype, tolerance):
    q, k, v = inputs(n, m, d, dtype)
    rows = rows_of(n)
    at, j = np.array(rows)[:, None] + (m - n), np.arange(m)  # FlashAttention's corner is bottom right
    for options, keep in [
        ({}, np.ones((len(rows), m), dtype=bool)),
        ({"causal": True}, j <= at),
        ({"window": (50, 20)}, (j >= at - 50) & (j <= at + 20)),
        ({"causal": True, "window": (50, -1), "softcap": 20.0}, (j >= at - 50) & (j <= at)),
    ]:
        corner = {"corner": "bottom_right"} if options else {}
        o, lse = qkv.attention(q, k, v, return_lse=True, **options, **corner)
        want, want_lse = plain_attention(q[:, :, rows], k, v, keep=keep, softcap=options.get("softcap"))
        assert o.shape == (1, 3, n, d) and o.dtype == dtype and np.isfinite(o.astype(np.float32)).all()
        np.testing.assert_array_less(np.abs(o[:, :, rows].astype(np.float64) - want), tolerance * (1 + np.abs(want)))
        seen = np.isfinite(want_lse)
        np.testing.assert_allclose(lse[:, :, rows][seen], want_lse[seen], rtol=2e-6, atol=2e-6)
        assert (lse[:, :, rows][~seen] == -np.inf).all() and not o[:, :, rows][~seen].any()

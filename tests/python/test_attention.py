"""qkv.attention against plain NumPy attention in float64: options, ranks, layouts, strides, types, errors, threads."""

from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest
import qkv
from conftest import DLPack, assert_interrupted, counted_beside, normal, plain_attention
from hypothesis import given, settings
from hypothesis import strategies as st

F32 = 2e-6
TOLERANCE = {np.float64: 1e-13, np.float32: F32, np.float16: 4e-3, ml_dtypes.bfloat16: 3e-2}


def inputs(dtype=np.float32, b=2, hq=6, hkv=2, tq=3, tk=5, d=7, dv=11):
    return normal(1, b, hq, tq, d, dtype=dtype), normal(2, b, hkv, tk, d, dtype=dtype), normal(
        3, b, hkv, tk, dv, dtype=dtype)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=lambda t: t.__name__)
def test_every_type_is_near_float64_and_comes_back_as_itself(dtype):
    q, k, v = inputs(dtype)
    o, lse = qkv.attention(q, k, v, return_lse=True)
    want, want_lse = plain_attention(q, k, v)
    assert o.dtype == dtype and lse.dtype == (np.float64 if dtype is np.float64 else np.float32)
    np.testing.assert_allclose(o.astype(np.float64), want, atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype])
    np.testing.assert_allclose(lse, want_lse, atol=1e-5)


@settings(max_examples=60, deadline=None)
@given(
    b=st.integers(1, 3), hkv=st.integers(1, 3), group=st.integers(1, 3), tq=st.integers(0, 9), tk=st.integers(0, 20),
    d=st.integers(1, 20), dv=st.integers(1, 20), seed=st.integers(0, 1000),
    softcap=st.none() | st.floats(0.5, 30), scale=st.none() | st.floats(-2, 2), masked=st.booleans(),
)
def test_any_shape_and_mask_is_near_float64(b, hkv, group, tq, tk, d, dv, seed, softcap, scale, masked):
    q, k, v = inputs(np.float64, b, hkv * group, hkv, tq, tk, d, dv)
    keep = np.random.default_rng(seed).random((b, 1, tq, tk)) < 0.6 if masked else None
    o, lse = qkv.attention(q, k, v, keep=keep, softcap=softcap, scale=scale, return_lse=True)
    if tk == 0:
        assert not o.any() and np.all(lse == -np.inf)
        return
    want, want_lse = plain_attention(q, k, v, keep=keep, softcap=softcap, scale=scale)
    np.testing.assert_allclose(o, want, atol=1e-12)
    np.testing.assert_allclose(lse, want_lse, atol=1e-12)


def test_causal_window_offset_and_lengths_mean_what_the_mask_says():
    q, k, v = inputs(np.float64)
    i, j = np.arange(3)[:, None], np.arange(5)[None, :]
    for options, keep in [
        ({"causal": True, "corner": "top_left"}, j <= i),
        ({"causal": True, "corner": "bottom_right"}, j <= i + 2),
        ({"causal": True, "offset": 1}, j <= i + 1),
        ({"window": (1, 0), "corner": "bottom_right"}, (j >= i + 1) & (j <= i + 2)),
        ({"key_lengths": [5, 2]}, j < np.array([5, 2])[:, None, None, None]),
        ({"key_mask": np.array([[1, 0, 1, 1, 1], [1, 1, 1, 0, 0]], dtype=bool)},
         np.array([[1, 0, 1, 1, 1], [1, 1, 1, 0, 0]], dtype=bool)[:, None, None, :]),
    ]:
        want, _ = plain_attention(q, k, v, keep=np.broadcast_to(keep, (2, 6, 3, 5)))
        np.testing.assert_allclose(qkv.attention(q, k, v, **options), want, atol=1e-13, err_msg=str(options))


def test_bias_slopes_and_sinks():
    q, k, v = inputs(np.float64)
    bias = normal(4, 6, 3, 5, dtype=np.float64)
    np.testing.assert_allclose(qkv.attention(q, k, v, bias=bias), plain_attention(q, k, v, bias=bias)[0], atol=1e-13)
    distance = np.abs(np.arange(3)[:, None] + 2 - np.arange(5)[None, :])
    slopes = np.array([2.0**-h for h in range(1, 7)])
    want, _ = plain_attention(q, k, v, bias=-slopes[:, None, None] * distance)
    np.testing.assert_allclose(qkv.attention(q, k, v, slopes=slopes, corner="bottom_right"), want, atol=1e-13)
    # A sink is one more key with value 0.
    _, lse = plain_attention(q, k, v)
    o = qkv.attention(q, k, v, sinks=[0.5] * 6)
    np.testing.assert_allclose(o, plain_attention(q, k, v)[0] / (1 + np.exp(0.5 - lse))[..., None], atol=1e-13)


def test_alibi_is_a_name_for_the_papers_slopes():
    q, k, v = inputs(np.float64, hq=8, hkv=8, tq=5)
    paper = [2.0**-h for h in range(1, 9)]
    np.testing.assert_array_equal(qkv.attention(q, k, v, slopes="alibi"), qkv.attention(q, k, v, slopes=paper))


def test_packed_sequences_do_not_see_each_other():
    q, k, v = (normal(s, 1, 2, 6, 4, dtype=np.float64) for s in (1, 2, 3))
    o = qkv.attention(q, k, v, cu_seqlens_q=[0, 2, 6], cu_seqlens_k=np.array([0, 2, 6]))
    for part in (slice(0, 2), slice(2, 6)):
        np.testing.assert_allclose(o[:, :, part], plain_attention(q[:, :, part], k[:, :, part], v[:, :, part])[0],
                                   atol=1e-13)


def test_ranks_and_layouts_come_back_as_they_came():
    q, k, v = inputs(np.float64)
    whole, lse = qkv.attention(q, k, v, return_lse=True)
    np.testing.assert_array_equal(qkv.attention(q[1], k[1], v[1]), whole[1])
    one, one_lse = qkv.attention(q[1, 2], k[1, 0], v[1, 0], return_lse=True)
    np.testing.assert_array_equal(one, whole[1, 2])
    np.testing.assert_array_equal(one_lse, lse[1, 2])
    tokens_first = [np.ascontiguousarray(x.swapaxes(1, 2)) for x in (q, k, v)]
    np.testing.assert_array_equal(qkv.attention(*tokens_first, layout="bthd"), whole.swapaxes(1, 2))
    o3 = qkv.attention(*(x[1] for x in tokens_first), layout="bthd")
    np.testing.assert_array_equal(o3, whole[1].swapaxes(0, 1))


def test_strides_of_every_kind_give_the_same_bits():
    q, k, v = inputs(np.float32)
    want = qkv.attention(q, k, v)
    for make in (
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
        lambda x: np.repeat(x, 3, axis=2)[:, :, ::3],
        lambda x: x[..., ::-1].copy()[..., ::-1],
        lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),  # read-only
    ):
        np.testing.assert_array_equal(qkv.attention(make(q), make(k), make(v)), want)


def test_out_is_written_and_returned():
    q, k, v = inputs(np.float16)
    want = qkv.attention(q, k, v)
    out = np.full(want.shape, 7, dtype=np.float16)
    assert qkv.attention(q, k, v, out=out) is out
    np.testing.assert_array_equal(out, want)
    wide = np.empty(want.shape, dtype=np.float32)
    qkv.attention(q, k, v, out=wide)
    np.testing.assert_allclose(wide, plain_attention(q, k, v)[0], atol=1e-5)
    bf16 = [x.astype(ml_dtypes.bfloat16) for x in (q, k, v)]
    out = np.zeros(want.shape, dtype=ml_dtypes.bfloat16)
    assert qkv.attention(*bf16, out=out) is out
    np.testing.assert_array_equal(out, qkv.attention(*bf16))


def test_anything_with_dlpack_is_an_array():
    q, k, v = inputs(np.float32)
    o = qkv.attention(DLPack(q), DLPack(k), DLPack(v))
    np.testing.assert_array_equal(np.asarray(o), qkv.attention(q, k, v))


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_the_number_of_threads_changes_no_bit(threads):
    q, k, v = inputs(np.float32, tq=130, tk=200, d=32, dv=32)
    options = {"causal": True, "corner": "bottom_right"}
    np.testing.assert_array_equal(
        qkv.attention(q, k, v, threads=threads, **options), qkv.attention(q, k, v, threads=1, **options))


def test_every_target_of_this_machine_can_be_forced():
    q, k, v = inputs(np.float32)
    for target in qkv.info()["targets"]:
        np.testing.assert_allclose(qkv.attention(q, k, v, target=target), plain_attention(q, k, v)[0], atol=F32)


def test_the_gil_is_free_while_it_computes():
    q = normal(1, 1, 4, 2000, 64)
    assert counted_beside(lambda: qkv.attention(q, q, q, threads=1, target="portable")) > 100


def test_ctrl_c_stops_a_long_call():
    q = normal(1, 1, 8, 16384, 64)
    assert_interrupted(lambda: qkv.attention(q, q, q, threads=1, target="portable"))


def test_calls_from_many_threads_at_once_keep_their_own_bits():
    calls = [[normal(seed + i, 1, 2, 40 + seed, 16) for i in (0, 100, 200)] for seed in range(12)]
    want = [qkv.attention(*call) for call in calls]
    with ThreadPoolExecutor(6) as pool:
        for _ in range(5):
            for o, entry in zip(pool.map(lambda call: qkv.attention(*call), calls), want):
                np.testing.assert_array_equal(o, entry)


@pytest.mark.parametrize("change, message", [
    ({"k": normal(2, 2, 2, 5, 4)}, r"k \[B,Hkv,Tk,D\] is \[2,2,5,4\], but D is 7 by q \[2,6,3,7\]"),
    ({"k": normal(2, 2, 4, 5, 7), "v": normal(2, 2, 4, 5, 7)}, "k has 4 heads, which does not divide q's 6"),
    ({"v": normal(2, 2, 2, 5, 11, dtype=np.float64)}, "v is f64 but q is f32"),
    ({"causal": True}, "top_left.*bottom_right.*offset"),
    ({"causal": True, "corner": "middle"}, "expected 'top_left' or 'bottom_right'"),
    ({"corner": "top_left", "offset": 0}, "give one"),
    ({"window": (1,)}, "window needs two numbers"),
    ({"softcap": -1}, "softcap must be positive"),
    ({"sinks": [1.0]}, r"sinks has 1 values; expected \[Hq\] = 6"),
    ({"keep": np.ones((2, 6, 3, 4), dtype=bool)}, "does not broadcast"),
    ({"keep": np.ones((3, 5), dtype=np.float32)}, "expected bool"),
    ({"layout": "hbtd"}, "expected 'bhtd' or 'bthd'"),
    ({"threads": -1}, "threads must be 0 .all. or positive, found -1"),
    ({"threads": -2**40}, "threads must be 0 .all. or positive"),
    ({"target": "mmx"}, "unknown target 'mmx'"),
    ({"out": np.empty((2, 6, 3, 7), np.float32)}, r"o \[B,Hq,Tq,Dv\]"),
    ({"q": np.empty((1, 1, 1, 3, 7), np.float32)}, "q has 5 axes"),
    ({"q": np.empty(7, np.float32)}, r"q \[B,Hq,Tq,D\] needs 4 axes, found 1"),
    ({"q": np.empty((2, 6, 3, 7), np.int64)}, "q is i64"),
])
def test_a_value_that_does_not_fit_is_a_value_error_with_the_cores_message(change, message):
    q, k, v = inputs()
    arguments = {"q": q, "k": k, "v": v, **change}
    with pytest.raises(ValueError, match=message):
        qkv.attention(**arguments)


@pytest.mark.parametrize("change, message", [
    ({"q": [[1.0]]}, "q is a list; expected an array"),
    ({"q": np.empty((3, 7), np.complex64)}, "q is a ndarray of complex64"),
    ({"q": np.empty((3, 7), ">f4")}, "q is a ndarray of >f4"),
    ({"scale": "1"}, "scale is a str; expected a number"),
    ({"causal": 1}, "causal is a int; expected True or False"),
    ({"window": 3}, "window is a int; expected a list"),
    ({"window": (1.5, 2)}, r"window\[0\] is a float; expected a whole number"),
    ({"threads": "two"}, "threads is a str; expected a whole number"),
    ({"sinks": ["a"] * 6}, r"sinks\[0\] is a str; expected a number"),
    ({"layout": 3}, "layout is a int; expected a str"),
])
def test_a_wrong_kind_is_a_type_error_that_names_it(change, message):
    q, k, v = inputs()
    arguments = {"q": q, "k": k, "v": v, **change}
    with pytest.raises(TypeError, match=message):
        qkv.attention(**arguments)


def test_a_read_only_out_is_refused():
    q, k, v = inputs()
    out = np.zeros((2, 6, 3, 11), np.float32)
    out.flags.writeable = False
    with pytest.raises(TypeError, match="out is read-only"):
        qkv.attention(q, k, v, out=out)

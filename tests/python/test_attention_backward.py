"""qkv.attention_backward against NumPy in float64 and central differences: types, options, ranks, outputs, errors."""

import ml_dtypes
import numpy as np
import pytest
import qkv
from conftest import assert_interrupted, counted_beside, difference, normal, plain_gradients

TOLERANCE = {np.float64: 1e-12, np.float32: 5e-6, np.float16: 2e-2, ml_dtypes.bfloat16: 1e-1}


def case(dtype=np.float32, b=2, hq=6, hkv=2, tq=5, tk=5, d=7, dv=11, **options):
    """(q, k, v, o, lse, d_o) of a forward call with these options."""
    q, k, v = (normal(seed, b, *shape, dtype=dtype) for seed, shape in
               ((1, (hq, tq, d)), (2, (hkv, tk, d)), (3, (hkv, tk, dv))))
    o, lse = qkv.attention(q, k, v, return_lse=True, **options)
    return q, k, v, o, lse, normal(4, *o.shape, dtype=dtype)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=lambda t: t.__name__)
def test_every_type_is_near_float64_and_comes_back_as_itself(dtype):
    q, k, v, o, lse, d_o = case(dtype)
    found = qkv.attention_backward(q, k, v, o, lse, d_o)
    for gradient, of, want in zip(found, (q, k, v), plain_gradients(q, k, v, d_o)):
        assert gradient.dtype == dtype and gradient.shape == of.shape
        np.testing.assert_allclose(gradient.astype(np.float64), want, atol=TOLERANCE[dtype] * np.abs(want).max())


def test_masks_bias_and_the_gradient_of_lse():
    bias = normal(5, 6, 1, 5, dtype=np.float64)
    options = {"causal": True, "window": (2, -1), "bias": bias}
    q, k, v, o, lse, d_o = case(np.float64, **options)
    d_lse = normal(6, 2, 6, 5, dtype=np.float64)
    i, j = np.arange(5)[:, None], np.arange(5)[None, :]
    keep = np.broadcast_to((j <= i) & (j >= i - 2), (2, 6, 5, 5))
    dq, dk, dv, ds = plain_gradients(q, k, v, d_o, d_lse=d_lse, keep=keep, bias=bias)
    found = qkv.attention_backward(q, k, v, o, lse, d_o, d_lse=d_lse, gradients=("dbias", "dq", "dk", "dv"), **options)
    for gradient, want in zip(found, (ds.sum(axis=(0, 2))[:, None, :], dq, dk, dv)):
        np.testing.assert_allclose(gradient, want, atol=1e-12)


def test_softcap_slopes_and_sinks_are_the_differences_of_the_forward_call():
    arrays = {name: normal(seed, *shape, dtype=np.float64) for seed, (name, shape) in enumerate(
        {"q": (1, 2, 4, 3), "k": (1, 1, 6, 3), "v": (1, 1, 6, 5), "bias": (4, 6), "sinks": (2,)}.items())}
    options = {"softcap": 1.5, "slopes": [0.1, 0.2], "corner": "bottom_right", "scale": 0.7}
    w, w_lse = normal(7, 1, 2, 4, 5, dtype=np.float64), normal(8, 1, 2, 4, dtype=np.float64)

    def forward(a):
        return qkv.attention(a["q"], a["k"], a["v"], bias=a["bias"], sinks=a["sinks"], return_lse=True, **options)

    def loss(a):
        o, lse = forward(a)
        return float((w * o).sum() + (w_lse * lse).sum())

    found = qkv.attention_backward(
        arrays["q"], arrays["k"], arrays["v"], *forward(arrays), w, d_lse=w_lse, bias=arrays["bias"],
        sinks=arrays["sinks"], gradients=["d" + name for name in arrays], **options)
    for (name, array), gradient in zip(arrays.items(), found):
        for at in list(np.ndindex(array.shape))[::3]:
            assert abs(difference(loss, arrays, name, at) - gradient[at]) < 1e-8, (name, at)


def test_ranks_layouts_and_strides_give_the_same_bits():
    whole = case()
    want = qkv.attention_backward(*whole)
    for gradient, entry in zip(qkv.attention_backward(*(x[1] for x in whole)), want):
        np.testing.assert_array_equal(gradient, entry[1])
    for make in (
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
        lambda x: x[..., ::-1].copy()[..., ::-1],
        lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),  # read-only
    ):
        for gradient, entry in zip(qkv.attention_backward(*(make(x) for x in whole)), want):
            np.testing.assert_array_equal(gradient, entry)
    q, k, v, o, lse, d_o = (x if x.ndim == 3 else np.ascontiguousarray(x.swapaxes(1, 2)) for x in whole)
    for gradient, entry in zip(qkv.attention_backward(q, k, v, o, lse, d_o, layout="bthd"), want):
        np.testing.assert_array_equal(gradient, entry.swapaxes(1, 2))
    # One head, without axes for batch and heads.
    one = case(b=1, hq=1, hkv=1)
    for gradient, entry in zip(qkv.attention_backward(*(x[0, 0] for x in one)), qkv.attention_backward(*one)):
        np.testing.assert_array_equal(gradient, entry[0, 0])


def test_what_no_query_sees_changes_nothing_and_has_no_gradient():
    q, k, v, o, lse, d_o = case(key_lengths=[5, 3])
    want = qkv.attention_backward(q, k, v, o, lse, d_o, key_lengths=[5, 3])
    k[1, :, 3:], v[1, :, 3:] = np.nan, np.inf
    found = qkv.attention_backward(q, k, v, o, lse, d_o, key_lengths=[5, 3])
    for gradient, entry in zip(found, want):
        np.testing.assert_array_equal(gradient, entry)
    assert not found[1][1, :, 3:].any() and not found[2][1, :, 3:].any()


def test_out_is_written_and_returned_in_the_order_asked_for():
    q, k, v, o, lse, d_o = case(np.float16)
    want_dq, want_dk = qkv.attention_backward(q, k, v, o, lse, d_o, gradients=("dq", "dk"))
    mine = np.full(k.shape, 7, np.float32)
    dk, dq = qkv.attention_backward(q, k, v, o, lse, d_o, gradients=("dk", "dq"), out={"dk": mine})
    assert dk is mine
    np.testing.assert_array_equal(mine.astype(np.float16), want_dk)
    np.testing.assert_array_equal(dq, want_dq)
    assert qkv.attention_backward(q, k, v, o, lse, d_o, gradients=()) == ()


@pytest.mark.parametrize("threads", [2, 3])
def test_the_number_of_threads_changes_no_bit(threads):
    inputs = case(tq=130, tk=130, d=32, dv=32, causal=True)
    for one, other in zip(qkv.attention_backward(*inputs, causal=True, threads=1),
                          qkv.attention_backward(*inputs, causal=True, threads=threads)):
        np.testing.assert_array_equal(one, other)


def test_the_gil_is_free_while_it_computes():
    inputs = case(b=1, hq=4, hkv=4, tq=1000, tk=1000, d=64, dv=64)
    assert counted_beside(lambda: qkv.attention_backward(*inputs, threads=1, target="portable")) > 100


def test_ctrl_c_stops_a_long_call():
    inputs = case(b=1, hq=24, hkv=24, tq=2048, tk=2048, d=64, dv=64)
    assert_interrupted(lambda: qkv.attention_backward(*inputs, threads=1, target="portable"))


@pytest.mark.parametrize("change, message", [
    ({"lse": normal(1, 2, 6, 4)}, r"lse \[B,Hq,Tq\] is \[2,6,4\]"),
    ({"d_o": normal(1, 2, 6, 5, 10)}, r"d_o \[B,Hq,Tq,Dv\] is \[2,6,5,10\]"),
    ({"d_o": normal(1, 2, 6, 5, 11, dtype=np.float64)}, "d_o is f64; expected f32, the type of o"),
    ({"k": normal(2, 2, 4, 5, 7), "v": normal(2, 2, 4, 5, 11)}, "k has 4 heads, which does not divide q's 6"),
    ({"gradients": ("dq", "dbias")}, "dbias is asked for but there is no bias"),
    ({"gradients": ("dsinks",)}, "dsinks is asked for but there are no sinks"),
    ({"gradients": ("dx",)}, "gradients holds 'dx'; expected some of dq, dk, dv, dbias, dsinks"),
    ({"gradients": ("dq", "dq")}, "gradients holds 'dq' twice"),
    ({"out": {"do": normal(1, 3)}}, "out holds 'do'; expected some of dq"),
    ({"out": {"dbias": normal(1, 3)}}, "out holds 'dbias', which is not among gradients"),
    ({"out": {"dq": normal(1, 2, 6, 5, 8)}}, r"dq \[B,Hq,Tq,D\] is \[2,6,5,8\]"),
])
def test_a_value_that_does_not_fit_is_a_value_error_with_the_cores_message(change, message):
    arguments = dict(zip(("q", "k", "v", "o", "lse", "d_o"), case())) | change
    with pytest.raises(ValueError, match=message):
        qkv.attention_backward(**arguments)


def test_a_wrong_kind_is_a_type_error_that_names_it():
    inputs = case()
    frozen = np.zeros_like(inputs[0])
    frozen.flags.writeable = False
    for arguments, options, message in [
        (inputs, {"gradients": "dq"}, "gradients is a str; expected a list of str"),
        (inputs, {"gradients": (1,)}, r"gradients\[0\] is a int; expected a str"),
        (inputs, {"out": (inputs[0],)}, "out is a tuple; expected a dict"),
        (inputs, {"out": {"dq": frozen}}, "dq is read-only"),
        (inputs, {"d_lse": 3}, "d_lse is a int; expected an array"),
        ((*inputs[:5], None), {}, "d_o is a NoneType; expected an array"),
    ]:
        with pytest.raises(TypeError, match=message):
            qkv.attention_backward(*arguments, **options)


def test_an_output_in_the_memory_of_an_input_is_refused():
    q, k, v, o, lse, d_o = case()
    with pytest.raises(ValueError, match="dq overlaps the memory of q"):
        qkv.attention_backward(q, k, v, o, lse, d_o, out={"dq": q})

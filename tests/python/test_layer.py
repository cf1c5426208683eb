"""qkv.layer, layer_backward and layer_decode against NumPy in float64, central differences, and each other."""

import ml_dtypes
import numpy as np
import pytest
import qkv
from conftest import assert_interrupted, counted_beside, difference, normal, plain_attention

TOLERANCE = {np.float64: 1e-12, np.float32: 2e-5, np.float16: 3e-2, ml_dtypes.bfloat16: 2e-1}
HEADS = {"query_heads": 4, "kv_heads": 2}
SHAPES = {"gamma": (6,), "beta": (6,), "wq": (6, 12), "wk": (6, 6), "wv": (6, 10), "bq": (12,), "bk": (6,), "bv": (10,),
          "wo": (20, 7), "bo": (7,)}  # C = 6, D = 3, Dv = 5, Cout = 7


def make(dtype=np.float32, b=2, t=5):
    x = normal(1, b, t, 6, dtype=dtype)
    return x, {name: normal(seed, *shape, dtype=dtype) for seed, (name, shape) in enumerate(SHAPES.items(), 2)}


def split(rows, heads):
    b, t, width = rows.shape
    return rows.reshape(b, t, heads, width // heads).swapaxes(1, 2)


def plain_layer(x, p, eps=1e-5, keep=None):
    x = np.asarray(x, np.float64)
    p = {name: np.asarray(array, np.float64) for name, array in p.items()}
    u = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) * p["gamma"] + p["beta"]
    q, k, v = (split(u @ p["w" + n] + p["b" + n], heads) for n, heads in (("q", 4), ("k", 2), ("v", 2)))
    o = plain_attention(q, k, v, keep=keep)[0].swapaxes(1, 2)
    return o.reshape(*x.shape[:2], -1) @ p["wo"] + p["bo"]


@pytest.mark.parametrize("dtype", TOLERANCE, ids=lambda t: t.__name__)
def test_every_type_is_near_float64_and_comes_back_as_itself(dtype):
    x, p = make(dtype)
    y = qkv.layer(x, p, causal=True, **HEADS)
    assert y.dtype == dtype and y.shape == (2, 5, 7)
    want = plain_layer(x, p, keep=np.broadcast_to(np.tri(5, dtype=bool), (2, 4, 5, 5)))
    np.testing.assert_allclose(y.astype(np.float64), want, atol=TOLERANCE[dtype] * np.abs(want).max())


def test_one_fused_matrix_is_the_three_side_by_side():
    x, p = make(np.float64)
    p["wv"], p["bv"], p["wo"] = p["wv"][:, :6], p["bv"][:6], p["wo"][:12]
    fused = {name: p[name] for name in ("gamma", "beta", "wo", "bo")}
    fused["wqkv"] = np.concatenate([p["wq"], p["wk"], p["wv"]], axis=1)
    fused["bqkv"] = np.concatenate([p["bq"], p["bk"], p["bv"]])
    np.testing.assert_allclose(qkv.layer(x, fused, **HEADS), qkv.layer(x, p, **HEADS), atol=1e-13)
    gradients = qkv.layer_backward(x, fused, np.ones((2, 5, 7)), **HEADS)
    assert list(gradients) == ["dx", "dgamma", "dbeta", "dwqkv", "dbqkv", "dwo", "dbo"]


def test_every_gradient_is_the_difference_of_the_forward_call():
    x, p = make(np.float64)
    options = {"causal": True, "softcap": 3.0, "eps": 1e-3, **HEADS}
    w = normal(20, 2, 5, 7, dtype=np.float64)

    def loss(arrays):
        return float((w * qkv.layer(arrays["x"], {n: arrays[n] for n in SHAPES}, **options)).sum())

    arrays = {"x": x, **p}
    gradients = qkv.layer_backward(x, p, w, **options)
    assert list(gradients) == ["dx", *("d" + name for name in SHAPES)]
    for name, array in arrays.items():
        assert gradients["d" + name].shape == array.shape
        for at in list(np.ndindex(array.shape))[:: max(1, array.size // 6)]:
            found = gradients["d" + name][at]
            assert abs(difference(loss, arrays, name, at) - found) < 1e-7 * max(1, abs(found)), (name, at)


@pytest.mark.parametrize("with_wo", [True, False])
def test_what_the_forward_call_kept_changes_no_bit_of_the_gradients(with_wo):
    x, p = make()
    if not with_wo:
        del p["wo"], p["bo"]
    y, kept = qkv.layer(x, p, return_kept=True, **HEADS)
    np.testing.assert_array_equal(y, qkv.layer(x, p, **HEADS))
    assert kept["qkv"].shape == (2, 5, 28) and kept["lse"].shape == (2, 4, 5) and kept["o"].shape == (2, 5, 20)
    assert (kept["o"] is y) != with_wo
    d_y = normal(20, *y.shape)
    for array in kept.values():
        array.flags.writeable = False
    for one, other in zip(qkv.layer_backward(x, p, d_y, **HEADS).items(),
                          qkv.layer_backward(x, p, d_y, kept=kept, **HEADS).items()):
        assert one[0] == other[0]
        np.testing.assert_array_equal(one[1], other[1])


def test_a_matrix_of_tokens_is_a_batch_of_one():
    x, p = make()
    y, kept = qkv.layer(x[1], p, return_kept=True, **HEADS)
    np.testing.assert_array_equal(y, qkv.layer(x[1:], p, **HEADS)[0])
    gradients = qkv.layer_backward(x[1], p, y, kept=kept, **HEADS)
    np.testing.assert_array_equal(gradients["dx"], qkv.layer_backward(x[1:], p, y[None], **HEADS)["dx"][0])


def test_strides_of_parameters_and_tokens_are_right():
    x, p = make()
    transposed = {name: np.asfortranarray(array) for name, array in p.items()}
    transposed["gamma"] = p["gamma"][::-1].copy()[::-1]
    np.testing.assert_allclose(qkv.layer(np.repeat(x, 2, axis=1)[:, ::2], transposed, **HEADS),
                               qkv.layer(x, p, **HEADS), atol=1e-6)


def test_out_and_chosen_gradients_are_written_and_returned():
    x, p = make(np.float16)
    out = np.full((2, 5, 7), 7, np.float16)
    assert qkv.layer(x, p, out=out, **HEADS) is out
    np.testing.assert_array_equal(out, qkv.layer(x, p, **HEADS))
    mine = np.full((6, 12), 7, np.float32)
    found = qkv.layer_backward(x, p, out, gradients=("dwq", "dx"), out={"dwq": mine}, **HEADS)
    assert list(found) == ["dwq", "dx"] and found["dwq"] is mine
    np.testing.assert_array_equal(mine.astype(np.float16), qkv.layer_backward(x, p, out, **HEADS)["dwq"])


@pytest.mark.parametrize("paged", [False, True])
def test_decoding_equals_the_causal_layer_on_the_whole_sequence(paged):
    x, p = make(np.float64)
    pages = np.array([[3, 0, 1], [4, 2, 5]]) if paged else None
    shape = (6, 2, 2) if paged else (2, 2, 6)
    cache = qkv.KeyValueCache(np.full((*shape, 3), np.nan), np.full((*shape, 5), np.nan), np.zeros(2, int), pages)
    rows = [qkv.layer_decode(x[:, part], p, cache, **HEADS) for part in (slice(0, 3), slice(3, 4), slice(4, 5))]
    np.testing.assert_allclose(np.concatenate(rows, axis=1), qkv.layer(x, p, causal=True, **HEADS), atol=1e-12)
    np.testing.assert_array_equal(cache.lengths, [5, 5])


def test_the_gil_is_free_and_ctrl_c_stops_it():
    x = normal(1, 1, 600, 256)
    p = {name: normal(2, 256, 256) for name in ("wq", "wk", "wv", "wo")}
    options = {"query_heads": 4, "threads": 1, "target": "portable"}
    assert counted_beside(lambda: qkv.layer(x, p, **options)) > 100
    long = normal(1, 8, 4096, 256)
    assert_interrupted(lambda: qkv.layer(long, p, **options))
    assert_interrupted(lambda: qkv.layer_backward(long, p, long, **options))


def without(name):
    x, p = make()
    del p[name]
    return x, p


@pytest.mark.parametrize("arguments, options, message", [
    (without("wk"), HEADS, "wk is missing; give wq, wk and wv, or one fused wqkv"),
    (without("wo"), HEADS, "bo is given without wo"),
    (make(), {"query_heads": 5}, "has 12 columns; expected a multiple of Hq = 5"),
    (make(), HEADS | {"eps": -1}, "eps must be finite and not negative"),
    (make(), HEADS | {"norm": "rms"}, "norm 'rms' is unknown; expected 'layernorm' or 'none'"),
    (make(), HEADS | {"norm": "none"}, "gamma is given but the layer has no norm"),
    ((make()[0], make()[1] | {"wz": 1}), HEADS, "parameters holds 'wz'; expected some of gamma, beta, wq"),
    ((make()[0], make(np.float64)[1]), HEADS, "gamma is f64 but x is f32"),
    ((make()[0][0, 0], make()[1]), HEADS, r"x \[B,T,C\] needs 3 axes, found 1"),
])
def test_a_value_that_does_not_fit_is_a_value_error_with_the_cores_message(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        qkv.layer(*arguments, **options)
    with pytest.raises(ValueError, match=message):
        qkv.layer_backward(*arguments, normal(1, 2, 5, 7), **options)


def test_what_does_not_fit_a_gradient_is_a_value_error():
    x, p = make()
    y, kept = qkv.layer(x, p, return_kept=True, **HEADS)
    for options, message in [
        ({"gradients": ("dwqkv",)}, "dwqkv is asked for, but the layer has no wqkv"),
        ({"gradients": ("dq",)}, "gradients holds 'dq'; expected some of dx, dgamma"),
        ({"kept": {"qkv": kept["qkv"]}}, "kept.o is missing; give all of kept, or none"),
        ({"kept": {}}, "kept is empty; expected the dict that layer returned: qkv, o and lse"),
        ({"kept": kept | {"q": x}}, "kept holds 'q'; expected the dict that layer returned"),
        ({"kept": kept | {"lse": kept["lse"][:, :1]}}, r"kept.lse is \[2,1,5\]"),
    ]:
        with pytest.raises(ValueError, match=message):
            qkv.layer_backward(x, p, y, **options, **HEADS)


def test_a_wrong_kind_is_a_type_error_that_names_it():
    x, p = make()
    for call, message in [
        (lambda: qkv.layer(x, list(p), **HEADS), "parameters is a list; expected a dict"),
        (lambda: qkv.layer(x, {1: x}, **HEADS), "a key of parameters is a int; expected a str"),
        (lambda: qkv.layer(x, p | {"wq": [1]}, **HEADS), "wq is a list; expected an array"),
        (lambda: qkv.layer(x, p, query_heads=4.0), "query_heads is a float; expected a whole number"),
        (lambda: qkv.layer(x, p, query_heads=4, kv_heads="2"), "kv_heads is a str; expected a whole number"),
        (lambda: qkv.layer(x, p, norm=1, **HEADS), "norm is a int; expected a str"),
        (lambda: qkv.layer(x, p, eps="0", **HEADS), "eps is a str; expected a number"),
        (lambda: qkv.layer(x, p, return_kept=1, **HEADS), "return_kept is a int; expected True or False"),
        (lambda: qkv.layer_backward(x, p, x, kept=(1, 2), **HEADS), "kept is a tuple; expected the dict"),
        (lambda: qkv.layer_decode(x, p, p, **HEADS), "cache is a dict; expected a qkv.KeyValueCache"),
        (lambda: qkv.layer(x, p), "missing 1 required keyword-only argument: 'query_heads'"),
    ]:
        with pytest.raises(TypeError, match=message):
            call()

"""qkv.check on layers, LayerNorms and decode steps: qkv's own and plain NumPy ones, right and mistaken."""

import numpy as np
import pytest
import qkv


def first_names(report):
    return report.mistakes[0]["names"] if report.mistakes else [report.headline]


def our_layer(x, *, d_y=None, eps=None, query_heads, kv_heads, **options):
    names = ("gamma", "beta", "wq", "wk", "wv", "bq", "bk", "bv", "wqkv", "bqkv", "wo", "bo")
    parameters = {name: options.pop(name) for name in names if name in options}
    how = {"query_heads": query_heads, "kv_heads": kv_heads, "norm": "none" if eps is None else "layernorm"}
    if eps is not None:
        how["eps"] = eps
    y = qkv.layer(x, parameters, **how, **options)
    if d_y is None:
        return y
    return {"y": y, **qkv.layer_backward(x, parameters, d_y, **how, **options)}


def our_decode(q, k, v, k_cache, v_cache, cache_lengths, **options):
    return qkv.attention_decode(q, k, v, qkv.KeyValueCache(k_cache, v_cache, cache_lengths.copy()), **options)


def norm(x, *, gamma, beta, eps, d_y=None, times_mean=1, ddof=0):
    mean, spread = x.mean(-1, keepdims=True), x.var(-1, keepdims=True, ddof=ddof)
    sigma = np.sqrt(spread + np.float32(eps))
    normal = (x - mean) / sigma
    y = normal * gamma + beta
    if d_y is None:
        return y
    g = d_y * gamma
    dx = (g - times_mean * g.mean(-1, keepdims=True) - normal * (g * normal).mean(-1, keepdims=True)) / sigma
    return {"y": y, "dx": dx, "dgamma": (d_y * normal).sum((0, 1)), "dbeta": d_y.sum((0, 1))}


def numpy_decode(q, k, v, k_cache, v_cache, cache_lengths, *, late=0):
    group, count = q.shape[1] // k.shape[1], q.shape[2]
    o = np.zeros((*q.shape[:3], v.shape[3]), q.dtype)
    for b, length in enumerate(cache_lengths):
        end = min(length + late + count, k_cache.shape[2])
        k_cache[b, :, length + late:end], v_cache[b, :, length + late:end] = (
            new[b, :, :end - length - late] for new in (k, v))
        for h in range(q.shape[1]):
            for i in range(count):
                seen = slice(0, length + i + 1)
                s = k_cache[b, h // group, seen] @ q[b, h, i] / np.float32(np.sqrt(q.shape[3]))
                p = np.exp(s - s.max())
                o[b, h, i] = p @ v_cache[b, h // group, seen] / p.sum()
    return o


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("backward", [False, True])
def test_qkv_s_own_layer_is_right(dtype, backward):
    report = qkv.check(our_layer, operation="layer", dtype=dtype, backward=backward)
    assert report.verdict == "right", str(report)
    assert report.document["counts"]["refused"] == 0


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_qkv_s_own_decode_is_right(dtype):
    report = qkv.check(our_decode, operation="decode", dtype=dtype)
    assert report.verdict == "right", str(report)
    assert report.document["counts"]["refused"] == 0
    assert {"o", "cache_k", "cache_v"} <= {tensor["name"] for probe in report.probes for tensor in probe["tensors"]}


@pytest.mark.parametrize("backward", [False, True])
def test_a_numpy_layernorm_is_right(backward):
    report = qkv.check(norm, operation="layernorm", backward=backward)
    assert report.verdict == "right", str(report)


def test_the_mean_that_is_taken_away_twice_is_named():
    report = qkv.check(lambda x, **given: norm(x, times_mean=2, **given), operation="layernorm", backward=True)
    assert report.verdict == "wrong" and first_names(report) == ["norm_gradient_mean_twice"], str(report)
    assert report.headline.startswith("WRONG: equals a LayerNorm with the mean of dy·gamma taken away twice in dx")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # one token of one channel has no such variance
def test_the_unbiased_variance_is_named():
    report = qkv.check(lambda x, **given: norm(x, ddof=1, **given), operation="layernorm", backward=False)
    assert report.verdict == "wrong" and first_names(report) == ["norm_unbiased"], str(report)


def test_a_numpy_decode_is_right_and_one_that_writes_a_slot_late_is_named():
    assert qkv.check(numpy_decode, operation="decode").verdict == "right"
    report = qkv.check(lambda *given: numpy_decode(*given, late=1), operation="decode")
    assert report.verdict == "wrong" and first_names(report) == ["cache_slot_skipped"], str(report)


def test_a_cache_that_comes_back_in_a_dict_is_judged_too():
    def functional(q, k, v, k_cache, v_cache, cache_lengths):
        k_cache, v_cache = k_cache.copy(), v_cache.copy()
        o = numpy_decode(q, k, v, k_cache, v_cache, cache_lengths)
        return {"o": o, "k_cache": k_cache, "v_cache": v_cache * 2}

    report = qkv.check(functional, operation="decode")
    assert report.verdict == "wrong", str(report)
    wrong = {tensor["name"] for probe in report.probes for tensor in probe["tensors"] if not tensor["right"]}
    assert wrong == {"cache_v"}


def test_torch_takes_its_own_gradients_of_a_layernorm():
    torch = pytest.importorskip("torch")

    def layer_norm(x, *, gamma, beta, eps):
        return torch.nn.functional.layer_norm(x, x.shape[-1:], gamma, beta, eps)

    report = qkv.check(layer_norm, operation="layernorm", arrays="torch", backward=True)
    assert report.verdict == "right", str(report)
    assert "dgamma" in {tensor["name"] for probe in report.probes for tensor in probe["tensors"]}


@pytest.mark.parametrize(("options", "words"), [
    ({"operation": "mlp"}, "operation 'mlp' is unknown; expected some of attention, decode, layer, layernorm"),
    ({"operation": "decode", "backward": True}, "a decode step has no gradient; leave backward out"),
    ({"operation": "layer", "corner": "top_left"}, "corner is a question of attention, not of layer"),
])
def test_arguments_that_do_not_fit_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        qkv.check(norm, **options)

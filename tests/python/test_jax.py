"""qkv.jax: the values of qkv.attention, the gradients of a plain formula, under jit, grad and vmap."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import qkv
from conftest import normal, plain_attention

os.environ.setdefault("JAX_PLATFORMS", "cpu")
jax = pytest.importorskip("jax", reason="JAX is not installed: pip install jax")
if not qkv._core.jax_handlers():
    pytest.skip("qkv was built without JAX's headers", allow_module_level=True)

import jax.numpy as jnp  # noqa: E402
import qkv.jax  # noqa: E402

B, H, HKV, TQ, TK, D, DV = 2, 4, 2, 5, 7, 8, 6
_BOUND = {"float64": 1e-12, "float32": 2e-5, "float16": 2e-2, "bfloat16": 1e-1}


def _qkv(dtype="float32", batch=B):
    return tuple(jnp.asarray(normal(i, *shape), dtype) for i, shape in
                 enumerate([(batch, H, TQ, D), (batch, HKV, TK, D), (batch, HKV, TK, DV)]))


def _formula(q, k, v, *, scale=None, keep=None, bias=None, softcap=None, sinks=None):
    """Attention written out in JAX, for gradients by its own rules."""
    group = q.shape[1] // k.shape[1]
    k, v = jnp.repeat(k, group, axis=1), jnp.repeat(v, group, axis=1)
    s = jnp.einsum("bhid,bhjd->bhij", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap is not None:
        s = softcap * jnp.tanh(s / softcap)
    if bias is not None:
        s = s + bias
    if keep is not None:
        s = jnp.where(keep, s, -jnp.inf)
    if sinks is not None:
        s = jnp.concatenate([s, jnp.broadcast_to(sinks[None, :, None, None], (*s.shape[:3], 1))], axis=-1)
    lse = jax.nn.logsumexp(s, axis=-1)
    p = jnp.exp(s - lse[..., None])[..., :k.shape[2]]
    return jnp.einsum("bhij,bhjd->bhid", p, v), lse


def _close(found, expected, dtype="float32"):
    found, expected = (np.asarray(x, dtype=np.float64) for x in (found, expected))
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= _BOUND[dtype] * max(1, np.abs(expected).max())


# What qkv.attention takes, and the same for the formula.
_POSITIONS = np.arange(TQ)[:, None] + (TK - TQ) >= np.arange(TK)[None, :]
_KEEP = normal(9, B, 1, TQ, TK) > -1
_KEY_MASK = np.arange(TK)[None, :] < np.array([[TK], [3]])
_CASES = {
    "nothing": ({}, {}),
    "scale": ({"scale": 0.3}, {"scale": 0.3}),
    "softcap": ({"softcap": 2.0}, {"softcap": 2.0}),
    "causal": ({"causal": True, "corner": "bottom_right"}, {"keep": _POSITIONS}),
    "offset": ({"causal": True, "offset": 2}, {"keep": _POSITIONS}),
    "window": ({"window": (2, 0), "corner": "bottom_right"},
               {"keep": _POSITIONS & (np.arange(TQ)[:, None] + (TK - TQ) - np.arange(TK)[None, :] <= 2)}),
    "keep": ({"keep": _KEEP}, {"keep": _KEEP}),
    "bias": ({"bias": normal(8, H, 1, TK)}, {"bias": normal(8, H, 1, TK)}),
    "key_mask": ({"key_mask": _KEY_MASK}, {"keep": _KEY_MASK[:, None, None, :]}),
    "key_lengths": ({"key_lengths": np.array([TK, 3])}, {"keep": _KEY_MASK[:, None, None, :]}),
    "sinks": ({"sinks": normal(7, H)}, {"sinks": normal(7, H)}),
    "slopes": ({"slopes": "alibi", "corner": "bottom_right"},
               {"bias": -np.array(qkv._core.alibi_slopes(H))[:, None, None]
                * np.abs(np.arange(TQ)[:, None] + (TK - TQ) - np.arange(TK)[None, :])}),
}
_each_option = pytest.mark.parametrize(("options", "written"), _CASES.values(), ids=_CASES.keys())


@_each_option
def test_it_gives_what_qkv_attention_gives(options, written):
    q, k, v = _qkv()
    o, lse = qkv.jax.attention(q, k, v, **options, return_lse=True)
    expected = qkv.attention(*(np.asarray(x) for x in (q, k, v)), **options, return_lse=True)
    assert np.array_equal(o, expected[0]) and np.array_equal(lse, expected[1])


@_each_option
def test_its_gradients_are_those_of_the_formula(options, written):
    q, k, v = _qkv()
    d_o, d_lse = jnp.asarray(normal(4, B, H, TQ, DV)), jnp.asarray(normal(5, B, H, TQ))
    learned = {name: jnp.asarray(options[name]) for name in ("bias", "sinks") if name in options}
    rest = {name: value for name, value in options.items() if name not in learned}

    def of_qkv(q, k, v, learned):
        o, lse = qkv.jax.attention(q, k, v, **rest, **learned, return_lse=True)
        return (o * d_o).sum() + (lse * d_lse).sum()

    def of_formula(q, k, v, learned):
        o, lse = _formula(q, k, v, **(written | learned))
        return (o * d_o).sum() + (lse * d_lse).sum()

    found = jax.grad(of_qkv, argnums=(0, 1, 2, 3))(q, k, v, learned)
    jax.tree.map(_close, found, jax.grad(of_formula, argnums=(0, 1, 2, 3))(q, k, v, learned))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_every_type_comes_back_as_it_came(dtype):
    with jax.enable_x64(dtype == "float64"):
        q, k, v = _qkv(dtype)
        o, lse = qkv.jax.attention(q, k, v, return_lse=True)
        assert o.dtype == q.dtype and lse.dtype == (jnp.float64 if dtype == "float64" else jnp.float32)
        _close(o, plain_attention(q, k, v)[0], dtype)
        gradients = jax.grad(lambda *a: qkv.jax.attention(*a).astype(jnp.float32).sum(), argnums=(0, 1, 2))(q, k, v)
        wide = tuple(x.astype(jnp.float32) for x in (q, k, v))
        expected = jax.grad(lambda *a: _formula(*a)[0].sum(), argnums=(0, 1, 2))(*wide)
        for one, right in zip(gradients, expected, strict=True):
            assert one.dtype == q.dtype
            _close(one, right, "float32" if dtype == "float64" else dtype)


def test_a_bias_and_sinks_keep_their_own_type_in_their_gradients():
    q, k, v = _qkv("bfloat16")
    bias, sinks = jnp.asarray(normal(8, TQ, TK)), jnp.asarray(normal(7, H), jnp.bfloat16)
    d_bias, d_sinks = jax.grad(lambda b, s: qkv.jax.attention(q, k, v, bias=b, sinks=s).astype(jnp.float32).sum(),
                               argnums=(0, 1))(bias, sinks)
    assert (d_bias.shape, d_bias.dtype) == (bias.shape, jnp.float32) and d_sinks.dtype == jnp.bfloat16


def test_only_the_gradients_that_are_asked_for_are_computed():
    q, k, v = _qkv()
    bias = jnp.asarray(normal(8, TQ, TK))

    def results(argnums):
        text = str(jax.make_jaxpr(jax.grad(lambda q, k, v, bias: qkv.jax.attention(q, k, v, bias=bias).sum(), argnums))(
            q, k, v, bias))
        return [name for name in ("dq", "dk", "dv", "dbias", "d_lse") if name in text]

    assert results((0,)) == ["dq"]
    assert results((1, 3)) == ["dk", "dbias"]


def test_it_is_jax_nn_dot_product_attention_in_its_layout():
    q, k, v = (jnp.swapaxes(x, 1, 2) for x in _qkv())
    o = qkv.jax.attention(q, k, v, layout="bthd", causal=True, corner="top_left")
    v_wide = jnp.pad(v, ((0, 0), (0, 0), (0, 0), (0, D - DV)))  # it wants k and v of one width
    _close(o, jax.nn.dot_product_attention(q, k, v_wide, is_causal=True)[..., :DV])
    lse = qkv.jax.attention(q, k, v, layout="bthd", return_lse=True)[1]
    assert lse.shape == (B, H, TQ)


def test_lower_ranks_give_lower_ranks():
    q, k, v = (x[0] for x in _qkv())
    o, lse = qkv.jax.attention(q, k, v, return_lse=True, key_mask=np.arange(TK) < 4)
    assert o.shape == (H, TQ, DV) and lse.shape == (H, TQ)
    o, lse = qkv.jax.attention(q[0], k[0], v[0], return_lse=True)
    assert o.shape == (TQ, DV) and lse.shape == (TQ,)
    gradient = jax.grad(lambda q: qkv.jax.attention(q, k[0], v[0]).sum())(q[0])
    _close(gradient, jax.grad(lambda q: _formula(q, k[None, :1], v[None, :1])[0].sum())(q[None, :1])[0, 0])


def test_jit_gives_the_same_bits_and_compiles_once():
    q, k, v = _qkv()
    traced = []

    @jax.jit
    def compiled(q, k, v):
        traced.append(1)
        return qkv.jax.attention(q, k, v, causal=True, corner="top_left")

    expected = qkv.jax.attention(q, k, v, causal=True, corner="top_left")
    assert np.array_equal(compiled(q, k, v), expected) and np.array_equal(compiled(q, k, v), expected)
    assert traced == [1]


def _stacked(count=3):
    return tuple(jnp.stack([x + i for i in range(count)]) for x in _qkv())


@pytest.mark.parametrize("mapped", [(0, 0, 0), (0, None, None), (None, 0, 0), (0, 0, None)])
def test_vmap_gives_what_a_loop_gives_and_so_do_its_gradients(mapped):
    arrays = tuple(x if axis == 0 else x[0] for x, axis in zip(_stacked(), mapped, strict=True))

    def one(*arrays):
        return qkv.jax.attention(*arrays, causal=True, corner="bottom_right")

    def at(i, arrays=arrays):
        return tuple(x[i] if axis == 0 else x for x, axis in zip(arrays, mapped, strict=True))

    found = jax.vmap(one, in_axes=mapped)(*arrays)
    _close(found, np.stack([one(*at(i)) for i in range(3)]))
    gradients = jax.grad(lambda *a: (jax.vmap(one, in_axes=mapped)(*a) ** 2).sum(), argnums=(0, 1, 2))(*arrays)
    expected = jax.grad(lambda *a: sum((one(*at(i, a)) ** 2).sum() for i in range(3)), argnums=(0, 1, 2))(*arrays)
    jax.tree.map(_close, gradients, expected)


def test_vmap_of_vmap_over_another_axis_with_masks_and_sinks():
    q, k, v = _stacked(2)
    q = jnp.stack([q, 2 * q, 3 * q], axis=2)  # [2,B,3,H,TQ,D]
    bias, sinks = jnp.asarray(normal(8, 3, H, 1, TK)), jnp.asarray(normal(7, 2, H))
    lengths = jnp.asarray([[TK, 3], [2, TK], [1, 1]])

    def one(q, k, v, bias, sinks, lengths):
        return qkv.jax.attention(q, k, v, bias=bias, sinks=sinks, key_lengths=lengths)

    inner = jax.vmap(one, in_axes=(1, None, None, 0, None, 0))
    found = jax.vmap(inner, in_axes=(0, 0, 0, None, 0, None))(q, k, v, bias, sinks, lengths)
    assert found.shape == (2, 3, B, H, TQ, DV)
    for i in range(2):
        for j in range(3):
            _close(found[i, j], one(q[i, :, j], k[i], v[i], bias[j], sinks[i], lengths[j]))


def test_vmap_over_single_heads_is_one_call_of_all_of_them():
    q, k, v = _qkv()
    k, v = (jnp.repeat(x, H // HKV, axis=1) for x in (k, v))
    _close(jax.vmap(jax.vmap(qkv.jax.attention))(q, k, v), qkv.jax.attention(q, k, v))


def test_empty_batches_and_rows_without_a_key_are_zero():
    q, k, v = _qkv()
    o, lse = qkv.jax.attention(q, k, v, keep=np.zeros(TK, dtype=bool), return_lse=True)
    assert not np.asarray(o).any() and np.isneginf(lse).all()
    assert qkv.jax.attention(q[:0], k[:0], v[:0]).shape == (0, H, TQ, DV)
    assert jax.vmap(qkv.jax.attention)(*(x[:0] for x in _stacked())).shape == (0, B, H, TQ, DV)


def test_mistakes_are_named_before_anything_is_compiled():
    q, k, v = _qkv()
    with pytest.raises(ValueError, match=r"k \[B,Hkv,Tk,D\] is \[2,2,7,4\], but D is 8"):
        jax.jit(lambda q, k: qkv.jax.attention(q, k, v))(q, k[..., :4])
    with pytest.raises(ValueError, match="corner"):
        qkv.jax.attention(q, k, v, causal=True)
    with pytest.raises(TypeError, match="scale is traced; expected numbers that are known when"):
        jax.grad(lambda scale: qkv.jax.attention(q, k, v, scale=scale).sum())(0.5)
    with pytest.raises(TypeError, match="key_lengths is float32"):
        qkv.jax.attention(q, k, v, key_lengths=jnp.ones(B))
    with pytest.raises(ValueError, match="sinks"):
        qkv.jax.attention(q, k, v, sinks=jnp.ones(3))
    with pytest.raises(TypeError, match="threads is a str; expected a whole number"):
        qkv.jax.attention(q, k, v, threads="two")
    with pytest.raises(ValueError, match="window needs two numbers"):
        qkv.jax.attention(q, k, v, window=(1,))


def test_it_works_inside_scan_checkpoint_and_threads():
    q = _qkv()[0]

    def step(x, _):
        return qkv.jax.attention(x, x, x, causal=True), None

    def scanned(x):
        return jax.lax.scan(jax.checkpoint(step), x, None, length=3)[0].sum()

    def written(x):
        for _ in range(3):
            x = step(x, None)[0]
        return x.sum()

    _close(jax.grad(scanned)(q), jax.grad(written)(q))
    compiled, found = jax.jit(written), []
    threads = [threading.Thread(target=lambda: found.append(float(compiled(q)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [float(compiled(q))] * 4


def test_key_lengths_that_are_known_late_are_refused_when_it_runs():
    q, k, v = _qkv()
    with pytest.raises(jax.errors.JaxRuntimeError, match="key_lengths"):
        jax.jit(lambda n: qkv.jax.attention(q, k, v, key_lengths=n))(jnp.asarray([8, 1])).block_until_ready()


def test_a_jaxlib_that_refuses_the_handlers_is_named_and_jax_goes_on(monkeypatch):
    def refuses(name, handler, platform):
        raise jax.errors.JaxRuntimeError("INVALID_ARGUMENT: the handler's API version (0.3) is incompatible")

    qkv.jax._register.cache_clear()
    monkeypatch.setattr(jax.ffi, "register_ffi_target", refuses)
    with pytest.raises(RuntimeError, match=f"another jaxlib than {jax.lib.__version__}.*version .0.3. is incompatible"):
        qkv.jax.attention(*_qkv())
    monkeypatch.undo()
    assert qkv.jax.attention(*_qkv()).shape == (B, H, TQ, DV)


def test_second_order_and_forward_mode_are_refused():
    q, k, v = _qkv()
    with pytest.raises(ValueError, match="cannot be differentiated"):
        jax.grad(lambda q: jax.grad(lambda q: qkv.jax.attention(q, k, v).sum())(q).sum())(q)
    with pytest.raises(TypeError, match="forward-mode"):
        jax.jvp(lambda q: qkv.jax.attention(q, k, v), (q,), (q,))


def test_qkv_attention_still_takes_arrays_of_jax():
    q, k, v = _qkv()
    o = qkv.attention(q, k, v)
    assert isinstance(o, jax.Array) and np.array_equal(o, qkv.jax.attention(q, k, v))


def test_without_jax_it_says_what_to_install_and_qkv_itself_imports_none():
    code = ("import sys; sys.modules['jax'] = None; import qkv\n"
            "try: import qkv.jax\nexcept ImportError as error: print(error)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "qkv.jax needs JAX, which is not installed: pip install jax\n"
    subprocess.run([sys.executable, "-c", "import sys, qkv; assert 'jax' not in sys.modules"], check=True)

"""qkv.attention_decode against one forward call: contiguous and paged caches, in place, errors that change nothing."""

import ml_dtypes
import numpy as np
import pytest
import qkv
from conftest import DLPack, counted_beside, normal, plain_attention

TOLERANCE = {np.float64: 1e-13, np.float32: 2e-6, np.float16: 4e-3, ml_dtypes.bfloat16: 3e-2}


def sequence(dtype=np.float32, b=2, hq=6, hkv=2, t=9, d=7, dv=5):
    return tuple(normal(seed, b, heads, t, width, dtype=dtype) for seed, heads, width in
                 ((1, hq, d), (2, hkv, d), (3, hkv, dv)))


def empty_cache(k, v, capacity=12, lengths=np.int64):
    """A contiguous cache whose slots are NaN until they are written."""
    b, hkv = k.shape[:2]
    return qkv.KeyValueCache(np.full((b, hkv, capacity, k.shape[3]), np.nan, k.dtype),
                             np.full((b, hkv, capacity, v.shape[3]), np.nan, v.dtype), np.zeros(b, lengths))


def decode_all(q, k, v, cache, steps, **options):
    """The rows of a sequence, taken in by steps of so many tokens."""
    rows, at = [], 0
    for step in steps:
        part = slice(at, at + step)
        rows.append(qkv.attention_decode(q[:, :, part], k[:, :, part], v[:, :, part], cache, **options))
        at += step
    return np.concatenate(rows, axis=2)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=lambda t: t.__name__)
def test_prefill_and_decode_give_the_rows_of_one_forward_call(dtype):
    q, k, v = sequence(dtype)
    cache = empty_cache(k, v)
    found = decode_all(q, k, v, cache, (4, 1, 1, 3))
    assert found.dtype == dtype
    keep = np.broadcast_to(np.tri(9, dtype=bool), (2, 6, 9, 9))
    np.testing.assert_allclose(found.astype(np.float64), plain_attention(q, k, v, keep=keep)[0], atol=TOLERANCE[dtype])
    np.testing.assert_array_equal(cache.lengths, [9, 9])
    np.testing.assert_array_equal(cache.k[:, :, :9], k)
    np.testing.assert_array_equal(cache.v[:, :, :9], v)
    assert np.isnan(cache.k[:, :, 9:].astype(np.float32)).all()


def test_a_paged_cache_gives_the_same_bits_as_a_contiguous_one():
    q, k, v = sequence()
    want = decode_all(q, k, v, empty_cache(k, v), (4, 1, 4))
    pages = np.random.default_rng(0).permutation(10)[:6].reshape(2, 3).astype(np.int32)
    paged = qkv.KeyValueCache(np.full((10, 2, 4, 7), np.nan, np.float32), np.full((10, 2, 4, 5), np.nan, np.float32),
                              np.zeros(2, np.int32), pages)
    np.testing.assert_array_equal(decode_all(q, k, v, paged, (4, 1, 4)), want)
    np.testing.assert_array_equal(paged.lengths, [9, 9])
    np.testing.assert_array_equal(paged.k[pages[1, 2], :, 0], k[1, :, 8])


def test_sequences_of_unequal_lengths_each_see_their_own():
    q, k, v = sequence(np.float64)
    cache = empty_cache(k, v)
    cache.k[:, :, :9], cache.v[:, :, :9] = k, v
    cache.lengths[:] = [9, 4]
    o, lse = qkv.attention_decode(q[:, :, :1], None, None, cache, return_lse=True)
    np.testing.assert_array_equal(cache.lengths, [9, 4])
    for b, length in enumerate((9, 4)):
        part = slice(b, b + 1)
        want, want_lse = plain_attention(q[part, :, :1], k[part, :, :length], v[part, :, :length])
        np.testing.assert_allclose(o[part], want, atol=1e-13)
        np.testing.assert_allclose(lse[part], want_lse, atol=1e-13)


def test_options_mean_what_they_mean_in_one_forward_call():
    q, k, v = sequence(np.float64)
    options = {"scale": 0.3, "softcap": 2.0, "window": (3, 0), "slopes": "alibi", "sinks": [0.1] * 6}
    want = qkv.attention(q, k, v, causal=True, **options)
    np.testing.assert_allclose(decode_all(q, k, v, empty_cache(k, v), (5, 2, 2), **options), want, atol=1e-13)


def test_layouts_ranks_and_strided_lengths():
    q, k, v = sequence()
    want = decode_all(q, k, v, empty_cache(k, v), (9,))
    tokens_first = [x.swapaxes(1, 2) for x in (q, k, v)]
    lengths = np.zeros((2, 2), np.int32)
    cache = qkv.KeyValueCache(np.zeros((2, 12, 2, 7), np.float32), np.zeros((2, 12, 2, 5), np.float32), lengths[:, 1])
    found = qkv.attention_decode(*tokens_first, cache, layout="bthd")
    np.testing.assert_array_equal(found.swapaxes(1, 2), want)
    np.testing.assert_array_equal(lengths, [[0, 9], [0, 9]])
    # One sequence without an axis for the batch.
    cache = qkv.KeyValueCache(np.zeros((2, 12, 7), np.float32), np.zeros((2, 12, 5), np.float32), np.zeros(1, int))
    np.testing.assert_array_equal(qkv.attention_decode(q[1], k[1], v[1], cache), want[1])


def test_out_is_written_and_returned():
    q, k, v = sequence()
    out = np.full((2, 6, 9, 5), 7, np.float32)
    assert qkv.attention_decode(q, k, v, empty_cache(k, v), out=out) is out
    np.testing.assert_array_equal(out, decode_all(q, k, v, empty_cache(k, v), (9,)))


def test_the_number_of_threads_changes_no_bit():
    q, k, v = sequence(t=700, d=64, dv=64)
    found = [decode_all(q, k, v, empty_cache(k, v, 800), (699, 1), threads=threads) for threads in (1, 2, 5)]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_the_gil_is_free_while_it_computes():
    q, k, v = sequence(b=1, hq=8, hkv=8, t=1000, d=64, dv=64)
    cache = empty_cache(k, v, 1000)
    assert counted_beside(lambda: qkv.attention_decode(q, k, v, cache, threads=1, target="portable")) > 100


def full_cache(k, v):
    cache = empty_cache(k, v)
    cache.lengths[1] = 11
    return cache


@pytest.mark.parametrize("make, message", [
    (full_cache, "the cache is full: batch 1 holds 11 tokens and 9 more exceed capacity = 12"),
    (lambda k, v: empty_cache(k.astype(np.float64), v.astype(np.float64)), "cache.k is f64 but q is f32"),
    (lambda k, v: empty_cache(k[:1], v[:1]), r"cache.k \[B,Hkv,capacity,D\] is \[1,2,12,7\]"),
    (lambda k, v: qkv.KeyValueCache(np.zeros((3, 2, 4, 7), np.float32), np.zeros((3, 2, 4, 5), np.float32),
                                    np.zeros(2, int), np.array([[0, 1, 3], [2, 2, 2]])), "names page 3"),
    (lambda k, v: qkv.KeyValueCache(k, v, np.zeros(2, int)), "overlaps the memory of k"),
])
def test_a_cache_that_does_not_fit_is_a_value_error_and_nothing_changes(make, message):
    q, k, v = sequence()
    cache = make(k, v)
    before = [np.array(x) for x in (cache.k, cache.v, cache.lengths)]
    with pytest.raises(ValueError, match=message):
        qkv.attention_decode(q, k, v, cache)
    for array, was in zip((cache.k, cache.v, cache.lengths), before):
        np.testing.assert_array_equal(array, was)


def test_new_keys_without_values_are_refused():
    q, k, v = sequence()
    with pytest.raises(ValueError, match="k is given without v"):
        qkv.attention_decode(q, k, None, empty_cache(k, v))


@pytest.mark.parametrize("name", ["k", "v", "lengths"])
def test_a_read_only_array_of_the_cache_is_refused(name):
    q, k, v = sequence()
    cache = empty_cache(k, v)
    getattr(cache, name).flags.writeable = False
    with pytest.raises(TypeError, match=f"cache.{name} is read-only"):
        qkv.attention_decode(q, k, v, cache)
    assert not cache.lengths.any()


def test_anything_with_dlpack_holds_a_cache_unless_it_is_immutable():
    q, k, v = sequence()
    want, cache = empty_cache(k, v), empty_cache(k, v)
    wrapped = qkv.KeyValueCache(DLPack(cache.k), DLPack(cache.v), DLPack(cache.lengths))
    found = qkv.attention_decode(DLPack(q), DLPack(k), DLPack(v), wrapped)
    np.testing.assert_array_equal(np.asarray(found), qkv.attention_decode(q, k, v, want))
    np.testing.assert_array_equal(cache.k, want.k)
    np.testing.assert_array_equal(cache.lengths, [9, 9])
    of_jax = type("Array", (DLPack,), {"__module__": "jaxlib"})
    with pytest.raises(TypeError, match="cache.v is read-only"):
        qkv.attention_decode(q, k, v, qkv.KeyValueCache(cache.k, of_jax(cache.v), cache.lengths))


def test_a_wrong_kind_is_a_type_error_that_names_it():
    q, k, v = sequence()
    good = empty_cache(k, v)
    for cache, message in [
        ((good.k, good.v, good.lengths), "cache is a tuple; expected a qkv.KeyValueCache"),
        (qkv.KeyValueCache(good.k, good.v, [0, 0]), r"cache.lengths is a list; expected an array \[B\] of int"),
        (qkv.KeyValueCache(good.k, good.v, np.zeros(2)), r"cache.lengths is f64 \[2\]; expected an array \[B\] of int"),
        (qkv.KeyValueCache(good.k, good.v, np.zeros((2, 1), int)), r"cache.lengths is i64 \[2,1\]; expected an array"),
        (qkv.KeyValueCache(good.k[:, :, ::-1], good.v, good.lengths), "cache.k has negative strides"),
        (qkv.KeyValueCache(good.k, good.v, good.lengths, [[1]]),
         r"cache.block_table is a list; expected an array \[B,max_pages\] of int"),
    ]:
        with pytest.raises(TypeError, match=message):
            qkv.attention_decode(q, k, v, cache)

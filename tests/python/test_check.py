"""qkv.check on right implementations, on mutants of a NumPy one, and on functions that misbehave."""

import functools
import importlib.util
import json

import numpy as np
import pytest
import qkv
from numpy_attention import mutant, numpy_attention


def names_of(report):
    return [mistake["names"] for mistake in report.mistakes]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("backward", [False, True])
def test_qkv_s_own_attention_is_right(dtype, backward):
    report = qkv.check(qkv.adapters.qkv_attention, dtype=dtype, backward=backward)
    assert report.verdict == "right", str(report)
    assert report.document["counts"]["refused"] == 0 and report.document["same_bits"]


def test_qkv_attention_is_right_as_it_is():
    report = qkv.check(qkv.attention)
    assert report.verdict == "right", str(report)
    assert {"lse", "o"} == {tensor["name"] for probe in report.probes for tensor in probe["tensors"]}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("backward", [False, True])
def test_a_numpy_implementation_is_right(backward, seed):
    report = qkv.check(numpy_attention, backward=backward, seed=seed)
    assert report.verdict == "right", str(report)
    refused = [probe for probe in report.probes if probe["end"] == "refused"]
    assert refused and all("cu_seqlens" in probe["message"] for probe in refused)


MUTANTS = {
    "scale_twice": ("scale = q.dtype.type(1 / math.sqrt(d) if scale is None else scale)",
                    "scale = q.dtype.type((1 / math.sqrt(d) if scale is None else scale) ** 2)"),
    "scale_ignored": ("1 / math.sqrt(d) if scale is None else scale", "1 / math.sqrt(d)"),
    "head_map_tiled": ("np.arange(hq) // (hq // hkv)", "np.arange(hq) % hkv"),
    "causal_strict": ("j <= i\n", "j < i\n"),
    "window_left_plus_1": ("j >= i - window[0]", "j >= i - window[0] - 1"),
    "mask_inverted": ("allowed &= mask", "allowed &= ~mask"),
    "keep_inverted": ("for mask in (keep,", "for mask in (None if keep is None else ~keep,"),
    "key_mask_ignored": ("None if key_mask is None else key_mask[:, None, None, :]", "None"),
    "lengths_ignored": ("np.full(b, tk) if key_lengths is None else key_lengths", "np.full(b, tk)"),
    "bias_heads_reversed": ("s + bias", "s + (bias[::-1] if bias.ndim == 3 else bias)"),
    "softcap_formula": ("s = q.dtype.type(softcap) * capped", "s = s * capped"),
    "slopes_ignored": ("if slopes is not None", "if False"),
    "sink_ignored": ("total = total + np.exp(sinks.astype(q.dtype)[:, None, None] - top)", "pass"),
    "empty_row_nan": ("np.divide(e, total, out=np.zeros_like(e), where=total > 0)",
                      "np.where(total > 0, e / np.where(total > 0, total, 1), np.nan)"),
    "lse_base_2": ("(np.log(total) + top)", "((np.log(total) + top) / math.log(2))"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_named(name):
    report = qkv.check(mutant(*MUTANTS[name]), backward=False, seed=11)
    assert report.verdict == "wrong" and names_of(report)[0] == [name], str(report)
    assert report.headline.startswith("WRONG: equals attention with ")
    assert qkv.check(mutant(*MUTANTS[name]), backward=False, quick=True).verdict == "wrong"


GRADIENT_MUTANTS = {
    "gradient_dk_unscaled": ("of_kv(scale * through", "of_kv(through"),
    "gradient_without_row_term": ("- delta[..., None])", "+ (0 if d_lse is None else d_lse[..., None]))"),
    "gradient_softcap_ignored": ("ds if softcap is None else ds * (1 - capped**2)", "ds"),
    "gradient_group_not_summed": (".sum(axis=2)", "[:, :, -1]"),
    "gradient_sink_zero": ("-(np.exp(sinks.astype(q.dtype)[:, None] - lse) * delta)", "0 * delta"),
    "gradient_lse_ignored": ("0 if d_lse is None else d_lse", "0"),
}


@pytest.mark.parametrize("name", GRADIENT_MUTANTS)
def test_a_mutant_of_the_gradient_is_named(name):
    report = qkv.check(mutant(*GRADIENT_MUTANTS[name]), seed=11)
    assert report.verdict == "wrong" and names_of(report)[0] == [name], str(report)


def simple(q, k, v):
    group = q.shape[1] // k.shape[1]
    s = q @ np.repeat(k, group, axis=1).swapaxes(-1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ np.repeat(v, group, axis=1)


def test_what_a_function_does_not_take_is_refused_and_said():
    report = qkv.check(simple)
    assert report.verdict == "right"
    assert report.document["counts"]["answered"] > 10
    assert "it takes no keep" in str(report)


def test_an_implementation_that_refuses_everything_cannot_be_judged():
    def refuses(q, k, v, **options):
        raise NotImplementedError("not today")

    report = qkv.check(refuses)
    assert report.verdict == "cannot judge" and "refused" in report.headline


@pytest.mark.parametrize("corner", ["top_left", "bottom_right"])
def test_the_corner_of_a_function_that_takes_none_is_found(corner):
    def causal_only(q, k, v, causal=False):
        return numpy_attention(q, k, v, causal=causal, corner=corner)

    for report in (qkv.check(causal_only), qkv.check(causal_only, dtype="float64"),
                   qkv.check(causal_only, corner=corner)):
        assert report.verdict == "right", str(report)
        assert any("causal" in probe["problem"] and probe["end"] == "answered" for probe in report.probes)
    other = {"top_left": "bottom_right", "bottom_right": "top_left"}[corner]
    report = qkv.check(causal_only, corner=other)
    assert report.verdict == "wrong" and names_of(report)[0] == [f"corner_{corner}"], str(report)


def test_a_function_without_a_corner_may_answer_anything_when_it_is_looked_for():
    def of_some_kind(q, k, v, causal=False):
        return [[1, 2], [3]] if causal else simple(q, k, v)

    report = qkv.check(of_some_kind)
    assert report.verdict == "wrong" and "o is a list" in report.headline


def test_an_object_that_can_be_called_is_a_function_too():
    class Layer:
        def __call__(self, q, k, v):
            return simple(q, k, v)

    assert qkv.check(Layer()).verdict == "right"
    assert repr(qkv.check(Layer())).startswith("<Layer: RIGHT")
    assert qkv.check(functools.partial(numpy_attention, softcap=2.0), quick=True).verdict == "wrong"


def test_a_policy_can_be_accepted():
    nan = mutant(*MUTANTS["empty_row_nan"])
    assert qkv.check(nan, backward=False).verdict == "wrong"
    assert qkv.check(nan, backward=False, accept=["empty_row_nan"]).verdict == "right"


def test_an_exception_is_a_finding_with_its_message():
    def raises(q, k, v, causal=False):
        if causal:
            raise IndexError("row 3 of 3\nmore")
        return simple(q, k, v)

    report = qkv.check(raises)
    assert report.verdict == "wrong" and "it raised IndexError: row 3 of 3" in report.headline
    assert "more;" not in report.headline


@pytest.mark.parametrize("wrong, message", [
    (lambda o: o[:, :, :, :-1], "o"),
    (lambda o: None, "it gave no o"),
    (lambda o: o.tolist(), "o is a list"),
    (lambda o: o > 0, "bool"),
    (lambda o: {"out": o}, "it gave 'out'"),
    (lambda o: (o, o), "lse"),
], ids=["short", "none", "list", "bool", "name", "lse"])
def test_an_answer_of_another_shape_or_kind_is_a_finding(wrong, message):
    report = qkv.check(lambda q, k, v: wrong(simple(q, k, v)))
    assert report.verdict == "wrong" and message in report.headline, report.headline


def test_a_function_that_changes_its_inputs_is_found_out():
    def changes(q, k, v):
        k *= 1.5
        return simple(q, k / 1.5, v)

    report = qkv.check(changes)
    assert report.verdict == "wrong" and "it changed k" in report.headline


def test_a_function_that_gives_other_bits_each_time_is_seen():
    calls = []

    def restless(q, k, v):
        calls.append(0)
        return simple(q, k, v) * np.float32(1 + 1e-7 * (len(calls) % 2))

    assert not qkv.check(restless).document["same_bits"]


def test_arrays_have_the_strides_that_the_problem_says():
    seen = set()

    def strides(q, k, v):
        seen.add(q.strides[1] > q.strides[2])
        return simple(q, k, v)

    assert qkv.check(strides).verdict == "right" and seen == {True, False}


def test_what_ctrl_c_raises_comes_out():
    def interrupted(q, k, v):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        qkv.check(interrupted)


def test_progress_is_told_and_may_stop_the_run():
    told = []
    qkv.check(simple, progress=lambda done, total: told.append((done, total)))
    assert told[0][0] == 1 and all(done <= total for done, total in told) and told[-1][0] == len(told)

    def stop(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        qkv.check(simple, progress=stop)


@pytest.mark.parametrize("options, error, message", [
    ({"arrays": "cupy"}, ValueError, "arrays 'cupy' is unknown"),
    ({"dtype": "int32"}, ValueError, "dtype is int32"),
    ({"accept": ["scale_twice"]}, ValueError, "accept has 'scale_twice'"),
    ({"accept": [3]}, TypeError, "accept"),
    ({"corner": "left"}, ValueError, "corner 'left' is unknown"),
    ({"seed": "x"}, TypeError, "seed is a str"),
])
def test_misuse_raises(options, error, message):
    with pytest.raises(error, match=message):
        qkv.check(simple, **options)


def test_what_is_no_function_is_misuse():
    with pytest.raises(TypeError, match="fn is a int"):
        qkv.check(3)
    with pytest.raises(ValueError, match="leave corner out"):
        qkv.check(qkv.attention, corner="top_left")


def test_the_report_is_a_document():
    report = qkv.check(mutant(*MUTANTS["scale_twice"]), quick=True, backward=False)
    document = json.loads(report.to_json())
    assert document["kind"] == "check" and document["verdict"] == report.verdict == "wrong"
    assert document == report.document and report.smallest == document["smallest"]
    assert repr(report) == f"<numpy_attention: {report.headline}>"
    assert report.smallest in str(report) and "wrong, worst o[" in str(report)


def test_the_assertion_has_the_headline_for_its_message():
    assert qkv.testing.assert_attention(simple).verdict == "right"
    with pytest.raises(AssertionError, match="WRONG: equals attention with the scale applied twice") as caught:
        qkv.testing.assert_attention(mutant(*MUTANTS["scale_twice"]), quick=True, backward=False)
    assert "wrong, worst" in str(caught.value)
    with pytest.raises(AssertionError, match="CANNOT JUDGE"):
        qkv.testing.assert_attention(simple, backward=True)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("backward", [False, True])
def test_pytorch_s_attention_is_right(dtype, backward):
    report = qkv.check(qkv.adapters.torch_sdpa, dtype=dtype, backward=backward)
    assert report.verdict == "right", str(report)


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
def test_jax_s_attention_is_right_but_for_rows_that_see_no_key():
    report = qkv.check(qkv.adapters.jax_attention, quick=True)
    assert ["empty_row_mean"] in names_of(report), str(report)
    report = qkv.check(qkv.adapters.jax_attention, quick=True, accept=["empty_row_mean"])
    assert report.verdict == "right", str(report)


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
def test_jax_s_gradients_are_right_and_those_of_a_mean_reach_v():
    report = qkv.check(qkv.adapters.jax_attention, backward=True, quick=True, accept=["empty_row_mean"])
    assert report.verdict == "right", str(report)


def test_a_report_has_the_matrices_of_the_first_problem_that_fails_and_of_the_smallest(tmp_path):
    report = qkv.check(mutant(*MUTANTS["scale_twice"]), backward=False, quick=True)
    first = next(probe["problem"] for probe in report.probes if not probe["right"])
    assert [matrices["problem"] for matrices in report.matrices] == [first, report.smallest]
    for matrices in report.matrices:
        got, want, error = (np.array(matrices[name]["values"]) for name in ("got", "want", "error"))
        np.testing.assert_allclose(got - want, error)
    report.save(tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8")) == report.document
    with pytest.raises(ValueError, match=r"expected \.html or \.json"):
        report.save(tmp_path / "report.txt")


def test_a_report_is_a_page_that_holds_its_document(tmp_path):
    def hostile(q, k, v):
        return numpy_attention(q, k, v)

    hostile.__name__ = "</script><img src=x onerror=alert(1)>"
    report = qkv.check(hostile, quick=True)
    try:
        report.save(tmp_path / "report.html")
    except RuntimeError as error:
        assert "nodejs and npm" in str(error) and list(tmp_path.iterdir()) == []
        pytest.skip("this module was built without the page")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    document = page.split('<script id="report" type="application/json">')[1].split("</script>")[0]
    assert json.loads(document) == report.document and report.document["subject"] == hostile.__name__

"""Every number of the lesson, through qkv.explain and qkv.attention, and the shape table through qkv.shapes."""

import json
from pathlib import Path

import numpy as np
import pytest
import qkv

LESSON = Path(__file__).resolve().parent.parent / "data" / "lesson"


def lesson(name):
    return json.loads((LESSON / f"{name}.json").read_text())


def stage(document, name):
    """The values of a stage in its shape."""
    found = next(s for s in document["stages"] if s["name"] == name)
    return np.array(found["values"], dtype=np.float64).reshape(found["shape"])




NAMES = {"raw": "raw", "scaled": "scaled", "weights": "p", "lse": "lse", "output": "o"}


def assert_stages(document, expected, head=0):
    """The stages of one head against a file's block {raw, scaled, weights, lse, output}, to 1e-12."""
    checked = 0
    for theirs, ours in NAMES.items():
        if theirs in expected:
            np.testing.assert_allclose(stage(document, ours)[0, head], expected[theirs], atol=1e-12, err_msg=theirs)
            checked += 1
    assert checked >= 3, "the file's block has other names now"


def assert_prints(got, printed, digits):
    np.testing.assert_allclose(got, printed, atol=0.5 * 10**-digits + 1e-12)


def test_bank():
    file = lesson("bank")
    document = qkv.explain("bank")
    assert_stages(document, file["expected"])
    o, lse = qkv.attention(*(np.array(file[name]) for name in "qkv"), return_lse=True)
    np.testing.assert_allclose(o, file["expected"]["output"], atol=1e-12)
    np.testing.assert_allclose(lse, file["expected"]["lse"], atol=1e-12)
    prints, pick = file["page_prints"], file["pick"]
    for name in ("raw", "scaled", "weights", "output"):
        assert_prints(stage(document, NAMES[name])[0, 0, pick], prints[f"{name}_row"], 2)
    assert_prints(stage(document, "p")[0, 0], prints["weights"], 2)
    assert_prints(stage(document, "o")[0, 0], prints["output"], 2)


@pytest.mark.parametrize("name, edit", [
    ("river_says_money", "v[river]=0,1"), ("query_1_0", "q[bank]=1,0"), ("query_zero", "q[1]=0,0")])
def test_banks_experiments(name, edit):
    assert_stages(qkv.explain("bank", set=[edit]), lesson("bank")["experiments"][name]["expected"])


def test_running():
    file = lesson("running")
    document = qkv.explain("running")
    for name in ("x", "sigma", "u", "wq", "wk", "wv"):
        got = stage(document, name)
        np.testing.assert_allclose(got.reshape(np.shape(file[name])), file[name], atol=1e-12, err_msg=name)
    variants = {"full": {}, "unscaled": {"scale": 1.0}, "causal": {"causal": True}}
    for head, expected in enumerate(file["heads"]):
        for variant, options in variants.items():
            assert_stages(qkv.explain("running", **options), expected[variant], head)
        for name in "qkv":
            np.testing.assert_allclose(stage(document, name)[0, head], expected[name], atol=1e-12)


def test_running_as_the_page_prints_it():
    prints = lesson("running")["page_prints"]
    document = qkv.explain("running")
    p = stage(document, "p")[0, 0]
    assert_prints(stage(document, "sigma")[0, -1], prints["sigma_last"], 3)
    assert_prints(stage(document, "u")[0, -1], prints["u_last"], 3)
    assert_prints(stage(document, "q")[0, 0, -1], prints["q_last_head1"], 3)
    assert_prints(p[-1], prints["weights_last"], 3)
    assert_prints(stage(qkv.explain("running", scale=1), "p")[0, 0, -1], prints["weights_last_unscaled"], 3)
    assert_prints(p[0, 2], prints["weight_first_on_climb"], 2)
    assert_prints(p[-1, 2] + p[-1, 3], prints["share_of_climb_and_ed"], 2)


def test_backward():
    file = lesson("backward")
    document = qkv.explain("backward", backward=True)
    assert_stages(document, file["forward"])
    for theirs, ours in {"d_weights": "dp", "d_scores": "ds", "dq": "dq", "dk": "dk", "dv": "dv"}.items():
        np.testing.assert_allclose(stage(document, ours)[0, 0], file[theirs], atol=1e-12, err_msg=theirs)
    np.testing.assert_allclose(stage(document, "ds")[0, 0].sum(axis=-1), file["row_sums_of_d_scores"], atol=1e-12)
    prints = file["page_prints"]
    assert_prints(stage(document, "p")[0, 0], prints["weights"], 3)
    assert_prints(stage(document, "dq")[0, 0], prints["dq"], 3)
    for difference in document["differences"]:
        assert difference["max_error"] <= 1e-9, difference["stage"]


def test_explain_takes_arrays_and_gives_infinities_as_numbers():
    file = lesson("bank")
    q, k, v = (np.array(file[name], dtype=np.float32) for name in "qkv")
    document = qkv.explain(q=q, k=k, v=v, tokens=["NaN", "bank", "river"], causal=True)
    assert document["tokens"]["en"][0] == "NaN"
    masked = stage(document, "masked")[0, 0]
    assert masked[0, 1] == -np.inf and np.isfinite(masked[2]).all()
    bias = np.where(np.tri(3, dtype=bool), 0.0, -np.inf)
    np.testing.assert_array_equal(stage(qkv.explain(q=q, k=k, v=v, bias=bias), "p"), stage(document, "p"))


@pytest.mark.parametrize("fields, message", [
    ({"casual": True}, "casual"),
    ({"q": [[1.0, 2.0]], "k": [[1.0]], "v": [[1.0]]}, r"k \[B,Hkv,Tk,D\]"),
    ({"head": 7}, "head"),
])
def test_explain_says_what_is_wrong(fields, message):
    with pytest.raises(ValueError, match=message):
        qkv.explain(None if "q" in fields else "bank", **fields)


def test_shapes_of_the_running_example():
    table = qkv.shapes(n=5, c=4, heads=2)
    lines = {line["name"]: line["shape"] for line in table["lines"]}
    assert lines["x"] == [5, 4] and lines["wq"] == [4, 2] and lines["q"] == [5, 2] and lines["a"] == [5, 5]
    assert lines["merged"] == [5, 4] and table["broken"] is None
    assert qkv.shapes(preset="toy")["sizes"] == table["sizes"]


def test_shapes_names_the_line_that_breaks():
    broken = qkv.shapes(preset="toy", found={"k": [2, 5]})["broken"]
    assert broken["line"] == "k" and broken["expected"] == "[5,2]" and broken["found"] == "[2,5]"
    with pytest.raises(ValueError, match="preset"):
        qkv.shapes(preset="gpt5")

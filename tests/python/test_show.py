"""How traces and documents show themselves: the text, and what a notebook is sent."""

import copy
import json
import pickle
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import qkv
from conftest import normal

_WIDGET = Path(qkv.__file__).with_name("widget.js")
_VIEW = "application/vnd.jupyter.widget-view+json"


def needs_panel(test):
    test = pytest.mark.skipif(not _WIDGET.is_file(), reason="qkv was built without its pages")(test)
    return pytest.mark.skipif("anywidget" not in sys.modules and not _can_import("anywidget"),
                              reason="anywidget is not installed")(test)


def _can_import(name):
    try:
        __import__(name)
    except ImportError:
        return False
    return True


def _bank():
    document = qkv.explain("bank")
    stages = {stage["name"]: np.array(stage["values"], dtype=np.float64) for stage in document["stages"]}
    return qkv.trace(stages["q"], stages["k"], stages["v"], causal=True)


def test_a_trace_is_still_a_mapping_of_arrays():
    trace = _bank()
    assert isinstance(trace, qkv.Trace) and isinstance(trace, Mapping) and isinstance(trace, dict)
    assert trace["p"].shape == (1, 1, 3, 3) and {**trace}.keys() == trace.keys()


def test_a_trace_prints_as_shapes_and_first_rows():
    assert str(_bank()) == """\
attention in float64

  q       [1,1,3,2]
  k       [1,1,3,2]
  v       [1,1,3,2]
  raw     [1,1,3,3]
  scaled  [1,1,3,3]
  masked  [1,1,3,3]
  p       [1,1,3,3]
  lse     [1,1,3]
  o       [1,1,3,2]

batch entry 0, head 0:

q [3,2]
  0  2.00 0.00
  1  1.00 2.00
  2  0.00 1.00

k [3,2]
  0  1.00 0.00
  1  1.00 1.00
  2  0.00 2.00

v [3,2]
  0  1.00 0.00
  1  0.50 0.50
  2  1.00 0.00

masked [3,3]
  0  1.41   -∞   -∞
  1  0.71 2.12   -∞
  2  0.00 0.71 1.41

p [3,3]
  0  1.00 0.00 0.00
  1  0.20 0.80 0.00
  2  0.14 0.28 0.58

o [3,2]
  0  1.00 0.00
  1  0.60 0.40
  2  0.86 0.14"""


def test_a_large_trace_prints_its_first_rows_and_columns_only():
    text = repr(qkv.trace(*(normal(i, 2, 4, 40, 64) for i in range(3))))
    assert len(text.splitlines()) < 80 and max(map(len, text.splitlines())) < 80
    assert "p [40,40]" in text and "  ..." in text


def test_a_document_is_still_a_dict_and_prints_short():
    document = qkv.explain("running", head=1)
    assert json.loads(json.dumps(document)) == document
    assert str(document).startswith(f"{document['problem']}\n\n  x ")
    assert "batch entry 0, head 1:" in str(document)
    assert type(qkv.explain(op="scores", n=4)) is dict  # no stages of attention to show


_ALL = {
    "nothing": {},
    "causal": {"causal": True, "corner": "bottom_right"},
    "an offset": {"causal": True, "offset": 1, "scale": 0.3},
    "a window": {"window": (1, 0), "corner": "top_left", "softcap": 3.0},
    "a mask of every head": {"keep": normal(5, 2, 4, 3, 5) > -1, "bias": normal(6, 4, 1, 5)},
    "a mask of all heads": {"keep": np.arange(5) < 4, "bias": normal(7, 3, 5)},
    "key lengths": {"key_lengths": np.array([5, 2]), "key_mask": np.array([[1, 1, 0, 1, 1], [0, 1, 1, 1, 1]]) == 1},
    "arrays for lists": {"window": np.array([1, 1]), "offset": 0, "sinks": np.zeros(4), "slopes": np.ones(4)},
    "alibi": {"slopes": "alibi", "corner": "bottom_right"},
    "slopes and sinks": {"slopes": [0.1, 0.2, 0.3, 0.4], "offset": 2, "sinks": [0.0, 1.0, -1.0, 2.0]},
}


@pytest.mark.parametrize("options", _ALL.values(), ids=_ALL.keys())
def test_the_document_of_a_head_is_that_head_of_the_trace(options):
    q, k, v = normal(1, 2, 4, 3, 8), normal(2, 2, 2, 5, 8), normal(3, 2, 2, 5, 6)
    trace = qkv.trace(q, k, v, **options)
    for batch, head in ((0, 0), (1, 3), (1, 2)):
        document = json.loads(trace._document(batch, head))
        stages = {stage["name"]: np.array(stage["values"], dtype=object) for stage in document["stages"]}
        for name in ("q", "masked", "p", "o"):
            right = trace[name][batch, head]
            found = np.array(stages[name].tolist(), dtype=np.float64).reshape(right.shape)
            assert np.allclose(found, right, rtol=1e-12, atol=1e-15), name


def test_packed_sequences_stay_apart_in_the_document():
    q = normal(1, 1, 2, 5, 8)
    trace = qkv.trace(q, q, q, cu_seqlens_q=np.array([0, 2, 5]), cu_seqlens_k=[0, 2, 5])
    document = json.loads(trace._document(0, 1))
    p = next(stage["values"] for stage in document["stages"] if stage["name"] == "p")
    assert np.allclose(np.array(p)[0, 0], trace["p"][0, 1]) and trace["p"][0, 1, 0, 2] == 0


def test_what_is_written_into_a_mask_later_is_not_shown():
    q, bias = normal(1, 1, 1, 3, 8), normal(2, 3, 3)
    trace = qkv.trace(q, q, q, bias=bias)
    before = trace._document(0, 0)
    bias[:] = 0
    assert trace._document(0, 0) == before


def test_a_trace_can_be_copied_and_pickled():
    trace = _bank()
    assert str(pickle.loads(pickle.dumps(trace))) == str(copy.deepcopy(trace)) == str(trace)


def test_a_trace_of_torch_shows_itself_too():
    torch = pytest.importorskip("torch")
    q = torch.from_numpy(normal(1, 1, 2, 3, 8)).bfloat16()
    trace = qkv.trace(q, q, q, bias=torch.zeros(3, 3, dtype=torch.bfloat16), keep=torch.ones(3, 3, dtype=torch.bool))
    assert json.loads(trace._document(0, 1))["dims"]["Tk"] == 3


def test_too_many_numbers_are_a_text_that_says_the_limit():
    trace = qkv.trace(*(normal(i, 1, 1, 600, 8) for i in range(3)))
    data = trace._repr_mimebundle_()
    assert list(data) == ["text/plain"]
    assert data["text/plain"].startswith("attention in float64")
    assert "No panel: one head has 1,459,800 numbers; a notebook is sent up to 500,000." in data["text/plain"]


def test_without_anywidget_it_is_a_text_that_says_what_to_install(monkeypatch, tmp_path):
    script = tmp_path / "widget.js"
    script.write_text("export default {}")
    monkeypatch.setattr("qkv._show._SCRIPT", script)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    text = _bank()._repr_mimebundle_()["text/plain"]
    assert text.endswith("No panel: pip install anywidget, and restart the kernel.")


def test_without_the_page_it_is_a_text_that_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr("qkv._show._SCRIPT", tmp_path / "widget.js")
    assert "built without it; build with node and npm" in _bank()._repr_mimebundle_()["text/plain"]


@needs_panel
def test_a_notebook_is_sent_the_panel_and_the_text():
    data, _ = _bank()._repr_mimebundle_()
    assert data["text/plain"] == str(_bank())
    assert data[_VIEW]["model_id"]


@needs_panel
def test_the_panel_asks_for_another_head_and_gets_its_document():
    from qkv._panel import Panel

    q = normal(1, 2, 3, 4, 8)
    trace = qkv.trace(q, q, q)
    panel = Panel(trace)
    assert (panel.batches, panel.heads) == (2, 3)
    panel.set_state({"batch": 1})  # as the browser does
    panel.set_state({"head": 2})
    answer = json.loads(panel.answer)
    assert (answer["batch"], answer["head"]) == (1, 2)
    assert answer["document"] == json.loads(trace._document(1, 2))
    panel.set_state({"head": 3})
    assert json.loads(panel.answer)["error"] == "batch 1, head 3: there are 2 batch entries of 3 heads"


@needs_panel
def test_the_panel_of_a_document_begins_where_it_looks_and_leaves_edits_where_they_are():
    from qkv._panel import Panel

    panel = Panel(qkv.explain("running", head=1))
    assert (panel.batch, panel.head, panel.heads) == (0, 1, 2)
    panel.set_state({"head": 0})
    assert json.loads(panel.answer)["document"]["select"]["head"] == 0
    q = normal(1, 2, 3, 4)
    edited = Panel(qkv.explain(q=q, k=q, v=q, head=1, set=["q[0,0]=5"]))
    edited.set_state({"head": 0})
    assert "the edits are of batch entry 0, head 1" in json.loads(edited.answer)["error"]


@needs_panel
def test_the_script_is_small_and_asks_no_network():
    text = _WIDGET.read_text()
    assert len(text) < 200_000  # it goes to the browser with every panel
    assert "export{" in text.replace(" ", "") and "https://" not in text.replace("http://www.w3.org", "")


@needs_panel
def test_the_example_notebook_runs_and_shows_three_panels(monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    path = Path(__file__).parents[2] / "examples" / "notebook.ipynb"
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)  # it is kept without them
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    shown = [output.data for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    assert [_VIEW in data for data in shown] == [True, True, True]
    assert all("p [" in data["text/plain"] for data in shown)

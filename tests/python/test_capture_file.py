"""qkv.open: what a capture gives, and every kind of damage is refused with words; without PyTorch."""

import json

import numpy as np
import pytest
import qkv

safetensors_numpy = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")

B, HQ, HKV, T, D = 2, 4, 2, 6, 8

CALL = {
    "name": "C0000", "order": 0, "layer": 3, "path": "layers.3.attn", "way": "sdpa", "B": B, "Hq": HQ, "Hkv": HKV,
    "Tq": T, "Tk": T, "D": D, "Dv": D, "dtype": "f32", "heads": None, "kv_heads": None, "values": True, "scale": 0.5,
    "softcap": 3.0, "sinks": True, "slopes": False, "causal": True, "corner": "top_left", "offset": 0,
    "window": [3, 0], "mask": "causal+window+padding", "tokens": True, "query_start": 0, "rows": [0, 5],
    "error": {"max": 1e-7, "allowed": 1e-4}}
TOKENS = {"text": "abcdef", "ids": [1, 2, 3, 4, 5, 6], "pieces": list("abcdef"),
          "offsets": [[i, i + 1] for i in range(6)]}
DOCUMENT = {"version": 1, "qkv": "0.1.0", "model": {"name": "tiny", "class": "Tiny"}, "tokens": [TOKENS, TOKENS],
            "calls": [CALL]}


def tensors():
    rng = np.random.default_rng(4)
    q, k, v = (rng.standard_normal((B, h, T, D), dtype=np.float32) for h in (HQ, HKV, HKV))
    key_mask = np.ones((B, T), bool)
    key_mask[1, 4:] = False
    sinks = np.array([0.5, -1, 2, 0], np.float32)
    o = qkv.attention(q, k, v, scale=0.5, softcap=3.0, sinks=sinks, causal=True, window=(3, 0), key_mask=key_mask)
    return {"C0000.q": q, "C0000.k": k, "C0000.v": v, "C0000.o": np.ascontiguousarray(o[:, :, [0, 5]]),
            "C0000.key_mask": key_mask, "C0000.sinks": sinks}


@pytest.fixture
def written(tmp_path):
    def write(document=DOCUMENT, arrays=None, metadata=None):
        path = tmp_path / "capture.safetensors"
        entries = {"qkv.capture": document if isinstance(document, str) else json.dumps(document)}
        safetensors_numpy.save_file(tensors() if arrays is None else arrays, path,
                                    metadata=entries if metadata is None else metadata)
        return path

    return write


def with_call(**fields):
    return DOCUMENT | {"calls": [CALL | fields]}


def test_arrays_and_options_go_straight_into_attention(written):
    (call,) = qkv.open(written())
    o = qkv.attention(call.q, call.k, call.v, **call.options)
    assert np.abs(o[:, :, call.rows] - call.o).max() < 1e-6
    assert not call.q.flags.writeable and call.q.dtype == np.float32
    assert (call.layer, call.path, call.error.max, call.heads) == (3, "layers.3.attn", 1e-7, [0, 1, 2, 3])


def test_weights_are_those_of_a_trace_of_all(written):
    (call,) = qkv.open(written())
    whole = qkv.trace(call.q, call.k, call.v, **call.options)["p"]
    for batch in range(B):
        for head in range(HQ):
            assert np.array_equal(call.weights(head, batch=batch), whole[batch, head])
    assert np.array_equal(call.weights(2, [5, 0, 1], batch=1), whole[1, 2, [5, 0, 1]])
    assert np.array_equal(call.weights(2, slice(1, None, 2)), whole[0, 2, 1::2])
    assert np.array_equal(call.attention_row(3, -1), whole[0, 3, -1])


def test_weights_of_one_row_at_a_time_are_the_same(written, monkeypatch):
    monkeypatch.setattr(qkv._capture._call, "_BLOCK", 1)
    keep = np.random.default_rng(1).random((B, 1, T, T)) > 0.3
    bias = np.random.default_rng(2).standard_normal((1, HQ, T, 1), dtype=np.float32)
    path = written(with_call(mask="causal+window+padding+dense"), tensors() | {"C0000.keep": keep, "C0000.bias": bias})
    (call,) = qkv.open(path)
    whole = qkv.trace(call.q, call.k, call.v, **call.options)["p"]
    assert np.array_equal(np.stack([call.weights(h, batch=1) for h in range(HQ)]), whole[1])


@pytest.mark.parametrize("ask, words", [
    (lambda call: call.weights(4), "head 4 is not in call C0000"),
    (lambda call: call.weights(0, 6), "row 6 is not in call C0000; it has 6"),
    (lambda call: call.weights(0, [-7]), "row -7"),
    (lambda call: call.weights(0, batch=2), "batch entry 2"),
])
def test_what_is_not_there_is_an_index_error(ask, words, written):
    with pytest.raises(IndexError, match=words):
        ask(qkv.open(written())[0])


def test_a_capture_is_a_sequence_with_names_paths_and_layers(written):
    capture = qkv.open(written())
    assert len(capture) == 1 and capture[0] is capture[-1] is capture["C0000"] is capture["layers.3.attn"]
    assert capture.layer(3) == [capture[0]] and list(capture) == capture[:]
    for ask, error, words in ((lambda: capture[1], IndexError, "call 1 is not in"),
                              (lambda: capture["x"], KeyError, "no call of"),
                              (lambda: capture.layer(0), KeyError, "it has .3.")):
        with pytest.raises(error, match=words):
            ask()


def test_it_shows_itself(written):
    capture = qkv.open(written(DOCUMENT | {"model": {"name": "<b>", "class": "Tiny"}}))
    assert repr(capture).startswith("<qkv.Capture capture.safetensors: 1 attention calls of <b>, 6 tokens, worst")
    assert "C0000 layers.3.attn: 2 of 6 × 6, 4/2 heads, D 8, f32, causal+window+padding, window 3,0, softcap 3, sinks" \
        in repr(capture[0])
    assert "&lt;b&gt;" in capture._repr_html_() and "<b>" not in capture._repr_html_()
    assert "qkv.attention(call.q, call.k, call.v, **call.options)" in qkv.Call.__doc__


def test_bfloat16_has_ml_dtypes_type(written):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    half = {name: x.astype(ml_dtypes.bfloat16) if x.ndim == 4 else x for name, x in tensors().items()}
    (call,) = qkv.open(written(with_call(dtype="bf16"), half))
    assert call.k.dtype == ml_dtypes.bfloat16 and call.weights(0).shape == (T, T)
    assert qkv.attention(call.q, call.k, call.v, **call.options).dtype == ml_dtypes.bfloat16


def test_tokens_are_those_of_the_keys_or_none(written):
    assert qkv.open(written())[0].tokens[1].pieces == list("abcdef")
    assert qkv.open(written(with_call(tokens=False)))[0].tokens is None


WRONG_FIELDS = {
    "name": [None, 7], "order": [-1, 1.5, True, "0"], "layer": ["3", -2], "B": [-1, 1 << 41], "Hq": [3, 0],
    "Hkv": [0, 3], "D": [0], "Dv": [0], "dtype": ["f8", 32, ["f32"]], "heads": [[4], [0, 0], [], "all", [0]],
    "kv_heads": [[0, 1]], "values": [None, 1], "scale": [None, "0.5", True], "softcap": ["x", -1, 0], "sinks": [0],
    "causal": ["yes"], "corner": ["bottom"], "offset": [None, 1.5, 1 << 41], "window": [[3], 3, [-2, 0]],
    "mask": ["fog", "", 3], "tokens": ["x"], "query_start": [-1, 1], "rows": [[6], [-1], None, 5],
    "error": [1e-7, {"max": 1}, {"max": "0", "allowed": 1}], "path": [None], "way": [3]}


@pytest.mark.parametrize("name, value", [(name, value) for name, values in WRONG_FIELDS.items() for value in values])
def test_a_field_that_says_nothing_sensible_is_refused_by_name(name, value, written):
    with pytest.raises(qkv.CaptureError, match=r"cannot open .*capture.safetensors: ") as error:
        qkv.open(written(with_call(**{name: value})))
    assert name in str(error.value) or "tensor" in str(error.value) or "call C0000" in str(error.value)


@pytest.mark.parametrize("name", CALL)
def test_a_missing_field_is_named(name, written):
    call = {key: value for key, value in CALL.items() if key != name}
    with pytest.raises(qkv.CaptureError, match=f"calls.0. has no field '{name}'"):
        qkv.open(written(DOCUMENT | {"calls": [call]}))


@pytest.mark.parametrize("document, words", [
    ("{", "is not JSON"), ("[" * 100_000, "is not JSON"), ('{"version": NaN}', "NaN is no number of JSON"),
    ("[]", "expected an object"), ({"version": 2}, "version 2; this qkv reads version 1"),
    ({"version": 1, "calls": []}, "has no field 'model'"), (DOCUMENT | {"calls": {}}, "calls is {}; expected a list"),
    (DOCUMENT | {"calls": [CALL, CALL]}, "two calls of one name"),
    (DOCUMENT | {"tokens": [TOKENS]}, "there are tokens for 1"),
    (DOCUMENT | {"tokens": [TOKENS | {"offsets": [[0, 99]] * 6}] * 2}, r"offsets\[0\]\[1\] is 99"),
    (DOCUMENT | {"tokens": [TOKENS | {"ids": [1]}] * 2}, "expected as many as ids"),
    (DOCUMENT | {"model": 3}, "model is 3"),
])
def test_a_document_that_is_none_is_refused(document, words, written):
    with pytest.raises(qkv.CaptureError, match=words):
        qkv.open(written(document))


@pytest.mark.parametrize("name, array, words", [
    ("C0000.k", None, "no tensor 'C0000.k'"),
    ("C0000.o", None, "no tensor 'C0000.o'"),
    ("C0000.sinks", np.zeros(3, np.float32), r"'C0000.sinks' is F32 \[3\]; expected F32 \[4\]"),
    ("C0000.q", np.zeros((B, HQ, T, D), np.float64), "'C0000.q' is F64 .*; expected F32"),
    ("C0000.v", np.zeros((B, HQ, T, D), np.float32), r"'C0000.v' is F32 \[2, 4, 6, 8\]; expected F32 \[2, 2, 6, 8\]"),
    ("C0000.keep", np.ones((1, 3, T, T), bool), "BOOL, broadcasting to"),
    ("C0000.bias", np.ones((1, 1, T, T), bool), "a floating type, broadcasting to"),
    ("C0000.bias", np.ones((T, T), np.float32), "broadcasting to"),
])
def test_a_tensor_that_does_not_fit_its_call_is_refused(name, array, words, written):
    arrays = {key: value for key, value in tensors().items() if key != name}
    if array is not None:
        arrays[name] = array
    with pytest.raises(qkv.CaptureError, match=words):
        qkv.open(written(arrays=arrays))


def test_a_bool_that_is_no_bool_is_refused(written):
    path = written()
    data = bytearray(path.read_bytes())
    header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
    begin = header["C0000.key_mask"]["data_offsets"][0]
    data[8 + int.from_bytes(data[:8], "little") + begin] = 7
    path.write_bytes(data)
    with pytest.raises(qkv.CaptureError, match="key_mask' has the byte 7"):
        qkv.open(path)


def test_other_files_are_told_from_captures(written, tmp_path):
    with pytest.raises(qkv.CaptureError, match="without 'qkv.capture' in its metadata"):
        qkv.open(written(metadata={"format": "pt"}))
    (tmp_path / "text").write_text("hello")
    with pytest.raises(qkv.CaptureError, match="no safetensors file"):
        qkv.open(tmp_path / "text")
    with pytest.raises(FileNotFoundError):
        qkv.open(tmp_path / "missing")


@pytest.mark.parametrize("seed", range(60))
def test_damage_anywhere_is_a_refusal_or_harmless(seed, written):
    path = written()
    data = bytearray(path.read_bytes())
    rng = np.random.default_rng(seed)
    header = 8 + int.from_bytes(data[:8], "little")
    for at in rng.integers(0, header, rng.integers(1, 4)):
        data[at] = rng.integers(0, 256)
    path.write_bytes(data[:len(data) - int(rng.integers(0, 2)) * int(rng.integers(1, 99))])
    try:
        for call in qkv.open(path):
            call.weights(0, 0)
    except (qkv.CaptureError, ValueError):
        pass

"""qkv.onnx on ONNX's published node cases, and what it refuses."""

import ml_dtypes
import numpy as np
import onnx_cases
import pytest
import qkv
from conftest import normal, plain_attention


def attend(case):
    attributes = case.attributes()
    if len(case.outputs) > 3:  # the fourth output is asked for; 0 is the standard's default for what it is
        attributes.setdefault("qk_matmul_output_mode", 0)
    return qkv.onnx.attention(**case.inputs, **attributes)


def normalize(case):
    return qkv.onnx.layer_normalization(**case.inputs, **case.attributes())


@pytest.mark.parametrize("suite, operator, count, run", [
    ("published", "Attention", 64, attend),
    ("published", "LayerNormalization", 19, normalize),
    ("built", "Attention", 93, attend),
    ("built", "LayerNormalization", 19, normalize),
], ids=lambda value: value if isinstance(value, str) else "")
def test_every_published_case_agrees(suite, operator, count, run, capsys):
    cases = getattr(onnx_cases, suite)(operator)
    disagreeing = {case.name: case.disagreement(run(case)) for case in cases}
    disagreeing = {name: why for name, why in disagreeing.items() if why}
    release = {"published": "1.22.0", "built": onnx_cases.onnx.__version__}[suite]
    with capsys.disabled():
        print(f"\nONNX {release}, {operator}: {len(cases) - len(disagreeing)} of {len(cases)} node cases agree")
    assert disagreeing == {} and len(cases) == count


def test_where_bf16_differs_from_the_suite_qkv_is_nearer_to_float64():
    cases = [case for case in onnx_cases.built("Attention") if "bf16" in case.name]
    for case in cases:
        exact = {name: value.astype(np.float64) if value.dtype == ml_dtypes.bfloat16 else value
                 for name, value in case.inputs.items()}
        want = qkv.onnx.attention(**exact, **case.attributes())[0]
        given = attend(case)[0]
        errors = [np.abs(y.astype(np.float64) - want).max() for y in (given, case.outputs[0])]
        assert errors[0] <= errors[1] and errors[0] <= 2.0**-9 * np.abs(want).max() * 2, (case.name, errors)
    assert len(cases) == 5


def test_a_wrong_corner_a_wrong_head_map_and_a_lost_mask_would_be_seen():
    cases = {case.name: case for case in onnx_cases.published("Attention")}
    for name, changes in {
        "test_attention_4d_causal": {"is_causal": 0},
        "test_attention_4d_scaled": {"scale": 0.02},
        "test_attention_4d_softcap": {"softcap": 3.0},
        "test_attention_4d_with_past_and_present_qk_matmul_bias": {"qk_matmul_output_mode": 1},
    }.items():
        case = cases[name]
        assert case.disagreement(qkv.onnx.attention(**case.inputs, **case.attributes() | changes))
    case = cases["test_attention_4d_gqa"]
    tiled = {"K": np.tile(case.inputs["K"], (1, 3, 1, 1)), "V": np.tile(case.inputs["V"], (1, 3, 1, 1))}
    assert case.disagreement(qkv.onnx.attention(**case.inputs | tiled, **case.attributes()))


Q, K, V = normal(1, 2, 4, 3, 8), normal(2, 2, 2, 5, 8), normal(3, 2, 2, 5, 6)


def test_without_a_mode_the_scores_are_not_written_out():
    y, key, value, scores = qkv.onnx.attention(Q, K, V)
    np.testing.assert_allclose(y, plain_attention(Q, K, V)[0], atol=2e-6)
    assert key is K and value is V and scores is None


def test_the_modes_are_the_stages():
    mask = np.zeros((3, 5), dtype=np.float32)
    mask[1, 2:] = -np.inf
    raw, capped, biased, p = (qkv.onnx.attention(Q, K, V, mask, softcap=2.0, qk_matmul_output_mode=mode)[3]
                              for mode in range(4))
    np.testing.assert_allclose(raw, Q @ np.repeat(K, 2, axis=1).swapaxes(-1, -2) / np.sqrt(8), atol=1e-6)
    np.testing.assert_allclose(capped, 2 * np.tanh(raw / 2), atol=1e-6)
    np.testing.assert_allclose(biased, capped + mask, atol=1e-6)
    np.testing.assert_allclose(p.sum(axis=-1), 1, atol=1e-6)


def test_v_may_have_another_type_and_y_has_q_s():
    y = qkv.onnx.attention(Q.astype(np.float16), K.astype(np.float16), V)[0]
    assert y.dtype == np.float16
    np.testing.assert_allclose(y, plain_attention(Q, K, V)[0], atol=4e-3)


@pytest.mark.parametrize("given, attributes, message", [
    ({"K": K[0]}, {}, "4, 3 and 4 axes"),
    ({"Q": Q[0], "K": K[0], "V": V[0]}, {}, "Q has 3 axes; q_num_heads must say"),
    ({"Q": Q[0], "K": K[0], "V": V[0]}, {"q_num_heads": 3, "kv_num_heads": 2}, "q_num_heads is 3, which does"),
    ({}, {"q_num_heads": 2}, "q_num_heads is 2, but Q has 4 heads"),
    ({"K": K.astype(np.float64)}, {}, "K is float64 and Q float32"),
    ({"past_key": K}, {}, "past_key and past_value belong together"),
    ({"past_key": K, "past_value": V[..., :3]}, {}, r"past_value is \[2, 2, 5, 3\]; expected \[2,2,past,6\]"),
    ({"past_key": K, "past_value": V[:, :, :2]}, {}, "past_key has 5 tokens and past_value 2"),
    ({"past_key": K, "past_value": V, "nonpad_kv_seqlen": np.array([1, 2])}, {}, "a past holds no padding"),
    ({"attn_mask": np.ones((3, 5), dtype=np.int64)}, {}, "attn_mask is int64"),
    ({}, {"qk_matmul_output_mode": 4}, "qk_matmul_output_mode is 4"),
    ({}, {"softcap": -1.0}, "softcap is -1.0"),
    ({}, {"softmax_precision": 7}, "softmax_precision is 7; expected 1"),
    ({}, {"left_window_size": -2}, "left_window_size is -2"),
    ({"Q": Q[:, :3]}, {}, "k has 2 heads, which does not divide q's 3"),
], ids=lambda value: value.split(" is ")[0] if isinstance(value, str) else "")
def test_what_the_standard_forbids_is_an_error_that_names_it(given, attributes, message):
    with pytest.raises(ValueError, match=message):
        qkv.onnx.attention(**{"Q": Q, "K": K, "V": V} | given, **attributes)


def test_layer_normalization_refuses_what_it_has_not():
    scale = np.ones(8, dtype=np.float32)
    with pytest.raises(ValueError, match="axis is 4; expected -4 to 3"):
        qkv.onnx.layer_normalization(Q, scale, axis=4)
    with pytest.raises(ValueError, match="stash_type is 10"):
        qkv.onnx.layer_normalization(Q, scale, stash_type=10)

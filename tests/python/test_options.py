"""The options that the functions share: each reaches the place in C++ that bears its name, and mistakes are named."""

import inspect
import re

import numpy as np
import pytest
import qkv
from conftest import normal

q = normal(1, 1, 2, 3, 4)
x = normal(1, 1, 3, 4)
parameters = {name: normal(2, 4, 8) for name in ("wq", "wk", "wv")}
CALLS = {
    qkv.attention: (q, q, q),
    qkv.attention_backward: (q, q, q, q, q[..., 0].copy(), q),
    qkv.attention_decode: (q, q, q, qkv.KeyValueCache(np.zeros_like(q), np.zeros_like(q), np.zeros(1, int))),
    qkv.layer: (x, parameters),
    qkv.layer_backward: (x, parameters, np.zeros((1, 3, 8), np.float32)),
    qkv.layer_decode: (x, parameters, qkv.KeyValueCache(np.zeros_like(q), np.zeros_like(q), np.zeros(1, int))),
}
NEEDED = {function: {"query_heads": 2} if function.__name__.startswith("layer") else {} for function in CALLS}


def keywords(function):
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]


@pytest.mark.parametrize("function, name", [
    pytest.param(function, name, id=f"{function.__name__}-{name}")
    for function in CALLS for name in keywords(function)])
def test_every_keyword_is_checked_under_its_own_name(function, name):
    with pytest.raises(TypeError, match=rf"^{name} is a object; expected "):
        function(*CALLS[function], **NEEDED[function] | {name: object()})


@pytest.mark.parametrize("function", CALLS, ids=lambda f: f.__name__)
def test_a_keyword_that_does_not_exist_is_named(function):
    with pytest.raises(TypeError, match="unexpected keyword argument 'casual'"):
        function(*CALLS[function], casual=True, **NEEDED[function])


@pytest.mark.parametrize("function", CALLS, ids=lambda f: f.__name__)
def test_every_argument_is_documented(function):
    for name in inspect.signature(function).parameters:
        assert re.search(rf"\b{name}\b", function.__doc__), name


def test_functions_that_share_an_option_agree_on_its_type_and_default():
    seen = {}
    for function in CALLS:
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind is not parameter.KEYWORD_ONLY or parameter.name in ("out", "gradients"):
                continue
            found = (parameter.annotation, parameter.default)
            assert seen.setdefault(parameter.name, found) == found, (function.__name__, parameter.name)


def with_positions():
    return [function for function in CALLS if "corner" in inspect.signature(function).parameters]


@pytest.mark.parametrize("function", with_positions(), ids=lambda f: f.__name__)
@pytest.mark.parametrize("option", [{"corner": "bottom_right"}, {"offset": -7}, {"offset": 0}], ids=str)
def test_a_position_that_nothing_depends_on_is_refused(function, option):
    call = {**NEEDED[function], **option}
    with pytest.raises(ValueError, match=f"^{next(iter(option))} has no effect without causal, window or slopes"):
        function(*CALLS[function], **call)
    for needs in ({"causal": True}, {"window": (1, 1)}, {"slopes": [0.5, 0.5]}):
        function(*CALLS[function], **call, **needs)
    function(*CALLS[function], **NEEDED[function], corner=None, offset=None)


def test_numpys_flags_are_flags_and_no_numbers():
    assert np.array_equal(qkv.attention(q, q, q, causal=np.bool_(True)), qkv.attention(q, q, q, causal=True))
    assert np.array_equal(qkv.attention(q, q, q, causal=np.bool_(False)), qkv.attention(q, q, q))
    for option in ("scale", "threads"):
        with pytest.raises(TypeError, match=f"^{option} is a bool"):
            qkv.attention(q, q, q, **{option: np.bool_(True)})


@pytest.mark.parametrize("options, name", [
    ({"causal": True, "offset": 2**63}, "offset"), ({"threads": -2**80}, "threads"), ({"scale": 10**400}, "scale"),
    ({"key_lengths": [2**63]}, r"key_lengths\[0\]"), ({"window": (0, 2**64)}, r"window\[1\]")], ids=str)
def test_a_number_of_more_than_64_bits_is_a_value_error(options, name):
    with pytest.raises(ValueError, match=f"^{name} does not fit into 64 bits"):
        qkv.attention(q, q, q, **options)


@pytest.mark.parametrize("options, message", [
    ({"key_lengths": [3, 2.5]}, "key_lengths[1] is a float; expected a whole number"),
    ({"sinks": [0.5, "1"]}, "sinks[1] is a str; expected a number"),
    ({"window": (True, 1)}, "window[0] is a bool; expected a whole number")], ids=str)
def test_what_is_wrong_in_a_list_is_named_by_its_index(options, message):
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        qkv.attention(q, q, q, **options)


def test_a_masked_array_is_refused():
    masked = np.ma.masked_array(q, mask=q > 0)
    with pytest.raises(TypeError, match="^k is a MaskedArray; give its data, and say with keep or key_mask"):
        qkv.attention(q, masked, q)
    with pytest.raises(TypeError, match="^out is a MaskedArray"):
        qkv.attention(q, q, q, out=masked)

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

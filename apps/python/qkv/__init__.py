"""Attention, done properly: exact, fast on a CPU, and every number on the way can be seen.

    o = qkv.attention(q, k, v, causal=True)        arrays in, array out; attention_backward gives its gradients
    o = qkv.attention_decode(q, k, v, cache)       new tokens against a cache that grows
    y = qkv.layer(x, parameters, query_heads=12)   LayerNorm, projections, heads, output projection; layer_backward too
    d = qkv.explain("bank")                        every stage of a small example, as a dict
    s = qkv.trace(q, k, v)["p"]                    every stage of attention in float64
    t = qkv.shapes(n=5, c=4, heads=2)              the shape of every matrix
    r = qkv.check(mine)                            is that attention right, and if not, which mistake is it?
    c = qkv.capture(model, "f.safetensors", ...)   q, k, v of every attention call of a PyTorch model
    c = qkv.open("f.safetensors")                  the same, read back: c[0].weights(head=3), c[0].q, ...
    h = qkv.survey("f.safetensors")                what every head of it looks like

`qkv.testing` has that as an assertion, `qkv.adapters` known implementations to check, `qkv.onnx` the ONNX operators,
`qkv.jax` attention for jit, grad and vmap. In a notebook d and s show themselves as the explorer's panel.
"""

from . import adapters, onnx, testing
from ._attention import KeyValueCache, attention, attention_backward, attention_decode, trace
from ._capture import Call, Capture, CaptureError, capture, open
from ._check import check
from ._core import __version__
from ._explain import Document, explain, info, shapes
from ._layer import layer, layer_backward, layer_decode
from ._report import Report
from ._survey import Survey, survey
from ._trace import Trace

__all__ = [
    "Call",
    "Capture",
    "CaptureError",
    "Document",
    "KeyValueCache",
    "Report",
    "Survey",
    "Trace",
    "__version__",
    "adapters",
    "attention",
    "attention_backward",
    "attention_decode",
    "capture",
    "check",
    "explain",
    "info",
    "layer",
    "layer_backward",
    "layer_decode",
    "onnx",
    "open",
    "shapes",
    "survey",
    "testing",
    "trace",
]

"""Attention, done properly: exact, fast on a CPU, every number visible.

    o = qkv.attention(q, k, v, causal=True)   arrays in, array out
    o = qkv.attention_decode(q, k, v, cache)  new tokens, growing cache
    y = qkv.layer(x, parameters, ...)         norm, projections, heads
    r = qkv.check(mine)                       is that attention right?
    s = qkv.trace(q, k, v)["p"]               every stage, in float64
    d = qkv.explain("bank")                   a small example as a dict
    t = qkv.shapes(n=5, c=4, heads=2)         the shape of every matrix
    c = qkv.capture(model, file, ...)         the q, k, v of a model
    c = qkv.open(file)                        the same, read back
    h = qkv.survey(file)                      what every head looks like
    p = qkv.map_overview(q, k, head=5)        its weights as a picture

`attention_backward` and `layer_backward` give gradients, and
`layer_decode` is a layer with a cache. `qkv.testing` has the check as
an assertion, `qkv.adapters` implementations to check, `qkv.onnx` the
ONNX operators; `qkv.torch` and `qkv.jax`, each imported by itself, are
for autograd, jit and whole models. In a notebook d and s show
themselves as the explorer's panel.
"""

from . import adapters, onnx, testing
from ._attention import KeyValueCache, attention, attention_backward, attention_decode, trace
from ._capture import Call, Capture, CaptureError, capture, open
from ._check import check
from ._core import __version__
from ._explain import Document, explain, info, shapes
from ._layer import layer, layer_backward, layer_decode
from ._map import MapRow, Overview, map_overview, map_row, map_tile
from ._report import Report
from ._survey import Survey, survey
from ._trace import Trace

__all__ = [
    "Call",
    "Capture",
    "CaptureError",
    "Document",
    "KeyValueCache",
    "MapRow",
    "Overview",
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
    "map_overview",
    "map_row",
    "map_tile",
    "onnx",
    "open",
    "shapes",
    "survey",
    "testing",
    "trace",
]

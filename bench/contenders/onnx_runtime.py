"""ONNX Runtime's three attention operators, each in a model of one node, with inputs and outputs bound beforehand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

from .cases import Case, Problem
from .timed import NotOffered, Timed

CONTRIB = "com.microsoft"


@dataclass
class Model:
    """One node; arrays in the layout that the operator takes."""

    node: object
    inputs: dict[str, np.ndarray]
    outputs: dict[str, np.ndarray]  # where results go; a name that is also an input is one buffer for both
    heads_first: bool  # whether o is [B,H,T,D] or [B,T,H·D]


def flat(array: np.ndarray) -> np.ndarray:
    """[B,H,T,D] as [B,T,H·D]."""
    b, h, t, d = array.shape
    return np.ascontiguousarray(array.swapaxes(1, 2)).reshape(b, t, h * d)


def attention(case: Case, p: Problem) -> Model:
    """The operator of the ONNX standard, opset 23."""
    if p.left >= 0:
        raise NotOffered("no window")
    node = helper.make_node("Attention", ["q", "k", "v"], ["o"], is_causal=int(p.causal and p.query_length > 1))
    o = np.empty((*case.q.shape[:3], p.value_width), dtype=np.float32)
    return Model(node, {"q": case.q, "k": case.k, "v": case.v}, {"o": o}, True)


def multi_head(case: Case, p: Problem) -> Model:
    if p.left >= 0:
        raise NotOffered("no window")
    if p.query_heads != p.kv_heads:
        raise NotOffered("no grouped heads")
    causal = p.causal and p.query_length > 1
    if causal and p.key_length > 4096:
        raise NotOffered("materialises the scores of every head where it is causal")
    node = helper.make_node("MultiHeadAttention", ["q", "k", "v"], ["o"], domain=CONTRIB, num_heads=p.query_heads,
                            unidirectional=int(causal))
    o = np.empty((p.batch, p.query_length, p.query_heads * p.value_width), dtype=np.float32)
    return Model(node, {"q": flat(case.q), "k": flat(case.k), "v": flat(case.v)}, {"o": o}, False)


def grouped_query(case: Case, p: Problem) -> Model:
    """Always causal; decodes against a cache that it appends to in place."""
    if not p.causal and p.query_length > 1:
        raise NotOffered("always causal")
    if p.width != p.value_width or p.query_length not in (1, p.key_length):
        raise NotOffered("needs D = Dv and a whole prompt or one token")
    if p.width % 8:
        raise NotOffered("needs a head width that is a multiple of 8")
    decode = p.query_length == 1
    k, v = (array[:, :, -p.query_length:] for array in (case.k, case.v))  # the new tokens
    inputs = {"q": flat(case.q), "k": flat(k), "v": flat(v)}
    outputs = {"o": np.empty_like(inputs["q"])}
    cache = {"past_key": case.k.copy(), "past_value": case.v.copy()} if decode else {}
    presents = ["past_key", "past_value"] if decode else ["present_key", "present_value"]
    if not decode:
        outputs |= {name: np.empty_like(array) for name, array in zip(presents, (case.k, case.v))}
    inputs |= cache
    inputs |= {"seqlens_k": np.full(p.batch, p.key_length - 1, dtype=np.int32),
               "total": np.array(p.key_length, dtype=np.int32)}
    names = ["q", "k", "v", *(cache or ["", ""]), "seqlens_k", "total"]
    node = helper.make_node("GroupQueryAttention", names, ["o", "present_key", "present_value"], domain=CONTRIB,
                            num_heads=p.query_heads, kv_num_heads=p.kv_heads,
                            local_window_size=p.left + 1 if p.left >= 0 else -1)
    model = Model(node, inputs, outputs, False)
    if decode:  # the present is the past's own buffer
        model.outputs |= {"present_key": cache["past_key"], "present_value": cache["past_value"]}
    return model


def value_info(name: str, array: np.ndarray) -> object:
    kind = TensorProto.INT32 if array.dtype == np.int32 else TensorProto.FLOAT
    return helper.make_tensor_value_info(name, kind, list(array.shape))


class Ort:
    def __init__(self, name: str, build: object):
        self.name, self.build = name, build
        self.version = onnxruntime.__version__

    def prepare(self, pass_name: str, case: Case, threads: int) -> Timed:
        p = case.problem
        if pass_name not in ("forward", "decode"):
            raise NotOffered("forward and decode only")
        if p.dtype != "f32":
            raise NotOffered("no bf16 kernel on a CPU")
        model = self.build(case, p)
        if model.heads_first and p.key_length * p.query_length > 4096 * 4096:
            raise NotOffered("materialises the scores of every head")
        session = self.session(model, threads)
        binding = session.io_binding()
        values: dict[int, object] = {}  # buffers by address, so that past and present are one

        def value(array: np.ndarray) -> object:
            return values.setdefault(array.ctypes.data, onnxruntime.OrtValue.ortvalue_from_numpy(array))

        for name, array in model.inputs.items():
            binding.bind_ortvalue_input(name, value(array))
        for name, array in model.outputs.items():
            binding.bind_ortvalue_output(name, value(array))
        o = value(model.outputs["o"])

        def outputs() -> dict[str, np.ndarray]:
            got = o.numpy()
            if not model.heads_first:
                got = got.reshape(p.batch, p.query_length, p.query_heads, p.value_width).swapaxes(1, 2)
            return {"o": got}

        return Timed(lambda: session.run_with_iobinding(binding), outputs)

    def session(self, model: Model, threads: int) -> onnxruntime.InferenceSession:
        graph = helper.make_graph([model.node], "one", [value_info(*item) for item in model.inputs.items()],
                                  [value_info(*item) for item in model.outputs.items()])
        made = helper.make_model(graph, ir_version=10,
                                 opset_imports=[helper.make_opsetid("", 23), helper.make_opsetid(CONTRIB, 1)])
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        try:
            return onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise NotOffered(str(error).splitlines()[0][-150:]) from error


def contenders() -> list[Ort]:
    return [Ort("ORT Attention", attention), Ort("ORT MultiHeadAttention", multi_head),
            Ort("ORT GroupQueryAttention", grouped_query)]

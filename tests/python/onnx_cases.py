"""ONNX's published node cases of one operator: release 1.22.0's from its files, a newer one's as it builds them."""

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case import node as node_cases

FILES = Path(__file__).resolve().parents[2] / ".venv/onnx-1.22.0/onnx/backend/test/data/node"
# The suite's 1e-3 is less than the distance of two bf16 numbers, and its own results are sums in bf16: there, one place
# of the largest element may differ. (test_onnx.py: the suite is the one that is off.)
BF16_PLACE = 2.0**-7
_MODULES = {"Attention": "attention", "LayerNormalization": "layernormalization"}


@dataclass(frozen=True)
class NodeCase:
    name: str
    node: onnx.NodeProto
    inputs: dict[str, np.ndarray]  # by the operator's own names
    outputs: list[np.ndarray | None]  # in the operator's order; None where the case asks for none
    rtol: float
    atol: float

    def attributes(self) -> dict[str, Any]:
        return {one.name: onnx.helper.get_attribute_value(one) for one in self.node.attribute}

    def disagreement(self, given) -> str:
        """Empty if the outputs are those of the case."""
        for place, want in enumerate(self.outputs):
            if want is None:
                continue
            got = given[place]
            if got.shape != want.shape or got.dtype != want.dtype:
                return f"output {place} is {got.dtype} {got.shape}, not {want.dtype} {want.shape}"
            got, want = got.astype(np.float64), want.astype(np.float64)
            atol = self.atol
            if self.outputs[place].dtype.name == "bfloat16":
                atol = BF16_PLACE * np.abs(want).max()
            if not np.allclose(got, want, rtol=self.rtol, atol=atol, equal_nan=True):
                return f"output {place} is off by {np.abs(got - want).max():.3g}"
        return ""


def _case(name, model, inputs, outputs, rtol=1e-3, atol=1e-7):
    (node,) = model.graph.node
    schema = onnx.defs.get_schema(node.op_type, max(opset.version for opset in model.opset_import))
    given, wanted = iter(inputs), iter(outputs)
    named = {schema.inputs[place].name: next(given) for place, used in enumerate(node.input) if used}
    return NodeCase(name, node, named, [next(wanted) if used else None for used in node.output], rtol, atol)


def published(operator):
    """Those of release 1.22.0; scripts/python.sh puts its files beside the newer package."""
    cases = []
    for folder in sorted(FILES.glob(f"test_{_MODULES[operator][:5]}*")):
        model = onnx.load(folder / "model.onnx")
        if [node.op_type for node in model.graph.node] != [operator]:
            continue  # an operator's body, written out

        def tensors(kind, folder=folder):
            count = len(list((folder / "test_data_set_0").glob(f"{kind}_*.pb")))
            return [numpy_helper.to_array(onnx.load_tensor(folder / "test_data_set_0" / f"{kind}_{number}.pb"))
                    for number in range(count)]

        cases.append(_case(folder.name, model, tensors("input"), tensors("output")))
    return cases


def built(operator):
    """Those that the installed package builds in memory."""
    importlib.import_module(f"onnx.backend.test.case.node.{_MODULES[operator]}")
    return [_case(one.name, one.model, *one.data_sets[0], rtol=one.rtol, atol=one.atol)
            for one in node_cases._NodeTestCases
            if [node.op_type for node in one.model.graph.node] == [operator]]

"""The public names and their signatures are those of api.txt, and typed programs that use them pass a type checker.

After a change that is meant: `python tests/python/test_api.py > tests/python/api.txt`, and look at the difference.
"""

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

GOLDEN = Path(__file__).with_name("api.txt")
MODULES = {"qkv": None, "qkv.adapters": None, "qkv.onnx": None, "qkv.testing": None, "qkv.torch": "torch",
           "qkv.jax": "jax"}  # to what each needs


def public_names(module):
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    return sorted(name for name, value in vars(module).items() if not name.startswith("_")
                  and getattr(value, "__module__", None) == module.__name__)


def signature_lines(function, margin=""):
    """What can be given and what comes back, a line each."""
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        given = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        kind = {parameter.POSITIONAL_ONLY: " (by position)", parameter.KEYWORD_ONLY: " (by name)"}.get(
            parameter.kind, "")
        if parameter.name != "self":
            yield f"{margin}    {star}{parameter.name}: {parameter.annotation}{given}{kind}"
    yield f"{margin}    -> {signature.return_annotation}"


def members_of(owner):
    """Lines for what a class has of its own: fields in their order, then properties and methods."""
    for name, annotation in getattr(owner, "__annotations__", {}).items():
        yield f"    {name}: {annotation}"
    for name, member in sorted(vars(owner).items()):
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            yield f"    {name} -> {inspect.signature(member.fget).return_annotation}"
        elif inspect.isfunction(member):
            yield f"    {name}()"
            yield from signature_lines(member, "    ")


def description(module_name):
    """Every public name, and below it what belongs to it."""
    module = importlib.import_module(module_name)
    for name in public_names(module):
        value = getattr(module, name)
        if inspect.isclass(value):
            yield f"{module_name}.{name}, a class"
            yield from members_of(value)
        elif callable(value):
            yield f"{module_name}.{name}()"
            yield from signature_lines(value)
        else:
            yield f"{module_name}.{name}: {type(value).__name__}"


def golden(module_name):
    """The part of api.txt that belongs to a module."""
    parts = GOLDEN.read_text(encoding="utf-8").split("# ")
    return next((part.splitlines()[1:] for part in parts if part.startswith(module_name + "\n")), [])


@pytest.mark.parametrize("name, needs", MODULES.items(), ids=MODULES)
def test_the_public_names_and_signatures_are_those_that_were_agreed(name, needs):
    if needs is not None:
        pytest.importorskip(needs)
    assert list(description(name)) == [line for line in golden(name) if line]


PROGRAM = """
import numpy as np
import qkv

q = np.zeros((1, 2, 5, 4), np.float32)
o, lse = qkv.attention(q, q, q, causal=True, window=(2, 0), slopes="alibi", return_lse=True)
dq, dk, dv = qkv.attention_backward(q, q, q, o, lse, o, causal=True)
cache = qkv.KeyValueCache(q, q, np.zeros(1, np.int64))
qkv.attention_decode(q, None, None, cache, threads=2, target="avx2")
y = qkv.layer(np.zeros((5, 8)), {"wq": np.zeros((8, 8))}, query_heads=2)
stages: dict[str, object] = qkv.trace(q, q, q, layout="bthd")
report: qkv.Report = qkv.check(qkv.adapters.qkv_attention, accept=["empty_row_nan"], progress=lambda done, total: None)
verdict: str = report.verdict
qkv.testing.assert_attention(qkv.attention, backward=False)
capture: qkv.Capture = qkv.open("capture.safetensors")
call: qkv.Call = capture[0]
qkv.attention(call.q, call.k, call.v, **call.options)
survey: qkv.Survey = qkv.survey(capture, layers=[3])
version: str = qkv.__version__
threads: int = qkv.info()["threads"]
"""

WRONG = {
    'qkv.attention(q, q, q, causl=True)': 'Unexpected keyword argument "causl"',
    'qkv.attention(q, q, q, causal="yes")': 'Argument "causal" to "attention" has incompatible type "str"',
    'qkv.attention(q, q, q, window=3)': 'Argument "window" to "attention" has incompatible type "int"',
    'qkv.layer(q, {})': 'Missing named argument "query_heads"',
    'qkv.check(3)': 'Argument 1 to "check" has incompatible type "int"',
    'qkv.attenton(q, q, q)': 'Module has no attribute "attenton"',
}


def checked(tmp_path, program):
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    # What qkv has for a library that is large is typed by names alone; to read torch's own types takes a minute.
    (tmp_path / "mypy.ini").write_text("[mypy]\n[mypy-torch.*,transformers.*,jax.*]\nfollow_imports = skip\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "program.py"]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout


def test_a_type_checker_passes_what_is_right_and_names_what_is_wrong(tmp_path):
    pytest.importorskip("mypy")
    assert checked(tmp_path, PROGRAM) == ""
    first = PROGRAM.count("\n") + 1
    found = checked(tmp_path, PROGRAM + "\n".join(WRONG)).splitlines()
    for number, message in enumerate(WRONG.values(), first):
        assert any(line.startswith(f"program.py:{number}: error: ") and message in line for line in found), found


if __name__ == "__main__":
    for module in MODULES:
        print(f"# {module}")
        print(*description(module), sep="\n")

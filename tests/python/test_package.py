"""The package around the functions: version, types, documentation."""

import ast
import inspect
import re
import runpy
from pathlib import Path

import pytest
import qkv

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_version_is_the_one_in_the_header():
    header = (ROOT / "include/qkv/version.h").read_text()
    assert qkv.__version__ == re.search(r'QKV_VERSION "([^"]+)"', header)[1]


def test_info_names_a_target_that_is_available():
    info = qkv.info()
    assert info["target"] in info["targets"] and info["targets"][-1] == "portable" and info["threads"] >= 1


def test_every_public_name_has_a_docstring_and_types():
    package = Path(qkv.__file__).parent
    assert (package / "py.typed").exists() and (package / "_core.pyi").exists()
    for name in qkv.__all__:
        function = getattr(qkv, name)
        if not callable(function):
            continue
        assert len(function.__doc__) > 40, name
        if inspect.isclass(function) and issubclass(function, Exception):
            continue
        signature = inspect.signature(function)
        for parameter in signature.parameters.values():
            assert parameter.annotation is not inspect.Parameter.empty, (name, parameter)
        assert signature.return_annotation is not inspect.Signature.empty, name


def documented(module):
    """(name, what help() shows) of a module's public names, and of what belongs to a public class."""
    yield module.__name__, module.__doc__
    for name in getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")]):
        value = getattr(module, name)
        if not getattr(value, "__module__", "").startswith("qkv"):
            continue
        yield name, value.__doc__
        for part, member in vars(value).items() if inspect.isclass(value) else ():
            if not part.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
                yield f"{name}.{part}", member.__doc__


@pytest.mark.parametrize("module", [qkv, qkv.adapters, qkv.onnx, qkv.testing], ids=lambda module: module.__name__)
def test_help_fits_into_a_terminal_of_80_columns_and_begins_with_one_sentence(module):
    for name, text in documented(module):
        lines = inspect.cleandoc(text or "").splitlines()
        assert [line for line in lines if len(line) > 72] == [], name  # help() indents by 8
        assert len(lines) < 2 or lines[1] == "", name


def test_the_stub_of_the_extension_module_has_what_the_module_has():
    stub = ast.parse((Path(qkv.__file__).parent / "_core.pyi").read_text())
    declared = {node.name: len(node.args.posonlyargs) for node in stub.body if isinstance(node, ast.FunctionDef)}
    found = {name for name in dir(qkv._core) if not name.startswith("_")}
    assert set(declared) == found
    for name, count in declared.items():
        with pytest.raises(TypeError, match="incompatible function arguments"):
            getattr(qkv._core, name)(*[None] * (count + 1))
        assert len(re.findall(r"arg\d*: ", getattr(qkv._core, name).__doc__)) == count, name


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_the_example_programs_run(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def python_blocks():
    """(document, code) of every document with Python in it; the blocks of one document share their names."""
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]):
        blocks = re.findall(r"(<!-- not run: [^\n]+ -->\n+)?^```python\n(.*?)^```", path.read_text(),
                            re.MULTILINE | re.DOTALL)
        code = "\n".join(body for marked, body in blocks if not marked)
        if code:
            yield pytest.param(code, id=str(path.relative_to(ROOT)))


@pytest.mark.parametrize("code", list(python_blocks()))
def test_the_python_in_the_documents_runs(code, monkeypatch, tmp_path):
    for library in re.findall(r"^import (torch|transformers|jax)$", code, re.MULTILINE):
        pytest.importorskip(library)
    for entry in ROOT.iterdir():  # what it reads is there; what it writes stays out of the project's folder
        (tmp_path / entry.name).symlink_to(entry)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "document", "exec"), {})

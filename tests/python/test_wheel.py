"""The wheel that is tested here and its source package: what is in them, what is not, and on what they rest."""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest
import qkv

ROOT = Path(__file__).resolve().parents[2]
WHEELS = sorted((ROOT / "build-wheel").glob("*.whl"))
SOURCES = sorted((ROOT / "build-wheel").glob("*.tar.gz"))
MADE = pytest.mark.skipif(len(WHEELS) != 1 or len(SOURCES) != 1, reason="there is no build-wheel/ (make wheel)")


@pytest.fixture(scope="module")
def wheel():
    with zipfile.ZipFile(WHEELS[0]) as archive:
        yield archive


@pytest.fixture(scope="module")
def sources():
    """Names in the source package, without its own folder."""
    with tarfile.open(SOURCES[0]) as archive:
        return sorted(name.split("/", 1)[1] for name in archive.getnames())


@MADE
def test_the_tests_run_on_the_installed_wheel_and_not_on_the_sources():
    assert Path(qkv.__file__).is_relative_to(sysconfig.get_path("platlib"))
    assert not any(Path(entry or ".").resolve() == ROOT / "apps/python" for entry in sys.path)
    origin = json.loads(importlib.metadata.distribution("qkv").read_text("direct_url.json"))
    assert origin["url"] == WHEELS[0].as_uri()


@MADE
def test_the_wheel_has_a_manylinux_tag_and_less_than_5_mb():
    name, version, python, abi, platform = WHEELS[0].stem.split("-")
    assert (name, version) == ("qkv", qkv.__version__)
    ours = "cp{}{}".format(*sys.version_info)
    assert (python, abi) == (("cp312", "abi3") if sys.version_info >= (3, 12) else (ours, ours))
    newest = max(int(minor) for minor in re.findall(r"manylinux_2_(\d+)", platform))
    assert newest <= int(os.confstr("CS_GNU_LIBC_VERSION").split(".")[1])
    assert WHEELS[0].stat().st_size < 5e6


@MADE
def test_the_wheel_holds_the_package_its_libraries_its_licences_and_nothing_else(wheel):
    names = [name for name in wheel.namelist() if not name.endswith("/")]
    package = [name for name in names if name.startswith("qkv/")]
    assert {Path(name).suffix for name in package} <= {".py", ".pyi", ".so", ".typed", ".js", ".css"}
    source = ROOT / "apps/python/qkv"
    written = {f"qkv/{path.relative_to(source)}" for path in source.rglob("*.py*") if "__pycache__" not in path.parts}
    assert set(package) >= written
    assert len([name for name in package if name.startswith("qkv/_core.") and name.endswith(".so")]) == 1
    libraries = sorted(re.sub("-[0-9a-f]{8}", "", Path(name).name) for name in names if name.startswith("qkv.libs/"))
    assert [library.split(".")[0] for library in libraries] == ["libhwy", "libtbb"]
    licences = {Path(name).name for name in names if "/licenses/" in name}
    assert licences == {"LICENSE", "THIRD_PARTY_LICENSES.txt"}
    assert all(name.startswith(("qkv/", "qkv.libs/", f"qkv-{qkv.__version__}.dist-info/")) for name in names)


@MADE
def test_no_library_of_the_machine_is_loaded_but_those_that_manylinux_allows():
    program = ("import numpy as np, qkv\n"
               "q = np.ones((1, 8, 500, 64), np.float32); qkv.attention(q, q, q, threads=2)\n"
               "print(*sorted({line.split()[-1] for line in open('/proc/self/maps') if '.so' in line}), sep='\\n')")
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()
    ours = [path for path in loaded if re.search("tbb|hwy", path)]
    assert len(ours) == 2 and all("/qkv.libs/" in path for path in ours), ours


@MADE
def test_the_metadata_says_what_the_package_is_and_what_else_it_works_with(wheel):
    metadata = importlib.metadata.metadata("qkv")
    assert metadata["Version"] == re.search(r'QKV_VERSION "([^"]+)"', (ROOT / "include/qkv/version.h").read_text())[1]
    assert metadata["License-Expression"] == "Apache-2.0" and metadata["Requires-Python"] == ">=3.11"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload().startswith("# The Python package")
    assert set(metadata.get_all("Provides-Extra")) == {"bf16", "torch", "capture", "notebook", "jax"}
    always = [line for line in metadata.get_all("Requires-Dist") if "extra ==" not in line]
    assert [re.match(r"\w+", line)[0] for line in always] == ["numpy"]


@MADE
def test_the_page_of_a_report_is_in_the_wheel():
    cache = ROOT / "build/CMakeCache.txt"
    if not cache.is_file() or "QKV_EMBED_PAGE:BOOL=OFF" in cache.read_text(encoding="utf-8"):
        pytest.skip("build/ was configured without the pages")
    report = qkv.check(qkv.attention, quick=True, backward=False)
    assert "<title>" in report.html()


def needed(name):
    """Whether a file of the project is one that the package is built from."""
    if re.search(r"_test\.cc$|_testing\.|_bench\.cc$", name):
        return False
    folders = ("apps/python/", "cmake/", "examples/lesson/", "include/", "src/", "web/package/src/", "web/public/",
               "web/src/")
    single = {"CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml", "docs/python.md", "apps/server/no_page.cc",
              "apps/server/embedded_page.h", "apps/server/page.h", "scripts/page.sh", "scripts/web_tools.sh"}
    return (name.startswith(folders) or name in single or re.fullmatch(r"examples/\w+\.json", name) is not None
            or re.fullmatch(r"web/[\w.-]+\.(html|json|ts)", name) is not None and "playwright" not in name)


@MADE
def test_the_source_package_has_what_the_package_is_built_from_and_nothing_else(sources):
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=False,
                            capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("the files of the project are not known without git")
    wanted = {name for name in listed.stdout.splitlines() if needed(name) and (ROOT / name).is_file()}
    assert sorted(wanted - set(sources)) == []
    assert sorted(set(sources) - wanted) == ["CHANGELOG.md", "PKG-INFO"]


def texts_of_sources(names):
    """(name, text) of files in the source package whose name matches."""
    with tarfile.open(SOURCES[0]) as archive:
        for member in archive:
            name = member.name.split("/", 1)[1]
            if re.fullmatch(names, name):
                yield name, archive.extractfile(member).read().decode()


@MADE
def test_what_the_pages_import_is_in_the_source_package(sources):
    imports = re.compile(r"""(?:from|import|URL\()\s*\(?['"](\.{1,2}/[^'"?]+)""")
    found = 0
    for name, text in texts_of_sources(r"web/(src|package)/.*\.tsx?"):
        for target in imports.findall(text):
            if target.endswith(".wasm"):  # a build's, for other pages
                continue
            path = os.path.normpath(Path(name).parent / target.removesuffix(".js"))
            assert {path, f"{path}.ts", f"{path}.tsx", f"{path}/index.ts"} & set(sources), f"{name}: {target}"
            found += 1
    assert found > 300


@MADE
def test_what_the_sources_include_is_in_the_source_package(sources):
    found = 0
    for name, text in texts_of_sources(r"(apps|include|src)/.*\.(cc|h)"):
        for target in re.findall(r'^\s*#\s*include "([^"]+)"', text, re.MULTILINE):
            ours = [path for path in (target, f"include/{target}") if (ROOT / path).is_file()]
            assert not ours or set(ours) & set(sources), f"{name}: {target}"
            found += len(ours)
    assert found > 1000

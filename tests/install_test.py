#!/usr/bin/env python3
"""An installed qkv is found and used from outside: by CMake and by pkg-config, from C and C++, shared and static.

Usage: install_test.py [BUILD FOLDER]   (default build/)
Exits 77, which ctest counts as skipped, where only some targets have been built and the libraries are not among them.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build").resolve()
CONSUMER = ROOT / "tests" / "install"
STRICT = ["-pedantic", "-Wall", "-Wextra", "-Werror"]


def run(command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if done.returncode:
        raise AssertionError(f"{' '.join(map(str, command))}\nexit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def cached(name):
    """A variable of the build folder: the consumers are built as the library was."""
    found = re.search(rf"^{name}:\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else ""


def declared(header):
    """The functions that a header declares at namespace scope and leaves to the library: they begin a line."""
    text = re.sub(r"//.*", "", header.read_text(encoding="utf-8")).replace("{}", "")
    pattern = r"^(?!inline|using|template|constexpr|friend)[A-Za-z_][\w:<>,&* ]*?[ &*](\w+)\([^;{]*\);"
    return re.findall(pattern, text, re.MULTILINE)


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        installed = Path(cls.folder.name) / "installed"
        run(["cmake", "--install", BUILD, "--prefix", installed, "--component", "development"])
        cls.prefix = installed.rename(Path(cls.folder.name) / "moved and with spaces")
        cls.lib = next(cls.prefix.rglob("libqkv.a")).parent
        cls.shared = sorted(cls.lib.glob("libqkv.so*"))
        cls.flags = cached("CMAKE_CXX_FLAGS").split()
        cls.cxx = cached("CMAKE_CXX_COMPILER")
        cls.cc = shutil.which({"clang++-19": "clang-19"}.get(Path(cls.cxx).name, "cc"))
        cls.run_with = dict(os.environ, LD_LIBRARY_PATH=str(cls.lib))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def kinds(self):
        return ["static", "shared"] if self.shared else ["static"]

    def cmake_arguments(self, *languages):
        compilers = {"C": self.cc, "CXX": self.cxx}
        return [f"-DCMAKE_PREFIX_PATH={self.prefix}",
                *(f"-DCMAKE_{name}_COMPILER={compilers[name]}" for name in languages),
                *(f"-DCMAKE_{name}_FLAGS={' '.join(self.flags)}" for name in languages)]

    def expect_greetings(self, folder, **options):
        self.assertRegex(run([folder / "consumer_c"], **options), r"^qkv \d+\.\d+\.\d+ from C\n$")
        self.assertRegex(run([folder / "consumer_cc"], **options), r"^qkv \d+\.\d+\.\d+ from C\+\+ on \w+\n$")

    def test_cmake_finds_it(self):
        for kind in self.kinds():
            with self.subTest(kind):
                build = Path(self.folder.name) / f"cmake {kind}"
                run(["cmake", "-S", CONSUMER, "-B", build, f"-DQKV_KIND={kind}", *self.cmake_arguments("C", "CXX")])
                run(["cmake", "--build", build])
                self.expect_greetings(build)

    def test_cmake_gives_both_where_both_are_asked_for_and_a_project_in_c_needs_no_cxx(self):
        if not self.shared:
            self.skipTest("QKV_BUILD_SHARED is off")
        project = Path(self.folder.name) / "both"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(both LANGUAGES C)\n"
            "find_package(qkv REQUIRED COMPONENTS static shared)\nfind_package(qkv REQUIRED COMPONENTS shared)\n"
            "get_target_property(first qkv::qkv INTERFACE_LINK_LIBRARIES)\nmessage(STATUS \"first: ${first}\")\n"
            # A target of the consumer's that happens to be called as a system library is.
            "add_library(m INTERFACE)\ntarget_link_libraries(m INTERFACE not_the_system_s)\n"
            + "".join(f"add_executable({kind} {CONSUMER / 'consumer.c'})\ntarget_link_libraries({kind} qkv::{kind})\n"
                      for kind in self.kinds()), encoding="utf-8")
        said = run(["cmake", "-S", project, "-B", project / "build", *self.cmake_arguments("C")])
        self.assertIn("first: qkv::static", said)
        run(["cmake", "--build", project / "build"])
        for kind in self.kinds():
            self.assertRegex(run([project / "build" / kind]), r"^qkv \d+\.\d+\.\d+ from C\n$")

    def test_inside_another_project_it_is_a_library_and_nothing_else(self):
        project = Path(self.folder.name) / "outer"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(outer LANGUAGES CXX)\n"
            f"add_subdirectory({ROOT} qkv)\n"
            f"add_executable(outer {CONSUMER / 'consumer.cc'})\ntarget_link_libraries(outer PRIVATE qkv::qkv)\n"
            f"get_property(inner DIRECTORY {ROOT} PROPERTY BUILDSYSTEM_TARGETS)\n"
            "message(STATUS \"inner: ${inner}\")\n"
            f"get_property(folders DIRECTORY {ROOT} PROPERTY SUBDIRECTORIES)\n"
            "message(STATUS \"folders: ${folders}.\")\n", encoding="utf-8")
        said = run(["cmake", "-S", project, "-B", project / "build", *self.cmake_arguments("CXX")])
        self.assertRegex(said, r"inner: [\w;]*\bqkv;qkv_shared\b")
        self.assertNotRegex(said, r"inner: .*qkv_(tool|cli|io|check|bench)")
        self.assertIn("folders: .", said)
        self.assertNotIn("CMAKE_INSTALL_LIBDIR", (project / "build" / "CMakeCache.txt").read_text(encoding="utf-8"))

    def test_cmake_says_what_is_not_there(self):
        build = Path(self.folder.name) / "cmake wrong"
        with self.assertRaisesRegex(AssertionError, "qkv"):
            run(["cmake", "-S", CONSUMER, "-B", build, "-DQKV_KIND=frozen", f"-DCMAKE_PREFIX_PATH={self.prefix}"])

    @unittest.skipUnless(shutil.which("pkg-config"), "no pkg-config")
    def test_pkg_config_finds_it(self):
        environment = dict(os.environ, PKG_CONFIG_PATH=str(self.lib / "pkgconfig"))
        for package in ["qkv-static"] + (["qkv"] if self.shared else []):
            with self.subTest(package):
                flags = subprocess.run(["sh", "-c", f"pkg-config --cflags --libs {package} | xargs -n1 printf '%s\\n'"],
                                       env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
                folder = Path(self.folder.name) / package
                folder.mkdir()
                run([self.cc, "-std=c11", *STRICT, *self.flags, CONSUMER / "consumer.c",
                     "-o", folder / "consumer_c", *flags, "-lm"])
                run([self.cxx, "-std=c++20", "-Wall", "-Wextra", *self.flags, CONSUMER / "consumer.cc",
                     "-o", folder / "consumer_cc", *flags])
                self.expect_greetings(folder, env=self.run_with)

    def test_the_line_of_the_readme_compiles_and_runs_an_example(self):
        line = re.search(r"^c\+\+ (.*01_attention.*)$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
        folder = Path(self.folder.name) / "readme"
        (folder / "build").mkdir(parents=True)
        for name, target in {"include": ROOT, "examples": ROOT, "build/libqkv.a": BUILD}.items():
            (folder / name).symlink_to(target / Path(name).name)
        said = run(["sh", "-c", f"{self.cxx} {' '.join(self.flags)} {line[1]}"], cwd=folder)
        self.assertRegex(said, r"\d\.\d")

    def test_the_header_is_c11_and_any_cxx(self):
        for compiler, standard in [(self.cc, "c11"), (self.cxx, "c++11"), (self.cxx, "c++20")]:
            language = "c" if standard == "c11" else "c++"
            run([compiler, "-x", language, f"-std={standard}", *STRICT, "-fsyntax-only",
                 "-I", next(self.prefix.rglob("qkv/c.h")).parent.parent, CONSUMER / "consumer.c"])

    def test_the_shared_library_exports_ours_and_nothing_else(self):
        if not self.shared:
            self.skipTest("QKV_BUILD_SHARED is off")
        library = self.lib / "libqkv.so"
        exported = run(["nm", "-D", "--defined-only", "-C", library]).splitlines()
        names = [line.split(maxsplit=2)[2] for line in exported]
        foreign = [name for name in names
                   if not re.match(r"(qkv_|qkv::|(typeinfo|typeinfo name|vtable) for qkv::)", name)]
        self.assertEqual(foreign, [])
        public = set()
        for header in sorted((ROOT / "include" / "qkv").glob("*.h")):
            functions = declared(header)
            text = header.read_text(encoding="utf-8")
            public.update(functions, re.findall(r"^(?:class|struct) (\w+)[^;]*?\{", text, re.MULTILINE),
                          re.findall(r"^inline [^(;]*?(\w+)(?:\(| =)", text, re.MULTILINE))
            for function in functions:
                self.assertTrue(any(re.match(rf"(qkv::)?(reference::)?{function}\b", name) for name in names),
                                f"{header.name} declares {function}, which is not exported")
        self.assertGreater(len(public), 50, "the headers' functions were not recognised")
        # The first name behind the namespace: a function, a constant, or the class whose member it is.
        inner = [name for name in names if (first := re.match(r"(?:qkv::)?(?:reference::)?(\w+)", name))
                 and " for " not in name.split("(")[0] and first[1] not in public]
        self.assertEqual(inner, [], "what no public header declares is exported")

    def test_the_shared_library_has_a_versioned_name(self):
        if not self.shared:
            self.skipTest("QKV_BUILD_SHARED is off")
        header = (ROOT / "include" / "qkv" / "version.h").read_text(encoding="utf-8")
        version = re.search(r'QKV_VERSION "(\d+)(\.\d+\.\d+)"', header)
        self.assertEqual([path.name for path in self.shared],
                         ["libqkv.so", f"libqkv.so.{version[1]}", f"libqkv.so.{version[1]}{version[2]}"])
        self.assertIn(f"Library soname: [libqkv.so.{version[1]}]", run(["readelf", "-d", self.shared[0]]))


def missing():
    """The libraries that this build folder makes and has not made yet."""
    shared = [BUILD / "shared" / "libqkv.so"] if cached("QKV_BUILD_SHARED") == "ON" else []
    return [path.name for path in [BUILD / "libqkv.a", *shared] if not path.exists()]


if __name__ == "__main__":
    if missing():
        print(f"skipped: {' and '.join(missing())} not built in {BUILD}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=1)

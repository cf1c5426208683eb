#!/usr/bin/env bash
# Finds what qkv needs and installs what is missing; says first what it will install.
# Usage: scripts/setup.sh build|test|wheel|neon|wasm|fuzz|valgrind|lint ...    (several purposes may be given)
set -euo pipefail

# Each line: purpose, probe, what is probed, Debian package. Probes: cmd = a program, hdr = a C++ header,
# venv = Python's venv module with pip.
readonly needs='
build cmd  c++                      g++
build cmd  cmake                    cmake
build cmd  ninja                    ninja-build
build hdr  hwy/highway.h            libhwy-dev
build hdr  oneapi/tbb/task_arena.h  libtbb-dev
build hdr  nlohmann/json.hpp        nlohmann-json3-dev
build hdr  CLI/CLI.hpp              libcli11-dev
build hdr  zip.h                    libzip-dev
build hdr  png.h                    libpng-dev
build hdr  boost/beast/http.hpp     libboost1.81-dev
build cmd  node                     nodejs
build cmd  npm                      npm
test  hdr  gtest/gtest.h            libgtest-dev
test  hdr  rapidcheck.h             librapidcheck-dev
test  cmd  pkg-config               pkg-config
test  cmd  python3                  python3
test  venv Python.venv              python3-venv
test  hdr  Python.h                 python3-dev
test  cmd  chromium                 chromium
wheel cmd  python3                  python3
wheel venv Python.venv              python3-venv
wheel hdr  Python.h                 python3-dev
neon  cmd  aarch64-linux-gnu-g++    g++-aarch64-linux-gnu
neon  cmd  qemu-aarch64             qemu-user
wasm  cmd  clang++-19               clang-19
wasm  cmd  wasm-ld-19               lld-19
wasm  cmd  llvm-ar-19               llvm-19
wasm  file /usr/lib/wasm32-wasi/libc.a wasi-libc
wasm  file /usr/lib/llvm-19/include/wasm32-wasi/c++/v1/string libc++-19-dev-wasm32
wasm  file /usr/lib/llvm-19/lib/clang/19/lib/wasi/libclang_rt.builtins-wasm32.a libclang-rt-19-dev-wasm32
wasm  hdr  hwy/highway.h            libhwy-dev
wasm  hdr  nlohmann/json.hpp        nlohmann-json3-dev
fuzz  cmd  clang++-19               clang-19
fuzz  file /usr/lib/llvm-19/lib/clang/19/lib/linux/libclang_rt.fuzzer-x86_64.a libclang-rt-19-dev
valgrind cmd valgrind               valgrind
lint  cmd  clang++-19               clang-19
lint  cmd  clang-tidy-19            clang-tidy-19
lint  cmd  clang-format-19          clang-format-19
lint  cmd  shellcheck               shellcheck
'

# Whether the compiler finds a header. One call a header, preprocessor only.
has_header() {
  command -v c++ >/dev/null || return 1
  local flags=()
  if [[ $1 == Python.h ]]; then
    command -v python3 >/dev/null || return 1
    flags=(-I "$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["include"])')")
  fi
  printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$1" | c++ -E -x c++ "${flags[@]}" - >/dev/null 2>&1
}

is_present() {
  case $1 in
    cmd) command -v "$2" >/dev/null ;;
    file) [[ -e $2 ]] ;;
    hdr) has_header "$2" ;;
    venv) python3 -c 'import venv, ensurepip' >/dev/null 2>&1 ;;
  esac
}

# Fills the array `missing` with lines "what package".
find_missing() {
  local purpose probe what package
  missing=()
  while read -r purpose probe what package; do
    [[ " $* " == *" $purpose "* ]] || continue
    is_present "$probe" "$what" || missing+=("$what $package")
  done < <(sed '/^$/d' <<<"$needs")
}

explain_missing() {
  echo "setup: these are missing:" >&2
  local line
  for line in "${missing[@]}"; do
    echo "  ${line% *}   (package ${line##* } on Debian and Ubuntu)" >&2
  done
}

install_missing() {
  local packages as_root=()
  packages=$(printf '%s\n' "${missing[@]}" | awk '{print $NF}' | sort -u | tr '\n' ' ')
  if [[ $(id -u) -ne 0 ]]; then
    if ! command -v sudo >/dev/null; then
      explain_missing
      echo "setup: install them as root: apt-get install $packages" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  echo "setup: this will install, with apt-get: $packages"
  "${as_root[@]}" apt-get update -q
  # shellcheck disable=SC2086  # one word a package
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $packages
}

# C++20 and CMake's presets need tools that are not too old.
check_versions() {
  local found
  found=$(cmake --version | awk 'NR==1{print $3}')
  if [[ $(printf '%s\n' 3.25 "$found" | sort -V | head -n1) != 3.25 ]]; then
    echo "setup: cmake is $found; qkv needs 3.25 or newer (python3 -m pip install cmake gives one)" >&2
    exit 1
  fi
  if ! echo 'int main() { return 0; }' | c++ -std=c++20 -fsyntax-only -x c++ - 2>/dev/null; then
    echo "setup: $(c++ --version | head -n1) knows no C++20; qkv needs g++ 12 or clang 16, or newer" >&2
    exit 1
  fi
}

main() {
  [[ $# -gt 0 ]] || { echo "usage: scripts/setup.sh build|test|wheel|neon|wasm|fuzz|valgrind|lint ..." >&2; exit 2; }
  find_missing "$@"
  if [[ ${#missing[@]} -gt 0 ]]; then
    if command -v apt-get >/dev/null; then
      install_missing
      find_missing "$@"
    fi
    if [[ ${#missing[@]} -gt 0 ]]; then
      explain_missing
      exit 1
    fi
  fi
  if [[ " $* " == *" build "* ]]; then check_versions; fi
}

main "$@"

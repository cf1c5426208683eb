# The one entry point. `make` lists what it can do; the work itself is in scripts/.
.DEFAULT_GOAL := help
.PHONY: help build run test test-long sanitize fuzz valgrind python wheel bench site npm lint format install clean

PREFIX ?= /usr/local

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' Makefile

build: ## the tool, at ./build/qkv
	@scripts/setup.sh build
	@scripts/build.sh qkv_tool

run: build ## build, explain the lesson's examples, compute a real model's attention, then serve the explorer
	@scripts/run.sh

test: ## every test; ends with "N passed, N failed"
	@scripts/setup.sh build test wasm
	@scripts/test.sh

test-long: ## 2,000 random problems a property, and the operations on NEON under qemu
	@scripts/setup.sh build test neon
	@scripts/test_long.sh

sanitize: ## every test under the address, undefined-behaviour and thread sanitizers
	@scripts/setup.sh build test fuzz
	@scripts/sanitize.sh

fuzz: ## readers, parsers and explain under libFuzzer: 30 s each, two at once; ARGS="600 npz" for 10 minutes of one
	@scripts/setup.sh build test fuzz
	@scripts/fuzz.sh $(ARGS)

valgrind: ## the tool's main paths under valgrind, forced to AVX2 (it knows nothing wider): a minute
	@scripts/setup.sh build valgrind
	@scripts/build.sh qkv_tool
	@scripts/valgrind.sh

python: ## the Python package into .venv, and its tests; QKV_WITHOUT_TORCH=1 spares PyTorch, 2.5 GB
	@scripts/setup.sh build test
	@scripts/python.sh

wheel: ## the Python package as a wheel that needs nothing of the machine, and its sources, build-wheel/
	@scripts/setup.sh build wheel
	@scripts/wheel.sh

bench: ## qkv beside PyTorch, ONNX Runtime, JAX, oneDNN, OpenBLAS: 45 minutes; 3 with ARGS=--quick
	@scripts/setup.sh build test
	@scripts/bench.sh $(ARGS)

site: ## the explorer as a static folder, build-site/, with the engine as WebAssembly; works offline
	@scripts/setup.sh build wasm
	@scripts/site.sh

npm: ## the npm package qkv, build-npm/: attention and explain as WebAssembly, for Node, browsers and bundlers
	@scripts/setup.sh build wasm
	@scripts/npm.sh

lint: ## formatting, clang-tidy, shellcheck and ruff; any finding is an error
	@scripts/setup.sh build test lint
	@scripts/lint.sh

format: ## rewrite the sources in the project's format
	@scripts/setup.sh lint
	@scripts/format.sh

install: build ## the tool, library, headers and man page under PREFIX (default /usr/local)
	@scripts/build.sh all
	@cmake --install build --prefix "$(PREFIX)"

clean: ## remove everything that was built
	@rm -rf build build-* .venv .venv-*

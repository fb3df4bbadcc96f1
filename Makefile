# `make` prints the verbs. What a verb needs is installed on its first run; stamps keep it from being
# done again.
SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS     += --no-print-directory

FUZZ_SECONDS ?= 20
TORCH        := torch==2.13.0 numpy nvidia-nccl-cu13==2.32.3

PY  := .venv/bin/python
ENV := .venv/ptnet .venv/tools
PIP := $(PY) -m pip -qq --disable-pip-version-check

C_ALL  := $(shell find csrc -name '*.[ch]')
C_TEXT := $(C_ALL) $(wildcard tests/c/*.[ch] tests/c/fake/*.[ch] tests/fuzz/*.c)
PY_ALL := $(shell find src -name '*.py' -o -name '*.pyi')
C_LIB  := $(wildcard csrc/base/*.c csrc/sys/*.c csrc/probe/*.c)
BUILD_INPUT := $(C_ALL) setup.py pyproject.toml

help: ## print the verbs
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 12

preflight: .venv/ptnet ## check this machine, with a rendezvous of two processes; no torch, no GPU needed
	@.venv/bin/ptnet preflight --nproc 2

test: $(ENV) lint types ctest ## check the form, the types, the C core and the Python package
	@mkdir -p build/junit
	$(PY) -m pytest -q --junitxml=build/junit/test.xml

build: .venv/ptnet ## build ptnet and install it into .venv

format: .venv/tools ## put the sources into their standard form
	@.venv/bin/ruff check -q --fix-only .
	.venv/bin/ruff format -q .
	.venv/bin/clang-format -i $(C_TEXT)

lint: .venv/tools ## check form and likely mistakes: ruff, clang-format, cppcheck
	@.venv/bin/ruff check -q .
	.venv/bin/ruff format -q --check .
	.venv/bin/clang-format --dry-run -Werror $(C_TEXT)
	mkdir -p build/cppcheck
	cppcheck -q --error-exitcode=1 --std=c11 --language=c --enable=warning,portability,performance \
	    --inline-suppr --suppress=missingIncludeSystem --cppcheck-build-dir=build/cppcheck \
	    -D_GNU_SOURCE -DPy_BEGIN_ALLOW_THREADS= -DPy_END_ALLOW_THREADS= -Icsrc -j2 csrc

types: $(ENV) ## check the types, and the stub against the built module
	@$(PY) -m mypy
	MYPYPATH=src $(PY) -m mypy.stubtest ptnet._core

# ---------------------------------------------------------------- C, without Python
C_FLAGS  = -std=gnu11 -D_GNU_SOURCE -Icsrc -Itests/c $$(pkg-config --cflags libnl-3.0) -g -O1 \
           -Wall -Wextra -Wshadow -Wstrict-prototypes -Wvla -Wformat=2 -Werror -MMD -MP
C_LIBS   = $$(pkg-config --libs libnl-3.0) -pthread
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
WRAP     := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=reallocarray,--wrap=recv
CTESTS   := $(patsubst tests/c/%.c,build/ctest/%,$(wildcard tests/c/test_*.c))
FUZZERS  := $(patsubst tests/fuzz/%.c,build/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

ctest: $(CTESTS) ## run the C unit tests under AddressSanitizer and UBSan
	@failed=0
	for test in $^; do $$test || failed=1; done
	exit $$failed

build/ctest/test_%: build/ctest/obj/tests/c/test_%.o build/ctest/obj/tests/c/fault.o \
                    $(C_LIB:%.c=build/ctest/obj/%.o)
	@gcc $(SANITIZE) $(WRAP) $^ -o $@ $(C_LIBS)

build/ctest/obj/%.o: %.c | build/packages-test
	@mkdir -p $(@D)
	gcc $(C_FLAGS) $(SANITIZE) -c $< -o $@

fuzz: $(FUZZERS) ## feed the parsers with made-up bytes, FUZZ_SECONDS=20 each
	@tools/run-fuzzers $(FUZZ_SECONDS) $^

build/fuzz/fuzz_%: build/fuzz/obj/tests/fuzz/fuzz_%.o $(C_LIB:%.c=build/fuzz/obj/%.o)
	@$$(tools/pick-clang) $(SANITIZE) -fsanitize=fuzzer $^ -o $@ $(C_LIBS)

build/fuzz/obj/%.o: %.c | build/packages-test
	@mkdir -p $(@D)
	$$(tools/pick-clang) $(C_FLAGS) $(SANITIZE) -fsanitize=fuzzer-no-link -c $< -o $@

-include $(shell find build/ctest build/fuzz -name '*.d' 2>/dev/null)
.PRECIOUS: build/ctest/obj/%.o build/fuzz/obj/%.o

# ---------------------------------------------------------------- other builds
asan: ctest build/asan/built ## run the C tests and the core tests under AddressSanitizer and UBSan
	@mkdir -p build/junit
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so):$$(gcc -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc \
	PYTHONPATH=build/asan/lib $(PY) -m pytest -q -o pythonpath=tests \
	    --junitxml=build/junit/asan.xml tests/core

build/asan/built: $(ENV) $(BUILD_INPUT) $(PY_ALL)
	@rm -rf build/asan
	CC=gcc PTNET_SANITIZE=1 $(PY) setup.py -q build --build-base build/asan --build-lib build/asan/lib
	touch $@

coverage: $(ENV) ## measure which lines of C and Python the tests reach
	@$(PIP) install coverage gcovr
	rm -rf build/coverage
	CC=gcc PTNET_COVERAGE=1 $(PY) setup.py -q build --build-base build/coverage \
	    --build-lib build/coverage/lib
	export COVERAGE_FILE=build/coverage/python PYTHONPATH=build/coverage/lib
	$(PY) -m coverage run --source=build/coverage/lib -m pytest -q -o pythonpath=tests
	$(PY) -m coverage report --skip-covered
	.venv/bin/gcovr -r . --filter csrc/ build/coverage

wheel: .venv/ptnet ## build the wheel for CPython 3.10 and newer into dist/
	@rm -rf dist build/lib* build/bdist*
	$(PIP) wheel --no-deps --no-build-isolation -w dist .
	ls dist/ptnet-*-cp310-abi3-*.whl

wheeltest: wheel build/packages-test ## run the core tests on the installed wheel, in every CPython found
	@mkdir -p build/junit
	tools/wheel-test dist/ptnet-*-cp310-abi3-*.whl

bench: $(ENV) ## run the benchmarks
	@$(PIP) install psutil pyroute2
	for script in $(sort $(wildcard bench/bench_*.py)); do $(PY) $$script; done

clean: ## remove everything that was built, .venv included
	@rm -rf build dist .venv src/*.egg-info src/ptnet/_core*.so .mypy_cache .ruff_cache .pytest_cache

# ---------------------------------------------------------------- what is installed, once
build/packages-%: tools/install-packages
	@tools/install-packages $*
	mkdir -p build
	touch $@

.venv/made: | build/packages-build
	@rm -rf .venv
	"$$(tools/pick-python)" -m venv .venv
	$(PIP) install 'setuptools>=77.0.3'
	touch $@

.venv/ptnet: .venv/made $(BUILD_INPUT)
	@echo "building ptnet"
	rm -f src/ptnet/_core*.so
	PTNET_WERROR=$${CI:+1} $(PIP) install --no-build-isolation -e .
	touch $@

.venv/tools: .venv/made pyproject.toml | .venv/ptnet build/packages-test
	@echo "installing the test tools"
	$(PIP) install --no-build-isolation -e '.[test,dev]' $(TORCH)
	touch $@

.PHONY: help preflight test build format lint types ctest fuzz asan coverage wheel wheeltest bench clean

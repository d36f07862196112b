# Thin: each target installs what is missing, then calls CMake. `make` alone says what there is.
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
SOURCES = find $(wildcard include src cli experiments python tests bench examples) -name '*.h' -o -name '*.cpp'

.DEFAULT_GOAL := help
.PHONY: help packages all-packages build dev tsan demo test check-threads check-python fuzz python wheel docs bench format format-check install clean

help:
	@echo "make demo          build, then run the method on the embedded digits"
	@echo "make test          check formatting, run every test, and the fast ones under sanitizers"
	@echo "make python        build the wheel, install it into a new environment and test it there"
	@echo "make wheel         a wheel for other machines, in dist/: it needs nothing but pip there"
	@echo "make build         the program, at build/release/remblai"
	@echo "make docs          the documentation site, at build/docs/html"
	@echo "make fuzz          fuzz every reader for SECONDS each, 60 unless given; needs clang"
	@echo "make bench         build and run the benchmarks"
	@echo "make format        format the C++ files; format-check only looks"
	@echo "make install       into PREFIX, $(PREFIX) unless given"
	@echo "make clean         remove build/"
	@echo "Missing Debian packages are installed first: scripts/install-packages --list names them."

packages:
	@scripts/install-packages

all-packages:
	@scripts/install-packages --all

build: packages
	@cmake --preset release --log-level=WARNING >/dev/null
	@cmake --build --preset release --parallel $(JOBS) --target remblai_cli remblai_completion

dev: packages
	@cmake --preset dev --log-level=WARNING >/dev/null
	@cmake --build --preset dev --parallel $(JOBS)

tsan: packages
	@cmake --preset tsan --log-level=WARNING >/dev/null
	@cmake --build --preset tsan --parallel $(JOBS)

demo: build
	@build/release/remblai demo

# One after the other, so that the cheap check (which installs everything) comes first and the verdict last;
# but Python, whose environments and tests keep one core busy, runs beside the tests of threads.
test:
	@$(MAKE) --no-print-directory format-check
	@$(MAKE) --no-print-directory build
	@cmake --build --preset release --parallel $(JOBS)
	@ctest --preset release --parallel $(JOBS)
	@$(MAKE) --no-print-directory dev
	@ctest --preset dev --parallel $(JOBS)
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=line check-threads check-python
	@echo "make test: formatting, all tests, the fast ones under sanitizers, the Python wheel and the docs passed"

check-threads: tsan
	@ctest --preset tsan

check-python: python
	@scripts/test-docs
	@scripts/build-docs

SECONDS ?= 60
fuzz:
	@scripts/install-packages --fuzz
	@cmake --preset fuzz --log-level=WARNING >/dev/null
	@cmake --build --preset fuzz --parallel $(JOBS)
	@scripts/fuzz --seconds $(SECONDS)

# The packages it needs come by pip: python/requirements-test.txt names those of the tests.
python: all-packages build
	@JOBS=$(JOBS) scripts/test-python

wheel: all-packages
	@JOBS=$(JOBS) scripts/build-wheel

# Its Python reference is made from the wheel of `make python`, where that was built.
docs: all-packages build
	@scripts/build-docs

bench: packages
	@cmake --preset release --log-level=WARNING -D REMBLAI_BUILD_BENCH=ON >/dev/null
	@cmake --build --preset release --parallel $(JOBS) --target remblai_bench
	@build/release/remblai_bench

format: all-packages
	@$(SOURCES) | xargs clang-format -i

format-check: all-packages
	@$(SOURCES) | xargs clang-format --dry-run --Werror

install: build
	@cmake --build --preset release --parallel $(JOBS) --target remblai_library
	@cmake --install build/release --prefix $(PREFIX)

clean:
	rm -rf build

# Two commands do all the set-up: `make demo` and `make test`.  Another interpreter: `make PYTHON=python3.12 test`.

PYTHON ?= python3
VENV := .venv
INSTALL := ".[dev]"
BIN := $(VENV)/bin
READY := $(VENV)/.installed
LOWEST := .venv-lowest
WORKERS ?= auto

RUN := -m pytest -n $(WORKERS) --maxprocesses 4 --dist worksteal
PYTEST := $(BIN)/python $(RUN)

.DEFAULT_GOAL := help
.PHONY: help install lint test suite test-slow test-lowest demo bench docs clean

help:
	@echo "make demo         recover a planted network and show it"
	@echo "make test         lint, type-check, check the import contract, run the tests"
	@echo "make suite        the tests alone"
	@echo "make test-slow    the long tests alone"
	@echo "make test-lowest  the tests on the lowest versions of all dependencies, in $(LOWEST)"
	@echo "make bench        every benchmark, quickly: ratios to peers and rooflines, into out/benchmarks"
	@echo "make docs         build the documentation into docs/_build/html"
	@echo "make lint         ruff, mypy and import-linter alone"
	@echo "make install      create $(VENV) and install into it (the targets above do so when needed)"
	@echo "make clean        remove caches and build outputs; $(VENV) stays"

install: $(READY)

# One BLAS thread a process: the workers share the cores, and small products are faster so.
test suite test-slow test-lowest docs: export OMP_NUM_THREADS := 1
test suite test-slow test-lowest docs: export OPENBLAS_NUM_THREADS := 1
test suite test-slow test-lowest docs: export MKL_NUM_THREADS := 1
test suite test-slow test-lowest docs: export VECLIB_MAXIMUM_THREADS := 1

test: lint
	$(PYTEST) -m "not slow"

suite: $(READY)
	$(PYTEST) -m "not slow"

test-slow: $(READY)
	$(PYTEST) -m slow

test-lowest:
	@test -x $(LOWEST)/bin/pip || $(PYTHON) -m venv $(LOWEST)
	@$(PYTHON) .ci/lowest > $(LOWEST)/constraints.txt
	@$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(LOWEST)/constraints.txt \
	    --editable ".[dask,frames,onnx,parquet,test]"
	$(LOWEST)/bin/python $(RUN) -m "not slow"

lint: $(READY)
	$(BIN)/python -m ruff check .
	$(BIN)/python -m mypy
	$(BIN)/lint-imports

demo: $(READY)
	$(BIN)/weightlift demo

bench: $(READY)
	$(BIN)/python -m benchmarks

docs: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

$(READY): pyproject.toml
	@$(PYTHON) -c 'pass' 2>/dev/null || { \
	    echo "'$(PYTHON)' does not run. Install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3 test" >&2; \
	    exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "Weightlift needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V 2>&1). Name another: make PYTHON=python3.12 test" >&2; \
	    exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	@echo "Installing Weightlift and its tools into $(VENV): once, a minute or two."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable $(INSTALL)
	@touch $@

clean:
	rm -rf build dist docs/_build docs/auto_gallery docs/sg_execution_times.rst .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

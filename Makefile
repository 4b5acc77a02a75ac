# make run     the dashboard on port 8501      make check   format, lint (SQL, too), types (scripts, too), layers
# make test    the tests                       make bench   measurements, into bench/RESULTS.md
# PYTHON names the interpreter that makes .venv (3.11 or newer); HEADLESS=true opens no browser; EXTRAS='[auth]' installs
# what a login needs.
PYTHON  ?= python3
PORT    ?= 8501
HEADLESS ?=
EXTRAS  ?=
# A process more than there are cores: tests wait for disks, browsers and programs.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
PYTEST_ARGS ?=
BENCH_ARGS ?=

VENV := .venv
BIN  := $(VENV)/bin
PIP  := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt
PINS := pyproject.toml constraints.txt

.DEFAULT_GOAL := help
.PHONY: help setup run test test-all test-tools test-fast check format bench pins clean

help:
	@sed -n 's/^# //p' Makefile | head -4

# A stamp stands for a finished install, so that a second `make run` starts at once.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Warpdeck needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.made $(PINS)
	$(PIP) -e '.$(EXTRAS)'
	@touch $@

# Of PyTorch, SciPy and SymPy tests import a small part, which Python compiles when it does: 20 s less.
$(VENV)/.installed-test: $(VENV)/.installed
	$(PIP) --no-compile -e '.[test]'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed-test
	$(PIP) -e '.[dev]'
	@touch $@

setup: $(VENV)/.installed

run: setup
	$(BIN)/streamlit run app/main.py --server.port $(PORT) --server.showEmailPrompt false $(if $(HEADLESS),--server.headless $(HEADLESS))

test-tools: $(VENV)/.installed-test
	@scripts/install_test_tools.sh $(BIN)/python

# Without bytecode every process that tests start, of hundreds, would compile all modules of ours.
test test-all test-fast: export PYTHONDONTWRITEBYTECODE :=

# Two tests load the whole machine and run by themselves. Browser tests wait for pages to be drawn, so two at a time
# leave a core to what they wait for. Everything else shares the cores after them. All parts run, whatever fails; a
# part without any test (status 5), as where PYTEST_ARGS name some, fails only if all are. The parts share converted
# files in the folder that the variable names (tests/support/conversion_cache.py).
BROWSER_TESTS := $(if $(PYTEST_ARGS),,tests/e2e)
OTHER_TESTS := $(if $(PYTEST_ARGS),,--ignore=tests/e2e)
AND_NOT_SLOW := and not slow
define pytest
@WARPDECK_TEST_KEPT=$$(mktemp -d -t warpdeck-kept-XXXXXX); export WARPDECK_TEST_KEPT; \
	trap 'rm -rf "$$WARPDECK_TEST_KEPT"' EXIT; trap 'exit 130' INT TERM; status=5; \
	part() { $(BIN)/pytest --durations=20 "$$@" $(PYTEST_ARGS); ended=$$?; \
		if [ $$status -eq 5 ] || { [ $$ended -ne 0 ] && [ $$ended -ne 5 ]; }; then status=$$ended; fi; }; \
	part -m 'alone $(AND_NOT_SLOW)' $(BROWSER_TESTS); \
	part -n 2 -m 'browser and not alone $(AND_NOT_SLOW)' $(BROWSER_TESTS); \
	part -n $(WORKERS) -m 'not browser and not alone $(AND_NOT_SLOW)' $(OTHER_TESTS); \
	exit $$status
endef

test: test-tools
	$(pytest)

# What .ci/run runs: those marked slow, too (docs/tests.md).
test-all: AND_NOT_SLOW :=
test-all: test-tools
	$(pytest)

test-fast: $(VENV)/.installed-test
	$(BIN)/pytest -n $(WORKERS) -m 'not slow and not integration and not browser' $(OTHER_TESTS) $(PYTEST_ARGS)

check: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/sqruff --parsing-errors lint profiledb ingest
	$(BIN)/mypy
	$(BIN)/lint-imports
	scripts/install_typescript.sh
	.tools/node_modules/.bin/tsc -p app/timeline/tsconfig.json

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/sqruff fix profiledb ingest

bench: $(VENV)/.installed-test
	$(BIN)/python -m bench.run $(BENCH_ARGS)

# Moves every pin in constraints.txt to the newest version that pyproject.toml allows.
pins:
	scripts/pin.sh $(PYTHON)

clean:
	rm -rf $(VENV) .tools build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

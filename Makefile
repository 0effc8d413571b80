# `make run` regenerates the report, `make test` tests, `make check` tests what is quick, `make lab` opens the notebooks.
# Each sets up the virtual environment first, if it is not there yet.

PYTHON ?= python3
VENV ?= .venv
PROFILE ?= paper
BIN := $(VENV)/bin
# The lock file is whole. What is imported is compiled then: all of it would take longer than the rest.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile

.PHONY: setup run test check lab lock pictures clean

setup: $(VENV)/ready

$(VENV)/ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "cmlib needs Python 3.11 or newer: make PYTHON=/path/to/python3.12 …" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "no virtual environment could be made: on Debian, apt-get install python3-venv" >&2; exit 1; }
	$(INSTALL) -r requirements.lock
	$(INSTALL) --no-build-isolation --editable .
	@$(BIN)/python -c 'import lightgbm' || \
	  { echo "LightGBM needs the OpenMP library: on Debian, apt-get install libgomp1" >&2; exit 1; }
	@touch $@

run: setup
	$(BIN)/cmlib run $(PROFILE)

test: setup
	$(BIN)/python -m pytest $(TESTS)

check: setup  # what one runs while working: no browsers, servers, compilers, profiles of notebooks
	$(BIN)/ruff check --quiet .
	$(BIN)/python -m pytest -m "not needs" --ignore=tests/browser --ignore=tests/test_notebooks.py $(TESTS)

lab: setup
	$(BIN)/jupyter lab --notebook-dir notebooks

lock:
	uv pip compile --quiet --universal --python-version 3.11 --extra dev --extra cluster --no-emit-index-url --no-annotate --no-header pyproject.toml -o requirements.lock

pictures: setup  # of the README; needs chromium
	$(BIN)/python -m tests.browser.pictures

clean:
	rm -rf $(VENV) data/results

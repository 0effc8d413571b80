# `make run` regenerates the report, `make test` runs the linter and the tests, `make test-all` also those with a
# browser, Valgrind and servers, `make check` the linter and what is quick, `make lab` opens the notebooks.
# Each sets up the virtual environment first, if it is not there yet.

PYTHON ?= python3
VENV ?= .venv
PROFILE ?= paper
BIN := $(VENV)/bin
# Where it is set, as in many containers, every process would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE
# The lock file is whole. What is imported is compiled then: all of it would take longer than the rest.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile

.PHONY: bench-smoke setup run check-numbers reference-numbers lint test test-all check fuzz lab notebooks docs lock pictures public clean

setup: $(VENV)/ready

$(VENV)/ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "cmlib needs Python 3.11 or newer: make PYTHON=/path/to/python3.12 …" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "no virtual environment could be made: on Debian, apt-get install python3-venv" >&2; exit 1; }
	$(INSTALL) --require-hashes -r requirements.lock
	$(INSTALL) --no-build-isolation --editable .
	@$(BIN)/python -c 'import lightgbm' || \
	  { echo "LightGBM needs the OpenMP library: on Debian, apt-get install libgomp1" >&2; exit 1; }
	@touch $@

run: setup
	$(BIN)/cmlib run $(PROFILE)

check-numbers: setup  # of the last run of the profile, with tests/reference: make check-numbers PROFILE=smoke
	$(BIN)/python tools/reference_numbers.py check $(PROFILE) $(NOTEBOOKS)

reference-numbers: setup  # are written anew, from the last run of the profile; NOTEBOOKS="03 04" for some
	$(BIN)/python tools/reference_numbers.py make $(PROFILE) $(NOTEBOOKS)

lint: setup
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet . || { echo "format the code: $(BIN)/ruff format" >&2; exit 1; }
	$(BIN)/mypy --no-error-summary

test: lint
	$(BIN)/python -m pytest -m "not full" $(TESTS)

test-all: lint  # what the tests need beside Python is in .ci/run; TESTS="-m full" is what `make test` leaves out
	$(BIN)/python -m pytest $(TESTS)

check: lint  # what one runs while working: nothing slow, no browsers, servers, compilers, notebooks
	$(BIN)/python -m pytest -m "not needs and not slow and not full" -n "$$(nproc)" --ignore=tests/browser \
	  --ignore-glob="tests/test_*notebook*.py" $(TESTS)

lab: setup
	$(BIN)/jupyter lab --notebook-dir notebooks $(if $(filter 0,$(shell id -u)),--allow-root)

notebooks: setup  # are stored with the outputs of the paper profile; CMLIB_PUBLIC names a folder of public sets
	$(BIN)/cmlib run paper
	$(BIN)/python docs/site/store_outputs.py data/results/paper
	$(BIN)/python tools/pair_notebooks.py || true  # 1: it changed files

docs: $(VENV)/docs  # from the executed notebooks of a profile: make docs PROFILE=smoke
	@test -d data/results/$(PROFILE) || { echo "no results of $(PROFILE): make run PROFILE=$(PROFILE)" >&2; exit 1; }
	$(BIN)/python docs/site/assemble.py data/results/$(PROFILE) data/results/site/source
	$(BIN)/python -m sphinx -W --keep-going -q -j auto -E -d data/results/site/cache -c docs/site \
	  data/results/site/source data/results/site/html
	@echo data/results/site/html/index.html

$(VENV)/docs: $(VENV)/ready docs/requirements.lock
	$(INSTALL) --require-hashes -r docs/requirements.lock
	@touch $@

LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header
ONE_LINE_EACH := sed -e ':a' -e '/\\$$/N; s/ *\\\n */ /; ta'
lock:  # versions and hashes; docs/requirements.lock has only what requirements.lock lacks
	$(LOCK) --extra dev --extra cluster --extra compare pyproject.toml -o requirements.lock
	$(ONE_LINE_EACH) requirements.lock > requirements.lock.lines
	$(LOCK) --extra docs --constraint requirements.lock pyproject.toml | $(ONE_LINE_EACH) | grep -vxFf requirements.lock.lines > docs/requirements.lock
	rm requirements.lock.lines

pictures: setup  # of the README; needs chromium
	$(BIN)/python -m tests.browser.pictures

bench-smoke: setup  # benchmarks at their smallest: that they run
	$(BIN)/python benchmarks/clean.py --programs gcc --rounds 1
	$(BIN)/python benchmarks/compress.py speed --rounds 1
	$(BIN)/python benchmarks/dtw.py --rounds 1
	$(BIN)/python benchmarks/parse.py --rows 20000
	$(BIN)/python benchmarks/refine.py --smallest

fuzz: setup  # reads 20,000 damaged files: make fuzz FUZZ="--seed 1"
	$(BIN)/python benchmarks/fuzz.py $(FUZZ)

public: setup  # tries to import others' recordings in CMLIB_PUBLIC (../shared/public); LIVE=live: and run live
	$(BIN)/python benchmarks/public.py $(LIVE)

clean:
	rm -rf $(VENV) data/results

# make demo: install and show what the library is for.  make test: install with test extras, linters, types and tests, under ten minutes.
# make test-thorough: the tests marked thorough, which `make test` leaves out (variants of what it runs; minutes).
# make test-lab: real clusters of Dask and Ray, killed workers, interrupted reproductions, other libraries, the service (minutes).
# make test-gpu: every kernel as code for a GPU, of which `make test-lab` compiles a few; no GPU has to be there (an hour).
# make test-bounds: the tests of sessions with every index of compiled code checked (minutes).
# make test-targets: all targets but demo and test, each in a fresh clone (hours); TARGETS=docs for some of them.
# make docs: the site, warnings are errors, in docs/_build/html.  make review: workflows and habits.  make dist: wheel and sdist, tested.
# make test-floor: the tests with the oldest dependencies that pyproject.toml allows.  make hooks: checks before every commit.
# make bench-check AGAINST=COMMIT: has a kernel become slow since then?  make bench-check: a first look, at stored
# speeds.  make bench-save: store today's speeds (see CONTRIBUTING.md).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests start many processes; bytecode that is kept halves what an import takes.
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/pycache
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-thorough test-lab test-gpu test-bounds test-floor test-targets lint review docs dist hooks bench bench-check bench-save clean

demo: $(VENV)/.installed
	$(BIN)/tightrope demo --out runs/demo

test: $(VENV)/.installed-test
	@$(BROWSER)
	@$(MAKE) --no-print-directory lint & lint=$$!; $(PYTEST) -m 'not thorough' && wait $$lint

test-thorough: $(VENV)/.installed-test
	@$(BROWSER)
	$(PYTEST) -m thorough
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal --durations=25
BROWSER := command -v chromium chromium-browser google-chrome >/dev/null || sh tests/install_browser.sh

# Where other libraries run, or old ones, only our own use of what is deprecated is an error.
LENIENT := -o 'filterwarnings=error::DeprecationWarning:tightrope'
test-lab: $(VENV)/.installed-lab
	$(BIN)/python -m pytest $(LENIENT) -m 'not matrix' tests/lab tests/adapters tests/service --durations=10
	TIGHTROPE_TEST_POSTGRES=1 $(BIN)/python -m pytest $(LENIENT) $(ON_POSTGRES:%=tests/service/test_%.py)
	$(BIN)/python -m pytest $(LENIENT) -m lab  # those of the other folders that `make test` skips
	$(BIN)/python benchmarks/session_histories.py --seconds 120
	$(BIN)/python benchmarks/signals.py --calls 10000
ON_POSTGRES := attacks certificate clock promises  # what a certificate may say does not depend on the database

test-gpu: $(VENV)/.installed-lab
	$(BIN)/python -m pytest $(LENIENT) -n auto tests/lab/test_cuda.py

# Kernels that check indices are other machine code, so they are kept in a folder of their own.
test-bounds: $(VENV)/.installed-test
	TIGHTROPE_CACHE=$(CURDIR)/$(VENV)/bounds NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)/bounds NUMBA_BOUNDSCHECK=1 \
		$(BIN)/python -m pytest tests/session -m 'not thorough'

FLOOR := .venv-floor
test-floor:  # uv, because pip cannot choose the oldest; golden results belong to the versions of constraints.txt
	$(PYTHON) -m venv $(FLOOR)
	$(FLOOR)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(FLOOR)/bin/uv pip install --quiet --python $(FLOOR)/bin/python --resolution lowest-direct -e '.[test]'
	$(FLOOR)/bin/python -m pytest $(LENIENT) -n auto --dist worksteal $(FLOOR_TESTS)
FLOOR_TESTS ?= tests/contract tests/naive tests/simulation tests/session tests/evaluation tests/numerics tests/solvers tests/problems

test-targets:
	sh tests/lab/targets.sh $(TARGETS)

LINTED := src tests benchmarks docs/*.py docs/_extensions
lint: $(VENV)/.installed-test
	$(BIN)/ruff check $(LINTED)
	$(BIN)/ruff format --check $(LINTED)
	$(BIN)/mypy

docs: $(VENV)/.installed-docs
	$(BIN)/sphinx-build -b html -W --keep-going -j auto -d docs/_build/trees docs docs/_build/html
	@echo 'docs/_build/html/index.html'

review: $(VENV)/.installed-review
	$(BIN)/zizmor --offline .github
	@if command -v actionlint >/dev/null; then actionlint; else echo 'actionlint (github.com/rhysd/actionlint) is not installed: left to the hooks'; fi
	$(BIN)/sp-repo-review .

dist: $(VENV)/.installed-dist
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(BIN)/python -m pytest tests/lab/test_wheel.py

hooks: $(VENV)/.installed-test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt pre-commit
	$(BIN)/pre-commit install

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/speed.py

bench-check: $(VENV)/.installed
	$(if $(AGAINST),$(BIN)/python benchmarks/against.py $(AGAINST),$(BIN)/python benchmarks/speed.py --check)

bench-save: $(VENV)/.installed
	$(BIN)/python benchmarks/speed.py --check --save

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.installed-test: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,service]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-lab: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,lab,dask,ray,cuda,service,service-test,docs]' build
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps obp==0.4.1 seaborn tqdm  # obp asks for torch
	@touch $@ $(VENV)/.installed-test $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-review: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt 'sp-repo-review[cli]' zizmor
	@touch $@

$(VENV)/.installed-dist: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]' build twine
	@touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) $(FLOOR) runs dist docs/_build

# make demo: install and show what the library is for.  make test: install with test extras and run everything.  make reference: docs/reference.
# make test-lab: real clusters of Dask and Ray, killed workers, interrupted reproductions, other libraries, the service (minutes).
# make stubs: *.pyi.  make bench-check: has a kernel become slow?  make bench-save: store today's speeds (see CONTRIBUTING.md).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests start many processes; bytecode that is kept halves what an import takes.
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/pycache
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-lab lint bench bench-check bench-save reference stubs clean

demo: $(VENV)/.installed
	$(BIN)/tightrope demo --out runs/demo

test: $(VENV)/.installed-test
	@command -v chromium chromium-browser google-chrome >/dev/null || sh tests/install_browser.sh
	@$(MAKE) --no-print-directory lint & lint=$$!; $(BIN)/python -m pytest -n auto --dist worksteal --durations=25 && wait $$lint

test-lab: $(VENV)/.installed-lab
	$(BIN)/python -m pytest tests/lab tests/adapters tests/service --durations=10

lint: $(VENV)/.installed-test
	$(BIN)/ruff check src tests benchmarks docs/*.py
	$(BIN)/ruff format --check src tests benchmarks docs/*.py
	$(BIN)/mypy

bench: $(VENV)/.installed
	$(BIN)/tightrope bench

bench-check: $(VENV)/.installed
	$(BIN)/tightrope bench --check

bench-save: $(VENV)/.installed
	$(BIN)/tightrope bench --check --save

reference: $(VENV)/.installed
	$(BIN)/python docs/make_reference.py

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.installed-test: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,service,openfeature]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-lab: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,lab,dask,ray,service,openfeature,service-test]'
	@touch $@ $(VENV)/.installed-test $(VENV)/.installed

stubs: $(VENV)/.installed
	$(BIN)/python docs/make_stubs.py

clean:
	rm -rf $(VENV) runs dist

# Needs Python 3.11 or later and make; everything else is installed into .venv.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
# How many processes play tests; 0 is this one alone, which a debugger can follow.
WORKERS ?= 2

.PHONY: quickstart federation test test-all lint types clean

quickstart: $(VENV)/installed ## install, then run the main example
	$(BIN)/fedbandits run examples/quickstart.toml

federation: $(VENV)/installed-federation ## install, then three clinics learn together on this machine
	$(BIN)/python examples/federation/clinics/run.py

test: $(VENV)/installed-test lint types ## install what tests need, run all of them
	$(BIN)/python -m pytest -q -n $(WORKERS)

test-all: $(VENV)/installed-test lint types ## the same, and what takes long: other variants, whole examples
	$(BIN)/python -m pytest -q -n $(WORKERS) -m ""

lint: $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed-test
	$(BIN)/mypy

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "fedbandits needs Python 3.11 or later; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/installed-federation: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[federation]'
	@touch $@

$(VENV)/installed-test: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis

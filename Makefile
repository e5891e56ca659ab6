# Needs Python 3.11 or later and make; everything else is installed into .venv.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
# How many processes play tests: by itself one a processor, four at most. 0 is this one alone, which
# a debugger can follow.
WORKERS ?= logical
# Tests start many processes: without bytecode each would compile the package's text anew.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n $(WORKERS) --maxprocesses 4

.PHONY: quickstart federation test test-all docs figures lint types clean

quickstart: $(VENV)/installed ## install, then run the main example
	$(BIN)/fedbandits run examples/quickstart.toml

federation: $(VENV)/installed-federation ## install, then three clinics learn together on this machine
	$(BIN)/python examples/federation/clinics/run.py

# Types are checked beside the tests: alone they would leave a processor idle for a minute.
BESIDE_TYPES = $(BIN)/mypy & types=$$!; $(1); tests=$$?; wait $$types && exit $$tests

test: $(VENV)/installed-test lint ## install what tests need; lint, types, all tests
	$(call BESIDE_TYPES,$(PYTEST))

test-all: $(VENV)/installed-test lint ## the same, and what takes long: other variants, whole examples
	$(call BESIDE_TYPES,$(PYTEST) -m "")
	$(BIN)/python tools/break.py

docs: $(VENV)/installed-docs ## the site in docs/_build/html; a broken link, a failing example or a sentence that is not plain stops it
	PYTHONPATH=docs/_ext $(BIN)/python -m pytest -q -o addopts= -p no:cacheprovider -p examples docs src
	$(BIN)/python -m sphinx -q -E -W --keep-going -b html docs docs/_build/html
	@echo "The site: docs/_build/html/index.html"

figures: $(VENV)/installed-test ## every table and picture of the pages again, into figures/; PAGES="feducb pfcb" for some
	$(BIN)/python benchmarks/figures.py $(PAGES)

lint: $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed-test
	$(BIN)/mypy

.PHONY: package licences

package: $(VENV)/installed-package ## sdist and wheel in dist, checked; the wheel plays the quickstart by itself
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tools/check_package.py dist

licences: $(VENV)/installed-everything ## what all dependencies are licensed under; fails if one at run time is GPL
	$(BIN)/python tools/licences.py

INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "fedbandits needs Python 3.11 or later; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) -e .
	@touch $@

$(VENV)/installed-federation: $(VENV)/installed
	$(INSTALL) -e '.[federation]'
	@touch $@

# In one step, and without bytecode: Python makes it of what is imported, and tests import a part.
$(VENV)/installed-test: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) --no-compile -e '.[test]'
	@touch $(VENV)/installed $@

$(VENV)/installed-docs: $(VENV)/installed
	$(INSTALL) -e '.[docs]'
	@touch $@

$(VENV)/installed-package: $(VENV)/installed
	$(INSTALL) -e '.[package]'
	@touch $@

$(VENV)/installed-everything: $(VENV)/installed
	$(INSTALL) -e '.[test,docs,package,postgres,data,cluster]'
	@touch $@

clean:
	rm -rf $(VENV) dist docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis

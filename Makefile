# Two commands for everybody: `make demo` and `make test`.  Each sets up what it needs in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

.DEFAULT_GOAL := help
.PHONY: help demo test lint types docs bench smoke clean

help:  ## say what there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

# One stamp per kind of set-up: done again only when what it is made of changes.
$(VENV)/.core: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "softlabel needs Python 3.11 or newer")'
	@echo "setting up $(VENV) (once, about half a minute)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install -c constraints.txt -e '.[serve]'
	@touch $@

# The release of torch is the one in constraints.txt, whatever else is installed with it.
$(VENV)/.train: $(VENV)/.core
	@echo "adding torch (once; it is large)"
	@$(PIP) install -c constraints.txt -e '.[serve,train]'
	@touch $@

$(VENV)/.dev: $(VENV)/.train tools/chromium
	@$(PIP) install 'pip>=25.1'
	@$(PIP) install -c constraints.txt --group dev
	@tools/chromium
	@touch $@

demo: $(VENV)/.train  ## make pictures, simulated people, soft labels, train on them, and a report
	@$(BIN)/softlabel demo demo-report

test: $(VENV)/.dev lint types  ## everything that must hold; real-data tests need SOFTLABEL_DATA
	$(BIN)/python -m pytest -n auto --dist loadfile

lint: $(VENV)/.dev  ## ruff and codespell
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell src tests docs bench *.md

types: $(VENV)/.dev  ## mypy, strict on floors 0 to 2
	$(BIN)/mypy

docs: $(VENV)/.dev  ## write the pages that are made of the program itself
	$(BIN)/python tools/commands.py
	$(BIN)/python tools/results.py
	$(BIN)/python tools/learned.py

bench: $(VENV)/.dev  ## speed, as ratios in one run
	$(BIN)/python bench/label.py

smoke:  ## the bare package in a fresh environment: installs, says hello, makes its demo
	rm -rf .smoke && $(PYTHON) -m venv .smoke && .smoke/bin/pip -q install '.[serve]'
	.smoke/bin/softlabel --help > /dev/null && .smoke/bin/softlabel demo .smoke/report && rm -rf .smoke

clean:  ## remove what the commands above made
	rm -rf $(VENV) .smoke demo-report .pytest_cache .mypy_cache .ruff_cache .hypothesis

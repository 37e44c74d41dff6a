# Two commands for everybody: `make demo` and `make test`.  Each sets up what it needs in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := $(VENV)/peers
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

# Tests are compiled once, not by every worker of every run, and so is what their processes import.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo check test quick whole lint types docs bench smoke clean

help:  ## list the commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

# One stamp per kind of set-up; repeated only when its inputs change.
$(VENV)/.core: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "softlabel needs Python 3.11 or newer")'
	@echo "setting up $(VENV) (once, about half a minute)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install -c constraints.txt -e '.[serve,truth]'
	@touch $@

# constraints.txt fixes the release of torch.
$(VENV)/.train: $(VENV)/.core
	@echo "adding torch (once; it is large)"
	@$(PIP) install -c constraints.txt -e '.[serve,train,truth]'
	@touch $@

$(VENV)/.dev: $(VENV)/.train tools/chromium
	@$(PIP) install 'pip>=25.1'
	@$(PIP) install -c constraints.txt --group dev
	@tools/chromium
	@touch $@

# What reads a release of `publish` in the tests stands beside the packages that are there already,
# so that no package of theirs takes the place of one of ours.  Without network the tests that need
# it are skipped, and the next run tries again.
$(VENV)/.peers: $(VENV)/.dev
	@echo "adding datasets and mlcroissant, which read what publish writes (once, about a minute)"
	@rm -rf $(PEERS) && $(BIN)/python -m venv --without-pip $(PEERS)
	@$(BIN)/python -c 'import site; print(site.getsitepackages()[0])' > $$($(PEERS)/bin/python -c 'import site; print(site.getsitepackages()[0])')/beside.pth
	@if $(PEERS)/bin/python -m pip --disable-pip-version-check -q install --retries 1 -c constraints.txt datasets mlcroissant ppi-python; \
	then touch $@; \
	else rm -rf $(PEERS); echo "datasets, mlcroissant and ppi-python cannot be installed: their tests are skipped"; fi

demo: $(VENV)/.train  ## run a simulated study end to end and write a report
	@$(BIN)/softlabel demo demo-report

# lint and mypy have one process each and the tests wait now and then: together they take less time.
check: $(VENV)/.dev  ## lint, types and the quick tests: under a second, no browser, database server or cluster
	@$(MAKE) --no-print-directory -j3 lint types quick

test: $(VENV)/.dev $(VENV)/.peers  ## everything; tests on published data need SOFTLABEL_DATA
	@$(MAKE) --no-print-directory -j3 lint types whole

quick: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --dist worksteal --quick -q $(PYTEST)

whole: $(VENV)/.dev $(VENV)/.peers
	SOFTLABEL_PEERS=$${SOFTLABEL_PEERS:-$(abspath $(PEERS))/bin/python} $(BIN)/python -m pytest -n auto --dist worksteal $(PYTEST)

lint: $(VENV)/.dev  ## ruff and codespell
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell src tests examples docs bench *.md

types: $(VENV)/.dev  ## mypy
	$(BIN)/mypy

docs: $(VENV)/.dev  ## regenerate the pages made from the program and build the site
	$(BIN)/python tools/commands.py
	$(BIN)/python tools/results.py
	$(BIN)/python tools/learned.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "open site/index.html"

bench: $(VENV)/.dev  ## measure speed as ratios in one run
	$(BIN)/python bench/label.py

smoke:  ## install the bare package in a fresh environment and run its demo
	rm -rf .smoke && $(PYTHON) -m venv .smoke && .smoke/bin/pip -q install '.[serve]'
	.smoke/bin/softlabel --help > /dev/null && .smoke/bin/softlabel demo .smoke/report && rm -rf .smoke

clean:  ## remove everything the commands above made
	rm -rf $(VENV) .smoke site demo-report .pytest_cache .mypy_cache .ruff_cache .hypothesis

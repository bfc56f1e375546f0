# `make run` and `make test` are all a fresh clone needs: python3 (3.11 or newer), make and git.
# Written for GNU make 3.81 (macOS) and later.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev
INPUTS := pyproject.toml constraints.txt src/paicli/__init__.py
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# What PaiCLI and the tests start must not take this make for its parent.
ALONE := unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES ARGS;

# A checkout that was moved, or whose Python was removed, is installed anew.
ifneq ($(shell cat $(INSTALLED) 2>/dev/null && $(BIN)/python -c 'print(1)' 2>/dev/null),$(CURDIR) 1)
$(shell rm -f $(INSTALLED) $(INSTALLED_DEV))
endif

.PHONY: run test check bench clean help

run: $(INSTALLED)  ## Start PaiCLI here; ARGS="-p 'a task'" hands it arguments
	@$(ALONE) exec $(BIN)/python -m paicli $(ARGS)

test: $(INSTALLED_DEV)  ## Run the tests; ARGS="tests/unit -k edit" chooses some
	@$(ALONE) exec $(BIN)/python -m pytest -n auto $(ARGS)

check: $(INSTALLED_DEV)  ## Format, lint, types, layers, documents and locales
	$(BIN)/ruff format --check src tests demo
	$(BIN)/ruff check src tests demo
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest tests/test_architecture.py tests/test_documents.py

bench: $(INSTALLED_DEV)  ## Measure speed against floors taken in the same run
	@$(ALONE) exec $(BIN)/python -m tests.bench $(ARGS)

clean:  ## Remove .venv, caches and built files
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis demo/target
	find src tests demo -name __pycache__ -type d -prune -exec rm -rf {} +

help:  ## Show this list
	@sed -n 's/^\([a-z]*\):.*  ## \(.*\)/make \1	\2/p' Makefile

$(INSTALLED): $(INPUTS)
	@PYTHON='$(PYTHON)' sh scripts/make-venv $(VENV)
	@echo 'Installing PaiCLI into $(VENV) ...' >&2
	@$(PIP) -e .
	@printf '%s\n' '$(CURDIR)' > $@

$(INSTALLED_DEV): $(INSTALLED)
	@echo 'Installing what the tests need ...' >&2
	@$(PIP) -e '.[dev]'
	@touch $@

# Needs Python 3.11 or newer, and nothing else: every target sets itself up first.
VENV ?= .venv
BIN := $(VENV)/bin
# Many tests wait for servers and processes: more workers than cores keep the cores busy.
WORKERS ?= 4
# Compiling them takes longer than testing them: one process does it, while others do the checks.
NUMERIC := tests/freshness/*.py tests/revisit/*.py tests/cli/test_revisit*.py
# What most changes touch first; the other packages take minutes.
QUICK := $(addprefix tests/,core crawl engine fetch frontier lifecycle links publications scope)

# Keep compiled modules, whatever the environment says: hundreds of processes would compile ours again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test quick numeric others lint format docs bench profile lock hashes audit sbom clean

help:  ## what there is to make
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

setup:  ## build .venv from the locked versions, if they changed
	@python=$$(tools/find-python) && "$$python" tools/setup.py $(VENV)

demo: setup  ## serve a small web on loopback, collect it, show the report
	@$(BIN)/python -m tools.demo

test: setup  ## every check and every test
	@$(MAKE) --no-print-directory --jobs 2 numeric others

quick: setup  ## the tests of the lower layers, without browser, PostgreSQL and processes: under a minute
	$(BIN)/python -m pytest -q -n 2 -m "not browser and not postgres and not process and not slow" $(QUICK)

numeric: setup
	$(BIN)/python -m pytest -q $(NUMERIC)

others: lint
	$(BIN)/python -m tools.run_tests -n $(WORKERS) --dist worksteal $(foreach files,$(NUMERIC),--ignore-glob='$(files)')

lint: setup  ## style, types, and who may import what
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/mkdocs build --strict --quiet --site-dir build/site

docs: setup  ## serve the documentation on loopback, until Ctrl-C
	$(BIN)/mkdocs serve

format: setup  ## format the code
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: setup  ## the benchmarks, as ratios, JSON in the last line
	@$(BIN)/python -m benchmarks

profile: setup  ## the collector's time by part, as the table of docs/performance.md
	@$(BIN)/python -m benchmarks.profile

lock:  ## choose the locked versions again, with their hashes
	tools/lock

hashes:  ## keep the locked versions, pin what has no version yet, write the hashes again
	tools/lock --keep

audit: setup  ## compare the locked versions with the public list of vulnerabilities
	@$(BIN)/python -m tools.audit

sbom: setup  ## list the installed packages as CycloneDX JSON, in build/sbom.json
	@mkdir -p build
	@$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --output-format JSON \
		--output-file build/sbom.json $(BIN)/python
	@echo build/sbom.json

clean:  ## remove what the other targets made
	rm -rf $(VENV) .venv-pywb demo-home build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# Everything sets itself up: Python 3.11 or newer, pip and make are enough. uv is used where it is there.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help install demo test check format bench accuracy chaos soak powercut spark oldest clean

VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.tracekit-ready
# The first of these that exists and is new enough; `make PYTHON=/path/to/python` chooses another.
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3 python; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$python"; break; }; done)
ARGS ?=
# Tests run in as many processes as there are cores, at most four; `make test WORKERS=` runs them in one.
WORKERS ?= -n auto --maxprocesses=4 --dist loadfile

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(READY) ## the environment alone: .venv with everything

$(READY): pyproject.toml
	@if [ -z "$(PYTHON)" ]; then echo "make: Python 3.11 or newer is needed; set PYTHON=/path/to/it" >&2; exit 1; fi
	@echo "Setting up $(VENV): tracekit with all extras and the tools to test it (once, a minute or two)..." >&2
	@if command -v uv >/dev/null 2>&1; then \
		[ -x $(BIN)/python ] || uv venv --quiet --seed --python "$(PYTHON)" $(VENV); \
		uv pip install --quiet --python $(BIN)/python -e '.[all]' --group dev; \
	else \
		[ -x $(BIN)/python ] || "$(PYTHON)" -m venv $(VENV); \
		: "--group came with pip 25.1"; \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'; \
		$(BIN)/python -m pip install --quiet -e '.[all]' --group dev; \
	fi
	@touch $@

demo: install ## an agent pays a refund, is killed, diagnosed and resumed: one payment
	@$(BIN)/tracekit demo $(ARGS)

test: install ## the tests; ARGS="-k word" chooses
	@$(BIN)/python -m pytest $(WORKERS) $(ARGS)

check: install ## format, lint, types, import rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install ## put every file into the one format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: install ## figures, as ratios within one run where they can be; never part of the tests
	@for script in $(sort $(wildcard benchmarks/bench_*.py)) benchmarks/recording_cost.py benchmarks/store_step.py; do \
		echo "== $$script"; $(BIN)/python "$$script" $(ARGS); done

accuracy: install ## how many diagnoses are right: on labelled logs, and on faults planted into clean runs
	@for script in benchmarks/accuracy.py benchmarks/mutate.py; do \
		echo "== $$script"; $(BIN)/python "$$script" $(ARGS); done

chaos: install ## SIGKILL at every place of a task on both stores, then the example killed at random: does money move twice?
	@$(BIN)/python -m benchmarks.chaos $(ARGS)
	@$(BIN)/python -m benchmarks.chaos_example

soak: install ## ten minutes of refunds on PostgreSQL under kills, restarts, a full disk and bad services; ARGS="--seconds 60"
	@$(BIN)/python -m benchmarks.soak $(ARGS)

SPARK_VENV := .venv-spark

spark: $(SPARK_VENV)/.ready ## the same log through one machine and through a Spark cluster of two processes; needs Java 17
	@$(SPARK_VENV)/bin/python -m pytest tests/analyzers/test_spark*.py $(ARGS)

$(SPARK_VENV)/.ready: pyproject.toml
	@echo "Setting up $(SPARK_VENV): tracekit with the extra [spark] (once, some minutes)..." >&2
	@[ -x $(SPARK_VENV)/bin/python ] || "$(PYTHON)" -m venv $(SPARK_VENV)
	@$(SPARK_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[spark]' 'pytest>=8.3,<9' pytest-asyncio
	@touch $@

OLDEST_VENV := .venv-oldest
OLDEST_TESTS := tests/cli tests/recording tests/durable/test_replay.py tests/durable/test_ledger_rules.py \
	tests/store/test_conformance.py tests/analyzers/test_failures_found.py tests/analyzers/test_session.py

oldest: $(OLDEST_VENV)/.ready ## the same verdicts and promises with the oldest dependencies that pyproject.toml allows
	@$(OLDEST_VENV)/bin/python -m pytest $(OLDEST_TESTS) -m "not postgres" $(ARGS)

$(OLDEST_VENV)/.ready: pyproject.toml
	@echo "Setting up $(OLDEST_VENV): the oldest version of each dependency (once, some minutes)..." >&2
	@[ -x $(OLDEST_VENV)/bin/python ] || "$(PYTHON)" -m venv $(OLDEST_VENV)
	@"$(PYTHON)" tests/oldest.py > $(OLDEST_VENV)/oldest.txt
	@$(OLDEST_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[all]' --constraint $(OLDEST_VENV)/oldest.txt \
		'pytest>=8.3,<9' pytest-asyncio hypothesis httpx openai anthropic
	@touch $@

powercut: install ## power cuts under the real store: which promises hold when the machine stops at any write
	@$(BIN)/python benchmarks/powercut.py $(ARGS)

clean: ## remove what was built and installed
	rm -rf $(VENV) $(SPARK_VENV) $(OLDEST_VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

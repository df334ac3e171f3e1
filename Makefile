# Everything a person or CI runs. `make` lists the targets.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LISTEN ?= 127.0.0.1:8080
CLUSTER ?= config/example-cluster.yaml
SOAK_MINUTES ?= 20
SOAK_SEED ?=

.DEFAULT_GOAL := help
.PHONY: help setup run test verify lint bench bench-full bench-compare bench-burst control-plane lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

setup: $(READY) ## create .venv from the locked requirements

$(READY): requirements/dev.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "make setup: $(PYTHON) is missing; install Python 3.11 or newer, or call make PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes -r requirements/dev.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

run: setup ## serve the example cluster on 127.0.0.1:8080 (LISTEN=, CLUSTER=)
	$(BIN)/gpu-extender serve --cluster $(CLUSTER) --listen $(LISTEN)

test: setup ## run every test, two files at a time; needs Go for Kubernetes' own code
	$(BIN)/python -m tests.control_plane.binaries
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

verify: setup ## property tests with many more inputs, and a long soak (SOAK_MINUTES=, SOAK_SEED=); needs Go
	HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest --timeout 900 tests/property
	SOAK_MINUTES=$(SOAK_MINUTES) SOAK_SEED=$(SOAK_SEED) $(BIN)/python -m pytest tests/control_plane/soak
	@echo "make verify ran: the property tests with 2,000 examples each; a soak of $(SOAK_MINUTES) minutes"

lint: setup ## format, lint, types, import contract, spelling
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

bench: setup ## measure the quick cases of everything: minutes; needs Go
	$(BIN)/python -m benchmarks

bench-full: setup ## measure every case: up to an hour; needs Go
	$(BIN)/python -m benchmarks --full

bench-compare: setup ## compare the last run with the baseline; fails where a ratio is worse
	$(BIN)/python -m benchmarks.compare

bench-burst: setup ## time a burst of pods through the real kube-scheduler, beside an echo extender; needs Go
	$(BIN)/python -m benchmarks.burst

control-plane: setup ## build etcd and Kubernetes for the tests ahead of time: 5 to 15 minutes, once
	$(BIN)/python -m tests.control_plane.binaries

lock: ## resolve the locked requirements again (needs uv)
	uv pip compile --quiet --upgrade --generate-hashes --universal --python-version 3.11 \
	  --custom-compile-command "make lock" pyproject.toml -o requirements/runtime.txt
	uv pip compile --quiet --upgrade --generate-hashes --universal --python-version 3.11 \
	  --custom-compile-command "make lock" pyproject.toml --group dev -o requirements/dev.txt

clean: ## remove .venv and caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist

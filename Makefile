# Everything a person or CI runs. `make` lists the targets.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
AUDIT := $(VENV)/audit
LISTEN ?= 127.0.0.1:8080
CLUSTER ?= config/example-cluster.yaml
SOAK_MINUTES ?= 20
SOAK_SEED ?=

.DEFAULT_GOAL := help
.PHONY: help setup run playground test verify audit lint docs docs-reference pictures bench bench-full bench-compare bench-burst control-plane lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: $(READY) ## create .venv from the locked requirements

$(READY): requirements/dev.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "make setup: $(PYTHON) is missing; install Python 3.11 or newer, or call make PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes -r requirements/dev.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

run: setup ## serve the example cluster on 127.0.0.1:8080 (LISTEN=, CLUSTER=)
	$(BIN)/gpu-extender serve --cluster $(CLUSTER) --listen $(LISTEN)

playground: setup ## start a real control plane with example nodes and pods to try, until Ctrl-C; needs Go
	@$(BIN)/python -m playground

test: setup ## run every test, three files at a time; needs Go for Kubernetes' own code
	$(BIN)/python -m tests.control_plane.binaries kwok
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder -m "not verify"

verify: setup ## property tests and a fuzz with many more inputs, and a long soak (SOAK_MINUTES=, SOAK_SEED=); needs Go
	$(BIN)/python -m pytest --timeout 900 -m verify
	HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest --timeout 900 tests/property
	FUZZ_REQUESTS=20000 $(BIN)/python -m pytest --timeout 900 tests/web/test_fuzz.py
	SOAK_MINUTES=$(SOAK_MINUTES) SOAK_SEED=$(SOAK_SEED) $(BIN)/python -m pytest tests/control_plane/soak
	@echo "make verify ran: the tests that are marked so, with every command of the pages and the image's stages; the property tests with 2,000 examples each; a fuzz of 20,000 requests; a soak of $(SOAK_MINUTES) minutes"
	@echo "not part of it: make audit, which needs the advisory data of the package index"

# pip-audit passes over what has a marker for other Pythons and systems, without a word; so it
# gets names and versions alone, in one list for each first, second, ... version of a name.
audit: $(AUDIT)/.ready ## look up known vulnerabilities of every locked version; needs the package index
	@rm -f $(AUDIT)/versions-*.txt
	@grep -hoE '^[A-Za-z0-9._-]+==[^ ;]+' requirements/*.txt | sort -u \
	  | awk -F== '{ print > ("$(AUDIT)/versions-" ++seen[$$1] ".txt") }'
	@for versions in $(AUDIT)/versions-*.txt; do \
	  $(AUDIT)/bin/pip-audit --strict --disable-pip --no-deps --progress-spinner off -r $$versions \
	    || { echo "make audit: FAILED: a locked version has a known vulnerability, or could not be looked up; see above" >&2; exit 1; }; \
	done
	@echo "make audit looked up $$(cat $(AUDIT)/versions-*.txt | wc -l) locked versions"

$(AUDIT)/.ready: requirements/audit.txt
	$(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/pip install --quiet --require-hashes -r requirements/audit.txt
	@touch $@

lint: setup docs ## format, lint, types, import contract, spelling, and the documentation as a site
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

docs: setup ## build the documentation as a site in build/site; a broken link fails it
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=. $(BIN)/mkdocs build --strict --quiet

docs-reference: setup ## write the pages and pictures of docs that are made by code
	$(BIN)/python -m pages
	$(BIN)/python -m tests.contract.metrics_reference
	$(BIN)/python -m tests.monitoring.alerts
	$(BIN)/python -m tests.monitoring.dashboard

pictures: setup ## take the pictures of the status page anew; needs Chromium, or root to install it
	$(BIN)/python -m tests.browser.pictures

bench: setup ## measure the quick cases of everything: minutes; needs Go
	$(BIN)/python -m benchmarks

bench-full: setup ## measure every case: up to an hour; needs Go
	$(BIN)/python -m benchmarks --full

bench-compare: setup ## compare the last run with the baseline; fails where a ratio is worse
	$(BIN)/python -m benchmarks.compare

bench-burst: setup ## time a burst of pods through the real kube-scheduler, beside an echo extender; needs Go
	$(BIN)/python -m benchmarks.burst

control-plane: setup ## build etcd and Kubernetes for the tests ahead of time: 5 to 15 minutes, once
	$(BIN)/python -m tests.control_plane.binaries kwok

lock: ## resolve the locked requirements again (needs uv)
	uv pip compile --quiet --upgrade --generate-hashes --universal --python-version 3.11 \
	  --custom-compile-command "make lock" pyproject.toml -o requirements/runtime.txt
	uv pip compile --quiet --upgrade --generate-hashes --universal --python-version 3.11 \
	  --custom-compile-command "make lock" pyproject.toml --group dev -o requirements/dev.txt
	uv pip compile --quiet --upgrade --generate-hashes --universal --python-version 3.11 \
	  --custom-compile-command "make lock" --group pyproject.toml:audit -o requirements/audit.txt
	uv pip compile --quiet --upgrade --generate-hashes --universal --python-version 3.11 \
	  --custom-compile-command "make lock" --group pyproject.toml:build -o requirements/build.txt

clean: ## remove .venv and caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist

# Needs Python 3.11 or newer, make and git; everything else is installed into .venv, in the versions of uv.lock.

PYTHON ?= python3
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
PACKAGES := ui/node_modules/.package-lock.json
SHARES := --dist loadgroup --no-loadscope-reorder
unexport PYTHONDONTWRITEBYTECODE # the tests start hundreds of processes: compiling what they import takes longer than they do

.DEFAULT_GOAL := help
.PHONY: help demo test ui ui-check check fmt conformance conformance-check bench gate sim fuzz crash soak kill acceptance-cluster million stream bulk docs pages lock dist dist-check sbom audit release test-on clean $(VENV)

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-18s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.core ## check and run the example playbooks; installs what NoETL needs, no services
	$(BIN)/noetl check examples/*.yaml
	@$(PY) scripts/demo.py

test: $(VENV)/.dev ## run all tests; installs what they need, PostgreSQL, NATS, an S3-style server and Chromium included
	@$(PY) scripts/browser.py
	$(PY) -m pytest -n $$(($(JOBS) + 1)) $(SHARES) $(PYTEST_ARGS) || { test $$? -eq 1 && \
	    echo "some failed beside others; they must pass alone" && $(PY) -m pytest -n 0 --last-failed \
	    --last-failed-no-failures none $(PYTEST_ARGS); }
	$(PY) -m tests.simulation.run --seeds 2000 --pairs 50 --mutants --mutants-base 1 --jobs $(JOBS)
	@$(PY) -m tests.spec.conformance --check

ui: $(PACKAGES) ## build the web pages into the package; needs Node 20.19 or newer
	npm --prefix ui run build

ui-check: $(PACKAGES) $(VENV)/.dev ## check the web pages: lint, types, tests, weight, and that what is committed is what is built
	npm --prefix ui run check
	node ui/scripts/types.mjs --check
	npm --prefix ui run test
	NOETL_UI_OUT=$(CURDIR)/build/ui npm --prefix ui run build
	diff -r build/ui src/noetl/ui/built || { echo "the built pages differ from their source: make ui, and commit" >&2; exit 1; }
	npm --prefix ui run size

check: $(VENV)/.dev ## format, lint, strict types, rooms and fast tests: what to run before a commit
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(PY) -m pytest -n $(JOBS) $(SHARES) -m "not slow" --ignore=tests/integration $(PYTEST_ARGS)
	@$(PY) -m tests.spec.conformance --check

fmt: $(VENV)/.dev ## format the code and repair what the linter can
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

conformance: $(VENV)/.dev ## write docs/conformance.md: each requirement and the tests that prove it
	@$(PY) -m tests.spec.conformance

conformance-check: $(VENV)/.dev
	@$(PY) -m tests.spec.conformance --check

bench: $(VENV)/.dev build/fast/.installed ## measure, some 20 minutes: docs/performance.md and build/bench.json; ONLY=part,… PEERS=dbos,…
	@mkdir -p build
	@$(PY) -m bench --output build/bench.json --page docs/performance.md \
	    $(if $(PEERS),--peers $(PEERS)) $(if $(ONLY),--only $(ONLY))

build/fast/.installed: $(PINS) # the extra `fast`, as the image has it: for the cluster that is measured, not for tests
	@$(PIP) install --constraint $(PINS) --upgrade --target build/fast uvloop httptools
	@touch $@

gate: $(VENV)/.dev ## a short benchmark of counts and ratios; fails if something costs a quarter more than it did
	@$(PY) -m bench.gate

docs: $(VENV)/.docs ## build the documentation into build/docs, a site that needs no server; a link that leads nowhere fails
	@$(PY) scripts/site.py

pages: $(VENV)/.dev ## write the pages of rules, kinds, commands, settings, events and the API from the code
	@$(PY) scripts/pages.py

sim: $(VENV)/.dev ## run 10,000 fresh worlds under faults, all mutants and 1,000 crash images; some 15 minutes
	$(PY) -m tests.simulation.run --seeds 5000 --faults-min 600000 --pairs 50 --mutants --images 1000 --jobs $(JOBS)

fuzz: $(VENV)/.dev ## throw random input at whatever takes some, much more than `make test` does
	$(PY) tests/fuzz/run.py
	for target in bodies messages reports references; do \
	    $(PY) tests/fuzz/run.py --target $$target --inputs 20000 || exit 1; done

crash: $(VENV)/.dev ## kill -9 runs at 200 random moments and compare with an undisturbed one; some 15 minutes
	$(PY) tests/crash/run.py

MINUTES ?= 30
soak: $(VENV)/.dev ## disturb a cluster and single processes for MINUTES, at once; one line of figures each
	$(PY) -m tests.soak.run --deployment both --minutes $(MINUTES)

kill: $(VENV)/.dev ## disturb a cluster for MINUTES (30) with kill -9, pauses and outages, then check that it kept its word
	NOETL_KILL_MINUTES=$(MINUTES) $(PY) -m pytest -n 0 -s tests/cluster/test_kill.py $(PYTEST_ARGS)

acceptance-cluster: $(VENV)/.dev ## run the acceptance tests on a cluster of two servers and three workers
	NOETL_ACCEPTANCE=cluster $(PY) -m pytest -n 0 tests/acceptance $(PYTEST_ARGS)

million: $(VENV)/.dev ## run loops of a million iterations, measure their memory and verify their logs; some 20 minutes
	$(PY) tests/crash/million.py

bulk: $(VENV)/.dev ## move a million rows and a body of 1 GiB; measure time beside psql, and memory; some 3 minutes
	$(PY) tests/bulk/run.py

stream: $(VENV)/.dev ## stream a body of 1 GiB into a result and out again, and measure the memory; half a minute
	NOETL_STREAM_MIB=1024 $(PY) -m pytest -n 0 tests/acceptance/test_streaming.py

lock: $(VENV)/.dev ## write uv.lock anew after a change of dependencies in pyproject.toml
	$(BIN)/uv lock

dist: $(VENV)/.dev ## build sdist and wheel into dist/, byte by byte the same for everybody; nothing is downloaded
	@$(PY) scripts/dist.py

dist-check: dist ## install them into empty environments of each Python at hand (3.11 to 3.14), and use them as a newcomer
	@$(PY) scripts/dist_check.py --jobs $(JOBS)

sbom: $(VENV)/.dev ## write the bills of materials of package and web pages (CycloneDX) into dist/
	@$(PY) scripts/sbom.py

audit: $(VENV)/.dev ## check locks and licences, and ask for known vulnerabilities; REQUIRED=1: fail where nobody answers
	@$(PY) -m pytest -n 0 -q tests/test_dependencies.py tests/release/test_locks.py
	@$(PY) scripts/audit.py $(if $(REQUIRED),--required)

release: $(VENV)/.dev ## make a release: number, changelog, commit and tag; nothing is pushed: make release VERSION=1.2.3
	@$(PY) scripts/release.py $(or $(VERSION),$(error name the version: make release VERSION=1.2.3))

ON = build/on/$(notdir $(PYTHON))
test-on: $(VENV)/.uv ## run the fast tests on another Python: make test-on PYTHON=python3.13
	@$(PYTHON) -m venv $(ON)
	@env -u VIRTUAL_ENV UV_PROJECT_ENVIRONMENT=$(ON) UV_PYTHON=$(ON)/bin/python UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy \
	    $(BIN)/uv sync --quiet --frozen --inexact --group dev
	$(ON)/bin/python -m pytest -n $(JOBS) $(SHARES) -p no:cacheprovider -m "not slow" --ignore=tests/integration $(PYTEST_ARGS)

clean: ## remove .venv and everything else that these commands made
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist ui/node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# What the web pages are built with: exactly what ui/package-lock.json names.
$(PACKAGES): ui/package-lock.json
	@command -v npm >/dev/null || { echo "the web pages are built with Node 20.19 or newer; npm is not there" >&2; exit 1; }
	npm --prefix ui ci
	@touch $@

# Installation. Each stamp is younger than what it was made from, so a second run does nothing.
# uv takes the exact set of uv.lock, hashes included, in a few seconds. Where it cannot run (no build for the platform, an index
# only pip knows), pip installs the same versions.

$(VENV): $(VENV)/.core

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	    found=$$($(PYTHON) --version 2>/dev/null || echo "not there"); \
	    echo "NoETL needs Python 3.11 or newer; $(PYTHON) is $$found. Name another one: make PYTHON=python3.12" >&2; exit 1; }
	@echo "creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

UV := env -u VIRTUAL_ENV UV_PROJECT_ENVIRONMENT=$(VENV) UV_PYTHON=$(PY) UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy $(BIN)/uv
PIP := $(PY) -m pip --disable-pip-version-check --quiet
PINS := $(VENV)/pins.txt

$(PINS): $(VENV)/.python uv.lock scripts/pins.py
	@$(PY) scripts/pins.py uv.lock > $@

$(VENV)/.uv: $(PINS)
	@$(PIP) install --constraint $(PINS) uv && $(BIN)/uv --version >/dev/null \
	    || echo "uv cannot be used here; pip installs instead, which takes longer" >&2
	@touch $@

$(VENV)/.core: $(VENV)/.uv pyproject.toml
	@echo "installing NoETL"
	@{ test -x $(BIN)/uv && $(UV) sync --quiet --frozen --inexact --compile-bytecode --no-dev; } \
	    || $(PIP) install --constraint $(PINS) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.uv pyproject.toml
	@echo "installing NoETL and what its tests need"
	@{ test -x $(BIN)/uv && $(UV) sync --quiet --frozen --inexact --compile-bytecode --group dev; } \
	    || { $(PIP) install 'pip>=25.1' && $(PIP) install --constraint $(PINS) --editable . --group dev; }
	@touch $(VENV)/.core $@

$(VENV)/.docs: $(VENV)/.dev
	@echo "installing what builds the documentation"
	@{ test -x $(BIN)/uv && $(UV) sync --quiet --frozen --inexact --compile-bytecode --group dev --group docs; } \
	    || $(PIP) install --constraint $(PINS) --group docs
	@touch $@

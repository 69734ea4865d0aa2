PYTHON ?= python3
BIN := .venv/bin
PIP_INSTALL := $(BIN)/pip install --quiet --constraint constraints.txt
EXAMPLE := benchmarks/cart.py
EXAMPLE_LINE := 31
TEST_MODELS := smollm2-135m qwen2.5-coder-0.5b

.PHONY: run test test-all lint bench test-models

run: .venv/installed
	@$(BIN)/completer models pull
	@echo "--- $(EXAMPLE) up to line $(EXAMPLE_LINE), and what completer adds there:"
	@printf '%s' "$$(head -n $(EXAMPLE_LINE) $(EXAMPLE))"
	@$(BIN)/completer complete $(EXAMPLE):$(EXAMPLE_LINE)

test: .venv/installed-dev test-models
	@$(BIN)/python -m pytest

test-all: .venv/installed-dev test-models
	@$(BIN)/python -m pytest -m ""

lint: .venv/installed-dev
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy completer lsp adaptive tests

bench: .venv/installed
	@$(BIN)/completer models pull
	@$(BIN)/completer bench --peers "$$($(BIN)/python benchmarks/corpus.py)"

test-models: .venv/installed
	@for model in $(TEST_MODELS); do \
	    $(BIN)/completer models pull $$model || echo "no $$model: the tests that need it will be skipped"; \
	done

KERNELS := setup.py $(wildcard completer/backends/cpu/*.cpp completer/backends/cpu/*.h)

.venv/installed: pyproject.toml constraints.txt $(KERNELS)
	$(PYTHON) -m venv .venv
	$(PIP_INSTALL) --editable .
	@touch $@

.venv/installed-dev: .venv/installed
	$(PIP_INSTALL) --editable ".[dev]"
	@touch $@

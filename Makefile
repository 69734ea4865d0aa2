PYTHON ?= python3
BIN := .venv/bin
PIP_INSTALL := $(BIN)/pip install --quiet --constraint constraints.txt
EXAMPLE := benchmarks/cart.py
EXAMPLE_LINE := 31
TEST_MODELS := smollm2-135m qwen2.5-coder-0.5b

EXTENSION := vscode-extension
VSIX := dist/completer.vsix
PICTURES := grows_without or real_weights_and_its_statistics or in_a_terminal
WHEEL := dist/wheel

.PHONY: run test test-all lint lint-extension bench test-models vsix editor screenshots

run: .venv/installed
	@$(BIN)/completer models pull
	@echo "--- $(EXAMPLE) up to line $(EXAMPLE_LINE), and what completer adds there:"
	@printf '%s' "$$(head -n $(EXAMPLE_LINE) $(EXAMPLE))"
	@$(BIN)/completer complete $(EXAMPLE):$(EXAMPLE_LINE)

test: .venv/installed-dev test-models
	@$(BIN)/python -m pytest

test-all: .venv/installed-dev test-models
	@$(BIN)/python -m pytest -m ""

lint: .venv/installed-dev lint-extension
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy completer lsp adaptive tests

# The VS Code extension, where there is npm: checked, its pure parts tested.
lint-extension:
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory $(EXTENSION)/node_modules/installed \
	    && cd $(EXTENSION) && npm run --silent lint && npm test --silent; else echo "no npm: $(EXTENSION) is not checked"; fi

# The extension with the wheel of this version in it, which takes minutes to compile and is kept while it is current.
vsix: $(WHEEL) $(EXTENSION)/node_modules/installed
	@cd $(EXTENSION) && npm run --silent build && node package.mjs ../dist/*.whl ../$(VSIX)

$(WHEEL): .venv/installed-dev $(shell git ls-files README.md completer lsp adaptive)
	@rm -rf dist/*.whl
	@$(BIN)/python -m build --wheel --no-isolation --outdir dist . >/dev/null
	@touch $@

# What tests/test_vscode.py needs besides Chromium, in the user's cache; a node and an npm that are new enough, too.
editor:
	@$(EXTENSION)/e2e/install.sh

screenshots: .venv/installed-dev test-models
	@SCREENSHOTS=1 $(BIN)/python -m pytest -m "" tests/test_vscode.py tests/test_neovim.py -k "$(PICTURES)"

$(EXTENSION)/node_modules/installed: $(EXTENSION)/package-lock.json
	@cd $(EXTENSION) && npm ci --ignore-scripts --loglevel=error
	@touch $@

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

PYTHON ?= python3
BIN := .venv/bin

.PHONY: run test check setup

run: setup
	$(BIN)/iobound run --quick

test: setup check
	$(BIN)/python -m pytest -m "not alone" -n 2 --dist loadfile
	$(BIN)/python -m pytest -m alone

check: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

setup: .venv/installed

.venv/installed: pyproject.toml requirements.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@


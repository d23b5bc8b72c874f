# make run    installs what is needed and starts everything; Ctrl-C stops it
# make test   installs what is needed and runs the tests
# make help   lists the rest
#
# PORT, HOST, VAR_DIR and the other settings come from the environment or the command
# line: make run PORT=8001 VAR_DIR=./var-2

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help run superuser local-model test lint format lock install install-dev clean

VENV ?= .venv
export VENV
BIN = "$(VENV)/bin"

help: ## lists these targets
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

run: install ## starts the chat, the API, the admin, the worker and their services
	@exec $(BIN)/python manage.py studio

superuser: install ## makes a user who may enter the admin, beside a running instance
	@exec $(BIN)/python manage.py createsuperuser

test: install-dev ## runs every test that this machine can; says which it cannot
	@./bin/provide-browser
	@exec $(BIN)/python -m pytest $(ARGS)

lint: install-dev ## style, import directions, missing migrations
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/lint-imports
	DJANGO_SETTINGS_MODULE=tests.settings $(BIN)/python -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run

format: install-dev ## rewrites the code in the project's style
	$(BIN)/python -m ruff format .
	$(BIN)/python -m ruff check --fix .

local-model: install ## serves a tiny language model on this machine, a demonstration
	@./bin/install requirements-local-model.txt
	@exec $(BIN)/python -m memoryproject.local_model

COMPILE = $(BIN)/python -m uv pip compile --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --quiet --custom-compile-command "make lock"
lock: install-dev ## compiles the requirements again
	$(COMPILE) requirements.in -o requirements.txt
	$(COMPILE) requirements-dev.in -o requirements-dev.txt
	$(COMPILE) --no-deps requirements-local-model.in -o requirements-local-model.txt

install:
	@./bin/install requirements.txt

install-dev:
	@./bin/install requirements-dev.txt

clean: ## removes the virtual environment and caches; conversations stay in VAR_DIR
	rm -rf "$(VENV)" .pytest_cache .ruff_cache .import_linter_cache .hypothesis node_modules
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

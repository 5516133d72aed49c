# make demo    set up, and find a law of physics in a table
# make test    set up, then lint, types and all tests (what CI runs)
# make check   lint and types only
# make docs    the site, in build/docs/html: minutes at first, then only what has changed
# make sanitize   the C kernels under AddressSanitizer and UBSan
# make fuzz   20,000 mutations of each kind of file, exports on hostile rows, kills,
#             full disks: an hour or more
# make wheel   wheel and sdist in dist/, tried in an empty environment without a compiler
# make lowest   quick tests with the lowest versions of dependencies that pyproject.toml admits
# make newest   the same with the newest; PYTHON=python3.13 chooses the interpreter of both
# make types   a user's file under mypy and pyright, with the types that the package ships
# make bench   speed and memory as ratios to GELU, the MLP and the peers: half an hour, idle machine
# make experiments   run again what the docs report: hours; recorded rows are kept (delete their file)

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# coefficients.h is written by a program.
C_SOURCES := $(filter-out %/coefficients.h,$(wildcard rational_anova/kernels/source/*.[ch]))

# Data sets are found through RAN_DATA; see README, "Data".
ifneq ($(wildcard ../shared/data),)
export RAN_DATA ?= $(abspath ../shared/data)
endif

.PHONY: demo test check docs sanitize fuzz wheel lowest newest types bench experiments clean

demo: $(READY)
	$(BIN)/ran demo

# One thread a worker: two workers of two threads each on two cores take twice as long. A module
# stays on one worker, so that what it builds once is built once; tests/conftest.py has the order. The
# studio comes last and alone: its browser waits for searches, which other work would hold up.
test: check
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadscope --no-loadscope-reorder \
		--ignore tests/studio
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest tests/studio

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(C_SOURCES)
	$(BIN)/mypy
	$(BIN)/zizmor --quiet --offline .github

# Without a network; warnings are errors.
docs: $(BIN)/sphinx-build
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/sphinx-build -q -W --keep-going \
	    -d build/docs/doctrees docs build/docs/html
	$(BIN)/python docs/_extensions/check_site.py build/docs/html

$(BIN)/sphinx-build: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	touch $@

sanitize: $(READY)
	$(BIN)/python tests/kernels/sanitize.py build

# The path has no compiler, the folder no code: what runs is what was installed.
wheel: $(READY)
	$(BIN)/python -m pip install --quiet build
	rm -rf dist build/wheel && mkdir -p build/wheel/try
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m venv build/wheel/env
	build/wheel/env/bin/python -m pip install --quiet --constraint constraints.txt dist/*.whl
	build/wheel/env/bin/python tests/release/sizes.py
	cp tests/release/smoke.py build/wheel/try
	cd build/wheel/try && env -i HOME=$(abspath build/wheel) PATH=$(abspath build/wheel/env/bin) python smoke.py
	build/wheel/env/bin/python -m pip uninstall --quiet --yes rational-anova
	build/wheel/env/bin/python -m pip install --quiet --constraint constraints.txt dist/*.tar.gz
	cd build/wheel/try && env -i HOME=$(abspath build/wheel) PATH=$(abspath build/wheel/env/bin) python smoke.py

# What reads tables, fits, draws, prints and writes with the packages whose versions differ.
QUICK := -q -m "not slow" -p no:cacheprovider -o filterwarnings=default tests/_core tests/symbols tests/tables \
	tests/anova tests/units tests/report tests/cli tests/discovery tests/tabular

# torch is the one of constraints.txt: older builds for the processor alone are not to be had everywhere.
lowest:
	rm -rf build/lowest && $(PYTHON) -m venv build/lowest
	build/lowest/bin/python -m pip install --quiet --constraint constraints.txt \
		--constraint tests/release/lowest.txt --editable '.[units]' pytest hypothesis
	OMP_NUM_THREADS=1 build/lowest/bin/python tests/release/versions.py
	OMP_NUM_THREADS=1 build/lowest/bin/python -m pytest $(QUICK)

newest:
	rm -rf build/newest && $(PYTHON) -m venv build/newest
	build/newest/bin/python -m pip install --quiet --editable '.[units]' pytest hypothesis
	OMP_NUM_THREADS=1 build/newest/bin/python tests/release/versions.py
	OMP_NUM_THREADS=1 build/newest/bin/python -m pytest $(QUICK)

types: $(READY)
	$(BIN)/python -m pip install --quiet pyright
	$(BIN)/mypy --config-file= --strict tests/release/typed_user.py
	$(BIN)/pyright --pythonpath $(BIN)/python tests/release/typed_user.py

# DuckDB and PostgreSQL (RAN_POSTGRES, a connection string) take part if they are there.
fuzz: $(READY)
	$(BIN)/python -m experiments.hostile.fuzz
	$(BIN)/python -m experiments.hostile.exports
	$(BIN)/python -m experiments.hostile.kills
	$(BIN)/python -m experiments.hostile.places

# rational-activations asks for torch 1.7.1, and runs with ours.
bench: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[bench]'
	$(BIN)/python -m pip install --quiet --no-deps rational-activations==0.2.0
	$(BIN)/python -m benchmarks.memory
	$(BIN)/python -m benchmarks.units
	$(BIN)/python -m benchmarks.networks
	$(BIN)/python -m benchmarks.scaling
	$(BIN)/python -m benchmarks.imports
	$(BIN)/python -m experiments.tables

# pyGAM asks for an older SciPy, and runs with ours.
experiments: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[bench]'
	$(BIN)/python -m pip install --quiet --no-deps pygam==0.12.0 progressbar2 python-utils
	$(BIN)/python -m experiments.stability
	$(BIN)/python -m experiments.certificates.soundness
	$(BIN)/python -m experiments.certificates.positivity
	$(BIN)/python -m experiments.certificates.tightness
	$(BIN)/python -m experiments.certificates.isometry
	$(BIN)/python -m experiments.dynamics.reach
	$(BIN)/python -m experiments.dynamics.steep
	$(BIN)/python -m experiments.dynamics.steady
	$(BIN)/python -m experiments.init_fit
	$(BIN)/python -m experiments.budgets
	$(BIN)/python -m experiments.runge
	$(BIN)/python -m experiments.lorentzian
	$(BIN)/python -m experiments.sharpened
	$(BIN)/python -m experiments.needle
	$(BIN)/python -m experiments.ablation
	$(BIN)/python -m experiments.optimizers
	$(BIN)/python -m experiments.discovery.paper
	$(BIN)/python -m experiments.discovery.feynman
	$(BIN)/python -m experiments.discovery.feynman_units
	$(BIN)/python -m experiments.discovery.run_harder --split tune
	$(BIN)/python -m experiments.discovery.run_harder --split held
	$(BIN)/python -m experiments.discovery.lsr
	$(BIN)/python -m experiments.discovery.chapters
	$(BIN)/python -m experiments.discovery.kan
	$(BIN)/python -m experiments.discovery.extrapolation
	$(BIN)/python -m experiments.discovery.irrelevant
	$(BIN)/python -m experiments.discovery.nothing
	$(BIN)/python -m experiments.discovery.outside
	$(BIN)/python -m experiments.discovery.coverage
	$(BIN)/python -m experiments.discovery.real
	$(BIN)/python -m experiments.discovery.peers_laws
	$(BIN)/python -m experiments.discovery.lsr_peers
	$(BIN)/python -m experiments.measurements.nist
	$(BIN)/python -m experiments.measurements.textbook
	$(BIN)/python -m experiments.measurements.curves
	$(BIN)/python -m experiments.measurements.curves --fresh
	$(BIN)/python -m experiments.measurements.curves_peers
	$(BIN)/python -m experiments.measurements.smooth
	$(BIN)/python -m experiments.measurements.coverage
	$(BIN)/python -m experiments.measurements.groups
	$(BIN)/python -m experiments.measurements.outliers
	$(BIN)/python -m experiments.measurements.errors_in_x
	$(BIN)/python -m experiments.motion.odebench
	$(BIN)/python -m experiments.motion.series
	$(BIN)/python -m experiments.motion.cost
	$(BIN)/python -m experiments.tabular.compare
	$(BIN)/python -m experiments.tabular.ablation
	$(BIN)/python -m experiments.tabular.scaling
	$(BIN)/python -m experiments.many.scaling
	$(BIN)/python -m experiments.many.engines
	$(BIN)/python -m experiments.many.predict
	$(BIN)/python -m experiments.many.memory
	$(BIN)/python -m experiments.tabular.summary
	$(BIN)/python -m experiments.tabular.figures
	$(BIN)/python -m experiments.vit.sizes
	$(BIN)/python -m experiments.vit.speed
	$(BIN)/python -m experiments.vit.minilm
	$(BIN)/python -m experiments.vit.deit
	$(BIN)/python -m experiments.vit.shapes
	$(BIN)/python -m experiments.vision.search
	$(BIN)/python -m experiments.vision.accuracy
	$(BIN)/python -m experiments.vision.accuracy --recipe long
	$(BIN)/python -m experiments.vision.accuracy --recipe convolution
	$(BIN)/python -m experiments.vision.ablation
	$(BIN)/python -m experiments.vision.steps
	$(BIN)/python -m experiments.vision.figures
	$(BIN)/python -m experiments.denoising.run --seeds 0 1 2
	$(BIN)/python -m experiments.denoising.shifts
	$(BIN)/python -m experiments.denoising.tails
	$(BIN)/python -m experiments.denoising.figures
	$(BIN)/python -m experiments.tables

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

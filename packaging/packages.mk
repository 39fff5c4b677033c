# What a release consists of, for this machine or the one that TARGET names. The release workflow
# runs these targets, one machine for each kind.
#
# make dist         wheel, source distribution, archive and Debian package of this machine (Linux),
#                   with SHA256SUMS, in target/dist; then each is installed into an empty
#                   environment, and runs the demo there
# make dist-wheel   the wheel, which has the module and the command
# make dist-sdist   the source distribution
# make dist-archive the command with manual pages, completions and a list of its crates; static on
#                   Linux
# make dist-deb     the same as a Debian package
# make dist-sums    SHA256SUMS of all of them
# make dist-try     installs and tries what target/dist has: KINDS="wheel archive"
# make crates       packs the crates that are published, and builds them from their packages
# make oldest       whether the oldest Rust that is promised builds everything
# make version      the version
# make notes        what CHANGELOG.md says of this version

DIST := target/dist
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
HOST := $(shell rustc -vV | sed -n 's/^host: //p')
# The machine that packages are for. Linux gets static binaries, which run on every distribution.
TARGET ?= $(HOST)
# PROFILE=demo builds everything in a quarter of the time, unoptimised: for changes of this folder.
PROFILE ?= ship
BINARY_TARGET := $(TARGET:%-linux-gnu=%-linux-musl)
EXE := $(if $(findstring windows,$(TARGET)),.exe)
BINARY := target/$(BINARY_TARGET)/$(PROFILE)/docsphere$(EXE)
ARCHIVE := docsphere-$(VERSION)-$(BINARY_TARGET)

# Zig is the C compiler and the linker for Linux: it knows every version of glibc, and musl.
DIST_VENV := .venv-dist
DIST_BIN := $(CURDIR)/$(DIST_VENV)/$(if $(findstring windows,$(HOST)),Scripts,bin)
DIST_READY := $(DIST_VENV)/ready-$(shell cksum < packaging/requirements.txt | cut -d' ' -f1)
IS_LINUX := $(findstring linux,$(TARGET))
ON_LINUX := $(if $(IS_LINUX),PATH="$(DIST_BIN):$$PATH")
KINDS ?= wheel archive deb sdist

.PHONY: dist dist-wheel dist-sdist dist-archive dist-deb dist-sums dist-try dist-binary crates oldest version notes

dist:
	rm -rf $(DIST)
	@$(MAKE) --no-print-directory dist-wheel dist-sdist dist-archive dist-deb
	@$(MAKE) --no-print-directory dist-sums dist-try

$(DIST_READY): packaging/requirements.txt
	$(PYTHON) -m venv --clear $(DIST_VENV)
	"$(DIST_BIN)/python" -m pip install --quiet --requirement packaging/requirements.txt
	@touch $@

# For the oldest glibc that this Rust supports, which is that of manylinux2014.
dist-wheel: $(DIST_READY)
	$(ON_LINUX) "$(DIST_BIN)/maturin" build --quiet --locked --manifest-path python/Cargo.toml --profile $(PROFILE) \
		--target $(TARGET) $(if $(IS_LINUX),--zig --compatibility manylinux2014) --out $(DIST)

dist-sdist: $(DIST_READY)
	"$(DIST_BIN)/maturin" sdist --manifest-path python/Cargo.toml --out $(DIST)

dist-binary: $(DIST_READY)
	@rustup target list --installed | grep -q '^$(BINARY_TARGET)$$' || { echo "the standard library is missing: rustup target add $(BINARY_TARGET)" >&2; exit 1; }
	$(ON_LINUX) cargo $(if $(IS_LINUX),zigbuild,build) --locked --profile $(PROFILE) --target $(BINARY_TARGET) --package docsphere-cli --features full

dist-archive: dist-binary
	"$(DIST_BIN)/python" packaging/archive.py $(BINARY) $(BINARY_TARGET) $(DIST)/$(ARCHIVE)
	"$(DIST_BIN)/python" packaging/sbom.py $(BINARY_TARGET) $(DIST)/$(ARCHIVE).cdx.json

dist-deb: dist-binary
	packaging/deb.sh $(BINARY) $(VERSION) $(BINARY_TARGET) $(DIST)

dist-sums:
	cd $(DIST) && rm -f SHA256SUMS && sha256sum -- * > ../SHA256SUMS && mv ../SHA256SUMS . && sha256sum --check --quiet SHA256SUMS

dist-try: $(DIST_READY)
	$(if $(filter ship,$(PROFILE)),,MATURIN_PEP517_ARGS="--profile $(PROFILE)") "$(DIST_BIN)/python" packaging/try.py $(DIST) $(VERSION) $(KINDS)

# The others are never published: measurements, tests, and the crate of the Python package.
PUBLISHED := --package docsphere-cuda --package docsphere --package docsphere-result --package docsphere-cli

crates:
	cargo package --locked $(PUBLISHED)

oldest:
	cargo check --locked --workspace --all-targets $(FEATURES)

version:
	@echo $(VERSION)

notes:
	@awk -v version="$(VERSION)" '/^## / { of_it = $$2 == version; n += of_it; next } of_it; END { if (!n) { print "CHANGELOG.md has nothing of " version > "/dev/stderr"; exit 1 } }' CHANGELOG.md

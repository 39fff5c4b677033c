"""Files go both ways between docsphere and SciPy / scikit-learn, and no value changes.

    cargo build --release --example convert
    python crates/docsphere/tests/scipy_interop.py target/release/examples/convert

Needs numpy, scipy and scikit-learn. Every check converts a file with the binary and compares the matrix, bit for bit as
float32, with the one that Python had. Prints "N passed, 0 failed"; the exit status is 1 if any failed.
"""

import gzip
import subprocess
import sys
import tempfile
import traceback
import warnings
import zipfile
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

FLOATS = [np.float32, np.float64]
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
DTYPES = FLOATS + INTEGERS + [np.bool_]
ENDINGS = ["", ".gz", ".zst"]


class Failure(Exception):
    """A check that did not hold."""


def convert(binary, source, target):
    """Runs the binary; what it printed."""
    run = subprocess.run([binary, source, target], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise Failure(f"exit status {run.returncode}: {run.stderr.strip()}")
    return run.stdout.split()


def refusal(binary, source, target):
    """Runs the binary, which must fail; its message."""
    run = subprocess.run([binary, source, target], capture_output=True, text=True, check=False)
    if run.returncode != 1 or "panicked" in run.stderr:
        raise Failure(f"exit status {run.returncode}: {run.stderr.strip()}")
    if Path(target).exists():
        raise Failure("a failed conversion left a file")
    return run.stderr.strip()


def canonical(matrix):
    """The matrix as docsphere holds it: CSR of float32, sorted, without zeros or repeated entries."""
    matrix = sp.csr_matrix(matrix).astype(np.float32)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def check_same(got, expected):
    """Compares shape, places and the bits of the values."""
    got, expected = canonical(got), canonical(expected)
    if got.shape != expected.shape:
        raise Failure(f"shape {got.shape}, expected {expected.shape}")
    for part in ["indptr", "indices"]:
        if not np.array_equal(getattr(got, part), getattr(expected, part)):
            raise Failure(f"{part} differ")
    if not np.array_equal(got.data.view(np.uint32), expected.data.view(np.uint32)):
        raise Failure("values differ")


def check_printed(printed, expected):
    """The binary prints rows, terms and nonzeros."""
    expected = canonical(expected)
    numbers = [str(number) for number in (*expected.shape, expected.nnz)]
    if printed != numbers:
        raise Failure(f"printed {printed}, expected {numbers}")


def values(rng, dtype, count):
    """Values that use the whole range of the type, and are not zero in float32."""
    if dtype == np.bool_:
        return np.ones(count, dtype)
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        drawn = rng.integers(info.min, info.max, count, dtype, endpoint=True)
        return np.where(drawn == 0, dtype(1), drawn)
    magnitude = np.exp(rng.uniform(-80, 80, count))
    return (rng.choice([-1.0, 1.0], count) * magnitude).astype(dtype)


def random_matrix(rng, dtype, n_rows=60, n_terms=90, density=0.06):
    """A matrix with empty rows and terms, also at the end."""
    used = sp.random(n_rows - 5, n_terms - 7, density, "csr", rng=rng)
    used.data = np.ones(used.nnz)
    grown = sp.csr_matrix((used.data, used.indices, used.indptr), shape=used.shape)
    grown.resize((n_rows, n_terms))
    return sp.csr_matrix((values(rng, dtype, grown.nnz), grown.indices, grown.indptr), shape=grown.shape)


def corner_matrices(rng):
    """Shapes that formats get wrong, by name."""
    dense = sp.csr_matrix(values(rng, np.float32, 12).reshape(3, 4))
    unsorted = sp.csr_matrix(
        (np.float32([1, 2, 3, 4, 5]), [4, 0, 2, 2, 1], [0, 3, 5]), shape=(2, 5)
    )
    repeated = sp.csr_matrix((np.float32([1, 2, 4]), [3, 3, 0], [0, 3]), shape=(1, 5))
    return {
        "no rows": sp.csr_matrix((0, 5), dtype=np.float32),
        "no nonzeros": sp.csr_matrix((4, 5), dtype=np.float32),
        "one row": dense[:1],
        "dense": dense,
        "unsorted": unsorted,
        "repeated": repeated,
        "explicit zeros": sp.csr_matrix((np.float32([0, 2]), [0, 1], [0, 2]), shape=(1, 3)),
        "subnormal": sp.csr_matrix(np.float32([[1e-45, 1.1754944e-38, 3.4028235e38]])),
        "many": random_matrix(rng, np.float32, 3000, 5000, 0.01),
    }


def write_packed(path, content):
    """Writes bytes plain or compressed, as the name says."""
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(content))
    else:
        path.write_bytes(content)


def write_bag_of_words(path, matrix):
    """A UCI docword file, with the entries in a random order."""
    entries = sp.coo_matrix(matrix)
    order = np.random.default_rng(1).permutation(entries.nnz)
    rows, columns, data = (part[order] for part in (entries.row, entries.col, entries.data))
    lines = [f"{row + 1} {column + 1} {value!r}" for row, column, value in zip(rows, columns, data.tolist())]
    header = [str(number) for number in (*matrix.shape, entries.nnz)]
    path.write_text("\n".join(header + lines) + "\n", encoding="ascii")


def read_bag_of_words(path):
    """The matrix of a UCI docword file."""
    tokens = path.read_text(encoding="ascii").split()
    n_rows, n_terms, nnz = map(int, tokens[:3])
    entries = np.array(tokens[3:], dtype=str).reshape(-1, 3)
    if len(entries) != nnz:
        raise Failure(f"{len(entries)} entries, {nnz} promised")
    place = (entries[:, 0].astype(np.int64) - 1, entries[:, 1].astype(np.int64) - 1)
    return sp.csr_matrix((np.float32(entries[:, 2]), place), shape=(n_rows, n_terms))


class Checks:
    """Runs the checks, each in a fresh folder, and counts."""

    def __init__(self, binary):
        self.binary = binary
        self.passed = 0
        self.failed = 0

    def run(self, name, check, *arguments):
        """Runs one check; a failure is printed and counted."""
        try:
            with tempfile.TemporaryDirectory() as folder:
                check(self.binary, Path(folder), *arguments)
            self.passed += 1
        except Exception:  # whatever it was, the other checks still run
            self.failed += 1
            print(f"FAILED {name}\n{traceback.format_exc()}", file=sys.stderr)


def npz_is_read(binary, folder, matrix, compressed, index_dtype):
    """save_npz -> docsphere -> npz."""
    matrix = matrix.copy()
    matrix.indices = matrix.indices.astype(index_dtype)
    matrix.indptr = matrix.indptr.astype(index_dtype)
    sp.save_npz(folder / "in.npz", matrix, compressed=compressed)
    with zipfile.ZipFile(folder / "in.npz") as archive, archive.open("indices.npy") as indices:
        stored = np.load(indices).dtype
    if stored != index_dtype:
        raise Failure(f"the test wrote {stored} indices")
    printed = convert(binary, folder / "in.npz", folder / "out.npz")
    check_printed(printed, matrix)
    check_same(sp.load_npz(folder / "out.npz"), matrix)


def big_endian_npz_is_read(binary, folder, matrix):
    """An npz of a machine with the other byte order."""

    def swap(array):
        return array.astype(array.dtype.newbyteorder(">"))

    np.savez(
        folder / "in.npz",
        format=np.bytes_("csr"),
        shape=swap(np.array(matrix.shape)),
        data=swap(matrix.data),
        indices=swap(matrix.indices),
        indptr=swap(matrix.indptr),
    )
    convert(binary, folder / "in.npz", folder / "out.npz")
    check_same(sp.load_npz(folder / "out.npz"), matrix)


def sparse_array_is_read(binary, folder, matrix):
    """A csr_array has one more member than a csr_matrix."""
    sp.save_npz(folder / "in.npz", sp.csr_array(matrix))
    convert(binary, folder / "in.npz", folder / "out.npz")
    check_same(sp.load_npz(folder / "out.npz"), matrix)


def packed_npz_is_read(binary, folder, matrix):
    """An npz inside gzip."""
    sp.save_npz(folder / "in.npz", matrix)
    write_packed(folder / "packed.npz.gz", (folder / "in.npz").read_bytes())
    convert(binary, folder / "packed.npz.gz", folder / "out.npz")
    check_same(sp.load_npz(folder / "out.npz"), matrix)


def other_layout_is_refused(binary, folder, matrix, layout):
    """csc and the like are refused with advice."""
    sp.save_npz(folder / "in.npz", matrix.asformat(layout))
    message = refusal(binary, folder / "in.npz", folder / "out.npz")
    if ".tocsr()" not in message:
        raise Failure(message)


def mtx_is_read(binary, folder, matrix, ending):
    """mmwrite -> docsphere -> npz."""
    scipy.io.mmwrite(folder / "in.mtx", matrix, symmetry="general")
    write_packed(folder / f"packed.mtx{ending}", (folder / "in.mtx").read_bytes())
    printed = convert(binary, folder / f"packed.mtx{ending}", folder / "out.npz")
    check_printed(printed, matrix)
    check_same(sp.load_npz(folder / "out.npz"), matrix)


def mtx_pattern_is_read(binary, folder, matrix):
    """A pattern file has ones."""
    scipy.io.mmwrite(folder / "in.mtx", matrix, field="pattern", symmetry="general")
    convert(binary, folder / "in.mtx", folder / "out.npz")
    ones = sp.csr_matrix((np.ones(matrix.nnz, np.float32), matrix.indices, matrix.indptr), matrix.shape)
    check_same(sp.load_npz(folder / "out.npz"), ones)


def mtx_by_columns_is_read(binary, folder, matrix):
    """Entries ordered by column, as MATLAB writes them."""
    scipy.io.mmwrite(folder / "in.mtx", sp.coo_matrix(sp.csc_matrix(matrix)), symmetry="general")
    convert(binary, folder / "in.mtx", folder / "out.npz")
    check_same(sp.load_npz(folder / "out.npz"), matrix)


def symmetric_mtx_is_refused(binary, folder):
    """A symmetric file is refused with advice."""
    scipy.io.mmwrite(folder / "in.mtx", sp.eye(3, format="csr"), symmetry="symmetric")
    message = refusal(binary, folder / "in.mtx", folder / "out.npz")
    if 'symmetry="general"' not in message:
        raise Failure(message)


def with_first_and_last_term(matrix):
    """The matrix with its first and last term in use: svmlight files do not tell where ids start and end."""
    matrix = sp.lil_matrix(matrix)
    matrix[0, 0] = 1
    matrix[0, matrix.shape[1] - 1] = 1
    return sp.csr_matrix(matrix)


def svmlight_is_read(binary, folder, matrix, zero_based, multilabel):
    """dump_svmlight_file -> docsphere -> npz."""
    rng = np.random.default_rng(2)
    matrix = with_first_and_last_term(matrix)
    if multilabel:
        labels = rng.integers(0, 2, (matrix.shape[0], 4))
        labels[:, 0] = 1  # docsphere wants a target in every row
    else:
        labels = rng.normal(size=matrix.shape[0])
    queries = None if multilabel else np.arange(matrix.shape[0])
    dump_svmlight_file(
        matrix,
        labels,
        str(folder / "in.svmlight"),
        zero_based=zero_based,
        comment="written by scikit-learn",
        query_id=queries,
        multilabel=multilabel,
    )
    printed = convert(binary, folder / "in.svmlight", folder / "out.npz")
    # scikit-learn writes 16 significant digits, so what it reads back is the truth.
    loaded = load_svmlight_file(str(folder / "in.svmlight"), zero_based=zero_based, multilabel=multilabel)[0]
    check_printed(printed, loaded)
    check_same(sp.load_npz(folder / "out.npz"), loaded)
    if matrix.dtype != np.float64:
        check_same(loaded, matrix)


def bag_of_words_is_read(binary, folder, matrix):
    """A docword file, in any order -> docsphere -> npz."""
    write_bag_of_words(folder / "docword.test.txt", matrix)
    printed = convert(binary, folder / "docword.test.txt", folder / "out.npz")
    check_printed(printed, matrix)
    check_same(sp.load_npz(folder / "out.npz"), matrix)


LOADERS = {
    "out.npz": sp.load_npz,
    "out.mtx": scipy.io.mmread,
    "out.svmlight": None,
    "docword.out.txt": read_bag_of_words,
}


def output_is_loaded(binary, folder, matrix, name):
    """docsphere writes, Python reads."""
    sp.save_npz(folder / "in.npz", matrix)
    convert(binary, folder / "in.npz", folder / name)
    if name == "out.svmlight":
        if matrix.shape[0] == 0:
            return  # scikit-learn cannot load a file without rows
        loaded, targets = load_svmlight_file(
            str(folder / name), n_features=matrix.shape[1], dtype=np.float32, zero_based=False
        )
        if targets.any():
            raise Failure("targets should be zero")
    else:
        loaded = LOADERS[name](folder / name)
    check_same(loaded, matrix)


def chain_changes_nothing(binary, folder, matrix, ending):
    """npz -> mtx -> docword -> svmlight -> npz, all compressed."""
    matrix = with_first_and_last_term(matrix)
    names = ["a.npz", f"b.mtx{ending}", f"docword.c.txt{ending}", f"d.svmlight{ending}", f"e.npz{ending}", "f.npz"]
    sp.save_npz(folder / names[0], matrix)
    for source, target in zip(names, names[1:]):
        check_printed(convert(binary, folder / source, folder / target), matrix)
    check_same(sp.load_npz(folder / names[-1]), matrix)


def damage_is_refused(binary, folder, matrix):
    """A truncated npz and a missing file fail with the file's name."""
    sp.save_npz(folder / "whole.npz", matrix)
    whole = (folder / "whole.npz").read_bytes()
    (folder / "part.npz").write_bytes(whole[: len(whole) // 2])
    for name in ["part.npz", "missing.mtx"]:
        message = refusal(binary, folder / name, folder / "out.npz")
        if name not in message:
            raise Failure(message)


def run_all(checks):
    """Every combination."""
    warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)  # the matrices are small
    rng = np.random.default_rng(0)
    for dtype in DTYPES:
        matrix = random_matrix(rng, dtype)
        name = np.dtype(dtype).name
        for compressed in [True, False]:
            for index_dtype in [np.int32, np.int64]:
                checks.run(f"npz {name}", npz_is_read, matrix, compressed, index_dtype)
        checks.run(f"big-endian npz {name}", big_endian_npz_is_read, matrix)
        checks.run(f"sparse array {name}", sparse_array_is_read, matrix)
        if dtype == np.bool_:
            continue  # neither mmwrite nor dump_svmlight_file has a type for it
        for ending in ["", ".gz"]:
            checks.run(f"mtx{ending} {name}", mtx_is_read, matrix, ending)
        checks.run(f"mtx by columns {name}", mtx_by_columns_is_read, matrix)
        checks.run(f"bag of words {name}", bag_of_words_is_read, matrix)
        if dtype in FLOATS + [np.int64]:
            for zero_based in [True, False]:
                for multilabel in [True, False]:
                    checks.run(f"svmlight {name}", svmlight_is_read, matrix, zero_based, multilabel)
    for name, matrix in corner_matrices(rng).items():
        for output in LOADERS:
            checks.run(f"{name} to {output}", output_is_loaded, matrix, output)
    matrix = random_matrix(rng, np.float32)
    for ending in ENDINGS:
        checks.run(f"chain{ending}", chain_changes_nothing, matrix, ending)
    for layout in ["csc", "coo", "bsr", "dia"]:
        checks.run(f"layout {layout}", other_layout_is_refused, matrix, layout)
    checks.run("pattern", mtx_pattern_is_read, matrix)
    checks.run("symmetric", symmetric_mtx_is_refused)
    checks.run("packed npz", packed_npz_is_read, matrix)
    checks.run("damage", damage_is_refused, matrix)


def main():
    """Runs the checks against the binary that the command line names."""
    if len(sys.argv) != 2:
        sys.exit("usage: python scipy_interop.py BINARY")
    checks = Checks(sys.argv[1])
    run_all(checks)
    print(f"{checks.passed} passed, {checks.failed} failed")
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()

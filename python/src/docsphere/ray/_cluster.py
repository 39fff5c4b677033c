"""Files to a result folder: what ``docsphere cluster`` does, on the nodes of a cluster."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._checks import n_threads as threads_of
from .._checks import natural, positive
from .._errors import FileError, ParameterError
from .._executors import MakeShard
from .._kmeans import SphericalKMeans
from .._progress import ProgressBar
from .._result import settings_of
from .._text import TextVectorizer
from ._executor import Placement
from ._nodes import connected, shards_and_threads
from ._run import TimeLimit, Watcher, run

if TYPE_CHECKING:
    from os import PathLike

    from .._docsphere import CoordinatedFit

# The first bytes of every checkpoint.
_CHECKPOINT_MARK = b"\x89DOCSCK\n"


def cluster(
    paths: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    n_clusters: int,
    output: str | PathLike[str],
    vectorizer: TextVectorizer | None = None,
    init: str = "merge",
    candidates: int | None = None,
    fine: int | None = None,
    effort: str = "default",
    n_init: int | None = None,
    variation: bool | None = None,
    rounds: int | None = None,
    refine: str = "none",
    max_iter: int = 100,
    tol: float = 1e-4,
    random_state: int = 0,
    algorithm: str = "auto",
    format: str | None = None,
    text_field: str | Sequence[str] = "text",
    id_field: str | None = None,
    delimiter: str | None = None,
    quote: str | None = None,
    sheet: str | None = None,
    encoding: str | None = None,
    html: str = "auto",
    keep_quotes: bool = False,
    glob: str | None = None,
    skip_bad_records: bool = False,
    assignments: str = "csv",
    runner_up: bool = False,
    report: bool = True,
    n_keywords: int = 10,
    n_representatives: int = 3,
    n_least_typical: int = 3,
    max_chars: int = 400,
    max_bytes: int = 10_000_000,
    force: bool = False,
    checkpoint: str | PathLike[str] | None = None,
    checkpoint_every: int = 10,
    resume: str | PathLike[str] | None = None,
    time_limit: float | None = None,
    address: str | None = "auto",
    num_shards: int | None = None,
    n_threads: int | None = None,
    memory_per_shard: int | None = None,
    scratch: str | PathLike[str] | None = None,
    restart_timeout: float = 600.0,
    verbose: int = 0,
    callback: Watcher | None = None,
) -> CoordinatedFit:
    """Cluster files on a Ray cluster, and write the result into a folder.

    The result is that of ``docsphere cluster`` with the same options, bit by bit, whatever the
    number of shards and nodes, and also if workers are lost and replaced.

    Parameters
    ----------
    paths : str, path-like, or list of them
        Files or folders of documents. Every node must see them under the same
        names.

    n_clusters : int
        The number of clusters.

    output : str or path-like
        The folder for the result. Every node must see it under the same name. It
        appears whole or not at all.

    vectorizer : TextVectorizer or None, default=None
        How texts become rows; None is ``TextVectorizer()``. It need not be
        fitted, and is not changed.

    init : {"merge", "k-means++", "plain-k-means++", "random"}, default="merge"
        How the initial centroids are chosen.

    candidates : int or None, default=None
        Candidates per step of "k-means++"; None is 4.

    fine : int or None, default=None
        Small clusters per cluster of "merge"; None is 10 up to 100 clusters, 5 up
        to 1,000, 2 above, or 2 with effort "fast".

    effort : {"fast", "default", "best"}, default="default"
        How much time to spend on a greater objective, as in
        `docsphere.SphericalKMeans`.

    n_init : int or None, default=None
        The number of runs with different seeds; the best one is kept. None is 1,
        or 5 with effort "best".

    variation : bool or None, default=None
        Whether single rows move after convergence if the objective gains. None is
        true, except with effort "fast".

    rounds : int or None, default=None
        The number of further runs that perturb the best one. None is 0, or 10 with
        effort "best".

    refine : {"none", "root"}, default="none"
        What follows the loop: nothing, or root centroids.

    max_iter : int, default=100
        The maximum number of iterations per run.

    tol : float, default=1e-4
        A run ends when every centroid moved by a squared distance of less than
        this.

    random_state : int, default=0
        The seed of all random numbers.

    algorithm : str, default="auto"
        The assignment strategy, as in `docsphere.SphericalKMeans`. Never changes
        the result.

    format : str or None, default=None
        The format of all inputs: "lines", "jsonl", "csv", "tsv", "parquet",
        "sheet", "mbox" or "folder". None guesses it from the names.

    text_field : str or list of str, default="text"
        The field, or column, that holds the text. Several are joined. In JSON it
        may be a path, such as "doc.title".

    id_field : str or None, default=None
        The field that holds the id; None is "id" if there is one, else a number.

    delimiter : str or None, default=None
        The character between the fields of CSV and TSV. None finds it from the
        first records.

    quote : {"double", "single", "none"} or None, default=None
        What quotes the fields of CSV and TSV; "none" if quotes are plain
        characters. None finds it from the first records, and quotes that enclose
        no field are plain.

    sheet : str or None, default=None
        The sheet of a spreadsheet, by name or number. None is the first.

    encoding : str or None, default=None
        The encoding of all text, such as "windows-1252". None finds it from the
        bytes.

    html : {"auto", "strip", "keep"}, default="auto"
        Remove tags from texts that are HTML and decode entities, treat every text
        as HTML, or leave all as they are.

    keep_quotes : bool, default=False
        Keep quoted replies and signatures of mail.

    glob : str or None, default=None
        Which files of a folder to read, such as "2024/**/*.md".

    skip_bad_records : bool, default=False
        Skip and count records that cannot be read, instead of stopping at the
        first.

    assignments : {"csv", "jsonl", "parquet"}, default="csv"
        The format of the assignments. Every worker writes a part of them, in the
        folder ``assignments``.

    runner_up : bool, default=False
        Also write the second-nearest cluster of each document.

    report : bool, default=True
        Write the report page.

    n_keywords : int, default=10
        Number of keywords per cluster.

    n_representatives : int, default=3
        Number of representative documents per cluster.

    n_least_typical : int, default=3
        Number of least typical documents per cluster.

    max_chars : int, default=400
        Number of characters of each document that the page shows.

    max_bytes : int, default=10000000
        The page shows fewer characters if it would become larger than this.

    force : bool, default=False
        Replace a result that is there already.

    checkpoint : str, path-like or None, default=None
        A file for the state of the run, written at intervals. Put it where a
        driver on another machine can read it.

    checkpoint_every : int, default=10
        Number of iterations between checkpoints.

    resume : str, path-like or None, default=None
        Continue from this checkpoint; needs the same input and options. The
        number of shards may differ.

    time_limit : float or None, default=None
        Stop after so many seconds, and keep the result so far.

    address : str or None, default="auto"
        The cluster, as in `ray.init`: "auto" is the one that this machine is part
        of, "local" starts one on this machine alone. Not used if this process is
        connected already.

    num_shards : int or None, default=None
        The number of workers that divide the documents. None is one per node.
        Never changes the result.

    n_threads : int or None, default=None
        Threads, and reserved CPUs, per shard. None is as many as there is room
        for. Never changes the result.

    memory_per_shard : int or None, default=None
        Bytes of memory that Ray reserves per shard.

    scratch : str, path-like or None, default=None
        A folder for temporary files, on every node; None is its folder for
        temporary files.

    restart_timeout : float, default=600.0
        Seconds to wait until a lost worker is started again, data included.

    verbose : int, default=0
        With 1 or more, show a progress bar, and lines about what goes wrong.

    callback : callable or None, default=None
        Called with a dict for every event, as in `docsphere.SphericalKMeans`. If it
        returns a true value, the run ends with the result so far.

    Returns
    -------
    fit : CoordinatedFit
        The model, the objective, and what happened in the run. `load_result`
        reads the rest from the folder.

    Raises
    ------
    ClusterError
        A worker is lost for good. Nothing is written but the checkpoint.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    vectorizer = vectorizer or TextVectorizer()
    model = SphericalKMeans(
        n_clusters,
        init=init,
        effort=effort,
        n_init=n_init,
        variation=variation,
        rounds=rounds,
        refine=refine,
        max_iter=max_iter,
        tol=tol,
        random_state=random_state,
        algorithm=algorithm,
    )
    model._validate_params()
    files = {
        "paths": [os.path.abspath(path) for path in paths],
        "format": format,
        "text_fields": [text_field] if isinstance(text_field, str) else list(text_field),
        "id_field": id_field,
        "delimiter": delimiter,
        "quote": quote,
        "sheet": sheet,
        "encoding": encoding,
        "html": html,
        "keep_quotes": bool(keep_quotes),
        "glob": glob,
        "skip_bad_records": bool(skip_bad_records),
        "output": os.path.abspath(output),
        "assignments": assignments,
        "runner_up": bool(runner_up),
        "report": bool(report),
        "n_keywords": natural("n_keywords", n_keywords),
        "n_representatives": natural("n_representatives", n_representatives),
        "n_least_typical": natural("n_least_typical", n_least_typical),
        "max_chars": natural("max_chars", max_chars),
        "max_bytes": natural("max_bytes", max_bytes),
        "force": bool(force),
        "checkpoint": checked_checkpoint(checkpoint, resume, output),
        "checkpoint_every": positive("checkpoint_every", checkpoint_every),
        "resume": None if resume is None else os.path.abspath(resume),
        "settings": settings_of(", ".join(os.fspath(path) for path in paths), vectorizer, model),
    }
    job = {
        "text": vectorizer._options(),
        # Threads of this process, which only adds what workers send.
        "params": model._options(0, None) | {"n_threads": threads_of(-1)},
        "candidates": None if candidates is None else positive("candidates", candidates),
        "fine": None if fine is None else positive("fine", fine),
        "files": files,
    }
    watchers: list[Watcher] = [] if callback is None else [callback]
    if time_limit is not None:
        watchers.append(TimeLimit(time_limit))
    with connected(address):
        num_shards, n_threads = shards_and_threads(num_shards, n_threads)
        make = MakeShard(n_threads, None if scratch is None else os.fspath(scratch))
        placement = Placement(n_threads, memory_per_shard, restart_timeout=restart_timeout)
        bar = ProgressBar(max_iter) if verbose else None
        return run([make] * num_shards, job, placement, watchers, bar)


def checked_checkpoint(
    checkpoint: str | PathLike[str] | None, resume: str | PathLike[str] | None, output: str | PathLike[str]
) -> str | None:
    """Return where checkpoints are written, if nothing but a checkpoint is overwritten there."""
    if checkpoint is None:
        return None
    path = os.path.abspath(checkpoint)
    if os.path.commonpath([path, os.path.abspath(output)]) == os.path.abspath(output):
        raise ParameterError(f"checkpoint {path}: lies in the folder of the result; choose a name outside of it")
    if not os.path.isdir(os.path.dirname(path)):
        raise FileError(f"checkpoint {path}: the folder {os.path.dirname(path)} does not exist; make it first")
    if os.path.exists(path) and not (resume is not None and os.path.samefile(path, resume)):
        if not os.path.isfile(path):
            raise FileError(f"checkpoint {path}: is not a regular file; choose another name")
        with open(path, "rb") as file:
            start = file.read(len(_CHECKPOINT_MARK))
        if start not in (b"", _CHECKPOINT_MARK):
            raise FileError(f"checkpoint {path}: is there already and is not a checkpoint; choose another name")
    return path

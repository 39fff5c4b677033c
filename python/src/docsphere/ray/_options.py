"""The options of ``python -m docsphere.ray cluster``: those of ``docsphere cluster``, and the cluster's."""

from __future__ import annotations

import argparse
from inspect import signature
from typing import Any

from .._text import TextVectorizer
from ._cluster import cluster

_FORMATS = ("lines", "jsonl", "csv", "tsv", "parquet", "sheet", "mbox", "folder")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    command = argparse.ArgumentParser(
        prog="python -m docsphere.ray",
        description="The command docsphere, on the nodes of a Ray cluster",
        allow_abbrev=False,
    )
    commands = command.add_subparsers(required=True, metavar="COMMAND")
    options = commands.add_parser(
        "cluster",
        help="cluster documents and write the result into a folder",
        description="Cluster documents on a Ray cluster and write the result into a folder",
        epilog="Options that docsphere cluster has, too, mean the same, and give the same result.",
        allow_abbrev=False,
    )
    options.add_argument("paths", nargs="+", metavar="INPUT", help="files or folders that every node sees")
    for add in (_input, _text, _clustering, _output, _long_runs, _cluster):
        add(options)
    return command


def _input(command: argparse.ArgumentParser) -> None:
    add = command.add_argument_group("Input").add_argument
    add("--format", choices=_FORMATS, help="format of all inputs, instead of guessing it from their names")
    add(
        "--text-field",
        action="append",
        metavar="NAME",
        help="field (column, or path such as doc.title) that holds the text; repeat to join several [default: text]",
    )
    add("--id-field", metavar="NAME", help="field (column) that holds the id [default: id if there is one]")
    add("--delimiter", metavar="CHAR", type=delimiter, help='character between the fields of CSV and TSV, or "tab"')
    add(
        "--quote",
        choices=("double", "single", "none"),
        type=quote,
        help="what quotes the fields of CSV and TSV; none if quotes are plain characters",
    )
    add("--sheet", metavar="NAME", help="sheet of a spreadsheet, by name or number [default: the first]")
    add("--encoding", metavar="NAME", help="encoding of all text [default: found from the bytes]")
    add(
        "--html",
        choices=("auto", "strip", "keep"),
        default="auto",
        help="remove tags where they are certain, everywhere, or not at all [default: %(default)s]",
    )
    add("--keep-quotes", action="store_true", help="keep quoted replies and signatures of mail")
    add("--glob", metavar="PATTERN", help='which files of a folder to read, such as "2024/**/*.md"')
    add("--skip-bad-records", action="store_true", help="skip and count records that cannot be read")


def _text(command: argparse.ArgumentParser) -> None:
    add = command.add_argument_group("Text").add_argument
    add(
        "--stop-words",
        metavar="LANGUAGES",
        default="english",
        help='languages whose stop words are dropped, such as "english,french", or "none" [default: %(default)s]',
    )
    add("--stop-words-file", metavar="FILE", help="file with more stop words, one per line")
    add("--ngrams", metavar="LO..HI", type=ngrams, default=(1, 1), help='"1", "1..2", "1..3", "2..3" [default: 1]')
    add(
        "--stem",
        metavar="LANGUAGE",
        help='stem words with the Snowball stemmer of this language; with --language, "auto" for that of each document',
    )
    add(
        "--language",
        metavar="LANGUAGES",
        help='detect the language of each document, for stop words: those that occur, or "auto" for any',
    )
    add("--min-chars", metavar="N", type=int, default=2, help="drop shorter words [default: %(default)s]")
    add("--keep-urls", action="store_true", help="keep web addresses, split into words")
    add("--keep-numbers", action="store_true", help="keep words without any letter")
    add("--case-sensitive", action="store_true", help="distinguish upper and lower case")
    add(
        "--segmentation",
        choices=("words", "unicode", "sklearn"),
        default="words",
        help="how text is split into words [default: %(default)s]",
    )
    add(
        "--unspaced",
        choices=("bigrams", "dictionary"),
        default="bigrams",
        help="how scripts without spaces between words are split [default: %(default)s]",
    )
    add(
        "--hyphens",
        choices=("split", "names", "both", "whole"),
        default="both",
        help="words that hyphens join: their parts, with the whole, or the whole [default: %(default)s]",
    )
    add("--keep-tags", action="store_true", help="keep the signs of hashtags and mentions")
    add(
        "--min-df",
        metavar="N|SHARE",
        type=number_or_share,
        default=1,
        help="drop terms that occur in fewer documents than this [default: %(default)s]",
    )
    add(
        "--max-df",
        metavar="N|SHARE",
        type=number_or_share,
        default=1.0,
        help="drop terms that occur in more documents than this [default: %(default)s]",
    )
    add("--max-terms", metavar="N", type=int, help="keep only this many terms, the most frequent ones")
    add("--smooth-idf", action="store_true", help="use scikit-learn's idf")
    add("--sublinear-tf", action="store_true", help="count a term that occurs n times as 1 + ln(n)")


def _clustering(command: argparse.ArgumentParser) -> None:
    add = command.add_argument_group("Clustering").add_argument
    add("-k", "--n-clusters", metavar="K", type=int, required=True, help="the number of clusters")
    add(
        "--init",
        choices=("merge", "k-means++", "plain-k-means++", "random"),
        default="merge",
        help="how the initial centroids are chosen [default: %(default)s]",
    )
    add("--candidates", metavar="N", type=int, help="candidates per step of k-means++ [default: 4]")
    add("--fine", metavar="N", type=int, help="small clusters per cluster of merge [default: 2 to 10]")
    add(
        "--effort",
        choices=("fast", "default", "best"),
        default="default",
        help="how much time to spend on better clusters [default: %(default)s]",
    )
    add("--n-init", metavar="N", type=int, help="number of runs; the best is kept [default: 1; best: 5]")
    add("--variation", choices=("on", "off"), help="move single documents after convergence [default: on; fast: off]")
    add("--rounds", metavar="N", type=int, help="further runs from the best one, perturbed [default: 0; best: 10]")
    add("--refine", choices=("none", "root"), default="none", help="what follows the loop [default: %(default)s]")
    add("--seed", metavar="N", type=int, default=0, help="seed of all random numbers [default: %(default)s]")
    add("--max-iter", metavar="N", type=int, default=100, help="maximum number of iterations [default: %(default)s]")
    add("--tol", metavar="X", type=float, default=1e-4, help="stop below this squared movement [default: %(default)s]")
    add("--strategy", metavar="NAME", default="auto", help="assignment strategy [default: %(default)s]")


def _output(command: argparse.ArgumentParser) -> None:
    add = command.add_argument_group("Output").add_argument
    add("-o", "--output", metavar="OUT", required=True, help="folder for the result; it appears whole or not at all")
    add("--force", action="store_true", help="replace an existing result")
    add(
        "--assignments",
        choices=("csv", "jsonl", "parquet"),
        default="csv",
        help="format of the assignments [default: %(default)s]",
    )
    add("--runner-up", action="store_true", help="also write the second-nearest cluster of each document")
    add("--keywords", metavar="N", type=int, default=10, help="keywords per cluster [default: %(default)s]")
    add(
        "--representatives",
        metavar="N",
        type=int,
        default=3,
        help="representative documents per cluster [default: %(default)s]",
    )
    add(
        "--least-typical",
        metavar="N",
        type=int,
        default=3,
        help="least typical documents per cluster [default: %(default)s]",
    )
    add("--no-report", action="store_true", help="do not write the report, report.html")
    add(
        "--report-chars",
        metavar="N",
        type=int,
        default=400,
        help="number of characters shown of each document [default: %(default)s]",
    )
    add(
        "--report-size",
        metavar="SIZE",
        type=size,
        default=10_000_000,
        help='maximum size of the report ("500K", "10M") [default: 10M]',
    )
    add("-q", "--quiet", action="store_true", help="print nothing but errors")


def _long_runs(command: argparse.ArgumentParser) -> None:
    add = command.add_argument_group("Long runs").add_argument
    add("--checkpoint", metavar="FILE", help="write the state of the run to this file at intervals")
    add(
        "--checkpoint-every",
        metavar="N",
        type=int,
        default=10,
        help="number of iterations between checkpoints [default: %(default)s]",
    )
    add("--resume", metavar="FILE", help="continue from this checkpoint; needs the same input and options")
    add("--time-limit", metavar="TIME", type=seconds, help='stop after this time ("90" seconds, "30m", "2h")')


def _cluster(command: argparse.ArgumentParser) -> None:
    add = command.add_argument_group("Cluster").add_argument
    add("--address", default="auto", help='the Ray cluster, or "local" to start one here [default: %(default)s]')
    add("--shards", metavar="N", type=int, help="number of workers [default: one per node]")
    add("--threads", metavar="N", type=int, help="threads and CPUs per shard [default: as there is room]")
    add("--memory", metavar="SIZE", type=size, help='memory that is reserved per shard ("500M", "8G")')
    add("--scratch", metavar="FOLDER", help="folder for temporary files on every node [default: that of the system]")
    add(
        "--restart-timeout",
        metavar="TIME",
        type=seconds,
        default=600.0,
        help="how long to wait for a lost worker [default: 10m]",
    )


def delimiter(text: str) -> str:
    """Read a character, or "tab"."""
    text = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(text) != 1:
        raise argparse.ArgumentTypeError("give one character, or tab")
    return text


def quote(text: str) -> str:
    """Read the name of a quote, or the quote itself."""
    return {'"': "double", "'": "single"}.get(text, text)


def ngrams(text: str) -> tuple[int, int]:
    """Read "2" or "1..3"."""
    low, _, high = text.partition("..")
    try:
        return int(low), int(high or low)
    except ValueError:
        raise argparse.ArgumentTypeError('give a range such as "1" or "1..2"') from None


def number_or_share(text: str) -> int | float:
    """Read a whole number, or a share with a decimal point."""
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError("give a whole number, or a share such as 0.001") from None


def seconds(text: str) -> float:
    """Read "90", "90s", "30m" or "2h"."""
    factor = {"s": 1.0, "m": 60.0, "h": 3600.0}.get(text[-1:])
    try:
        value = float(text if factor is None else text[:-1]) * (factor or 1.0)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError("give a time such as 90, 30m or 2h")
    return value


def size(text: str) -> int:
    """Read "1000000", "500M" or "8G"."""
    factor = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}.get(text[-1:].upper())
    try:
        value = int(float(text if factor is None else text[:-1]) * (factor or 1))
    except ValueError:
        value = 0
    if value <= 0:
        raise argparse.ArgumentTypeError("give a size such as 500M or 8G")
    return value


def arguments(given: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `cluster` for the options that were given."""
    stop_words: Any = None if given.stop_words == "none" else given.stop_words
    more_stop_words: list[str] | None = None
    if given.stop_words_file is not None:
        with open(given.stop_words_file, encoding="utf-8") as file:
            more_stop_words = [line.strip() for line in file if line.strip()]
    vectorizer = TextVectorizer(
        lowercase=not given.case_sensitive,
        stop_words=stop_words,
        more_stop_words=more_stop_words,
        ngram_range=given.ngrams,
        min_df=given.min_df,
        max_df=given.max_df,
        max_features=given.max_terms,
        sublinear_tf=given.sublinear_tf,
        idf="smooth" if given.smooth_idf else "paper",
        segmentation=given.segmentation,
        unspaced=given.unspaced,
        hyphens=given.hyphens,
        keep_tags=given.keep_tags,
        stemmer=given.stem,
        language=given.language,
        min_chars=given.min_chars,
        keep_urls=given.keep_urls,
        keep_numbers=given.keep_numbers,
    )
    renamed = {
        "seed": "random_state",
        "strategy": "algorithm",
        "keywords": "n_keywords",
        "representatives": "n_representatives",
        "least_typical": "n_least_typical",
        "report_chars": "max_chars",
        "report_size": "max_bytes",
        "shards": "num_shards",
        "threads": "n_threads",
        "memory": "memory_per_shard",
    }
    values = {name: value for name, value in vars(given).items() if name in signature(cluster).parameters}
    values |= {ours: getattr(given, theirs) for theirs, ours in renamed.items()}
    values["report"] = not given.no_report
    values["variation"] = None if given.variation is None else given.variation == "on"
    return values | {"vectorizer": vectorizer, "text_field": given.text_field or "text"}

"""Exact spherical k-means for sparse documents, fast for thousands of clusters.

`SphericalKMeans` is a scikit-learn estimator that groups the rows of a sparse
matrix by cosine similarity. `TextVectorizer` turns texts into such a matrix.
`keywords` and `representatives` say what the clusters are about, `report` shows
them on a page, `silhouette_score` says how well rows fit their clusters, `score`
how well clusters find known classes, `sweep` compares several numbers of clusters.
`save` and `load` exchange models with the command ``docsphere``, `write_result` and
`load_result` whole results.

Examples
--------
>>> import docsphere
>>> texts = [
...     "the cat sleeps on the mat", "a cat and a dog play", "my dog chases the cat",
...     "stocks fall as rates rise", "the bank raises rates", "rates and stocks worry the bank",
... ]
>>> vectorizer = docsphere.TextVectorizer()
>>> X = vectorizer.fit_transform(texts)
>>> model = docsphere.SphericalKMeans(n_clusters=2, n_init=10, random_state=0).fit(X)
>>> bool(model.labels_[0] == model.labels_[1] == model.labels_[2])
True
>>> model.predict(vectorizer.transform(["a dog sleeps"])) == model.labels_[:1]
array([ True])
"""

from importlib import import_module
from typing import TYPE_CHECKING

from ._docsphere import __version__
from ._errors import (
    ClusterError,
    DocsphereError,
    FileError,
    FormatError,
    MatrixError,
    ParameterError,
    StoppedError,
    TooLargeError,
)

if TYPE_CHECKING:
    from ._duplicates import find_duplicates
    from ._files import load, save
    from ._kmeans import SphericalKMeans
    from ._report import Report
    from ._result import Result, load_result, report, write_result
    from ._score import Score, score
    from ._silhouette import silhouette_samples, silhouette_score
    from ._summary import keyword_shares, keywords, representatives
    from ._sweep import SweepResult, sweep
    from ._text import TextVectorizer

__all__ = [
    "ClusterError",
    "DocsphereError",
    "FileError",
    "FormatError",
    "MatrixError",
    "ParameterError",
    "Report",
    "Result",
    "Score",
    "SphericalKMeans",
    "StoppedError",
    "SweepResult",
    "TextVectorizer",
    "TooLargeError",
    "__version__",
    "find_duplicates",
    "keyword_shares",
    "keywords",
    "load",
    "load_result",
    "report",
    "representatives",
    "save",
    "score",
    "silhouette_samples",
    "silhouette_score",
    "sweep",
    "write_result",
]

# Imported at first use. All of it imports scikit-learn, which takes most of the time that a worker
# of a cluster takes to start, and which no worker uses.
_MODULES = {
    "Report": "_report",
    "Result": "_result",
    "Score": "_score",
    "SphericalKMeans": "_kmeans",
    "SweepResult": "_sweep",
    "TextVectorizer": "_text",
    "find_duplicates": "_duplicates",
    "keyword_shares": "_summary",
    "keywords": "_summary",
    "load": "_files",
    "load_result": "_result",
    "report": "_result",
    "representatives": "_summary",
    "save": "_files",
    "score": "_score",
    "silhouette_samples": "_silhouette",
    "silhouette_score": "_silhouette",
    "sweep": "_sweep",
    "write_result": "_result",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""What clusters are about."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

import docsphere
from docsphere import SphericalKMeans, TextVectorizer, keyword_shares, keywords, representatives

TEXTS = [
    "cats purr and cats sleep",
    "a cat, cats, more cats",
    "cats sleep all day",
    "stocks fall",
    "stocks and rates rise",
    "rates fall as stocks rise",
]


@pytest.fixture(scope="module")
def clustered():
    vectorizer = TextVectorizer()
    X = vectorizer.fit_transform(TEXTS)
    return vectorizer, X, SphericalKMeans(2, n_init=10, random_state=0).fit(X)


def test_keywords_name_the_clusters(clustered):
    vectorizer, _, model = clustered
    words = keywords(model, vectorizer.get_feature_names_out(), n=2)
    assert words[model.labels_[0]][0][0] == "cats"
    assert words[model.labels_[3]][0][0] in ("stocks", "rates", "rise", "fall")
    assert all(0 <= score <= 1 for cluster in words for _, score in cluster)
    assert all(len(cluster) == 2 for cluster in words)


def test_shares_are_those_of_the_rows_that_have_the_keyword(clustered):
    vectorizer, X, model = clustered
    names = vectorizer.get_feature_names_out()
    shares, words = keyword_shares(model, X, names, n=3), keywords(model, names, n=3)
    columns = {name: column for column, name in enumerate(names)}
    for cluster, found in enumerate(shares):
        assert [term for term, _ in found] == [term for term, _ in words[cluster]]
        own = X[np.flatnonzero(model.labels_ == cluster)].toarray() > 0
        assert [share for _, share in found] == [own[:, columns[term]].mean() for term, _ in found]


def test_keywords_need_names(clustered):
    _, _, model = clustered
    with pytest.raises(docsphere.ParameterError, match="feature_names must be given"):
        keywords(model)
    with pytest.raises(docsphere.ParameterError, match="one for each column"):
        keywords(model, ["a", "b"])


def test_representatives_are_the_nearest_rows(clustered):
    _, X, model = clustered
    found = representatives(model, X, n=2)
    for cluster, positions in enumerate(found):
        own = np.flatnonzero(model.labels_ == cluster)
        assert set(positions) <= set(own)
        assert positions[0] == own[np.argmax(model.similarities_[own])]
    assert [len(rows) for rows in representatives(model, X[:3], n=1)].count(0) == 1, "new rows, of one cluster"


def test_what_has_no_labels_is_refused(clustered, tmp_path):
    vectorizer, _, model = clustered
    docsphere.save(model, tmp_path / "m.docsphere")
    with pytest.raises(docsphere.ParameterError, match="a file does not hold the labels"):
        keywords(docsphere.load(tmp_path / "m.docsphere"), vectorizer.get_feature_names_out())
    with pytest.raises(docsphere.ParameterError, match="got TextVectorizer"):
        representatives(vectorizer, TEXTS)


def test_a_pipeline_knows_its_names_and_takes_texts(clustered):
    vectorizer, X, model = clustered
    pipeline = make_pipeline(vectorizer, model)
    assert keywords(pipeline) == keywords(model, vectorizer.get_feature_names_out())
    for ours, theirs in zip(representatives(pipeline, TEXTS), representatives(model, X), strict=True):
        assert_array_equal(ours, theirs)
    with pytest.raises(
        docsphere.ParameterError, match="must consist of a TextVectorizer and a SphericalKMeans, got Norm"
    ):
        keywords(make_pipeline(Normalizer(), model))


@pytest.mark.parametrize("n", [0, -1, 1.5, "3", True])
def test_a_number_that_is_none_is_refused(clustered, n):
    vectorizer, X, model = clustered
    with pytest.raises(docsphere.ParameterError, match=r"^n must be an int of at least 1, got "):
        keywords(model, vectorizer.get_feature_names_out(), n=n)
    with pytest.raises(docsphere.ParameterError, match=r"^n must be an int of at least 1, got "):
        representatives(model, X, n=n)


def test_more_than_there_are_is_all(clustered):
    vectorizer, X, model = clustered
    names = vectorizer.get_feature_names_out()
    assert keywords(model, names, n=10**30) == keywords(model, names, n=1000)
    assert sum(len(rows) for rows in representatives(model, X, n=10**30)) <= len(TEXTS)


def test_labels_that_were_changed_are_checked(clustered):
    vectorizer, _, fitted = clustered
    names = vectorizer.get_feature_names_out()
    for label in (99, -2):
        model = copy.deepcopy(fitted)
        model.labels_[0] = label
        with pytest.raises(docsphere.ParameterError, match=f"labels_ must be from -1 to 1, got .*{label}"):
            keywords(model, names)
    for labels in (fitted.labels_[1:], fitted.labels_.astype(float), fitted.labels_[:, None]):
        model.labels_ = labels
        with pytest.raises(docsphere.ParameterError, match="labels_ must be 6 ints, one for each row of fit"):
            keywords(model, names)
    model.labels_ = fitted.labels_.astype(np.int64)
    assert keywords(model, names) == keywords(fitted, names)


def test_a_failed_fit_leaves_nothing_to_summarise(clustered, tmp_path):
    vectorizer, X, model = clustered
    model = copy.deepcopy(model)
    with pytest.raises(ValueError, match="n_clusters"):
        model.set_params(n_clusters=100).fit(X)
    for ask in (
        lambda: keywords(model, vectorizer.get_feature_names_out()),
        lambda: representatives(model, X),
        lambda: docsphere.save(model, tmp_path / "m.docsphere"),
        lambda: docsphere.save(make_pipeline(TextVectorizer(), clustered[2]), tmp_path / "m.docsphere"),
    ):
        with pytest.raises(NotFittedError):
            ask()

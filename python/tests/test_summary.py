"""What clusters are about."""

from __future__ import annotations

import numpy as np
import pytest

import docsphere
from docsphere import SphericalKMeans, TextVectorizer, keywords, representatives

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

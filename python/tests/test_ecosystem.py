"""With the tools of others: scikit-learn's, joblib, pandas, polars."""

from __future__ import annotations

import io
import pickle

import joblib
import pandas
import polars
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.metrics import normalized_mutual_info_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline

from docsphere import SphericalKMeans, TextVectorizer, keywords


def test_a_pipeline_goes_from_texts_to_labels(texts):
    pipeline = make_pipeline(TextVectorizer(), SphericalKMeans(20, random_state=0))
    labels = pipeline.fit_predict(texts)
    assert_array_equal(pipeline.predict(texts), labels)
    assert pipeline.transform(texts).shape == (len(texts), 20)
    assert list(pipeline.get_feature_names_out())[:2] == ["sphericalkmeans0", "sphericalkmeans1"]


def test_a_grid_search_finds_options(texts):
    pipeline = Pipeline([("text", TextVectorizer()), ("kmeans", SphericalKMeans(random_state=0))])
    search = GridSearchCV(pipeline, {"kmeans__n_clusters": [2, 20], "text__sublinear_tf": [False, True]}, cv=3)
    search.fit(texts)
    assert search.best_params_["kmeans__n_clusters"] == 20, "more clusters are nearer to all"


def test_clones_and_copies(rows):
    model = SphericalKMeans(10, random_state=0).fit(rows)
    unfitted = clone(model)
    assert unfitted.get_params() == model.get_params() and not hasattr(unfitted, "labels_")
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(file)):
        assert_array_equal(copy.predict(rows), model.labels_)
        assert_array_equal(copy.labels_, model.labels_)
        assert (copy.cluster_centers_ != model.cluster_centers_).nnz == 0


def test_a_pickled_vectorizer(texts):
    vectorizer = TextVectorizer().fit(texts)
    copy = pickle.loads(pickle.dumps(vectorizer))
    assert (copy.transform(texts) != vectorizer.transform(texts)).nnz == 0


def test_processes_of_joblib(rows):
    fit = joblib.delayed(lambda seed: SphericalKMeans(10, random_state=seed).fit(rows).similarity_)
    expected = [SphericalKMeans(10, random_state=seed).fit(rows).similarity_ for seed in range(3)]
    assert joblib.Parallel(n_jobs=2)(fit(seed) for seed in range(3)) == expected


def test_tables_in_and_out(rows):
    table = pandas.DataFrame(rows.toarray(), columns=[f"term{column}" for column in range(200)])
    model = SphericalKMeans(10, random_state=0).set_output(transform="pandas").fit(table)
    assert_array_equal(model.feature_names_in_, table.columns)
    similarities = model.transform(table)
    assert isinstance(similarities, pandas.DataFrame)
    assert list(similarities.columns)[:2] == ["sphericalkmeans0", "sphericalkmeans1"]
    assert keywords(model, n=1)[0][0][0].startswith("term")
    frame = polars.from_pandas(table)
    model.set_output(transform="polars")
    assert isinstance(model.transform(frame), polars.DataFrame)
    assert_array_equal(SphericalKMeans(10, random_state=0).fit(frame).labels_, model.labels_)


def test_subjects_are_found_again(texts, subjects):
    pipeline = make_pipeline(TextVectorizer(min_df=2), SphericalKMeans(20, n_init=10, random_state=0))
    assert normalized_mutual_info_score(subjects, pipeline.fit_predict(texts)) > 0.9


def test_as_the_clustering_model_of_bertopic(texts):
    bertopic = pytest.importorskip("bertopic", reason="bertopic is not installed: its test is LEFT OUT")
    from bertopic.dimensionality import BaseDimensionalityReduction

    X = TextVectorizer().fit_transform(texts).toarray()
    topic_model = bertopic.BERTopic(
        embedding_model=None,
        umap_model=BaseDimensionalityReduction(),
        hdbscan_model=SphericalKMeans(20, random_state=0),
    )
    topics, _ = topic_model.fit_transform(texts, embeddings=X)
    assert len(set(topics)) == 20
    assert len(topic_model.get_topic(0)) > 0
    again, _ = topic_model.transform(texts, embeddings=X)
    assert_array_equal(again, topics)

"""Texts to rows."""

from __future__ import annotations

import numpy as np
import pandas
import polars
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer

import docsphere
from docsphere import TextVectorizer


def test_rows_are_those_of_scikit_learn_under_its_options(texts):
    ours = TextVectorizer(segmentation="sklearn", stop_words=None, keep_urls=True, keep_numbers=True, idf="smooth")
    theirs = TfidfVectorizer()
    X, expected = ours.fit_transform(texts), theirs.fit_transform(texts)
    assert_array_equal(ours.get_feature_names_out(), theirs.get_feature_names_out())
    assert_allclose(X.toarray(), expected.toarray(), atol=1e-6)
    assert_allclose(ours.idf_, theirs.idf_)
    assert ours.vocabulary_ == {term: int(column) for term, column in theirs.vocabulary_.items()}


def test_new_texts_have_rows_over_the_same_terms(texts):
    vectorizer = TextVectorizer()
    X = vectorizer.fit_transform(texts)
    assert X.dtype == np.float32
    again = vectorizer.transform(texts)
    assert (again != X).nnz == 0
    assert vectorizer.transform(["zzyzx qwrt"]).nnz == 0


@pytest.mark.parametrize("column", [list, tuple, iter, np.array, pandas.Series, polars.Series])
def test_columns_of_tables_are_texts(texts, column):
    expected = TextVectorizer().fit_transform(texts)
    assert (TextVectorizer().fit_transform(column(texts)) != expected).nnz == 0


def test_options_choose_terms():
    def terms(text, **options):
        # With another idf than the paper's, which drops what is in all texts.
        return list(TextVectorizer(idf="smooth", **options).fit([text]).get_feature_names_out())

    assert terms("The Cats of 1999") == ["cats"]
    assert terms("The Cats", lowercase=False, stop_words=None) == ["Cats", "The"]
    assert terms("red cats sleep", ngram_range=(1, 2)) == ["cats", "cats sleep", "red", "red cats", "sleep"]
    assert terms("cats sleeping", stemmer="english") == ["cat", "sleep"]
    german = "die Hunde und die Katzen vor dem Haus warten auf das Essen"
    assert terms(german, language="english,de") == ["essen", "haus", "hunde", "katzen", "warten"]
    assert terms(german, language="auto", stemmer="auto") == ["ess", "haus", "hund", "katz", "wart"]
    assert terms("cats of 1999", keep_numbers=True) == ["1999", "cats"]
    assert terms("cats and dogs", stop_words=["cats"]) == ["and", "dogs"]
    assert terms("cats and dogs", more_stop_words=["cats"]) == ["dogs"]
    assert terms("the cats avec dogs", stop_words="english,french") == ["cats", "dogs"]
    assert terms("a bb ccc", min_chars=3) == ["ccc"]
    assert terms("b b a a c", max_features=2, min_chars=1, stop_words=None) == ["a", "b"]


def test_document_frequencies_bound_terms():
    texts = ["cats purr", "cats sleep", "cats bark", "dogs bark"]

    def terms(**options):
        return list(TextVectorizer(**options).fit(texts).get_feature_names_out())

    assert terms(min_df=2) == ["bark", "cats"]
    assert terms(min_df=0.5) == ["bark", "cats"]
    assert terms(max_df=2) == ["bark", "dogs", "purr", "sleep"]
    assert terms(max_df=0.5, min_df=2) == ["bark"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stop_words": "klingon"}, "stop_words must be"),
        ({"stemmer": "klingon"}, "stemmer must be one of"),
        ({"ngram_range": (2, 1)}, r"ngram_range must be two ints, 1 <= min_n <= max_n <= 3, got \(2, 1\)"),
        ({"ngram_range": (1, 4)}, "ngram_range must be"),
        ({"ngram_range": (1,)}, "ngram_range must be"),
        ({"ngram_range": (1, 1.5)}, "ngram_range must be"),
        ({"n_jobs": 0}, "n_jobs must be None, negative, or from 1 to 4096, got 0"),
        ({"n_jobs": 5000}, "n_jobs must be"),
        ({"idf": "log"}, "'idf' parameter of TextVectorizer must be a str among"),
        ({"min_df": -1}, "'min_df' parameter"),
        ({"min_df": 3, "max_df": 2}, "min_df"),
    ],
)
def test_wrong_options_are_refused(texts, options, message):
    with pytest.raises(ValueError, match=message):
        TextVectorizer(**options).fit(texts)


def test_what_is_no_text_is_refused():
    with pytest.raises(docsphere.ParameterError, match="got a single text; put it into a list"):
        TextVectorizer().fit("one text")
    with pytest.raises(docsphere.ParameterError, match="got None at position 1"):
        TextVectorizer().fit(["one", None])
    with pytest.raises(docsphere.ParameterError, match=r"got dict at position 0$"):
        TextVectorizer().fit([{"text": "a long record"}])
    with pytest.raises(docsphere.ParameterError, match=r"valid Unicode, .* at position 1$"):
        TextVectorizer().fit(["one", "half a pair: \ud800"])
    with pytest.raises(docsphere.ParameterError, match=r"at position 0$"):
        TextVectorizer().fit(["one", "two"]).transform(["\udfff"])


@pytest.mark.parametrize("table", [dict, pandas.DataFrame, polars.DataFrame, polars.LazyFrame])
def test_a_table_is_not_taken_for_the_names_of_its_columns(table):
    with pytest.raises(docsphere.ParameterError, match=r'give one column, such as df\["text"\]'):
        TextVectorizer().fit(table({"text": ["cats purr", "dogs bark"]}))


@pytest.mark.parametrize("given", [None, 3])
def test_what_cannot_be_gone_through_is_refused(given):
    with pytest.raises(docsphere.ParameterError, match=r"must be an iterable of texts, got (None|int)$"):
        TextVectorizer().fit(given)


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        ([], {}),
        (["the", "of the"], {}),
        (["cats purr", "dogs bark"], {"min_df": 2}),
        (["cats purr", "cats purr"], {"idf": "smooth", "max_df": 1}),
        (["cats purr", "purr, cats"], {}),
    ],
)
def test_texts_without_any_term_are_refused_with_the_causes(texts, options):
    vectorizer = TextVectorizer(**options)
    with pytest.raises(docsphere.ParameterError, match=r'no terms are left: .*stop_words.*min_df.*max_df.*idf="paper"'):
        vectorizer.fit(texts)
    with pytest.raises(NotFittedError):
        vectorizer.transform(["cats"])


def test_a_failed_fit_leaves_nothing_fitted(texts):
    vectorizer = TextVectorizer().fit(texts)
    with pytest.raises(docsphere.ParameterError):
        vectorizer.fit([None])
    for ask in (lambda: vectorizer.transform(texts), vectorizer.get_feature_names_out):
        with pytest.raises(NotFittedError):
            ask()


@pytest.mark.parametrize("n_jobs", [1, 2, 7, -1])
def test_threads_change_nothing(texts, n_jobs):
    expected = TextVectorizer().fit_transform(texts * 20)
    assert (TextVectorizer(n_jobs=n_jobs).fit_transform(texts * 20) != expected).nnz == 0

"""scikit-learn's own checks: all of them, none skipped, none expected to fail.

For transformers of texts, such as `TextVectorizer` or its own `TfidfVectorizer`, scikit-learn has
checks of the interface only: it says so in a warning, since it has no texts to try them on.
"""

from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from docsphere import SphericalKMeans, TextVectorizer


@parametrize_with_checks([SphericalKMeans(), SphericalKMeans(n_clusters=2, n_init=2), TextVectorizer()])
def test_scikit_learn_accepts(estimator, check):
    check(estimator)

"""Code as users write it, for the type checker."""

from __future__ import annotations

from scipy import sparse

import docsphere


def cluster(X: sparse.csr_matrix, texts: list[str]) -> float:
    model = docsphere.SphericalKMeans(n_clusters=3, random_state=0, n_jobs=-1).fit(X)
    labels = model.predict(X)
    vectorizer = docsphere.TextVectorizer(min_df=2).fit(texts)
    words: list[list[tuple[str, float]]] = docsphere.keywords(model, vectorizer.get_feature_names_out(), n=3)
    docsphere.save(model, "model.docsphere")
    docsphere.report(model, X, texts, "report.html", title="texts")
    docsphere.write_result(model, X, texts, "out")
    result: docsphere.Result = docsphere.load_result("out")
    words.append([(id, 0.0) for id in result.ids])
    return float(labels.mean()) + len(words) + model.score(X)

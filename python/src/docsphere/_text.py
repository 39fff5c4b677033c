"""The transformer from texts to rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from . import _docsphere
from ._checks import n_threads
from ._errors import ParameterError
from ._matrix import csr_matrix


class TextVectorizer(TransformerMixin, BaseEstimator):
    """Turn texts into TF-IDF rows of length one.

    The text stages of docsphere as a transformer. Parameters with the same meaning
    as in `sklearn.feature_extraction.text.TfidfVectorizer` have the same names.

    Parameters
    ----------
    lowercase : bool, default=True
        Whether upper and lower case are the same.

    stop_words : str, list of str or None, default="english"
        Words to drop: those of a language, or of several ("english,french"), a list
        of your own, or none. Languages are afrikaans, albanian, arabic, armenian,
        azerbaijani, basque, belarusian, bengali, bulgarian, catalan, chinese,
        croatian, czech, danish, dutch, english, esperanto, estonian, finnish, french,
        galician, german, greek, gujarati, hausa, hebrew, hindi, hungarian,
        indonesian, irish, italian, japanese, kazakh, korean, kurdish, latin, latvian,
        lithuanian, malay, marathi, nepali, norwegian, persian, polish, portuguese,
        romanian, russian, sesotho, slovak, slovenian, somali, spanish, swahili,
        swedish, tagalog, tajik, tamil, thai, turkish, ukrainian, urdu, uzbek,
        vietnamese, yoruba and zulu, or their ISO 639 codes.

    more_stop_words : list of str or None, default=None
        Words to drop besides.

    ngram_range : tuple (min_n, max_n), default=(1, 1)
        The minimum and maximum number of words in a term, at most 3.

    min_df : int or float, default=1
        Terms in fewer texts are dropped; a float is a share of all texts.

    max_df : int or float, default=1.0
        Terms in more texts are dropped; a float is a share of all texts.

    max_features : int or None, default=None
        Keep only this many terms, the most frequent ones.

    sublinear_tf : bool, default=False
        Whether a term that occurs n times counts ``1 + log(n)`` instead of n.

    idf : {"paper", "smooth", "plus-one"}, default="paper"
        The weight of rare terms: ``log(n / df)``, which drops terms that are in
        every text; ``log((1 + n) / (1 + df)) + 1``, scikit-learn's default; or
        ``log(n / df) + 1``.

    segmentation : {"words", "unicode", "sklearn"}, default="words"
        How text is split into words: by the rules of Unicode with names such as
        C++ and scripts without spaces; by these rules alone; or into runs of two
        or more word characters, as scikit-learn does by default.

    unspaced : {"bigrams", "dictionary"}, default="bigrams"
        How Chinese, Japanese, Thai, Lao, Khmer and Burmese are split, which have no
        spaces between words: into pairs of characters, or by dictionary, if the
        package was built with the cargo feature ``dictionary``.

    hyphens : {"both", "names", "split", "whole"}, default="both"
        With ``segmentation="words"``: what becomes of words that hyphens join: their
        parts and the whole ("both"); the whole only if a part is a single letter or
        a number, as in COVID-19 and k-means ("names"); the parts alone ("split"); or
        the whole alone.

    keep_tags : bool, default=False
        With ``segmentation="words"``: whether hashtags and mentions keep their
        signs: ``#bitcoin``, ``@user``.

    stemmer : str or None, default=None
        The language whose endings are cut off: arabic, armenian, basque, catalan,
        czech, danish, dutch, dutch_porter, earlymodernenglish, english, esperanto,
        estonian, finnish, french, german, greek, hindi, hungarian, indonesian,
        irish, italian, lithuanian, lovins, nepali, norwegian, persian, polish,
        porter, portuguese, romanian, russian, serbian, sesotho, spanish, swedish,
        tamil, turkish, ukrainian or yiddish. With `language`, "auto" for the language
        of each text.

    language : str or None, default=None
        The languages of the texts, if they have several: "auto" for any, or names or
        ISO 639 codes separated by commas, such as "english,german", which is faster
        and more certain for short texts. The language of each text is detected, and
        the stop words of that language are dropped. Where it is not certain, the stop
        words of all languages that are named here or as `stop_words` are dropped.
        ``stop_words=None`` and lists of your own hold for all languages. Languages
        are afrikaans, akan, amharic, arabic, armenian, azerbaijani, belarusian,
        bengali, bulgarian, burmese, catalan, chinese, croatian, czech, danish, dutch,
        english, esperanto, estonian, finnish, french, georgian, german, greek,
        gujarati, hebrew, hindi, hungarian, indonesian, italian, japanese, javanese,
        kannada, khmer, korean, latin, latvian, lithuanian, macedonian, malayalam,
        marathi, nepali, norwegian, odia, persian, polish, portuguese, punjabi,
        romanian, russian, serbian, shona, sinhala, slovak, slovenian, spanish,
        swedish, tagalog, tamil, telugu, thai, turkish, turkmen, ukrainian, urdu,
        uzbek, vietnamese, welsh, yiddish and zulu, or their ISO 639 codes.

    min_chars : int, default=2
        The minimum number of characters of a word.

    keep_urls : bool, default=False
        Whether web addresses are split into words like other text.

    keep_numbers : bool, default=False
        Whether words without any letter are terms.

    n_jobs : int or None, default=None
        The number of threads, as in scikit-learn. Never changes the result.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        The column of each term.

    idf_ : ndarray of shape (n_terms,)
        The weight of each term.

    languages_ : dict of str to int
        With `language`: the number of texts in each language, None for those whose
        language is not certain. Of models from files it is not known.

    Examples
    --------
    >>> from docsphere import TextVectorizer
    >>> vectorizer = TextVectorizer()
    >>> X = vectorizer.fit_transform(["Cats purr.", "Dogs bark at cats.", "Dogs sleep."])
    >>> vectorizer.get_feature_names_out()
    array(['bark', 'cats', 'dogs', 'purr', 'sleep'], dtype=object)
    >>> X.shape, X.dtype
    ((3, 5), dtype('float32'))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lowercase": ["boolean"],
        "stop_words": [str, list, tuple, set, frozenset, None],
        "more_stop_words": [list, tuple, set, frozenset, None],
        "ngram_range": [tuple, list],
        "min_df": [Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="both")],
        "max_df": [Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="both")],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "sublinear_tf": ["boolean"],
        "idf": [StrOptions({"paper", "smooth", "plus-one"})],
        "segmentation": [StrOptions({"words", "unicode", "sklearn"})],
        "unspaced": [StrOptions({"bigrams", "dictionary"})],
        "hyphens": [StrOptions({"split", "names", "both", "whole"})],
        "keep_tags": ["boolean"],
        "stemmer": [str, None],
        "language": [str, None],
        "min_chars": [Interval(Integral, 1, None, closed="left")],
        "keep_urls": ["boolean"],
        "keep_numbers": ["boolean"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        *,
        lowercase: bool = True,
        stop_words: str | list[str] | None = "english",
        more_stop_words: list[str] | None = None,
        ngram_range: tuple[int, int] = (1, 1),
        min_df: float = 1,
        max_df: float = 1.0,
        max_features: int | None = None,
        sublinear_tf: bool = False,
        idf: str = "paper",
        segmentation: str = "words",
        unspaced: str = "bigrams",
        hyphens: str = "both",
        keep_tags: bool = False,
        stemmer: str | None = None,
        language: str | None = None,
        min_chars: int = 2,
        keep_urls: bool = False,
        keep_numbers: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.lowercase = lowercase
        self.stop_words = stop_words
        self.more_stop_words = more_stop_words
        self.ngram_range = ngram_range
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.sublinear_tf = sublinear_tf
        self.idf = idf
        self.segmentation = segmentation
        self.unspaced = unspaced
        self.hyphens = hyphens
        self.keep_tags = keep_tags
        self.stemmer = stemmer
        self.language = language
        self.min_chars = min_chars
        self.keep_urls = keep_urls
        self.keep_numbers = keep_numbers
        self.n_jobs = n_jobs

    def fit(self, raw_documents: Iterable[str], y: object = None) -> TextVectorizer:
        """Learn the terms and their weights.

        Parameters
        ----------
        raw_documents : iterable of str
            The texts: a list, or a column of pandas or polars.

        y : Ignored
            There by convention.

        Returns
        -------
        self : TextVectorizer
            The fitted transformer.
        """
        self.fit_transform(raw_documents)
        return self

    def fit_transform(self, raw_documents: Iterable[str], y: object = None) -> Any:
        """Learn the terms and their weights, and return the rows of the texts.

        Parameters
        ----------
        raw_documents : iterable of str
            The texts.

        y : Ignored
            There by convention.

        Returns
        -------
        X : csr_matrix of shape (n_texts, n_terms)
            One row of length one per text, in float32. Texts without any term have
            rows without entries.
        """
        self.__dict__.pop("_model", None)  # If this fails, the transformer is not fitted.
        options, texts = self._options(), texts_of("raw_documents", raw_documents)
        parts, model, warning, languages = _docsphere.fit_texts(texts, options, n_threads(self.n_jobs))
        if len(model.idf) == 0:
            raise ParameterError(
                "no terms are left: every word is one of stop_words, shorter than min_chars, in fewer texts "
                'than min_df or in more than max_df, or, with idf="paper", in every text (idf="smooth" keeps those)'
            )
        if warning is not None:
            warnings.warn(warning, UserWarning, stacklevel=2)
        self._model = model
        self.languages_ = dict(languages)
        self._set_terms()
        return csr_matrix(parts, len(self.vocabulary_))

    def _options(self) -> dict[str, Any]:
        """Return the parameters, checked, as the compiled part takes them."""
        self._validate_params()
        options = {name: value for name, value in self.get_params().items() if name != "n_jobs"}
        options["stop_words"] = self._stop_words()
        options["more_stop_words"] = sorted(self.more_stop_words or ())
        options["ngram_range"] = self._ngram_range()
        for name in ("min_df", "max_df"):
            value = options[name]
            options[name] = int(value) if isinstance(value, Integral) else float(value)
        return options

    def _ngram_range(self) -> tuple[int, int]:
        given = tuple(self.ngram_range)
        if len(given) == 2 and all(isinstance(n, Integral) for n in given) and 1 <= given[0] <= given[1] <= 3:
            return int(given[0]), int(given[1])
        raise ParameterError(f"ngram_range must be two ints, 1 <= min_n <= max_n <= 3, got {self.ngram_range!r}")

    def _stop_words(self) -> str | list[str] | None:
        if self.stop_words is None or isinstance(self.stop_words, str):
            return self.stop_words
        return sorted(self.stop_words)

    def _set_terms(self) -> None:
        self.vocabulary_ = {term: column for column, term in enumerate(self._model.terms)}
        self.idf_ = self._model.idf

    def transform(self, raw_documents: Iterable[str]) -> Any:
        """Return the rows of texts. Terms that `fit` did not see are ignored.

        Parameters
        ----------
        raw_documents : iterable of str
            The texts.

        Returns
        -------
        X : csr_matrix of shape (n_texts, n_terms)
            One row of length one per text, in float32.
        """
        check_is_fitted(self)
        parts = self._model.transform(texts_of("raw_documents", raw_documents), n_threads(self.n_jobs))
        return csr_matrix(parts, len(self.vocabulary_))

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the terms, in the order of columns.

        Parameters
        ----------
        input_features : Ignored
            There by convention.

        Returns
        -------
        terms : ndarray of shape (n_terms,)
            The terms.
        """
        check_is_fitted(self)
        return np.array(list(self.vocabulary_), dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def texts_of(name: str, raw_documents: Iterable[str]) -> list[str]:
    """Return an argument that holds texts as a list, after checking it."""
    if isinstance(raw_documents, str):
        raise ParameterError(f"{name} must be an iterable of texts, got a single text; put it into a list")
    is_table = isinstance(raw_documents, Mapping) or hasattr(type(raw_documents), "columns")
    if is_table or not isinstance(raw_documents, Iterable):
        hint = '; give one column, such as df["text"]' if is_table else ""
        raise ParameterError(f"{name} must be an iterable of texts, got {_kind(raw_documents)}{hint}")
    texts = list(raw_documents)
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise ParameterError(f"{name} must hold texts, got {_kind(text)} at position {number}")
    return texts


def _kind(value: object) -> str:
    return "None" if value is None else type(value).__name__

//! Matrices computed by hand, matrices compared with each other, models as bytes.

use std::fs;

use proptest::prelude::*;

use super::super::tfidf::{DocumentBound, IdfKind};
use super::*;
use crate::corpus::CorpusOptions;
use crate::ids::DocId;
use crate::text::{Ngrams, StopWords};

fn plain() -> TextOptions {
    TextOptions { stop_words: StopWords::None, min_chars: 1, ..TextOptions::default() }
}

fn terms(vectorized: &Vectorized) -> Vec<&str> {
    vectorized.model.vocabulary().iter().collect()
}

#[test]
fn the_weights_are_those_of_the_paper() {
    let texts = ["b a a all", "b c all", "c c all", "all", "all, a: b?"];
    let vectorized = Vectorizer::new().text(plain()).fit_texts(&texts).unwrap();
    assert_eq!(terms(&vectorized), ["a", "b", "c"]); // `all` is in all
    assert_eq!(vectorized.model.document_frequencies(), [2, 3, 2]);
    assert_eq!(vectorized.ids, ["1", "2", "3", "4", "5"]);
    let (a, b) = (2.0 * (2.5f64).ln(), (5.0f64 / 3.0).ln());
    let length = a.hypot(b);
    let row = vectorized.rows.row(0);
    assert_eq!(row.terms, [0, 1]);
    assert_eq!(row.values, [(a / length) as f32, (b / length) as f32]);
    assert_eq!(vectorized.rows.row(2).values, [1.0]);
    assert_eq!(vectorized.rows.zero_rows(), [DocId::new(3)]);
    assert_eq!(vectorized.n_docs_without_terms(), 1);
}

#[test]
fn terms_are_limited_by_documents_and_by_number() {
    let texts = ["a b c d", "a b c", "a b", "a d d d"];
    let fit = |tfidf| {
        let vectorized = Vectorizer::new().text(plain()).tfidf(tfidf).fit_texts(&texts).unwrap();
        terms(&vectorized).join(" ")
    };
    let smooth = TfidfOptions { idf: IdfKind::Smooth, ..TfidfOptions::default() };
    assert_eq!(fit(smooth), "a b c d");
    assert_eq!(fit(TfidfOptions { min_df: DocumentBound::Count(3), ..smooth }), "a b");
    assert_eq!(fit(TfidfOptions { max_df: DocumentBound::Share(0.5), ..smooth }), "c d");
    assert_eq!(fit(TfidfOptions { max_terms: Some(2), ..smooth }), "a d");
    assert_eq!(fit(TfidfOptions { max_terms: Some(3), ..smooth }), "a b d");
    assert_eq!(fit(TfidfOptions { max_terms: Some(2), ..TfidfOptions::default() }), "b d");
}

#[test]
fn nothing_in_gives_nothing_out() {
    for texts in [&[][..], &[""], &["one document"], &["the", "of"]] {
        let vectorized = Vectorizer::new().fit_texts(texts).unwrap();
        assert_eq!((vectorized.rows.n_rows(), vectorized.rows.nnz()), (texts.len(), 0));
        let back = TextModel::from_bytes(&vectorized.model.to_bytes()).unwrap();
        assert_eq!(back.transform(&["one"]).unwrap().unknown_shares, [1.0]);
    }
}

#[test]
fn options_are_checked() {
    let message = |vectorizer: Vectorizer| vectorizer.fit_texts(&["a"]).unwrap_err().to_string();
    assert_eq!(message(Vectorizer::new().n_threads(0)), "n_threads must be from 1 to 4096, got 0");
    let text = TextOptions { min_chars: 0, ..TextOptions::default() };
    assert_eq!(message(Vectorizer::new().text(text)), "min_chars must be from 1 to 100, got 0");
    let tfidf = TfidfOptions { max_terms: Some(0), ..TfidfOptions::default() };
    assert_eq!(message(Vectorizer::new().tfidf(tfidf)), "max_terms must be at least 1, got 0");
}

#[test]
fn the_corpus_transformed_is_the_corpus_fitted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.jsonl");
    let lines: String = (0..3000)
        .map(|n| format!("{{\"id\":{},\"text\":\"w{} w{} shared w{}\"}}\n", n % 2999, n % 7, n % 11, n % 997))
        .collect();
    fs::write(&path, lines).unwrap();
    let corpus = Corpus::open([&path], CorpusOptions::default()).unwrap();
    let vectorized = Vectorizer::new().fit(&corpus).unwrap();
    assert_eq!((vectorized.stats.n_documents, vectorized.n_repeated_ids), (3000, 1));
    let again = vectorized.model.transform_corpus(&corpus).unwrap();
    assert_eq!(again.transformed.rows, vectorized.rows);
    assert_eq!((&again.ids, again.stats), (&vectorized.ids, vectorized.stats));
    // Only `shared`, which is in every document, is not a term.
    assert!(again.transformed.unknown_shares.iter().all(|&share| share == 0.25));
}

#[test]
fn models_make_the_round_trip_and_damage_is_an_error() {
    let text = TextOptions { ngrams: Ngrams { lo: 1, hi: 2 }, stemmer: Some("en".to_owned()), ..plain() };
    let texts = ["cats purr", "dogs bark at cats", "é dogs"];
    let model = Vectorizer::new().text(text).fit_texts(&texts).unwrap().model;
    let bytes = model.to_bytes();
    let back = TextModel::from_bytes(&bytes).unwrap();
    assert_eq!(back, model);
    assert_eq!(back.transform(&texts).unwrap(), model.transform(&texts).unwrap());
    for length in 0..bytes.len() {
        assert!(TextModel::from_bytes(&bytes[..length]).is_err(), "{length} bytes");
    }
    for position in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[position] ^= 1 << bit;
            if let Ok(other) = TextModel::from_bytes(&changed) {
                other.transform(&texts).unwrap();
            }
        }
    }
    let message = |bytes: &[u8]| TextModel::from_bytes(bytes).unwrap_err().to_string();
    assert_eq!(message(b""), "not valid text model: expected more bytes, found their end");
    assert_eq!(
        message(&[9, 0, 0, 0]),
        "written in format version 9, this build reads up to version 1; update docsphere to read it"
    );
    assert_eq!(message(&[1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]), message(b""));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn threads_and_chunks_leave_no_trace(
        documents in prop::collection::vec("[a-dé]{1,3}( [a-dé]{1,3}){0,12}", 0..80),
        hi in 1usize..=3,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.txt");
        fs::write(&path, documents.join("\n")).unwrap();
        let text = TextOptions { ngrams: Ngrams { lo: 1, hi }, ..plain() };
        let tfidf = TfidfOptions { max_terms: Some(40), ..TfidfOptions::default() };
        let vectorizer = Vectorizer::new().text(text).tfidf(tfidf);
        let expected = vectorizer.clone().n_threads(1).fit_texts(&documents).unwrap();
        for n_threads in [1, 2, 7] {
            for chunk_bytes in [1, 50, 1 << 20] {
                let corpus = Corpus::open([&path], CorpusOptions::default()).unwrap().with_chunk_bytes(chunk_bytes);
                let found = vectorizer.clone().n_threads(n_threads).fit(&corpus).unwrap();
                prop_assert_eq!(&found.rows, &expected.rows);
                prop_assert_eq!(&found.model, &expected.model);
                prop_assert_eq!(&found.ids, &expected.ids);
            }
        }
        let again = expected.model.transform(&documents).unwrap();
        prop_assert_eq!(again.rows, expected.rows);
    }
}

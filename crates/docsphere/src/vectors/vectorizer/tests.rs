//! Matrices computed by hand, matrices compared with each other, models as bytes.

use std::fs;

use proptest::prelude::*;

use super::super::rows::SparseRows;
use super::super::tfidf::{DocumentBound, IdfKind};
use super::*;
use crate::corpus::{CorpusOptions, CorpusPiece};
use crate::ids::DocId;
use crate::text::{LanguageCounts, Ngrams, StopWords};

mod spilling;

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
        "written in format version 9, this build reads up to version 4; update docsphere to read it"
    );
    assert_eq!(message(&[1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]), message(b""));
}

/// Documents in two languages, and scraps.
#[cfg(feature = "languages")]
fn mixed() -> Vec<String> {
    let text = |number: usize| match number % 3 {
        0 => format!("The dogs of house number {number} are barking at the cats of the whole street"),
        1 => format!("Die Hunde im Haus Nummer {number} bellen, und die Katzen hören ihnen nicht zu"),
        _ => format!("die ok{number}"),
    };
    (0..3000).map(text).collect()
}

#[cfg(feature = "languages")]
#[test]
fn languages_of_documents_depend_on_their_texts_alone() {
    let texts = mixed();
    let options = TextOptions::default().language("auto".to_owned()).stemmer("auto".to_owned());
    let fit = |texts: &[String], n_threads: usize| {
        Vectorizer::new().text(options.clone()).n_threads(n_threads).fit_texts(texts).unwrap()
    };
    let whole = fit(&texts, 1);
    let found: Vec<(&str, u64)> =
        whole.languages.certain().into_iter().map(|(language, n)| (language.name(), n)).collect();
    assert_eq!((found, whole.languages.n_uncertain()), (vec![("english", 1000), ("german", 1000)], 1000));
    let terms: Vec<&str> = whole.model.vocabulary().iter().filter(|term| !term.starts_with("ok")).collect();
    // "die" is a stop word in German text only.
    let expected = [
        "bark", "bell", "cat", "die", "dog", "haus", "hor", "hous", "hund", "katz", "number", "numm",
        "street", "whole",
    ];
    assert_eq!(terms, expected);
    assert_eq!(fit(&texts, 7), whole);
    let reversed: Vec<String> = texts.iter().rev().cloned().collect();
    let other = fit(&reversed, 2);
    assert_eq!((&other.model, &other.languages), (&whole.model, &whole.languages));
    assert_eq!(other.rows.row(0), whole.rows.row(whole.rows.n_rows() - 1));
    assert_eq!(whole.model.transform(&texts).unwrap().rows, whole.rows);
}

#[cfg(feature = "languages")]
#[test]
fn models_keep_how_languages_are_treated() {
    let texts = mixed();
    let options = TextOptions::default().language("en,german".to_owned()).stemmer("auto".to_owned());
    let model = Vectorizer::new().text(options).fit_texts(&texts[..9]).unwrap().model;
    let bytes = model.to_bytes();
    let back = TextModel::from_bytes(&bytes).unwrap();
    assert_eq!(back, model);
    assert_eq!(back.transform(&texts).unwrap(), model.transform(&texts).unwrap());
    // The description is JSON behind twelve bytes.
    let length = u64::from_le_bytes(bytes[4..12].try_into().unwrap()) as usize;
    for position in 12..12 + length {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[position] ^= 1 << bit;
            if let Ok(other) = TextModel::from_bytes(&changed) {
                other.transform(&texts[..3]).unwrap();
            }
        }
    }
}

#[test]
fn models_from_before_hyphens_split_words_as_they_did() {
    let texts = ["k-means 4", "means of covid-19", "other"];
    let model = Vectorizer::new().text(plain()).fit_texts(&texts).unwrap().model;
    let n_terms = |model: &TextModel| model.transform(&["k-means"]).unwrap().rows.row(0).terms.len();
    assert_eq!(n_terms(&model), 3, "k, means, k-means");
    let mut bytes = model.to_bytes();
    bytes[0] = 2;
    let older = TextModel::from_bytes(&bytes).unwrap();
    assert_eq!(older.text_options().hyphens, crate::text::Hyphens::Split);
    assert_eq!(n_terms(&older), 2, "k, means");
}

#[test]
fn letters_are_counted_alike_by_any_number_of_threads() {
    let texts: Vec<String> = (0..5000).map(|n| format!("The cats of {n} purr{} x 操作系统", n % 7)).collect();
    let losses = |n_threads: usize, text: TextOptions| {
        let tfidf = TfidfOptions::default().idf(IdfKind::Smooth);
        Vectorizer::new().text(text).tfidf(tfidf).n_threads(n_threads).fit_texts(&texts).unwrap().losses
    };
    let usual = losses(1, TextOptions::default());
    assert_eq!(usual.warning(), None);
    assert!(usual.letters().n_letters > 1000 && usual.letters().n_stop_words > 0);
    assert_eq!(losses(7, TextOptions::default()), usual);
    let lost = losses(2, TextOptions::default().segmentation(crate::text::Segmentation::Unicode)).warning();
    assert_eq!(lost.unwrap().cause, crate::vectors::LossCause::Segmentation);
}

/// Counts parts of the texts, adds the counts in this order, and makes the rows of each part.
fn in_parts(vectorizer: &Vectorizer, texts: &[String], cuts: &[usize], order: &[usize]) -> Vectorized {
    let starts: Vec<usize> = [0].into_iter().chain(cuts.iter().copied()).collect();
    let ends = cuts.iter().copied().chain([texts.len()]);
    let part = |(&start, end): (&usize, usize)| {
        vectorizer.count_texts(&texts[start..end], start as u64 + 1).unwrap()
    };
    let parts: Vec<CountedDocuments> = starts.iter().zip(ends).map(part).collect();
    let mut counts = TermCounts::default();
    for &part in order {
        counts.add(TermCounts::from_bytes(&parts[part].term_counts().to_bytes()).unwrap());
    }
    let n_docs: u64 = parts.iter().map(CountedDocuments::n_documents).sum();
    assert_eq!((counts.n_documents(), n_docs), (texts.len() as u64, texts.len() as u64));
    let model = vectorizer.model(counts).unwrap();
    joined(parts.into_iter().map(|part| part.into_rows(&model).unwrap()).collect(), model)
}

/// Parts do not have losses, which come from samples of their chunks.
fn without_losses(whole: Vectorized) -> Vectorized {
    Vectorized { losses: Losses::default(), ..whole }
}

/// The parts as one.
fn joined(parts: Vec<VectorizedPart>, model: TextModel) -> Vectorized {
    let (mut ids, mut stats) = (Ids::new(), CorpusStats::default());
    let (mut offsets, mut terms, mut values) = (vec![0], Vec::new(), Vec::new());
    for part in parts {
        assert_eq!(part.rows.n_terms(), model.vocabulary().len());
        for row in 0..part.rows.n_rows() {
            terms.extend_from_slice(part.rows.row(row).terms);
            values.extend_from_slice(part.rows.row(row).values);
            offsets.push(terms.len() as u64);
        }
        ids.extend(&part.ids);
        stats += part.stats;
    }
    let rows = SparseRows::from_parts(model.vocabulary().len(), offsets, terms, values).unwrap();
    let n_repeated_ids = count_repeated(&ids, &NO_LIMIT).unwrap();
    let losses = Losses::default();
    let languages = LanguageCounts::default();
    Vectorized { rows: UnitRows::trusted(rows), model, ids, n_repeated_ids, stats, losses, languages }
}

/// Options that choose and weigh terms in every way.
fn options() -> impl Strategy<Value = (TextOptions, TfidfOptions)> {
    let bound = |counts: std::ops::Range<u64>, shares: std::ops::Range<f64>| {
        prop_oneof![counts.prop_map(DocumentBound::Count), shares.prop_map(DocumentBound::Share)]
    };
    let text = (1usize..=3, any::<bool>()).prop_map(|(hi, stems)| TextOptions {
        ngrams: Ngrams { lo: 1, hi },
        stemmer: stems.then(|| "en".to_owned()),
        ..plain()
    });
    let idf = prop::sample::select(IdfKind::ALL);
    let limits = (bound(1..4, 0.0..0.3), bound(40..60, 0.5..1.0), prop::option::of(1usize..30));
    let tfidf = (idf, any::<bool>(), limits).prop_map(|(idf, sublinear_tf, (min_df, max_df, max_terms))| {
        TfidfOptions { idf, sublinear_tf, min_df, max_df, max_terms }
    });
    (text, tfidf)
}

#[test]
fn a_corpus_counted_in_pieces_is_the_corpus_fitted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.jsonl");
    let line = |n: usize| format!("{{\"text\":\"w{} w{} shared running w{}\"}}\n", n % 7, n % 11, n % 997);
    fs::write(&path, (0..3000).map(line).collect::<String>()).unwrap();
    let corpus = Corpus::open([&path], CorpusOptions::default()).unwrap();
    let vectorizer = Vectorizer::new().n_threads(2);
    let mut store = TextStoreWriter::create(folder.path().join("whole")).unwrap();
    let expected = vectorizer.fit_with_texts(&corpus, &mut store).unwrap();
    let expected_texts = store.finish().unwrap();
    for n in [1, 3, 8] {
        let mut pieces = corpus.pieces(n).unwrap();
        let n_lines: Vec<_> = pieces.iter().map(|piece| piece.count_lines().unwrap()).collect();
        CorpusPiece::number_lines(&mut pieces, &n_lines).unwrap();
        let mut texts = TextStoreWriter::create(folder.path().join(n.to_string())).unwrap();
        let mut parts = Vec::new();
        let mut counts = TermCounts::default();
        for piece in pieces {
            let part = Corpus::from_pieces(&[piece], CorpusOptions::default()).unwrap();
            let counted = vectorizer.count(&part, Some(&mut texts), &mut Silent).unwrap();
            assert_eq!(counted.stats().n_documents, counted.n_documents());
            counts.add(counted.term_counts());
            parts.push(counted);
        }
        let model = vectorizer.model(counts).unwrap();
        let found = joined(parts.into_iter().map(|part| part.into_rows(&model).unwrap()).collect(), model);
        assert_eq!(found, without_losses(expected.clone()), "{n} pieces");
        let texts = texts.finish().unwrap();
        for document in [0, 1234, 2999] {
            let id = DocId::new(document);
            assert_eq!(texts.get(id).unwrap(), expected_texts.get(id).unwrap());
        }
    }
    let unread = vectorizer.count(&corpus, None, &mut Silent).unwrap();
    assert_eq!(unread.into_rows(&expected.model).unwrap().rows, expected.rows);
}

#[test]
fn given_documents_keep_their_ids() {
    let documents = [Document::new("x", "cats purr"), Document::new("x", "dogs bark")];
    let counted = Vectorizer::new().count_documents(&documents).unwrap();
    assert_eq!(format!("{:?}", counted.term_counts()), "TermCounts(4 terms of 2 documents)");
    let model = Vectorizer::new().model(counted.term_counts()).unwrap();
    let part = counted.into_rows(&model).unwrap();
    assert_eq!(part.ids, ["x", "x"]);
    assert_eq!(part.rows, Vectorizer::new().fit_texts(&["cats purr", "dogs bark"]).unwrap().rows);
}

#[test]
fn mistakes_in_two_steps_are_errors() {
    let vectorizer = Vectorizer::new();
    let other = Vectorizer::new().text(plain()).fit_texts(&["cats purr"]).unwrap().model;
    let counted = vectorizer.count_texts(&["cats purr", "dogs"], 1).unwrap();
    let counts = counted.term_counts();
    assert_eq!(
        counted.into_rows(&other).unwrap_err().to_string(),
        "the text options of the model must be those with which the documents were counted, got others"
    );
    let tfidf = TfidfOptions {
        min_df: DocumentBound::Count(2),
        max_df: DocumentBound::Count(1),
        ..TfidfOptions::default()
    };
    assert_eq!(
        Vectorizer::new().tfidf(tfidf).model(counts).unwrap_err().to_string(),
        "max_df must be at least min_df, which is 2 of 2 documents, got 1"
    );
    let mut bytes = TermCounts::default().to_bytes();
    bytes[7] = 1;
    let counts = TermCounts::from_bytes(&bytes).unwrap();
    let message = vectorizer.model(counts).unwrap_err().to_string();
    assert!(message.starts_with("the number of rows is limited to "), "{message}");
    let tfidf = TfidfOptions { max_terms: Some(0), ..TfidfOptions::default() };
    let message = Vectorizer::new().tfidf(tfidf).count_texts(&["a"], 1).unwrap_err().to_string();
    assert_eq!(message, "max_terms must be at least 1, got 0");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn parts_give_the_bits_of_the_whole(
        documents in prop::collection::vec("([a-dé]{1,3}|cats|cat|running|runs)?( ([a-d]{1,2}|cats|runs)){0,9}", 0..60),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        (text, tfidf) in options(),
        shuffle in any::<u64>(),
    ) {
        let vectorizer = Vectorizer::new().text(text).tfidf(tfidf).n_threads(2);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(documents.len() + 1)).collect();
        cuts.sort_unstable();
        let Ok(expected) = vectorizer.fit_texts(&documents) else {
            // No number of documents is within the bounds.
            let counts = vectorizer.count_texts(&documents, 1).unwrap().term_counts();
            prop_assert!(vectorizer.model(counts).is_err());
            return Ok(());
        };
        let mut order: Vec<usize> = (0..=cuts.len()).collect();
        order.sort_by_key(|&part| (part as u64 + 1).wrapping_mul(shuffle | 1).rotate_left(17));
        let found = in_parts(&vectorizer, &documents, &cuts, &order);
        prop_assert_eq!(found, without_losses(expected));
    }
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

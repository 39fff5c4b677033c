//! Words and phrases in the texts of a sample: the documents nearest to each centroid.
//!
//! A phrase is two or three consecutive words that all make terms, with nothing but white space or
//! hyphens between them, of which at least one has the stem of a keyword. In scripts without spaces
//! nothing is between them, and bigrams overlap. Counted are texts, not occurrences.
//!
//! **Cost.** One pass over the sample, at most [`MAX_WORDS`] words of each text, on all threads.
//! Memory: the distinct phrases of each cluster, at most [`MAX_PHRASES`] per text. Counts are
//! integers: no order of texts or number of threads changes them.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use docsphere::{ClusterSummary, Joint, Language, Model, Result, TextOptions, Tokenizer, TokenizerScratch};
use rayon::prelude::*;

use super::stems::{StemCache, Stems};
use crate::clusters::{ShownDocument, term_name};

/// Maximum number of documents in the sample of a cluster.
const PER_CLUSTER: usize = 100;

/// Maximum number of documents in the samples of all clusters, unless there are very many clusters.
const IN_ALL: usize = 50_000;

/// The sample of a cluster has at least this many documents if it has them.
const LEAST_PER_CLUSTER: usize = 8;

/// Number of words read per text, from its beginning.
const MAX_WORDS: usize = 300;

/// Number of distinct phrases counted per text.
const MAX_PHRASES: usize = 60;

/// Number of consecutive texts that share a cache of stems.
const TEXTS_PER_TASK: usize = 32;

/// The number of documents in the sample of each of `n_clusters` clusters.
pub(crate) fn sample_size(n_clusters: usize) -> usize {
    (IN_ALL / n_clusters.max(1)).clamp(LEAST_PER_CLUSTER, PER_CLUSTER)
}

/// What the texts of a cluster's sample have.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    /// The number of texts.
    pub(crate) n_texts: u32,
    /// Words with the stem of a keyword, as written, and the number of texts that have them.
    pub(crate) words: HashMap<Form, u32>,
    /// Phrases as written, and the number of texts that have them.
    pub(crate) phrases: HashMap<Form, u32>,
}

impl Counts {
    /// Counts a text.
    fn add(&mut self, found: Found) {
        self.n_texts += 1;
        let Found { language, words, phrases } = found;
        let form = |text| Form { language, text };
        words.into_iter().for_each(|word| *self.words.entry(form(word)).or_default() += 1);
        phrases.into_iter().for_each(|phrase| *self.phrases.entry(form(phrase)).or_default() += 1);
    }
}

/// A word or phrase as written, in texts of a language.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Form {
    /// `None` if it is not asked for, or not certain.
    pub(crate) language: Option<Language>,
    pub(crate) text: String,
}

/// The sample of all clusters, and the counts so far.
#[derive(Debug)]
pub(crate) struct Sample<'a> {
    stems: &'a Stems,
    tokenizer: Tokenizer,
    /// Document and cluster, by document.
    members: Vec<(u64, u32)>,
    /// The stems of the keywords of each cluster.
    keyword_stems: Vec<HashSet<String>>,
    /// Texts of one cluster may be read at the same time.
    counts: Vec<Mutex<Counts>>,
}

impl<'a> Sample<'a> {
    pub(crate) fn new(summaries: &[ClusterSummary], model: &Model, stems: &'a Stems) -> Result<Self> {
        let options = model.text().map_or_else(TextOptions::default, |text| text.text_options().clone());
        let of_cluster = |summary: &ClusterSummary| {
            let terms = summary.keywords.iter().map(|keyword| term_name(model, keyword.term));
            terms.flat_map(|term| stems.of_term(&term)).collect()
        };
        let mut members: Vec<(u64, u32)> = Vec::new();
        for summary in summaries {
            let docs = summary.sample.iter().map(|doc| u64::from(doc.number()));
            members.extend(docs.map(|doc| (doc, summary.cluster.number())));
        }
        members.sort_unstable();
        Ok(Sample {
            stems,
            tokenizer: Tokenizer::new(&options)?,
            members,
            keyword_stems: summaries.par_iter().map(of_cluster).collect(),
            counts: summaries.iter().map(|_| Mutex::default()).collect(),
        })
    }

    /// The numbers of the documents, ascending.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> {
        self.members.iter().map(|member| member.0)
    }

    /// Counts the texts of these documents; those that are not in the sample are passed over.
    pub(crate) fn count(&self, numbers: &[u64], documents: &[ShownDocument]) {
        let texts: Vec<(u32, &str)> = numbers
            .iter()
            .zip(documents)
            .filter_map(|(number, document)| {
                let place = self.members.binary_search_by_key(number, |member| member.0).ok()?;
                Some((self.members[place].1, document.text.as_deref()?))
            })
            .collect();
        let of_task = |texts: &[(u32, &str)]| {
            let mut reader = Reader {
                tokenizer: &self.tokenizer,
                scratch: TokenizerScratch::default(),
                stems: StemCache::new(self.stems),
            };
            for &(cluster, text) in texts {
                let found = reader.read(text, &self.keyword_stems[cluster as usize]);
                let counts = &self.counts[cluster as usize];
                counts.lock().unwrap_or_else(PoisonError::into_inner).add(found);
            }
        };
        texts.par_chunks(TEXTS_PER_TASK).for_each(of_task);
    }

    /// The counts of each cluster.
    pub(crate) fn into_counts(self) -> Vec<Counts> {
        let counts = self.counts.into_iter();
        counts.map(|counts| counts.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
    }
}

/// The distinct words and phrases of a text.
#[derive(Debug, Default)]
struct Found {
    language: Option<Language>,
    words: HashSet<String>,
    phrases: HashSet<String>,
}

/// A word of a run of words that may be a phrase.
struct RunWord {
    word: String,
    stem: String,
    /// What is between the word before and this one.
    joint: Joint,
    is_keyword: bool,
}

struct Reader<'a> {
    tokenizer: &'a Tokenizer,
    scratch: TokenizerScratch,
    stems: StemCache<'a>,
}

impl Reader<'_> {
    fn read(&mut self, text: &str, keyword_stems: &HashSet<String>) -> Found {
        let mut found = Found::default();
        // At most the last three words: longer phrases are not sought.
        let mut run: Vec<RunWord> = Vec::new();
        let mut n_words = 0;
        let stems = &mut self.stems;
        self.tokenizer.for_each_written(beginning(text), &mut self.scratch, |written| {
            found.language = written.language;
            n_words += 1;
            if n_words > MAX_WORDS {
                return;
            }
            if written.joint == Joint::Break || !written.is_kept {
                run.clear();
            }
            if !written.is_kept {
                return;
            }
            if run.len() == 3 {
                run.remove(0);
            }
            let stem = stems.of_word(written.language, written.word);
            let is_keyword = keyword_stems.contains(stem);
            if is_keyword && !found.words.contains(written.word) {
                found.words.insert(written.word.to_owned());
            }
            run.push(RunWord {
                word: written.word.to_owned(),
                stem: stem.to_owned(),
                joint: written.joint,
                is_keyword,
            });
            for n_words in 2..=run.len() {
                found.add_phrase(&run[run.len() - n_words..]);
            }
        });
        found
    }
}

impl Found {
    fn add_phrase(&mut self, words: &[RunWord]) {
        let repeats =
            words.iter().enumerate().any(|(n, word)| words[..n].iter().any(|w| w.stem == word.stem));
        if repeats || !words.iter().any(|word| word.is_keyword) || self.phrases.len() == MAX_PHRASES {
            return;
        }
        let mut phrase = words[0].word.clone();
        for word in &words[1..] {
            let mut n_shared = 0;
            match word.joint {
                Joint::Hyphen => phrase.push('-'),
                Joint::Nothing => {}
                Joint::Overlap(n_bytes) => n_shared = n_bytes,
                _ => phrase.push(' '),
            }
            phrase.push_str(&word.word[n_shared..]);
        }
        self.phrases.insert(phrase);
    }
}

/// The part of a text that may hold the first [`MAX_WORDS`] words, so that a book is not read.
fn beginning(text: &str) -> &str {
    let mut end = text.len().min(20 * MAX_WORDS);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use docsphere::{SphericalKMeans, SummaryOptions, Vectorizer, summarize};

    use super::*;

    const TEXTS: [&str; 4] = [
        "Machine translation. Translation, machine learning",
        "A machine-translation of the translations by machine translation",
        "stocks fall at the stock exchange",
        "stocks rise and fall",
    ];

    /// The counts of all clusters of [`TEXTS`], read in pieces.
    fn counted(pieces: &[&[u64]]) -> Vec<Counts> {
        let text = Vectorizer::new().fit_texts(&TEXTS).unwrap();
        let fit = SphericalKMeans::params(2).seed(1).fit(&text.rows).unwrap();
        let model = fit.model.with_text(text.model).unwrap();
        let options = SummaryOptions::default().n_sample(2);
        let summaries = summarize(&text.rows, &fit.labels, &fit.similarities, &model, options).unwrap();
        let stems = Stems::new(&model).unwrap();
        let sample = Sample::new(&summaries, &model, &stems).unwrap();
        assert_eq!(sample.numbers().collect::<Vec<_>>(), [0, 1, 2, 3]);
        for piece in pieces {
            let document = |&number: &u64| ShownDocument {
                id: number.to_string(),
                text: TEXTS.get(number as usize).map(|&text| text.to_owned()),
            };
            sample.count(piece, &piece.iter().map(document).collect::<Vec<_>>());
        }
        let mut counts = sample.into_counts();
        counts.sort_by_key(|counts| counts.words.keys().any(|form| form.text == "stocks"));
        counts
    }

    #[test]
    fn phrases_are_counted_once_per_text_and_end_at_punctuation() {
        let counts = counted(&[&[0, 1, 2, 3, 9]]);
        let sorted = |counts: &HashMap<Form, u32>| {
            let mut entries: Vec<(String, u32)> =
                counts.iter().map(|(form, &n)| (form.text.clone(), n)).collect();
            entries.sort();
            entries
        };
        let of = |entries: &[(&str, u32)]| -> Vec<(String, u32)> {
            entries.iter().map(|&(text, n)| (text.to_owned(), n)).collect()
        };
        assert_eq!(counts[0].n_texts, 2);
        let expected = [("machine learning", 1), ("machine translation", 2), ("machine-translation", 1)];
        assert_eq!(sorted(&counts[0].phrases), of(&expected));
        let expected = [("learning", 1), ("machine", 2), ("translation", 2), ("translations", 1)];
        assert_eq!(sorted(&counts[0].words), of(&expected));
        let expected = [("stock exchange", 1), ("stocks fall", 1), ("stocks rise", 1)];
        assert_eq!(sorted(&counts[1].phrases), of(&expected));
    }

    #[test]
    fn phrases_of_bigrams_are_the_text() {
        let stems = Stems::english(false);
        let tokenizer = Tokenizer::new(&TextOptions::default()).unwrap();
        let scratch = TokenizerScratch::default();
        let mut reader = Reader { tokenizer: &tokenizer, scratch, stems: StemCache::new(&stems) };
        let keywords = HashSet::from(["操作".to_owned(), "系统".to_owned()]);
        let found = reader.read("操作系统。Linux内核", &keywords);
        let mut phrases: Vec<&str> = found.phrases.iter().map(String::as_str).collect();
        phrases.sort_unstable();
        assert_eq!(phrases, ["作系统", "操作系", "操作系统"]);
        assert_eq!(stems.of_phrase(None, "操作系统"), ["操作", "作系", "系统"]);
    }

    #[test]
    fn pieces_and_threads_change_nothing() {
        let whole = counted(&[&[0, 1, 2, 3]]);
        assert_eq!(counted(&[&[0], &[1, 2], &[], &[3]]), whole);
        let in_one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(in_one_thread.install(|| counted(&[&[0, 1, 2, 3]])), whole);
    }

    #[test]
    fn a_book_is_read_from_its_beginning() {
        let book = "é".repeat(50_000);
        assert!(beginning(&book).len() <= 20 * MAX_WORDS && book.starts_with(beginning(&book)));
        assert_eq!(beginning("short"), "short");
        assert_eq!([1, 1_000, 100_000].map(sample_size), [100, 50, 8]);
    }
}

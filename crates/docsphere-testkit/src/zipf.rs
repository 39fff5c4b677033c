//! Text-like rows of any size, for benches, the demo and large tests when no real corpus is
//! available.
//!
//! The model: a vocabulary whose frequencies fall like those of real abstracts without stop words
//! (slowly at first, steeply in the long tail); topics that prefer a few hundred terms each, and
//! fields that join topics; documents that mix a main topic, its field, an unrelated side topic and
//! the background. Lengths vary by about half. The constants were chosen by comparison with TF-IDF
//! rows of arXiv abstracts (62 terms per row): the frequency of the terms at ranks 1 to 10,000, the
//! similarity of documents to their centroids, and the share of all centroids that have an entry
//! for a document's term ("met" below).
//!
//! | 20,000 rows | similarity, k = 50, 200, 500 | met, k = 50, 200, 500 |
//! |---|---|---|
//! | arXiv abstracts | 0.196, 0.266, 0.325 | 0.74, 0.56, 0.41 |
//! | `ZipfText`, 54,735 terms, 200 topics | 0.199, 0.297, 0.336 | 0.74, 0.53, 0.37 |
//!
//! (Random seeds, at most 15 iterations.) Nothing was fitted to short rows: at 13 terms per row and
//! k = 200 the similarity is that of tweets, 0.229, but 0.35 of the centroids are met, while tweets
//! meet 0.25.
//!
//! The rows are the same on every platform: random numbers and tables are integers, and the floats
//! use only operations that IEEE 754 rounds exactly. That is why the logarithm of TF-IDF is
//! computed here and not by `f64::ln`, which differs between platforms in the last bit.

use docsphere::{SparseRows, UnitRows};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Number of terms that a topic prefers.
const TERMS_PER_TOPIC: usize = 300;

/// Of 32 tokens of a document, how many are drawn from its main topic, from the field of that
/// topic, and from its side topic.
const MAIN_TOKENS: u64 = 11;
const FIELD_TOKENS: u64 = 4;
const SIDE_TOKENS: u64 = 3;
const TOPIC_TOKENS: u64 = MAIN_TOKENS + FIELD_TOKENS + SIDE_TOKENS;

/// Topics prefer terms of the first ranks only: terms beyond are rare, and their number grows with
/// the number of documents.
const TOPIC_RANKS: usize = 50_000;

/// The vocabulary's frequencies fall like `1 / sqrt(rank)` up to about this rank, and then like
/// `1 / rank^1.5`.
const BEND: f64 = 500.0;

/// The frequencies of the first ranks differ little, as after the removal of stop words.
const FLAT_HEAD: f64 = 4.0;

/// A document draws at most this many times its number of distinct terms, so that drawing from a
/// small vocabulary ends.
const MOST_REPEATS: usize = 8;

/// Parameters of text-like rows.
///
/// ```
/// use docsphere_testkit::zipf::ZipfText;
///
/// let text = ZipfText { n_docs: 1000, n_terms: 5000, n_topics: 20, mean_terms: 30, seed: 1 };
/// let rows = text.rows();
/// assert_eq!((rows.n_rows(), rows.n_terms()), (1000, 5000));
/// assert_eq!(rows, text.rows());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZipfText {
    /// The number of documents.
    pub n_docs: usize,
    /// The size of the vocabulary. Rare terms may occur in no document.
    pub n_terms: usize,
    /// The number of topics. One per hundred documents or so resembles real text.
    pub n_topics: usize,
    /// Approximate mean number of distinct terms per document.
    pub mean_terms: usize,
    /// The seed of the random numbers.
    pub seed: u64,
}

impl ZipfText {
    /// TF-IDF rows of length one: count times `ln(n_docs / documents with the term)`. A term in all
    /// documents vanishes.
    ///
    /// # Panics
    /// As [`rows_raw`](Self::rows_raw).
    pub fn rows(&self) -> UnitRows<'static> {
        let raw = self.rows_raw();
        let mut doc_counts = vec![0u32; self.n_terms];
        for &term in raw.terms() {
            doc_counts[term as usize] += 1;
        }
        let n_docs = self.n_docs as f64;
        let idf: Vec<f64> =
            doc_counts.iter().map(|&count| natural_log(n_docs / f64::from(count.max(1)))).collect();
        let weigh = |(&term, &count): (&u32, &f32)| (f64::from(count) * idf[term as usize]) as f32;
        let values: Vec<f32> = raw.terms().iter().zip(raw.values()).map(weigh).collect();
        UnitRows::new(checked(self.n_terms, raw.offsets().to_vec(), raw.terms().to_vec(), values))
    }

    /// The number of times each document has each term: the rows before TF-IDF.
    ///
    /// # Panics
    /// If the number of terms, topics or mean terms is zero, or there are more documents or terms
    /// than a matrix may have.
    pub fn rows_raw(&self) -> SparseRows<'static> {
        assert!(self.n_terms > 0 && self.n_topics > 0 && self.mean_terms > 0, "nothing to draw from");
        let mut writer = Writer::new(self);
        let mut offsets = Vec::with_capacity(self.n_docs + 1);
        let mut terms = Vec::with_capacity(self.n_docs * self.mean_terms);
        let mut counts = Vec::with_capacity(self.n_docs * self.mean_terms);
        offsets.push(0);
        for _ in 0..self.n_docs {
            for same_term in writer.next_document().chunk_by(|a, b| a == b) {
                terms.push(same_term[0]);
                counts.push(same_term.len() as f32);
            }
            offsets.push(terms.len() as u64);
        }
        checked(self.n_terms, offsets, terms, counts)
    }
}

fn checked(n_terms: usize, offsets: Vec<u64>, terms: Vec<u32>, values: Vec<f32>) -> SparseRows<'static> {
    SparseRows::from_parts(n_terms, offsets, terms, values).expect("the rows are valid")
}

/// Generates documents one after the other.
struct Writer {
    random: ChaCha8Rng,
    mean_terms: u64,
    /// The term at each rank of the vocabulary.
    vocabulary: Vec<u32>,
    background: Table,
    /// The terms that each topic prefers, the most frequent first; after the topics come the
    /// fields, which are topics of topics.
    topics: Vec<Vec<u32>>,
    n_fields: usize,
    in_topic: Table,
    topic_sizes: Table,
    /// The document in which each term was last seen, counted from 1: distinguishes new terms from
    /// repeated ones.
    seen_in: Vec<u32>,
    document: u32,
    tokens: Vec<u32>,
}

impl Writer {
    fn new(text: &ZipfText) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(text.seed);
        let mut vocabulary: Vec<u32> = (0..text.n_terms as u32).collect();
        for rank in (1..vocabulary.len()).rev() {
            vocabulary.swap(rank, below(&mut random, rank as u64 + 1) as usize);
        }
        let n_topic_terms = TERMS_PER_TOPIC.min(text.n_terms.div_ceil(4));
        let n_fields = text.n_topics.isqrt();
        let common = &vocabulary[..vocabulary.len().min(TOPIC_RANKS)];
        let topics =
            (0..text.n_topics + n_fields).map(|_| topic_terms(&mut random, common, n_topic_terms)).collect();
        let n_topics = text.n_topics as f64;
        Writer {
            random,
            mean_terms: text.mean_terms as u64,
            background: Table::new(text.n_terms, |rank| (rank + FLAT_HEAD).sqrt() * (1.0 + rank / BEND)),
            vocabulary,
            topics,
            n_fields,
            in_topic: Table::new(n_topic_terms, |rank| rank + FLAT_HEAD),
            topic_sizes: Table::new(text.n_topics, |rank| rank + n_topics / 4.0),
            seen_in: vec![0; text.n_terms],
            document: 0,
            tokens: Vec::new(),
        }
    }

    /// The terms of a new document, ascending, repeated as often as they occur in it.
    fn next_document(&mut self) -> &[u32] {
        self.document += 1;
        self.tokens.clear();
        let main = self.topic_sizes.draw(&mut self.random);
        let side = self.topic_sizes.draw(&mut self.random);
        let field = self.topics.len() - 1 - main % self.n_fields;
        let wanted = self.length();
        let mut found = 0;
        while found < wanted && self.tokens.len() < wanted * MOST_REPEATS {
            let term = match below(&mut self.random, 32) {
                n if n < MAIN_TOKENS => self.topics[main][self.in_topic.draw(&mut self.random)],
                n if n < MAIN_TOKENS + FIELD_TOKENS => {
                    self.topics[field][self.in_topic.draw(&mut self.random)]
                }
                n if n < TOPIC_TOKENS => self.topics[side][self.in_topic.draw(&mut self.random)],
                _ => self.vocabulary[self.background.draw(&mut self.random)],
            };
            self.tokens.push(term);
            if self.seen_in[term as usize] != self.document {
                self.seen_in[term as usize] = self.document;
                found += 1;
            }
        }
        self.tokens.sort_unstable();
        &self.tokens
    }

    /// The number of distinct terms of a new document: the mean times three random factors between
    /// 1/2 and 3/2, so roughly log-normal.
    fn length(&mut self) -> usize {
        let mut length = self.mean_terms * (1 << 18);
        for _ in 0..3 {
            length = length * (512 + below(&mut self.random, 1025)) / 1024;
        }
        (((length + (1 << 17)) >> 18) as usize).max(1)
    }
}

/// Distinct terms for a topic, in random order. They come from the whole vocabulary, but more
/// densely from its frequent part: the rank is drawn below a number that was drawn below a number,
/// and so on, four deep. Words that make a topic are seldom rare ones.
fn topic_terms(random: &mut ChaCha8Rng, vocabulary: &[u32], n_topic_terms: usize) -> Vec<u32> {
    let mut terms = Vec::with_capacity(n_topic_terms);
    let mut is_chosen = std::collections::BTreeSet::new();
    while terms.len() < n_topic_terms {
        let mut rank = vocabulary.len() as u64;
        for _ in 0..4 {
            rank = below(random, rank.max(1));
        }
        if is_chosen.insert(rank) {
            terms.push(vocabulary[rank as usize]);
        }
    }
    terms
}

/// Draws positions with given frequencies: running totals in integers, with binary search.
struct Table {
    running_totals: Vec<u64>,
}

impl Table {
    /// Position i of n has a frequency proportional to `1 / rarity(i + 1)`.
    fn new(n: usize, rarity: impl Fn(f64) -> f64) -> Self {
        let mut total = 0;
        let running_totals = (1..=n)
            .map(|rank| {
                total += (TWO_TO_40 / rarity(rank as f64)) as u64 + 1;
                total
            })
            .collect();
        Table { running_totals }
    }

    fn draw(&self, random: &mut ChaCha8Rng) -> usize {
        let total = self.running_totals[self.running_totals.len() - 1];
        let number = below(random, total);
        self.running_totals.partition_point(|&running_total| running_total <= number)
    }
}

/// The scale of the tables.
const TWO_TO_40: f64 = 1_099_511_627_776.0;

/// A random number below `n`; the deviation from uniform is negligible.
fn below(random: &mut ChaCha8Rng, n: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(n)) >> 64) as u64
}

/// The natural logarithm of a number of at least one, using only exactly rounded operations.
fn natural_log(mut x: f64) -> f64 {
    let mut halvings = 0.0;
    while x > std::f64::consts::SQRT_2 {
        x /= 2.0;
        halvings += 1.0;
    }
    // ln x = 2 (y + y^3 / 3 + y^5 / 5 + ...) with y = (x - 1) / (x + 1) <= 0.172: after 12 terms
    // less than 1e-19 is missing.
    let y = (x - 1.0) / (x + 1.0);
    let mut power = y;
    let mut sum = 0.0;
    for odd in (1..24).step_by(2) {
        sum += power / f64::from(odd);
        power *= y * y;
    }
    halvings * std::f64::consts::LN_2 + 2.0 * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: ZipfText = ZipfText { n_docs: 2000, n_terms: 20_000, n_topics: 20, mean_terms: 40, seed: 7 };

    #[test]
    fn the_logarithm_is_right() {
        assert_eq!(natural_log(1.0), 0.0);
        for x in [1.0001, 1.41, 1.42, 2.0, 10.0, 12345.678, 1e9] {
            assert!((natural_log(x) - x.ln()).abs() <= 1e-15 * x.ln().max(1.0), "{x}");
        }
    }

    #[test]
    fn a_seed_names_the_rows() {
        let small = ZipfText { n_docs: 50, ..SMALL };
        assert_eq!(small.rows(), small.rows());
        assert_ne!(small.rows_raw(), ZipfText { seed: 8, ..small }.rows_raw());
    }

    #[test]
    fn the_rows_are_the_same_on_every_platform() {
        let rows = ZipfText { n_docs: 300, n_terms: 3000, n_topics: 5, mean_terms: 20, seed: 1 }.rows();
        let mut hash = 0xcbf2_9ce4_8422_2325u64; // FNV-1a over terms and bits of values
        for (&term, &value) in rows.as_sparse().terms().iter().zip(rows.as_sparse().values()) {
            for word in [term, value.to_bits()] {
                hash = (hash ^ u64::from(word)).wrapping_mul(0x100_0000_01b3);
            }
        }
        // The result on x86-64 Linux; a different platform, or a change of the generator, shows
        // here.
        assert_eq!((rows.nnz(), hash), (5935, 15_140_909_831_608_401_093));
    }

    #[test]
    fn lengths_vary_around_the_mean() {
        let raw = SMALL.rows_raw();
        let lengths: Vec<usize> = raw.iter().map(|row| row.nnz()).collect();
        let mean = raw.nnz() as f64 / 2000.0;
        assert!((mean - 40.0).abs() < 1.5, "{mean}");
        let spread =
            (lengths.iter().map(|&n| (n as f64 - mean) * (n as f64 - mean)).sum::<f64>() / 2000.0).sqrt();
        assert!((15.0..25.0).contains(&spread), "{spread}");
    }

    #[test]
    fn terms_are_as_skewed_as_in_text() {
        let raw = SMALL.rows_raw();
        let mut doc_counts = vec![0; 20_000];
        raw.terms().iter().for_each(|&term| doc_counts[term as usize] += 1);
        doc_counts.sort_unstable_by(|a, b| b.cmp(a));
        let share = |rank: usize| f64::from(doc_counts[rank - 1]) / 2000.0;
        assert!((0.1..0.5).contains(&share(1)), "{}", share(1));
        assert!((0.02..0.1).contains(&share(100)), "{}", share(100));
        assert!((0.003..0.02).contains(&share(1000)), "{}", share(1000));
    }

    #[test]
    fn a_term_in_all_documents_vanishes() {
        // One term for all: every document has it, and nothing else.
        let rows = ZipfText { n_docs: 5, n_terms: 1, n_topics: 1, mean_terms: 3, seed: 0 }.rows();
        assert_eq!((rows.nnz(), rows.zero_rows().len()), (0, 5));
    }

    #[test]
    fn small_vocabularies_come_to_an_end() {
        let rows = ZipfText { n_docs: 20, n_terms: 5, n_topics: 3, mean_terms: 50, seed: 0 }.rows_raw();
        assert!(rows.iter().all(|row| (1..=5).contains(&row.nnz())));
    }
}

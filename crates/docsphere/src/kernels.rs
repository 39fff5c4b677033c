//! The innermost loops, each with an input that is made once: for benches, and for counts of their
//! instructions. No part of the public interface; nothing in the library calls it.
//!
//! Run them on a pool of one thread ([`on_threads`](crate::on_threads)), else some are divided.

use crate::assign::{Comparer, Directories, Postings};
use crate::centroids::Centroids;
use crate::simd::{
    self, Level, Line, Lookup, Packed, Packing, Rest, SPARE, Simd, Span, Spans, TILE, Tile, TileSums,
    Weighted,
};
use crate::update::{Changes, DeltaScratch};
use crate::vectors::{RowWeights, UnitRows};

/// A kernel with its input. Each call does the same work, and returns a number that depends on it.
pub type Kernel = Box<dyn FnMut() -> u64>;

/// Documents, terms per document and table rows of the vector kernels: a batch of abstracts against
/// a table that fits into the L2 cache.
const N_DOCS: usize = 1024;
const DOC_TERMS: usize = 61;
const TABLE_ROWS: usize = 2048;

/// A linear congruential generator: enough to fill tables.
fn random(state: &mut u64, n: usize) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize % n
}

/// Sums of weighted bytes; `None` if the machine does not have these instructions.
pub fn accumulate(simd: Simd) -> Option<Kernel> {
    let level = Level::of(simd)?;
    let mut state = 1;
    let line = |state: &mut u64| Line(std::array::from_fn(|_| random(state, 256) as u8));
    let lines: Vec<Line> = (0..TABLE_ROWS).map(|_| line(&mut state)).collect();
    let row = |state: &mut u64| Weighted {
        row: random(state, TABLE_ROWS) as u16,
        weight: random(state, 2001) as u16,
    };
    let rows: Vec<Weighted> = (0..N_DOCS * DOC_TERMS).map(|_| row(&mut state)).collect();
    let start = |doc: usize| (doc * DOC_TERMS) as u32;
    let span = |doc| Span { start: start(doc), end: start(doc + 1), blank: u32::MAX };
    let spans: Vec<Span> = (0..N_DOCS).map(span).collect();
    let mut sums = vec![TileSums([0; TILE]); N_DOCS];
    let mut greatest = vec![0; N_DOCS];
    Some(Box::new(move || {
        let tile = Tile { number: 0, lines: &lines, next: &[], first_sum: 0, sums_per_span: 1 };
        sums.fill(TileSums([0; TILE]));
        simd::accumulate(level, tile, Spans { rows: &rows, spans: &spans }, &mut sums, &mut greatest);
        greatest.iter().map(|&sum| u64::from(sum)).sum()
    }))
}

/// Weights of the terms of packed rows; `None` if the machine does not have these instructions.
pub fn weigh(simd: Simd) -> Option<Kernel> {
    const N_TERMS: usize = 20_000;
    let level = Level::of(simd)?;
    let mut state = 1;
    let lookup = |state: &mut u64| Lookup {
        row: random(state, 2 * TABLE_ROWS) as u32,
        scale: random(state, 2000) as f32,
        carried: [0; 2],
    };
    let lookups: Vec<Lookup> = (0..N_TERMS).map(|_| lookup(&mut state)).collect();
    let packing = Packing::for_terms(N_TERMS);
    let mut entry =
        || packing.pack(random(&mut state, N_TERMS) as u32, random(&mut state, 1001) as f32 / 1e3);
    let entries: Vec<u32> = (0..N_DOCS * DOC_TERMS).map(|_| entry()).collect();
    let mut rows = vec![Weighted::default(); DOC_TERMS + SPARE];
    let mut rest = vec![Rest::default(); DOC_TERMS + SPARE];
    Some(Box::new(move || {
        let mut total = 0;
        for entries in entries.chunks(DOC_TERMS) {
            let row = Packed { entries, packing };
            let (n_rows, sum) = simd::weigh(level, &lookups, TABLE_ROWS as u32, row, &mut rows, &mut rest);
            total += n_rows as u64 + u64::from(sum);
        }
        total
    }))
}

/// Exact similarities of `n_docs` documents to each centroid: of few through a directory of its
/// terms, of many through a dense row.
pub fn similarities(rows: UnitRows<'static>, centroids: Centroids, n_docs: usize) -> Kernel {
    let mut directories = Directories::default();
    directories.update(&centroids, None);
    let comparer = Comparer::default();
    Box::new(move || {
        let mut sum = 0.0;
        for cluster in 0..centroids.n_clusters() {
            // Apart from each other, as the documents of a cluster are.
            let docs = (0..n_docs).map(|number| (number * 31 + cluster) % rows.n_rows());
            let (centroid, directory) = (centroids.row(cluster), directories.of(cluster));
            comparer.similarities(&rows, centroid, directory, docs, |_, similarity| sum += similarity);
        }
        sum.to_bits()
    })
}

/// All similarities of all rows, through posting lists.
pub fn postings(rows: UnitRows<'static>, centroids: Centroids) -> Kernel {
    let mut postings = Postings::default();
    postings.build(&centroids);
    let mut similarities = vec![0.0; postings.n_clusters()];
    Box::new(move || rows.iter().map(|row| postings.similarities(row, &mut similarities)).sum())
}

/// The changes of sums from one set of labels (cluster numbers, in document order) to the next.
pub fn delta(rows: UnitRows<'static>, before: Vec<u32>, after: Vec<u32>) -> Kernel {
    let scratch = DeltaScratch::default();
    let last = before.iter().chain(&after).copied().max().unwrap_or(0);
    Box::new(move || {
        let weights = RowWeights::UNIFORM;
        let (changes, touched) = Changes::between(&before, &after, &weights);
        let delta = changes.delta(0..=last, &rows, &weights, &scratch);
        let n_terms: usize = delta.clusters.iter().map(|part| part.terms.len()).sum();
        (n_terms + touched.len()) as u64
    })
}

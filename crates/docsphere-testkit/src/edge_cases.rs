//! Small inputs on which clustering programs go wrong, each with a name and the reason for its
//! inclusion.
//!
//! Every strategy must return the reference's result on all of them, bit for bit. The number of
//! clusters never exceeds the number of nonzero rows, and no case has all weights zero: whether
//! such input is rejected is not this collection's concern.

use docsphere::UnitRows;

use crate::random_rows::{RandomRows, random_rows};
use crate::reference::{ReferenceParams, ReferenceSeeding, SparseVector};
use crate::rows_from;

/// One input: rows and how to cluster them.
#[derive(Clone, Debug)]
pub struct EdgeCase {
    /// A short description of the special property. Unique in the collection.
    pub name: &'static str,
    /// The documents.
    pub rows: UnitRows<'static>,
    /// The number of clusters.
    pub n_clusters: usize,
    /// One weight per document, or none.
    pub weights: Option<Vec<f64>>,
    /// The source of the first centroids.
    pub seeding: ReferenceSeeding,
}

impl EdgeCase {
    fn new(name: &'static str, rows: UnitRows<'static>, n_clusters: usize) -> Self {
        EdgeCase { name, rows, n_clusters, weights: None, seeding: ReferenceSeeding::PlusPlus }
    }

    /// A case with given seeds.
    fn given(name: &'static str, rows: UnitRows<'static>, seeds: Vec<SparseVector>) -> Self {
        let n_clusters = seeds.len();
        EdgeCase::new(name, rows, n_clusters).seeded(ReferenceSeeding::Given(seeds))
    }

    fn seeded(self, seeding: ReferenceSeeding) -> Self {
        EdgeCase { seeding, ..self }
    }

    fn weighted(self, weights: Vec<f64>) -> Self {
        EdgeCase { weights: Some(weights), ..self }
    }

    /// Parameters of a reference fit of this case: seed 1, run 0, until no label changes or 50
    /// iterations.
    pub fn params(&self) -> ReferenceParams {
        ReferenceParams {
            seeding: self.seeding.clone(),
            seed: 1,
            max_iter: 50,
            weights: self.weights.clone(),
            ..ReferenceParams::new(self.n_clusters)
        }
    }
}

/// The whole collection.
pub fn edge_cases() -> Vec<EdgeCase> {
    let groups = [
        zero_rows(),
        equal_rows(),
        numbers_of_clusters(),
        nothing_in_common(),
        empty_clusters(),
        ties(),
        shapes_of_rows(),
        negative_values(),
        magnitudes(),
        row_weights(),
        extreme_weights(),
    ];
    groups.into_iter().flatten().collect()
}

/// A centroid or row with one term.
fn one(term: u32) -> SparseVector {
    vec![(term, 1.0)]
}

/// Rows from lists that the caller owns.
fn rows_of(n_terms: usize, rows: &[SparseVector]) -> UnitRows<'static> {
    rows_from(n_terms, &rows.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

/// Six rows over terms 0 to 3 in two clear groups, the background of many cases.
fn two_groups() -> Vec<SparseVector> {
    vec![
        vec![(0, 3.0), (1, 1.0)],
        vec![(0, 2.0), (1, 2.0)],
        vec![(0, 1.0), (1, 3.0)],
        vec![(2, 3.0), (3, 1.0)],
        vec![(2, 2.0), (3, 1.0)],
        vec![(1, 1.0), (2, 1.0), (3, 3.0)],
    ]
}

/// Documents without any term: no label, no pull, no draw, at any position.
fn zero_rows() -> Vec<EdgeCase> {
    let with_zero_rows_at = |positions: &[usize]| {
        let mut rows = two_groups();
        for &position in positions {
            rows.insert(position, vec![]);
        }
        rows_of(10, &rows)
    };
    vec![
        // Document 0 is what a careless default picks as seed or as worst-fitting document.
        EdgeCase::new("zero row first", with_zero_rows_at(&[0]), 2),
        // The offsets of the last row are easily read past.
        EdgeCase::new("zero row last", with_zero_rows_at(&[6]), 2),
        // Several, some adjacent, some at both ends.
        EdgeCase::new("zero rows everywhere", with_zero_rows_at(&[0, 3, 4, 9]), 2),
        // Every row with a term becomes a cluster of its own, and then no more can be drawn.
        EdgeCase::new("zero rows, and as many clusters as other rows", with_zero_rows_at(&[2, 5]), 6)
            .seeded(ReferenceSeeding::Random),
        // A single document to cluster.
        EdgeCase::new("all rows but one are zero rows", rows_of(3, &[vec![], vec![(2, 7.0)], vec![]]), 1),
        // A zero row has similarity 0, the lowest of all, but an empty cluster must not take it.
        EdgeCase::given("zero rows are no refill", with_zero_rows_at(&[0, 7]), vec![one(0), one(2), one(9)]),
    ]
}

/// Rows that are equal, or nearly.
fn equal_rows() -> Vec<EdgeCase> {
    let twins: Vec<SparseVector> = two_groups().into_iter().flat_map(|row| [row.clone(), row]).collect();
    let same = vec![vec![(1, 1.0), (2, 2.0)]; 6];
    let two_kinds = [vec![same[0].clone(); 3], vec![one(0); 4]].concat();
    let next_up = |x: f32| f32::from_bits(x.to_bits() + 1);
    let nearly: Vec<SparseVector> = (0..6u32)
        .map(|i| vec![(0, 1.0), (1, if i % 2 == 0 { 1.0 } else { next_up(1.0) }), (2, (i / 3) as f32)])
        .collect();
    vec![
        // Twins have equal similarities throughout: ties between documents in draws and refills.
        EdgeCase::new("twins", rows_of(4, &twins), 3),
        EdgeCase::new("all rows are the same, one cluster", rows_of(3, &same), 1),
        // Random draws pick equal rows as seeds: clusters 1 and 2 attract nothing and find no
        // document to take.
        EdgeCase::new("all rows are the same, three clusters", rows_of(3, &same), 3)
            .seeded(ReferenceSeeding::Random),
        // Here the draws end early: the total seed weight is 0 after two seeds.
        EdgeCase::new("more clusters than distinct rows", rows_of(3, &two_kinds), 5),
        EdgeCase::new("more clusters than distinct rows, greedy", rows_of(3, &two_kinds), 5)
            .seeded(ReferenceSeeding::Greedy { candidates: 4 }),
        EdgeCase::new("more clusters than distinct rows, random", rows_of(3, &two_kinds), 5)
            .seeded(ReferenceSeeding::Random),
        // Different bits but a gap below 2e-6: not drawn twice, not taken as refill.
        EdgeCase::new("rows that differ in the last bit", rows_of(3, &nearly), 4),
    ]
}

/// The smallest and the largest number of clusters.
fn numbers_of_clusters() -> Vec<EdgeCase> {
    let rows =
        |duplicate_share| random_rows(&RandomRows { n_docs: 20, duplicate_share, ..Default::default() });
    vec![
        EdgeCase::new("one cluster", rows(0.2), 1),
        // Every document is its own cluster; similarities of about one.
        EdgeCase::new("as many clusters as rows", rows_of(4, &two_groups()), 6),
        EdgeCase::new("as many clusters as rows, random", rows_of(4, &two_groups()), 6)
            .seeded(ReferenceSeeding::Random),
        EdgeCase::new("as many clusters as rows, greedy", rows_of(4, &two_groups()), 6)
            .seeded(ReferenceSeeding::Greedy { candidates: 3 }),
        EdgeCase::new("one row", rows_of(2, &[one(1)]), 1),
        // One more document than clusters: only one cluster can be a donor.
        EdgeCase::new("nearly as many clusters as rows", rows_of(4, &two_groups()), 5)
            .seeded(ReferenceSeeding::Random),
    ]
}

/// Documents and centroids without a common term: similarity 0 to all.
fn nothing_in_common() -> Vec<EdgeCase> {
    let mut rows = two_groups();
    rows.extend([one(7), one(8), vec![(7, 1.0), (8, 1.0)]]);
    vec![
        // All similarities are 0: no document gets a label at first, and all clusters are refilled.
        EdgeCase::given(
            "no row shares a term with any seed",
            rows_of(12, &rows),
            vec![one(9), one(10), one(11)],
        ),
        // Some documents get no label: a search through posting lists never meets them.
        EdgeCase::given("some rows share no term with any seed", rows_of(12, &rows), vec![one(0), one(3)]),
        // They get no label, and are the first that the empty clusters take.
        EdgeCase::given(
            "no common term, and the first seeds are empty",
            rows_of(12, &rows),
            vec![vec![], vec![], one(0), one(3)],
        ),
        // Document 1 has a term in common with seed 1, but pulls nothing: it loses its label.
        EdgeCase::given(
            "no common term with the own centroid",
            rows_of(3, &[one(0), one(1), one(0), one(2), one(2)]),
            vec![one(2), vec![(0, 1.0), (1, 0.1)]],
        )
        .weighted(vec![1.0, 0.0, 1.0, 1.0, 1.0]),
    ]
}

/// Clusters that lose all their documents, or never had any, and the documents that they may take.
fn empty_clusters() -> Vec<EdgeCase> {
    let rows = two_groups();
    let far = vec![(0, 1.0), (6, 5.0)];
    // Documents 6 to 8 fit worst and are equal; 9 comes next.
    let duplicates = [rows.clone(), vec![far.clone(); 3], vec![vec![(0, 1.0), (7, 4.0)]]].concat();
    // Two documents around seed 0, two twins on seed 1: after one is taken no cluster may give.
    let few = vec![vec![(0, 3.0), (1, 1.0)], vec![(0, 3.0), (2, 1.0)], one(3), one(3)];
    // Found by search: the first four documents as seeds, and one cluster loses its last document
    // in iteration 1.
    let drift = RandomRows {
        n_docs: 12,
        n_terms: 4,
        density: 0.7,
        largest_value: 9,
        seed: 103,
        ..Default::default()
    };
    let drift = random_rows(&drift);
    let drift_seeds = (0..4).map(|doc| drift.row(doc).iter().collect()).collect();
    vec![
        EdgeCase::given("a seed attracts nothing", rows_of(9, &rows), vec![one(0), one(8), one(2)]),
        // Refilled in ascending order of cluster, each from what the previous ones have left.
        EdgeCase::given(
            "several seeds attract nothing",
            rows_of(9, &rows),
            vec![one(8), one(0), one(7), one(2), one(6)],
        ),
        EdgeCase::given("empty seeds", rows_of(4, &rows), vec![vec![], one(0), vec![], one(2)]),
        // A bound over all other centroids then covers none with entries, and must hold for those
        // that get entries later.
        EdgeCase::given("one seed is not empty", rows_of(4, &rows), vec![vec![(0, 5.0), (1, 1.0)], vec![]]),
        EdgeCase::given(
            "one seed of many is not empty",
            rows_of(4, &rows),
            vec![vec![], vec![], vec![(0, 1.0), (2, 1.0)], vec![], vec![]],
        ),
        // The second empty cluster must not take a row equal to the one just taken.
        EdgeCase::given(
            "refill from duplicates",
            rows_of(10, &duplicates),
            vec![one(0), one(2), one(8), one(9)],
        ),
        // Cluster 3 finds no document: each remaining cluster has one member, or members that
        // coincide with their centroid.
        EdgeCase::given("refill runs out of donors", rows_of(9, &few), vec![one(0), one(3), one(7), one(8)]),
        // Equal seeds: the second attracts nothing, since ties go to the smaller id.
        EdgeCase::given("the same seed twice", rows_of(4, &rows), vec![one(0), one(0), one(2)]),
        // Clusters that lose their last document in a later iteration, not at the start.
        EdgeCase::given("a cluster runs empty later", drift, drift_seeds),
    ]
}

/// Equal similarities to several centroids.
fn ties() -> Vec<EdgeCase> {
    let diagonal = vec![(0, 1.0), (1, 1.0)];
    let pairs: Vec<SparseVector> =
        (0..4u32).flat_map(|a| (0..a).map(move |b| vec![(b, 1.0), (a, 1.0)])).collect();
    let small = |n_clusters, seed| {
        let rows = RandomRows {
            n_docs: 60,
            n_terms: 6,
            density: 0.35,
            largest_value: 1,
            seed,
            ..Default::default()
        };
        EdgeCase::new(
            if seed == 1 { "small grid of ones" } else { "small grid of ones, random" },
            random_rows(&rows),
            n_clusters,
        )
    };
    vec![
        // The document on the diagonal has no old label: the smallest id.
        EdgeCase::given(
            "tie at the first assignment",
            rows_of(2, &[one(1), diagonal.clone(), one(0)]),
            vec![one(0), one(1)],
        ),
        // Cluster 1 = {e2, diagonal}: its centroid (1/2, 1/2, 1/sqrt 2) has similarity 1/sqrt 2 to
        // the diagonal, and so has centroid 0.
        EdgeCase::given(
            "tie later: the old label stays",
            rows_of(3, &[one(0), diagonal.clone(), one(2)]),
            vec![one(0), vec![(0, 1.0), (1, 1.0), (2, 1.0)]],
        ),
        // The same with a document that pulls nothing, so that nothing depends on rounding.
        EdgeCase::given(
            "tie later, of a document without weight",
            rows_of(2, &[one(0), diagonal.clone(), one(1)]),
            vec![one(0), diagonal],
        )
        .weighted(vec![1.0, 0.0, 1.0]),
        // All six pairs of four terms, four seeds: every document ties between two clusters.
        EdgeCase::given("every row ties between two seeds", rows_of(4, &pairs), (0..4).map(one).collect()),
        small(5, 1),
        small(8, 2).seeded(ReferenceSeeding::Random),
    ]
}

/// Short rows, long rows, frequent terms, far terms.
fn shapes_of_rows() -> Vec<EdgeCase> {
    let one_term: Vec<SparseVector> = (0..23u32).map(|i| vec![(i * i % 7, 1.0 + i as f32)]).collect();
    let frequent: Vec<SparseVector> =
        (0..30u32).map(|i| vec![(0, 2.0), (1 + i % 5, 1.0), (6 + i, 0.5)]).collect();
    let long_row =
        |i: u32| -> SparseVector { (0..3000).map(|t| (t, ((t * (i + 3)) % 11 + 1) as f32)).collect() };
    let long: Vec<SparseVector> = (0..12).map(long_row).collect();
    let orthogonal: Vec<SparseVector> = (0..64).map(one).collect();
    let mut among_short = one_term.clone();
    among_short.insert(11, long_row(5));
    let spread = |row: SparseVector| row.into_iter().map(|(t, v)| (t * 333_333, v)).collect();
    let far: Vec<SparseVector> = two_groups().into_iter().map(spread).collect();
    vec![
        EdgeCase::new("rows with one term", rows_of(7, &one_term), 4),
        // A term in every row and every centroid: nothing can be skipped by it.
        EdgeCase::new("a term in every row", rows_of(36, &frequent), 5),
        // Long rows: the order of summation shows, and u8 or u16 sums overflow.
        EdgeCase::new("rows with thousands of terms", rows_of(3000, &long), 3),
        EdgeCase::new("a long row among short ones", rows_of(3000, &among_short), 4),
        // All similarities are 0 or 1: clusters cannot be distinguished, and 56 documents tie
        // everywhere.
        EdgeCase::new("orthogonal rows", rows_of(64, &orthogonal), 8),
        EdgeCase::given(
            "orthogonal rows, given seeds",
            rows_of(64, &orthogonal),
            (20..28).map(one).collect(),
        ),
        // Most columns are never used; the last one is.
        EdgeCase::new("terms far apart", rows_of(1_000_000, &far), 2),
        // Every row has every term: no sparsity to exploit.
        EdgeCase::new("dense rows", random_rows(&RandomRows { density: 1.0, ..Default::default() }), 6),
    ]
}

/// Values below zero: bounds for non-negative rows must be switched off, and sums may vanish.
fn negative_values() -> Vec<EdgeCase> {
    let x = vec![(0, 1.0), (1, 2.0), (2, 3.0)];
    let minus = |row: &SparseVector| -> SparseVector { row.iter().map(|&(t, v)| (t, -v)).collect() };
    let signed = random_rows(&RandomRows { n_docs: 80, negative_share: 0.4, seed: 3, ..Default::default() });
    let all_negative: Vec<SparseVector> = two_groups().iter().map(minus).collect();
    vec![
        EdgeCase::new("negative values", signed, 7),
        // Only the seeds are negative: the index must be off for the first assignment, though the
        // rows would allow it.
        EdgeCase::given(
            "negative seeds for rows that are not",
            rows_of(9, &two_groups()),
            // Every row shares terms with the first seed only, to which its similarity is below 0.
            vec![vec![(0, -1.0), (1, -1.0), (2, -1.0), (3, -1.0)], one(8)],
        ),
        // Only the rows are negative: similarities of both signs to seeds that share a term, 0 to
        // one that does not.
        EdgeCase::given(
            "negative rows for seeds that are not",
            rows_of(
                6,
                &[vec![(0, -1.0), (1, 0.5)], vec![(0, -1.0)], vec![(2, 1.0)], vec![(1, 1.0), (2, -1.0)]],
            ),
            vec![one(0), one(5), one(1)],
        ),
        EdgeCase::new("only negative values", rows_of(4, &all_negative), 2),
        // One of them is the seed; the other has similarity -1 and gets no label, so that the sum
        // does not vanish.
        EdgeCase::new("x and -x in one cluster", rows_of(3, &[x.clone(), minus(&x)]), 1),
        EdgeCase::new("x and -x in two clusters", rows_of(3, &[x.clone(), minus(&x)]), 2),
        // Two pairs that would cancel out, and a document that would not.
        EdgeCase::new(
            "pairs that cancel out beside others",
            rows_of(4, &[x.clone(), minus(&x), x.clone(), minus(&x), vec![(3, 1.0)]]),
            2,
        ),
        // One term of the sum vanishes, the others do not: it must not stay behind as a zero entry.
        EdgeCase::given(
            "one term cancels out",
            rows_of(3, &[vec![(0, 1.0), (1, 1.0)], vec![(0, 1.0), (1, -1.0)], one(2)]),
            vec![one(0), one(2)],
        ),
        // All similarities of document 0 are negative: it gets no label, and the empty cluster
        // takes it.
        EdgeCase::given(
            "every similarity is negative",
            rows_of(2, &[vec![(0, -1.0), (1, -1.0)], vec![(0, 3.0), (1, 1.0)], vec![(0, 1.0), (1, 4.0)]]),
            vec![one(0), one(1), vec![]],
        ),
    ]
}

/// Raw values at the ends of the range of floats.
fn magnitudes() -> Vec<EdgeCase> {
    let scaled = |factor: fn(usize) -> f32| {
        let scale =
            |(i, row): (usize, SparseVector)| row.into_iter().map(|(t, v)| (t, v * factor(i))).collect();
        rows_of(4, &two_groups().into_iter().enumerate().map(scale).collect::<Vec<_>>())
    };
    let speck = |tiny: f32| {
        rows_of(4, &[vec![(0, 1.0), (1, tiny)], vec![(0, 1.0), (2, tiny)], vec![(1, tiny), (3, 1.0)], one(3)])
    };
    vec![
        // Squares of these do not fit into f32.
        EdgeCase::new("raw values of 1e-30", scaled(|_| 1e-30), 2),
        EdgeCase::new("raw values of 1e30", scaled(|_| 1e30), 2),
        EdgeCase::new("raw values of 1e-30 and 1e30", scaled(|i| if i % 2 == 0 { 1e-30 } else { 1e30 }), 2),
        EdgeCase::new("subnormal raw values", scaled(|_| 1e-42), 2),
        // 1e-12 is 0 in fixed point, though not in the row: centroids must not have an entry for
        // it.
        EdgeCase::new("values that are zero in fixed point", speck(1e-12), 2),
        // A seed that is met only through such a value: document 1 has similarity 1e-12 to it, and
        // 0 to the other.
        EdgeCase::given("similarities of 1e-12", speck(1e-12), vec![one(3), one(2)]),
        // 1.16e-10 is 2^-33, half a unit in fixed point: rounded away from zero.
        EdgeCase::new("values of half a unit in fixed point", speck(1.0 / 8_589_934_592.0), 2),
        // The smaller value vanishes when the row is normalised: the row may keep a zero, but it
        // must have no effect.
        EdgeCase::given(
            "a value that vanishes in the row",
            rows_of(3, &[vec![(0, 1e38), (1, 1e-30)], vec![(0, 1.0)], vec![(1, -1e-30), (2, 1e38)]]),
            vec![one(0), one(2)],
        ),
    ]
}

/// Weights as given by callers.
fn row_weights() -> Vec<EdgeCase> {
    let rows = || random_rows(&RandomRows { n_docs: 40, seed: 9, ..Default::default() });
    let weights = |weight: fn(u32) -> f64| (0..40).map(weight).collect::<Vec<_>>();
    let groups = rows_of(9, &two_groups());
    vec![
        EdgeCase::new("whole weights", rows(), 5).weighted(weights(|i| f64::from(1 + i % 4))),
        EdgeCase::new("whole weights, greedy", rows(), 5)
            .weighted(weights(|i| f64::from(1 + i % 4)))
            .seeded(ReferenceSeeding::Greedy { candidates: 4 }),
        // Must give the same result as no weights.
        EdgeCase::new("weights of one", rows(), 5).weighted(weights(|_| 1.0)),
        // They get a label but pull nothing, are not drawn and not taken.
        EdgeCase::new("weights of zero among others", rows(), 5).weighted(weights(|i| f64::from(i % 2))),
        EdgeCase::new("fractional weights", rows(), 5).weighted(weights(|i| 0.1 * f64::from(1 + i % 7))),
        EdgeCase::new("fractional weights, random", rows(), 5)
            .weighted(weights(|i| 1.0 / f64::from(3 + i)))
            .seeded(ReferenceSeeding::Random),
        // Cluster 1 has documents but no member: it is empty and takes another document.
        EdgeCase::given("a cluster of documents without weight", groups.clone(), vec![one(0), one(2)])
            .weighted(vec![1.0, 1.0, 1.0, 0.0, 0.0, 0.0]),
        // The worst-fitting document has no weight: the next one is taken.
        EdgeCase::given("refill passes over weight zero", groups.clone(), vec![one(0), one(2), one(8)])
            .weighted(vec![1.0, 1.0, 1.0, 1.0, 1.0, 0.0]),
        // A cluster with one member and others without weight is no donor.
        EdgeCase::given("a donor must keep a member with weight", groups, vec![one(0), one(2), one(8)])
            .weighted(vec![0.0, 0.0, 1.0, 1.0, 1.0, 0.0]),
        // The weight of a zero row is part of the total, although the row counts nowhere.
        EdgeCase::new("zero rows with weight", rows_of(2, &[one(0), vec![], one(1), one(0), vec![]]), 2)
            .weighted(vec![1.0, 1000.0, 2.5, 0.5, 3.0]),
    ]
}

/// Weights that make a careless fixed point overflow or vanish.
fn extreme_weights() -> Vec<EdgeCase> {
    let rows = || random_rows(&RandomRows { n_docs: 40, seed: 9, ..Default::default() });
    let weights = |weight: fn(u32) -> f64| (0..40).map(weight).collect::<Vec<_>>();
    let groups = rows_of(9, &two_groups());
    let two_to_60 = 1_152_921_504_606_846_976.0;
    vec![
        // The total is exactly 2^29, the open end of the interval: e = 1.
        EdgeCase::given("a total weight of 2^29", groups.clone(), vec![one(0), one(2)]).weighted(vec![
            536_870_907.0,
            1.0,
            1.0,
            1.0,
            1.0,
            1.0,
        ]),
        EdgeCase::new("very large weights", rows(), 5).weighted(weights(|i| 1e18 * f64::from(1 + i % 3))),
        EdgeCase::new("very small weights", rows(), 5).weighted(weights(|i| 1e-15 * f64::from(1 + i % 3))),
        // 2^e is then not representable as an f64.
        EdgeCase::new("the smallest weights of all", rows(), 5)
            .weighted(weights(|i| f64::MIN_POSITIVE * f64::from(1 + i % 3))),
        // Next to the heavy ones, the light documents are zero in fixed point, although they have a
        // label and count as members.
        EdgeCase::new("weights far apart", rows(), 5)
            .weighted(weights(|i| if i % 5 == 0 { 1e12 } else { 1e-12 })),
        // The document that an empty cluster takes has no weight in its sum: the centroid stays,
        // but the cluster counts as changed. It is taken again and again.
        EdgeCase::given(
            "a refill that weighs nothing",
            rows_of(
                4,
                &[one(0), vec![(0, 1.0), (1, 0.1)], vec![(0, 0.1), (2, 1.0)], vec![(0, 1.0), (1, 0.2)]],
            ),
            vec![one(0), one(3)],
        )
        .weighted(vec![1e30, 1e30, 1.0, 1e30]),
        EdgeCase::given(
            "a refill that weighs nothing, of an empty seed",
            rows_of(
                4,
                &[one(0), vec![(0, 1.0), (1, 0.1)], vec![(0, 0.1), (2, 1.0)], vec![(0, 1.0), (1, 0.2)]],
            ),
            vec![one(0), vec![]],
        )
        .weighted(vec![1e30, 1e30, 1.0, 1e30]),
        // Documents 3 to 5 are members of cluster 1 but have no weight in its sum: its centroid
        // stays at the seed.
        EdgeCase::given("a cluster whose sum is zero by weight", groups, vec![one(0), one(2)])
            .weighted(vec![two_to_60, 1.0, 1.0, 1.0 / two_to_60, 1.0 / two_to_60, 1.0 / two_to_60]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{NO_LABEL, ReferenceFit, ReferenceStop, reference_fit};
    use std::collections::BTreeSet;

    fn case(name: &str) -> EdgeCase {
        edge_cases().into_iter().find(|case| case.name == name).unwrap_or_else(|| panic!("no case {name:?}"))
    }

    fn fit(name: &str) -> ReferenceFit {
        let case = case(name);
        reference_fit(&case.rows, &case.params())
    }

    fn refilled(name: &str) -> Vec<(usize, usize)> {
        fit(name).history[1].refilled.iter().map(|refill| (refill.cluster, refill.doc)).collect()
    }

    #[test]
    fn names_are_unique_and_cases_many() {
        let cases = edge_cases();
        let names: BTreeSet<_> = cases.iter().map(|case| case.name).collect();
        assert_eq!(names.len(), cases.len());
        assert!(cases.len() >= 30, "{} cases", cases.len());
        for case in &cases {
            assert!(case.n_clusters <= case.rows.n_nonzero_rows(), "{}", case.name);
        }
    }

    #[test]
    fn every_case_runs_and_gives_labels_where_a_similarity_is_above_0() {
        for case in edge_cases() {
            let fit = reference_fit(&case.rows, &case.params());
            let to_centroids: Vec<Vec<f64>> = fit
                .centroids
                .iter()
                .map(|centroid| crate::reference::similarities_to(&case.rows, centroid))
                .collect();
            for doc in 0..case.rows.n_rows() {
                let has_some = to_centroids.iter().any(|similarities| similarities[doc] > 0.0);
                assert_eq!(fit.labels[doc] != NO_LABEL, has_some, "{}, document {doc}", case.name);
            }
            assert_eq!(fit.stop, ReferenceStop::NoLabelChanged, "{}", case.name);
            assert!(fit.similarities.iter().all(|s| s.is_finite() && s.abs() < 1.000_002), "{}", case.name);
        }
    }

    #[test]
    fn refills_take_the_documents_that_the_names_promise() {
        assert_eq!(
            refilled("zero rows are no refill"),
            [(2, 6)],
            "the last of the six rows, after one zero row"
        );
        assert_eq!(refilled("a seed attracts nothing"), [(1, 5)]);
        assert_eq!(refilled("several seeds attract nothing").len(), 3);
        assert_eq!(refilled("empty seeds").len(), 2);
        assert_eq!(refilled("refill from duplicates"), [(2, 6), (3, 9)]);
        assert_eq!(refilled("refill runs out of donors"), [(2, 0)]);
        assert!(fit("refill runs out of donors").centroids[3].is_empty());
        assert_eq!(refilled("the same seed twice").len(), 1);
        assert_eq!(refilled("no row shares a term with any seed"), [(0, 0), (1, 1), (2, 2)]);
        assert_eq!(refilled("refill passes over weight zero"), [(2, 2)]);
        assert_eq!(refilled("a cluster of documents without weight"), [(1, 2)]);
        assert_eq!(refilled("a donor must keep a member with weight"), [(2, 4)]);
    }

    #[test]
    fn a_cluster_runs_empty_after_the_first_iteration() {
        let fit = fit("a cluster runs empty later");
        assert!(fit.history[1].refilled.is_empty());
        assert!(fit.history[2..].iter().any(|iteration| !iteration.refilled.is_empty()));
    }

    #[test]
    fn equal_rows_leave_clusters_empty() {
        let empty = |name: &str| fit(name).centroids.iter().filter(|centroid| centroid.is_empty()).count();
        assert_eq!(empty("all rows are the same, three clusters"), 2);
        for seeding in ["", ", greedy", ", random"] {
            assert_eq!(empty(&format!("more clusters than distinct rows{seeding}")), 3);
        }
        assert_eq!(empty("rows that differ in the last bit"), 2);
        assert_eq!(empty("as many clusters as rows"), 0);
    }

    #[test]
    fn ties_go_where_the_names_promise() {
        assert_eq!(fit("tie at the first assignment").labels, [1, 0, 0]);
        let zero = fit("no common term with the own centroid");
        assert_eq!((zero.labels[1], zero.similarities[1]), (NO_LABEL, 0.0));
        for name in ["tie later: the old label stays", "tie later, of a document without weight"] {
            let (case, fit) = (case(name), fit(name));
            assert_eq!(fit.labels, [0, 1, 1]);
            let to_centroid =
                |cluster| crate::reference::similarities_to(&case.rows, &fit.centroids[cluster])[1];
            assert_eq!(to_centroid(0), to_centroid(1), "{name}: not an exact tie");
        }
    }

    #[test]
    fn sums_vanish_where_the_names_promise() {
        let opposite = fit("x and -x in one cluster");
        assert_eq!(opposite.labels.iter().filter(|&&label| label == NO_LABEL).count(), 1);
        assert_eq!(opposite.history[1].max_squared_movement, 0.0);
        assert_eq!(fit("one term cancels out").centroids[0], one(0));
        assert_eq!(refilled("every similarity is negative"), [(2, 0)], "the one without a label");
        assert_eq!(fit("a cluster whose sum is zero by weight").centroids[1], one(2));
        assert_eq!(fit("values that are zero in fixed point").centroids.concat().len(), 2);
        assert_eq!(fit("values of half a unit in fixed point").centroids.concat().len(), 5);
        assert_eq!(fit("similarities of 1e-12").labels[1], 1);
        assert_eq!(fit("a value that vanishes in the row").centroids, [one(0), one(2)]);
    }

    #[test]
    fn weights_of_one_and_tiny_equal_weights_change_nothing() {
        let ones = case("weights of one");
        let plain = EdgeCase { weights: None, ..ones.clone() };
        assert_eq!(reference_fit(&ones.rows, &ones.params()), reference_fit(&plain.rows, &plain.params()));
        let (large, small) = (fit("the smallest weights of all"), fit("very large weights"));
        assert_eq!(large.labels, small.labels, "both are multiples of 1, 2, 3");
    }
}

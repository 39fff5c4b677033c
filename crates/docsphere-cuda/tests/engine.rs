//! The engine against the definitions: random rows and centroids that move, over several steps. In
//! the emulation, or on the first GPU if `DOCSPHERE_TEST_DEVICE` is `cuda`.
#![cfg(feature = "emulation")]

use std::sync::{Arc, OnceLock};

use docsphere_cuda::{Block, Changes, Device, Engine, Error, Moves, Options, Step};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const NO_LABEL: u32 = u32::MAX;

type Vector = (Vec<u32>, Vec<f32>);

/// Of length one.
fn unit(entries: &std::collections::BTreeMap<u32, f32>) -> Vector {
    let length = entries.values().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
    entries.iter().map(|(&term, &value)| (term, (f64::from(value) / length) as f32)).unzip()
}

/// ARCHITECTURE.md: terms ascending, from 0.
fn similarity(x: &Vector, c: &Vector) -> f64 {
    let mut sum = 0.0;
    for (term, &value) in x.0.iter().zip(&x.1) {
        if let Ok(place) = c.0.binary_search(term) {
            sum += f64::from(value) * f64::from(c.1[place]);
        }
    }
    sum
}

fn winner(x: &Vector, centroids: &[Vector], old: u32) -> (u32, f64) {
    let all: Vec<f64> = centroids.iter().map(|c| similarity(x, c)).collect();
    let best = all.iter().copied().fold(0.0, f64::max);
    if best <= 0.0 {
        return (NO_LABEL, 0.0);
    }
    if old != NO_LABEL && all[old as usize] == best {
        return (old, best);
    }
    (all.iter().position(|&s| s == best).unwrap() as u32, best)
}

fn rival(x: &Vector, centroids: &[Vector], own: u32, at_least: f64) -> Option<(u32, f64)> {
    let others = (0..).zip(centroids).filter(|&(cluster, _)| cluster != own);
    let mut best: Option<(u32, f64)> = None;
    for (cluster, s) in others.map(|(cluster, c)| (cluster, similarity(x, c))) {
        if s > 0.0 && s >= at_least && best.is_none_or(|best| s > best.1) {
            best = Some((cluster, s));
        }
    }
    best
}

/// `|max(c' - c, 0)|`, with slack for rounding.
fn growth(before: &Vector, after: &Vector) -> f64 {
    let mut squares = 0.0;
    for (term, &value) in after.0.iter().zip(&after.1) {
        let was = before.0.binary_search(term).map_or(0.0, |place| before.1[place]);
        squares += (f64::from(value) - f64::from(was)).max(0.0).powi(2);
    }
    squares.sqrt() * (1.0 + 1e-5) + 1e-12
}

/// Is emulated with so many bytes of memory.
fn device(bytes: usize) -> Arc<Device> {
    static CUDA: OnceLock<Arc<Device>> = OnceLock::new();
    match std::env::var("DOCSPHERE_TEST_DEVICE").as_deref() {
        Ok("cuda") => Arc::clone(CUDA.get_or_init(|| Arc::new(Device::open(&Options::default()).unwrap()))),
        _ => Arc::new(Device::emulated(bytes, u64::MAX)),
    }
}

#[derive(Clone, Debug)]
struct Case {
    n_terms: u32,
    rows: Vec<Vector>,
    /// The centroids of each step.
    steps: Vec<Vec<Vector>>,
    /// By step: documents that are given to clusters before it.
    given: Vec<Vec<(usize, usize)>>,
    cuts: Vec<usize>,
    bytes: usize,
}

fn vector(n_terms: u32, most: usize) -> impl Strategy<Value = Vector> {
    // Few values, so that there are ties; and some that are very small.
    let value = prop_oneof![4 => (1u8..4).prop_map(f32::from), 1 => Just(1e-6f32), 1 => 0.01f32..1.0];
    prop::collection::btree_map(0..n_terms, value, 0..most).prop_map(|entries| unit(&entries))
}

fn cases() -> impl Strategy<Value = Case> {
    (2u32..40, 1usize..150, 1usize..60).prop_flat_map(|(n_terms, k, n)| cases_of(n_terms, k, n))
}

fn cases_of(n_terms: u32, k: usize, n: usize) -> impl Strategy<Value = Case> {
    let rows = prop::collection::vec(vector(n_terms, 12), n);
    let first = prop::collection::vec(vector(n_terms, 12), k);
    // A change of a cluster; sometimes to a copy of another one.
    let moves = prop::collection::vec((0..k, vector(n_terms, 12), prop::option::of(0..k)), 0..k.min(9));
    let moves = prop::collection::vec(moves, 1..5);
    let given = prop::collection::vec(prop::collection::vec((0..n, 0..k), 0..3), 5);
    let cuts = prop::collection::vec(0..=n, 0..3);
    let bytes = prop_oneof![3 => Just(1usize << 30), 1 => Just(1 << 16)];
    (rows, first, moves, given, cuts, bytes).prop_map(move |(rows, first, moves, given, mut cuts, bytes)| {
        let mut steps = vec![first];
        for list in moves {
            let mut next = steps.last().unwrap().clone();
            for (cluster, vector, copied) in list {
                next[cluster] = copied.map_or(vector, |other| next[other].clone());
            }
            steps.push(next);
        }
        cuts.sort_unstable();
        Case { n_terms, rows, steps, given, cuts, bytes }
    })
}

fn check(case: &Case) -> Result<(), TestCaseError> {
    let n = case.rows.len();
    let k = case.steps[0].len();
    let mut offsets = vec![7u64];
    case.rows.iter().for_each(|row| offsets.push(offsets.last().unwrap() + row.0.len() as u64));
    let terms: Vec<u32> = case.rows.iter().flat_map(|row| row.0.clone()).collect();
    let values: Vec<f32> = case.rows.iter().flat_map(|row| row.1.clone()).collect();
    let starts: Vec<usize> = [0].into_iter().chain(case.cuts.iter().copied()).collect();
    let ends: Vec<usize> = case.cuts.iter().copied().chain([n]).collect();

    let mut engine = Engine::new(device(case.bytes));
    let (mut labels, mut similarities) = (vec![NO_LABEL; n], vec![0.0; n]);
    for (number, centroids) in case.steps.iter().enumerate() {
        let mut changed: Vec<u32> = Vec::new();
        let mut given: Vec<usize> = Vec::new();
        if number > 0 {
            let before = &case.steps[number - 1];
            for &(doc, cluster) in &case.given[number] {
                // Their clusters count as changed.
                if !case.rows[doc].0.is_empty() && !given.contains(&doc) {
                    given.push(doc);
                    changed.push(cluster as u32);
                    labels[doc] = cluster as u32;
                }
            }
            changed.extend((0..k as u32).filter(|&j| before[j as usize] != centroids[j as usize]));
            changed.sort_unstable();
            changed.dedup();
        }
        let live: Vec<u32> = (0..k as u32).filter(|&j| !centroids[j as usize].0.is_empty()).collect();
        let grown =
            |cluster: u32| growth(&case.steps[number - 1][cluster as usize], &centroids[cluster as usize]);
        let centroid =
            |cluster: u32| (&centroids[cluster as usize].0[..], &centroids[cluster as usize].1[..]);
        let changes = (number > 0).then_some(Changes { clusters: &changed, growth: &grown });
        let step =
            Step { n_terms: case.n_terms as usize, n_clusters: k, centroid: &centroid, live: &live, changes };
        match engine.begin(&step) {
            // What fits into so little memory is not the question.
            Err(Error::OutOfMemory { .. }) if case.bytes < 1 << 20 => return Ok(()),
            other => other.map(drop).unwrap(),
        }
        let expected: Vec<(u32, f64)> =
            case.rows.iter().zip(&labels).map(|(x, &old)| winner(x, centroids, old)).collect();
        let block = |b: usize| {
            let (from, to) = (offsets[starts[b]] as usize - 7, offsets[ends[b]] as usize - 7);
            let offsets = &offsets[starts[b]..=ends[b]];
            Block { number: b, offsets, terms: &terms[from..to], values: &values[from..to], longest: 12 }
        };
        for b in 0..starts.len() {
            let range = starts[b]..ends[b];
            let given: Vec<u32> = given
                .iter()
                .filter(|doc| range.contains(doc))
                .map(|doc| (doc - range.start) as u32)
                .collect();
            let assigned =
                engine.assign(block(b), &given, &mut labels[range.clone()], &mut similarities[range.clone()]);
            match assigned {
                Err(Error::OutOfMemory { .. }) if case.bytes < 1 << 20 => return Ok(()),
                other => other.map(drop).unwrap(),
            }
        }
        for doc in 0..n {
            prop_assert_eq!(
                (labels[doc], similarities[doc]),
                expected[doc],
                "document {} in step {}",
                doc,
                number
            );
        }
        for b in 0..starts.len() {
            let docs: Vec<u32> = (0..(ends[b] - starts[b]) as u32)
                .filter(|&doc| labels[starts[b] + doc as usize] != NO_LABEL)
                .collect();
            let at_least: Vec<f64> = docs
                .iter()
                .map(|&doc| similarities[starts[b] + doc as usize] * [0.0, 0.5, 0.99][doc as usize % 3])
                .collect();
            let (found, _) = engine.rivals(block(b), &docs, &at_least).unwrap();
            for ((&doc, &least), found) in docs.iter().zip(&at_least).zip(found) {
                let doc = starts[b] + doc as usize;
                let expected = rival(&case.rows[doc], centroids, labels[doc], least);
                prop_assert_eq!(
                    found.map(|rival| (rival.cluster, rival.similarity)),
                    expected,
                    "rival of {}",
                    doc
                );
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn labels_and_rivals_are_those_of_the_definitions(case in cases()) {
        check(&case)?;
    }
}

/// Rows, and moves of their documents: for each cluster a list of documents, some of which joined
/// and others left.
#[derive(Clone, Debug)]
struct Moved {
    n_terms: u32,
    rows: Vec<Vector>,
    clusters: Vec<Vec<(usize, bool)>>,
    factors: Option<Vec<f64>>,
}

fn moved() -> impl Strategy<Value = Moved> {
    (prop_oneof![2u32..200, Just(5_000)], 1usize..60).prop_flat_map(|(n_terms, n)| {
        let rows = prop::collection::vec(vector(n_terms, 12), n);
        // A document may have left and joined: nothing of it is left then.
        let moves = prop::collection::vec((0..n, any::<bool>()), 0..40);
        let clusters = prop::collection::vec(moves, 1..20);
        let factor = prop_oneof![Just(1.0), Just(0.0), Just(0.5), 1e-6..1e3f64];
        let factors = prop::option::of(prop::collection::vec(factor, n));
        (rows, clusters, factors).prop_map(move |(rows, clusters, factors)| Moved {
            n_terms,
            rows,
            clusters,
            factors,
        })
    })
}

/// ARCHITECTURE.md: `round(x * 2^32)`, with weights `round(q * w)`.
fn fixed(x: f32, factor: Option<f64>) -> i64 {
    let q = (f64::from(x) * 4_294_967_296.0).round();
    factor.map_or(q, |factor| (q * factor).round()) as i64
}

fn rows_of(rows: &[Vector]) -> (Vec<u64>, Vec<u32>, Vec<f32>) {
    let mut offsets = vec![0u64];
    rows.iter().for_each(|row| offsets.push(offsets.last().unwrap() + row.0.len() as u64));
    (
        offsets,
        rows.iter().flat_map(|x| x.0.clone()).collect(),
        rows.iter().flat_map(|x| x.1.clone()).collect(),
    )
}

/// The sums of all clusters, several times: whatever a launch leaves behind must not matter.
fn check_deltas(case: &Moved) -> Result<(), TestCaseError> {
    let (offsets, terms, values) = rows_of(&case.rows);
    let block = Block { number: 0, offsets: &offsets, terms: &terms, values: &values, longest: 12 };
    let mut engine = Engine::new(device(1 << 30));
    let centroid = |_: u32| (&[0u32][..], &[1.0f32][..]);
    let n_terms = case.n_terms as usize;
    engine.begin(&Step { n_terms, n_clusters: 1, centroid: &centroid, live: &[0], changes: None }).unwrap();
    let (mut labels, mut similarities) = (vec![NO_LABEL; case.rows.len()], vec![0.0; case.rows.len()]);
    engine.assign(block, &[], &mut labels, &mut similarities).unwrap();
    for clusters in [&case.clusters[..], &case.clusters[case.clusters.len() / 2..], &case.clusters[..]] {
        let mut ends = vec![0];
        clusters.iter().for_each(|moves| ends.push(ends.last().unwrap() + moves.len() as u32));
        let all = || clusters.iter().flatten();
        let moves: Vec<u32> = all().map(|&(doc, joined)| (doc as u32) << 1 | u32::from(joined)).collect();
        let factors: Vec<f64> =
            case.factors.iter().flat_map(|factors| all().map(|&(doc, _)| factors[doc])).collect();
        let nnz: usize = all().map(|&(doc, _)| case.rows[doc].0.len()).sum();
        let moves = Moves { ends: &ends, moves: &moves, factors: &factors };
        let Some(found) = engine.deltas(block, n_terms, &moves).unwrap() else {
            prop_assert!(nnz < 1 << 18, "{} nonzeros moved", nnz);
            prop_assert!(nnz < 8 || std::env::var_os("DOCSPHERE_TEST_DEVICE").is_some());
            continue;
        };
        for (group, moves) in clusters.iter().enumerate() {
            let mut expected = std::collections::BTreeMap::new();
            for &(doc, joined) in moves {
                for (&term, &x) in case.rows[doc].0.iter().zip(&case.rows[doc].1) {
                    let value = fixed(x, case.factors.as_ref().map(|factors| factors[doc]));
                    *expected.entry(term).or_insert(0) += if joined { value } else { -value };
                }
            }
            let (terms, values) = found.of(group);
            let found: Vec<(u32, i64)> = terms.iter().copied().zip(values.iter().copied()).collect();
            prop_assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "cluster {}", group);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn sums_of_moved_documents_are_those_of_the_definition(case in moved()) {
        check_deltas(&case)?;
    }
}

/// Enough for a GPU to take it: clusters of very different size, as many as blocks of threads and
/// more, and terms that are in all rows.
#[test]
fn many_moves_are_added_up_in_many_blocks() {
    let mut runner = TestRunner::deterministic();
    let rows = prop::collection::vec(vector(3_000, 12), 4_000).new_tree(&mut runner).unwrap().current();
    let n = rows.len();
    let cluster = |number: usize| {
        let size = if number == 7 { 30_000 } else { number % 40 };
        (0..size).map(|at| ((at * 37 + number * number) % n, at % 3 > 0)).collect()
    };
    let clusters: Vec<Vec<(usize, bool)>> = (0..2_000).map(cluster).collect();
    check_deltas(&Moved { n_terms: 3_000, rows, clusters, factors: None }).unwrap();
}

/// More columns than a tile has, on a GPU too.
#[test]
fn many_centroids_take_several_tiles() {
    let mut runner = TestRunner::deterministic();
    let case = cases_of(2_000, 9_000, 150).new_tree(&mut runner).unwrap().current();
    check(&Case { bytes: 1 << 30, ..case }).unwrap();
}

#[test]
fn a_device_that_is_lost_says_so_and_leaves_labels_alone() {
    let rows = Block { number: 0, offsets: &[0, 1, 2], terms: &[0, 1], values: &[1.0, 1.0], longest: 1 };
    let centroid = |cluster: u32| (&[0, 1][cluster as usize..][..1], &[1.0f32][..]);
    let step = Step { n_terms: 2, n_clusters: 2, centroid: &centroid, live: &[0, 1], changes: None };
    let mut n_lost = 0;
    for launches in 0..100 {
        let mut engine = Engine::new(Arc::new(Device::emulated(1 << 20, launches)));
        let (mut labels, mut similarities) = ([NO_LABEL; 2], [0.0; 2]);
        let assigned =
            engine.begin(&step).and_then(|_| engine.assign(rows, &[], &mut labels, &mut similarities));
        match assigned {
            Ok(_) => {
                assert_eq!((labels, similarities), ([0, 1], [1.0, 1.0]));
                assert!(n_lost > 10, "the device was lost {n_lost} times");
                return;
            }
            Err(error) => {
                assert_eq!(
                    error.to_string(),
                    "the CUDA driver failed in a launch: the emulated device is lost"
                );
                assert_eq!((labels, similarities), ([NO_LABEL; 2], [0.0; 2]));
                n_lost += 1;
            }
        }
    }
    panic!("a hundred launches are not enough");
}

//! What a device finds of seeds against the definitions: random rows, some of them the seeds. In
//! the emulation, or on the first GPU if `DOCSPHERE_TEST_DEVICE` is `cuda`.
#![cfg(feature = "emulation")]

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use docsphere_cuda::{Block, Device, Error, Improved, Options, Seeker};
use proptest::prelude::*;

type Vector = (Vec<u32>, Vec<f32>);

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

fn device() -> Arc<Device> {
    static CUDA: OnceLock<Arc<Device>> = OnceLock::new();
    match std::env::var("DOCSPHERE_TEST_DEVICE").as_deref() {
        Ok("cuda") => Arc::clone(CUDA.get_or_init(|| Arc::new(Device::open(&Options::default()).unwrap()))),
        _ => Arc::new(Device::emulated(1 << 30, u64::MAX)),
    }
}

/// Rows, and which of them are candidates in each step. The first one becomes a seed.
#[derive(Clone, Debug)]
struct Case {
    rows: Vec<Vector>,
    steps: Vec<Vec<usize>>,
}

fn vector(n_terms: u32, most: usize) -> impl Strategy<Value = Vector> {
    let value = prop_oneof![4 => 0.1f32..1.0, 1 => Just(0.5f32), 1 => Just(1e-30f32), 1 => -1.0f32..0.0];
    prop::collection::btree_map(0..n_terms, value, 0..most)
        .prop_map(|entries: BTreeMap<u32, f32>| entries.into_iter().unzip())
}

/// Short rows over few terms; or long ones, which take several words of marks.
fn cases() -> impl Strategy<Value = Case> {
    let shape = prop_oneof![3 => Just((40, 12)), 1 => Just((100_000, 20)), 1 => Just((400, 150))];
    (shape, 1usize..90).prop_flat_map(|((n_terms, most), n)| {
        let rows = prop::collection::vec(vector(n_terms, most), n);
        let copies = prop::collection::vec((0..n, 0..n), 0..4);
        let steps = prop::collection::vec(prop::collection::vec(0..n, 1..=Seeker::SEEDS), 1..6);
        (rows, copies, steps).prop_map(|(mut rows, copies, steps)| {
            for (from, to) in copies {
                rows[to] = rows[from].clone();
            }
            Case { rows, steps }
        })
    })
}

fn offsets(rows: &[Vector]) -> Vec<u64> {
    let mut offsets = vec![5u64];
    rows.iter().for_each(|row| offsets.push(offsets.last().unwrap() + row.0.len() as u64));
    offsets
}

fn seeker(device: Arc<Device>, rows: &[Vector]) -> docsphere_cuda::Result<Seeker> {
    let terms: Vec<u32> = rows.iter().flat_map(|row| row.0.clone()).collect();
    let values: Vec<f32> = rows.iter().flat_map(|row| row.1.clone()).collect();
    let longest = rows.iter().map(|row| row.0.len()).max().unwrap_or(0);
    let block = Block { number: 0, offsets: &offsets(rows), terms: &terms, values: &values, longest };
    Seeker::new(device, block)
}

fn bits(found: &mut [Improved]) -> Vec<(u32, u32, u64)> {
    found.sort_unstable_by_key(|entry| (entry.seed, entry.document));
    found.iter().map(|entry| (entry.seed, entry.document, entry.similarity.to_bits())).collect()
}

fn check(case: &Case) -> Result<(), TestCaseError> {
    let mut seeker = seeker(device(), &case.rows).unwrap();
    let mut best = vec![0.0f64; case.rows.len()];
    let mut raised: Vec<Improved> = Vec::new();
    for candidates in &case.steps {
        let seeds: Vec<&Vector> = candidates.iter().map(|&doc| &case.rows[doc]).collect();
        let sparse: Vec<_> = seeds.iter().map(|seed| (&seed.0[..], &seed.1[..])).collect();
        let mut expected = Vec::new();
        for (number, seed) in (0..).zip(&seeds) {
            for (doc, row) in (0..).zip(&case.rows) {
                let similarity = similarity(row, seed);
                if similarity > best[doc as usize] {
                    expected.push(Improved { document: doc, seed: number, similarity });
                }
            }
        }
        seeker.ask(&raised, &sparse).unwrap();
        let mut found = Vec::new();
        seeker.answer(&mut |piece| found.extend_from_slice(piece)).unwrap();
        prop_assert_eq!(bits(&mut found), bits(&mut expected));
        raised = found.into_iter().filter(|entry| entry.seed == 0).collect();
        raised.iter().for_each(|entry| best[entry.document as usize] = entry.similarity);
        // An older similarity changes nothing.
        raised.extend(raised.first().map(|entry| Improved { similarity: entry.similarity / 2.0, ..*entry }));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn just_the_improved_documents_are_found(case in cases()) {
        check(&case)?;
    }
}

/// More than comes back at once, and more documents than threads.
#[test]
fn many_findings_come_back_in_pieces() {
    let n = if std::env::var("DOCSPHERE_TEST_DEVICE").is_ok() { 200_000 } else { 1_500 };
    let rows: Vec<Vector> =
        (0..n).map(|doc| (vec![doc % 3, 3 + doc % 50], vec![0.6, 0.8 - doc as f32 * 1e-7])).collect();
    let steps = vec![vec![0, 1, 2, 3], vec![7, 7], vec![50, 51, 52]];
    check(&Case { rows, steps }).unwrap();
}

#[test]
fn a_device_without_room_or_that_is_lost_says_so() {
    let rows: Vec<Vector> = vec![(vec![1], vec![1.0]); 100];
    let full = seeker(Arc::new(Device::emulated(2_000, u64::MAX)), &rows);
    assert!(matches!(full, Err(Error::OutOfMemory { .. })));
    for launches in 0..2 {
        let mut seeker = seeker(Arc::new(Device::emulated(1 << 20, launches)), &rows).unwrap();
        let lost = seeker.ask(&[], &[(&[1], &[1.0])]);
        assert!(matches!(lost, Err(Error::Driver { .. })), "{launches} launches");
    }
    let mut seeker = seeker(Arc::new(Device::emulated(1 << 20, 2)), &rows).unwrap();
    seeker.ask(&[], &[(&[1], &[1.0])]).unwrap();
    assert!(seeker.answer(&mut |_| ()).is_err());
}

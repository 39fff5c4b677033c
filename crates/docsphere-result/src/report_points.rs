//! The documents that a report shows as points: a sample, as typed arrays in base64.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use crate::points::{Points, shortened};

/// A sample of the documents that have a cluster. Its beginning is a smaller sample.
///
/// Arrays are little endian, in base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PointsData {
    /// The number of documents that have a cluster.
    pub total: usize,
    /// The number of documents in the sample.
    pub n: usize,
    /// Their numbers: u32.
    pub number: String,
    /// Their places in the discs of their clusters: two i16 each, -32767 to 32767 for -1 to 1.
    pub offset: String,
    /// Their clusters: i32.
    pub cluster: String,
    /// Their similarities: u8, 0 to 255 for 0 to 1.
    pub similarity: String,
    /// Their bins in the kept columns, by the positions of these: u8, 255 for none.
    pub bins: BTreeMap<u32, String>,
    /// The beginnings of their texts, or their ids. Empty if they are not shown.
    pub titles: Vec<String>,
}

impl PointsData {
    /// The first documents of the sample, as many as take no more than about `max_bytes`, with
    /// titles of at most `title_chars` characters. `has_bins` says which columns are shown with
    /// their bins. `None` if nothing fits.
    pub(crate) fn new(
        points: &Points,
        title_chars: usize,
        max_bytes: u64,
        has_bins: impl Fn(u32) -> bool,
    ) -> Option<Self> {
        let bins: Vec<_> = points.bins.iter().filter(|bins| has_bins(bins.column)).collect();
        // Base64 takes four characters for three bytes.
        let fixed_bytes = (13 + bins.len() as u64) * 4 / 3 + 1;
        let mut titles = Vec::new();
        let (mut n, mut n_bytes) = (0, 0);
        while n < points.sample.len() {
            n_bytes += fixed_bytes;
            if let Some(title) = points.titles.get(n).filter(|_| title_chars > 0) {
                let title = shortened(title, title_chars);
                // With quotes and a comma.
                n_bytes += title.len() as u64 + 3;
                titles.push(title);
            }
            if n_bytes > max_bytes {
                titles.truncate(n);
                break;
            }
            n += 1;
        }
        if n == 0 {
            return None;
        }
        let docs = || points.sample[..n].iter().map(|&doc| doc as usize);
        let bytes = |bytes: &mut dyn Iterator<Item = u8>| STANDARD.encode(bytes.collect::<Vec<u8>>());
        let of_column = |column: &&crate::ColumnBins| {
            (column.column, bytes(&mut docs().map(|doc| column.of_documents[doc])))
        };
        Some(PointsData {
            total: points.n_labelled(),
            n,
            number: bytes(&mut points.sample[..n].iter().flat_map(|doc| doc.to_le_bytes())),
            offset: bytes(&mut docs().flat_map(|doc| points.offsets[doc]).flat_map(i16::to_le_bytes)),
            cluster: bytes(&mut docs().flat_map(|doc| points.clusters[doc].to_le_bytes())),
            similarity: bytes(&mut docs().map(|doc| points.similarities[doc])),
            bins: bins.iter().map(of_column).collect(),
            titles,
        })
    }
}

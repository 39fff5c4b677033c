//! All points as one message, for a page that is served.

use docsphere::{DocId, Labels, document_sample};

use super::Points;

/// The magic number of a message.
const MAGIC: &[u8; 4] = b"DsPt";

/// The version of its layout.
const VERSION: u32 = 1;

impl Points {
    /// The size of a message of so many points.
    pub fn message_bytes(&self, n_points: usize) -> u64 {
        let n_columns = self.bins.len() as u64;
        16 + 4 * n_columns + n_points as u64 * (13 + n_columns)
    }

    /// The documents that have a cluster, in the order of their numbers; a sample of `max` of them
    /// if they are more.
    ///
    /// Little endian: the magic number `DsPt`; u32: version (1), number of points n, number of
    /// columns c, then the positions of the columns in `columns.json`; the document numbers (u32
    /// each), the places in the discs (two i16 each), the clusters (i32), the similarities (a
    /// byte), and for each column the bins (a byte each).
    pub fn to_message(&self, n_clusters: usize, max: usize) -> Vec<u8> {
        let n_labelled = self.n_labelled();
        let numbers: Vec<u32> = if n_labelled > max {
            let labels = Labels::from(self.clusters.clone());
            let mut sample: Vec<u32> =
                document_sample(&labels, n_clusters, max).into_iter().map(DocId::number).collect();
            sample.sort_unstable();
            sample
        } else {
            (0u32..).zip(&self.clusters).filter(|(_, c)| **c >= 0).map(|(number, _)| number).collect()
        };
        let n_columns = self.bins.len();
        let mut bytes = Vec::with_capacity(self.message_bytes(numbers.len()) as usize);
        bytes.extend(MAGIC);
        for number in [VERSION, numbers.len() as u32, n_columns as u32] {
            bytes.extend(number.to_le_bytes());
        }
        self.bins.iter().for_each(|bins| bytes.extend(bins.column.to_le_bytes()));
        numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        let docs = || numbers.iter().map(|&number| number as usize);
        docs().flat_map(|doc| self.offsets[doc]).for_each(|offset| bytes.extend(offset.to_le_bytes()));
        docs().for_each(|doc| bytes.extend(self.clusters[doc].to_le_bytes()));
        bytes.extend(docs().map(|doc| self.similarities[doc]));
        for bins in &self.bins {
            bytes.extend(docs().map(|doc| bins.of_documents[doc]));
        }
        bytes
    }
}

//! Documents by the bins of their kept columns.

use super::Points;
use crate::columns::ColumnBins;

/// The bins of all documents, in memory: one byte per document and column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DocumentBins {
    columns: Vec<ColumnBins>,
}

/// Some bins of some columns: a document passes if its bin of every column is among them.
#[derive(Clone, Debug, PartialEq)]
pub struct BinFilter<'a> {
    tests: Vec<(&'a [u8], [bool; 256])>,
}

impl Points {
    /// The bins alone.
    pub fn into_bins(self) -> DocumentBins {
        DocumentBins { columns: self.bins }
    }
}

impl DocumentBins {
    /// The filter for these bins of these columns, by their positions in `columns.json`. Of a
    /// column that is given twice, a document must pass both.
    ///
    /// # Errors
    /// The first column without bins.
    pub fn filter(&self, wanted: &[(u32, Vec<u8>)]) -> Result<BinFilter<'_>, u32> {
        let test = |(column, bins): &(u32, Vec<u8>)| {
            let found = self.columns.iter().find(|found| found.column == *column).ok_or(*column)?;
            let mut is_wanted = [false; 256];
            bins.iter().for_each(|&bin| is_wanted[usize::from(bin)] = true);
            Ok((&found.of_documents[..], is_wanted))
        };
        Ok(BinFilter { tests: wanted.iter().map(test).collect::<Result<_, u32>>()? })
    }
}

impl BinFilter<'_> {
    /// Whether a document passes. One that is not there does not, unless nothing is asked.
    #[inline]
    pub fn passes(&self, document: usize) -> bool {
        self.tests
            .iter()
            .all(|(bins, is_wanted)| bins.get(document).is_some_and(|&bin| is_wanted[usize::from(bin)]))
    }

    /// Whether all documents pass.
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }
}

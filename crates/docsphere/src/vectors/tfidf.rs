//! TF-IDF weights, and the choice of terms to keep.
//!
//! The weight is `tf * idf`, and every row is normalised to length one. With N documents, of which
//! df contain the term:
//!
//! | [`IdfKind`] | idf | source |
//! |---|---|---|
//! | `Paper` | `ln(N / df)` | the paper; a term that occurs in every document has weight 0 and is dropped |
//! | `Smooth` | `ln((1 + N) / (1 + df)) + 1` | scikit-learn's default |
//! | `PlusOne` | `ln(N / df) + 1` | scikit-learn with `smooth_idf=False` |
//!
//! tf is the count, or `1 + ln(count)` with `sublinear_tf`. All arithmetic is in f64 in ascending
//! order of term, rounded to f32 once at the end.

use serde::{Deserialize, Serialize};

use super::losses::Unchosen;
use crate::error::{Error, ErrorKind, Result};
use crate::names::impl_names;

/// Options for weighting and choosing terms.
///
/// | option | default | meaning |
/// |---|---|---|
/// | `idf` | `paper` | how much rare terms weigh |
/// | `sublinear_tf` | no | whether repeated terms count `1 + ln(count)` |
/// | `min_df` | 1 document | terms in fewer documents are dropped |
/// | `max_df` | all documents | terms in more documents are dropped |
/// | `max_terms` | no limit | only this many terms are kept, the most frequent ones; ties go to the first in the alphabet |
///
/// Fields are public for reading; each has a setter of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TfidfOptions {
    /// How much rare terms weigh.
    pub idf: IdfKind,
    /// Whether a term that occurs n times counts `1 + ln(n)` instead of n.
    pub sublinear_tf: bool,
    /// Terms in fewer documents are dropped.
    pub min_df: DocumentBound,
    /// Terms in more documents are dropped.
    pub max_df: DocumentBound,
    /// The maximum number of terms.
    pub max_terms: Option<usize>,
}

impl Default for TfidfOptions {
    fn default() -> Self {
        TfidfOptions {
            idf: IdfKind::default(),
            sublinear_tf: false,
            min_df: DocumentBound::Count(1),
            max_df: DocumentBound::Share(1.0),
            max_terms: None,
        }
    }
}

/// The inverse document frequency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum IdfKind {
    /// `ln(N / df)`.
    #[default]
    Paper,
    /// `ln((1 + N) / (1 + df)) + 1`.
    Smooth,
    /// `ln(N / df) + 1`.
    PlusOne,
}

impl IdfKind {
    /// All kinds.
    pub const ALL: &'static [IdfKind] = &[IdfKind::Paper, IdfKind::Smooth, IdfKind::PlusOne];

    /// The name in files and in Python.
    pub const fn name(self) -> &'static str {
        match self {
            IdfKind::Paper => "paper",
            IdfKind::Smooth => "smooth",
            IdfKind::PlusOne => "plus-one",
        }
    }

    /// The weight of a term that occurs in `df` of `n_docs` documents.
    pub fn weight(self, df: u64, n_docs: u64) -> f64 {
        let (df, n_docs) = (df as f64, n_docs as f64);
        match self {
            IdfKind::Paper => (n_docs / df).ln(),
            IdfKind::Smooth => ((1.0 + n_docs) / (1.0 + df)).ln() + 1.0,
            IdfKind::PlusOne => (n_docs / df).ln() + 1.0,
        }
    }
}

impl_names!(IdfKind, "idf");

/// A number of documents, absolute or as a share of all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum DocumentBound {
    /// This many documents.
    Count(u64),
    /// This share of all documents, from 0 to 1.
    Share(f64),
}

impl DocumentBound {
    /// The number of documents, not rounded.
    fn documents(self, n_docs: u64) -> f64 {
        match self {
            DocumentBound::Count(count) => count as f64,
            DocumentBound::Share(share) => share * n_docs as f64,
        }
    }

    fn check(self, name: &'static str) -> Result<()> {
        match self {
            DocumentBound::Count(count) => {
                Error::unless(count >= 1, name, "at least 1 document or a share from 0 to 1", count)
            }
            DocumentBound::Share(share) => {
                let fits = (0.0..=1.0).contains(&share);
                Error::unless(fits, name, "at least 1 document or a share from 0 to 1", share)
            }
        }
    }
}

impl TfidfOptions {
    /// How much rare terms weigh.
    #[must_use]
    pub fn idf(mut self, idf: IdfKind) -> Self {
        self.idf = idf;
        self
    }

    /// Whether a term that occurs n times counts `1 + ln(n)` instead of n.
    #[must_use]
    pub fn sublinear_tf(mut self, sublinear_tf: bool) -> Self {
        self.sublinear_tf = sublinear_tf;
        self
    }

    /// Terms in fewer documents are dropped.
    #[must_use]
    pub fn min_df(mut self, min_df: DocumentBound) -> Self {
        self.min_df = min_df;
        self
    }

    /// Terms in more documents are dropped.
    #[must_use]
    pub fn max_df(mut self, max_df: DocumentBound) -> Self {
        self.max_df = max_df;
        self
    }

    /// The maximum number of terms; `None` for no limit.
    #[must_use]
    pub fn max_terms(mut self, max_terms: impl Into<Option<usize>>) -> Self {
        self.max_terms = max_terms.into();
        self
    }

    /// Checks every option.
    ///
    /// # Errors
    /// [`ErrorKind::Parameter`] for the first option that is out of its range.
    pub fn check(&self) -> Result<()> {
        self.min_df.check("min_df")?;
        self.max_df.check("max_df")?;
        if let Some(max_terms) = self.max_terms {
            Error::unless(max_terms >= 1, "max_terms", "at least 1", max_terms)?;
        }
        Ok(())
    }

    /// Terms in fewer documents are dropped, of so many documents or more.
    pub(super) fn least_documents(&self, n_docs: u64) -> f64 {
        self.min_df.documents(n_docs)
    }

    /// Why a term in so many documents is dropped, if it is.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`] if no number can pass for this many documents.
    pub(super) fn document_filter(
        &self,
        n_docs: u64,
    ) -> Result<impl Fn(u64) -> Option<Unchosen> + Sync + use<>> {
        let (lo, hi) = (self.min_df.documents(n_docs), self.max_df.documents(n_docs));
        if lo > hi && n_docs > 0 {
            return Err(ErrorKind::Mismatch {
                what: "max_df",
                expected: format!("at least min_df, which is {lo} of {n_docs} documents"),
                got: hi.to_string(),
            }
            .into());
        }
        let drop_all_documents = self.idf == IdfKind::Paper;
        Ok(move |df: u64| match df as f64 {
            few if few < lo => Some(Unchosen::TooFew),
            many if many > hi => Some(Unchosen::TooMany),
            _ if drop_all_documents && df == n_docs => Some(Unchosen::InAll),
            _ => None,
        })
    }

    /// Turns sorted pairs of term and count, packed as `term << 32 | count`, into a unit row:
    /// `entry` gets each term and value.
    pub(super) fn weigh_row(&self, counts: &[u64], idf: &[f64], mut entry: impl FnMut(u32, f32)) {
        let weight = |packed: u64| {
            let (term, count) = ((packed >> 32) as usize, f64::from(packed as u32));
            let tf = if self.sublinear_tf { 1.0 + count.ln() } else { count };
            tf * idf[term]
        };
        let length = counts.iter().map(|&packed| weight(packed)).map(|w| w * w).sum::<f64>().sqrt();
        for &packed in counts {
            let value = (weight(packed) / length) as f32;
            if value > 0.0 {
                entry((packed >> 32) as u32, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name() {
        for &kind in IdfKind::ALL {
            assert_eq!(kind.name().parse::<IdfKind>().unwrap(), kind);
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{kind}\""));
        }
    }

    #[test]
    fn idf_follows_the_formulas() {
        assert_eq!(IdfKind::Paper.weight(2, 8), 4f64.ln());
        assert_eq!(IdfKind::Paper.weight(8, 8), 0.0);
        assert_eq!(IdfKind::Smooth.weight(2, 8), 3f64.ln() + 1.0);
        assert_eq!(IdfKind::PlusOne.weight(2, 8), 4f64.ln() + 1.0);
    }

    #[test]
    fn options_out_of_range_are_refused_with_name_range_and_value() {
        let default = TfidfOptions::default;
        let message = |options: TfidfOptions| options.check().unwrap_err().to_string();
        let range = "must be at least 1 document or a share from 0 to 1, got";
        let min_df = DocumentBound::Count(0);
        assert_eq!(message(TfidfOptions { min_df, ..default() }), format!("min_df {range} 0"));
        let max_df = DocumentBound::Share(1.5);
        assert_eq!(message(TfidfOptions { max_df, ..default() }), format!("max_df {range} 1.5"));
        let max_df = DocumentBound::Share(f64::NAN);
        assert_eq!(message(TfidfOptions { max_df, ..default() }), format!("max_df {range} NaN"));
        assert_eq!(
            message(TfidfOptions { max_terms: Some(0), ..default() }),
            "max_terms must be at least 1, got 0"
        );
        let options =
            TfidfOptions { min_df: DocumentBound::Count(6), max_df: DocumentBound::Share(0.5), ..default() };
        assert_eq!(
            options.document_filter(10).err().unwrap().to_string(),
            "max_df must be at least min_df, which is 6 of 10 documents, got 5"
        );
    }

    #[test]
    fn bounds_include_their_ends() {
        let options = TfidfOptions {
            min_df: DocumentBound::Share(0.2),
            max_df: DocumentBound::Count(8),
            ..TfidfOptions::default()
        };
        let filter = options.document_filter(10).unwrap();
        assert_eq!((1..=10).filter(|&df| filter(df).is_none()).collect::<Vec<_>>(), [2, 3, 4, 5, 6, 7, 8]);
        let all = TfidfOptions::default().document_filter(3).unwrap();
        assert_eq!((1..=3).filter(|&df| all(df).is_none()).collect::<Vec<_>>(), [1, 2]);
        let smooth = TfidfOptions { idf: IdfKind::Smooth, ..TfidfOptions::default() };
        assert_eq!(smooth.document_filter(3).unwrap()(3), None);
        assert_eq!(
            [1, 9, 10].map(|df| options.document_filter(10).unwrap()(df)),
            [Some(Unchosen::TooFew), Some(Unchosen::TooMany), Some(Unchosen::TooMany)]
        );
        assert_eq!(all(3), Some(Unchosen::InAll));
    }

    #[test]
    fn a_row_has_length_one() {
        let options = TfidfOptions { sublinear_tf: true, ..TfidfOptions::default() };
        let mut row = Vec::new();
        options.weigh_row(&[1, (2 << 32) | 1], &[3.0, 9.0, 4.0], |term, value| row.push((term, value)));
        assert_eq!(row, [(0, 0.6), (2, 0.8)]);
    }
}

//! What is done with copies of documents.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use docsphere::{Duplicates, NEAR_DUPLICATE};

/// What is done with copies of documents.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Duplicates")]
pub(crate) struct DuplicateArgs {
    /// What to do with copies of an earlier document: keep them; drop them, so that only the first
    /// of a set is clustered; or weight the first by their number. Assignments have all of them,
    /// with the cluster of the first
    #[arg(long, value_name = "WAY", default_value = "keep", value_parser = ways())]
    pub(crate) duplicates: DuplicateUse,

    /// Similarity (cosine) from which on a document is a copy; 1 for those with the same terms only
    #[arg(
        long,
        value_name = "X",
        default_value_t = NEAR_DUPLICATE,
        value_parser = similarity,
        requires = "duplicates"
    )]
    pub(crate) duplicate_similarity: f64,
}

/// What is done with copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DuplicateUse {
    Keep,
    Drop,
    Weight,
}

impl DuplicateUse {
    const ALL: [DuplicateUse; 3] = [DuplicateUse::Keep, DuplicateUse::Drop, DuplicateUse::Weight];

    /// Its name, as typed.
    pub(crate) fn name(self) -> &'static str {
        match self {
            DuplicateUse::Keep => "keep",
            DuplicateUse::Drop => "drop",
            DuplicateUse::Weight => "weight",
        }
    }
}

fn ways() -> impl TypedValueParser<Value = DuplicateUse> {
    PossibleValuesParser::new(DuplicateUse::ALL.map(DuplicateUse::name))
        .map(|name| DuplicateUse::ALL.into_iter().find(|way| way.name() == name).expect("one of these names"))
}

fn similarity(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|&number| Duplicates::check_similarity(number).is_ok());
    number.ok_or("give a number from 0.5 to 1".to_owned())
}

//! Which columns are kept beside id and text.

use anyhow::Result;
use clap::Args;
use docsphere::Keep;

use super::{InputArgs, UsageError};

/// Which columns are kept beside id and text.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Input")]
pub(crate) struct KeepArgs {
    /// Other fields (columns) to keep for assignments, report and search index, such as
    /// "author,url"; all for every field
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) keep: Vec<String>,

    /// Field that holds the date of a document; it is kept, too
    #[arg(long, value_name = "NAME")]
    pub(crate) date_field: Option<String>,
}

impl KeepArgs {
    /// The library's option.
    pub(crate) fn keep(&self) -> Keep {
        let names = self.keep.iter().map(|name| name.trim().to_owned());
        if self.keep.iter().any(|name| name.trim().eq_ignore_ascii_case("all")) {
            return Keep::All;
        }
        let mut names: Vec<String> = names.collect();
        let is_new = |date: &&String| !names.iter().any(|name| name.eq_ignore_ascii_case(date));
        names.extend(self.date_field.iter().find(is_new).cloned());
        if names.is_empty() { Keep::Nothing } else { Keep::Named(names) }
    }

    /// Refuses columns of input that has none.
    pub(crate) fn check(&self, input: &InputArgs) -> Result<()> {
        if !self.keep().is_nothing() && input.matrix_format().is_some() {
            let message = "--keep and --date-field: a matrix has no fields beside its terms";
            return Err(UsageError(message.to_owned()).into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_is_kept_too() {
        let keep = |names: &[&str], date: Option<&str>| {
            let keep = names.iter().map(|&name| name.to_owned()).collect();
            KeepArgs { keep, date_field: date.map(str::to_owned) }.keep()
        };
        let named = |names: &[&str]| Keep::Named(names.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(keep(&[], None), Keep::Nothing);
        assert_eq!(keep(&["a", " b"], None), named(&["a", "b"]));
        assert_eq!(keep(&["a"], Some("day")), named(&["a", "day"]));
        assert_eq!(keep(&["Day"], Some("day")), named(&["Day"]));
        assert_eq!(keep(&["All"], Some("day")), Keep::All);
    }
}

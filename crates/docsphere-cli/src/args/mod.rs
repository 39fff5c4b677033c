//! Command-line options. Each group is parsed, checked and converted to a library object; names and
//! defaults are the library's.

mod cluster;
mod configuration;
mod duplicates;
mod input;
mod keep;
mod long_run;
mod output;
mod page;
mod run_options;
mod settings;
mod text;

pub(crate) use cluster::{ClusterArgs, ClusterNumber};
pub(crate) use configuration::MoreWords;
pub(crate) use duplicates::{DuplicateArgs, DuplicateUse};
pub(crate) use input::{AnyFormat, InputArgs};
pub(crate) use keep::KeepArgs;
pub(crate) use long_run::{LimitArgs, LongRunArgs, MemoryArgs};
pub(crate) use output::{OutputArgs, parse_similarity};
pub(crate) use page::PageArgs;
pub(crate) use run_options::RunConfiguration;
pub(crate) use settings::{settings_of, typed_options};
pub(crate) use text::TextArgs;

/// Options that contradict each other or are incomplete; the process ends with exit code 2.
#[derive(Debug)]
pub(crate) struct UsageError(pub(crate) String);

impl std::fmt::Display for UsageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

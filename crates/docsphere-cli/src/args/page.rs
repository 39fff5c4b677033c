//! How much a report may hold.

use clap::Args;

use crate::memory;

/// How much a report may hold.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Report")]
pub(crate) struct PageArgs {
    /// Characters of each document that the page shows
    #[arg(long, value_name = "N", default_value_t = 400)]
    pub(crate) report_chars: usize,

    /// Documents are shown in fewer characters if the page would become larger than this ("500K", "10M")
    #[arg(long, value_name = "SIZE", default_value = "10M", value_parser = memory::parse_bytes)]
    pub(crate) report_size: u64,
}

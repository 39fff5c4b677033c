//! Size limits of the report.

use clap::Args;
use docsphere_result::{PageLimits, Rendered};

use crate::memory;
use crate::numbers::counted;

/// Size limits of the report.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Report")]
pub(crate) struct PageArgs {
    /// Number of characters shown of each document
    #[arg(long, value_name = "N", default_value_t = 400)]
    pub(crate) report_chars: usize,

    /// Maximum size of the report; beyond it, fewer characters of each document and fewer points
    /// are shown ("500K", "10M")
    #[arg(long, value_name = "SIZE", default_value = "10M", value_parser = memory::parse_bytes)]
    pub(crate) report_size: u64,
}

impl PageArgs {
    pub(crate) fn limits(&self) -> PageLimits {
        PageLimits { max_chars: self.report_chars, max_bytes: self.report_size }
    }

    /// A note for the user if the limits affected the report.
    pub(crate) fn remark(&self, rendered: &Rendered) -> Option<String> {
        if !rendered.is_within {
            let size = memory::megabytes(rendered.html.len() as u64);
            Some(format!(
                "note: report.html has {size} although it shows no texts, more than --report-size; a run with fewer --keywords, --representatives and --least-typical makes it smaller"
            ))
        } else if rendered.n_chars < self.report_chars || rendered.has_fewer_points {
            let n_chars = counted(rendered.n_chars, "character");
            let n_points = counted(rendered.n_points, "document");
            Some(if rendered.has_fewer_points {
                format!(
                    "note: report.html shows {n_chars} of a document and {n_points} as points, to stay within --report-size"
                )
            } else {
                format!("note: report.html shows {n_chars} of a document, to stay within --report-size")
            })
        } else {
            None
        }
    }
}

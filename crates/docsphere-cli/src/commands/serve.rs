//! `docsphere serve`: the page of a result in a browser, with all of its documents behind it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::args::PageArgs;
use crate::console::{People, tell};
use crate::interrupt;
use crate::numbers::{counted, grouped};
use crate::output::page::StoredPage;
use crate::serve::documents::{self, Documents};
use crate::serve::server::{self, Site};

/// Explore a result in a browser: search all documents, page through every cluster
#[derive(clap::Args)]
#[command(
    after_help = "The result needs a search index: make it with the run (docsphere cluster --index) or afterwards (docsphere index OUT INPUT).\nOnly this machine can connect, unless --address says otherwise. Ctrl-C ends it.\n\nExample:\n  docsphere serve out"
)]
pub(crate) struct Args {
    /// The result folder
    #[arg(value_name = "OUT")]
    result: PathBuf,

    /// The port to listen on; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 7878)]
    port: u16,

    /// The address to listen on. Whoever can reach it can read all documents
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    address: IpAddr,

    #[command(flatten)]
    limits: PageArgs,
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        let stored = StoredPage::read(&self.result)?;
        let index = self.result.join(documents::NAME);
        ensure!(
            index.exists(),
            "{}: is not there; make it with: docsphere index {} INPUT (the input of the run, with the same input options)",
            index.display(),
            self.result.display()
        );
        let n_indexed = Documents::open(&index)?.len()?;
        ensure!(
            n_indexed == stored.n_documents(),
            "{}: holds {}, the result {}; make it again with docsphere index",
            index.display(),
            counted(n_indexed, "document"),
            grouped(stored.n_documents())
        );
        if !self.address.is_loopback() {
            tell(&format!("warning: whoever can reach {} can read all documents", self.address));
        }
        let site = Site { page: stored.page().render(&self.limits, true)?.html, index };
        drop(stored);
        interrupt::stop_calmly("shutting down");
        server::run(site, SocketAddr::new(self.address, self.port), |address| {
            let result = self.result.display();
            let _ =
                People::new().line(format_args!("serving {result} at http://{address}/ (Ctrl-C ends it)"));
        })?;
        interrupt::settle();
        Ok(())
    }
}

//! `docsphere serve`: the page of a result in a browser, with all of its documents behind it.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use docsphere::Model;
use docsphere_result::{Points, StoredPage, names, served_policy};

use crate::args::PageArgs;
use crate::console::{People, tell};
use crate::interrupt;
use crate::memory;
use crate::numbers::{counted, grouped};
use crate::serve::answers::Documents;
use crate::serve::edits::Editing;
use crate::serve::hits::Selection;
use crate::serve::hosts::{HostName, Hosts};
use crate::serve::index;
use crate::serve::server::{self, Content, Site};

/// Explore a result in a browser: search all documents, page through every cluster
#[derive(clap::Args)]
#[command(
    after_help = "The result needs a search index: build it during the run (docsphere cluster --index) or afterwards (docsphere index OUT INPUT).\nOnly this machine can connect, unless --address says otherwise. Ctrl-C stops the server.\n\nExample:\n  docsphere serve out"
)]
pub(crate) struct Args {
    /// The result folder
    #[arg(value_name = "OUT")]
    result: PathBuf,

    /// Port to listen on; 0 picks a free one
    #[arg(long, value_name = "PORT", default_value_t = 7878)]
    port: u16,

    /// Address to listen on. Anyone who can reach it can read all documents
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    address: IpAddr,

    /// Additional host name under which browsers may reach this server, beside localhost, its IP
    /// addresses and (if others can connect) the name of this machine; may be repeated
    #[arg(long, value_name = "NAME")]
    host_name: Vec<HostName>,

    /// Maximum number of simultaneous connections; further ones wait, or replace idle ones
    #[arg(long, value_name = "N", default_value_t = 900, value_parser = parse_max_connections)]
    max_connections: usize,

    /// Let the page rename, merge, hide and annotate clusters. Whoever can reach the server can
    /// then change the result
    #[arg(long)]
    edit: bool,

    #[command(flatten)]
    limits: PageArgs,
}

/// Documents that the page gets as points; of more, it gets a sample of this size.
const MAX_POINTS: usize = 2_000_000;

/// The points as the page gets them.
fn message(points: &Points, n_clusters: usize) -> Result<Vec<u8>> {
    let n_points = points.n_labelled().min(MAX_POINTS);
    memory::of_readers().check("the points", points.message_bytes(n_points))?;
    Ok(points.to_message(n_clusters, MAX_POINTS))
}

fn parse_max_connections(typed: &str) -> Result<usize, String> {
    let n = typed.parse().ok().filter(|n| (1..=100_000).contains(n));
    n.ok_or_else(|| "must be a number from 1 to 100000".to_owned())
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        // A link is followed once: an edit changes the folder that it names now.
        let result = fs::canonicalize(&self.result).unwrap_or_else(|_| self.result.clone());
        let content = content_of(&self.result, self.limits, self.edit)?;
        let hosts = Hosts::new(&self.host_name, self.address.is_loopback());
        if !self.address.is_loopback() {
            tell(&format!("warning: anyone who can reach {} can read all documents", self.address));
            let names = ["localhost"].into_iter().chain(hosts.names()).collect::<Vec<_>>().join(", ");
            tell(&format!(
                "note: the server answers to its IP addresses and to {names}; --host-name adds another name"
            ));
        }
        if self.edit && !self.address.is_loopback() {
            tell(&format!("warning: anyone who can reach {} can edit the result", self.address));
        }
        let (limits, edit) = (self.limits, self.edit);
        let edited = result.clone();
        let site = Site {
            content,
            policy: served_policy(),
            hosts,
            max_connections: self.max_connections,
            editing: Editing {
                result,
                is_allowed: edit,
                read: Arc::new(move || content_of(&edited, limits, edit)),
                turn: tokio::sync::Mutex::default(),
            },
        };
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

/// What is served of a result.
fn content_of(result: &Path, limits: PageArgs, is_editable: bool) -> Result<Content> {
    let mut stored = StoredPage::read(result, &memory::of_readers())?;
    let index = result.join(names::DOCUMENTS);
    check_index(result, &index, &stored)?;
    let clusters = Documents::open(&index)?.clusters()?;
    let points = stored.take_points();
    let n_clusters = stored.clusters().clusters.len();
    let message = points.as_ref().map(|points| message(points, n_clusters)).transpose()?;
    let bins = points.map(Points::into_bins).unwrap_or_default();
    let mut page = stored.page();
    page.editable = is_editable;
    Ok(Content {
        page: page.render(limits.limits(), true).html,
        index,
        selection: Arc::new(Selection { clusters, bins }),
        points: message,
    })
}

/// Refuses an index that is missing, damaged, or belongs to another result.
fn check_index(result: &Path, path: &Path, stored: &StoredPage) -> Result<()> {
    if !path.exists() {
        let model = Model::load_within(result.join(names::MODEL), &memory::of_readers())?;
        if model.text().is_none() {
            bail!(
                "{}: is the result of a matrix, which has no texts to serve; open {} in a browser",
                result.display(),
                result.join(names::REPORT).display()
            );
        }
        bail!(
            "{}: is not there; make it with: docsphere index {} INPUT (the input of the run, with the same input options)",
            path.display(),
            result.display()
        );
    }
    index::check(path)?;
    let documents = Documents::open(path)?;
    let (clusters, n_indexed) = (stored.clusters(), documents.len()?);
    ensure!(
        n_indexed == clusters.n_assigned(),
        "{}: holds {}, the result {}; make it again with docsphere index",
        path.display(),
        counted(n_indexed, "document"),
        grouped(clusters.n_assigned())
    );
    let sizes = documents.sizes()?;
    for entry in &clusters.clusters {
        let (cluster, size) = (entry.id as i32, entry.size + entry.copies as usize);
        let indexed = sizes.get(&cluster).copied().unwrap_or(0);
        ensure!(
            indexed == size,
            "{}: has {} in cluster {cluster}, the result {}: it is of another result; make it again with docsphere index",
            path.display(),
            counted(indexed, "document"),
            grouped(size)
        );
    }
    Ok(())
}

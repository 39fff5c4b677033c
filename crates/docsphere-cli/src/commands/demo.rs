//! `docsphere demo`: the built-in corpus, from start to finish.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::Command;
use crate::Cli;
use crate::console::People;
use crate::interrupt;
use crate::output::folder::ResultFolder;
use crate::output::names::FolderKind;
use crate::output::reads::Reads;
use crate::output::whole_file::write_whole;

/// Texts written for the demo, on 20 everyday and technical subjects.
const CORPUS: &str = include_str!("../../corpora/everyday.jsonl");

/// Cluster the built-in corpus: 480 short texts on 20 subjects
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder for the result; the texts are written beside it, to OUT.jsonl
    #[arg(short, long, value_name = "OUT", default_value = "docsphere-demo")]
    output: PathBuf,

    /// The number of clusters
    #[arg(short = 'k', long, value_name = "K", default_value_t = 20)]
    n_clusters: usize,
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        let mut name = self.output.file_name().context("--output: give the name of a folder")?.to_owned();
        name.push(".jsonl");
        let corpus = self.output.with_file_name(name);
        // Only an earlier demo is ever overwritten.
        let is_again = fs::symlink_metadata(&corpus).is_ok();
        let is_corpus = || {
            fs::metadata(&corpus).is_ok_and(|found| found.is_file())
                && read_start(&corpus).is_ok_and(|there| there == CORPUS.as_bytes())
        };
        if is_again && !is_corpus() {
            bail!(
                "{}: is there already and is not the demo's corpus; choose another --output",
                corpus.display()
            );
        }
        if !is_again {
            // Checked before the corpus is written: the next demo will take a result beside the
            // corpus for that of an earlier demo.
            ResultFolder::check(&self.output, false, FolderKind::Result, &Reads::default())?;
            write_whole(&corpus, |out| Ok(out.write_all(CORPUS.as_bytes())?))?;
            interrupt::only_prepared();
        }
        let output = self.output.display();
        let k = self.n_clusters.to_string();
        // Exactly what a user would type.
        let mut words: Vec<&OsStr> = vec![
            "docsphere".as_ref(),
            "cluster".as_ref(),
            corpus.as_ref(),
            "-k".as_ref(),
            k.as_ref(),
            "-o".as_ref(),
            self.output.as_ref(),
        ];
        if is_again {
            words.push("--force".as_ref());
        }
        // Options for a small corpus: the best of ten runs, no terms that occur in only one
        // document.
        let mut suited = vec!["--n-init", "10", "--min-df", "2"];
        if cfg!(feature = "serve") {
            suited.push("--index");
        }
        let shown: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let mut out = People::new();
        out.line(format_args!("$ {} \\", shown.join(" ")))?;
        out.line(format_args!("    {}", suited.join(" ")))?;
        out.line("")?;
        drop(out);
        words.extend(suited.into_iter().map(OsStr::new));
        match Cli::read(words) {
            Ok(Cli { command: Command::Cluster(args), .. }) => args.run()?,
            outcome => unreachable!("the words above say cluster: {:?}", outcome.err()),
        }
        let mut out = People::new();
        out.line("")?;
        out.line(format_args!("try next: docsphere inspect {output} --cluster 0"))?;
        if cfg!(feature = "serve") {
            out.line(format_args!("          docsphere serve {output}"))?;
        }
        Ok(())
    }
}

/// Reads a file, up to one byte more than the corpus has: enough to see whether it is the corpus.
fn read_start(path: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(path)?.take(CORPUS.len() as u64 + 1).read_to_end(&mut start)?;
    Ok(start)
}

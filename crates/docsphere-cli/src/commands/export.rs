//! `docsphere export`: parts of a result for other programs.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, ensure};
use docsphere::{Model, TermId, formats};
use docsphere_result::{ErrorKind, StoredPage, TableFormat, term_name, write_table};

use super::vectorize::write_lines;
use crate::args::UsageError;
use crate::console::{People, tell};
use crate::files::read_bytes;
use crate::memory;
use crate::numbers::{counted, grouped};
use crate::output::folder::ResultFolder;
use crate::output::names::{self, FolderKind};
use crate::output::reads::Reads;
use crate::output::whole_file::{make_whole, write_whole};

/// Write a result as a table, a page or a picture, or a model's centroids as a matrix
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  docsphere export out --table documents.xlsx\n  docsphere export out --png map.png\n  docsphere export out -o centroids"
)]
pub(crate) struct Args {
    /// A model file, or the result folder that holds it
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// Write all documents with their clusters as a table: .csv, .jsonl, .parquet or .xlsx
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,

    /// Write the report as this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Write the map of the clusters as a picture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Write the map of the clusters as a picture of 2400 x 1800 pixels
    #[arg(long, value_name = "FILE")]
    png: Option<PathBuf>,

    /// Font for --png (TTF, OTF or TTC), for names in other than Latin, Greek and Cyrillic letters
    #[arg(long, value_name = "FILE", requires = "png")]
    font: Option<PathBuf>,

    /// Folder for the centroids (centroids.npz, vocabulary.txt); it appears whole or not at all
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Replace existing centroids; a folder that holds anything else is refused
    #[arg(long, requires = "output")]
    force: bool,
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        let files = [&self.table, &self.html, &self.svg, &self.png];
        if files.iter().all(|file| file.is_none()) && self.output.is_none() {
            let message = "say what to write: --table FILE, --html FILE, --svg FILE, --png FILE, or -o DIR for the centroids";
            return Err(UsageError(message.to_owned()).into());
        }
        let mut reads = Reads::default();
        reads.add("the model", Some(super::model_path(&self.model)));
        if files.iter().any(|file| file.is_some()) {
            ensure!(
                self.model.is_dir(),
                "{}: is no folder; a table, a page and a picture are written from a whole result",
                self.model.display()
            );
            reads.add_result(&self.model, &[]);
        }
        reads.add("the font", self.font.clone());
        files.into_iter().flatten().try_for_each(|file| reads.check_file(file))?;
        let format = self.table.as_deref().map(TableFormat::from_path).transpose()?;
        format.map_or(Ok(()), TableFormat::check_build)?;
        if let (Some(path), Some(format)) = (&self.table, format) {
            self.write_table(path, format)?;
        }
        if self.html.is_some() || self.svg.is_some() || self.png.is_some() {
            let stored = StoredPage::read(&self.model, &memory::of_readers())?;
            if let Some(path) = &self.html {
                let html = stored.page().render(crate::editing::limits_of(&self.model), false).html;
                written(path, html.as_bytes())?;
            }
            if let Some(path) = &self.svg {
                written(path, stored.map_picture().as_bytes())?;
            }
            if let Some(path) = &self.png {
                self.write_png(&stored, path)?;
            }
        }
        self.output.as_deref().map_or(Ok(()), |output| self.write_centroids(output, &reads))
    }

    fn write_table(&self, path: &Path, format: TableFormat) -> Result<()> {
        let mut written = None;
        let limit = memory::of_readers();
        make_whole(path, |staging| {
            written = Some(write_table(&self.model, staging, format, &limit)?);
            Ok(())
        })?;
        let Some(written) = written else { return Ok(()) };
        if !written.has_texts {
            tell(
                "note: the result keeps no texts (it was made with --no-rows, or from a matrix), so the table has none",
            );
        }
        if written.n_cut > 0 {
            let texts = grouped(written.n_cut);
            tell(&format!(
                "note: {texts} texts are longer than a cell of Excel, 32,767 characters, and were cut"
            ));
        }
        let n_documents = counted(written.n_documents, "document");
        Ok(People::new().line(format_args!("{n_documents} written to {}", path.display()))?)
    }

    fn write_png(&self, stored: &StoredPage, path: &Path) -> Result<()> {
        let font = self.font.as_deref();
        let bytes = font.map(|font| read_bytes(font, "a font", MAX_FONT_BYTES)).transpose()?;
        let image = stored.map_image(bytes.as_deref()).map_err(|error| {
            match font.filter(|_| matches!(error.kind(), ErrorKind::Malformed { .. })) {
                Some(font) => anyhow!("{}: {error}", font.display()),
                None => error.into(),
            }
        })?;
        if image.n_boxed > 0 {
            let (boxed, names) = (image.n_boxed, counted(image.n_names, "name"));
            tell(&format!(
                "note: {boxed} of {names} have characters that the font lacks, which are boxes; --font FILE names one that has them, and --svg leaves the letters to the viewer"
            ));
        }
        written(path, &image.png)
    }

    fn write_centroids(&self, output: &Path, reads: &Reads) -> Result<()> {
        ResultFolder::check(output, self.force, FolderKind::Centroids, reads)?;
        let model = Model::load_within(super::model_path(&self.model), &memory::of_readers())?;
        let folder = ResultFolder::create(output, self.force, FolderKind::Centroids)?;
        let centroids = model.centroids();
        formats::write(folder.file(names::CENTROIDS), &centroids.to_sparse_rows())?;
        let names: Vec<String> =
            (0..centroids.n_terms()).map(|term| term_name(&model, TermId::new(term as u32))).collect();
        write_lines(&folder.file(names::VOCABULARY), names.iter().map(String::as_str))?;
        folder.commit()?;
        Ok(People::new().line(format_args!(
            "{} over {} written to {}",
            counted(centroids.n_clusters(), "centroid"),
            counted(centroids.n_terms(), "term"),
            output.display()
        ))?)
    }
}

/// Fonts of Chinese, Japanese and Korean together have 20 MB.
const MAX_FONT_BYTES: u64 = 100 << 20;

fn written(path: &Path, content: &[u8]) -> Result<()> {
    write_whole(path, |out| Ok(out.write_all(content)?))?;
    Ok(People::new().line(format_args!("written to {}", path.display()))?)
}

//! The inputs of a corpus: which files, of which format, under which names.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};
use tempfile::NamedTempFile;

use super::chunk::CHUNK_BYTES;
use super::folder::{self, FolderFile};
use super::format::CorpusFormat;
use super::options::CorpusOptions;
use super::parquet_input;
use crate::atomic_file::{TEMPORARY_SUFFIX, temporary_prefix};
use crate::error::{Error, ErrorKind, Result};

/// The name that stands for standard input.
const STDIN: &str = "-";

/// Bytes that are copied at a time from what can be read only once.
const SPOOL_BYTES: usize = 1 << 18;

/// Documents in files, ready to be read, as often as one likes.
///
/// ```
/// use docsphere::{Corpus, CorpusOptions};
///
/// # let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("animals.txt");
/// std::fs::write(&path, "cats purr\ndogs bark\n").unwrap();
/// let corpus = Corpus::open([&path], CorpusOptions::default())?;
/// let mut texts = Vec::new();
/// let stats = corpus.for_each_document(|document| texts.push(document.text.to_owned()))?;
/// assert_eq!(texts, ["cats purr", "dogs bark"]);
/// assert_eq!(stats.n_documents, 2);
/// # Ok::<(), docsphere::Error>(())
/// ```
#[derive(Debug)]
pub struct Corpus {
    pub(super) inputs: Vec<Input>,
    pub(super) options: CorpusOptions,
    /// Bytes of all files.
    pub(super) bytes_total: u64,
    /// The size of the chunks that the stream is cut into; only tests change it.
    pub(super) chunk_bytes: usize,
}

/// One input.
#[derive(Debug)]
pub(super) struct Input {
    /// What the caller named, for messages.
    pub(super) path: PathBuf,
    pub(super) format: CorpusFormat,
    /// What stands before the ids that are numbers or paths: empty, or a name and a colon.
    pub(super) id_prefix: String,
    pub(super) source: Source,
}

/// Where the bytes are.
#[derive(Debug)]
pub(super) enum Source {
    File,
    Folder(Arc<[FolderFile]>),
    /// Standard input or a pipe, copied to a temporary file so that it can be read again.
    Spooled(NamedTempFile),
}

impl Input {
    /// The file to open.
    pub(super) fn file(&self) -> &Path {
        match &self.source {
            Source::Spooled(file) => file.path(),
            _ => &self.path,
        }
    }
}

impl Corpus {
    /// Looks at the inputs: finds their formats, lists folders, copies what can be read only once to temporary files: standard input
    /// (`-`), pipes and devices.
    ///
    /// # Errors
    /// Options out of range; no input, or the same one twice; an input that is not there or may not be read; a name that does not tell
    /// the format; Parquet where it is not in this build.
    pub fn open<P: AsRef<Path>>(
        inputs: impl IntoIterator<Item = P>,
        options: CorpusOptions,
    ) -> Result<Corpus> {
        options.check()?;
        let paths: Vec<PathBuf> = inputs.into_iter().map(|path| path.as_ref().to_owned()).collect();
        Error::unless(!paths.is_empty(), "inputs", "at least one file or folder", "none")?;
        let prefixes = id_prefixes(&paths)?;
        let mut bytes_total = 0;
        let mut inputs = Vec::with_capacity(paths.len());
        for (path, id_prefix) in paths.into_iter().zip(prefixes) {
            let (input, n_bytes) =
                open_input(&path, id_prefix, &options).map_err(|error| error.at_path(&path))?;
            bytes_total += n_bytes;
            inputs.push(input);
        }
        Ok(Corpus { inputs, options, bytes_total, chunk_bytes: CHUNK_BYTES })
    }

    /// The options it was opened with.
    pub fn options(&self) -> &CorpusOptions {
        &self.options
    }

    /// Bytes of all files, packed as they are.
    pub fn bytes_total(&self) -> u64 {
        self.bytes_total
    }

    #[cfg(test)]
    pub(crate) fn with_chunk_bytes(mut self, chunk_bytes: usize) -> Self {
        self.chunk_bytes = chunk_bytes;
        self
    }
}

fn open_input(path: &Path, id_prefix: String, options: &CorpusOptions) -> Result<(Input, u64)> {
    if path == Path::new(STDIN) {
        return spool(path, &mut io::stdin().lock(), id_prefix, options);
    }
    let failed = |source| Error::io("read", source);
    let found = fs::metadata(path).map_err(failed)?;
    if found.is_dir() {
        if options.format.is_some_and(|format| format != CorpusFormat::Folder) {
            let message = "it is a folder, not a file";
            return Err(failed(io::Error::new(io::ErrorKind::IsADirectory, message)));
        }
        let files = folder::list(path, options.compiled_glob().as_ref())?;
        let n_bytes = files.iter().map(|file| file.n_bytes).sum();
        let source = Source::Folder(files.into());
        return Ok((
            Input { path: path.to_owned(), format: CorpusFormat::Folder, id_prefix, source },
            n_bytes,
        ));
    }
    // Another name for an open file (/dev/stdin, /dev/fd/3) may go on where reading stopped the last time.
    if !found.is_file() || path.starts_with("/dev") {
        format_of(path, options)?; // before waiting for whoever writes into it
        return spool(path, &mut fs::File::open(path).map_err(failed)?, id_prefix, options);
    }
    let format = options.format.map_or_else(|| CorpusFormat::from_path(path), Ok)?;
    if format == CorpusFormat::Folder {
        let message = "it is a file, not a folder";
        return Err(failed(io::Error::new(io::ErrorKind::NotADirectory, message)));
    }
    parquet_input::check_build(format)?;
    Ok((Input { path: path.to_owned(), format, id_prefix, source: Source::File }, found.len()))
}

/// The format of something that is no file.
fn format_of(path: &Path, options: &CorpusOptions) -> Result<CorpusFormat> {
    let format = match options.format {
        Some(CorpusFormat::Folder) | None => CorpusFormat::from_path(path)?,
        Some(format) => format,
    };
    parquet_input::check_build(format)?;
    Ok(format)
}

/// Copies what can be read only once to a temporary file.
fn spool(
    path: &Path,
    reader: &mut dyn Read,
    id_prefix: String,
    options: &CorpusOptions,
) -> Result<(Input, u64)> {
    let format = format_of(path, options)?;
    let prefix = temporary_prefix(std::process::id());
    let failed = |source| Error::io("write a temporary file (TMPDIR says where)", source);
    let mut file =
        tempfile::Builder::new().prefix(&prefix).suffix(TEMPORARY_SUFFIX).tempfile().map_err(failed)?;
    let mut buffer = vec![0; SPOOL_BYTES];
    let mut n_bytes = 0;
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(n_read) => {
                file.write_all(&buffer[..n_read]).map_err(failed)?;
                n_bytes += n_read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::io("read", error)),
        }
    }
    Ok((Input { path: path.to_owned(), format, id_prefix, source: Source::Spooled(file) }, n_bytes))
}

/// What stands before numbered ids: nothing for a single input, else the file name, or the path where names repeat.
fn id_prefixes(paths: &[PathBuf]) -> Result<Vec<String>> {
    let mut seen: HashMap<&Path, u32> = HashMap::new();
    let mut names: HashMap<String, u32> = HashMap::new();
    let name = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    for path in paths {
        *seen.entry(path).or_default() += 1;
        *names.entry(name(path)).or_default() += 1;
        if seen[&**path] > 1 {
            return Err(ErrorKind::Parameter {
                name: "inputs",
                expected: "different files".to_owned(),
                got: format!("{} twice", path.display()),
            }
            .into());
        }
    }
    let prefix = |path: &PathBuf| match name(path) {
        _ if paths.len() == 1 => String::new(),
        name if names[&name] == 1 => format!("{name}:"),
        _ => format!("{}:", path.display()),
    };
    Ok(paths.iter().map(prefix).collect())
}

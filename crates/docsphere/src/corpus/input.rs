//! The inputs of a corpus: files, their formats and their names.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use encoding_rs::UTF_8;
use foldhash::{HashMap, HashMapExt};

use super::chunk::{CHUNK_BYTES, InputContext};
use super::document::ChunkTally;
use super::encoding::{Known, decoded};
use super::extract::is_single_document;
use super::folder::{self, FolderFile, FolderList};
use super::format::CorpusFormat;
use super::options::CorpusOptions;
use super::parquet_input;
use super::piece::CorpusPiece;
use super::stamp::Stamp;
use crate::compression::{open_counted, unpack_counted, without_ending};
use crate::error::{Error, ErrorKind, Result};

/// The name that stands for standard input.
const STDIN: &str = "-";

/// Bytes copied at a time.
const COPY_BYTES: usize = 1 << 18;

/// Documents in files, ready to be read. Files and folders can be read any number of times,
/// standard input and pipes once.
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
    /// Total size of all files; 0 if unknown.
    pub(super) bytes_total: u64,
    /// The size of the chunks into which the stream is cut; only tests change it.
    pub(super) chunk_bytes: usize,
    /// The number of threads that decompress beside the one that cuts, if not by the pool; only
    /// tests change it.
    pub(super) n_unpacking: Option<usize>,
}

/// One input.
#[derive(Debug)]
pub(super) struct Input {
    /// The input as the caller named it, for messages.
    pub(super) path: PathBuf,
    pub(super) format: CorpusFormat,
    /// Prefix of ids that are numbers or paths: empty, or a name and a colon.
    pub(super) id_prefix: String,
    pub(super) source: Source,
}

/// Where the bytes are.
#[derive(Debug)]
pub(super) enum Source {
    File,
    Folder(FolderList),
    /// Standard input, a pipe or a device.
    Stream(OnceReader),
    /// A stream in a format that needs random access, copied to an unnamed file.
    Copied(File),
    /// A part of a file or folder; `files` are those of a folder.
    Piece {
        piece: CorpusPiece,
        files: Arc<[FolderFile]>,
    },
}

/// A source that can be read once.
pub(super) struct OnceReader(Mutex<Option<Box<dyn Read + Send>>>);

impl OnceReader {
    fn new(reader: Box<dyn Read + Send>) -> Self {
        OnceReader(Mutex::new(Some(reader)))
    }

    fn take(&self) -> Result<Box<dyn Read + Send>> {
        let reader = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        reader.ok_or_else(|| {
            let message = "it can be read only once, and has been read; put it into a file";
            Error::io("read", io::Error::other(message))
        })
    }
}

impl fmt::Debug for OnceReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnceReader")
    }
}

impl Input {
    /// A decompressed stream of the input as UTF-8.
    pub(super) fn text(
        &self,
        stream: Box<dyn BufRead>,
        context: &InputContext<'_>,
    ) -> Result<Box<dyn BufRead>> {
        let mut known = Known { encoding: context.options.named_encoding(), is_start: true };
        if let Some((encoding, is_start)) = self.piece().and_then(CorpusPiece::found_encoding) {
            let is_guess = is_start && known.encoding.is_none() && encoding != UTF_8;
            if is_guess && encoding.is_ascii_compatible() {
                context.guesses.add(encoding);
            }
            known = Known { encoding: Some(encoding), is_start };
        }
        decoded(stream, known, context.guesses)
    }

    /// The input as a decompressed stream of bytes.
    pub(super) fn bytes(&self, context: &InputContext<'_>) -> Result<Box<dyn BufRead>> {
        let n_bytes = context.n_bytes;
        match &self.source {
            Source::Stream(stream) => unpack_counted(stream.take()?, Arc::clone(n_bytes)),
            Source::Piece { piece, .. } => piece.text(n_bytes),
            _ => open_counted(&self.path, Arc::clone(n_bytes)),
        }
    }

    /// The input as a file with random access.
    pub(super) fn seekable(&self) -> Result<File> {
        let file = match &self.source {
            Source::Copied(file) => file.try_clone(),
            Source::Piece { piece, .. } => return piece.open(),
            _ => File::open(&self.path),
        };
        file.map_err(|error| Error::io("read", error))
    }

    /// The piece that the input is, unless it is a whole file or folder.
    pub(super) fn piece(&self) -> Option<&CorpusPiece> {
        match &self.source {
            Source::Piece { piece, .. } => Some(piece),
            _ => None,
        }
    }
}

impl Corpus {
    /// Inspects the inputs: determines their formats, lists folders (one whose files are all tables
    /// or lists of records stands for these), opens standard input (`-`),
    /// pipes and devices. Parquet and spreadsheets from a stream are copied to a temporary file,
    /// since their readers need random access.
    ///
    /// # Errors
    /// Options out of range; no input, or the same one twice; an input that does not exist or may
    /// not be read; a name that does not determine the format; Parquet in a build without it.
    pub fn open<P: AsRef<Path>>(
        inputs: impl IntoIterator<Item = P>,
        options: CorpusOptions,
    ) -> Result<Corpus> {
        options.check()?;
        let paths: Vec<PathBuf> = inputs.into_iter().map(|path| path.as_ref().to_owned()).collect();
        Error::unless(!paths.is_empty(), "inputs", "at least one file or folder", "none")?;
        let prefixes = id_prefixes(&paths, options.named_ids)?;
        let mut bytes_total = 0;
        let mut inputs = Vec::with_capacity(paths.len());
        for (path, id_prefix) in paths.into_iter().zip(prefixes) {
            let (opened, n_bytes) =
                open_inputs(&path, id_prefix, &options).map_err(|error| error.at_path(&path))?;
            // A folder of tables stands for these, and has no columns of its own.
            let n_checked = if opened.len() > 1 { opened.len() - 1 } else { opened.len() };
            for input in &opened[..n_checked] {
                options.keep.check_format(input.format).map_err(|error| error.at_path(&path))?;
            }
            bytes_total += n_bytes;
            inputs.extend(opened);
        }
        let is_table = |input: &Input| matches!(input.format, CorpusFormat::Csv | CorpusFormat::Tsv);
        if let Some(delimiter) = options.delimiter.filter(|_| !inputs.iter().any(is_table)) {
            let expected = "given with CSV or TSV input only";
            Error::unless(false, "delimiter", expected, format!("{delimiter:?}"))?;
        }
        if let Some(quote) = options.quote.filter(|_| !inputs.iter().any(is_table)) {
            Error::unless(false, "quote", "given with CSV or TSV input only", quote)?;
        }
        let is_sheet = |input: &Input| input.format == CorpusFormat::Sheet;
        if let Some(sheet) = options.sheet.as_ref().filter(|_| !inputs.iter().any(is_sheet)) {
            Error::unless(false, "sheet", "given with a spreadsheet only", format!("{sheet:?}"))?;
        }
        if inputs.iter().any(|input| matches!(input.source, Source::Stream(_))) {
            bytes_total = 0;
        }
        Ok(Corpus { inputs, options, bytes_total, chunk_bytes: CHUNK_BYTES, n_unpacking: None })
    }

    /// The options passed to [`open`](Self::open) or [`from_pieces`](Self::from_pieces).
    pub fn options(&self) -> &CorpusOptions {
        &self.options
    }

    /// Total size of all files, as compressed; 0 if an input is a pipe, whose length is unknown.
    pub fn bytes_total(&self) -> u64 {
        self.bytes_total
    }

    #[cfg(test)]
    pub(crate) fn with_chunk_bytes(mut self, chunk_bytes: usize) -> Self {
        self.chunk_bytes = chunk_bytes;
        self
    }

    #[cfg(test)]
    pub(super) fn with_unpacking(mut self, n_threads: usize) -> Self {
        self.n_unpacking = Some(n_threads);
        self
    }
}

/// Opens a file, stream or folder: one input, or the tables of a folder.
fn open_inputs(path: &Path, id_prefix: String, options: &CorpusOptions) -> Result<(Vec<Input>, u64)> {
    if path != Path::new(STDIN) && fs::metadata(path).is_ok_and(|found| found.is_dir()) {
        return open_folder(path, id_prefix, options);
    }
    open_input(path, id_prefix, options).map(|(input, n_bytes)| (vec![input], n_bytes))
}

/// Opens a folder. If all its files are tables or lists of records by their names, or the format is
/// stated, their records are the documents; otherwise the files are.
fn open_folder(path: &Path, id_prefix: String, options: &CorpusOptions) -> Result<(Vec<Input>, u64)> {
    let mut list = folder::list(path, options.compiled_glob().as_ref(), options)?;
    let n_bytes = list.files.iter().map(|file| file.stamp.n_bytes).sum();
    let format_of = |file: &FolderFile| match options.format {
        None => CorpusFormat::of_records(&file.path),
        Some(CorpusFormat::Folder) => None,
        stated => stated,
    };
    let formats: Option<Vec<CorpusFormat>> = list.files.iter().map(format_of).collect();
    let mut inputs = Vec::new();
    for (file, format) in list.files.iter().zip(formats.unwrap_or_default()) {
        parquet_input::check_build(format).map_err(|error| error.at_path(&file.path))?;
        let id_prefix = format!("{id_prefix}{}:", file.id);
        inputs.push(Input { path: file.path.clone(), format, id_prefix, source: Source::File });
    }
    if !inputs.is_empty() {
        list.files = Arc::new([]);
    }
    let source = Source::Folder(list);
    // What was left out of the folder belongs to it.
    inputs.push(Input { path: path.to_owned(), format: CorpusFormat::Folder, id_prefix, source });
    Ok((inputs, n_bytes))
}

fn open_input(path: &Path, id_prefix: String, options: &CorpusOptions) -> Result<(Input, u64)> {
    if path == Path::new(STDIN) {
        return open_stream(path, || Ok(Box::new(io::stdin())), id_prefix, options);
    }
    let failed = |source| Error::io("read", source);
    let found = fs::metadata(path).map_err(failed)?;
    // Another name for an open file (/dev/stdin, /dev/fd/3) may continue where the last read
    // stopped.
    if !found.is_file() || path.starts_with("/dev") {
        let open = || -> Result<Box<dyn Read + Send>> { Ok(Box::new(File::open(path).map_err(failed)?)) };
        return open_stream(path, open, id_prefix, options);
    }
    if options.format.is_none() && is_single_document(without_ending(path)) {
        return Ok(single_document(path, &id_prefix, Stamp::new(&found)));
    }
    let format = options.format.map_or_else(|| CorpusFormat::from_path(path), Ok)?;
    if format == CorpusFormat::Folder {
        let message = "it is a file, not a folder";
        return Err(failed(io::Error::new(io::ErrorKind::NotADirectory, message)));
    }
    parquet_input::check_build(format)?;
    Ok((Input { path: path.to_owned(), format, id_prefix, source: Source::File }, found.len()))
}

/// A file that is a document, as a folder of this file alone. Its id is its name, with its folder
/// where names repeat.
fn single_document(path: &Path, id_prefix: &str, stamp: Stamp) -> (Input, u64) {
    let id = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.map_or_else(|| PathBuf::from("."), Path::to_owned);
    let id_prefix = id_prefix.trim_end_matches(':').strip_suffix(&*id).unwrap_or_default().to_owned();
    let n_bytes = stamp.n_bytes;
    let file = FolderFile { path: path.to_owned(), id, stamp, divided: None };
    let source = Source::Folder(FolderList { files: Arc::new([file]), left_out: ChunkTally::default() });
    (Input { path: folder, format: CorpusFormat::Folder, id_prefix, source }, n_bytes)
}

/// Opens an input that is not a regular file.
fn open_stream(
    path: &Path,
    open: impl FnOnce() -> Result<Box<dyn Read + Send>>,
    id_prefix: String,
    options: &CorpusOptions,
) -> Result<(Input, u64)> {
    let format = match options.format {
        Some(CorpusFormat::Folder) | None => CorpusFormat::from_path(path)?,
        Some(format) => format,
    };
    parquet_input::check_build(format)?;
    // Blocks until a writer opens the pipe.
    let mut stream = open()?;
    let (source, n_bytes) = match format {
        CorpusFormat::Parquet | CorpusFormat::Sheet => {
            let mut copy = tempfile::tempfile().map_err(copy_failed)?;
            let n_bytes = copy_stream(&mut stream, &mut copy)?;
            (Source::Copied(copy), n_bytes)
        }
        _ => (Source::Stream(OnceReader::new(stream)), 0),
    };
    Ok((Input { path: path.to_owned(), format, id_prefix, source }, n_bytes))
}

/// Copies a stream to a file, and reports which of the two failed.
fn copy_stream(stream: &mut dyn Read, copy: &mut File) -> Result<u64> {
    let mut buffer = vec![0; COPY_BYTES];
    let mut n_bytes = 0;
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(n_bytes),
            Ok(n_read) => {
                copy.write_all(&buffer[..n_read]).map_err(copy_failed)?;
                n_bytes += n_read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::io("read", error)),
        }
    }
}

fn copy_failed(error: io::Error) -> Error {
    Error::io("write a temporary file (TMPDIR says where)", error)
}

/// Prefixes of numbered ids: empty for a single input, otherwise the file name, or the path where
/// names repeat. `named` is whether a single file has one, too.
fn id_prefixes(paths: &[PathBuf], named: bool) -> Result<Vec<String>> {
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
        _ if paths.len() == 1 && !(named && path.is_file()) => String::new(),
        name if names[&name] == 1 => format!("{name}:"),
        _ => format!("{}:", path.display()),
    };
    Ok(paths.iter().map(prefix).collect())
}

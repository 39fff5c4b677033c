//! A folder as a corpus: every file in it is a document, of any kind (`extract/`).

use std::cell::RefCell;
use std::fs;
use std::io::{BufRead, Cursor, Read};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::chunk::{CHUNK_BYTES, Chunk, InputContext, LONG_BYTES, LONG_RECORD, MAX_RECORD_BYTES, SendChunk};
use super::document::{ChunkTally, Document, Emit, lossy_bytes};
use super::extract::{Kind, RawFile, SAMPLE_BYTES, count_skipped, extractor};
use super::format::CorpusFormat;
use super::glob::Glob;
use super::html::title;
use super::kept::{Kept, KnownValues};
use super::options::CorpusOptions;
use super::stamp::Stamp;
use crate::compression::{open_counted, read_error, read_whole, unpack_counted, without_ending};
use crate::error::{Error, ErrorKind, Result};

/// A file of a folder.
#[derive(Clone, Debug)]
pub(super) struct FolderFile {
    pub(super) path: PathBuf,
    /// The path within the folder, with slashes.
    pub(super) id: String,
    pub(super) stamp: Stamp,
    /// For a file of a piece: its absolute path. It is refused if it has changed.
    pub(super) divided: Option<PathBuf>,
}

impl FolderFile {
    fn open(&self, n_bytes: Arc<AtomicU64>) -> Result<Box<dyn BufRead>> {
        match &self.divided {
            Some(location) => unpack_counted(self.stamp.open(location)?, n_bytes),
            None => open_counted(&self.path, n_bytes),
        }
    }
}

/// Bytes that take as long as opening a file.
pub(super) const FILE_COST: u64 = 256;

/// The files of a folder, and what is left out of them.
#[derive(Debug)]
pub(super) struct FolderList {
    pub(super) files: Arc<[FolderFile]>,
    /// Links that are not followed, pipes and devices, and folders that cannot be read.
    pub(super) left_out: ChunkTally,
}

/// All matching files below `root`, ordered by id. Hidden files and folders are left out; links to
/// files are followed, links to folders are not: they may form cycles, or lead to all files of a
/// machine.
pub(super) fn list(root: &Path, glob: Option<&Glob>, options: &CorpusOptions) -> Result<FolderList> {
    let mut files = Vec::new();
    let (mut links, mut special, mut left_out) = (Vec::new(), Vec::new(), ChunkTally::default());
    let mut open = vec![(root.to_owned(), String::new())];
    while let Some((folder, prefix)) = open.pop() {
        let located = |source| Error::io("read", source).at_path(&folder);
        let entries = match fs::read_dir(&folder).map_err(located) {
            Err(error) if folder != root => {
                left_out.bad_record(options, error)?;
                continue;
            }
            entries => entries?,
        };
        for entry in entries {
            let entry = entry.map_err(located)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') {
                continue;
            }
            let id = format!("{prefix}{name}");
            let kind = entry.file_type().map_err(located)?;
            if kind.is_dir() {
                open.push((entry.path(), format!("{id}/")));
                continue;
            }
            let is_wanted = glob.is_none_or(|glob| glob.matches(&id));
            match fs::metadata(entry.path()) {
                Ok(found) if found.is_file() && is_wanted => {
                    let stamp = Stamp::new(&found);
                    files.push(FolderFile { path: entry.path(), id, stamp, divided: None });
                }
                Ok(found) if found.is_dir() => links.push(entry.path()),
                // A pipe would block, and a device may never end.
                Ok(_) if is_wanted => special.push(entry.path()),
                Err(_) if is_wanted => links.push(entry.path()),
                _ => {}
            }
        }
    }
    // Names that are not UTF-8 may give the same id.
    files.sort_by(|a, b| a.id.cmp(&b.id).then_with(|| a.path.cmp(&b.path)));
    links.sort();
    special.sort();
    left_out.bad_records.sort();
    left_out.skipped.n_links = links.len() as u64;
    left_out.skipped.n_special = special.len() as u64;
    links.iter().chain(&special).for_each(|path| left_out.skipped.name(path));
    Ok(FolderList { files: files.into(), left_out })
}

/// Cuts a list of files.
pub(super) fn cut(
    files: &Arc<[FolderFile]>,
    input: &InputContext<'_>,
    send: SendChunk<'_>,
) -> Result<ControlFlow<()>> {
    let mut start = 0;
    while start < files.len() {
        let mut size = 0;
        let full = |file: &FolderFile| {
            size += file.stamp.n_bytes + FILE_COST;
            size >= input.chunk_bytes as u64
        };
        let length = files[start..].iter().position(full).map_or(files.len() - start, |last| last + 1);
        let range = start..start + length;
        if send(Box::new(Files { files: Arc::clone(files), range })).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        start += length;
    }
    Ok(ControlFlow::Continue(()))
}

/// Some files of a folder.
struct Files {
    files: Arc<[FolderFile]>,
    range: Range<usize>,
}

impl Chunk for Files {
    /// Files are read later, about one chunk's worth of bytes.
    fn n_bytes(&self) -> usize {
        CHUNK_BYTES
    }

    fn parse(&self, input: &InputContext<'_>, emit: Emit<'_>) -> Result<ChunkTally> {
        let mut tally = ChunkTally::default();
        for file in &self.files[self.range.clone()] {
            match read_file(file, input, &mut tally, emit) {
                Ok(()) => {}
                Err(Failure::OfFile(error)) => {
                    tally.bad_record(input.options, error.at_path(&file.path))?;
                }
                Err(Failure::OfRun(error)) => return Err(error.at_path(&file.path)),
            }
        }
        Ok(tally)
    }
}

/// Why the documents of a file were not emitted.
enum Failure {
    /// It cannot be read, is damaged, or of a kind that is not read. Others may be read.
    OfFile(Error),
    /// What was to be done with its text, or the memory for it, or that it has changed: a matter of
    /// the whole run.
    OfRun(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Memory { .. } => Failure::OfRun(error),
            _ => Failure::OfFile(error),
        }
    }
}

/// Emits the documents of a file.
fn read_file(
    file: &FolderFile,
    input: &InputContext<'_>,
    tally: &mut ChunkTally,
    emit: Emit<'_>,
) -> Result<(), Failure> {
    let InputContext { options, guesses, .. } = *input;
    let opened = file.open(Arc::clone(input.n_bytes));
    let mut reader = match &file.divided {
        Some(_) => opened.map_err(Failure::OfRun)?,
        None => opened?,
    };
    let mut sample = Vec::new();
    reader.by_ref().take(SAMPLE_BYTES as u64).read_to_end(&mut sample).map_err(read_error)?;
    let kind = Kind::of(&sample, without_ending(&file.path));
    let Some(extractor) = extractor(kind) else {
        if let Kind::Skipped(skipped) = kind {
            count_skipped(tally, skipped, &file.path);
        }
        return Ok(());
    };
    let is_table = kind == Kind::Text && CorpusFormat::of_records(&file.path).is_some();
    let limit = MAX_RECORD_BYTES as u64;
    let bytes = read_whole(Cursor::new(sample).chain(reader), limit + 1, LONG_RECORD, &options.memory)?;
    if bytes.len() as u64 > limit {
        let what = "a document's size in bytes";
        return Err(Error::from(ErrorKind::TooLarge { what, limit, got: limit + 1 }).into());
    }
    let id = format!("{}{}", input.id_prefix, file.id);
    let mut is_of_run = false;
    let columns = RefCell::new(KnownValues::default());
    let raw = RawFile { bytes, options, guesses, columns: &columns };
    let extracted = extractor.extract(raw, &mut |part, text| {
        let text = match text {
            Ok(text) => text,
            Err(error) => return tally.bad_record(options, error.at_path(&file.path)),
        };
        if text.len() > LONG_BYTES {
            options.memory.check(LONG_RECORD, lossy_bytes(text))?;
        }
        let text = tally.text(text);
        tally.n_documents += 1;
        let mut columns = columns.take();
        if !options.keep.is_nothing() {
            columns.push("path", file.id.as_str());
            if kind == Kind::Text {
                columns.push("title", title(&text).unwrap_or_default());
            }
        }
        let values = columns.kept(&options.keep);
        let kept = Kept::new(&values, part.unwrap_or_default());
        let emitted = match part {
            None => emit(Document { id: &id, text: &text, kept }),
            Some(number) => emit(Document { id: &format!("{id}#{number}"), text: &text, kept }),
        };
        is_of_run |= emitted.is_err();
        emitted
    });
    tally.n_whole_tables += u64::from(is_table && extracted.is_ok());
    extracted.map_err(|error| if is_of_run { Failure::OfRun(error) } else { error.into() })
}

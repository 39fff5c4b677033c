//! Parquet files. `parquet_disabled.rs` is the counterpart for builds without them; `parquet/`
//! reads the format.
//!
//! Only the wanted columns are read. The cutting thread decodes them and copies values into chunks
//! of the usual size; the pool checks that they are UTF-8.

use std::fs::File;
use std::io::Write;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::Ordering;

use super::chunk::{Chunk, InputContext, MAX_RECORD_BYTES, SendChunk};
use super::document::{ChunkTally, Document, Emit, NumberedId, find_field, find_required};
use super::format::CorpusFormat;
use super::options::CorpusOptions;
use super::parquet::{Column, ColumnType, Footer, RowGroup, Value};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{MemoryLimit, PIECE_BYTES};

/// Some rows.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// All texts; invalid UTF-8 has not been replaced yet.
    texts: Vec<u8>,
    /// All ids, likewise. A row without an id has an empty one.
    ids: Vec<u8>,
    /// End of the text and of the id of each row.
    ends: Vec<(usize, usize)>,
    /// The number of the first row, from 1.
    first_row: u64,
}

impl Rows {
    #[cfg(test)]
    pub(super) fn n_rows(&self) -> usize {
        self.ends.len()
    }
}

impl Chunk for Rows {
    fn n_bytes(&self) -> usize {
        self.texts.len() + self.ids.len() + size_of_val(&self.ends[..])
    }

    fn parse(&self, input: &InputContext<'_>, emit: Emit<'_>) -> Result<ChunkTally> {
        let mut tally = ChunkTally::default();
        let mut numbered = NumberedId::new(input.id_prefix);
        let mut start = (0, 0);
        for (number, &end) in (self.first_row..).zip(&self.ends) {
            let n_invalid = tally.n_invalid_utf8;
            let text = tally.text(&self.texts[start.0..end.0]);
            let own_id = tally.text(&self.ids[start.1..end.1]);
            // A document counts once.
            tally.n_invalid_utf8 = tally.n_invalid_utf8.min(n_invalid + 1);
            let id = if own_id.is_empty() { numbered.with(number) } else { &own_id };
            tally.n_documents += 1;
            emit(Document { id, text: &text })?;
            start = end;
        }
        tally.n_beyond_encoding = tally.n_invalid_utf8;
        Ok(tally)
    }
}

/// Parquet is in this build.
#[expect(clippy::unnecessary_wraps, reason = "the twin returns an error")]
pub(super) fn check_build(_: CorpusFormat) -> Result<()> {
    Ok(())
}

/// Cuts a file, or some of its row groups.
pub(super) fn cut(
    file: &File,
    groups: Option<Range<usize>>,
    input: &InputContext<'_>,
    send: SendChunk<'_>,
) -> Result<ControlFlow<()>> {
    cut_rows(file, groups, input, &mut |rows| send(Box::new(rows)))
}

/// The size of each row group: its share of the file, by rows.
pub(super) fn group_sizes(file: &File, options: &CorpusOptions) -> Result<Vec<u64>> {
    let (footer, progress) = read_footer(file, options)?;
    let mut n_rows = 0;
    let size = |group: &RowGroup| {
        let before = progress.bytes_at(n_rows);
        n_rows += group.n_rows;
        progress.bytes_at(n_rows) - before
    };
    Ok(footer.row_groups.iter().map(size).collect())
}

/// The share of a file that has been read. The reader jumps around in the file, so it is measured
/// in rows.
struct Progress {
    file_bytes: u64,
    n_rows: u64,
}

impl Progress {
    fn bytes_at(&self, n_rows: u64) -> u64 {
        (u128::from(n_rows) * u128::from(self.file_bytes) / u128::from(self.n_rows)) as u64
    }
}

fn read_footer(file: &File, options: &CorpusOptions) -> Result<(Footer, Progress)> {
    let file_bytes = file.metadata().map_err(|source| Error::io("read", source))?.len();
    let footer = Footer::read(file, file_bytes, &options.memory)?;
    let n_rows = footer.n_rows().unwrap_or(0).max(1);
    Ok((footer, Progress { file_bytes, n_rows }))
}

/// Like [`cut`], for tests that inspect the chunks.
pub(super) fn cut_rows(
    file: &File,
    groups: Option<Range<usize>>,
    input: &InputContext<'_>,
    send: &mut dyn FnMut(Rows) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    let InputContext { options, chunk_bytes, n_bytes, .. } = *input;
    let (footer, progress) = read_footer(file, options)?;
    let wanted = Wanted::new(&footer, options)?;
    let groups = groups.unwrap_or(0..footer.row_groups.len());
    let wanted_groups = footer.row_groups.get(groups.clone()).ok_or_else(|| {
        let found = format!("{} of them", footer.row_groups.len());
        Error::malformed("Parquet", format!("the row groups {groups:?}"), found)
    })?;
    let rows_before: u64 = footer.row_groups[..groups.start].iter().map(|group| group.n_rows).sum();
    let mut counted = progress.bytes_at(rows_before);
    let mut send = |rows: Rows| {
        let done = progress.bytes_at(rows.first_row - 1 + rows.ends.len() as u64);
        n_bytes.fetch_add(done.saturating_sub(counted), Ordering::Relaxed);
        counted = counted.max(done);
        send(rows)
    };
    let memory = &options.memory;
    let mut cutter = Cutter { file, footer: &footer, wanted, chunk_bytes, memory, rows: Rows::default() };
    cutter.rows.first_row = rows_before + 1;
    for group in wanted_groups {
        if cutter.cut_group(group, &mut send)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    if cutter.rows.ends.is_empty() { Ok(ControlFlow::Continue(())) } else { Ok(send(cutter.rows)) }
}

/// The columns to read.
struct Wanted {
    /// Their numbers in the footer, ascending.
    columns: Vec<usize>,
    /// Which of them hold the text, in joining order.
    texts: Vec<usize>,
    id: Option<usize>,
}

impl Wanted {
    fn new(footer: &Footer, options: &CorpusOptions) -> Result<Self> {
        let names: Vec<&str> = footer.columns.iter().map(|column| &column.name[..]).collect();
        let required = |field: &String, option| find_required(&names, field, option);
        let texts: Result<Vec<usize>> =
            options.text_fields.iter().map(|field| required(field, "text_fields")).collect();
        let texts = texts?;
        let id = match &options.id_field {
            Some(field) => Some(required(field, "id_field")?),
            None => find_field(&names, "id"),
        };
        let mut columns: Vec<usize> = texts.iter().copied().chain(id).collect();
        columns.sort_unstable();
        columns.dedup();
        for &column in &columns {
            let column = &footer.columns[column];
            if let ColumnType::Other(kind) = &column.column_type {
                let what = format!("a column of type {kind} ({})", column.name);
                let hint = "text and ids are read from columns of strings or numbers".to_owned();
                return Err(ErrorKind::Unsupported { what, hint }.into());
            }
        }
        let place = |column: usize| columns.binary_search(&column).expect("one of the columns");
        let (texts, id) = (texts.into_iter().map(place).collect(), id.map(place));
        Ok(Wanted { columns, texts, id })
    }
}

/// Cuts rows into chunks.
struct Cutter<'a> {
    file: &'a File,
    footer: &'a Footer,
    wanted: Wanted,
    chunk_bytes: usize,
    memory: &'a MemoryLimit,
    /// The rows of the next chunk.
    rows: Rows,
}

impl Cutter<'_> {
    fn cut_group(
        &mut self,
        group: &RowGroup,
        send: &mut dyn FnMut(Rows) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let name = |place: usize| &self.footer.columns[self.wanted.columns[place]].name[..];
        let mut columns = Vec::with_capacity(self.wanted.columns.len());
        for (place, &column) in self.wanted.columns.iter().enumerate() {
            let column = Column::open(self.file, self.footer, group, &self.footer.columns[column]);
            columns.push(column.map_err(|fault| fault.in_column(name(place)))?);
        }
        let mut values: Vec<Vec<u8>> = vec![Vec::new(); columns.len()];
        for _ in 0..group.n_rows {
            let mut row_bytes = 0;
            for (place, (column, value)) in columns.iter_mut().zip(&mut values).enumerate() {
                value.clear();
                let found = column.next().map_err(|fault| fault.in_column(name(place)))?;
                if let Value::Text(bytes) = found
                    && bytes.len() > PIECE_BYTES
                {
                    // It is copied twice: here, and into the chunk.
                    self.memory.check("a Parquet row", 2 * bytes.len() as u64)?;
                }
                push_value(found, value);
                row_bytes += value.len();
            }
            let rows = &mut self.rows;
            if row_bytes > MAX_RECORD_BYTES {
                let (limit, got) = (MAX_RECORD_BYTES as u64, row_bytes as u64);
                return Err(ErrorKind::TooLarge { what: "a row's size in bytes", limit, got }.into());
            }
            for (position, &text) in self.wanted.texts.iter().enumerate() {
                if position > 0 {
                    rows.texts.push(b'\n');
                }
                rows.texts.extend_from_slice(&values[text]);
            }
            if let Some(id) = self.wanted.id {
                rows.ids.extend_from_slice(&values[id]);
            }
            rows.ends.push((rows.texts.len(), rows.ids.len()));
            if rows.n_bytes() >= self.chunk_bytes {
                let first_row = rows.first_row + rows.ends.len() as u64;
                let full = std::mem::replace(rows, Rows { first_row, ..Rows::default() });
                if send(full).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Appends a value; null is empty.
fn push_value(value: Value<'_>, text: &mut Vec<u8>) {
    let written = match value {
        Value::Null => Ok(()),
        Value::Text(bytes) => {
            text.extend_from_slice(bytes);
            Ok(())
        }
        Value::Integer(number) => write!(text, "{number}"),
        Value::Float(number) => write!(text, "{number}"),
        Value::Double(number) => write!(text, "{number}"),
    };
    written.expect("writing to memory");
}

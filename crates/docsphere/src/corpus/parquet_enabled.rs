//! Parquet files. `parquet_disabled.rs` is the counterpart for builds without them; `parquet/`
//! reads the format.
//!
//! Only the wanted columns are read. The cutting thread decodes them and copies values into chunks
//! of the usual size; the pool checks that they are UTF-8.

use std::borrow::Cow;
use std::fs::File;
use std::io::Write;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use chrono::DateTime;

use super::chunk::{Chunk, InputContext, MAX_RECORD_BYTES, SendChunk};
use super::document::{ChunkTally, Document, Emit, NumberedId};
use super::field_names::{find_field, find_required};
use super::format::CorpusFormat;
use super::kept::{Keep, Kept};
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
    /// The names of the kept columns.
    kept_names: Arc<[String]>,
    /// All values of kept columns, row by row, and the end of each.
    kept: Vec<u8>,
    kept_ends: Vec<usize>,
    /// The number of the first row, from 1.
    first_row: u64,
}

impl Rows {
    /// The kept values of a row that are not empty.
    fn kept_values(&self, row: usize) -> Vec<(&str, Cow<'_, str>)> {
        let n_kept = self.kept_names.len();
        let ends = &self.kept_ends[row * n_kept..(row + 1) * n_kept];
        let mut start = (row * n_kept).checked_sub(1).map_or(0, |before| self.kept_ends[before]);
        let mut values = Vec::with_capacity(n_kept);
        for (name, &end) in self.kept_names.iter().zip(ends) {
            if !self.kept[start..end].trim_ascii().is_empty() {
                values.push((&name[..], String::from_utf8_lossy(&self.kept[start..end])));
            }
            start = end;
        }
        values
    }

    #[cfg(test)]
    pub(super) fn n_rows(&self) -> usize {
        self.ends.len()
    }
}

impl Chunk for Rows {
    fn n_bytes(&self) -> usize {
        let kept = self.kept.len() + size_of_val(&self.kept_ends[..]);
        self.texts.len() + self.ids.len() + size_of_val(&self.ends[..]) + kept
    }

    fn parse(&self, input: &InputContext<'_>, emit: Emit<'_>) -> Result<ChunkTally> {
        let mut tally = ChunkTally { found_fields: u128::MAX, ..ChunkTally::default() };
        let mut numbered = NumberedId::new(input.id_prefix);
        let mut start = (0, 0);
        for (row, (number, &end)) in (self.first_row..).zip(&self.ends).enumerate() {
            let n_invalid = tally.n_invalid_utf8;
            let text = tally.text(&self.texts[start.0..end.0]);
            let own_id = tally.text(&self.ids[start.1..end.1]);
            // A document counts once.
            tally.n_invalid_utf8 = tally.n_invalid_utf8.min(n_invalid + 1);
            let id = if own_id.is_empty() { numbered.with(number) } else { &own_id };
            tally.n_documents += 1;
            let values = self.kept_values(row);
            let values: Vec<(&str, &str)> =
                values.iter().map(|(name, value)| (*name, value.trim())).collect();
            emit(Document { id, text: &text, kept: Kept::new(&values, number) })?;
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
    let kept_names = wanted.kept.iter().map(|(name, _)| name.clone()).collect();
    let rows = Rows { first_row: rows_before + 1, kept_names, ..Rows::default() };
    let mut cutter = Cutter { file, footer: &footer, wanted, chunk_bytes, memory, rows };
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
    /// Which of them are kept, with their names.
    kept: Vec<(String, usize)>,
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
        let mut kept = options.keep.of_table(&names, &columns)?;
        for &column in &columns {
            let column = &footer.columns[column];
            let kind = match &column.column_type {
                ColumnType::Other(kind) => kind,
                ColumnType::Boolean => "Boolean",
                ColumnType::Date => "Int32 (date)",
                ColumnType::Timestamp { .. } => "Int64 (timestamp)",
                _ => continue,
            };
            let what = format!("a column of type {kind} ({})", column.name);
            let hint = "text and ids are read from columns of strings or numbers".to_owned();
            return Err(ErrorKind::Unsupported { what, hint }.into());
        }
        if options.keep == Keep::All {
            // Lists, objects and the like.
            kept.retain(|&(_, column)| !matches!(footer.columns[column].column_type, ColumnType::Other(_)));
        }
        for &(_, column) in &kept {
            let column = &footer.columns[column];
            if let ColumnType::Other(kind) = &column.column_type {
                let what = format!("keeping a column of type {kind} ({})", column.name);
                let hint = "kept columns are strings, numbers, truth values, dates or times".to_owned();
                return Err(ErrorKind::Unsupported { what, hint }.into());
            }
        }
        columns.extend(kept.iter().map(|(_, column)| column));
        columns.sort_unstable();
        columns.dedup();
        let place = |column: usize| columns.binary_search(&column).expect("one of the columns");
        let (texts, id) = (texts.into_iter().map(place).collect(), id.map(place));
        let kept = kept.into_iter().map(|(name, column)| (name, place(column))).collect();
        Ok(Wanted { columns, texts, id, kept })
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
            for &(_, place) in &self.wanted.kept {
                rows.kept.extend_from_slice(&values[place]);
                rows.kept_ends.push(rows.kept.len());
            }
            rows.ends.push((rows.texts.len(), rows.ids.len()));
            if rows.n_bytes() >= self.chunk_bytes {
                let first_row = rows.first_row + rows.ends.len() as u64;
                let kept_names = Arc::clone(&rows.kept_names);
                let next = Rows { first_row, kept_names, ..Rows::default() };
                let full = std::mem::replace(rows, next);
                if send(full).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Writes a point in time as ISO 8601, or as a number if the calendar does not reach so far.
fn write_moment(text: &mut Vec<u8>, seconds: i64, nanos: u32, is_date: bool) -> std::io::Result<()> {
    let Some(moment) = DateTime::from_timestamp(seconds, nanos) else { return write!(text, "{seconds}") };
    match is_date {
        true => write!(text, "{:?}", moment.date_naive()),
        false => write!(text, "{:?}", moment),
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
        Value::Boolean(value) => write!(text, "{value}"),
        Value::Date(days) => write_moment(text, i64::from(days).saturating_mul(86_400), 0, true),
        Value::Timestamp { count, per_second } => {
            let nanos = count.rem_euclid(per_second) * (1_000_000_000 / per_second);
            write_moment(text, count.div_euclid(per_second), nanos as u32, false)
        }
    };
    written.expect("writing to memory");
}

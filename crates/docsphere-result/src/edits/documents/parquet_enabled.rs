//! Parquet, for builds that include it.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;

use super::{FIELDS, Line, Relabelling};
use crate::error::{Error, Result};

/// The values of a column, in a row group. `levels` says for each row whether it has a value;
/// without levels all have.
struct Column<T> {
    values: Vec<T>,
    levels: Option<Vec<i16>>,
}

/// A column of any type that assignments have.
enum AnyColumn {
    Texts(Column<ByteArray>),
    Int32(Column<i32>),
    Int64(Column<i64>),
    Double(Column<f64>),
}

pub(super) fn relabel(from: &Path, to: &Path, relabelling: &Relabelling<'_>) -> Result<()> {
    let unreadable = |error: ParquetError| Error::malformed(format!("cannot read: {error}")).at_path(from);
    let unwritable = |error: ParquetError| Error::writing(io::Error::other(error), to);
    let file = File::open(from).map_err(|error| Error::reading(error, from))?;
    let reader = SerializedFileReader::new(file).map_err(unreadable)?;
    let schema = reader.metadata().file_metadata().schema_descr().root_schema_ptr();
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let file = File::create(to).map_err(|error| Error::writing(error, to))?;
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).map_err(unwritable)?;
    for number in 0..reader.num_row_groups() {
        let group = reader.get_row_group(number).map_err(unreadable)?;
        let mut columns = read_columns(&*group).map_err(unreadable)?;
        let n_rows = group.metadata().num_rows() as usize;
        relabel_columns(&*group, &mut columns, n_rows, relabelling)
            .ok_or_else(|| Error::malformed("holds no assignments").at_path(from))?;
        write_columns(&mut writer, &columns).map_err(unwritable)?;
    }
    writer.close().map_err(unwritable).map(drop)
}

fn read_columns(group: &dyn RowGroupReader) -> ParquetResult<Vec<AnyColumn>> {
    let n_rows = group.metadata().num_rows() as usize;
    let column = |place: usize| match group.get_column_reader(place)? {
        ColumnReader::ByteArrayColumnReader(reader) => {
            read(reader, group, place, n_rows).map(AnyColumn::Texts)
        }
        ColumnReader::Int32ColumnReader(reader) => read(reader, group, place, n_rows).map(AnyColumn::Int32),
        ColumnReader::Int64ColumnReader(reader) => read(reader, group, place, n_rows).map(AnyColumn::Int64),
        ColumnReader::DoubleColumnReader(reader) => read(reader, group, place, n_rows).map(AnyColumn::Double),
        _ => Err(ParquetError::General("a column of a type that assignments do not have".to_owned())),
    };
    (0..group.num_columns()).map(column).collect()
}

fn read<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    group: &dyn RowGroupReader,
    place: usize,
    n_rows: usize,
) -> ParquetResult<Column<T::T>> {
    let description = group.metadata().column(place).column_descr();
    if description.max_rep_level() > 0 || description.max_def_level() > 1 {
        return Err(ParquetError::General("a nested column, which assignments do not have".to_owned()));
    }
    let mut levels = (description.max_def_level() > 0).then(Vec::new);
    let mut values = Vec::new();
    let (n_read, _, _) = reader.read_records(n_rows, levels.as_mut(), None, &mut values)?;
    if n_read != n_rows || levels.is_none() && values.len() != n_rows {
        return Err(ParquetError::General(format!("a column of {n_read} rows in a group of {n_rows}")));
    }
    Ok(Column { values, levels })
}

impl<T: Copy> Column<T> {
    /// The values row by row.
    fn by_row(&self) -> Vec<Option<T>> {
        let Some(levels) = &self.levels else { return self.values.iter().copied().map(Some).collect() };
        let mut values = self.values.iter().copied();
        levels.iter().map(|&level| if level > 0 { values.next() } else { None }).collect()
    }

    /// Replaces the values. A required column keeps its value where there is no new one.
    fn set(&mut self, rows: impl Iterator<Item = Option<T>>) {
        match &mut self.levels {
            Some(levels) => {
                let rows: Vec<Option<T>> = rows.collect();
                *levels = rows.iter().map(|value| i16::from(value.is_some())).collect();
                self.values = rows.into_iter().flatten().collect();
            }
            None => self.values.iter_mut().zip(rows).for_each(|(value, new)| *value = new.unwrap_or(*value)),
        }
    }
}

/// Gives the columns of some lines the values after all edits; `None` if the file has other
/// columns.
fn relabel_columns(
    group: &dyn RowGroupReader,
    columns: &mut [AnyColumn],
    n_rows: usize,
    relabelling: &Relabelling<'_>,
) -> Option<()> {
    let names: Vec<&str> =
        group.metadata().columns().iter().map(|column| column.column_descr().name()).collect();
    let places = FIELDS.map(|field| names.iter().position(|name| *name == field));
    let integers = |field: usize| match columns.get(places[field]?)? {
        AnyColumn::Int32(column) => Some(column.by_row()),
        _ => None,
    };
    let numbers = |field: usize| match columns.get(places[field]?)? {
        AnyColumn::Double(column) => Some(column.by_row()),
        _ => None,
    };
    let (clusters, similarities) = (integers(0)?, numbers(1)?);
    let (others, other_similarities, silhouettes) = (integers(2), numbers(3), numbers(4));
    let mut lines = Vec::with_capacity(n_rows);
    for row in 0..n_rows {
        let integer = |column: &Option<Vec<Option<i32>>>| column.as_ref().and_then(|column| column[row]);
        let number = |column: &Option<Vec<Option<f64>>>| column.as_ref().and_then(|column| column[row]);
        let line = Line {
            cluster: clusters[row]?,
            similarity: similarities[row]?,
            runner_up: integer(&others).zip(number(&other_similarities)),
            silhouette: number(&silhouettes),
        };
        lines.push(relabelling.edited(line).unwrap_or(line));
    }
    for (field, place) in places.into_iter().enumerate() {
        match place.map(|place| &mut columns[place]) {
            Some(AnyColumn::Int32(column)) => column.set(lines.iter().map(|line| match field {
                0 => Some(line.cluster),
                _ => line.runner_up.map(|other| other.0),
            })),
            Some(AnyColumn::Double(column)) => column.set(lines.iter().map(|line| match field {
                1 => Some(line.similarity),
                3 => line.runner_up.map(|other| other.1),
                _ => line.silhouette,
            })),
            _ => {}
        }
    }
    Some(())
}

fn write_columns(writer: &mut SerializedFileWriter<File>, columns: &[AnyColumn]) -> ParquetResult<()> {
    let mut group = writer.next_row_group()?;
    for column in columns {
        let mut chunk = group.next_column()?.expect("the schema has all columns");
        match (chunk.untyped(), column) {
            (ColumnWriter::ByteArrayColumnWriter(chunk), AnyColumn::Texts(column)) => {
                chunk.write_batch(&column.values, column.levels.as_deref(), None)?
            }
            (ColumnWriter::Int32ColumnWriter(chunk), AnyColumn::Int32(column)) => {
                chunk.write_batch(&column.values, column.levels.as_deref(), None)?
            }
            (ColumnWriter::Int64ColumnWriter(chunk), AnyColumn::Int64(column)) => {
                chunk.write_batch(&column.values, column.levels.as_deref(), None)?
            }
            (ColumnWriter::DoubleColumnWriter(chunk), AnyColumn::Double(column)) => {
                chunk.write_batch(&column.values, column.levels.as_deref(), None)?
            }
            _ => unreachable!("the file has the schema that was read"),
        };
        chunk.close()?;
    }
    group.close().map(drop)
}

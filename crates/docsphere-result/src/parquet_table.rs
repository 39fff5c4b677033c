//! Tables as Parquet files, written row by row.
//!
//! This uses the column writers of the crate `parquet` and not its Arrow writer: Arrow brings a
//! dozen crates, which take longer to build than everything else that a result needs.
//!
//! Rows are collected in columns in memory until a row group is full, which bounds the memory: at
//! most [`GROUP_ROWS`] rows and about [`GROUP_BYTES`] bytes.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::Result as ParquetResult;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use crate::error::{Error, Result};

/// Rows of a row group.
const GROUP_ROWS: usize = 1 << 17;

/// Bytes of values after which a row group ends.
const GROUP_BYTES: usize = 32 << 20;

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Int32,
    Int64,
    Float64,
    /// Days since 1970.
    Date,
    /// Microseconds since 1970, UTC.
    Moment,
    Int32List,
    Float64List,
}

/// A column.
pub(crate) struct Field<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: Kind,
    /// Whether values may be missing. Lists never are.
    pub(crate) is_optional: bool,
}

impl<'a> Field<'a> {
    pub(crate) fn new(name: &'a str, kind: Kind, is_optional: bool) -> Self {
        Field { name, kind, is_optional }
    }
}

/// A value of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Missing,
    Text(&'a str),
    Int32(i32),
    Int64(i64),
    Float64(f64),
    Int32List(&'a [i32]),
    Float64List(&'a [f64]),
}

/// A number, or a missing one.
impl From<Option<f64>> for Value<'_> {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Value::Missing, Value::Float64)
    }
}

/// A number, or a missing one.
impl From<Option<i32>> for Value<'_> {
    fn from(number: Option<i32>) -> Self {
        number.map_or(Value::Missing, Value::Int32)
    }
}

/// A text, or a missing one.
impl<'a> From<Option<&'a str>> for Value<'a> {
    fn from(text: Option<&'a str>) -> Self {
        text.map_or(Value::Missing, Value::Text)
    }
}

/// The values of a column, without the missing ones.
enum Values {
    Texts(Vec<ByteArray>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float64(Vec<f64>),
}

/// A column of the rows that are not written yet.
struct Column {
    values: Values,
    /// Whether there is a value: for each row, or for each element of a list.
    definitions: Option<Vec<i16>>,
    /// For lists: whether an element continues the list of the one before.
    repetitions: Option<Vec<i16>>,
}

impl Column {
    fn new(field: &Field<'_>) -> Self {
        let is_list = matches!(field.kind, Kind::Int32List | Kind::Float64List);
        let values = match field.kind {
            Kind::Text => Values::Texts(Vec::new()),
            Kind::Int32 | Kind::Date | Kind::Int32List => Values::Int32(Vec::new()),
            Kind::Int64 | Kind::Moment => Values::Int64(Vec::new()),
            Kind::Float64 | Kind::Float64List => Values::Float64(Vec::new()),
        };
        Column {
            values,
            definitions: (field.is_optional || is_list).then(Vec::new),
            repetitions: is_list.then(Vec::new),
        }
    }

    /// Adds the value of a row. Returns the bytes that it takes.
    fn push(&mut self, value: Value<'_>) -> usize {
        let n_values = match (&mut self.values, value) {
            (_, Value::Missing) => {
                assert!(self.definitions.is_some(), "a required column has a missing value");
                0
            }
            (Values::Texts(values), Value::Text(text)) => {
                values.push(text.into());
                self.define(1);
                return size_of::<ByteArray>() + text.len();
            }
            (Values::Int32(values), Value::Int32(number)) => {
                values.push(number);
                1
            }
            (Values::Int64(values), Value::Int64(number)) => {
                values.push(number);
                1
            }
            (Values::Float64(values), Value::Float64(number)) => {
                values.push(number);
                1
            }
            (Values::Int32(values), Value::Int32List(numbers)) => {
                values.extend_from_slice(numbers);
                numbers.len()
            }
            (Values::Float64(values), Value::Float64List(numbers)) => {
                values.extend_from_slice(numbers);
                numbers.len()
            }
            (_, value) => unreachable!("{value:?} is not of the column's kind"),
        };
        self.define(n_values);
        8 * n_values
    }

    /// Notes that the row has this many values; one without any is missing, or an empty list.
    fn define(&mut self, n_values: usize) {
        let n_levels = n_values.max(1);
        if let Some(definitions) = &mut self.definitions {
            definitions.extend(std::iter::repeat_n(i16::from(n_values > 0), n_levels));
        }
        if let Some(repetitions) = &mut self.repetitions {
            repetitions.push(0);
            repetitions.extend(std::iter::repeat_n(1, n_levels - 1));
        }
    }
}

/// A Parquet file that is being written.
pub(crate) struct Table {
    path: PathBuf,
    writer: SerializedFileWriter<File>,
    columns: Vec<Column>,
    n_rows: usize,
    /// Rows and bytes that are not written yet.
    n_waiting: usize,
    n_bytes: usize,
}

impl Table {
    /// Creates a file with these columns.
    pub(crate) fn create(path: &Path, fields: &[Field<'_>]) -> Result<Self> {
        let create = || -> ParquetResult<SerializedFileWriter<File>> {
            let types = fields.iter().map(type_of).collect::<ParquetResult<_>>()?;
            let schema = Type::group_type_builder("documents").with_fields(types).build()?;
            let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
            SerializedFileWriter::new(File::create(path)?, Arc::new(schema), Arc::new(properties))
        };
        let writer = create().map_err(|error| Error::writing(io::Error::other(error), path))?;
        let columns = fields.iter().map(Column::new).collect();
        Ok(Table { path: path.to_owned(), writer, columns, n_rows: 0, n_waiting: 0, n_bytes: 0 })
    }

    /// Adds a row: one value for each column, in order.
    pub(crate) fn push<'a>(&mut self, row: impl IntoIterator<Item = Value<'a>>) -> Result<()> {
        let mut row = row.into_iter();
        for column in &mut self.columns {
            let value = row.next().expect("a row has a value for each column");
            self.n_bytes += column.push(value);
        }
        assert!(row.next().is_none(), "a row has one value for each column");
        self.n_rows += 1;
        self.n_waiting += 1;
        if self.n_waiting == GROUP_ROWS || self.n_bytes > GROUP_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes the rest. Returns the number of rows. The file is not synced.
    pub(crate) fn close(mut self) -> Result<usize> {
        if self.n_waiting > 0 {
            self.flush()?;
        }
        let closed = self.writer.close().map_err(io::Error::other);
        closed.map_err(|error| Error::writing(error, &self.path))?;
        Ok(self.n_rows)
    }

    fn flush(&mut self) -> Result<()> {
        let written = write_group(&mut self.writer, &mut self.columns);
        (self.n_waiting, self.n_bytes) = (0, 0);
        written.map_err(|error| Error::writing(io::Error::other(error), &self.path))
    }
}

/// Writes the columns as a row group, and empties them.
fn write_group(writer: &mut SerializedFileWriter<File>, columns: &mut [Column]) -> ParquetResult<()> {
    let mut group = writer.next_row_group()?;
    for column in columns {
        let mut chunk = group.next_column()?.expect("the schema has all columns");
        let (definitions, repetitions) = (column.definitions.as_deref(), column.repetitions.as_deref());
        match &mut column.values {
            Values::Texts(values) => {
                chunk.typed::<ByteArrayType>().write_batch(values, definitions, repetitions)?;
                values.clear();
            }
            Values::Int32(values) => {
                chunk.typed::<Int32Type>().write_batch(values, definitions, repetitions)?;
                values.clear();
            }
            Values::Int64(values) => {
                chunk.typed::<Int64Type>().write_batch(values, definitions, repetitions)?;
                values.clear();
            }
            Values::Float64(values) => {
                chunk.typed::<DoubleType>().write_batch(values, definitions, repetitions)?;
                values.clear();
            }
        }
        chunk.close()?;
        column.definitions.iter_mut().for_each(Vec::clear);
        column.repetitions.iter_mut().for_each(Vec::clear);
    }
    group.close()?;
    Ok(())
}

/// The type of a column in the file. A list has three levels, as the format wants it.
fn type_of(field: &Field<'_>) -> ParquetResult<TypePtr> {
    let repetition = if field.is_optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let plain = |name: &str, physical: Physical, logical: Option<LogicalType>, repetition: Repetition| {
        let builder = Type::primitive_type_builder(name, physical);
        builder.with_logical_type(logical).with_repetition(repetition).build().map(Arc::new)
    };
    let list = |physical: Physical| {
        let element = plain("element", physical, None, Repetition::REQUIRED)?;
        let elements = Type::group_type_builder("list")
            .with_repetition(Repetition::REPEATED)
            .with_fields(vec![element])
            .build()?;
        let builder = Type::group_type_builder(field.name).with_repetition(Repetition::REQUIRED);
        let builder = builder.with_logical_type(Some(LogicalType::List));
        builder.with_fields(vec![Arc::new(elements)]).build().map(Arc::new)
    };
    match field.kind {
        Kind::Text => plain(field.name, Physical::BYTE_ARRAY, Some(LogicalType::String), repetition),
        Kind::Int32 => plain(field.name, Physical::INT32, None, repetition),
        Kind::Int64 => plain(field.name, Physical::INT64, None, repetition),
        Kind::Float64 => plain(field.name, Physical::DOUBLE, None, repetition),
        Kind::Date => plain(field.name, Physical::INT32, Some(LogicalType::Date), repetition),
        Kind::Moment => {
            let moment = LogicalType::timestamp(true, TimeUnit::MICROS);
            plain(field.name, Physical::INT64, Some(moment), repetition)
        }
        Kind::Int32List => list(Physical::INT32),
        Kind::Float64List => list(Physical::DOUBLE),
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;

    /// Two row groups, with missing values and lists on both sides of the border.
    #[test]
    fn every_kind_of_value_is_read_back_by_row() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("t.parquet");
        let fields = [
            Field::new("text", Kind::Text, true),
            Field::new("id", Kind::Int32, false),
            Field::new("n", Kind::Int64, true),
            Field::new("x", Kind::Float64, false),
            Field::new("list", Kind::Int32List, false),
        ];
        let n_rows = GROUP_ROWS + 3;
        let text = |row: usize| (!row.is_multiple_of(3)).then(|| format!("é{}", row % 5));
        let list = |row: usize| (0..row % 4).map(|i| (row + i) as i32).collect::<Vec<_>>();
        let mut table = Table::create(&path, &fields).unwrap();
        for row in 0..n_rows {
            let n = if row % 2 == 0 { Value::Missing } else { Value::Int64(-(row as i64)) };
            let (text, list) = (text(row), list(row));
            let id = Value::Int32(row as i32);
            let x = Value::Float64((row + 1) as f64 / 8.0);
            table.push([text.as_deref().into(), id, n, x, Value::Int32List(&list)]).unwrap();
        }
        assert_eq!(table.close().unwrap(), n_rows);
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        assert_eq!(reader.num_row_groups(), 2);
        let mut n_read = 0;
        for (row, found) in reader.get_row_iter(None).unwrap().enumerate() {
            let list = list(row).iter().map(i32::to_string).collect::<Vec<_>>().join(", ");
            let text = text(row).map_or("null".to_owned(), |text| format!("\"{text}\""));
            let n = if row % 2 == 0 { "null".to_owned() } else { format!("-{row}") };
            let x = format!("{:?}", (row + 1) as f64 / 8.0);
            assert_eq!(
                found.unwrap().to_string(),
                format!("{{text: {text}, id: {row}, n: {n}, x: {x}, list: [{list}]}}")
            );
            n_read += 1;
        }
        assert_eq!(n_read, n_rows);
    }
}

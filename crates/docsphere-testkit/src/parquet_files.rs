//! Parquet files for the tests of readers, column by column.
//!
//! Written with the column writers of the crate `parquet`, because its Arrow writer takes minutes
//! to build.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

/// The values of a column; `None` is a missing one, in an optional column.
#[derive(Clone, Debug)]
pub enum Values {
    /// Texts, which need not be UTF-8.
    Bytes(Vec<Option<Vec<u8>>>),
    /// Truth values.
    Bools(Vec<Option<bool>>),
    /// 32-bit integers; also narrower and unsigned ones.
    Int32(Vec<Option<i32>>),
    /// 64-bit integers; also unsigned ones.
    Int64(Vec<Option<i64>>),
    /// 32-bit floats.
    Float(Vec<Option<f32>>),
    /// 64-bit floats.
    Double(Vec<Option<f64>>),
}

impl Values {
    /// Texts, none of which is missing.
    pub fn texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        Values::Bytes(texts.into_iter().map(|text| Some(text.as_bytes().to_vec())).collect())
    }

    /// Texts, some of which may be missing.
    pub fn some_texts(texts: impl IntoIterator<Item = Option<String>>) -> Self {
        Values::Bytes(texts.into_iter().map(|text| text.map(String::into_bytes)).collect())
    }

    /// 32-bit integers, none of which is missing.
    pub fn int32(numbers: impl IntoIterator<Item = i32>) -> Self {
        Values::Int32(numbers.into_iter().map(Some).collect())
    }

    /// 64-bit integers, none of which is missing.
    pub fn int64(numbers: impl IntoIterator<Item = i64>) -> Self {
        Values::Int64(numbers.into_iter().map(Some).collect())
    }

    fn len(&self) -> usize {
        match self {
            Values::Bytes(values) => values.len(),
            Values::Bools(values) => values.len(),
            Values::Int32(values) => values.len(),
            Values::Int64(values) => values.len(),
            Values::Float(values) => values.len(),
            Values::Double(values) => values.len(),
        }
    }
}

/// Writes a file with these columns. `schema` is a message type of Parquet, such as
/// `required binary text (UTF8); optional int64 n;`. Row groups are as long as the properties say.
///
/// # Panics
/// If the schema does not fit the values, or the file cannot be written.
pub fn write_parquet(path: &Path, schema: &str, columns: &[Values], properties: WriterProperties) {
    let schema = parse_message_type(&format!("message rows {{ {schema} }}")).unwrap();
    let n_rows = columns.first().map_or(0, Values::len);
    let group_rows = properties.max_row_group_row_count().unwrap_or(n_rows).max(1);
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).unwrap();
    for first in (0..n_rows).step_by(group_rows) {
        let rows = first..n_rows.min(first + group_rows);
        let mut group = writer.next_row_group().unwrap();
        for values in columns {
            let mut column = group.next_column().unwrap().expect("a column of the schema");
            write_values(column.untyped(), values, rows.clone());
            column.close().unwrap();
        }
        assert!(group.next_column().unwrap().is_none(), "values for every column of the schema");
        group.close().unwrap();
    }
    writer.close().unwrap();
}

fn write_values(writer: &mut ColumnWriter<'_>, values: &Values, rows: std::ops::Range<usize>) {
    /// Writes what is there, and for optional columns what is missing.
    macro_rules! write {
        ($writer:expr, $values:expr, $convert:expr) => {{
            let values = &$values[rows];
            let is_optional = $writer.get_descriptor().max_def_level() > 0;
            let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
            assert!(is_optional || levels.iter().all(|&level| level == 1), "a required value is missing");
            let present: Vec<_> = values.iter().flatten().map($convert).collect();
            $writer.write_batch(&present, is_optional.then_some(&levels[..]), None).unwrap();
        }};
    }
    match (writer, values) {
        (ColumnWriter::ByteArrayColumnWriter(writer), Values::Bytes(values)) => {
            write!(writer, values, |bytes| ByteArray::from(bytes.clone()))
        }
        (ColumnWriter::BoolColumnWriter(writer), Values::Bools(values)) => {
            write!(writer, values, |value| *value)
        }
        (ColumnWriter::Int32ColumnWriter(writer), Values::Int32(values)) => {
            write!(writer, values, |value| *value)
        }
        (ColumnWriter::Int64ColumnWriter(writer), Values::Int64(values)) => {
            write!(writer, values, |value| *value)
        }
        (ColumnWriter::FloatColumnWriter(writer), Values::Float(values)) => {
            write!(writer, values, |value| *value)
        }
        (ColumnWriter::DoubleColumnWriter(writer), Values::Double(values)) => {
            write!(writer, values, |value| *value)
        }
        _ => panic!("a column of another type than its values"),
    }
}

//! Tables as Parquet.

use std::path::Path;

use super::{Head, Kind, TableWriter, Value};
use crate::error::Result;
use crate::parquet_table::{self, Field, Table};

pub(super) fn create(path: &Path, heads: &[Head]) -> Result<Box<dyn TableWriter>> {
    fn field(head: &Head) -> Field<'_> {
        let kind = match head.kind {
            Kind::Text => parquet_table::Kind::Text,
            Kind::Integer => parquet_table::Kind::Int64,
            Kind::Number => parquet_table::Kind::Float64,
        };
        Field::new(&head.name, kind, true)
    }
    let fields: Vec<Field<'_>> = heads.iter().map(field).collect();
    Ok(Box::new(Table::create(path, &fields)?))
}

impl TableWriter for Table {
    fn row(&mut self, values: Vec<Value>) -> Result<()> {
        self.push(values.iter().map(|value| match value {
            Value::Missing => parquet_table::Value::Missing,
            Value::Text(text) => parquet_table::Value::Text(text),
            &Value::Integer(number) => parquet_table::Value::Int64(number),
            &Value::Number(number) => parquet_table::Value::Float64(number),
        }))
    }

    fn finish(self: Box<Self>) -> Result<usize> {
        self.close().map(|_| 0)
    }
}

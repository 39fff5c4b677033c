//! Tables as lines of text.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::{Head, TableWriter, Value};
use crate::error::{Error, Result};

fn create(path: &Path) -> Result<BufWriter<File>> {
    File::create(path).map(BufWriter::new).map_err(|error| Error::writing(error, path))
}

/// Comma-separated values.
pub(super) struct Csv {
    path: PathBuf,
    writer: csv::Writer<BufWriter<File>>,
}

impl Csv {
    pub(super) fn create(path: &Path, heads: &[Head]) -> Result<Self> {
        let mut writer = csv::Writer::from_writer(create(path)?);
        let names = heads.iter().map(|head| &head.name);
        writer.write_record(names).map_err(|error| Error::writing(io::Error::from(error), path))?;
        Ok(Csv { path: path.to_owned(), writer })
    }
}

impl TableWriter for Csv {
    fn row(&mut self, values: Vec<Value>) -> Result<()> {
        let text = |value: Value| match value {
            Value::Missing => String::new(),
            Value::Text(text) => text,
            Value::Integer(number) => number.to_string(),
            Value::Number(number) => number.to_string(),
        };
        let written = self.writer.write_record(values.into_iter().map(text));
        written.map_err(|error| Error::writing(io::Error::from(error), &self.path))
    }

    fn finish(mut self: Box<Self>) -> Result<usize> {
        self.writer.flush().map(|()| 0).map_err(|error| Error::writing(error, &self.path))
    }
}

/// JSON objects.
pub(super) struct Jsonl {
    path: PathBuf,
    names: Vec<String>,
    file: BufWriter<File>,
}

impl Jsonl {
    pub(super) fn create(path: &Path, heads: &[Head]) -> Result<Self> {
        let names = heads.iter().map(|head| head.name.clone()).collect();
        Ok(Jsonl { path: path.to_owned(), names, file: create(path)? })
    }
}

impl TableWriter for Jsonl {
    fn row(&mut self, values: Vec<Value>) -> Result<()> {
        let value = |value: Value| match value {
            Value::Missing => serde_json::Value::Null,
            Value::Text(text) => text.into(),
            Value::Integer(number) => number.into(),
            Value::Number(number) => number.into(),
        };
        let write = || -> io::Result<()> {
            for (place, (name, found)) in self.names.iter().zip(values).enumerate() {
                self.file.write_all(if place == 0 { b"{" } else { b"," })?;
                serde_json::to_writer(&mut self.file, name)?;
                self.file.write_all(b":")?;
                serde_json::to_writer(&mut self.file, &value(found))?;
            }
            self.file.write_all(b"}\n")
        };
        write().map_err(|error| Error::writing(error, &self.path))
    }

    fn finish(mut self: Box<Self>) -> Result<usize> {
        self.file.flush().map(|()| 0).map_err(|error| Error::writing(error, &self.path))
    }
}

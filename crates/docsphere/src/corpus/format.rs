//! The document formats: their names and their file extensions.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::compression;
use crate::error::{Error, ErrorKind, Result};
use crate::names::impl_names;

/// A document format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CorpusFormat {
    /// One document per line.
    Lines,
    /// One JSON object per line.
    #[serde(rename = "jsonl")]
    JsonLines,
    /// Comma-separated values with a header.
    Csv,
    /// Tab-separated values with a header; quoted like CSV.
    Tsv,
    /// Apache Parquet. Not in every build.
    Parquet,
    /// A spreadsheet, XLSX or ODS, of which a sheet is a table with a header. Not in every build.
    Sheet,
    /// A mailbox: messages one after the other. Not in every build.
    Mbox,
    /// A folder with one document per file.
    Folder,
}

/// Static facts about a format.
struct Facts {
    /// The name by which users choose the format.
    name: &'static str,
    /// The name in error messages.
    title: &'static str,
    /// Its file extensions, in lower case.
    endings: &'static [&'static str],
}

impl CorpusFormat {
    /// All formats.
    pub const ALL: &'static [CorpusFormat] = &[
        CorpusFormat::Lines,
        CorpusFormat::JsonLines,
        CorpusFormat::Csv,
        CorpusFormat::Tsv,
        CorpusFormat::Parquet,
        CorpusFormat::Sheet,
        CorpusFormat::Mbox,
        CorpusFormat::Folder,
    ];

    const fn facts(self) -> Facts {
        let (name, title, endings): (_, _, &[&str]) = match self {
            CorpusFormat::Lines => ("lines", "text", &["txt", "text"]),
            CorpusFormat::JsonLines => ("jsonl", "JSON Lines", &["jsonl", "ndjson", "json"]),
            CorpusFormat::Csv => ("csv", "CSV", &["csv"]),
            CorpusFormat::Tsv => ("tsv", "TSV", &["tsv", "tab"]),
            CorpusFormat::Parquet => ("parquet", "Parquet", &["parquet"]),
            CorpusFormat::Sheet => ("sheet", "spreadsheet", &["xlsx", "xlsm", "ods"]),
            CorpusFormat::Mbox => ("mbox", "mail", &["mbox", "mbx"]),
            CorpusFormat::Folder => ("folder", "text", &[]),
        };
        Facts { name, title, endings }
    }

    /// The name by which users choose the format.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// The name in error messages.
    pub(super) const fn title(self) -> &'static str {
        self.facts().title
    }

    /// The format of a file of this name that holds many records, and is no text to be read as one.
    pub(super) fn of_records(path: &Path) -> Option<Self> {
        let format = CorpusFormat::from_path(path).ok()?;
        let (lists, tables) =
            (format == CorpusFormat::JsonLines, [Self::Csv, Self::Tsv, Self::Parquet, Self::Sheet]);
        (lists || tables.contains(&format)).then_some(format)
    }

    /// The format that a file of this name usually has. A final `.gz` or `.zst` and the letter case
    /// are ignored.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if the name does not determine a format.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let name = compression::without_ending(path).file_name().unwrap_or_default();
        let name = name.to_string_lossy().to_ascii_lowercase();
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        let found = CorpusFormat::ALL.iter().copied().find(|format| format.facts().endings.contains(&ending));
        if ["xls", "xlsb", "numbers"].contains(&ending) {
            let kind = ErrorKind::Unsupported {
                what: format!("a spreadsheet of the kind .{ending}"),
                hint: "save it as .xlsx or CSV, for example with soffice --headless --convert-to xlsx"
                    .to_owned(),
            };
            return Err(Error::from(kind).at_path(path));
        }
        found.ok_or_else(|| {
            Error::from(ErrorKind::Unsupported {
                what: "guessing the format from this name".to_owned(),
                hint: "known are folders, *.txt, *.jsonl, *.ndjson, *.json, *.csv, *.tsv, *.mbox, *.parquet, *.xlsx \
                       and *.ods, each but the last three also with .gz or .zst, and single documents (*.html, *.md, \
                       *.eml, *.docx, *.odt, *.epub, *.pdf); for other names and standard input state the format: lines, \
                       jsonl, csv, tsv, parquet, sheet or mbox"
                    .to_owned(),
            })
            .at_path(path)
        })
    }
}

impl_names!(CorpusFormat, "format");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_format() {
        for (name, format) in [
            ("a/b.txt", CorpusFormat::Lines),
            ("b.JSONL.GZ", CorpusFormat::JsonLines),
            ("b.ndjson.zst", CorpusFormat::JsonLines),
            ("b.json", CorpusFormat::JsonLines),
            ("b.csv", CorpusFormat::Csv),
            ("b.tsv.gz", CorpusFormat::Tsv),
            ("b.parquet", CorpusFormat::Parquet),
            ("b.mbox.gz", CorpusFormat::Mbox),
            ("b.XLSX", CorpusFormat::Sheet),
            ("b.ods", CorpusFormat::Sheet),
        ] {
            assert_eq!(CorpusFormat::from_path(name).unwrap(), format, "{name}");
        }
        assert_eq!(
            CorpusFormat::from_path("some/a.xyz").unwrap_err().to_string(),
            "some/a.xyz: guessing the format from this name is not supported; known are folders, *.txt, *.jsonl, *.ndjson, \
             *.json, *.csv, *.tsv, *.mbox, *.parquet, *.xlsx and *.ods, each but the last three also with .gz or .zst, and \
             single documents (*.html, *.md, *.eml, *.docx, *.odt, *.epub, *.pdf); for other names and standard input state the \
             format: lines, jsonl, csv, tsv, parquet, sheet or mbox"
        );
        assert_eq!(
            CorpusFormat::from_path("old.XLS").unwrap_err().to_string(),
            "old.XLS: a spreadsheet of the kind .xls is not supported; save it as .xlsx or CSV, for example with soffice \
             --headless --convert-to xlsx"
        );
        assert_eq!(
            "xml".parse::<CorpusFormat>().unwrap_err().to_string(),
            "format must be one of lines, jsonl, csv, tsv, parquet, sheet, mbox, folder, got \"xml\""
        );
        for &format in CorpusFormat::ALL {
            assert_eq!(format.to_string().parse::<CorpusFormat>().unwrap(), format);
            assert_eq!(serde_json::to_string(&format).unwrap(), format!("\"{format}\""));
        }
    }
}

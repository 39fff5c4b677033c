//! Options for reading a corpus.

use encoding_rs::Encoding;
use serde::{Deserialize, Serialize};

use super::encoding;
use super::format::CorpusFormat;
use super::glob::Glob;
use super::html::Html;
use super::kept::Keep;
use super::records::Quote;
use super::split::Split;
use crate::error::{Error, Result};
use crate::memory::MemoryLimit;

/// Options for reading a corpus.
///
/// | option | default | meaning |
/// |---|---|---|
/// | `format` | by name | the format of all inputs |
/// | `text_fields` | `text` | fields that hold the text, joined with line feeds |
/// | `id_field` | `id`, where there is one | the field that holds the id |
/// | `keep` | nothing | which other fields are kept: all, or those of some names |
/// | `delimiter` | found from the first records | what separates the fields of CSV and TSV |
/// | `quote` | found from the first records | what quotes the fields of CSV and TSV |
/// | `sheet` | the first | the sheet of a spreadsheet, by name or number |
/// | `encoding` | found from the bytes | the encoding of all text |
/// | `html` | auto | whether tags are removed from texts, and entities decoded |
/// | `split` | whole documents | whether documents are cut into passages, and where |
/// | `keep_quotes` | no | whether quoted replies and signatures of mail stay |
/// | `glob` | all files | which files of a folder are read; hidden ones never |
/// | `skip_bad_records` | no | whether records that cannot be read are left out and counted, or an error |
/// | `memory` | no limit | memory limit of the process while it reads |
///
/// Fields are public for reading; each has a setter of the same name.
/// Serialized, they lack the memory limit, which is a matter of each process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CorpusOptions {
    /// The format of all inputs; `None` to go by their names.
    pub format: Option<CorpusFormat>,
    /// The fields that hold the text, joined with line feeds. A null field is empty; a number
    /// becomes its digits. A record of JSON may lack some of several fields, which then are empty;
    /// each must be in some record.
    pub text_fields: Vec<String>,
    /// The field that holds the id, required in every record. `None`: `id` in records that have it.
    pub id_field: Option<String>,
    /// Which other fields are kept: see [`Document::kept`](crate::Document::kept).
    pub keep: Keep,
    /// The character that separates the fields of CSV and TSV, in ASCII. `None`: found from the
    /// first records; a tab in TSV.
    pub delimiter: Option<char>,
    /// What quotes the fields of CSV and TSV. `None`: found from the first records, and quotes that
    /// enclose no field are plain characters.
    pub quote: Option<Quote>,
    /// The sheet of a spreadsheet, by name or by number from 1. `None`: the first.
    pub sheet: Option<String>,
    /// The encoding of all text, by one of its names on the web, such as `windows-1252`,
    /// `shift_jis` or `utf-16le`. `None`: UTF-8 where the bytes are that, otherwise guessed, file
    /// by file; then a corpus of which more than a small share is damaged is refused. A byte order
    /// mark overrides it. Parquet is always UTF-8.
    pub encoding: Option<String>,
    /// Whether tags are removed from texts, and entities decoded. With [`Html::Auto`], tags are
    /// removed from texts that certainly are HTML.
    pub html: Html,
    /// Whether documents are cut into passages, each with the id of its document, `#` and a number;
    /// and where. `None`: documents stay whole.
    pub split: Option<Split>,
    /// Whether quoted replies and signatures of mail stay.
    pub keep_quotes: bool,
    /// Which files of a folder are read. `*` matches anything but a slash, `**` anything, `?` one
    /// character. A pattern without a slash is matched against the file's name, otherwise against
    /// its path within the folder.
    pub glob: Option<String>,
    /// Whether unreadable records are left out and counted; otherwise the first is an error.
    pub skip_bad_records: bool,
    /// Whether ids that are numbers begin with the name of their file also if there is one file
    /// alone: `notes.csv:17`. For documents that join others.
    #[serde(default)]
    pub named_ids: bool,
    /// Memory limit of the process while documents are read and turned into rows. Regardless of how
    /// far a compressed file expands, only long records and the data kept of the documents count.
    #[serde(skip)]
    pub memory: MemoryLimit,
}

impl Default for CorpusOptions {
    fn default() -> Self {
        CorpusOptions {
            format: None,
            text_fields: vec!["text".to_owned()],
            id_field: None,
            keep: Keep::Nothing,
            delimiter: None,
            quote: None,
            sheet: None,
            encoding: None,
            html: Html::Auto,
            split: None,
            keep_quotes: false,
            glob: None,
            skip_bad_records: false,
            named_ids: false,
            memory: MemoryLimit::default(),
        }
    }
}

impl CorpusOptions {
    /// The format of all inputs; `None` to go by their names.
    #[must_use]
    pub fn format(mut self, format: impl Into<Option<CorpusFormat>>) -> Self {
        self.format = format.into();
        self
    }

    /// The fields that hold the text, joined with line feeds.
    #[must_use]
    pub fn text_fields(mut self, text_fields: impl IntoIterator<Item: Into<String>>) -> Self {
        self.text_fields = text_fields.into_iter().map(Into::into).collect();
        self
    }

    /// The field that holds the id, required in every record.
    #[must_use]
    pub fn id_field(mut self, id_field: impl Into<String>) -> Self {
        self.id_field = Some(id_field.into());
        self
    }

    /// Which other fields are kept.
    #[must_use]
    pub fn keep(mut self, keep: Keep) -> Self {
        self.keep = keep;
        self
    }

    /// The character that separates the fields of CSV and TSV; `None` to find it.
    #[must_use]
    pub fn delimiter(mut self, delimiter: impl Into<Option<char>>) -> Self {
        self.delimiter = delimiter.into();
        self
    }

    /// What quotes the fields of CSV and TSV; `None` to find it.
    #[must_use]
    pub fn quote(mut self, quote: impl Into<Option<Quote>>) -> Self {
        self.quote = quote.into();
        self
    }

    /// The sheet of a spreadsheet, by name or by number from 1.
    #[must_use]
    pub fn sheet(mut self, sheet: impl Into<String>) -> Self {
        self.sheet = Some(sheet.into());
        self
    }

    /// The encoding of all text, by one of its names on the web.
    #[must_use]
    pub fn encoding(mut self, encoding: impl Into<String>) -> Self {
        self.encoding = Some(encoding.into());
        self
    }

    /// Whether tags are removed from texts, and entities decoded.
    #[must_use]
    pub fn html(mut self, html: Html) -> Self {
        self.html = html;
        self
    }

    /// Whether documents are cut into passages, and where; `None` to leave them whole.
    #[must_use]
    pub fn split(mut self, split: impl Into<Option<Split>>) -> Self {
        self.split = split.into();
        self
    }

    /// Whether quoted replies and signatures of mail stay.
    #[must_use]
    pub fn keep_quotes(mut self, keep_quotes: bool) -> Self {
        self.keep_quotes = keep_quotes;
        self
    }

    /// Which files of a folder are read.
    #[must_use]
    pub fn glob(mut self, glob: impl Into<String>) -> Self {
        self.glob = Some(glob.into());
        self
    }

    /// Whether unreadable records are left out and counted.
    #[must_use]
    pub fn skip_bad_records(mut self, skip_bad_records: bool) -> Self {
        self.skip_bad_records = skip_bad_records;
        self
    }

    /// Whether ids that are numbers always begin with the name of their file.
    #[must_use]
    pub fn named_ids(mut self, named_ids: bool) -> Self {
        self.named_ids = named_ids;
        self
    }

    /// Memory limit of the process while documents are read and turned into rows.
    #[must_use]
    pub fn memory(mut self, memory: MemoryLimit) -> Self {
        self.memory = memory;
        self
    }

    /// Checks every option.
    ///
    /// # Errors
    /// [`ErrorKind::Parameter`](crate::ErrorKind::Parameter) for the first option that is out of
    /// its range.
    pub fn check(&self) -> Result<()> {
        let n_fields = self.text_fields.len();
        Error::unless((1..=100).contains(&n_fields), "text_fields", "from 1 to 100 names", n_fields)?;
        self.keep.check()?;
        if let Some(delimiter) = self.delimiter {
            let fits = delimiter.is_ascii() && !['"', '\'', '\r', '\n'].contains(&delimiter);
            let expected = "an ASCII character, and neither a quote nor a line end";
            Error::unless(fits, "delimiter", expected, format!("{delimiter:?}"))?;
        }
        if let Some(name) = &self.encoding {
            let expected = "an encoding of the web, such as utf-8, windows-1252, shift_jis or utf-16le (for others: iconv)";
            Error::unless(encoding::named(name).is_some(), "encoding", expected, format!("{name:?}"))?;
        }
        if let Some(glob) = &self.glob {
            Error::unless(!glob.is_empty(), "glob", "a pattern such as *.txt", "an empty one")?;
        }
        Ok(())
    }

    /// The encoding of all text, if it was named.
    pub(super) fn named_encoding(&self) -> Option<&'static Encoding> {
        self.encoding.as_deref().and_then(encoding::named)
    }

    pub(super) fn compiled_glob(&self) -> Option<Glob> {
        self.glob.as_deref().map(Glob::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_out_of_range_are_refused() {
        let message = |options: CorpusOptions| options.check().unwrap_err().to_string();
        assert_eq!(
            message(CorpusOptions { text_fields: vec![], ..CorpusOptions::default() }),
            "text_fields must be from 1 to 100 names, got 0"
        );
        assert_eq!(
            message(CorpusOptions { glob: Some(String::new()), ..CorpusOptions::default() }),
            "glob must be a pattern such as *.txt, got an empty one"
        );
    }
}

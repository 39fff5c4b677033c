//! Stage 1: files in, documents out.
//!
//! [`Corpus::open`] takes files, folders or standard input (`-`); [`CorpusOptions`] says how to
//! read them.
//!
//! | format | names | a document is | its id |
//! |---|---|---|---|
//! | [`CorpusFormat::Lines`] | `*.txt` | a line, even an empty one | the line number |
//! | [`CorpusFormat::JsonLines`] | `*.jsonl`, `*.ndjson`, `*.json` | an object on a line of its own (blank lines do not count), or an element of a list | the id field, otherwise the number of the line or element |
//! | [`CorpusFormat::Csv`], [`CorpusFormat::Tsv`] | `*.csv`, `*.tsv` | a record below the header | the id field, otherwise the number of the record |
//! | [`CorpusFormat::Parquet`] | `*.parquet` | a row (needs the cargo feature `parquet`) | the id field, otherwise the row number |
//! | [`CorpusFormat::Sheet`] | `*.xlsx`, `*.ods` | a row below the header of a sheet (needs the cargo feature `office`) | the id field, otherwise the number of the row |
//! | [`CorpusFormat::Mbox`] | `*.mbox` | a message (needs the cargo feature `mail`) | its number |
//! | [`CorpusFormat::Folder`] | any folder; a single `*.html`, `*.md`, `*.eml`, `*.docx`, … | a file in it or below, ordered by path; a message of a mailbox | the path within the folder, and `#` with the number of the message |
//!
//! A folder whose files are all tables or lists of records, by their names, stands for these files;
//! so does one for which the format is stated.
//!
//! Numbers count from 1. With several inputs, ids that are not from an id field begin with the
//! input's name and a colon (`news.txt:17`; the whole path where two inputs have the same name), so
//! they stay unique. All formats but Parquet and spreadsheets may be compressed with gzip or zstd,
//! detected by content. Text in another encoding than UTF-8 is converted
//! ([`CorpusOptions::encoding`]); bytes that do not fit the encoding become `U+FFFD` and the
//! documents concerned are counted. A byte order mark and carriage returns at line ends are
//! dropped.
//!
//! The files of a folder are text, web pages, mail or office documents, by their content; images,
//! sound, film, archives and programs are skipped and counted.
//! Texts that are HTML lose their tags, and entities are decoded ([`CorpusOptions::html`]).
//! Long documents can be cut into passages, which then take the place of documents
//! ([`CorpusOptions::split`]).
//!
//! Other fields of the records are kept if they are asked for ([`CorpusOptions::keep`]), as raw
//! values beside the text.
//!
//! # The idea
//!
//! One thread decompresses the stream and cuts it into chunks of whole records. The threads of the
//! pool parse the chunks and pass each document to the caller's code in place. Results come back in
//! chunk order. So document numbers do not depend on the number of threads, and at most three
//! chunks per thread (2 MiB each, unless a record is longer) and two more are in memory.
//!
//! From four threads on, compressed files, and parts of one that can be decompressed on their own,
//! are decompressed side by side before they are cut (`ahead.rs`), with at most two more chunks per
//! thread in memory. The one stream of an ordinary file of gzip or zstd is sequential.
//!
//! A record may have up to 1 GiB. The memory for a record of more than 4 MiB is checked before it
//! is allocated ([`CorpusOptions::memory`]), and so is the memory for the data kept of the
//! documents. The expanded size of a compressed file does not matter.
//!
//! Several programs can read a corpus together, each some of its [pieces](CorpusPiece).

mod ahead;
mod chunk;
mod delimited;
mod dialect;
mod divide;
mod document;
mod encoding;
mod extract;
mod field_names;
mod folder;
mod format;
mod glob;
mod html;
mod in_flight;
mod input;
mod json_errors;
mod json_fields;
mod json_kept;
mod json_layout;
mod jsonl;
mod kept;
mod line_range;
mod lines;
mod options;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
#[path = "parquet_enabled.rs"]
mod parquet_input;
#[cfg(not(feature = "parquet"))]
#[path = "parquet_disabled.rs"]
mod parquet_input;
mod piece;
mod read;
mod records;
mod segments;
#[cfg(feature = "office")]
#[path = "sheet_enabled.rs"]
mod sheet;
#[cfg(not(feature = "office"))]
#[path = "sheet_disabled.rs"]
mod sheet;
#[cfg(feature = "office")]
mod sheet_dates;
#[cfg(feature = "office")]
mod sheet_parts;
mod split;
mod stamp;
mod stats;
mod stream;

#[cfg(test)]
mod tests;

pub use document::{Document, RecordPlace, SkippedFiles};
pub(crate) use field_names::field_list;
pub use format::CorpusFormat;
pub use html::Html;
pub use input::Corpus;
pub(crate) use kept::{BETWEEN_FIELDS, check_number, decode, encode, missing};
pub use kept::{Keep, Kept, MAX_COLUMNS};
pub use options::CorpusOptions;
pub use piece::CorpusPiece;
pub(crate) use read::ChunkWork;
pub use records::Quote;
pub use split::Split;
pub use stats::{CorpusStats, EncodingName};

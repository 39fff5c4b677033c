//! Stage 1: files in, documents out.
//!
//! [`Corpus::open`] takes files, folders or standard input (`-`), [`CorpusOptions`] say how to read
//! them.
//!
//! | format | names | a document is | its id |
//! |---|---|---|---|
//! | [`CorpusFormat::Lines`] | `*.txt` | a line, also an empty one | the line number |
//! | [`CorpusFormat::JsonLines`] | `*.jsonl`, `*.ndjson`, `*.json` | an object on a line of its own; blank lines do not count | the id field, else the line number |
//! | [`CorpusFormat::Csv`], [`CorpusFormat::Tsv`] | `*.csv`, `*.tsv` | a record below the header | the id field, else the line number where it begins |
//! | [`CorpusFormat::Parquet`] | `*.parquet` | a row (needs the cargo feature `parquet`) | the id field, else the row number |
//! | [`CorpusFormat::Folder`] | any folder | a file in it or in its folders, by path in order | the path within the folder |
//!
//! Numbers count from 1. With several inputs, ids that are not from an id field begin with the
//! input's name and a colon (`news.txt:17`; the whole path where two inputs have the same name), so
//! they stay unique. All but Parquet may be packed with gzip or zstd, known by the content. Bytes
//! that are not UTF-8 become `U+FFFD` and the documents concerned are counted; a byte order mark
//! and carriage returns at line ends are dropped.
//!
//! # The idea
//!
//! One thread unpacks and cuts the stream into chunks of whole records; the threads of the pool
//! parse the chunks and hand each document on to whoever asked, in place; results come back in the
//! order of the chunks. So documents have the same numbers whatever the number of threads, and no
//! more than five chunks a thread (2 MiB each, unless a record is longer) are in memory.
//!
//! A record may have up to 1 GiB. What a record of more than 4 MiB takes is asked for before it is
//! taken ([`CorpusOptions::memory`]), and so is what is kept of the documents; how far a packed
//! file expands does not matter.

mod chunk;
mod delimited;
mod document;
mod folder;
mod format;
mod glob;
mod input;
mod jsonl;
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
mod read;
mod stream;

#[cfg(test)]
mod tests;

pub use document::Document;
pub use format::CorpusFormat;
pub use input::Corpus;
pub use options::CorpusOptions;
pub(crate) use read::ChunkWork;
pub use read::CorpusStats;

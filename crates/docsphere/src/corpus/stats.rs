//! Counts of what was read.

use std::fmt;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};

use encoding_rs::Encoding;
use serde::{Deserialize, Serialize};

use super::document::{ChunkTally, RecordPlace, SkippedFiles, add_named};
use super::options::CorpusOptions;
use crate::error::{ErrorKind, Result};

/// A corpus with a smaller share of damaged documents is read: 1 in so many.
const DAMAGED_SHARE: u64 = 100;

/// This many documents may be damaged, unless they are more than a quarter.
const FEW_DAMAGED: u64 = 10;

/// Counts of what was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CorpusStats {
    /// Documents read.
    pub n_documents: u64,
    /// Their passages: as many as documents, unless these are split
    /// ([`CorpusOptions::split`]).
    pub n_passages: u64,
    /// Records left out because they could not be read.
    pub n_bad_records: u64,
    /// The first of these, at most five.
    pub bad_records: Vec<RecordPlace>,
    /// Documents with bytes that were not text in their encoding and have been replaced.
    pub n_invalid_utf8: u64,
    /// Those of them that no encoding would mend: JSON with half a character (`\ud83d` without its
    /// other half), and Parquet, which is always UTF-8.
    pub n_beyond_encoding: u64,
    /// Fields of tables that begin with a quote which does not enclose them.
    pub n_stray_quotes: u64,
    /// Files of folders that are tables or lists of records by their names, and were read as one
    /// document each, since other files of the folder are not.
    pub n_whole_tables: u64,
    /// Files that are not UTF-8, and whose encoding was guessed.
    pub n_guessed_encodings: u64,
    /// The encoding that was guessed; of several, the first in the alphabet.
    pub guessed_encoding: Option<EncodingName>,
    /// Files of folders that hold no text.
    pub skipped: SkippedFiles,
    /// Bytes read from the files, before decompression.
    pub bytes_read: u64,
    /// Which text fields records of JSON have, by position.
    pub(crate) found_fields: u128,
}

impl CorpusStats {
    /// Adds the counts of a chunk of this file or folder.
    pub(super) fn add(&mut self, tally: ChunkTally, path: &Path) {
        let place = |(own, line): (Option<PathBuf>, _)| RecordPlace {
            path: own.unwrap_or_else(|| path.to_owned()),
            line,
        };
        add_named(&mut self.bad_records, tally.bad_records.into_iter().map(place).collect());
        self.n_documents += tally.n_documents;
        self.n_passages += tally.n_passages;
        self.n_bad_records += tally.n_bad_records;
        self.n_invalid_utf8 += tally.n_invalid_utf8;
        self.n_beyond_encoding += tally.n_beyond_encoding;
        self.n_stray_quotes += tally.n_stray_quotes;
        self.n_whole_tables += tally.n_whole_tables;
        self.skipped += tally.skipped;
        self.found_fields |= tally.found_fields;
    }

    /// Refuses a corpus of which more than a small share is damaged, unless the caller has named
    /// the encoding.
    pub(crate) fn check_encoding(&self, options: &CorpusOptions) -> Result<()> {
        let n_damaged = self.n_invalid_utf8.saturating_sub(self.n_beyond_encoding);
        let is_share = n_damaged > self.n_documents / DAMAGED_SHARE;
        let is_many = n_damaged > FEW_DAMAGED || n_damaged > self.n_documents / 4;
        if options.encoding.is_none() && is_share && is_many {
            return Err(ErrorKind::Encoding { n_damaged, n_documents: self.n_documents }.into());
        }
        Ok(())
    }
}

impl CorpusStats {
    /// Refuses a text field that no record of JSON has, although each has another one.
    pub(crate) fn check_fields(&self, options: &CorpusOptions) -> Result<()> {
        let is_missing = |position: &usize| self.found_fields >> position & 1 == 0;
        match (0..options.text_fields.len()).find(is_missing).filter(|_| self.found_fields != 0) {
            Some(position) => Err(ErrorKind::Mismatch {
                what: "text_fields",
                expected: "fields that some record has".to_owned(),
                got: format!("\"{}\", which none has", options.text_fields[position]),
            }
            .into()),
            None => Ok(()),
        }
    }
}

/// The counts of two parts of a corpus together.
impl AddAssign for CorpusStats {
    fn add_assign(&mut self, other: CorpusStats) {
        self.n_documents += other.n_documents;
        self.n_passages += other.n_passages;
        self.n_bad_records += other.n_bad_records;
        add_named(&mut self.bad_records, other.bad_records);
        self.n_invalid_utf8 += other.n_invalid_utf8;
        self.n_beyond_encoding += other.n_beyond_encoding;
        self.n_stray_quotes += other.n_stray_quotes;
        self.n_whole_tables += other.n_whole_tables;
        self.n_guessed_encodings += other.n_guessed_encodings;
        let guessed = [self.guessed_encoding, other.guessed_encoding];
        self.guessed_encoding = guessed.into_iter().flatten().min_by_key(|name| name.0.name());
        self.skipped += other.skipped;
        self.bytes_read += other.bytes_read;
        self.found_fields |= other.found_fields;
    }
}

/// The name of an encoding, such as `windows-1252`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct EncodingName(&'static Encoding);

impl EncodingName {
    pub(super) fn new(name: &str) -> Option<Self> {
        Encoding::for_label(name.as_bytes()).map(EncodingName)
    }

    pub(super) fn of(encoding: &'static Encoding) -> Self {
        EncodingName(encoding)
    }

    pub(super) fn encoding(self) -> &'static Encoding {
        self.0
    }
}

impl fmt::Display for EncodingName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.name())
    }
}

impl fmt::Debug for EncodingName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.name())
    }
}

impl Serialize for EncodingName {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(self.0.name())
    }
}

impl<'de> Deserialize<'de> for EncodingName {
    fn deserialize<D: serde::Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let name = String::deserialize(reader)?;
        EncodingName::new(&name).ok_or_else(|| serde::de::Error::custom("the name of an encoding"))
    }
}

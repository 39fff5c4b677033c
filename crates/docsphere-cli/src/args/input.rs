//! Where documents come from.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use docsphere::{CorpusFormat, CorpusOptions, Html, Quote, Split, formats};

use super::UsageError;
use crate::memory;

/// Where documents come from.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputArgs {
    /// Files or folders of documents, "-" for standard input, or one matrix file. May be compressed
    /// (gzip, zstd)
    #[arg(required = true, value_name = "INPUT", help_heading = None::<&'static str>)]
    pub(crate) inputs: Vec<PathBuf>,

    /// Format of all inputs, instead of guessing it from their names: lines, jsonl (also lists),
    /// csv, tsv, parquet, sheet, mbox, folder, npz, mtx, svmlight, bow, rows
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<AnyFormat>,

    /// Field (column, or path such as doc.title) that holds the text; repeat the option to join
    /// several fields [default: text]
    #[arg(long, value_name = "NAME")]
    pub(crate) text_field: Vec<String>,

    /// Field (column) that holds the id [default: id if there is one, else a number]
    #[arg(long, value_name = "NAME")]
    pub(crate) id_field: Option<String>,

    /// Character between the fields of CSV and TSV: "," ";" "|" "tab" or another one [default:
    /// found from the first records]
    #[arg(long, value_name = "CHAR", value_parser = parse_delimiter)]
    pub(crate) delimiter: Option<char>,

    /// What quotes the fields of CSV and TSV: double ("), single ('), or none if quotes are plain
    /// characters [default: found from the first records; quotes that enclose no field are plain]
    #[arg(long, value_name = "HOW", value_parser = parse_quote)]
    pub(crate) quote: Option<Quote>,

    /// Sheet of a spreadsheet, by name or number [default: the first]
    #[arg(long, value_name = "NAME")]
    pub(crate) sheet: Option<String>,

    /// Encoding of all text, such as windows-1252, shift_jis or utf-16le [default: found from the
    /// bytes]
    #[arg(long, value_name = "NAME")]
    pub(crate) encoding: Option<String>,

    /// HTML in texts: auto (remove tags where they are certain, decode entities), strip (treat
    /// every text as HTML), keep
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub(crate) html: Html,

    /// Cut documents into passages: paragraphs, sentences, words:300 (300 words each), or none
    /// [default: none; of add, assign, index and verify: as in the result]
    #[arg(long, value_name = "HOW")]
    pub(crate) split: Option<SplitChoice>,

    /// Keep quoted replies and signatures of mail
    #[arg(long)]
    pub(crate) keep_quotes: bool,

    /// Which files of a folder to read, such as "*.txt" or "2024/**/*.md" [default: all except
    /// hidden files]
    #[arg(long, value_name = "PATTERN")]
    pub(crate) glob: Option<String>,

    /// Skip and count records that cannot be read, instead of stopping at the first
    #[arg(long)]
    pub(crate) skip_bad_records: bool,

    /// Names of a matrix's columns, one per line
    #[arg(long, value_name = "FILE")]
    pub(crate) vocabulary: Option<PathBuf>,
}

/// A format of documents or of matrices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum AnyFormat {
    Documents(CorpusFormat),
    Matrix(formats::Format),
}

impl std::str::FromStr for AnyFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let name = if name == "json" { CorpusFormat::JsonLines.name() } else { name };
        let documents = name.parse().map(AnyFormat::Documents);
        documents.or_else(|_| name.parse().map(AnyFormat::Matrix)).map_err(|_: docsphere::Error| {
            let documents: Vec<&str> = CorpusFormat::ALL.iter().map(|format| format.name()).collect();
            let matrices: Vec<&str> = formats::Format::ALL.iter().map(|format| format.name()).collect();
            format!("known are {} and {}", documents.join(", "), matrices.join(", "))
        })
    }
}

/// How documents are cut into passages, or that they are not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SplitChoice(Option<Split>);

impl std::str::FromStr for SplitChoice {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "none" => Ok(SplitChoice(None)),
            _ => name.parse().map(|split| SplitChoice(Some(split))).map_err(|_: docsphere::Error| {
                "give paragraphs, sentences, words: with a number (words:300), or none".to_owned()
            }),
        }
    }
}

impl InputArgs {
    /// The matrix format, if the input is a matrix.
    pub(crate) fn matrix_format(&self) -> Option<formats::Format> {
        match (self.format, self.inputs.as_slice()) {
            (Some(AnyFormat::Matrix(format)), _) => Some(format),
            (None, [path]) if !path.is_dir() => formats::Format::from_path(path).ok(),
            _ => None,
        }
    }

    /// Refuses options that apply only to a matrix.
    pub(crate) fn check_for_documents(&self) -> Result<()> {
        match self.vocabulary {
            Some(_) => Err(UsageError("--vocabulary goes with a matrix file only".to_owned()).into()),
            None => Ok(()),
        }
    }

    /// Refuses options that apply only to documents.
    pub(crate) fn check_for_matrix(&self) -> Result<()> {
        match self.split {
            Some(SplitChoice(Some(_))) => {
                Err(UsageError("--split: a matrix has no texts to cut".to_owned()).into())
            }
            _ => Ok(()),
        }
    }

    /// The library's options for the documents of a result, which were cut into passages like this.
    pub(crate) fn corpus_options_of_result(&self, split: Option<Split>) -> CorpusOptions {
        let options = self.corpus_options();
        if self.split.is_none() { options.split(split) } else { options }
    }

    /// The library's options.
    pub(crate) fn corpus_options(&self) -> CorpusOptions {
        let mut options = CorpusOptions::default();
        if let Some(AnyFormat::Documents(format)) = self.format {
            options.format = Some(format);
        }
        if !self.text_field.is_empty() {
            options.text_fields.clone_from(&self.text_field);
        }
        options.id_field.clone_from(&self.id_field);
        options.delimiter = self.delimiter;
        options.quote = self.quote;
        options.sheet.clone_from(&self.sheet);
        options.encoding.clone_from(&self.encoding);
        options.html = self.html;
        options.split = self.split.and_then(|choice| choice.0);
        options.keep_quotes = self.keep_quotes;
        options.glob.clone_from(&self.glob);
        options.skip_bad_records = self.skip_bad_records;
        options.memory = memory::of_readers();
        options
    }
}

/// Reads a single character, or the name of one that is hard to type.
fn parse_delimiter(text: &str) -> Result<char, String> {
    let mut characters = text.chars();
    match (text, characters.next(), characters.next()) {
        ("tab" | "\\t", ..) => Ok('\t'),
        (_, Some(character), None) => Ok(character),
        _ => Err("give one character, or tab".to_owned()),
    }
}

/// Reads the name of a quote, or the quote itself.
fn parse_quote(text: &str) -> Result<Quote, String> {
    match text {
        "\"" => Ok(Quote::Double),
        "'" => Ok(Quote::Single),
        name => name.parse().map_err(|_| "give double, single or none".to_owned()),
    }
}

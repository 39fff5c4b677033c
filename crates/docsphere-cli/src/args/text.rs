//! How text becomes rows.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use docsphere::{
    DocumentBound, Hyphens, IdfKind, Ngrams, Segmentation, StopWords, TextOptions, TfidfOptions, Unspaced,
};

use crate::files;
use crate::memory;

/// The size limit of a list of stop words. The built-in lists have a thousandth of that.
const MAX_STOP_WORDS_BYTES: u64 = 10_000_000;

/// Memory overhead per stop word, beside its letters: in the options, in the tokenizer's table, and
/// in a model's copies of both.
const STOP_WORD_BYTES: u64 = 300;

/// How text becomes rows.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Text")]
pub(crate) struct TextArgs {
    /// Languages whose stop words are dropped, such as "english,french", or "none"
    #[arg(long, value_name = "LANGUAGES", default_value = "english")]
    stop_words: String,

    /// File with more stop words, one per line; with --stop-words none, these alone
    #[arg(long, value_name = "FILE")]
    stop_words_file: Option<PathBuf>,

    /// N-gram range, the numbers of words that make up a term: "1", "1..2", "1..3", "2..3"
    #[arg(long, value_name = "LO..HI", default_value = "1", value_parser = parse_ngrams)]
    ngrams: Ngrams,

    /// Stem words with the Snowball stemmer of this language; with --language, "auto" for that of
    /// each document
    #[arg(long, value_name = "LANGUAGE")]
    stem: Option<String>,

    /// Detect the language of each document, and drop the stop words of that language: the
    /// languages that occur, such as "english,german", or "auto" for any. Where the language is not
    /// certain, the words of all that are named here or with --stop-words are dropped
    #[arg(long, value_name = "LANGUAGES")]
    language: Option<String>,

    /// Drop words with fewer characters than this
    #[arg(long, value_name = "N", default_value_t = TextOptions::default().min_chars)]
    min_chars: usize,

    /// Keep web addresses, split into words
    #[arg(long)]
    keep_urls: bool,

    /// Keep words without any letter
    #[arg(long)]
    keep_numbers: bool,

    /// Distinguish upper and lower case
    #[arg(long)]
    case_sensitive: bool,

    /// How text is split into words: by the rules of Unicode with names such as C++ and scripts
    /// without spaces; by these rules alone; or by scikit-learn's default pattern
    #[arg(long, value_name = "RULE", default_value_t, value_parser = parse_segmentation())]
    segmentation: Segmentation,

    /// How Chinese, Japanese, Thai, Lao, Khmer and Burmese are split, which have no spaces between
    /// words: into pairs of characters, or by dictionary (cargo feature "dictionary")
    #[arg(long, value_name = "WAY", default_value_t, value_parser = parse_unspaced())]
    unspaced: Unspaced,

    /// What becomes of words that hyphens join: their parts; these and the whole of names such as
    /// COVID-19 and k-means; their parts and the whole; or the whole alone
    #[arg(long, value_name = "WAY", default_value_t, value_parser = parse_hyphens())]
    hyphens: Hyphens,

    /// Keep the signs of hashtags and mentions: #bitcoin, @user
    #[arg(long)]
    keep_tags: bool,

    /// Drop terms that occur in fewer documents than this: a number, or a share such as 0.001
    #[arg(long, value_name = "N|SHARE", default_value = "1", value_parser = parse_bound)]
    min_df: DocumentBound,

    /// Drop terms that occur in more documents than this: a number, or a share such as 0.5
    #[arg(long, value_name = "N|SHARE", default_value = "1.0", value_parser = parse_bound)]
    max_df: DocumentBound,

    /// Keep only this many terms, the most frequent ones [default: all]
    #[arg(long, value_name = "N")]
    max_terms: Option<usize>,

    /// Use scikit-learn's idf, ln((1 + N) / (1 + df)) + 1, instead of ln(N / df)
    #[arg(long)]
    smooth_idf: bool,

    /// Count a term that occurs n times as 1 + ln(n) instead of n
    #[arg(long)]
    sublinear_tf: bool,
}

impl TextArgs {
    /// The file of stop words.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.stop_words_file.as_deref()
    }

    /// The library's options.
    pub(crate) fn options(&self) -> Result<(TextOptions, TfidfOptions)> {
        let stop_words = match self.stop_words.as_str() {
            "none" => StopWords::None,
            languages => StopWords::Language(languages.to_owned()),
        };
        let more_stop_words = self.stop_words_file.as_deref().map(read_stop_words).transpose()?;
        let text = TextOptions::default()
            .segmentation(self.segmentation)
            .unspaced(self.unspaced)
            .hyphens(self.hyphens)
            .keep_tags(self.keep_tags)
            .lowercase(!self.case_sensitive)
            .keep_urls(self.keep_urls)
            .keep_numbers(self.keep_numbers)
            .min_chars(self.min_chars)
            .stop_words(stop_words)
            .more_stop_words(more_stop_words.unwrap_or_default())
            .ngrams(self.ngrams)
            .stemmer(self.stem.clone())
            .language(self.language.clone());
        text.check()?;
        let tfidf = TfidfOptions::default()
            .idf(if self.smooth_idf { IdfKind::Smooth } else { IdfKind::Paper })
            .sublinear_tf(self.sublinear_tf)
            .min_df(self.min_df)
            .max_df(self.max_df)
            .max_terms(self.max_terms);
        tfidf.check()?;
        Ok((text, tfidf))
    }
}

/// Reads a list of words, one per line.
fn read_stop_words(path: &Path) -> Result<Vec<String>> {
    const WHAT: &str = "the stop words";
    let text = files::read_text(path, WHAT, MAX_STOP_WORDS_BYTES)?;
    let words = || text.lines().map(str::trim).filter(|word| !word.is_empty());
    let needed = STOP_WORD_BYTES * words().count() as u64 + 3 * text.len() as u64;
    memory::of_readers().check(WHAT, needed).map_err(|error| files::refused(&error, path))?;
    Ok(words().map(str::to_owned).collect())
}

/// A parser that accepts the library's names, so that the help lists them.
fn parse_segmentation() -> impl TypedValueParser<Value = Segmentation> {
    let names = Segmentation::ALL.iter().map(|segmentation| segmentation.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Segmentation>())
}

fn parse_unspaced() -> impl TypedValueParser<Value = Unspaced> {
    let names = Unspaced::ALL.iter().map(|unspaced| unspaced.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Unspaced>())
}

fn parse_hyphens() -> impl TypedValueParser<Value = Hyphens> {
    let names = Hyphens::ALL.iter().map(|hyphens| hyphens.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Hyphens>())
}

fn parse_ngrams(text: &str) -> Result<Ngrams, String> {
    let (lo, hi) = text.split_once("..").unwrap_or((text, text));
    let number = |part: &str| part.trim_start_matches('=').parse::<usize>().ok();
    match (number(lo), number(hi)) {
        (Some(lo), Some(hi)) if 1 <= lo && lo <= hi && hi <= 3 => Ok(Ngrams { lo, hi }),
        _ => Err("give one number from 1 to 3, or two such as 1..2".to_owned()),
    }
}

fn parse_bound(text: &str) -> Result<DocumentBound, String> {
    if let Ok(count) = text.parse::<u64>() {
        return if count >= 1 { Ok(DocumentBound::Count(count)) } else { Ok(DocumentBound::Share(0.0)) };
    }
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(DocumentBound::Share(share)),
        _ => Err("give a whole number of documents, or a share from 0.0 to 1.0".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_counts_and_decimals_are_shares() {
        assert_eq!(parse_bound("2"), Ok(DocumentBound::Count(2)));
        assert_eq!(parse_bound("1"), Ok(DocumentBound::Count(1)));
        assert_eq!(parse_bound("1.0"), Ok(DocumentBound::Share(1.0)));
        assert_eq!(parse_bound("0.25"), Ok(DocumentBound::Share(0.25)));
        assert!(parse_bound("1.5").is_err() && parse_bound("-1").is_err() && parse_bound("x").is_err());
    }

    #[test]
    fn ngrams_are_one_number_or_a_range() {
        assert_eq!(parse_ngrams("2"), Ok(Ngrams { lo: 2, hi: 2 }));
        assert_eq!(parse_ngrams("1..3"), Ok(Ngrams { lo: 1, hi: 3 }));
        assert!(
            parse_ngrams("0..2").is_err() && parse_ngrams("3..1").is_err() && parse_ngrams("1..4").is_err()
        );
    }
}

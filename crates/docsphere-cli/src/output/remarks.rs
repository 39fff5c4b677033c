//! Notes about the input for the user: not reasons to stop, but worth knowing.

use docsphere::{Column, ColumnKind, CorpusStats, DateForm, LanguageCounts, LossCause, Losses, SkippedFiles};

use crate::numbers::grouped;

/// So many languages are named at most.
const MAX_LANGUAGES: usize = 10;

/// A colon and the first of some names, with the number of the others; nothing if none is named.
fn named(first: &[String], n_all: u64) -> String {
    let n_more = n_all.saturating_sub(first.len() as u64);
    match (first.is_empty(), n_more) {
        (true, _) => String::new(),
        (false, 0) => format!(": {}", first.join(", ")),
        (false, n_more) => format!(": {} and {} more", first.join(", "), grouped(n_more as usize)),
    }
}

/// A list of remarks, such as "2 records could not be read and were left out".
#[derive(Default)]
pub(crate) struct Remarks(Vec<String>);

impl Remarks {
    /// Remarks from the statistics of a corpus.
    pub(crate) fn of_reading(stats: &CorpusStats) -> Self {
        let mut remarks = Remarks::default();
        let bad: Vec<String> = stats.bad_records.iter().map(ToString::to_string).collect();
        let bad = named(&bad, stats.n_bad_records);
        remarks.add(
            stats.n_bad_records as usize,
            &format!("record could not be read and was left out{bad}"),
            &format!("records could not be read and were left out{bad}"),
        );
        remarks.add_skipped(&stats.skipped);
        remarks.add(
            stats.n_stray_quotes as usize,
            "field begins with a quote that does not enclose it; it was read as it stands (if that is wrong, give --quote double)",
            "fields begin with a quote that does not enclose them; they were read as they stand (if that is wrong, give --quote double)",
        );
        remarks.add(
            stats.n_whole_tables as usize,
            "file of the folder is a table or JSON and was read as one document (--glob selects files; tables alone are read record by record)",
            "files of the folder are tables or JSON and were read as one document each (--glob selects files; tables alone are read record by record)",
        );
        if let Some(encoding) = stats.guessed_encoding {
            remarks.add(
                stats.n_guessed_encodings as usize,
                &format!("file is not UTF-8 and was read as {encoding} (if words look wrong, name its encoding with --encoding)"),
                &format!("files are not UTF-8 and were read as {encoding} and the like (if words look wrong, name their encoding with --encoding)"),
            );
        }
        remarks.add(
            stats.n_invalid_utf8.saturating_sub(stats.n_beyond_encoding) as usize,
            "document had bytes that are not text; they were replaced (another encoding? name it with --encoding)",
            "documents had bytes that are not text; they were replaced (another encoding? name it with --encoding)",
        );
        remarks.add(
            stats.n_beyond_encoding as usize,
            "document had broken characters, which were replaced",
            "documents had broken characters, which were replaced",
        );
        remarks
    }

    /// Remarks about files of folders that were skipped.
    fn add_skipped(&mut self, skipped: &SkippedFiles) {
        for (count, one, several) in [
            (skipped.n_images, "an image", "images"),
            (skipped.n_media, "sound or film", "sound or film"),
            (skipped.n_archives, "an archive", "archives"),
            (skipped.n_binaries, "binary", "binary"),
        ] {
            self.add(
                count as usize,
                &format!("file is {one}: skipped"),
                &format!("files are {several}: skipped"),
            );
        }
        self.add(
            skipped.n_links as usize,
            "link leads to a folder or nowhere: skipped (give the folder as an input)",
            "links lead to folders or nowhere: skipped (give the folders as inputs)",
        );
        self.add(
            skipped.n_special as usize,
            "entry of a folder is a pipe, a socket or a device: skipped",
            "entries of folders are pipes, sockets or devices: skipped",
        );
        let first: Vec<String> = skipped.first.iter().map(|path| path.display().to_string()).collect();
        let of_kinds = [skipped.n_images, skipped.n_media, skipped.n_archives, skipped.n_binaries];
        let n_skipped = of_kinds.iter().sum::<u64>() + skipped.n_links + skipped.n_special;
        if let Some(first) = named(&first, n_skipped).strip_prefix(": ") {
            self.0.push(format!("note: skipped {first}"));
        }
    }

    /// Adds a remark about `count` things, unless `count` is 0.
    pub(crate) fn add(&mut self, count: usize, one: &str, several: &str) {
        if count > 0 {
            self.0.push(format!("note: {} {}", grouped(count), if count == 1 { one } else { several }));
        }
    }

    /// Adds the remarks of another list.
    pub(crate) fn extend(&mut self, other: &Remarks) {
        self.0.extend_from_slice(&other.0);
    }

    /// Adds a remark in its own words.
    pub(crate) fn say(&mut self, remark: String) {
        self.0.push(format!("note: {remark}"));
    }

    /// Adds a warning if many letters reach no term, with the option that helps.
    pub(crate) fn warn_of_losses(&mut self, losses: &Losses) {
        let Some(warning) = losses.warning() else { return };
        let help = match warning.cause {
            LossCause::StopWords => "see --stop-words and --stop-words-file",
            LossCause::Addresses => "--keep-urls keeps them",
            LossCause::MinChars => "a smaller --min-chars keeps them",
            LossCause::Segmentation => "--segmentation words splits every script",
            LossCause::MinDf => "a smaller --min-df keeps them",
            LossCause::MaxDf => "a greater --max-df keeps them",
            LossCause::InAllDocuments => "--smooth-idf keeps them",
            LossCause::MaxTerms => "a greater --max-terms keeps them",
            _ => "see the options for text in --help",
        };
        let percent = |share: f64| (100.0 * share).round();
        self.0.push(format!(
            "warning: {} % of the {} reach no term; {} % are {}: {help}",
            percent(warning.share),
            warning.of(),
            percent(warning.cause_share),
            warning.cause.letters(),
        ));
    }

    /// Adds the languages of the documents, if they were detected.
    pub(crate) fn add_languages(&mut self, languages: &LanguageCounts) {
        let certain = languages.certain();
        let found = certain.iter().map(|(language, n)| format!("{language} {}", grouped(*n as usize)));
        let found: Vec<String> = found.take(MAX_LANGUAGES).collect();
        if !found.is_empty() {
            let n_more = certain.len() - found.len();
            let more = if n_more > 0 { format!(" and {n_more} more") } else { String::new() };
            self.say(format!("languages of the documents: {}{more}", found.join(", ")));
        }
        self.add(
            languages.n_uncertain() as usize,
            "document is of no certain language: its stop words are those of all languages that were named",
            "documents are of no certain language: their stop words are those of all languages that were named",
        );
    }

    /// All remarks, in the order in which they were added.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// Adds what was found in kept columns: what they are, how dates were read, and bad values.
pub(crate) fn add_columns(remarks: &mut Remarks, columns: &[Column]) {
    if !columns.is_empty() {
        let column = |column: &Column| format!("{} ({})", column.name, column.reading.kind.name());
        let columns: Vec<String> = columns.iter().map(column).collect();
        remarks.say(format!("kept columns: {}", columns.join(", ")));
    }
    for column in columns {
        let name = &column.name;
        if column.n_values == 0 {
            remarks.say(format!("no document has a value in column {name}"));
        }
        let dates = match column.reading.date_form {
            Some(DateForm::DayFirst) => "day first, as in 25/12/2024",
            Some(DateForm::MonthFirst) if column.n_undecided > 0 => {
                "month first, as in 12/25/2024; they would also fit day first, and none of them decides"
            }
            Some(DateForm::MonthFirst) => "month first, as in 12/25/2024",
            Some(DateForm::Seconds) => "seconds since 1970",
            Some(DateForm::Milliseconds) => "milliseconds since 1970",
            Some(DateForm::Digits) => "year, month and day, as in 20241225",
            Some(DateForm::Years) => "years",
            _ => "",
        };
        if !dates.is_empty() {
            remarks.say(format!("column {name}: dates were read as {dates}"));
        }
        if column.reading.decimal_comma {
            remarks.say(format!("column {name}: numbers were read with a decimal comma, as in 1,5"));
        }
        if let Some(bad) = &column.first_bad {
            let what = if column.reading.kind == ColumnKind::Address { "an" } else { "a" };
            let kind = column.reading.kind.name();
            let (value, place) = (&bad.value, &bad.place);
            remarks.add(
                column.n_bad as usize,
                &format!("value of column {name} is not {what} {kind} and was left out: {value:?} ({place})"),
                &format!("values of column {name} are not {what} {kind} and were left out; the first is {value:?} ({place})"),
            );
        }
    }
}

//! Notes about the input for the user: not reasons to stop, but worth knowing.

use docsphere::{CorpusStats, LossCause, Losses};

use crate::numbers::grouped;

/// A list of remarks, such as "2 records could not be read and were left out".
#[derive(Default)]
pub(crate) struct Remarks(Vec<String>);

impl Remarks {
    /// Remarks from the statistics of a corpus.
    pub(crate) fn of_reading(stats: &CorpusStats) -> Self {
        let mut remarks = Remarks::default();
        remarks.add(
            stats.n_bad_records as usize,
            "record could not be read and was left out",
            "records could not be read and were left out",
        );
        let skipped = &stats.skipped;
        for (count, one, several) in [
            (skipped.n_images, "an image", "images"),
            (skipped.n_media, "sound or film", "sound or film"),
            (skipped.n_archives, "an archive", "archives"),
            (skipped.n_binaries, "binary", "binary"),
        ] {
            remarks.add(
                count as usize,
                &format!("file is {one}: skipped"),
                &format!("files are {several}: skipped"),
            );
        }
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

    /// Adds a remark about `count` things, unless `count` is 0.
    pub(crate) fn add(&mut self, count: usize, one: &str, several: &str) {
        if count > 0 {
            self.0.push(format!("note: {} {}", grouped(count), if count == 1 { one } else { several }));
        }
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

    /// All remarks, in the order in which they were added.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

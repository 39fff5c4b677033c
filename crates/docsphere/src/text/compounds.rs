//! Words joined by hyphens, and words with the sign of a tag.
//!
//! Unicode's rules end a word at a hyphen. So `COVID-19` would become `covid`, since bare numbers
//! are dropped, and `k-means` would become `means`, since single letters are. [`Compounds`] takes
//! the words as they are found, and gives what [`Hyphens`] and `keep_tags` say.
//!
//! **Cost.** Two comparisons per word; more only for words around a hyphen.

use super::options::Hyphens;
use super::unspaced::begins_unspaced;

/// Longer compounds are none: rules, paths and keys.
const MAX_BYTES: usize = 40;

/// Takes the words of a text, which are slices of it, in order.
pub(super) struct Compounds<'a, F: FnMut(&'a str)> {
    text: &'a str,
    hyphens: Hyphens,
    keep_tags: bool,
    word: F,
    /// Start and end of the words so far with nothing but a hyphen between each two.
    start: usize,
    end: usize,
    n_words: usize,
    /// Whether a word that no hyphen touches is a word, and nothing else.
    is_plain: bool,
}

impl<'a, F: FnMut(&'a str)> Compounds<'a, F> {
    pub(super) fn new(text: &'a str, hyphens: Hyphens, keep_tags: bool, word: F) -> Self {
        let is_plain = !keep_tags && hyphens != Hyphens::Whole;
        Compounds { text, hyphens, keep_tags, word, start: 0, end: 0, n_words: 0, is_plain }
    }

    /// Takes the next word.
    #[inline(always)]
    pub(super) fn take(&mut self, found: &'a str) {
        let bytes = self.text.as_bytes();
        let begin = found.as_ptr() as usize - self.text.as_ptr() as usize;
        // Nearly every word: the run before it is over, and none begins with it.
        if self.is_plain && self.n_words == 0 && bytes.get(begin + found.len()) != Some(&b'-') {
            return (self.word)(found);
        }
        self.take_beside_hyphen(found, begin);
    }

    /// [`take`](Self::take) for words that may be in a run, or a tag.
    fn take_beside_hyphen(&mut self, found: &'a str, begin: usize) {
        let bytes = self.text.as_bytes();
        let mut start = begin;
        if self.keep_tags && begin > 0 && matches!(bytes[begin - 1], b'#' | b'@') && self.is_tag(begin) {
            start -= 1;
        }
        let is_joined = start == self.end + 1 && bytes[self.end] == b'-' && self.joins(found);
        if !is_joined {
            self.end_run();
            (self.start, self.n_words) = (start, 0);
        }
        self.n_words += 1;
        self.end = begin + found.len();
        if self.hyphens != Hyphens::Whole {
            (self.word)(&self.text[start..self.end]);
        }
        // A run that no hyphen can continue ends here, so that the next word need not look.
        if self.is_plain && bytes.get(self.end) != Some(&b'-') {
            self.end_run();
            self.n_words = 0;
        }
    }

    /// Whether the sign before a word is that of a tag: it does not follow a word (`C#a`, an
    /// address of mail).
    #[cold]
    fn is_tag(&self, begin: usize) -> bool {
        !self.text[..begin - 1].ends_with(|before: char| before.is_alphanumeric() || before == '_')
    }

    /// Whether a word after a hyphen goes on with those before it.
    #[cold]
    fn joins(&self, found: &str) -> bool {
        self.n_words > 0 && !begins_unspaced(found) && !begins_unspaced(&self.text[self.start..])
    }

    /// After the last word of a text.
    pub(super) fn finish(mut self) {
        self.end_run();
    }

    #[inline]
    fn end_run(&mut self) {
        if self.n_words > 1 {
            self.end_compound();
        } else if self.hyphens == Hyphens::Whole && self.n_words == 1 {
            (self.word)(&self.text[self.start..self.end]);
        }
    }

    #[cold]
    fn end_compound(&mut self) {
        let whole = &self.text[self.start..self.end];
        let is_short = whole.len() <= MAX_BYTES;
        match self.hyphens {
            Hyphens::Split => {}
            Hyphens::Names if is_short && whole.split('-').any(is_lost) => (self.word)(whole),
            Hyphens::Both if is_short => (self.word)(whole),
            Hyphens::Whole if is_short => (self.word)(whole),
            Hyphens::Whole => whole.split('-').for_each(&mut self.word),
            Hyphens::Names | Hyphens::Both => {}
        }
    }
}

/// Whether a part of a compound says nothing alone: a single letter, or a number.
fn is_lost(part: &str) -> bool {
    part.chars().nth(1).is_none() || !part.chars().any(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::super::options::TextOptions;
    use super::super::stop_words::StopWords;
    use super::super::tokenizer::Tokenizer;
    use super::*;

    fn terms(options: TextOptions, text: &str) -> String {
        let tokenizer = Tokenizer::new(&options.stop_words(StopWords::None)).unwrap();
        tokenizer.terms(text).join(" ")
    }

    fn with(hyphens: Hyphens, text: &str) -> String {
        terms(TextOptions::default().hyphens(hyphens), text)
    }

    #[test]
    fn the_whole_of_a_compound_stays_as_the_option_says() {
        let text = "COVID-19 and GPT-4: zero-shot k-means, 2020-21 well-";
        let parts = "covid and gpt zero shot means well";
        assert_eq!(with(Hyphens::Split, text), parts);
        let names = "covid covid-19 and gpt gpt-4 zero shot means k-means well";
        assert_eq!(with(Hyphens::Names, text), names);
        let both = "covid covid-19 and gpt gpt-4 zero shot zero-shot means k-means well";
        assert_eq!(with(Hyphens::Both, text), both);
        assert_eq!(with(Hyphens::Whole, text), "covid-19 and gpt-4 zero-shot k-means well");
    }

    #[test]
    fn a_compound_goes_as_far_as_single_hyphens_between_words() {
        for (text, whole) in [
            ("SARS-CoV-2", "sars-cov-2"),
            ("state-of-the-art", "state-of-the-art"),
            ("either--or this - that", "either or this that"),
            ("-x1 y2-", "x1 y2"),
            ("naïve-bayes é-ü", "naïve-bayes é-ü"),
            ("U.S.-led x-y.z", "u.s led x-y.z"),
            ("C++-code AT&T-like", "c++-code at&t-like"),
            ("中文-linux linux-内核", "中文 linux linux 内核"),
        ] {
            assert_eq!(with(Hyphens::Whole, text), whole, "{text}");
        }
        let long = ["a1"; 20].join("-");
        assert_eq!(with(Hyphens::Whole, &long), ["a1"; 20].join(" "));
        assert_eq!(with(Hyphens::Both, &long), ["a1"; 20].join(" "));
    }

    #[test]
    fn numbers_are_kept_when_asked() {
        let options = TextOptions::default().keep_numbers(true);
        assert_eq!(terms(options, "COVID-19 in 2020-21 U.S."), "covid 19 covid-19 in 2020 21 2020-21 u.s");
    }

    #[test]
    fn tags_keep_their_signs_when_asked() {
        let text = "#bitcoin @user (#AI) a@b.org C#x #1 x_#no #zero-shot 中#文";
        let tags = TextOptions::default().keep_tags(true);
        assert_eq!(terms(tags, text), "#bitcoin @user #ai b.org x_ no #zero shot #zero-shot 中 文");
        assert_eq!(
            terms(TextOptions::default(), text),
            "bitcoin user ai b.org x_ no zero shot zero-shot 中 文"
        );
    }
}

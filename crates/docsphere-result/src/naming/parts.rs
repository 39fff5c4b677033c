//! The parts of a cluster's name: keywords, or phrases in which they occur, without two words of
//! one stem.

use std::collections::{BTreeMap, HashMap, HashSet};

use rayon::prelude::*;

use super::sample::{Counts, Form};
use super::stems::Stems;

/// A phrase must be in at least this many texts of the sample.
const MIN_TEXTS: u32 = 3;

/// A phrase must be in at least this share of the texts of the sample.
const MIN_SHARE_OF_TEXTS: f64 = 0.08;

/// A phrase must be in at least this share of the texts that have the keyword.
const MIN_SHARE: f64 = 0.35;

/// The minimum contrast of a phrase; 1/2 is that of a phrase as frequent elsewhere as here.
const MIN_CONTRAST: f64 = 0.6;

/// Three words may stand for two if they are in two thirds of the texts.
const TRIPLE_BONUS: f64 = 1.5;

/// Keywords with a lower score are generic: they come last.
const GENERIC_SCORE: f64 = 0.5;

/// So are keywords that are spread more evenly over all clusters.
///
/// Of the terms of 20 Newsgroups (20 and 100 clusters) and BBC news (20 and 60), "would", "could",
/// "also", "one" and "people" have 0.6 and more; of their keywords half have less than 0.14, and
/// 90 % less than 0.32.
const GENERIC_SPREAD: f64 = 0.4;

/// Keywords that a smaller share of the cluster's documents has are rare, unless all are: they come
/// after the others, but before generic ones.
const RARE_SHARE: f64 = 0.1;

/// A keyword is rare only if another one that is not generic is in this many times as many
/// documents.
const TIMES_RARE: f64 = 2.0;

/// A keyword gives way to a compound of which it is a part, such as COVID-19, if the compound is a
/// keyword, too, and in at least this share of its documents.
const COMPOUND_SHARE: f64 = 0.5;

/// A keyword as names need it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NameKeyword {
    pub(crate) term: String,
    pub(crate) score: f64,
    pub(crate) spread: f64,
    /// The share of the cluster's documents that have it, if known.
    pub(crate) share: Option<f64>,
}

impl NameKeyword {
    fn is_generic(&self) -> bool {
        self.score < GENERIC_SCORE || self.spread >= GENERIC_SPREAD
    }
}

/// The keywords in the order in which names use them: generic ones last, before them rare ones.
fn in_order(keywords: &[NameKeyword]) -> Vec<&NameKeyword> {
    let specific = keywords.iter().filter(|keyword| !keyword.is_generic());
    let most = specific.filter_map(|keyword| keyword.share).fold(0.0, f64::max);
    let is_rare = |share: f64| share < RARE_SHARE && TIMES_RARE * share <= most;
    let mut ordered: Vec<&NameKeyword> = keywords.iter().collect();
    // Stable: within each kind, best first.
    ordered.sort_by_key(|keyword| (keyword.is_generic(), keyword.share.is_some_and(is_rare)));
    ordered
}

/// A part of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The words as people write them.
    pub(crate) text: String,
    pub(crate) stems: Vec<String>,
}

/// Phrases of one cluster that differ only in the forms of their words.
#[derive(Clone, Debug)]
struct Phrase {
    /// The most frequent form.
    text: String,
    n_texts: u32,
}

/// Phrases of a cluster, by their stems joined with spaces. In order, for reproducible ties.
type Phrases = BTreeMap<String, Phrase>;

/// The phrases of all clusters.
#[derive(Debug)]
pub(crate) struct AllPhrases {
    of_clusters: Vec<Phrases>,
    /// Texts with the phrase, in the samples of all clusters.
    totals: HashMap<String, u64>,
    n_texts: u64,
}

impl AllPhrases {
    pub(crate) fn new(counts: &[Counts], stems: &Stems) -> Self {
        let of_clusters: Vec<Phrases> = counts.par_iter().map(|counts| phrases(counts, stems)).collect();
        let mut totals: HashMap<String, u64> = HashMap::new();
        for (stems, phrase) in of_clusters.iter().flatten() {
            *totals.entry(stems.clone()).or_default() += u64::from(phrase.n_texts);
        }
        AllPhrases { of_clusters, totals, n_texts: counts.iter().map(|c| u64::from(c.n_texts)).sum() }
    }

    /// The parts of the name of a cluster, best first. The first few make the name; the others
    /// distinguish it from equal names.
    pub(crate) fn parts(
        &self,
        cluster: usize,
        keywords: &[NameKeyword],
        counts: &Counts,
        stems: &Stems,
    ) -> Vec<Part> {
        let mut used: HashSet<String> = HashSet::new();
        let mut parts = Vec::new();
        for keyword in in_order(keywords) {
            let keyword = compound(keyword, keywords, stems).unwrap_or(keyword);
            let own = stems.of_term(&keyword.term);
            if own.is_empty() || own.iter().any(|stem| stems.is_among(stem, &used)) {
                continue;
            }
            let word = || Part { text: written(&keyword.term, &own, counts, stems), stems: own.clone() };
            let part = match &own[..] {
                [stem] => self.best_phrase(cluster, stem, &used, counts, stems).unwrap_or_else(word),
                _ => word(),
            };
            used.extend(part.stems.iter().cloned());
            parts.push(part);
        }
        parts
    }

    /// The best phrase with this stem and none of the used ones.
    fn best_phrase(
        &self,
        cluster: usize,
        stem: &str,
        used: &HashSet<String>,
        counts: &Counts,
        stems: &Stems,
    ) -> Option<Part> {
        let with_stem = counts.words.iter().filter(|(word, _)| stem_of(word, stems) == stem);
        let n_with_stem = with_stem.map(|(_, &n)| n).sum::<u32>().min(counts.n_texts);
        let least = |share: f64, n_texts: u32| (share * f64::from(n_texts)).ceil() as u32;
        let least = least(MIN_SHARE, n_with_stem).max(least(MIN_SHARE_OF_TEXTS, counts.n_texts));
        let least = least.max(MIN_TEXTS);
        let mut best: Option<(f64, Part)> = None;
        for (key, phrase) in &self.of_clusters[cluster] {
            let has_stem = key.split(' ').any(|other| other == stem);
            let is_used = |other: &str| stems.is_among(other, used);
            if phrase.n_texts < least || !has_stem || key.split(' ').any(is_used) {
                continue;
            }
            let contrast = self.contrast(key, phrase.n_texts, counts.n_texts);
            let bonus = if key.split(' ').count() > 2 { TRIPLE_BONUS } else { 1.0 };
            let score = f64::from(phrase.n_texts) * contrast * bonus;
            if contrast >= MIN_CONTRAST && best.as_ref().is_none_or(|best| score > best.0) {
                let stems = key.split(' ').map(str::to_owned).collect();
                best = Some((score, Part { text: phrase.text.clone(), stems }));
            }
        }
        best.map(|best| best.1)
    }

    /// From 0 to 1: the share of texts with the phrase in this sample, relative to its share in the
    /// samples of the others. Samples of clusters without a keyword of the phrase do not count it.
    fn contrast(&self, key: &str, n_texts: u32, n_sample: u32) -> f64 {
        let here = f64::from(n_texts) / f64::from(n_sample.max(1));
        let n_others = self.n_texts - u64::from(n_sample);
        let rest = (self.totals[key] - u64::from(n_texts)) as f64 / n_others.max(1) as f64;
        here / (here + rest)
    }
}

/// The first of the keywords that is a compound with this word, and frequent enough.
fn compound<'a>(
    keyword: &NameKeyword,
    keywords: &'a [NameKeyword],
    stems: &Stems,
) -> Option<&'a NameKeyword> {
    let own = stems.of_term(&keyword.term);
    let [stem] = &own[..] else { return None };
    let least = COMPOUND_SHARE * keyword.share?;
    let is_compound = |other: &&NameKeyword| {
        other.term.contains('-')
            && other.share.is_some_and(|share| share >= least)
            && stems.of_term(&other.term).contains(stem)
    };
    keywords.iter().find(is_compound)
}

/// The phrases of a cluster that are in enough texts.
fn phrases(counts: &Counts, stems: &Stems) -> Phrases {
    let mut forms: BTreeMap<String, Vec<(&str, u32)>> = BTreeMap::new();
    for (Form { language, text }, &n_texts) in counts.phrases.iter().filter(|(_, n_texts)| **n_texts > 1) {
        forms.entry(stems.of_phrase(*language, text).join(" ")).or_default().push((text, n_texts));
    }
    let phrase = |forms: &[(&str, u32)]| Phrase {
        text: most_frequent(forms).to_owned(),
        n_texts: forms.iter().map(|form| form.1).sum::<u32>().min(counts.n_texts),
    };
    let phrases = forms.into_iter().map(|(key, forms)| (key, phrase(&forms)));
    phrases.filter(|(_, phrase)| phrase.n_texts >= MIN_TEXTS).collect()
}

/// A term as people write it: for a stem, its most frequent full form in the texts.
pub(crate) fn written(term: &str, own: &[String], counts: &Counts, stems: &Stems) -> String {
    if !stems.has_stemmed_terms() {
        return term.to_owned();
    }
    let word = |stem: &String| {
        let forms = counts.words.iter().filter(|(word, _)| stem_of(word, stems) == *stem);
        let forms: Vec<(&str, u32)> = forms.map(|(word, &n_texts)| (&word.text[..], n_texts)).collect();
        if forms.is_empty() { stem.clone() } else { most_frequent(&forms).to_owned() }
    };
    let words: Vec<String> = own.iter().map(word).collect();
    let joints = term.chars().filter(|joint| matches!(joint, ' ' | '-'));
    if words.len() != joints.clone().count() + 1 {
        return words.join(" ");
    }
    // With the hyphens of the term.
    let mut written = words[0].clone();
    for (joint, word) in joints.zip(&words[1..]) {
        written.push(joint);
        written.push_str(word);
    }
    written
}

fn stem_of(word: &Form, stems: &Stems) -> String {
    stems.of_word_in(word.language, &word.text)
}

/// The form in most texts, whatever their languages. On a tie the smallest.
fn most_frequent<'a>(forms: &[(&'a str, u32)]) -> &'a str {
    let mut totals: BTreeMap<&str, u32> = BTreeMap::new();
    for &(text, n_texts) in forms {
        *totals.entry(text).or_default() += n_texts;
    }
    let best = totals.into_iter().max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(a.0)));
    best.map_or("", |best| best.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(n_texts: u32, words: &[(&str, u32)], phrases: &[(&str, u32)]) -> Counts {
        let form = |text: &str| Form { language: None, text: text.to_owned() };
        let map = |entries: &[(&str, u32)]| entries.iter().map(|&(text, n)| (form(text), n)).collect();
        Counts { n_texts, words: map(words), phrases: map(phrases) }
    }

    /// The parts of the first cluster's name.
    fn parts(counts: &[Counts], keywords: &[(&str, f64)], stems: &Stems) -> Vec<String> {
        let keyword = |&(term, score): &(&str, f64)| NameKeyword {
            term: term.to_owned(),
            score,
            spread: if term == "people" { 0.7 } else { 0.1 },
            share: None,
        };
        let keywords: Vec<NameKeyword> = keywords.iter().map(keyword).collect();
        let parts = AllPhrases::new(counts, stems).parts(0, &keywords, &counts[0], stems);
        parts.into_iter().map(|part| part.text).collect()
    }

    #[test]
    fn a_stem_is_used_once_and_generic_words_come_last() {
        let keywords = [("use", 0.3), ("people", 0.9), ("dog", 0.9), ("dogs", 0.9), ("puppy", 0.8)];
        let found = parts(&[Counts::default()], &keywords, &Stems::english(false));
        assert_eq!(found, ["dog", "puppy", "use", "people"]);
    }

    #[test]
    fn a_compound_stands_for_its_parts_if_it_is_frequent() {
        let keyword = |term: &str, share| NameKeyword {
            term: term.to_owned(),
            score: 0.9,
            spread: 0.1,
            share: Some(share),
        };
        let names = |share| {
            let keywords = [keyword("covid", 0.8), keyword("vaccine", 0.5), keyword("covid-19", share)];
            let (counts, stems) = ([Counts::default()], Stems::english(false));
            let parts = AllPhrases::new(&counts, &stems).parts(0, &keywords, &counts[0], &stems);
            parts.into_iter().map(|part| part.text).collect::<Vec<_>>()
        };
        assert_eq!(names(0.5), ["covid-19", "vaccine"]);
        assert_eq!(names(0.3), ["covid", "vaccine"]);
    }

    #[test]
    fn a_plural_of_latin_is_no_second_word() {
        let keywords =
            [("matrices", 0.9), ("matrix", 0.9), ("random", 0.8), ("vertex", 0.7), ("vertices", 0.6)];
        let found = parts(&[Counts::default()], &keywords, &Stems::english(false));
        assert_eq!(found, ["matrices", "random", "vertex"]);
    }

    #[test]
    fn rare_words_come_after_common_ones_unless_all_are_rare() {
        let keyword = |term: &str, share| NameKeyword {
            term: term.to_owned(),
            score: if term == "use" { 0.3 } else { 0.9 },
            spread: 0.1,
            share: Some(share),
        };
        let order = |keywords: &[NameKeyword]| -> Vec<String> {
            in_order(keywords).into_iter().map(|keyword| keyword.term.clone()).collect()
        };
        let of = |doctor| [keyword("msg", 0.07), keyword("use", 0.9), keyword("doctor", doctor)];
        assert_eq!(order(&of(0.18)), ["doctor", "msg", "use"]);
        assert_eq!(order(&of(0.08)), ["msg", "doctor", "use"]);
    }

    #[test]
    fn a_frequent_phrase_replaces_its_keywords() {
        let own = counts(
            100,
            &[("speech", 90), ("hate", 60), ("hateful", 10), ("detection", 50)],
            &[("hate speech", 50), ("hateful speech", 9), ("speech detection", 20), ("free speech", 2)],
        );
        let keywords = [("speech", 0.9), ("hate", 0.9), ("detection", 0.7)];
        let stems = Stems::english(false);
        assert_eq!(parts(std::slice::from_ref(&own), &keywords, &stems), ["hate speech", "detection"]);
        // As frequent in another cluster: no contrast.
        let other = counts(100, &[("speech", 90)], &[("hate speech", 59)]);
        assert_eq!(parts(&[own, other], &keywords, &stems), ["speech", "hate", "detection"]);
    }

    #[test]
    fn three_words_replace_two_if_most_texts_have_them() {
        let of = |n_triple| {
            let phrases =
                [("chief executive", 30), ("executive officer", 30), ("chief executive officer", n_triple)];
            let own = counts(50, &[("executive", 40)], &phrases);
            parts(&[own], &[("executive", 0.9)], &Stems::english(false))
        };
        assert_eq!(of(25), ["chief executive officer"]);
        assert_eq!(of(15), ["chief executive"]);
    }

    #[test]
    fn rare_phrases_do_not_count_and_hyphens_stay() {
        let own = counts(
            100,
            &[("wi", 60), ("fi", 60), ("router", 80)],
            &[("wi-fi", 55), ("wi fi", 5), ("new router", 9)],
        );
        let found = parts(&[own], &[("router", 0.9), ("fi", 0.9)], &Stems::english(false));
        assert_eq!(found, ["router", "wi-fi"]);
    }

    #[test]
    fn stems_are_written_in_full() {
        let own = counts(10, &[("organizations", 4), ("organization", 6), ("dogs", 2), ("dog", 2)], &[]);
        let stems = Stems::english(true);
        let organ = stems.of_word("organization");
        let found =
            parts(std::slice::from_ref(&own), &[(&organ, 0.9), ("dog", 0.9), ("unseen", 0.9)], &stems);
        assert_eq!(found, ["organization", "dog", "unseen"]);
        let compound = format!("{organ}-dog");
        assert_eq!(written(&compound, &stems.of_term(&compound), &own, &stems), "organization-dog");
        assert_eq!(written("dogs", &["dog".to_owned()], &own, &Stems::english(false)), "dogs");
    }
}

//! Names of clusters and groups.
//!
//! A name is made of the cluster's best keywords. A keyword gives way to a phrase of two or three
//! words if enough texts of a sample have the phrase, and others have it less. No name has two
//! words of one stem, and no two clusters have the same name.
//!
//! 1. `stems.rs`: which words count as the same.
//! 2. `sample.rs`: words and phrases in the texts of a sample.
//! 3. `parts.rs`: the parts of a name, best first.
//! 4. `unique.rs`: names that differ.

mod parts;
mod sample;
mod stems;
mod unique;

use std::collections::{BTreeMap, HashMap};

use docsphere::{ClusterSummary, Model, TermId};
use rayon::prelude::*;

use self::parts::{AllPhrases, NameKeyword, Part};
use self::sample::Counts;
pub(crate) use self::sample::{Sample, sample_size};
pub(crate) use self::stems::Stems;
use self::unique::{unique_names, varied_names};
use crate::clusters::term_name;

/// The names of all clusters.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// One per cluster; empty for clusters without keywords.
    pub(crate) of_clusters: Vec<String>,
    /// The written form of each keyword, if it is not the term itself.
    pub(crate) written: Vec<Vec<Option<String>>>,
    forms: HashMap<String, Part>,
    /// The written form of terms that are keywords, if it is not the term itself.
    terms: HashMap<String, String>,
    stems: Stems,
}

impl Names {
    /// The names of the clusters with these summaries, from the counted sample.
    pub(crate) fn new(
        summaries: &[ClusterSummary],
        model: &Model,
        sample: Sample<'_>,
        stems: &Stems,
    ) -> Self {
        let counts = sample.into_counts();
        let phrases = AllPhrases::new(&counts, stems);
        let named = |(cluster, (summary, counts)): (usize, (&ClusterSummary, &Counts))| {
            let keyword = |keyword: &docsphere::Keyword| NameKeyword {
                term: term_name(model, keyword.term),
                score: keyword.score,
                spread: keyword.spread,
                share: keyword.n_docs.map(|n_docs| n_docs as f64 / summary.size.max(1) as f64),
            };
            let keywords: Vec<NameKeyword> = summary.keywords.iter().map(keyword).collect();
            let written = |keyword: &NameKeyword| {
                let written = parts::written(&keyword.term, &stems.of_term(&keyword.term), counts, stems);
                (written != keyword.term).then_some(written)
            };
            let parts = phrases.parts(cluster, &keywords, counts, stems);
            (parts, keywords.iter().map(written).collect())
        };
        let clusters = summaries.par_iter().zip(&counts).enumerate();
        let (all_parts, all_written): (Vec<Vec<Part>>, Vec<Vec<Option<String>>>) =
            clusters.map(named).unzip();
        let of_clusters = unique_names(&all_parts, |cluster| cluster.to_string());
        let sizes = summaries.iter().map(|summary| summary.size);
        let terms = terms(summaries, model, &all_written);
        let forms = forms(&all_parts, sizes);
        Names { of_clusters, written: all_written, forms, terms, stems: stems.clone() }
    }

    /// A term as people write it, whichever cluster it is a keyword of.
    pub(crate) fn term(&self, term: &str) -> String {
        self.terms.get(term).cloned().unwrap_or_else(|| term.to_owned())
    }

    /// The names of groups with these keywords, all different, also from those of clusters. The
    /// first in `order` have the first choice.
    pub(crate) fn of_groups(&self, model: &Model, keywords: &[Vec<TermId>], order: &[usize]) -> Vec<String> {
        let all: Vec<Vec<Part>> =
            keywords.par_iter().map(|keywords| self.group_parts(model, keywords)).collect();
        varied_names(&all, order, &self.of_clusters, |place| format!("group {place}"))
    }

    /// The parts of the name of a group with these keywords.
    fn group_parts(&self, model: &Model, keywords: &[TermId]) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        for &term in keywords {
            let term = term_name(model, term);
            let own = self.stems.of_term(&term);
            let form = self.forms.get(&own.join(" ")).cloned();
            let word = Part { text: self.term(&term), stems: own };
            let is_new = |part: &Part| {
                let used = parts.iter().flat_map(|part| part.stems.iter().cloned()).collect();
                !part.stems.iter().any(|stem| self.stems.is_among(stem, &used))
            };
            if let Some(part) = form.into_iter().chain([word]).find(is_new) {
                parts.push(part);
            }
        }
        parts
    }
}

/// How terms are written that are stems: as in the clusters with most documents.
fn terms(
    summaries: &[ClusterSummary],
    model: &Model,
    written: &[Vec<Option<String>>],
) -> HashMap<String, String> {
    let mut votes: HashMap<String, BTreeMap<&str, usize>> = HashMap::new();
    for (summary, written) in summaries.iter().zip(written) {
        for (keyword, written) in summary.keywords.iter().zip(written) {
            if let Some(written) = written {
                *votes.entry(term_name(model, keyword.term)).or_default().entry(written).or_default() +=
                    summary.size;
            }
        }
    }
    let written = |(term, votes): (String, BTreeMap<&str, usize>)| {
        let winner = votes.into_iter().max_by_key(|vote| vote.1)?;
        Some((term, winner.0.to_owned()))
    };
    votes.into_iter().filter_map(written).collect()
}

/// How groups write the words of these stems: as the names of most documents' clusters write them,
/// if they agree.
fn forms(all_parts: &[Vec<Part>], sizes: impl Iterator<Item = usize>) -> HashMap<String, Part> {
    let mut votes: HashMap<&str, BTreeMap<&str, (usize, &Part)>> = HashMap::new();
    for (parts, size) in all_parts.iter().zip(sizes) {
        for part in parts {
            for stem in &part.stems {
                votes.entry(stem).or_default().entry(&part.text).or_insert((0, part)).0 += size;
            }
        }
    }
    let winner = |votes: BTreeMap<&str, (usize, &Part)>| {
        let total: usize = votes.values().map(|vote| vote.0).sum();
        votes.into_values().find(|vote| 2 * vote.0 > total).map(|vote| vote.1.clone())
    };
    votes.into_iter().filter_map(|(stem, votes)| Some((stem.to_owned(), winner(votes)?))).collect()
}

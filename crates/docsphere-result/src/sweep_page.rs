//! `sweep.html`: the page of a sweep. Plain HTML with curves as inline SVG: no script, no network.
//!
//! Curves and example clusters come first, the recommendation last: people know better than any
//! measure which clusters they can use.

use std::fmt::Write as _;

use crate::html::{escaped, grouped, plain_page};
use crate::svg::{Chart, Line, Point};
use crate::sweep::{AgreementEntry, SweepEntry, SweepFile};

/// The page.
pub(crate) fn render(file: &SweepFile) -> String {
    let mut body = String::from("<h1>How many clusters?</h1>\n");
    put_introduction(&mut body, file);
    put_curves(&mut body, file);
    put_examples(&mut body, file);
    put_table(&mut body, file);
    put_recommendation(&mut body, file);
    plain_page("How many clusters?", "", &body)
}

fn put_introduction(page: &mut String, file: &SweepFile) {
    let numbers: Vec<String> = file.results.iter().map(|entry| grouped(entry.n_clusters)).collect();
    let _ = writeln!(
        page,
        "<p>{} documents with {} terms, clustered with k = {}. Every k has a complete result: follow its link.</p>",
        grouped(file.n_documents),
        grouped(file.n_terms),
        numbers.join(", ")
    );
    if !file.complete {
        let _ = writeln!(
            page,
            "<p class=\"note\">The sweep was ended after {} of {} numbers.</p>",
            file.results.len(),
            file.wanted.len()
        );
    }
}

fn put_curves(page: &mut String, file: &SweepFile) {
    let of = |name: &'static str, value: fn(&SweepEntry) -> Option<f64>| {
        let point = |entry: &SweepEntry| Some(Point::new(entry.n_clusters, value(entry)?));
        Line { name, points: file.results.iter().filter_map(point).collect() }
    };
    let ranged = |name: &'static str, value: fn(&SweepEntry) -> Option<AgreementEntry>| {
        let point = |entry: &SweepEntry| {
            let AgreementEntry { ari, ari_least, ari_greatest, .. } = value(entry)?;
            Some(Point { range: Some((ari_least, ari_greatest)), ..Point::new(entry.n_clusters, ari) })
        };
        Line { name, points: file.results.iter().filter_map(point).collect() }
    };
    page.push_str("<h2>Curves</h2>\n<div class=\"charts\">\n");
    let mut put = |title: &str, lines: Vec<Line>, caption: &str| {
        let lines: Vec<Line> = lines.into_iter().filter(|line| !line.points.is_empty()).collect();
        if lines.is_empty() {
            return;
        }
        let chart = Chart { title, lines }.render();
        let _ = writeln!(
            page,
            "<figure>\n<h3>{title}</h3>\n{chart}<figcaption>{caption}</figcaption>\n</figure>"
        );
    };
    put(
        "Margin",
        vec![of("margin", |entry| entry.margin)],
        "How much nearer documents are to the rest of their cluster than to the next one. Higher is better.",
    );
    let sample = file.stability.map_or(0, |stability| stability.n_documents);
    put(
        "Stability",
        vec![ranged("halves", |entry| entry.halves), ranged("seeds", |entry| entry.seeds)],
        &format!(
            "Whether the same clusters come again from two random halves of the documents, and from other random numbers: adjusted Rand index on {} documents, 1 for the same clusters, 0 for chance. Bars reach from the least to the greatest of the pairs.",
            grouped(sample)
        ),
    );
    put(
        "Silhouette",
        vec![of("exact", |entry| entry.silhouette), of("simplified", |entry| entry.simplified_silhouette)],
        "On texts it rises far beyond the number of subjects that people see. Compare only neighbours.",
    );
    put(
        "Similarity",
        vec![of("similarity", |entry| Some(entry.mean_similarity))],
        "The mean similarity of a document to its centroid. It always rises with k.",
    );
    page.push_str("</div>\n");
}

fn put_examples(page: &mut String, file: &SweepFile) {
    page.push_str(
        "<h2>Clusters at each k</h2>\n<p>Some clusters, from the largest to the smallest, with their numbers of documents.</p>\n<div class=\"examples\">\n",
    );
    for entry in &file.results {
        let _ = writeln!(page, "<section>\n<h3>{}</h3>\n<ul>", linked(entry, "k = "));
        for example in &entry.examples {
            let _ = writeln!(
                page,
                "<li><span class=\"size\">{}</span> {}</li>",
                grouped(example.size),
                escaped(&example.name)
            );
        }
        page.push_str("</ul>\n</section>\n");
    }
    page.push_str("</div>\n");
}

/// The number of clusters, as a link to its report if there is one.
fn linked(entry: &SweepEntry, before: &str) -> String {
    let shown = format!("{before}{}", grouped(entry.n_clusters));
    match &entry.report {
        Some(report) => format!("<a href=\"{}\">{shown}</a>", escaped(report)),
        None => shown,
    }
}

fn put_table(page: &mut String, file: &SweepFile) {
    page.push_str("<h2>Table</h2>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table\">\n<table>\n<thead><tr>");
    for title in [
        "k",
        "similarity",
        "silhouette",
        "simplified",
        "margin",
        "halves",
        "seeds",
        "smallest",
        "largest",
        "iterations",
        "seconds",
    ] {
        let _ = write!(page, "<th scope=\"col\">{title}</th>");
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    let number = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.3}"));
    for entry in &file.results {
        let _ = write!(page, "<tr><th scope=\"row\">{}</th>", linked(entry, ""));
        let cells = [
            format!("{:.3}", entry.mean_similarity),
            number(entry.silhouette),
            number(entry.simplified_silhouette),
            number(entry.margin),
            number(entry.halves.map(|found| found.ari)),
            number(entry.seeds.map(|found| found.ari)),
            grouped(entry.smallest),
            grouped(entry.largest),
            format!("{}{}", entry.iterations, if entry.converged { "" } else { "*" }),
            format!("{:.1}", entry.seconds),
        ];
        cells.iter().for_each(|cell| {
            let _ = write!(page, "<td>{cell}</td>");
        });
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody>\n</table>\n</div>\n");
    if file.results.iter().any(|entry| !entry.converged) {
        page.push_str("<p class=\"note\">* not converged; raise <code>--max-iter</code>.</p>\n");
    }
}

fn put_recommendation(page: &mut String, file: &SweepFile) {
    page.push_str("<h2>Recommendation</h2>\n");
    let Some(found) = &file.recommendation else {
        page.push_str("<p>There is none: it needs at least two numbers of clusters, and clusters that are apart and come again.</p>\n");
        return;
    };
    let _ = writeln!(page, "<p>{}</p>\n<p>{}</p>", escaped(&found.reason), escaped(&found.uncertainty));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::{ExampleEntry, Recommendation, StabilityEntry};

    fn entry(n_clusters: usize) -> SweepEntry {
        let halves = AgreementEntry { ari: 0.5, ari_least: 0.4, ari_greatest: 0.6, nmi: 0.7 };
        SweepEntry {
            n_clusters,
            folder: format!("k-{n_clusters}"),
            report: Some(format!("k-{n_clusters}/report.html")),
            objective: 10.0,
            mean_similarity: 0.3,
            silhouette: Some(0.1),
            simplified_silhouette: Some(0.2),
            margin: Some(0.15),
            halves: Some(halves),
            seeds: Some(halves),
            iterations: 7,
            converged: true,
            n_empty_clusters: 0,
            n_outliers: 0,
            smallest: 3,
            largest: 1234,
            seconds: 0.5,
            examples: vec![ExampleEntry {
                id: 0,
                name: "<script>alert(1)</script> & co".to_owned(),
                size: 1234,
            }],
        }
    }

    fn file(results: Vec<SweepEntry>) -> SweepFile {
        SweepFile {
            version: "1".to_owned(),
            n_documents: 5000,
            n_without_terms: 0,
            n_terms: 800,
            seed: 0,
            wanted: vec![5, 10, 1200],
            complete: results.len() == 3,
            stability: Some(StabilityEntry { pairs: 2, n_documents: 5000 }),
            settings: Vec::new(),
            seconds: 1.0,
            recommendation: Some(Recommendation {
                n_clusters: 10,
                from: 5,
                to: 1200,
                by_margin: 10,
                by_stability: Some(5),
                reason: "a & b".to_owned(),
                uncertainty: "not < sure".to_owned(),
            }),
            results,
        }
    }

    #[test]
    fn the_page_has_no_script_no_address_and_no_markup_of_documents() {
        let page = render(&file([5, 10, 1200].map(entry).to_vec()));
        for never in ["<script", "http:", "https:", "//", " on", "@import", "url("] {
            let found =
                page.replace("http-equiv", "").replace(" only", "").replace(" one", "").replace(" on ", " ");
            assert!(!found.contains(never), "{never}: {}", &found[found.find(never).unwrap()..]);
        }
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt; &amp; co"));
        for n_clusters in ["5", "10", "1200"] {
            assert!(page.contains(&format!("<a href=\"k-{n_clusters}/report.html\">")), "{n_clusters}");
        }
        assert_eq!(page.matches("<svg").count(), 4);
        // The recommendation comes last.
        let places =
            ["<h2>Curves", "<h2>Clusters at each k", "<h2>Table", "<h2>Recommendation", "not &lt; sure"];
        let places: Vec<usize> = places.iter().map(|text| page.find(text).unwrap()).collect();
        assert!(places.is_sorted(), "{places:?}");
    }

    #[test]
    fn what_was_not_measured_is_left_out() {
        let plain = |k| SweepEntry { halves: None, seeds: None, report: None, converged: false, ..entry(k) };
        let page = render(&SweepFile { stability: None, recommendation: None, ..file(vec![plain(5)]) });
        assert_eq!(page.matches("<svg").count(), 3, "no curve of stability");
        assert!(page.contains("The sweep was ended after 1 of 3 numbers.") && page.contains("There is none"));
        assert!(page.contains("<td>7*</td>") && page.contains("not converged") && !page.contains("href"));
        assert!(!page.contains("NaN") && !page.contains("inf"));
    }

    #[test]
    fn a_sweep_is_read_back_as_it_was_written() {
        let home = tempfile::tempdir().unwrap();
        let file = file([5, 10, 1200].map(entry).to_vec());
        file.write(home.path()).unwrap();
        assert_eq!(SweepFile::read(home.path(), &docsphere::MemoryLimit::default()).unwrap(), file);
    }
}

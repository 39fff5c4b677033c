//! Texts to named clusters: `cargo run --example cluster_texts`.

use docsphere::{SphericalKMeans, SummaryOptions, Vectorizer, summarize};

pub(crate) fn main() -> docsphere::Result<()> {
    let texts = [
        "The cat purrs and the cat sleeps",
        "A cat hunts, then it purrs",
        "Stocks fall, and the market falls with them",
        "The market opens, stocks rise",
        "Bread needs flour, water and yeast",
        "Knead flour, yeast and water to a dough",
    ];

    // TF-IDF rows of length one. For files of documents: `Corpus::open` and `Vectorizer::fit`.
    let text = Vectorizer::new().fit_texts(&texts)?;
    let fit = SphericalKMeans::params(3).seed(1).fit(&text.rows)?;

    // With its text part the model knows the names of terms, and can label new texts.
    let model = fit.model.with_text(text.model)?;
    let options = SummaryOptions::default().n_keywords(3).n_representatives(1);
    for cluster in summarize(&text.rows, &fit.labels, &fit.similarities, &model, options)? {
        let keywords: Vec<&str> =
            cluster.keywords.iter().filter_map(|keyword| model.term_name(keyword.term)).collect();
        println!("{} texts about {}", cluster.size, keywords.join(", "));
        for representative in &cluster.representatives {
            println!("    such as: {}", texts[representative.doc.index()]);
        }
    }

    let reader = model.text().expect("it was added above");
    let new = reader.transform(&["Does the cat purr while stocks fall? The cat sleeps."])?;
    let nearest = model.predict(&new.rows)?;
    let cluster = nearest.labels.as_slice()[0];
    println!("a new text belongs to cluster {cluster}, similarity {:.2}", nearest.similarities[0]);
    assert_eq!(cluster, fit.labels.as_slice()[0], "cats");
    Ok(())
}

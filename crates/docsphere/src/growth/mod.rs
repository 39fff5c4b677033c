//! New clusters for new documents.
//!
//! A run that goes on with new documents ([`FitOptions::continue_from`]) puts each into the nearest
//! of the clusters that there are. Documents on a new subject are near to none of them.
//! [`opened_clusters`] finds such documents, clusters them alone, and adds their centroids after
//! the others, whose numbers stay. The run that follows moves all documents to where they belong.
//!
//! **Which documents fit nowhere.** Those that are less similar to their nearest centroid than 95
//! of 100 earlier documents are to the centroid of their cluster without them. (A document is a
//! part of its own centroid, which is the nearer to it the smaller the cluster.)
//!
//! **How many clusters** ([`NewClusters::Auto`]). Of new documents like the earlier ones, 5 of 100
//! fit that badly, too. Those beyond them, divided by the mean size of the clusters so far, and
//! rounded.
//!
//! **Cost.** One assignment of all documents, and a run over those that fit nowhere, whose rows are
//! copied.
//!
//! [`FitOptions::continue_from`]: crate::FitOptions::continue_from

use crate::centroids::Centroids;
use crate::error::{ErrorKind, Result};
use crate::fit::{FitOptions, Params};
use crate::model::Model;
use crate::observer::Observer;
use crate::vectors::UnitRows;

/// How many clusters are opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum NewClusters {
    /// None.
    #[default]
    None,
    /// So many.
    Number(usize),
    /// As many as the documents that fit nowhere would fill.
    Auto,
}

/// Centroids with new ones after them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OpenedClusters {
    /// The centroids so far, then the new ones.
    pub centroids: Centroids,
    /// The number of new ones.
    pub n_opened: usize,
    /// The new documents that fit nowhere.
    pub n_unfit: usize,
}

/// The share of documents that count as unfit among the earlier ones: one in so many.
const UNFIT_ONE_IN: usize = 20;

/// The least number of documents from which a cluster is opened, if its number is given and there
/// are as many new ones.
const DOCS_PER_CLUSTER: usize = 10;

/// Opens clusters for new rows that fit nowhere: those from `first_new` on. `params` are those of
/// the run that follows.
///
/// ```
/// use docsphere::{NewClusters, SparseRows, SphericalKMeans, UnitRows, opened_clusters};
///
/// // Two documents about terms 0 and 1, and two new ones about others.
/// let rows = |n: usize| {
///     let (terms, values) = ([0, 1, 0, 1, 2, 3, 2, 3][..2 * n].to_vec(), vec![1.0; 2 * n]);
///     let offsets: Vec<u64> = (0..=n as u64).map(|row| 2 * row).collect();
///     UnitRows::new(SparseRows::from_parts(4, offsets, terms, values).unwrap())
/// };
/// let params = SphericalKMeans::params(1);
/// let fit = params.clone().fit(&rows(2))?;
/// let mut watch = |_: &docsphere::Event<'_>| std::ops::ControlFlow::Continue(());
/// let opened =
///     opened_clusters(&rows(4), 2, &fit.model, NewClusters::Auto, &params, &mut watch)?;
/// assert_eq!((opened.n_opened, opened.n_unfit), (1, 2));
/// assert_eq!(opened.centroids.centroid(docsphere::ClusterId::new(1)).terms, [2, 3]);
/// # Ok::<(), docsphere::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Mismatch`] if more clusters are asked for than new rows have terms; those of a fit.
pub fn opened_clusters(
    rows: &UnitRows<'_>,
    first_new: usize,
    model: &Model,
    number: NewClusters,
    params: &Params,
    observer: &mut dyn Observer,
) -> Result<OpenedClusters> {
    let centroids = model.centroids();
    let none = |n_unfit| OpenedClusters { centroids: centroids.clone(), n_opened: 0, n_unfit };
    if number == NewClusters::None || number == NewClusters::Number(0) || first_new >= rows.n_rows() {
        return Ok(none(0));
    }
    let nearest = model.predictor().predict(rows)?;
    let (labels, similarities) = (nearest.labels.as_slice(), &nearest.similarities);
    let old_labels = &labels[..first_new];
    let mut old = similarities_without_own(old_labels, similarities);
    old.sort_unstable_by(f64::total_cmp);
    let least = old.get(old.len() / UNFIT_ONE_IN).copied().unwrap_or(0.0);
    let mut new: Vec<u32> =
        (first_new..rows.n_rows()).filter(|&doc| rows.row(doc).nnz() > 0).map(|doc| doc as u32).collect();
    let n_new = new.len();
    // The worst first, on a tie by number: the sort is stable.
    new.sort_by(|&a, &b| similarities[a as usize].total_cmp(&similarities[b as usize]));
    let n_unfit = new.partition_point(|&doc| similarities[doc as usize] < least || labels[doc as usize] < 0);
    let (n_wanted, n_chosen) = match number {
        NewClusters::Number(n) if n > n_new => {
            return Err(ErrorKind::Mismatch {
                what: "the number of new clusters",
                expected: format!("at most {n_new}, the number of new documents that have a term"),
                got: n.to_string(),
            }
            .into());
        }
        NewClusters::Number(n) => (n, n_unfit.max(n.saturating_mul(DOCS_PER_CLUSTER).min(n_new))),
        _ => (auto_number(old_labels, n_new, n_unfit), n_unfit),
    };
    if n_wanted == 0 {
        return Ok(none(n_unfit));
    }
    new.truncate(n_chosen);
    new.sort_unstable();
    let part = rows.select(&new)?;
    let params = params.clone().n_clusters(n_wanted).init(Default::default());
    let fit = params.fit_with(&part, FitOptions::default().observer(observer))?;
    let opened = fit.model.centroids().clone().without_empty().into_list();
    let n_opened = opened.len();
    let n_terms = centroids.n_terms();
    let list = centroids.clone().into_list().into_iter().chain(opened).collect();
    Ok(OpenedClusters { centroids: Centroids::new(n_terms, list), n_opened, n_unfit })
}

/// The similarity of each document that has a label to its cluster without it.
///
/// The length of the sum of a cluster is the sum of the similarities of its documents to its
/// centroid, n. Without a document of similarity s, the sum has the product n s - 1 with it, and
/// the squared length n^2 - 2 n s + 1.
fn similarities_without_own(labels: &[i32], similarities: &[f64]) -> Vec<f64> {
    let labelled = || {
        let known = labels.iter().zip(similarities).filter(|(label, _)| **label >= 0);
        known.map(|(&label, &similarity)| (label as usize, similarity))
    };
    let mut lengths = vec![0.0; labelled().map(|(label, _)| label + 1).max().unwrap_or(0)];
    labelled().for_each(|(label, similarity)| lengths[label] += similarity);
    let without = |(label, s): (usize, f64)| {
        let n: f64 = lengths[label];
        let squared = n * n - 2.0 * n * s + 1.0;
        // Alone in its cluster.
        if squared <= 1e-9 { 0.0 } else { (n * s - 1.0) / squared.sqrt() }
    };
    labelled().map(without).collect()
}

/// How many clusters of the mean size so far the unfit documents fill, beyond those that are
/// expected.
fn auto_number(old_labels: &[i32], n_new: usize, n_unfit: usize) -> usize {
    let mut sizes = vec![0usize; old_labels.iter().max().map_or(0, |&label| (label + 1).max(0) as usize)];
    old_labels.iter().filter_map(|&label| usize::try_from(label).ok()).for_each(|label| sizes[label] += 1);
    let n_live = sizes.iter().filter(|&&size| size > 0).count();
    let n_docs: usize = sizes.iter().sum();
    let n_beyond = n_unfit.saturating_sub(n_new / UNFIT_ONE_IN);
    // n_beyond / (n_docs / n_live), rounded; one cluster without documents so far.
    if n_docs == 0 { usize::from(n_beyond > 0) } else { (2 * n_beyond * n_live + n_docs) / (2 * n_docs) }
}

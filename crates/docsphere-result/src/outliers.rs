//! Outliers: documents that are less similar to every centroid than the user wants.

use docsphere::Labels;

/// Takes the documents that are less similar than this to their centroids, and so to all others,
/// out of their clusters: their label becomes -1 and their similarity 0, as those of documents that
/// share no term with any cluster. The centroids stay as they are.
///
/// ```
/// use docsphere::Labels;
/// use docsphere_result::set_outliers_apart;
///
/// let (mut labels, mut similarities) = (Labels::from(vec![0, 1, -1]), vec![0.4, 0.09, 0.0]);
/// set_outliers_apart(&mut labels, &mut similarities, 0.1);
/// assert_eq!((labels.as_slice(), similarities), (&[0, -1, -1][..], vec![0.4, 0.0, 0.0]));
/// ```
///
/// # Panics
/// If there is not one similarity per label.
pub fn set_outliers_apart(labels: &mut Labels, similarities: &mut [f64], min_similarity: f64) {
    assert_eq!(labels.len(), similarities.len(), "one similarity for each label");
    let mut all = Vec::from(std::mem::replace(labels, Labels::from(Vec::new())));
    for (label, similarity) in all.iter_mut().zip(similarities) {
        if *similarity < min_similarity {
            (*label, *similarity) = (-1, 0.0);
        }
    }
    *labels = Labels::from(all);
}

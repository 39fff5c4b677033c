//! Summary statistics.

/// The median: the middle value, or the mean of the two middle ones if their number is even.
///
/// # Panics
/// If there are no values.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    quartiles(values)[1]
}

/// The first quartile, the median and the third quartile, linearly interpolated.
///
/// # Panics
/// If there are no values.
pub(crate) fn quartiles(values: impl IntoIterator<Item = f64>) -> [f64; 3] {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    [0.25, 0.5, 0.75].map(|share| {
        let place = share * (values.len() - 1) as f64;
        let (below, above) = (values[place.floor() as usize], values[place.ceil() as usize]);
        below + (above - below) * place.fract()
    })
}

/// The minimum; infinite if there are no values.
pub(crate) fn least(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(f64::INFINITY, f64::min)
}

/// The mean.
///
/// # Panics
/// If there are no values.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.into_iter().collect();
    assert!(!values.is_empty(), "no values to average");
    values.iter().sum::<f64>() / values.len() as f64
}

/// The exponent b of the best-fitting power law `y = a x^b`: least squares in logarithms. `None`
/// with fewer than two distinct x.
pub(crate) fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let logs: Vec<(f64, f64)> = points.iter().map(|&(x, y)| (x.ln(), y.ln())).collect();
    if logs.windows(2).all(|pair| pair[0].0 == pair[1].0) {
        return None;
    }
    let mean_x = mean(logs.iter().map(|log| log.0));
    let mean_y = mean(logs.iter().map(|log| log.1));
    let covariance: f64 = logs.iter().map(|log| (log.0 - mean_x) * (log.1 - mean_y)).sum();
    let variance: f64 = logs.iter().map(|log| (log.0 - mean_x) * (log.0 - mean_x)).sum();
    Some(covariance / variance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median([3.0]), 3.0);
        assert_eq!(median([9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 3.0, 2.0]), 2.5);
    }

    #[test]
    fn quartiles_are_where_a_quarter_lies_below() {
        assert_eq!(quartiles([5.0, 1.0, 4.0, 2.0, 3.0]), [2.0, 3.0, 4.0]);
        assert_eq!(quartiles([1.0, 2.0]), [1.25, 1.5, 1.75]);
        assert_eq!(quartiles([7.0]), [7.0; 3]);
    }

    #[test]
    fn least_and_mean() {
        assert_eq!((least([2.0, 1.0, 3.0]), mean([2.0, 1.0, 3.0])), (1.0, 2.0));
        assert_eq!(least([]), f64::INFINITY);
    }

    #[test]
    fn a_power_law_gives_its_exponent_back() {
        let points: Vec<_> = [25e3, 50e3, 100e3, 200e3].map(|x: f64| (x, 3e-7 * x.powf(1.25))).into();
        assert!((exponent(&points).unwrap() - 1.25).abs() < 1e-12);
    }

    #[test]
    fn noise_in_both_directions_cancels() {
        let points = [(1.0, 1.0 * 1.1), (10.0, 10.0 / 1.1), (100.0, 100.0 / 1.1), (1000.0, 1000.0 * 1.1)];
        assert!((exponent(&points).unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn one_point_has_no_exponent() {
        assert_eq!(exponent(&[]), None);
        assert_eq!(exponent(&[(2.0, 3.0)]), None);
        assert_eq!(exponent(&[(2.0, 3.0), (2.0, 4.0)]), None);
    }
}

//! Numbers for people.

pub(crate) use docsphere_result::grouped;

/// A number of things: "1 document", "2,000 documents".
pub(crate) fn counted(number: usize, thing: &str) -> String {
    format!("{} {thing}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// A share in whole percent; a small one is never shown as nothing.
pub(crate) fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.01 { "<1 %".to_owned() } else { format!("{:.0} %", 100.0 * share) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_whole_percents() {
        assert_eq!([0.0, 0.001, 0.01, 0.126, 1.0].map(percent), ["0 %", "<1 %", "1 %", "13 %", "100 %"]);
    }

    #[test]
    fn one_thing_is_singular() {
        assert_eq!(
            [0, 1, 2_000].map(|n| counted(n, "document")),
            ["0 documents", "1 document", "2,000 documents"]
        );
    }
}

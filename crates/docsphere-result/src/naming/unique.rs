//! Names that differ: equal names get further parts until they differ.

use std::collections::HashMap;

use super::parts::Part;

/// Number of parts in a name that no other name equals.
const PARTS: usize = 3;

/// A name ends once it has this many words.
const ENOUGH_WORDS: usize = 4;

/// Names from the parts of each, all different. Names of the same parts in another order count as
/// equal. All of several equal names get their next part, as long as one of them has a part left;
/// then they get the number that `number` gives them. Names without parts are empty.
pub(crate) fn unique_names(all: &[Vec<Part>], number: impl Fn(usize) -> String) -> Vec<String> {
    let mut lengths: Vec<usize> = all.iter().map(|parts| first_length(parts)).collect();
    let equal = loop {
        let equal = equal_names(all, &lengths);
        let mut has_changed = false;
        for &place in equal.iter().flatten() {
            if lengths[place] < all[place].len() {
                lengths[place] += 1;
                has_changed = true;
            }
        }
        if !has_changed {
            break equal;
        }
    };
    let mut names: Vec<String> =
        all.iter().zip(&lengths).map(|(parts, &length)| joined(&parts[..length])).collect();
    for place in equal.into_iter().flatten() {
        names[place] = format!("{} ({})", names[place], number(place));
    }
    names
}

/// A name of these parts that need not differ from others.
pub(crate) fn short_name(parts: &[Part]) -> String {
    joined(&parts[..first_length(parts)])
}

fn joined(parts: &[Part]) -> String {
    parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join(", ")
}

/// The number of parts of a name that need not differ from others.
fn first_length(parts: &[Part]) -> usize {
    let mut n_words = 0;
    for (n, part) in parts.iter().enumerate() {
        if n == PARTS || n_words >= ENOUGH_WORDS {
            return n;
        }
        n_words += part.stems.len();
    }
    parts.len()
}

/// The places of names that are equal to others, name by name, in the order of their first places.
fn equal_names(all: &[Vec<Part>], lengths: &[usize]) -> Vec<Vec<usize>> {
    let mut places: HashMap<Vec<&str>, Vec<usize>> = HashMap::new();
    for (place, (parts, &length)) in
        all.iter().zip(lengths).enumerate().filter(|(_, (_, length))| **length > 0)
    {
        let mut texts: Vec<&str> = parts[..length].iter().map(|part| part.text.as_str()).collect();
        texts.sort_unstable();
        places.entry(texts).or_default().push(place);
    }
    let mut equal: Vec<Vec<usize>> = places.into_values().filter(|places| places.len() > 1).collect();
    equal.sort_unstable();
    equal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&[&str]]) -> Vec<String> {
        let part = |text: &&str| {
            let stems = text.split(' ').map(str::to_owned).collect();
            Part { text: (*text).to_owned(), stems }
        };
        let all: Vec<Vec<Part>> = all.iter().map(|parts| parts.iter().map(part).collect()).collect();
        unique_names(&all, |place| place.to_string())
    }

    #[test]
    fn equal_names_get_further_parts() {
        let found =
            names(&[&["a", "b", "c", "d"], &["b", "a", "c", "e"], &["a", "b", "d", "e"], &["a"], &[]]);
        assert_eq!(found, ["a, b, c, d", "b, a, c, e", "a, b, d", "a", ""]);
    }

    #[test]
    fn a_longer_name_may_equal_another_for_a_while() {
        // The first two become the third, so that all three take another part.
        let found = names(&[&["a"], &["a", "b"], &["x"], &["x"]]);
        assert_eq!(found, ["a", "a, b", "x (2)", "x (3)"]);
        let found = names(&[&["p q", "r s", "t"], &["p q", "r s", "u"], &["p q", "r s", "t", "v"]]);
        assert_eq!(found, ["p q, r s, t", "p q, r s, u", "p q, r s, t, v"]);
    }

    #[test]
    fn names_have_few_words() {
        let found = names(&[&["a b", "c d", "e"], &["x y z", "u", "v"], &["l", "m", "n", "o"]]);
        assert_eq!(found, ["a b, c d", "x y z, u", "l, m, n"]);
    }
}

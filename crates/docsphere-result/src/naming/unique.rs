//! Names that differ: equal names get further parts until they differ.

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;

use super::parts::Part;

/// Separates the parts of a name.
const SEPARATOR: &str = ", ";

/// Number of parts in a name that no other name equals.
const PARTS: usize = 3;

/// A name ends once it has this many words.
const ENOUGH_WORDS: usize = 4;

/// Names from the parts of each, all different. Names of the same parts in another order count as
/// equal. All of several equal names get their next part, as long as one of them has a part left;
/// then they get the number that `number` gives them. Names without parts are empty.
pub(crate) fn unique_names(all: &[Vec<Part>], number: impl Fn(usize) -> String) -> Vec<String> {
    let mut lengths: Vec<usize> = all.iter().map(|parts| first_length(parts)).collect();
    let key_of = |parts: &[Part]| key(parts.iter().map(|part| part.text.as_str()).collect());
    let first = |(parts, &length): (&Vec<Part>, &usize)| key_of(&parts[..length]);
    let mut keys: Vec<String> = all.par_iter().zip(&lengths).map(first).collect();
    let equal = loop {
        let equal = equal_names(&keys);
        let mut has_changed = false;
        for &place in equal.iter().flatten() {
            if lengths[place] < all[place].len() {
                lengths[place] += 1;
                keys[place] = key_of(&all[place][..lengths[place]]);
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
    let mut given = HashSet::new();
    for (place, name) in names.iter_mut().enumerate() {
        make_new(name, &mut given, || number(place));
    }
    names
}

/// Names from the parts of each, all different, also from those that are `taken`. They are given in
/// this order of their places: a name whose best parts are taken gets others in their stead, so
/// that names stay short. This suits groups within groups, whose best parts are the same.
pub(crate) fn varied_names(
    all: &[Vec<Part>],
    order: &[usize],
    taken: &[String],
    number: impl Fn(usize) -> String,
) -> Vec<String> {
    let mut given: HashSet<String> = taken.iter().cloned().collect();
    // Parts as numbers: there are many choices for each name.
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let mut of_parts: Vec<Vec<u32>> = Vec::with_capacity(all.len());
    for parts in all {
        let number = |part| {
            let next = numbers.len() as u32;
            *numbers.entry(part).or_insert(next)
        };
        of_parts.push(parts.iter().map(|part| part.text.as_str()).map(number).collect());
    }
    let of_name = |name: &String| -> Option<[u32; PARTS]> {
        let found: Option<Vec<u32>> = name.split(SEPARATOR).map(|part| numbers.get(part).copied()).collect();
        found.filter(|found| found.len() <= PARTS).map(|found| numbers_in_order(found.into_iter()))
    };
    let mut keys: HashSet<[u32; PARTS]> = taken.iter().filter_map(of_name).collect();
    let mut names = vec![String::new(); all.len()];
    for &place in order {
        let (parts, own) = (&all[place], &of_parts[place]);
        let key = |chosen: &[usize]| numbers_in_order(chosen.iter().map(|&n| own[n]));
        let length = first_length(parts);
        let chosen = choices(parts.len(), length)
            .find(|chosen| !keys.contains(&key(chosen)))
            .unwrap_or_else(|| (0..length).collect());
        keys.insert(key(&chosen));
        let texts: Vec<&str> = chosen.iter().map(|&n| parts[n].text.as_str()).collect();
        names[place] = texts.join(SEPARATOR);
        make_new(&mut names[place], &mut given, || number(place));
    }
    names
}

/// All choices of `length` numbers below `n`, ascending, in the order of the numbers.
fn choices(n: usize, length: usize) -> impl Iterator<Item = Vec<usize>> {
    let mut next: Option<Vec<usize>> = (length <= n).then(|| (0..length).collect());
    std::iter::from_fn(move || {
        let chosen = next.take()?;
        // The last number that can be raised, and all behind it.
        let raised = (0..length).rev().find(|&place| chosen[place] + length < n + place);
        next = raised.map(|place| {
            let from = chosen[place] + 1;
            chosen[..place].iter().copied().chain(from..from + length - place).collect()
        });
        Some(chosen)
    })
}

/// Gives a name a number, unless it is new. Columns of a matrix may have any names, also with
/// commas or with numbers in parentheses.
fn make_new(name: &mut String, given: &mut HashSet<String>, number: impl Fn() -> String) {
    while !name.is_empty() && !given.insert(name.clone()) {
        *name = format!("{name} ({})", number());
    }
}

fn joined(parts: &[Part]) -> String {
    parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join(SEPARATOR)
}

/// The parts of a name in an order that does not depend on theirs.
fn key(mut parts: Vec<&str>) -> String {
    parts.sort_unstable();
    parts.join(SEPARATOR)
}

/// At most [`PARTS`] numbers in an order that does not depend on theirs.
fn numbers_in_order(numbers: impl Iterator<Item = u32>) -> [u32; PARTS] {
    let mut all = [u32::MAX; PARTS];
    all.iter_mut().zip(numbers).for_each(|(place, number)| *place = number);
    all.sort_unstable();
    all
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
/// Names without parts are not compared.
fn equal_names(keys: &[String]) -> Vec<Vec<usize>> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::with_capacity(keys.len());
    for (place, key) in keys.iter().enumerate().filter(|(_, key)| !key.is_empty()) {
        places.entry(key).or_default().push(place);
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
    fn groups_within_groups_have_other_parts() {
        let part = |text: &&str| Part { text: (*text).to_owned(), stems: vec![(*text).to_owned()] };
        let all: Vec<Vec<Part>> =
            [&["a", "b", "c", "d"][..], &["b", "a", "c", "d"], &["a", "b", "c", "d"], &["a"]]
                .iter()
                .map(|parts| parts.iter().map(part).collect())
                .collect();
        let taken = ["a".to_owned(), "b, c, d".to_owned()];
        let names = varied_names(&all, &[2, 0, 1, 3], &taken, |place| format!("group {place}"));
        assert_eq!(names, ["a, b, d", "a, c, d", "a, b, c", "a (group 3)"]);
        let found: Vec<Vec<usize>> = choices(4, 2).collect();
        assert_eq!(found, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]);
        assert_eq!(choices(12, 3).count(), 220);
        assert_eq!(choices(2, 2).collect::<Vec<_>>(), [[0, 1]]);
        assert_eq!(choices(0, 0).count(), 1);
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
    fn names_with_commas_and_numbers_differ_too() {
        let found = names(&[&["a, b"], &["a", "b"], &["x"], &["x"], &["x (2)"]]);
        assert_eq!(found, ["a, b (0)", "a, b (1)", "x (2)", "x (3)", "x (2) (4)"]);
    }

    #[test]
    fn names_have_few_words() {
        let found = names(&[&["a b", "c d", "e"], &["x y z", "u", "v"], &["l", "m", "n", "o"]]);
        assert_eq!(found, ["a b, c d", "x y z, u", "l, m, n"]);
    }
}

//! Patterns for the files of a folder.

/// A pattern for the files of a folder.
#[derive(Clone, Debug)]
pub(super) struct Glob {
    pattern: Vec<char>,
    whole_path: bool,
}

impl Glob {
    pub(super) fn new(pattern: &str) -> Self {
        Glob { pattern: pattern.chars().collect(), whole_path: pattern.contains('/') }
    }

    /// Whether a path within the folder matches.
    pub(super) fn matches(&self, path: &str) -> bool {
        let subject = if self.whole_path { path } else { path.rsplit('/').next().unwrap_or(path) };
        glob_matches(&self.pattern, &subject.chars().collect::<Vec<_>>())
    }
}

/// Dynamic programming over the pattern: `reached[i]` is whether the pattern so far matches the
/// first `i` characters.
fn glob_matches(pattern: &[char], subject: &[char]) -> bool {
    let mut reached = vec![false; subject.len() + 1];
    reached[0] = true;
    let mut rest = pattern;
    while let [first, after @ ..] = rest {
        let any_folder = *first == '*' && after.first() == Some(&'*');
        rest = if any_folder { &after[1..] } else { after };
        if any_folder && rest.first() == Some(&'/') {
            // `**/` also matches no folder at all.
            let before = reached.clone();
            spread(&mut reached, |_| true, subject);
            rest = &rest[1..];
            for at in (1..reached.len()).rev() {
                reached[at] = before[at] || (reached[at - 1] && subject[at - 1] == '/');
            }
            reached[0] = before[0];
        } else if *first == '*' {
            spread(&mut reached, |c| any_folder || c != '/', subject);
        } else {
            for at in (1..reached.len()).rev() {
                let fits = if *first == '?' { subject[at - 1] != '/' } else { subject[at - 1] == *first };
                reached[at] = reached[at - 1] && fits;
            }
            reached[0] = false;
        }
    }
    reached[subject.len()]
}

/// Extends the reached positions by any number of further characters that `may` be passed.
fn spread(reached: &mut [bool], may: impl Fn(char) -> bool, subject: &[char]) {
    for at in 1..reached.len() {
        reached[at] |= reached[at - 1] && may(subject[at - 1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names_or_paths() {
        for (pattern, path, expected) in [
            ("*.txt", "a.txt", true),
            ("*.txt", "deep/er/a.txt", true),
            ("*.txt", "a.txt.gz", false),
            ("a?c*", "x/abc", true),
            ("a?c*", "x/ac", false),
            ("news/*.txt", "news/a.txt", true),
            ("news/*.txt", "news/old/a.txt", false),
            ("news/**", "news/old/a.txt", true),
            ("**/old/*", "old/a", true),
            ("**/old/*", "x/y/old/a", true),
            ("**/old/*", "x/gold/a", false),
            ("*", "ä", true),
            ("", "a", false),
        ] {
            assert_eq!(Glob::new(pattern).matches(path), expected, "{pattern} on {path}");
        }
    }
}

//! The parameters of a request, as they were typed. The fuzz target `requests` compiles this file,
//! too.

/// A search request.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Question {
    /// Words that documents must contain; all documents if there are none.
    pub(crate) words: String,
    pub(crate) cluster: Option<i32>,
    /// Page number, from 0.
    pub(crate) page: usize,
    /// Columns, and the bins of which a document must have one.
    pub(crate) bins: Vec<(u32, Vec<u8>)>,
}

/// Names and values, in their order.
pub(super) type Pairs = Vec<(String, String)>;

/// Columns that a request may name.
const MAX_COLUMNS: usize = 64;

const DOCUMENTS: &str = "ask as /api/documents?q=WORDS&cluster=N&page=N&bins=COLUMN:BIN,BIN";
const HITS: &str = "ask as /api/hits?q=WORDS&bins=COLUMN:BIN,BIN";

/// The question of `/api/documents`. Parameters of other names are ignored; errors are messages for
/// the client.
pub(super) fn documents(pairs: Pairs) -> Result<Question, &'static str> {
    let mut question = of_words(&pairs, DOCUMENTS)?;
    for (name, value) in &pairs {
        match &name[..] {
            "cluster" if question.cluster.is_none() => question.cluster = Some(parsed(value, DOCUMENTS)?),
            "page" => question.page = parsed(value, DOCUMENTS)?,
            "cluster" => return Err(DOCUMENTS),
            _ => {}
        }
    }
    match pairs.iter().filter(|(name, _)| name == "page").count() {
        0 | 1 => Ok(question),
        _ => Err(DOCUMENTS),
    }
}

/// The question of `/api/hits`.
pub(super) fn hits(pairs: Pairs) -> Result<Question, &'static str> {
    of_words(&pairs, HITS)
}

/// Words and bins.
fn of_words(pairs: &Pairs, form: &'static str) -> Result<Question, &'static str> {
    let mut words = pairs.iter().filter(|(name, _)| name == "q");
    let question = words.next().map(|(_, value)| value.clone());
    if words.next().is_some() {
        return Err(form);
    }
    let bins = pairs.iter().filter(|(name, _)| name == "bins");
    let bins: Vec<_> = bins.map(|(_, value)| bins_of(value).ok_or(form)).collect::<Result<_, _>>()?;
    if bins.len() > MAX_COLUMNS {
        return Err(form);
    }
    Ok(Question { words: question.unwrap_or_default(), bins, ..Question::default() })
}

/// A column and some of its bins: `2:0,1,5`.
fn bins_of(typed: &str) -> Option<(u32, Vec<u8>)> {
    let (column, bins) = typed.split_once(':')?;
    let bins = bins.split(',').map(|bin| bin.parse::<u8>().ok()).collect::<Option<_>>()?;
    Some((column.parse().ok()?, bins))
}

fn parsed<T: std::str::FromStr>(value: &str, form: &'static str) -> Result<T, &'static str> {
    value.parse().map_err(|_| form)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(typed: &[(&str, &str)]) -> Pairs {
        typed.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn parameters_are_read_in_any_order() {
        let typed = [("bins", "2:0,7"), ("page", "3"), ("q", "cats"), ("other", "x"), ("cluster", "-1")];
        let found = documents(pairs(&typed)).unwrap();
        let expected =
            Question { words: "cats".to_owned(), cluster: Some(-1), page: 3, bins: vec![(2, vec![0, 7])] };
        assert_eq!(found, expected);
        let twice = [("bins", "0:1"), ("bins", "0:254"), ("q", "")];
        assert_eq!(hits(pairs(&twice)).unwrap().bins, [(0, vec![1]), (0, vec![254])]);
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for (name, value) in [
            ("page", "-1"),
            ("page", "x"),
            ("cluster", ""),
            ("cluster", "1e3"),
            ("cluster", "99999999999"),
            ("bins", ""),
            ("bins", "1"),
            ("bins", ":"),
            ("bins", "1:"),
            ("bins", "1:2,"),
            ("bins", "1:256"),
            ("bins", "-1:2"),
            ("bins", "1:2;DROP TABLE documents"),
            ("bins", "4294967296:1"),
        ] {
            assert!(documents(pairs(&[(name, value)])).is_err(), "{name}={value}");
        }
        for twice in ["q", "page", "cluster"] {
            assert!(documents(pairs(&[(twice, "1"), (twice, "1")])).is_err(), "{twice}");
        }
        assert!(hits(pairs(&vec![("bins", "1:1"); 65])).is_err());
    }
}

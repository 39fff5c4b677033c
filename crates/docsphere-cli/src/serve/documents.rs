//! `documents.sqlite`: every document of a result with its cluster, and an index over their words.
//!
//! One table in the order of the corpus, a key by cluster and similarity, and an FTS5 index that holds words and no texts. What a person types is never taken for SQL or for the query
//! language of FTS5: values are bound, and every word is quoted.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use docsphere::{Corpus, Observer};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};
use serde::Serialize;

/// The name of the file.
pub(crate) const NAME: &str = "documents.sqlite";

/// Documents of a page.
pub(crate) const PAGE_DOCS: usize = 20;

/// More than so many hits are not counted.
const MAX_COUNTED: usize = 10_000;

/// Longer texts are shown in part.
const SHOWN_CHARS: usize = 1_000;

/// Words of an excerpt around a hit.
const EXCERPT_WORDS: usize = 60;

const MAX_QUERY_CHARS: usize = 200;
const MAX_QUERY_WORDS: usize = 16;

/// Shorter beginnings of words are looked up as whole words: they begin too many.
const MIN_PREFIX_CHARS: usize = 3;

/// A query that takes longer is given up, as soon as SQLite looks.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Marks files of ours, and their layout: "DsD" and a version.
const APPLICATION_ID: i32 = 0x4473_4401;

const TABLES: &str = "
    CREATE TABLE documents (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL,
        cluster INTEGER NOT NULL,
        similarity REAL NOT NULL,
        text TEXT NOT NULL
    );
    CREATE VIRTUAL TABLE words USING fts5(
        text, content='documents', content_rowid='number', tokenize='unicode61 remove_diacritics 2'
    );";

/// What the run found out about a document.
pub(crate) struct Line<'a> {
    pub(crate) id: &'a str,
    pub(crate) cluster: i32,
    pub(crate) similarity: f64,
}

/// Texts that are known by the ids of their documents: a corpus with other texts is not that of the run. Ids may be there several times.
pub(crate) type KnownTexts<'a> = HashMap<&'a str, Vec<&'a str>>;

/// Writes the file. `line` tells of each document of the corpus by its number; there must be `n_documents`.
pub(crate) fn write<'a>(
    path: &Path,
    corpus: &Corpus,
    observer: &mut dyn Observer,
    n_documents: usize,
    known: &KnownTexts<'_>,
    line: impl Fn(usize) -> Line<'a>,
) -> Result<()> {
    let mut attempt = || {
        let mut connection = Connection::open(path)?;
        // The file appears under its name when it is whole: there is nothing to roll back to.
        connection.execute_batch(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;",
        )?;
        connection.pragma_update(None, "application_id", APPLICATION_ID)?;
        connection.execute_batch(TABLES)?;
        let transaction = connection.transaction()?;
        {
            let mut insert = transaction.prepare("INSERT INTO documents VALUES (?1, ?2, ?3, ?4, ?5)")?;
            let mut index = transaction.prepare("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?;
            let mut number = 0;
            let mut outcome = Ok(());
            let mut add = |id: &str, text: &str| -> Result<()> {
                ensure!(number < n_documents, "the input has more documents than the result: {n_documents}");
                let line = line(number);
                ensure!(
                    id == line.id,
                    "document {} is {id:?}, in the result it is {:?}; give the input of the run, with the same options",
                    number + 1,
                    line.id
                );
                if let Some(texts) = known.get(id) {
                    ensure!(
                        texts.contains(&text),
                        "document {} ({id:?}) has another text than in the result; give the input of the run, with the same options",
                        number + 1
                    );
                }
                // SQLite takes texts to end there.
                let text = text.replace('\0', "\u{fffd}");
                insert.execute(params![number as i64, id, line.cluster, line.similarity, text])?;
                index.execute(params![number as i64, text])?;
                number += 1;
                Ok(())
            };
            corpus.for_each_document(Some(observer), |document| {
                if outcome.is_ok() {
                    outcome = add(document.id, document.text);
                }
            })?;
            outcome?;
            ensure!(number == n_documents, "the input has {number} documents, the result {n_documents}");
        }
        transaction
            .execute_batch("CREATE INDEX by_cluster ON documents (cluster, similarity DESC, number);")?;
        Ok(transaction.commit()?)
    };
    let outcome = attempt();
    if outcome.is_err() {
        let _ = fs::remove_file(path);
    }
    outcome
}

/// What is asked for.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Question {
    /// Words that documents must have; all documents if there are none.
    pub(crate) words: String,
    pub(crate) cluster: Option<i32>,
    /// From 0.
    pub(crate) page: usize,
}

/// Some of the documents that were asked for.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Answer {
    pub(crate) total: usize,
    /// Whether there are more than were counted.
    pub(crate) is_more: bool,
    pub(crate) page_docs: usize,
    pub(crate) documents: Vec<Found>,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Found {
    pub(crate) number: i64,
    pub(crate) id: String,
    pub(crate) cluster: i32,
    pub(crate) similarity: f64,
    pub(crate) text: String,
    /// Whether this is a part of the text.
    pub(crate) is_part: bool,
}

/// What goes wrong when documents are asked for.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The question cannot be answered as it was put.
    Question(String),
    TooSlow,
    Index(anyhow::Error),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::OperationInterrupted) => Trouble::TooSlow,
            _ => Trouble::Index(error.into()),
        }
    }
}

/// The file, open for reading.
pub(crate) struct Documents(Connection);

impl Documents {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Self::open_for(path, TIME_LIMIT)
    }

    fn open_for(path: &Path, time_limit: Duration) -> Result<Self> {
        let open = || -> Result<Connection> {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let mut connection = Connection::open_with_flags(path, flags)?;
            let id: i32 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
            if id != APPLICATION_ID {
                bail!("was not made by this version of docsphere; make it again with docsphere index");
            }
            let deadline = Instant::now() + time_limit;
            connection.progress_handler(1_000, Some(move || Instant::now() > deadline))?;
            Ok(connection)
        };
        open().map(Documents).with_context(|| format!("{}: cannot read", path.display()))
    }

    pub(crate) fn len(&self) -> Result<usize> {
        let last: Option<i64> =
            self.0.query_row("SELECT max(number) FROM documents", [], |row| row.get(0))?;
        Ok(last.map_or(0, |last| last as usize + 1))
    }

    /// The documents that were asked for: with words the best first, else the most typical.
    pub(crate) fn ask(&self, question: &Question) -> Result<Answer, Trouble> {
        let offset = question.page.checked_mul(PAGE_DOCS).and_then(|offset| i64::try_from(offset).ok());
        let Some(offset) = offset else {
            return Err(Trouble::Question("there is no such page".to_owned()));
        };
        let words = expression(&question.words)?;
        if words.is_none() && !question.words.trim().is_empty() {
            // Signs that are no words are in no index.
            return Ok(Answer { total: 0, is_more: false, page_docs: PAGE_DOCS, documents: Vec::new() });
        }
        let (hits, order) = match (&words, question.cluster) {
            (None, None) => ("number FROM documents WHERE ?1 IS NULL AND ?2 IS NULL", "number"),
            // The key by cluster gives this order at once.
            (None, Some(_)) => {
                ("number FROM documents WHERE ?1 IS NULL AND cluster = ?2", "similarity DESC, number")
            }
            // By `rank` alone, FTS5 sorts for itself.
            (Some(_), None) => ("rowid FROM words WHERE words MATCH ?1 AND ?2 IS NULL", "rank"),
            (Some(_), Some(_)) => (
                "words.rowid FROM words JOIN documents ON number = words.rowid WHERE words MATCH ?1 AND cluster = ?2",
                "rank",
            ),
        };
        let count = format!("SELECT count(*) FROM (SELECT {hits} LIMIT {})", MAX_COUNTED + 1);
        let total: i64 = self.0.query_row(&count, params![words, question.cluster], |row| row.get(0))?;
        let total = total as usize;
        let query = format!("SELECT {hits} ORDER BY {order} LIMIT {PAGE_DOCS} OFFSET ?3");
        let mut statement = self.0.prepare(&query)?;
        let numbers = statement.query_map(params![words, question.cluster, offset], |row| row.get(0))?;
        let documents =
            numbers.map(|number| self.part(number?, words.as_deref())).collect::<Result<_, _>>()?;
        Ok(Answer {
            total: total.min(MAX_COUNTED),
            is_more: total > MAX_COUNTED,
            page_docs: PAGE_DOCS,
            documents,
        })
    }

    /// A whole document.
    pub(crate) fn whole(&self, number: i64) -> Result<Option<Found>, Trouble> {
        let query = "SELECT number, id, cluster, similarity, text, 0 FROM documents WHERE number = ?1";
        Ok(self.0.query_row(query, [number], found).optional()?)
    }

    /// A document; if it is long, its beginning, or what stands around the words.
    fn part(&self, number: i64, words: Option<&str>) -> rusqlite::Result<Found> {
        let start = "SELECT number, id, cluster, similarity";
        let is_long = format!("length(documents.text) > {SHOWN_CHARS}");
        match words {
            None => {
                let query = format!(
                    "{start}, substr(text, 1, {SHOWN_CHARS}), {is_long} FROM documents WHERE number = ?1"
                );
                self.0.prepare_cached(&query)?.query_row([number], found)
            }
            Some(words) => {
                let query = format!(
                    "{start}, CASE WHEN {is_long} THEN snippet(words, 0, '', '', ' … ', {EXCERPT_WORDS}) ELSE documents.text END, {is_long}
                     FROM words JOIN documents ON number = words.rowid WHERE words.rowid = ?1 AND words MATCH ?2"
                );
                self.0.prepare_cached(&query)?.query_row(params![number, words], found)
            }
        }
    }
}

fn found(row: &Row<'_>) -> rusqlite::Result<Found> {
    Ok(Found {
        number: row.get(0)?,
        id: row.get(1)?,
        cluster: row.get(2)?,
        similarity: row.get(3)?,
        text: row.get(4)?,
        is_part: row.get(5)?,
    })
}

/// What was typed, as an expression of FTS5: all words, "words in quotes" in this order, and the last word also as the beginning of longer ones. None if there is no word in it.
fn expression(typed: &str) -> Result<Option<String>, Trouble> {
    if typed.chars().count() > MAX_QUERY_CHARS {
        return Err(Trouble::Question(format!("search for at most {MAX_QUERY_CHARS} characters")));
    }
    let mut parts: Vec<String> = Vec::new();
    // Every other piece stood in quotes.
    for (position, piece) in typed.split('"').enumerate() {
        let words = if position % 2 == 1 { vec![piece] } else { piece.split(is_space).collect() };
        let has_word = |words: &&str| words.chars().any(char::is_alphanumeric);
        parts.extend(words.into_iter().filter(has_word).map(|words| words.replace(is_space, " ")));
    }
    if parts.len() > MAX_QUERY_WORDS {
        return Err(Trouble::Question(format!("search for at most {MAX_QUERY_WORDS} words")));
    }
    // A word that may not be at its end yet.
    let last = typed.rsplit(|c| is_space(c) || c == '"').next().unwrap_or_default();
    let is_open = last.chars().filter(|c| c.is_alphanumeric()).count() >= MIN_PREFIX_CHARS;
    let quoted: Vec<String> = parts.iter().map(|words| format!("\"{words}\"")).collect();
    Ok((!parts.is_empty()).then(|| quoted.join(" ") + if is_open { " *" } else { "" }))
}

fn is_space(c: char) -> bool {
    c.is_whitespace() || c.is_control()
}

impl Trouble {
    /// In words for a person.
    pub(crate) fn message(&self) -> String {
        match self {
            Trouble::Question(message) => message.clone(),
            Trouble::TooSlow => {
                format!("this takes longer than {} seconds; search for rarer words", TIME_LIMIT.as_secs())
            }
            Trouble::Index(error) => format!("{error:#}"),
        }
    }
}

impl From<Trouble> for anyhow::Error {
    fn from(trouble: Trouble) -> Self {
        anyhow!(trouble.message())
    }
}

#[cfg(test)]
mod tests {
    use docsphere::{CorpusOptions, Event};

    use super::*;

    struct Silent;

    impl Observer for Silent {
        fn observe(&mut self, _: &Event<'_>) -> std::ops::ControlFlow<()> {
            std::ops::ControlFlow::Continue(())
        }
    }

    fn of(typed: &str) -> Option<String> {
        expression(typed).unwrap()
    }

    /// An index over lines, of which those with an even number are in cluster 0.
    fn documents(lines: &[&str]) -> (tempfile::TempDir, Documents) {
        let home = tempfile::tempdir().unwrap();
        let corpus = home.path().join("corpus.txt");
        fs::write(&corpus, lines.join("\n")).unwrap();
        let corpus = Corpus::open([corpus], CorpusOptions::default()).unwrap();
        let ids: Vec<String> = (1..=lines.len()).map(|number| number.to_string()).collect();
        let path = home.path().join(NAME);
        let line = |n: usize| Line { id: &ids[n], cluster: (n % 2) as i32, similarity: n as f64 / 100.0 };
        write(&path, &corpus, &mut Silent, lines.len(), &KnownTexts::new(), line).unwrap();
        let documents = Documents::open(&path).unwrap();
        (home, documents)
    }

    fn ask(documents: &Documents, words: &str, cluster: Option<i32>) -> Vec<i64> {
        let question = Question { words: words.to_owned(), cluster, page: 0 };
        let mut found: Vec<i64> =
            documents.ask(&question).unwrap().documents.iter().map(|d| d.number).collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn what_is_typed_is_quoted() {
        assert_eq!(of("cats purr").unwrap(), "\"cats\" \"purr\" *");
        assert_eq!(of("cats purr ").unwrap(), "\"cats\" \"purr\"");
        assert_eq!(of("\"cats purr\" so").unwrap(), "\"cats purr\" \"so\"");
        assert_eq!(of("a OR b*").unwrap(), "\"a\" \"OR\" \"b*\"");
        assert_eq!(of("nul\0byte ").unwrap(), "\"nul\" \"byte\"");
        assert!(of("").is_none() && of(" \"\" ;-- ").is_none());
        assert!(expression(&"x".repeat(201)).is_err() && expression(&"x ".repeat(17)).is_err());
    }

    #[test]
    fn words_phrases_beginnings_and_clusters_are_found() {
        let (_home, documents) =
            documents(&["cats purr", "dogs bark", "cats bark", "the Café", "purr, cats"]);
        assert_eq!(ask(&documents, "cats ", None), [0, 2, 4]);
        assert_eq!(ask(&documents, "cats bark ", None), [2]);
        assert_eq!(ask(&documents, "\"cats purr\"", None), [0]);
        assert_eq!(ask(&documents, "bar", None), [1, 2]);
        assert_eq!(ask(&documents, "cafe", None), [3]);
        assert_eq!(ask(&documents, "bark", Some(1)), [1]);
        assert_eq!(ask(&documents, "", Some(1)), [1, 3]);
        assert_eq!(ask(&documents, "", None), [0, 1, 2, 3, 4]);
        let first = documents.ask(&Question { cluster: Some(0), ..Question::default() }).unwrap();
        assert_eq!(first.documents[0].number, 4, "the most typical first");
        assert_eq!((first.total, first.is_more), (3, false));
        assert_eq!(documents.whole(3).unwrap().unwrap().text, "the Café");
        assert!(documents.whole(99).unwrap().is_none());
        assert_eq!(documents.len().unwrap(), 5);
    }

    #[test]
    fn hostile_queries_find_nothing_and_break_nothing() {
        let (_home, documents) = documents(&["cats purr", "dogs bark"]);
        for query in [
            "\"",
            "\"\"\"",
            "' OR 1=1 --",
            "cats\" OR \"dogs",
            "NEAR(cats dogs)",
            "text:cats",
            "{text} : cats",
            "'; DROP TABLE documents; --",
            "((((",
            "cats AND",
            "NOT cats",
            "* * *",
            "\u{ffff}",
            "\u{1f600}",
        ] {
            assert!(ask(&documents, query, None).is_empty(), "{query}");
        }
        // Signs around words are no words.
        for query in ["^cats", "\u{202e}cats\u{0}", "cats +", "-cats"] {
            assert_eq!(ask(&documents, query, None), [0], "{query}");
        }
        let far = Question { page: usize::MAX / 2, ..Question::default() };
        assert!(matches!(documents.ask(&far), Err(Trouble::Question(_))));
    }

    #[test]
    fn a_query_that_takes_too_long_is_given_up() {
        let lines = vec!["cats"; 5_000];
        let (home, _documents) = documents(&lines);
        let hasty = Documents::open_for(&home.path().join(NAME), Duration::ZERO).unwrap();
        assert!(matches!(hasty.ask(&Question::default()), Err(Trouble::TooSlow)));
    }

    #[test]
    fn pages_follow_each_other_and_long_texts_are_shown_in_part() {
        let long = format!("{} needle {}", "hay ".repeat(400), "straw ".repeat(400));
        let mut lines = vec!["short"; 45];
        lines.push(&long);
        let (_home, documents) = documents(&lines);
        let page = |page| documents.ask(&Question { page, ..Question::default() }).unwrap().documents.len();
        assert_eq!([page(0), page(1), page(2), page(3)], [20, 20, 6, 0]);
        let answer = documents.ask(&Question { words: "needle".to_owned(), ..Question::default() }).unwrap();
        assert!(answer.documents[0].is_part && answer.documents[0].text.contains("needle"));
        assert!(answer.documents[0].text.len() < long.len());
        assert_eq!(documents.whole(45).unwrap().unwrap().text, long);
    }

    #[test]
    fn an_input_that_is_not_that_of_the_result_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let corpus = home.path().join("corpus.txt");
        fs::write(&corpus, "a\nb\n").unwrap();
        let corpus = Corpus::open([corpus], CorpusOptions::default()).unwrap();
        let path = home.path().join(NAME);
        let message = |ids: &[&str], known: &KnownTexts<'_>| {
            let line = |n: usize| Line { id: ids[n], cluster: 0, similarity: 1.0 };
            write(&path, &corpus, &mut Silent, ids.len(), known, line).unwrap_err().to_string()
        };
        let none = KnownTexts::new();
        assert!(message(&["1", "3"], &none).starts_with("document 2 is \"2\", in the result it is \"3\""));
        assert_eq!(message(&["1"], &none), "the input has more documents than the result: 1");
        assert_eq!(message(&["1", "2", "3"], &none), "the input has 2 documents, the result 3");
        let other = KnownTexts::from([("2", vec!["c", "d"])]);
        assert!(message(&["1", "2"], &other).starts_with("document 2 (\"2\") has another text"));
        assert!(!path.exists());
    }
}

//! Answers from the index: pages of documents, and single documents.
//!
//! Ranking visits every hit several times. More than [`MAX_COUNTED`] hits are therefore not ranked
//! but listed in corpus order, and a query stops after the first `MAX_COUNTED` + 1 of them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, ToSql, params};
use serde::Serialize;

use super::asked::Question;
use super::expression::{expression, first_word, is_single};
use super::hits::Selection;
use super::index::cannot_read;

/// Documents per page.
pub(crate) const PAGE_DOCS: usize = 20;

/// More hits than this are neither counted nor ranked.
pub(super) const MAX_COUNTED: usize = 10_000;

/// Texts longer than this are shown in part.
const SHOWN_CHARS: usize = 1_000;

/// Texts longer than this are cut even when the whole document is requested.
const WHOLE_CHARS: usize = 1_000_000;

/// Words in an excerpt around a hit.
const EXCERPT_WORDS: usize = 60;

/// Fields of a document before its kept columns.
const OWN_FIELDS: usize = 6;

/// Number of characters before the word in an excerpt of a text without spaces.
const BEFORE_WORD: usize = 60;

/// A query that takes longer is abandoned at SQLite's next progress check.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Memory limit of SQLite for all queries together.
const MEMORY_LIMIT_BYTES: i64 = 1 << 30;

/// One page of the documents that match a request.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Answer {
    pub(crate) total: usize,
    /// Whether there are more hits than were counted.
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
    /// The kept columns that have a value; long texts are cut.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub(crate) columns: serde_json::Map<String, serde_json::Value>,
}

/// Why a request failed.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The request is invalid.
    Question(String),
    TooSlow,
    TooLarge,
    /// The server is too busy to answer in time.
    Busy,
    /// An error of the index. Not shown to clients: it may name files.
    Index(anyhow::Error),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::OperationInterrupted) => Trouble::TooSlow,
            Some(rusqlite::ErrorCode::OutOfMemory | rusqlite::ErrorCode::TooBig) => Trouble::TooLarge,
            _ => Trouble::Index(error.into()),
        }
    }
}

/// A page of hits.
pub(super) struct Hits<'a> {
    /// The FTS5 expression that was actually used.
    pub(super) words: &'a str,
    /// Number of hits, at most [`MAX_COUNTED`] + 1.
    pub(super) total: usize,
    pub(super) numbers: Vec<i64>,
}

/// The index file, open for reading.
pub(crate) struct Documents {
    pub(super) connection: Connection,
    /// The names of the kept columns.
    columns: Vec<String>,
    /// Empty until [`Documents::with_selection`]: then there are no hits by cluster, and no
    /// filters.
    pub(super) selection: Arc<Selection>,
}

impl Documents {
    /// Opens a file that was [checked](super::index::check).
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let open = || -> Result<Connection> {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(path, flags)?;
            connection.execute_batch(&format!(
                "PRAGMA trusted_schema = OFF; PRAGMA hard_heap_limit = {MEMORY_LIMIT_BYTES};"
            ))?;
            Ok(connection)
        };
        let open = || -> Result<Documents> {
            let connection = open()?;
            let columns = connection
                .prepare("SELECT name FROM columns ORDER BY position")?
                .query_map([], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            Ok(Documents { connection, columns, selection: Arc::default() })
        };
        open().with_context(|| cannot_read(path))
    }

    /// With the clusters and bins of all documents.
    pub(crate) fn with_selection(self, selection: &Arc<Selection>) -> Self {
        Documents { selection: Arc::clone(selection), ..self }
    }

    /// From now on queries are abandoned after a time limit, or when their client is gone.
    ///
    /// SQLite checks every thousand instructions. FTS5 does not check while it searches for the
    /// next hit.
    pub(crate) fn limit(
        &mut self,
        time_limit: Duration,
        is_unwanted: impl Fn() -> bool + Send + 'static,
    ) -> rusqlite::Result<()> {
        let deadline = Instant::now() + time_limit;
        self.connection.progress_handler(1_000, Some(move || Instant::now() > deadline || is_unwanted()))
    }

    pub(crate) fn len(&self) -> Result<usize> {
        let last: Option<i64> =
            self.connection.query_row("SELECT max(number) FROM documents", [], |row| row.get(0))?;
        Ok(last.map_or(0, |last| last as usize + 1))
    }

    /// The number of documents of each cluster; cluster -1 holds the unassigned ones.
    pub(crate) fn sizes(&self) -> Result<HashMap<i32, usize>> {
        let mut statement =
            self.connection.prepare("SELECT cluster, count(*) FROM documents GROUP BY cluster")?;
        let sizes = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as usize)))?;
        Ok(sizes.collect::<Result<_, _>>()?)
    }

    /// The cluster of each document.
    pub(crate) fn clusters(&self) -> Result<Vec<i32>> {
        let mut clusters = vec![-1; self.len()?];
        // From the index alone, which is much smaller than the table.
        let mut statement =
            self.connection.prepare("SELECT number, cluster FROM documents INDEXED BY by_cluster")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if let Some(cluster) = clusters.get_mut(row.get::<_, i64>(0)? as usize) {
                *cluster = row.get(1)?;
            }
        }
        Ok(clusters)
    }

    /// The requested documents, in an order that depends only on the file.
    ///
    /// Without words: for a cluster, the most typical first; otherwise in corpus order. With words:
    /// up to [`MAX_COUNTED`] hits, the best first (`bm25` of FTS5, ties in corpus order); more
    /// hits, in corpus order.
    pub(crate) fn ask(&self, question: &Question) -> Result<Answer, Trouble> {
        let offset = question.page.checked_mul(PAGE_DOCS).filter(|&offset| i64::try_from(offset).is_ok());
        let Some(offset) = offset else {
            return Err(Trouble::Question("there is no such page".to_owned()));
        };
        let words = expression(&question.words).map_err(Trouble::Question)?;
        let (cluster, filter) = (question.cluster, self.filter(&question.bins)?);
        let (total, documents) = match &words {
            Some(words) => {
                let hits = match filter.is_empty() {
                    true => self.hits(words, cluster, offset)?,
                    false => self.hits_filtered(words, cluster, &filter, offset)?,
                };
                (hits.total, self.around(&hits.numbers, hits.words)?)
            }
            None if question.words.trim().is_empty() => {
                let (total, numbers) = match filter.is_empty() {
                    true => self.listed(cluster, offset)?,
                    false => self.listed_filtered(cluster, &filter, offset)?,
                };
                (total, self.beginnings(&numbers)?)
            }
            // Punctuation without words matches nothing.
            None => (0, Vec::new()),
        };
        Ok(Answer {
            total: total.min(MAX_COUNTED),
            is_more: total > MAX_COUNTED,
            page_docs: PAGE_DOCS,
            documents,
        })
    }

    /// The number of documents, at most [`MAX_COUNTED`] + 1, and the document numbers of a page.
    fn listed(&self, cluster: Option<i32>, offset: usize) -> Result<(usize, Vec<i64>), Trouble> {
        let (count, page) = match cluster {
            // The numbers have no gaps.
            None => (
                "SELECT number FROM documents WHERE ?1 IS NULL",
                "SELECT number FROM documents WHERE ?1 IS NULL AND number >= ?2 ORDER BY number",
            ),
            // The index by cluster has this order.
            Some(_) => (
                "SELECT number FROM documents WHERE cluster = ?1",
                "SELECT number FROM documents WHERE cluster = ?1 ORDER BY similarity DESC, number LIMIT -1 OFFSET ?2",
            ),
        };
        let count = format!("SELECT count(*) FROM ({count} LIMIT {})", MAX_COUNTED + 1);
        let total: i64 = self.connection.query_row(&count, [cluster], |row| row.get(0))?;
        if total as usize <= MAX_COUNTED && offset >= total as usize {
            return Ok((total as usize, Vec::new()));
        }
        let page = format!("SELECT number FROM ({page}) LIMIT {PAGE_DOCS}");
        Ok((total as usize, self.numbers(&page, params![cluster, offset as i64])?))
    }

    /// A page of the documents that contain the words.
    fn hits<'a>(&self, words: &'a str, cluster: Option<i32>, offset: usize) -> Result<Hits<'a>, Trouble> {
        // The `+` before `rowid` keeps SQLite from repeating the search for each document of the
        // cluster.
        let hits = "SELECT rowid FROM words WHERE words MATCH ?1 AND (?2 IS NULL OR +rowid IN (SELECT number FROM documents WHERE cluster = ?2))";
        let query = format!("{hits} ORDER BY rowid LIMIT {}", MAX_COUNTED + 1);
        let used = self.searched(words)?;
        let first = self.numbers(&query, params![used, cluster])?;
        let total = first.len();
        let order = if total <= MAX_COUNTED { "rank, rowid" } else { "rowid" };
        let numbers = if total <= MAX_COUNTED && offset >= total {
            Vec::new()
        } else if total > MAX_COUNTED && offset + PAGE_DOCS <= total {
            first[offset..offset + PAGE_DOCS].to_vec()
        } else {
            let page = format!("{hits} ORDER BY {order} LIMIT {PAGE_DOCS} OFFSET ?3");
            self.numbers(&page, params![used, cluster, offset as i64])?
        };
        Ok(Hits { words: used, total, numbers })
    }

    pub(super) fn numbers(&self, query: &str, values: &[&dyn ToSql]) -> rusqlite::Result<Vec<i64>> {
        self.connection.prepare_cached(query)?.query_map(values, |row| row.get(0))?.collect()
    }

    /// One whole document, or the beginning of a huge one.
    pub(crate) fn whole(&self, number: i64) -> Result<Option<Found>, Trouble> {
        let query = self.beginning(WHOLE_CHARS);
        let mut statement = self.connection.prepare_cached(&query)?;
        Ok(statement.query_row([number], |row| self.found(row)).optional()?)
    }

    /// Documents, or the beginnings of long ones.
    fn beginnings(&self, numbers: &[i64]) -> rusqlite::Result<Vec<Found>> {
        let mut statement = self.connection.prepare_cached(&self.beginning(SHOWN_CHARS))?;
        numbers.iter().map(|number| statement.query_row([number], |row| self.found(row))).collect()
    }

    /// Documents; for long ones, excerpts around the words.
    fn around(&self, numbers: &[i64], words: &str) -> rusqlite::Result<Vec<Found>> {
        let mut documents = self.beginnings(numbers)?;
        let long: Vec<String> =
            documents.iter().filter(|found| found.is_part).map(|found| found.number.to_string()).collect();
        if long.is_empty() {
            return Ok(documents);
        }
        // All hits in one search: a prefix search costs the same for one hit as for all.
        let query = format!(
            "SELECT rowid, snippet(words, 0, '', '', ' … ', {EXCERPT_WORDS}) FROM words
             WHERE words MATCH ?1 AND rowid BETWEEN ?2 AND ?3 AND +rowid IN ({})",
            long.join(", ")
        );
        let ends = (numbers.iter().min(), numbers.iter().max());
        let mut statement = self.connection.prepare(&query)?;
        let excerpts =
            statement.query_map(params![words, ends.0, ends.1], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut excerpts = excerpts.collect::<rusqlite::Result<HashMap<i64, String>>>()?;
        for found in &mut documents {
            if let Some(excerpt) = excerpts.remove(&found.number) {
                // FTS5 counts words in the text as it is, not as it was indexed.
                let is_counted = !excerpt.contains(is_single) && !found.text.contains(is_single);
                found.text = if is_counted { excerpt } else { self.excerpt(found.number, words)? };
            }
        }
        Ok(documents)
    }

    /// The query for one document, with at most `n_chars` characters of its text.
    fn beginning(&self, n_chars: usize) -> String {
        let column = |position: usize| {
            format!(
                ", CASE typeof(c{position}) WHEN 'text' THEN substr(c{position}, 1, {SHOWN_CHARS}) ELSE c{position} END"
            )
        };
        let columns: String = (0..self.columns.len()).map(column).collect();
        format!(
            "SELECT number, id, cluster, similarity, substr(text, 1, {n_chars}), length(text) > {n_chars}{columns}
             FROM documents WHERE number = ?1"
        )
    }

    fn found(&self, row: &Row<'_>) -> rusqlite::Result<Found> {
        let mut columns = serde_json::Map::new();
        for (position, name) in self.columns.iter().enumerate() {
            let value = match row.get_ref(OWN_FIELDS + position)? {
                ValueRef::Integer(number) => number.into(),
                ValueRef::Real(number) => number.into(),
                ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
                _ => continue,
            };
            columns.insert(name.clone(), value);
        }
        Ok(Found {
            number: row.get(0)?,
            id: row.get(1)?,
            cluster: row.get(2)?,
            similarity: row.get(3)?,
            text: row.get(4)?,
            is_part: row.get(5)?,
            columns,
        })
    }

    /// A part of a long document around the first of the words.
    fn excerpt(&self, number: i64, words: &str) -> rusqlite::Result<String> {
        let query = format!(
            "SELECT place > {BEFORE_WORD}, substr(text, max(1, place - {BEFORE_WORD}), {SHOWN_CHARS})
             FROM (SELECT text, instr(lower(text), lower(?2)) AS place FROM documents WHERE number = ?1)"
        );
        let part = |row: &Row<'_>| Ok((row.get::<_, bool>(0)?, row.get::<_, String>(1)?));
        let (is_inside, part) =
            self.connection.prepare_cached(&query)?.query_row(params![number, first_word(words)], part)?;
        Ok(if is_inside { format!("… {part} …") } else { format!("{part} …") })
    }
}

impl Trouble {
    /// The message for the client.
    pub(crate) fn message(&self) -> String {
        match self {
            Trouble::Question(message) => message.clone(),
            Trouble::TooSlow => {
                format!("this takes longer than {} seconds; search for rarer words", TIME_LIMIT.as_secs())
            }
            Trouble::TooLarge => "this takes too much memory; search for rarer words".to_owned(),
            Trouble::Busy => "the server is busy; try again in a few seconds".to_owned(),
            Trouble::Index(_) => {
                "the search index cannot be read; the server's standard error says why".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use docsphere::{Corpus, CorpusOptions, Event, Observer};

    use super::super::index::{Columns, KnownTexts, Line, Texts, write};
    use super::*;

    struct Silent;

    impl Observer for Silent {
        fn observe(&mut self, _: &Event<'_>) -> std::ops::ControlFlow<()> {
            std::ops::ControlFlow::Continue(())
        }
    }

    /// An index over lines; those with an even number are in cluster 0.
    fn documents(lines: &[&str]) -> (tempfile::TempDir, Documents) {
        let home = tempfile::tempdir().unwrap();
        let corpus = home.path().join("corpus.txt");
        fs::write(&corpus, lines.join("\n")).unwrap();
        let corpus = Corpus::open([corpus], CorpusOptions::default()).unwrap();
        let ids: Vec<String> = (1..=lines.len()).map(|number| number.to_string()).collect();
        let path = home.path().join("documents.sqlite");
        let line = |n: usize| Line { id: &ids[n], cluster: (n % 2) as i32, similarity: n as f64 / 100.0 };
        let source = (Texts::Corpus(&corpus), Columns::default());
        write(&path, source, &mut Silent, lines.len(), &KnownTexts::new(), line).unwrap();
        let documents = Documents::open(&path).unwrap();
        (home, documents)
    }

    fn ask(documents: &Documents, words: &str, cluster: Option<i32>) -> Vec<i64> {
        let question = Question { words: words.to_owned(), cluster, ..Question::default() };
        let mut found: Vec<i64> =
            documents.ask(&question).unwrap().documents.iter().map(|d| d.number).collect();
        found.sort_unstable();
        found
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
    fn scripts_without_spaces_are_found_by_any_part() {
        let long = format!("{}这是Linux内核的模块。{}", "前面的文字。".repeat(300), "后面".repeat(400));
        let texts = ["操作系统的内核", "日本語のカメラを買う", "ภาษาไทยไม่มีช่องว่าง", "plain text", &long];
        let (_home, documents) = documents(&texts);
        assert_eq!(ask(&documents, "系统", None), [0]);
        assert_eq!(ask(&documents, "内核", None), [0, 4]);
        assert_eq!(ask(&documents, "核内", None), [] as [i64; 0]);
        assert_eq!(ask(&documents, "カメラ", None), [1]);
        assert_eq!(ask(&documents, "日本語 買う", None), [1]);
        assert_eq!(ask(&documents, "ไทย", None), [2]);
        assert_eq!(ask(&documents, "linux内核", None), [4]);
        for words in ["模块", "linux"] {
            let found = documents.ask(&Question { words: words.to_owned(), ..Question::default() }).unwrap();
            let excerpt = &found.documents[0].text;
            assert!(excerpt.contains("这是Linux内核的模块") && excerpt.starts_with('…'), "{excerpt}");
        }
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
        // Punctuation around words is ignored.
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
        let path = home.path().join("documents.sqlite");
        let limited = |time_limit: Duration, is_unwanted: bool| {
            let mut documents = Documents::open(&path).unwrap();
            documents.limit(time_limit, move || is_unwanted).unwrap();
            documents.ask(&Question::default())
        };
        assert!(matches!(limited(Duration::ZERO, false), Err(Trouble::TooSlow)));
        assert!(matches!(limited(TIME_LIMIT, true), Err(Trouble::TooSlow)), "nobody waits for the answer");
        assert!(limited(TIME_LIMIT, false).is_ok());
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
}

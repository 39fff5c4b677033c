//! `documents.sqlite`: every document of a result with its cluster, and an index over their words.
//!
//! One table in corpus order, an index by cluster and similarity, and an FTS5 index that holds
//! words but no texts. Letters of scripts without spaces are indexed one by one: see
//! [`spaced`]. Kept columns are columns `c0`, `c1` and so on of the table; a second table has their
//! names and kinds. Dates are ISO 8601, which sorts as time does.
//!
//! The header of an SQLite file has four bytes for applications (`user_version`). They hold the
//! CRC-32 of the file with these bytes set to zero, so that a damaged file is refused as a whole
//! before anything is read from it.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};
use docsphere::{
    Cell, ColumnValue, Corpus, Document, Event, Kept, KeptColumns, KeptRows, Observer, TextStore,
};
use docsphere_result::{ColumnEntry, ReadAssignment};
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

use super::expression::spaced;

/// Magic number of our files: "DsD" and a version of the layout.
const APPLICATION_ID: i32 = 0x4473_4404;

/// The magic number of SQLite files.
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

/// Offset of the user version, here a checksum, in the header of an SQLite file.
const CHECKSUM_AT: usize = 60;

/// Offset of the application id.
const APPLICATION_ID_AT: usize = 68;

/// Size of the header.
const HEADER_BYTES: usize = 100;

/// The columns of documents follow in the place of `{}`.
const TABLES: &str = "
    CREATE TABLE columns (position INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL);
    CREATE TABLE documents (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL,
        cluster INTEGER NOT NULL,
        similarity REAL NOT NULL,
        text TEXT NOT NULL{}
    );
    CREATE VIRTUAL TABLE words USING fts5(
        text, content='documents', content_rowid='number', tokenize='unicode61 remove_diacritics 2'
    );";

/// The assignment of one document.
pub(crate) struct Line<'a> {
    pub(crate) id: &'a str,
    pub(crate) cluster: i32,
    pub(crate) similarity: f64,
}

/// Known texts by document id, to detect a corpus other than that of the run. Ids may occur several
/// times.
pub(crate) type KnownTexts<'a> = HashMap<&'a str, Vec<&'a str>>;

/// The source of the kept columns.
#[derive(Clone, Copy, Default)]
pub(crate) struct Columns<'a> {
    /// What they are.
    pub(crate) entries: &'a [ColumnEntry],
    /// The values kept by the run; `None` if they come with the documents.
    pub(crate) kept: Option<&'a KeptColumns>,
}

/// The values of kept columns, document by document.
struct Values<'a> {
    entries: &'a [ColumnEntry],
    rows: Option<KeptRows<'a>>,
}

impl Values<'_> {
    /// The values of the next document, one per column.
    fn next(&mut self, kept: Kept<'_>) -> Result<Vec<Value>> {
        let stored = |cell: Cell<'_>, entry: &ColumnEntry| match cell {
            Cell::Good(ColumnValue::Number(number)) if entry.reading.is_integer => {
                Value::Integer(number as i64)
            }
            Cell::Good(ColumnValue::Number(number)) => Value::Real(number),
            // SQLite treats NUL as the end of a text.
            Cell::Good(value) => Value::Text(entry.reading.written(value).replace('\0', "\u{fffd}")),
            _ => Value::Null,
        };
        let entries = self.entries;
        let Some(rows) = &mut self.rows else {
            let value = |entry: &ColumnEntry| {
                let found = kept.values().iter().find(|(name, _)| *name == entry.field);
                let value = found.and_then(|(_, raw)| entry.reading.value(raw));
                stored(value.map_or(Cell::Missing, Cell::Good), entry)
            };
            return Ok(entries.iter().map(value).collect());
        };
        let cells = rows.next_row()?.map(|row| row.cells()).unwrap_or_default();
        let cells = cells.into_iter().chain(std::iter::repeat(Cell::Missing));
        Ok(cells.zip(entries).map(|(cell, entry)| stored(cell, entry)).collect())
    }
}

/// The source of the texts.
#[derive(Clone, Copy)]
pub(crate) enum Texts<'a> {
    /// The input of the run, read again.
    Corpus(&'a Corpus),
    /// The texts kept by the run.
    Store(&'a TextStore),
}

impl Texts<'_> {
    fn for_each(
        self,
        observer: &mut dyn Observer,
        document: impl FnMut(Document<'_>),
    ) -> docsphere::Result<()> {
        match self {
            Texts::Corpus(corpus) => corpus.for_each_document_watched(observer, document).map(drop),
            Texts::Store(store) => store.for_each_document_watched(observer, document),
        }
    }
}

/// Writes the file. `line` returns the assignment of a document by its number; the corpus must have
/// `n_documents` documents.
pub(crate) fn write<'a>(
    path: &Path,
    (texts, columns): (Texts<'_>, Columns<'_>),
    observer: &mut dyn Observer,
    n_documents: usize,
    known: &KnownTexts<'_>,
    line: impl Fn(usize) -> Line<'a>,
) -> Result<()> {
    let mut attempt = || {
        let mut connection = Connection::open(path)?;
        // The file gets its name only when it is complete: there is nothing to roll back to.
        connection.execute_batch(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;",
        )?;
        connection.pragma_update(None, "application_id", APPLICATION_ID)?;
        create_tables(&connection, columns.entries)?;
        let transaction = connection.transaction()?;
        {
            let mut values = Values { entries: columns.entries, rows: columns.kept.map(KeptColumns::rows) };
            let places = vec!["?"; 5 + columns.entries.len()].join(", ");
            let mut insert = transaction.prepare(&format!("INSERT INTO documents VALUES ({places})"))?;
            let mut index = transaction.prepare("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?;
            let mut number = 0;
            let mut outcome = Ok(());
            let mut add = |Document { id, text, kept }: Document<'_>| -> Result<()> {
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
                // SQLite treats NUL as the end of a text.
                let text = text.replace('\0', "\u{fffd}");
                index.execute(params![number as i64, spaced(&text)])?;
                let own = [
                    Value::Integer(number as i64),
                    Value::Text(id.to_owned()),
                    Value::Integer(line.cluster.into()),
                    Value::Real(line.similarity),
                    Value::Text(text),
                ];
                insert.execute(params_from_iter(own.into_iter().chain(values.next(kept)?)))?;
                number += 1;
                Ok(())
            };
            let has_failed = AtomicBool::new(false);
            // Stop reading once the corpus turns out not to be that of the run.
            let mut until_failed = |event: &Event<'_>| {
                observer.observe(event)?;
                if has_failed.load(Ordering::Relaxed) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            };
            let read = texts.for_each(&mut until_failed, |document| {
                if outcome.is_ok() {
                    outcome = add(document);
                    has_failed.store(outcome.is_err(), Ordering::Relaxed);
                }
            });
            outcome?;
            read?;
            ensure!(number == n_documents, "the input has {number} documents, the result {n_documents}");
        }
        transaction
            .execute_batch("CREATE INDEX by_cluster ON documents (cluster, similarity DESC, number);")?;
        transaction.commit()?;
        connection.close().map_err(|(_, error)| error)?;
        seal(path)
    };
    let outcome = attempt();
    if outcome.is_err() {
        let _ = fs::remove_file(path);
    }
    outcome
}

/// Writes a copy of an index in which the documents have the clusters of these lines.
pub(crate) fn relabel(from: &Path, to: &Path, lines: &[ReadAssignment]) -> Result<()> {
    let attempt = || -> Result<()> {
        check(from)?;
        fs::copy(from, to)?;
        let mut connection = Connection::open(to)?;
        connection.execute_batch(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;",
        )?;
        let transaction = connection.transaction()?;
        {
            let mut update = transaction.prepare(
                "UPDATE documents SET cluster = ?2, similarity = ?3
                 WHERE number = ?1 AND (cluster <> ?2 OR similarity <> ?3)",
            )?;
            for (number, line) in lines.iter().enumerate() {
                update.execute(params![number as i64, line.cluster, line.similarity])?;
            }
        }
        transaction.commit()?;
        connection.close().map_err(|(_, error)| error)?;
        seal(to)
    };
    attempt().with_context(|| format!("{}: cannot write", to.display()))
}

/// Writes the checksum of a finished file into its header.
fn seal(path: &Path) -> Result<()> {
    let mut file = File::options().read(true).write(true).open(path)?;
    let checksum = checksum(&mut file)?;
    file.seek(SeekFrom::Start(CHECKSUM_AT as u64))?;
    Ok(file.write_all(&checksum.to_be_bytes())?)
}

/// Creates the tables, and fills that of the columns.
fn create_tables(connection: &Connection, columns: &[ColumnEntry]) -> rusqlite::Result<()> {
    let of_column = |position: usize| format!(",\n        c{position}");
    let more: String = (0..columns.len()).map(of_column).collect();
    connection.execute_batch(&TABLES.replace("{}", &more))?;
    for (position, entry) in columns.iter().enumerate() {
        let values = params![position as i64, entry.name, entry.reading.kind.name()];
        connection.execute("INSERT INTO columns VALUES (?1, ?2, ?3)", values)?;
    }
    Ok(())
}

/// The CRC-32 of a whole SQLite file, with zeros in place of the checksum itself.
fn checksum(file: &mut File) -> std::io::Result<u32> {
    file.rewind()?;
    let mut header = [0; HEADER_BYTES];
    file.read_exact(&mut header)?;
    header[CHECKSUM_AT..CHECKSUM_AT + 4].fill(0);
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header);
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finalize()),
            Ok(n) => hasher.update(&buffer[..n]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Reads the whole file and compares its checksum.
pub(crate) fn check(path: &Path) -> Result<()> {
    let attempt = || -> Result<()> {
        let mut file = File::open(path)?;
        let mut header = [0; HEADER_BYTES];
        let is_ours = match file.read_exact(&mut header) {
            Ok(()) => {
                header.starts_with(SQLITE_MAGIC)
                    && number_at(&header, APPLICATION_ID_AT) == APPLICATION_ID as u32
            }
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => false,
            Err(error) => return Err(error.into()),
        };
        ensure!(is_ours, "was not made by this version of docsphere; make it again with docsphere index");
        ensure!(
            checksum(&mut file)? == number_at(&header, CHECKSUM_AT),
            "is damaged: its checksum is wrong; make it again with docsphere index"
        );
        Ok(())
    };
    attempt().with_context(|| cannot_read(path))
}

fn number_at(header: &[u8; HEADER_BYTES], at: usize) -> u32 {
    header[at..at + 4].iter().fold(0, |number, &byte| number << 8 | u32::from(byte))
}

pub(super) fn cannot_read(path: &Path) -> String {
    format!("{}: cannot read", path.display())
}

#[cfg(test)]
mod tests {
    use docsphere::CorpusOptions;

    use super::*;

    struct Silent;

    impl Observer for Silent {
        fn observe(&mut self, _: &Event<'_>) -> std::ops::ControlFlow<()> {
            std::ops::ControlFlow::Continue(())
        }
    }

    #[test]
    fn an_input_that_is_not_that_of_the_result_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let corpus = home.path().join("corpus.txt");
        fs::write(&corpus, "a\nb\n").unwrap();
        let corpus = Corpus::open([corpus], CorpusOptions::default()).unwrap();
        let path = home.path().join("documents.sqlite");
        let message = |ids: &[&str], known: &KnownTexts<'_>| {
            let line = |n: usize| Line { id: ids[n], cluster: 0, similarity: 1.0 };
            let source = (Texts::Corpus(&corpus), Columns::default());
            write(&path, source, &mut Silent, ids.len(), known, line).unwrap_err().to_string()
        };
        let none = KnownTexts::new();
        assert!(message(&["1", "3"], &none).starts_with("document 2 is \"2\", in the result it is \"3\""));
        assert_eq!(message(&["1"], &none), "the input has more documents than the result: 1");
        assert_eq!(message(&["1", "2", "3"], &none), "the input has 2 documents, the result 3");
        let other = KnownTexts::from([("2", vec!["c", "d"])]);
        assert!(message(&["1", "2"], &other).starts_with("document 2 (\"2\") has another text"));
        assert!(!path.exists());
    }

    #[test]
    fn a_corpus_is_not_read_on_once_it_differs() {
        let home = tempfile::tempdir().unwrap();
        let corpus = home.path().join("corpus.txt");
        let n_bytes = 40_000_000;
        fs::write(&corpus, format!("{}\n", "x".repeat(999)).repeat(n_bytes / 1000)).unwrap();
        let corpus = Corpus::open([corpus], CorpusOptions::default()).unwrap();
        let mut n_read = 0;
        let mut observer = |event: &Event<'_>| {
            if let Event::Reading { n_documents, .. } = event {
                n_read = *n_documents;
            }
            ControlFlow::Continue(())
        };
        let line = |_: usize| Line { id: "other", cluster: 0, similarity: 1.0 };
        let path = home.path().join("documents.sqlite");
        let source = (Texts::Corpus(&corpus), Columns::default());
        let write = || write(&path, source, &mut observer, n_bytes / 1000, &KnownTexts::new(), line);
        // The reader's batch size grows with the number of threads.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let error = pool.install(write).unwrap_err().to_string();
        assert!(error.starts_with("document 1 is \"1\", in the result it is \"other\""), "{error}");
        assert!(n_read > 0 && n_read < n_bytes as u64 / 2000, "{n_read} documents were read");
    }
}

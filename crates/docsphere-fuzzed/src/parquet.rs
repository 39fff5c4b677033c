//! Bytes to documents, as the command reads a Parquet file: an error or texts that are UTF-8, never
//! a panic, and never more memory than `-rss_limit_mb` allows.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use docsphere::{Corpus, CorpusFormat, CorpusOptions, Event};
use docsphere_testkit::parquet_files::{Values, write_parquet};
use parquet::file::properties::WriterProperties;

/// A few bytes may stand for many documents. When so many have been seen, or so many bytes of them,
/// it is enough.
const ENOUGH_DOCUMENTS: u64 = 20_000;
const ENOUGH_BYTES: usize = 16 << 20;

/// Reads bytes as a Parquet file.
pub fn run(data: &[u8], folder: &Path) {
    let path = crate::file(folder, "documents.parquet", data);
    read(&path, &["text"], None);
    read(&path, &["number", "text", "real"], Some("text"));
}

fn read(path: &Path, text_fields: &[&str], id_field: Option<&str>) {
    let mut options =
        CorpusOptions::default().format(CorpusFormat::Parquet).text_fields(text_fields.iter().copied());
    options.id_field = id_field.map(str::to_owned);
    let corpus = Corpus::open([path], options).expect("a file that is there");
    let n_bytes = AtomicUsize::new(0);
    let mut observer = |event: &Event<'_>| match *event {
        Event::Reading { n_documents, .. }
            if n_documents > ENOUGH_DOCUMENTS || n_bytes.load(Ordering::Relaxed) > ENOUGH_BYTES =>
        {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    };
    let mut n_documents = 0;
    let read = corpus.for_each_document_watched(&mut observer, |document| {
        // What claims to be UTF-8 must be.
        assert!(std::str::from_utf8(document.text.as_bytes()).is_ok());
        assert!(std::str::from_utf8(document.id.as_bytes()).is_ok());
        assert!(!document.id.is_empty());
        n_bytes.fetch_add(document.text.len(), Ordering::Relaxed);
        n_documents += 1;
    });
    if let Ok(stats) = read {
        assert_eq!(stats.n_documents, n_documents);
    }
}

/// Files with and without a dictionary, one with missing texts. `fuzz/examples/seeds.rs` writes
/// those of every encoding and compression, which takes another crate.
pub fn seeds(folder: &Path) -> Vec<Vec<u8>> {
    let texts = ["apple tart", "apple pie", "", "plum", "plûm jam €"];
    let numbers = || Values::int64((0..5).map(|number| number * number - 5));
    let seed = |texts: Values, dictionary: bool| {
        let path = folder.join("seed.parquet");
        let schema = "OPTIONAL BINARY text (UTF8); REQUIRED INT64 number;";
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(dictionary)
            .set_max_row_group_row_count(Some(3))
            .build();
        write_parquet(&path, schema, &[texts, numbers()], properties);
        std::fs::read(path).expect("the file")
    };
    let some = texts.iter().map(|text| Some((*text).to_owned()).filter(|text| text != "plum"));
    vec![seed(Values::texts(texts), true), seed(Values::some_texts(some), false)]
}

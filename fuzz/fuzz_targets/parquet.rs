//! Bytes to documents, as the command reads a Parquet file: an error or texts that are UTF-8, never
//! a panic, and never more memory than `-rss_limit_mb` allows.
#![no_main]

use std::ops::ControlFlow;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use docsphere::{Corpus, CorpusFormat, CorpusOptions, Event};
use docsphere_fuzz::ScratchFile;
use libfuzzer_sys::fuzz_target;

static FILE: LazyLock<ScratchFile> = LazyLock::new(|| ScratchFile::new("documents.parquet"));

/// A few bytes may stand for many documents. When so many have been seen, or so many bytes of them,
/// it is enough.
const ENOUGH_DOCUMENTS: u64 = 20_000;
const ENOUGH_BYTES: usize = 16 << 20;

fuzz_target!(|data: &[u8]| {
    FILE.holding(data);
    read(&["text"], None);
    read(&["number", "text", "real"], Some("text"));
});

fn read(text_fields: &[&str], id_field: Option<&str>) {
    let mut options =
        CorpusOptions::default().format(CorpusFormat::Parquet).text_fields(text_fields.iter().copied());
    options.id_field = id_field.map(str::to_owned);
    let corpus = Corpus::open([FILE.path()], options).expect("a file that is there");
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

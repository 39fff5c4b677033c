//! A small result with every file that a reader may meet, from which seeds are taken.

use std::path::Path;

use docsphere::{
    ColumnStoreWriter, Corpus, CorpusOptions, Event, Keep, KeptColumns, MemoryLimit, SphericalKMeans, Stores,
    SummaryOptions, TextStoreWriter, Vectorizer,
};
use docsphere_result::edits::{Edit, Edits, Operation};
use docsphere_result::{
    AssignedColumns, Assignments, AssignmentsFormat, Clustering, ColumnsFile, Configuration, Description,
    Page, PageLimits, Phases, Points, Seconds, Setting, TraceFile, names,
};

const CONFIGURATION: &str = "clusters = 3\nkeep = [\"day\", \"kind\"]\n[text]\nlowercase = true\n";

/// A table with words, a date, a number and a category.
const DOCUMENTS: &str = "id,text,day,stars,kind
a,cats purr softly,2024-01-02,4,cat
b,dogs bark loudly,2024-01-05,3.5,dog
c,cats sleep and purr,2024-02-01,,cat
d,dogs run and bark,2024-03-09,1e3,dog
e,stocks fall,2023-11-30,-2,money
f,\"stocks rise, stocks fall\",2023-12-31,0,money
g,,2024-01-01,7,
h,a dog and a cat,2024-01-02T03:04:05Z,5,\"cat, dog\"
";

/// Writes the result into a folder, all but its search index.
pub(crate) fn write(folder: &Path) {
    let limit = MemoryLimit::default();
    let source = crate::file(folder, "documents.csv", DOCUMENTS.as_bytes());
    let options = CorpusOptions::default().keep(Keep::All).id_field("id");
    let corpus = Corpus::open([source], options).expect("a table");
    let [texts, columns] = [names::TEXTS, names::COLUMN_VALUES].map(|name| folder.join(name));
    for store in [&texts, &columns] {
        // A store is not replaced.
        let _ = std::fs::remove_file(store);
    }
    let mut texts = TextStoreWriter::create(texts).expect("a store");
    let mut columns = ColumnStoreWriter::create(columns, &Keep::All).expect("a store");
    let stores = Stores { texts: Some(&mut texts), columns: Some(&mut columns) };
    let mut observer = |_: &Event<'_>| std::ops::ControlFlow::Continue(());
    let read = Vectorizer::new().fit_stored(&corpus, stores, &mut observer).expect("rows");
    texts.finish().expect("texts");
    let kept = KeptColumns::recognise(columns.finish().expect("columns"), None, &limit).expect("columns");

    let fit = SphericalKMeans::params(3).seed(1).n_threads(1).fit(&read.rows).expect("a run");
    let model = fit.model.clone().with_text(read.model).expect("the model of its rows");
    let clustering = Clustering {
        rows: &read.rows,
        ids: &read.ids,
        labels: &fit.labels,
        similarities: &fit.similarities,
        model: &model,
        n_copies: None,
        objective: fit.objective,
    };
    let text = |numbers: &[u64]| numbers.iter().map(|&number| (number, format!("text {number}"))).collect();
    let description = Description::new(&clustering, SummaryOptions::default(), true, text).expect("a result");
    description.write(folder).expect("a description");
    let (file, bins) = ColumnsFile::with_bins(&kept, &read.ids, &fit.labels, 3, &limit).expect("columns");
    file.write(folder).expect("columns");
    let points = Points::new(&clustering, &description, None, bins).expect("parts of one result");
    let points = points.expect("a map").with_titles(&read.ids, text);
    points.write(folder).expect("points");
    let names = file.names();
    let assignments = Assignments {
        ids: &read.ids,
        labels: &fit.labels,
        similarities: &fit.similarities,
        nearest: None,
        silhouettes: None,
        columns: Some(AssignedColumns { kept: &kept, names: &names }),
        copies: None,
    };
    for &format in AssignmentsFormat::ALL {
        assignments.write(folder, format).expect("assignments");
    }
    let configuration = crate::file(folder, "typed.toml", CONFIGURATION.as_bytes());
    let configuration = Configuration::read(&configuration, &limit).expect("a configuration");
    configuration.write(folder, "a note").expect("a configuration");
    let settings = [Setting { name: "--clusters".to_owned(), values: vec!["3".to_owned()] }];
    let trace = TraceFile {
        strategy: docsphere::Strategy::Auto,
        seed: 1,
        threads: 1,
        version: "0",
        settings: &settings,
        notes: &["noted".to_owned()],
        changes: &[],
        seconds: Seconds::default(),
        after: &Phases::default(),
        peak_memory_bytes: None,
        runs: &fit.trace.runs,
        iterations: &fit.trace.iterations,
    };
    trace.write(folder).expect("a trace");
    edits().write(folder).expect("edits");
    model.save(folder.join(names::MODEL)).expect("a model");
    read.rows.save(folder.join(names::ROWS)).expect("rows");
    let page = Page {
        clusters: &description.clusters,
        groups: Some(&description.groups),
        map: description.map.as_ref().expect("a map"),
        version: "0",
        settings: &settings,
        trace: docsphere_result::Curve::new(&fit.trace.iterations),
        columns: Some(&file),
        points: Some(&points),
        editable: false,
    };
    let _ = page.render(PageLimits::default(), false);
}

/// One edit of every kind.
fn edits() -> Edits {
    let operations = [
        Operation::Rename { cluster: 0, name: "first".to_owned() },
        Operation::Note { cluster: 1, text: "look again".to_owned() },
        Operation::Merge { clusters: vec![0, 1], into: 1 },
        Operation::Split { cluster: 1, parts: 2 },
        Operation::Hide { cluster: 2 },
        Operation::Outliers { cluster: 2 },
    ];
    let edit = |(id, operation)| Edit { id, time: "2024-01-02T03:04:05Z".to_owned(), operation };
    Edits { edits: (1..).zip(operations).map(edit).collect() }
}

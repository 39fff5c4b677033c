//! From arguments to rows, for documents or a matrix.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail, ensure};
use docsphere::{
    ColumnStoreWriter, Corpus, CorpusStats, Ids, KeptColumns, Labels, LanguageCounts, Losses, Spill, Stores,
    TextModel, TextOptions, TextStore, TextStoreWriter, TfidfOptions, UnitRows, Vectorizer, formats,
    on_threads,
};
use docsphere_result::files::Reading;
use docsphere_result::{DuplicatesEntry, PassagesEntry};

use crate::args::{DuplicateArgs, InputArgs, KeepArgs, UsageError};
use crate::copies::FoundCopies;
use crate::memory;
use crate::numbers::grouped;
use crate::output::remarks::{Remarks, add_columns};
use crate::progress::Progress;

/// Memory per row id of a matrix: its digits and its end, in lists that may be twice as long while
/// they grow.
const ID_BYTES: u64 = 54;

/// Memory of a column name for each byte of a short line: a string of its own, and a slot in a list
/// that grows by doubling.
const NAME_COPIES: u64 = 64;

/// Maximum length of a column name.
const MAX_NAME_BYTES: usize = 1_000_000;

/// The rows to cluster, and their source.
pub(crate) struct Loaded {
    /// The name of the input, for messages.
    name: String,
    pub(crate) rows: UnitRows<'static>,
    /// The id of each row.
    pub(crate) ids: Ids,
    pub(crate) source: Source,
    /// Documents that are copies of others, if they were looked for. They have no rows.
    pub(crate) copies: Option<FoundCopies>,
    pub(crate) seconds: LoadSeconds,
    /// The kept columns, if there are any.
    pub(crate) columns: Option<KeptColumns>,
    /// What was found in them, for the user.
    column_remarks: Remarks,
}

/// Files for what is kept of the documents until the result is written.
#[derive(Default)]
pub(crate) struct Staged<'a> {
    /// For their texts, if they are needed later.
    pub(crate) texts: Option<&'a Path>,
    /// For their columns, with the options that say which.
    pub(crate) columns: Option<(&'a Path, &'a KeepArgs)>,
    /// For their rows, if they do not fit into memory; its folder takes the counts before.
    pub(crate) rows: Option<&'a Path>,
}

impl Loaded {
    /// The documents of a result, of which some may be new.
    pub(crate) fn of_result(
        name: String,
        (rows, ids): (UnitRows<'static>, Ids),
        source: Source,
        (columns, column_remarks): (Option<KeptColumns>, Remarks),
        seconds: LoadSeconds,
    ) -> Self {
        Loaded { name, rows, ids, source, copies: None, seconds, columns, column_remarks }
    }

    /// Notes about the input for the user.
    pub(crate) fn remarks(&self) -> Remarks {
        let mut remarks = match &self.source {
            Source::Documents { stats, .. } => Remarks::of_reading(stats),
            Source::Matrix { .. } => Remarks::default(),
        };
        if let Source::Documents { n_repeated_ids, losses, languages, .. } = &self.source {
            remarks.add_languages(languages);
            remarks.warn_of_losses(losses);
            remarks.add(
                *n_repeated_ids as usize,
                "document has an id that an earlier one has too",
                "documents have an id that an earlier one has too",
            );
        }
        if let Some(copies) = &self.copies {
            let DuplicatesEntry { n_copies, n_equal, similarity, .. } = copies.entry;
            let how = format!(
                "({} with the same terms, the others with a similarity of {similarity} or more); assignments have the cluster of that one",
                grouped(n_equal)
            );
            remarks.add(
                n_copies,
                &format!("document is a copy of an earlier one and was not clustered {how}"),
                &format!("documents are copies of an earlier one and were not clustered {how}"),
            );
        }
        remarks.extend(&self.column_remarks);
        remarks
    }

    /// Adds a note about some documents.
    pub(crate) fn note(&mut self, count: usize, one: &str, several: &str) {
        self.column_remarks.add(count, one, several);
    }

    /// Finds copies of documents, and takes them out of the rows, unless they are kept.
    pub(crate) fn set_copies_apart(&mut self, args: &DuplicateArgs, threads: Option<usize>) -> Result<()> {
        let start = Instant::now();
        let Loaded { rows, ids, copies, .. } = self;
        *copies = on_threads(threads, || FoundCopies::remove(args, rows, ids))??;
        self.seconds.vectorize += start.elapsed().as_secs_f64();
        Ok(())
    }

    /// Writes the rows to a scratch file on the disk of a folder, and goes on from it: they take no
    /// memory of their own any more.
    pub(crate) fn move_rows_to(&mut self, folder: &Path) -> Result<()> {
        self.rows = self.rows.in_scratch_file(folder)?;
        Ok(())
    }

    /// The ids of all documents, with and without a row.
    pub(crate) fn document_ids(&self) -> &Ids {
        self.copies.as_ref().map_or(&self.ids, |copies| copies.of_lines().ids)
    }

    /// The row of a document: its own, or that of its original.
    pub(crate) fn row_of(&self, document: usize) -> usize {
        self.copies.as_ref().map_or(document, |copies| copies.of_lines().lines[document] as usize)
    }

    /// The labels of all documents, copies included, from those of the rows.
    pub(crate) fn document_labels(&self, labels: &Labels) -> Labels {
        let of_row = |document| labels.as_slice()[self.row_of(document)];
        (0..self.document_ids().len()).map(of_row).collect::<Vec<i32>>().into()
    }

    /// The document of a row.
    pub(crate) fn document_of(&self, row: u64) -> u64 {
        let original = |copies: &FoundCopies| u64::from(copies.of_lines().originals[row as usize]);
        self.copies.as_ref().map_or(row, original)
    }

    /// How often each row counts, unless all count once.
    pub(crate) fn weights(&self) -> Option<&[f64]> {
        self.copies.as_ref().and_then(FoundCopies::weights)
    }

    /// The number of documents that have a term.
    pub(crate) fn n_with_terms(&self) -> usize {
        self.rows.n_nonzero_rows()
    }

    /// Refuses input that cannot be clustered, for this greatest number of clusters if it is known.
    pub(crate) fn check(&self, n_clusters: Option<usize>) -> Result<()> {
        let (name, n_rows, n_with_terms) = (&self.name, self.rows.n_rows(), self.n_with_terms());
        let is_text = matches!(self.source, Source::Documents { .. });
        if n_rows == 0 {
            let notes: String = self.remarks().iter().map(|note| format!("; {note}")).collect();
            bail!("{name}: has no documents{notes}");
        }
        ensure!(
            n_rows > 1 || n_with_terms > 0 || !is_text,
            "{name}: only one document was read, so no term tells it from others; clusters need several"
        );
        ensure!(
            n_with_terms > 0,
            "{name}: {} read, but no document has any term that tells it from others: a term of all documents weighs nothing (unless with --smooth-idf), and empty texts have none; see also --stop-words, --min-chars, --min-df, --max-df and --keep-numbers",
            if n_rows == 1 {
                "1 document was".to_owned()
            } else {
                format!("{} documents were", grouped(n_rows))
            }
        );
        if let Some(k) = n_clusters {
            ensure!(
                k <= n_with_terms,
                "-k must be at most {n_with_terms}, the number of documents that have a term, got {k}"
            );
        }
        Ok(())
    }

    /// How documents were cut into passages, if they were.
    pub(crate) fn passages(&self) -> Option<PassagesEntry> {
        match &self.source {
            Source::Documents { model, stats, .. } => {
                let n_documents = stats.n_documents;
                model.split().map(|split| PassagesEntry { split, n_documents })
            }
            Source::Matrix { .. } => None,
        }
    }

    /// The texts of the documents, if they were kept.
    pub(crate) fn texts(&self) -> Option<&TextStore> {
        match &self.source {
            Source::Documents { texts, .. } => texts.as_ref(),
            Source::Matrix { .. } => None,
        }
    }

    /// The number of kept columns.
    pub(crate) fn n_columns(&self) -> usize {
        self.columns.as_ref().map_or(0, |columns| columns.columns().len())
    }

    /// Closes the files of texts and columns.
    pub(crate) fn close_stores(&mut self) {
        self.columns = None;
        if let Source::Documents { texts, .. } = &mut self.source {
            *texts = None;
        }
    }
}

/// The source of the rows.
pub(crate) enum Source {
    /// Text. Model, counts and losses are boxed: they are much larger than anything else here.
    Documents {
        /// The texts, if they were kept.
        texts: Option<TextStore>,
        model: Box<TextModel>,
        stats: Box<CorpusStats>,
        n_repeated_ids: u64,
        losses: Box<Losses>,
        languages: Box<LanguageCounts>,
    },
    /// A matrix, with the names of its columns if they were given.
    Matrix { term_names: Option<Vec<String>> },
}

/// Time spent on reading and vectorizing.
#[derive(Clone, Copy, Default)]
pub(crate) struct LoadSeconds {
    pub(crate) read: f64,
    pub(crate) vectorize: f64,
}

/// Reads all input once and turns it into rows. Options are passed as objects: a file of stop words
/// may be a pipe, which can be read only once. `staged` are the files for what is needed later.
pub(crate) fn load(
    input: &InputArgs,
    (text, tfidf): (TextOptions, TfidfOptions),
    threads: Option<usize>,
    staged: Staged<'_>,
    progress: &mut Progress,
) -> Result<Loaded> {
    if let Some(format) = input.matrix_format() {
        return load_matrix(input, format, None);
    }
    input.check_for_documents()?;
    let mut vectorizer = Vectorizer::new().text(text).tfidf(tfidf).n_threads(threads);
    if let (Some(path), Some(limit)) = (staged.rows, memory::limit()) {
        let folder = path.parent().unwrap_or(Path::new("."));
        let spill = Spill::new(folder).rows(path.to_owned()).after_bytes(limit.of_counts());
        vectorizer = vectorizer.spill(spill.terms_bytes(limit.of_terms()));
    }
    let start = Instant::now();
    let mut options = input.corpus_options();
    options.keep = staged.columns.map_or_else(Default::default, |(_, keep)| keep.keep());
    let mut columns = match staged.columns {
        Some((path, _)) => Some(ColumnStoreWriter::create(path, &options.keep)?),
        None => None,
    };
    let corpus = Corpus::open(&input.inputs, options)?;
    let mut texts = staged.texts.map(TextStoreWriter::create).transpose()?;
    let stores = Stores { texts: texts.as_mut(), columns: columns.as_mut() };
    let vectorized = vectorizer.fit_stored(&corpus, stores, progress)?;
    progress.finish();
    let limit = memory::of_readers();
    let texts = texts.map(TextStoreWriter::finish).transpose()?.map(|texts| texts.within(&limit));
    let columns = match (columns, staged.columns) {
        (Some(columns), Some((_, keep))) => {
            let store = columns.finish()?.within(&limit);
            Some(KeptColumns::recognise(store, keep.date_field.as_deref(), &limit)?)
        }
        _ => None,
    };
    let mut column_remarks = Remarks::default();
    add_columns(&mut column_remarks, columns.as_ref().map_or(&[], KeptColumns::columns));
    let total = start.elapsed().as_secs_f64();
    let read = progress.last_read.map_or(0.0, |last| (last - start).as_secs_f64());
    Ok(Loaded {
        name: name_of(&input.inputs),
        rows: vectorized.rows,
        ids: vectorized.ids,
        source: Source::Documents {
            texts,
            model: Box::new(vectorized.model),
            stats: Box::new(vectorized.stats),
            n_repeated_ids: vectorized.n_repeated_ids,
            losses: Box::new(vectorized.losses),
            languages: Box::new(vectorized.languages),
        },
        copies: None,
        seconds: LoadSeconds { read, vectorize: total - read },
        columns,
        column_remarks,
    })
}

/// Reads a matrix. Its rows are numbered from 1, like lines. `n_terms` is the number of columns if
/// it is known; svmlight files do not state it.
pub(crate) fn load_matrix(
    input: &InputArgs,
    format: formats::Format,
    n_terms: Option<usize>,
) -> Result<Loaded> {
    let [path] = input.inputs.as_slice() else {
        return Err(UsageError("give one matrix file at a time".to_owned()).into());
    };
    if path == Path::new("-") {
        let message = "a matrix cannot be read from standard input; put it into a file and name that";
        return Err(UsageError(message.to_owned()).into());
    }
    input.check_for_matrix()?;
    let start = Instant::now();
    let term_names = input.vocabulary.as_deref().map(read_names).transpose()?;
    let memory = memory::of_readers();
    let n_terms = n_terms.or(term_names.as_ref().map(Vec::len));
    let rows = if format == formats::Format::Rows {
        // They have length one, and need not be read into memory.
        let rows = UnitRows::load_or_map(path, &memory)?;
        memory.check("the terms of the matrix", 8 * rows.n_terms() as u64)?;
        rows
    } else {
        let options = formats::ReadOptions::default().format(format).n_terms(n_terms).memory(memory.clone());
        UnitRows::new_within(formats::read_with(path, &options)?, &memory)?
    };
    if let (Some(names), Some(file)) = (&term_names, &input.vocabulary) {
        ensure!(
            names.len() == rows.n_terms(),
            "{}: has {} lines, but the matrix has {} columns; give one name a line",
            file.display(),
            names.len(),
            rows.n_terms()
        );
    }
    let read = start.elapsed().as_secs_f64();
    memory.check("the ids of the rows", ID_BYTES * rows.n_rows() as u64)?;
    Ok(Loaded {
        name: name_of(&input.inputs),
        ids: (1..=rows.n_rows()).map(|number| number.to_string()).collect(),
        rows,
        source: Source::Matrix { term_names },
        copies: None,
        seconds: LoadSeconds { read, vectorize: start.elapsed().as_secs_f64() - read },
        columns: None,
        column_remarks: Remarks::default(),
    })
}

/// The name of some inputs, for messages.
fn name_of(inputs: &[PathBuf]) -> String {
    let first = match &inputs[0] {
        path if path == Path::new("-") => "standard input".to_owned(),
        path => path.display().to_string(),
    };
    match inputs.len() - 1 {
        0 => first,
        n_more => format!("{first} and {} more", grouped(n_more)),
    }
}

/// Reads the names of columns, one per line.
fn read_names(path: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let limit = memory::of_readers();
    let reading = Reading { what: "the names of the columns", kept: NAME_COPIES, limit: &limit };
    reading.for_each_line(path, MAX_NAME_BYTES, |name| {
        names.push(name.to_owned());
        Ok(())
    })?;
    Ok(names)
}

//! The documents of a result after some were removed and others were added.

use std::collections::HashSet;

use anyhow::{Context, Result, ensure};
use docsphere::{
    ColumnStore, ColumnStoreWriter, Corpus, CorpusStats, Ids, Keep, KeptColumns, Losses, Stores, TextStore,
    TextStoreWriter, UnitRows, fail_point,
};
use docsphere_result::documents::id_of_passage;
use docsphere_result::{ChangeEntry, names};

use super::Growing;
use crate::args::{KeepArgs, UsageError};
use crate::input::{LoadSeconds, Loaded, Source, load_matrix};
use crate::memory;
use crate::output::remarks::{Remarks, add_columns};

/// New documents, as they were read.
pub(in crate::commands) struct NewDocuments {
    pub(in crate::commands) rows: UnitRows<'static>,
    pub(in crate::commands) ids: Ids,
    stats: CorpusStats,
    texts: Option<TextStore>,
    columns: Option<ColumnStore>,
    seconds: LoadSeconds,
}

/// The documents afterwards: those that stay, then the new ones.
pub(in crate::commands) struct After {
    pub(in crate::commands) loaded: Loaded,
    /// The cluster of each document so far; -1 for new ones.
    pub(in crate::commands) labels: Vec<i32>,
    /// The first new document.
    pub(in crate::commands) first_new: usize,
    pub(in crate::commands) change: ChangeEntry,
}

/// Which documents there are afterwards.
pub(in crate::commands) struct Selection {
    /// Of those of the result.
    pub(in crate::commands) old: Vec<bool>,
    /// Of the new ones.
    pub(in crate::commands) new: Vec<bool>,
}

impl Growing<'_> {
    /// Reads new documents, as rows over the terms of the result.
    pub(in crate::commands) fn read(&mut self) -> Result<NewDocuments> {
        if let Some(format) = self.run.input.matrix_format() {
            return self.read_matrix(format);
        }
        self.run.input.check_for_documents()?;
        let start = std::time::Instant::now();
        let Some(text) = self.before.model.text() else {
            anyhow::bail!(
                "{}: is the result of a matrix and does not know how to read text; give a matrix file",
                self.before.folder.display()
            );
        };
        let mut options = self.run.input.corpus_options_of_result(text.split()).named_ids(true);
        if options.split != text.split() {
            let message = "--split: the documents of the result were cut in another way; leave it out, so that new ones are cut as they were";
            return Err(UsageError(message.to_owned()).into());
        }
        options.keep = match &self.before.columns {
            Some(columns) if self.run.keep.keep() != Keep::All => Keep::Present(columns.names().to_vec()),
            Some(_) => Keep::All,
            None => Keep::Nothing,
        };
        let [texts, columns] = names::NEW_STORES.map(|name| self.folder.file(name));
        let mut columns = match &self.before.columns {
            Some(store) => Some(ColumnStoreWriter::continuing(columns, store)?),
            None => None,
        };
        let mut texts = TextStoreWriter::create(texts)?;
        let corpus = Corpus::open(&self.run.input.inputs, options)?;
        let stores = Stores { texts: Some(&mut texts), columns: columns.as_mut() };
        let threads = self.args.threads;
        let read = docsphere::on_threads(threads, || {
            text.transform_corpus_stored(&corpus, stores, &mut self.progress)
        })??;
        self.progress.finish();
        let limit = memory::of_readers();
        let total = start.elapsed().as_secs_f64();
        let seconds_of_reading = self.progress.last_read.map_or(0.0, |last| (last - start).as_secs_f64());
        Ok(NewDocuments {
            rows: read.transformed.rows,
            ids: read.ids,
            stats: read.stats,
            texts: Some(texts.finish()?.within(&limit)),
            columns: columns.map(ColumnStoreWriter::finish).transpose()?.map(|store| store.within(&limit)),
            seconds: LoadSeconds { read: seconds_of_reading, vectorize: total - seconds_of_reading },
        })
    }

    /// Reads a matrix. Its rows are numbered after those of the result.
    fn read_matrix(&self, format: docsphere::formats::Format) -> Result<NewDocuments> {
        let before = &self.before;
        ensure!(
            before.texts.is_none(),
            "{}: is the result of documents; a matrix cannot be added to it",
            before.folder.display()
        );
        let n_terms = before.model.centroids().n_terms();
        let loaded = load_matrix(&self.run.input, format, Some(n_terms))?;
        let n_given = loaded.rows.n_terms();
        ensure!(
            n_given == n_terms,
            "{}: has {n_given} columns, but the result has {n_terms} terms",
            self.run.input.inputs[0].display()
        );
        let last = before.lines.iter().filter_map(|line| line.id.parse::<u64>().ok()).max().unwrap_or(0);
        Ok(NewDocuments {
            ids: (1..=loaded.rows.n_rows() as u64).map(|number| (last + number).to_string()).collect(),
            rows: loaded.rows,
            stats: CorpusStats::default(),
            texts: None,
            columns: None,
            seconds: loaded.seconds,
        })
    }

    /// The documents afterwards, with their texts and columns in the new folder.
    pub(in crate::commands) fn after(
        &mut self,
        new: Option<NewDocuments>,
        selection: &Selection,
    ) -> Result<After> {
        let limit = memory::of_readers();
        let Selection { old, new: added } = selection;
        let count = |mask: &[bool]| mask.iter().filter(|&&is_there| is_there).count();
        let (n_old, n_added) = (count(old), count(added));
        let change = self.change(n_added, old.len() - n_old);
        let texts = self.texts_after(new.as_ref(), selection)?;
        fail_point("texts written");
        let columns = self.columns_after(new.as_ref(), selection)?;
        let missing = missing_columns(new.as_ref())?;
        let n_documents = self.whole_documents(new.as_ref(), selection);
        let before = &mut self.before;
        let mut ids = Ids::new();
        let mut labels: Vec<i32> = Vec::with_capacity(n_old + n_added);
        for (line, _) in before.lines.iter().zip(old).filter(|(_, stays)| **stays) {
            ids.push(&line.id);
            labels.push(line.cluster);
        }
        labels.resize(n_old + n_added, -1);
        let empty =
            || UnitRows::new(docsphere::SparseRows::from_parts(0, vec![0], vec![], vec![]).expect("no rows"));
        let mut rows = std::mem::replace(&mut before.rows, empty());
        if n_old < old.len() {
            rows = rows.filtered(|number| old[number], &limit)?;
        }
        let (mut stats, mut seconds) = (CorpusStats::default(), LoadSeconds::default());
        if let Some(new) = new {
            let chosen = match n_added == added.len() {
                true => new.rows,
                false => new.rows.filtered(|number| added[number], &limit)?,
            };
            rows = rows.joined(&chosen, &limit)?;
            ids.extend(new.ids.iter().zip(added).filter(|(_, stays)| **stays).map(|(id, _)| id));
            (stats, seconds) = (new.stats, new.seconds);
        }
        stats.n_documents = n_documents;
        let mut column_remarks = Remarks::default();
        add_columns(&mut column_remarks, columns.as_ref().map_or(&[], KeptColumns::columns));
        missing
            .iter()
            .for_each(|name| column_remarks.say(format!("no new document has a value in column {name}")));
        let source = match before.model.text() {
            Some(model) => Source::Documents {
                texts,
                model: Box::new(model.clone()),
                stats: Box::new(stats),
                n_repeated_ids: 0,
                losses: Box::new(Losses::default()),
                languages: Box::default(),
            },
            None => Source::Matrix { term_names: before.model.term_names().map(<[String]>::to_vec) },
        };
        let name = before.folder.display().to_string();
        let loaded = Loaded::of_result(name, (rows, ids), source, (columns, column_remarks), seconds);
        Ok(After { loaded, labels, first_new: n_old, change })
    }

    fn texts_after(&self, new: Option<&NewDocuments>, selection: &Selection) -> Result<Option<TextStore>> {
        let Some(old) = &self.before.texts else { return Ok(None) };
        let mut writer = TextStoreWriter::create(self.folder.file(names::TEXTS))?;
        writer.append(old, |number| selection.old[number as usize])?;
        if let Some(new) = new.and_then(|new| new.texts.as_ref()) {
            writer.append(new, |number| selection.new[number as usize])?;
        }
        Ok(Some(writer.finish()?.within(&memory::of_readers())))
    }

    fn columns_after(
        &self,
        new: Option<&NewDocuments>,
        selection: &Selection,
    ) -> Result<Option<KeptColumns>> {
        let Some(old) = &self.before.columns else { return Ok(None) };
        let limit = memory::of_readers();
        let path = self.folder.file(names::COLUMN_VALUES);
        let new = new.and_then(|new| new.columns.as_ref());
        let mut writer = ColumnStoreWriter::continuing(path, new.unwrap_or(old))?;
        writer.append(old, |number| selection.old[number as usize])?;
        if let Some(new) = new {
            writer.append(new, |number| selection.new[number as usize])?;
        }
        let KeepArgs { date_field, .. } = &self.run.keep;
        let columns = KeptColumns::recognise(writer.finish()?.within(&limit), date_field.as_deref(), &limit);
        Ok(Some(columns.with_context(|| format!("{}: its kept columns", self.before.folder.display()))?))
    }

    /// The number of documents that were cut into passages.
    fn whole_documents(&self, new: Option<&NewDocuments>, selection: &Selection) -> u64 {
        let Some(passages) = self.before.clusters.passages else { return 0 };
        // Documents stay and go as a whole.
        let of = |ids: &mut dyn Iterator<Item = (&str, bool)>, wanted: bool| {
            let ids = ids.filter(|(_, is)| *is == wanted).map(|(id, _)| id_of_passage(id));
            ids.collect::<HashSet<&str>>().len() as u64
        };
        let lines = self.before.lines.iter().map(|line| &line.id[..]);
        let n_removed = of(&mut lines.zip(selection.old.iter().copied()), false);
        let n_added = new.map_or(0, |new| of(&mut new.ids.iter().zip(selection.new.iter().copied()), true));
        passages.n_documents.saturating_sub(n_removed) + n_added
    }
}

/// The columns of the result in which no new document has a value.
fn missing_columns(new: Option<&NewDocuments>) -> Result<Vec<String>> {
    let Some(store) = new.and_then(|new| new.columns.as_ref()) else { return Ok(Vec::new()) };
    let mut has_value = vec![false; store.names().len()];
    let mut rows = store.rows();
    while has_value.contains(&false)
        && let Some(row) = rows.next_row()?
    {
        row.values().for_each(|(column, _)| has_value[column] = true);
    }
    Ok(store.names().iter().zip(has_value).filter(|(_, has)| !has).map(|(name, _)| name.clone()).collect())
}

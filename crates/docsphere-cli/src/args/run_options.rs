//! The options of a run as they are kept with its result, in `run.toml`.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::Result;
use clap::{ArgMatches, Command};
use docsphere::Init;
use docsphere_result::{Configuration, ConfiguredOption, ConfiguredValue};

use super::configuration::{INPUTS, PATHS, is_key, key_of, table_of, takes_many};

/// Options about the place of a result and about its run, which a repeated run has anew.
const LEFT_OUT: [&str; 10] = [
    "checkpoint",
    "checkpoint-every",
    "device",
    "force",
    "json",
    "max-memory",
    "output",
    "quiet",
    "resume",
    "show",
];

/// Options of a sweep that its results, one for each number of clusters, do not have.
const OF_SWEEPS: [&str; 2] = ["stability", "stability-sample"];

/// What the file says about itself.
const NOTE: &str = "The options of this result. To repeat it: docsphere cluster --config run.toml -o OUT\n\
    Relative paths are relative to the folder of this file.";

const NOTE_OF_SWEEP: &str = "The options of this sweep. To repeat it: docsphere sweep --config run.toml -o OUT\n\
    Relative paths are relative to the folder of this file.";

const NOTE_OF_STEP: &str = "The options of this result, which is one of a sweep: ../run.toml repeats it to the bit.\n\
    Relative paths are relative to the folder of this file.";

/// All options that repeat a run, as typed or by default.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunConfiguration {
    options: Configuration,
    note: String,
}

impl RunConfiguration {
    /// The options of a command, except those under the headings in `left_out`.
    pub(crate) fn new(command: &Command, matches: &ArgMatches, left_out: &[&str]) -> Self {
        let is_sweep = command.get_name() == "sweep";
        let mut note = if is_sweep { NOTE_OF_SWEEP } else { NOTE }.to_owned();
        let mut options = Vec::new();
        for arg in command.get_arguments().filter(|arg| is_key(arg)) {
            let (key, id) = (key_of(arg), arg.get_id().as_str());
            let is_left_out = arg.get_help_heading().is_some_and(|heading| left_out.contains(&heading));
            let Ok(Some(values)) = matches.try_get_raw(id) else { continue };
            if is_left_out || LEFT_OUT.contains(&key) {
                continue;
            }
            let texts: Option<Vec<String>> = values.map(|value| value.to_str().map(str::to_owned)).collect();
            let value = match texts {
                None => {
                    note.push_str(&format!("\n{key} is not UTF-8 and has to be given again."));
                    continue;
                }
                Some(texts) if !arg.get_action().takes_values() => {
                    if texts == ["false"] {
                        continue;
                    }
                    ConfiguredValue::Flag(true)
                }
                Some(texts) if takes_many(arg) || arg.get_value_delimiter().is_some() => {
                    ConfiguredValue::Many(texts)
                }
                Some(texts) => ConfiguredValue::One(texts.into_iter().next().unwrap_or_default()),
            };
            options.push(ConfiguredOption {
                table: Some(table_of(arg)),
                key: key.to_owned(),
                value,
                line: 0,
            });
        }
        // The help has the input first, too.
        options.sort_by_key(|option| option.key != INPUTS);
        RunConfiguration { options: Configuration { options }, note }
    }

    /// The same with this number of clusters, which the run has chosen.
    pub(crate) fn set_number(&mut self, n_clusters: usize) {
        let (table, key) = (Some("clustering".to_owned()), "n-clusters");
        let value = ConfiguredValue::One(n_clusters.to_string());
        let options = &mut self.options.options;
        match options.iter_mut().find(|option| option.key == key) {
            Some(option) => option.value = value,
            None => {
                let first = options.iter().position(|option| option.table == table);
                let option = ConfiguredOption { table, key: key.to_owned(), value, line: 0 };
                options.insert(first.unwrap_or(options.len()), option);
            }
        }
    }

    /// Those of one result of a sweep.
    pub(crate) fn of_step(&self, n_clusters: usize) -> Self {
        let mut step = self.clone();
        step.options.options.retain(|option| !OF_SWEEPS.contains(&&option.key[..]));
        step.set_number(n_clusters);
        step.note = self.note.replace(NOTE_OF_SWEEP, NOTE_OF_STEP);
        step
    }

    /// Writes the file of a result, which exists.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        let mut options = self.options.clone();
        for option in options.options.iter_mut().filter(|option| PATHS.contains(&&option.key[..])) {
            let is_name = |value: &String| option.key == "init" && Init::NAMES.contains(&&value[..]);
            match &mut option.value {
                ConfiguredValue::One(value) if !is_name(value) => *value = path_from(folder, value),
                ConfiguredValue::Many(values) => {
                    values.iter_mut().for_each(|value| *value = path_from(folder, value));
                }
                _ => {}
            }
        }
        Ok(options.write(folder, &self.note)?)
    }
}

/// A path as it is called from a folder. An absolute path, and the name of standard input, stay.
fn path_from(folder: &Path, path: &str) -> String {
    let relative = || -> Option<String> {
        let folder = fs::canonicalize(folder).ok()?;
        // A link keeps its name; the folder that it is in has none of its own.
        let path = Path::new(path);
        let place = match (path.file_name(), path.parent()) {
            (Some(name), Some(parent)) => {
                let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
                fs::canonicalize(parent).ok()?.join(name)
            }
            _ => fs::canonicalize(path).ok()?,
        };
        let n_shared = folder.components().zip(place.components()).take_while(|(a, b)| a == b).count();
        let up = folder.components().skip(n_shared).map(|_| Component::ParentDir);
        let relative: PathBuf = up.chain(place.components().skip(n_shared)).collect();
        relative.to_str().map(str::to_owned)
    };
    let stays = Path::new(path).is_absolute() || path == "-";
    if stays { path.to_owned() } else { relative().unwrap_or_else(|| path.to_owned()) }
}

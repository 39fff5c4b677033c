//! Options from files: those of `--config`, and the input options of a result's `run.toml`.
//!
//! They become words of the command line, before those that were typed, and are parsed with them:
//! there is one set of checks, defaults and conversions. An option that was typed is not taken from
//! the file.
//!
//! Relative paths in a file are relative to its folder.

use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Result, anyhow, ensure};
use clap::builder::ValueRange;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use docsphere::{CorpusFormat, Init, MemoryLimit, formats};
use docsphere_result::{Configuration, ConfiguredOption, ConfiguredValue, names};

use super::UsageError;
use crate::console::escaped;

/// The key of the positional INPUT.
pub(crate) const INPUTS: &str = "inputs";

/// Options that a file cannot have.
const NOT_IN_FILES: [&str; 3] = ["config", "help", "version"];

/// Options whose values are paths, unless they are names.
pub(super) const PATHS: [&str; 8] =
    [INPUTS, "checkpoint", "init", "output", "resume", "stop-words-file", "vocabulary", "within"];

/// Options that say how input is read: those that other commands take from the result.
const OF_INPUT: [&str; 11] = [
    "format",
    "text-field",
    "id-field",
    "delimiter",
    "quote",
    "sheet",
    "encoding",
    "html",
    "keep-quotes",
    "glob",
    "skip-bad-records",
];

/// Commands that read the input of the run again.
const SAME_INPUT: [&str; 3] = ["verify", "index", "score"];

/// Commands that read other documents, as those of the run.
const NEW_INPUT: [&str; 1] = ["assign"];

/// Words to insert before those that were typed after the name of the subcommand.
#[derive(Debug, Default)]
pub(crate) struct MoreWords {
    pub(crate) words: Vec<OsString>,
    /// A note for the user about their origin.
    pub(crate) note: Option<String>,
}

impl MoreWords {
    /// Those for a command line. `command` is the whole command, `matches` are those of the words
    /// that were typed.
    pub(crate) fn new(command: &Command, matches: &ArgMatches) -> Result<Self> {
        let Some((name, typed)) = matches.subcommand() else { return Ok(MoreWords::default()) };
        let Some(subcommand) = command.find_subcommand(name) else { return Ok(MoreWords::default()) };
        let of = |id: &str| typed.try_get_one::<PathBuf>(id).ok().flatten();
        // The memory limit is one of the options; such a file is small in any case.
        let limit = MemoryLimit::default();
        if let Some(path) = of("config") {
            let file = Configuration::read(path, &limit)?;
            return File { command, subcommand, typed, path, file: &file }.all();
        }
        let folder = of("result").or_else(|| of("model"));
        let is_reader = SAME_INPUT.contains(&name) || NEW_INPUT.contains(&name);
        match folder.filter(|_| is_reader) {
            Some(folder) => match Configuration::of_result(folder, &limit)? {
                Some(file) => {
                    let path = &folder.join(names::CONFIGURATION);
                    File { command, subcommand, typed, path, file: &file }.of_input()
                }
                None => Ok(MoreWords::default()),
            },
            None => Ok(MoreWords::default()),
        }
    }
}

/// A configuration for a subcommand.
struct File<'a> {
    /// The whole command.
    command: &'a Command,
    subcommand: &'a Command,
    /// What was typed.
    typed: &'a ArgMatches,
    path: &'a Path,
    file: &'a Configuration,
}

impl File<'_> {
    /// The words for all options that were not typed.
    fn all(&self) -> Result<MoreWords> {
        let mut inputs = Vec::new();
        let mut words = Vec::new();
        for option in &self.file.options {
            let found = self.words(option).map_err(|problem| self.error(option, &problem))?;
            match &option.key[..] {
                // The documents of a cluster take the place of the input.
                INPUTS if self.is_typed("within") => {}
                INPUTS => inputs = found,
                _ => words.extend(found),
            }
        }
        let has_inputs = self.is_typed(INPUTS) || !inputs.is_empty();
        let is_within = self.is_typed("within") || self.file.get("within").is_some();
        let is_needed = |arg: &Arg| arg.get_id() == INPUTS && !is_within;
        ensure!(
            has_inputs || !self.subcommand.get_arguments().any(is_needed),
            UsageError(format!(
                "{}: names no input; give INPUT, or add to the file, in the table [input]: inputs = [\"...\"]",
                self.path.display()
            ))
        );
        // Before the options: an option never takes more than one word.
        inputs.extend(words);
        Ok(MoreWords { words: inputs, note: None })
    }

    /// The words for the input options that are not as by default and were not typed.
    fn of_input(&self) -> Result<MoreWords> {
        let mut words = Vec::new();
        // Without an input, what the result keeps is read.
        if !self.is_typed(INPUTS) {
            return Ok(MoreWords::default());
        }
        for option in self.file.options.iter().filter(|option| OF_INPUT.contains(&&option.key[..])) {
            let Some(arg) = self.arg(&option.key) else { continue };
            let defaults = arg.get_default_values();
            let is_default = !defaults.is_empty() && option.value.values().iter().eq(defaults);
            if is_default || self.is_of_other_format(&option.key) {
                continue;
            }
            words.extend(self.words(option).map_err(|problem| self.error(option, &problem))?);
        }
        if words.is_empty() {
            return Ok(MoreWords::default());
        }
        let flag = |id: &str| self.typed.try_get_one::<bool>(id).ok().flatten().is_some_and(|flag| *flag);
        let shown: Vec<String> = words.iter().map(shown).collect();
        let note = format!("note: as in {}: {}", self.path.display(), shown.join(" "));
        Ok(MoreWords { words, note: (!flag("quiet") && !flag("json")).then_some(note) })
    }

    /// Whether an option is about another format than that of new documents, by their names.
    fn is_of_other_format(&self, key: &str) -> bool {
        let inputs = self.typed.try_get_many::<PathBuf>(INPUTS).ok().flatten();
        let Some(mut inputs) = inputs.filter(|_| NEW_INPUT.contains(&self.subcommand.get_name())) else {
            return false;
        };
        let format = |path: &PathBuf| CorpusFormat::from_path(path).ok();
        let is_known = |path: &PathBuf| {
            path.is_dir() || format(path).is_some() || formats::Format::from_path(path).is_ok()
        };
        let is_table = |path: &PathBuf| matches!(format(path), Some(CorpusFormat::Csv | CorpusFormat::Tsv));
        let is_sheet = |path: &PathBuf| format(path) == Some(CorpusFormat::Sheet);
        match key {
            "format" => inputs.all(is_known),
            "delimiter" | "quote" => inputs.any(|path| is_known(path) && !is_table(path)),
            "sheet" => inputs.any(|path| is_known(path) && !is_sheet(path)),
            "glob" => !inputs.any(|path| path.is_dir()),
            _ => false,
        }
    }

    fn arg(&self, key: &str) -> Option<&Arg> {
        let is_named = |arg: &&Arg| {
            let name =
                if arg.is_positional() && arg.get_id() == INPUTS { Some(INPUTS) } else { arg.get_long() };
            name == Some(key)
        };
        self.subcommand.get_arguments().find(is_named).filter(|_| !NOT_IN_FILES.contains(&key))
    }

    fn is_typed(&self, id: &str) -> bool {
        let is_known = self.typed.try_contains_id(id).is_ok();
        is_known && self.typed.value_source(id) == Some(ValueSource::CommandLine)
    }

    /// The words for an option; none if it was typed. The error is what is wrong with it.
    fn words(&self, option: &ConfiguredOption) -> Result<Vec<OsString>, String> {
        let Some(arg) = self.arg(&option.key) else { return Err(self.unknown(option)) };
        let table = table_of(arg);
        if let Some(other) = option.table.as_ref().filter(|other| **other != table) {
            let key = &option.key;
            return Err(match self.tables().contains(other) {
                true => format!("{key}: belongs into the table [{table}], not [{other}]"),
                false => format!("there is no table [{other}]; {key} belongs into [{table}]"),
            });
        }
        let words = self.checked_words(arg, option)?;
        Ok(if self.is_typed(arg.get_id().as_str()) { Vec::new() } else { words })
    }

    fn checked_words(&self, arg: &Arg, option: &ConfiguredOption) -> Result<Vec<OsString>, String> {
        let key = &option.key;
        let words: Vec<OsString> = match (&option.value, takes_values(arg)) {
            (ConfiguredValue::Flag(flag), false) => {
                return Ok(if *flag { vec![format!("--{key}").into()] } else { Vec::new() });
            }
            (_, false) => return Err(format!("{key}: must be true or false")),
            (ConfiguredValue::Flag(_), true) => {
                return Err(format!("{key}: must be a text in quotes or a number"));
            }
            (ConfiguredValue::Many(_), true) if !takes_many(arg) => {
                return Err(format!("{key}: takes one value, not a list"));
            }
            (value, true) => value.values().iter().map(|value| self.word(arg, key, value)).collect(),
        };
        words.iter().try_for_each(|word| self.check(key, word))?;
        Ok(words)
    }

    /// A value as a word. One that begins with a hyphen is no option.
    fn word(&self, arg: &Arg, key: &str, value: &str) -> OsString {
        let is_name = key == "init" && Init::NAMES.contains(&value);
        let value = if PATHS.contains(&key) && !is_name {
            resolved(self.path, value).into_os_string()
        } else {
            value.into()
        };
        let mut word = match arg.get_long() {
            Some(long) => OsString::from(format!("--{long}=")),
            None if value.as_encoded_bytes().starts_with(b"-") && value != "-" => OsString::from("./"),
            None => OsString::new(),
        };
        word.push(value);
        word
    }

    /// Parses one word alone, so that an error is that of its value.
    fn check(&self, key: &str, word: &OsString) -> Result<(), String> {
        let words = ["docsphere".into(), self.subcommand.get_name().into(), word.clone()];
        let Err(error) = self.command.clone().try_get_matches_from(words) else { return Ok(()) };
        let reason = match (error.kind(), error.get(ContextKind::ValidValue)) {
            (ErrorKind::InvalidValue, Some(ContextValue::Strings(names))) => {
                format!("must be one of {}", names.join(", "))
            }
            (ErrorKind::InvalidValue | ErrorKind::ValueValidation, _) => {
                let cause = std::error::Error::source(&error);
                cause.map_or("has a value that is not allowed".to_owned(), ToString::to_string)
            }
            // What else is missing on this line, the others have.
            _ => return Ok(()),
        };
        let value = word.to_string_lossy();
        let value = value.split_once('=').map_or(&*value, |(_, value)| value);
        Err(format!("{key}: {reason}, got \"{value}\""))
    }

    /// The names of all tables.
    fn tables(&self) -> Vec<String> {
        let mut tables: Vec<String> = Vec::new();
        for table in self.subcommand.get_arguments().filter(|arg| is_key(arg)).map(table_of) {
            if !tables.contains(&table) {
                tables.push(table);
            }
        }
        tables
    }

    /// What to say about a key that there is not.
    fn unknown(&self, option: &ConfiguredOption) -> String {
        let tables = self.tables();
        let table = option.table.as_ref();
        if let Some(table) = table.filter(|table| !tables.contains(table)) {
            return format!("there is no table [{table}]; the tables are {}", bracketed(&tables));
        }
        let is_near = |arg: &&Arg| is_key(arg) && table.is_none_or(|table| table_of(arg) == *table);
        let keys: Vec<&str> = self.subcommand.get_arguments().filter(is_near).map(key_of).collect();
        let place = table.map_or(String::new(), |table| format!(" in [{table}]"));
        format!("there is no option \"{}\"{place}; there are {}", option.key, keys.join(", "))
    }

    fn error(&self, option: &ConfiguredOption, problem: &str) -> anyhow::Error {
        let place = format!("{}:{}", self.path.display(), option.line);
        anyhow!(UsageError(format!("{place}: {problem}")))
    }
}

fn bracketed(tables: &[String]) -> String {
    tables.iter().map(|table| format!("[{table}]")).collect::<Vec<_>>().join(", ")
}

/// A word as one would type it.
fn shown(word: &OsString) -> String {
    let word = word.to_string_lossy().replacen('=', " ", 1);
    escaped(&word).into_owned()
}

/// Whether an argument may be in a file.
pub(super) fn is_key(arg: &Arg) -> bool {
    let key = key_of(arg);
    !key.is_empty() && !NOT_IN_FILES.contains(&key)
}

/// The key of an argument; empty if it cannot have one.
pub(super) fn key_of(arg: &Arg) -> &str {
    if arg.get_id() == INPUTS { INPUTS } else { arg.get_long().unwrap_or_default() }
}

/// The table of an argument: the heading under which the help has it.
pub(super) fn table_of(arg: &Arg) -> String {
    arg.get_help_heading().unwrap_or("Input").to_lowercase().replace(' ', "-")
}

fn takes_values(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

/// Whether an option may be given several times, or with several values.
pub(super) fn takes_many(arg: &Arg) -> bool {
    let several = |range: ValueRange| range.max_values() > 1;
    matches!(arg.get_action(), ArgAction::Append) || arg.get_num_args().is_some_and(several)
}

/// A path of a file: relative to its folder.
///
/// A path within the current folder is returned as one would type it there.
fn resolved(file: &Path, path: &str) -> PathBuf {
    let (path, is_stream) = (Path::new(path), path == "-");
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (Ok(mut place), false, false) = (fs::canonicalize(folder), path.is_absolute(), is_stream) else {
        return path.to_owned();
    };
    let mut rest = path.components();
    // The folder has no links, so that its parents are what their names say.
    loop {
        let before = rest.clone();
        match rest.next() {
            Some(Component::CurDir) => {}
            Some(Component::ParentDir) => drop(place.pop()),
            _ => {
                rest = before;
                break;
            }
        }
    }
    let place = place.join(rest.as_path());
    let here = std::env::current_dir().and_then(fs::canonicalize).ok();
    let within = here.and_then(|here| place.strip_prefix(here).ok().map(Path::to_owned));
    match within {
        Some(within) if within.as_os_str().is_empty() => PathBuf::from("."),
        Some(within) => within,
        None => place,
    }
}

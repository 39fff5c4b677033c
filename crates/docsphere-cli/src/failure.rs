//! Reports a failure: on one line, in the terms of the command line, with the right exit code.

use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use docsphere::ErrorKind;
use docsphere_result::names;

use crate::args::UsageError;
use crate::console::{escaped, tell};
use crate::interrupt;
use crate::memory;
use crate::{BadWords, Cli};

/// Prints the error on one line and returns the exit code.
pub(crate) fn report(error: &anyhow::Error) -> u8 {
    let kind = library_error(error.as_ref()).map(docsphere::Error::kind);
    if interrupt::asked_to_stop() && matches!(kind, Some(ErrorKind::Stopped { .. })) {
        tell("interrupted before there was a result; nothing was written");
        return interrupt::EXIT_CODE;
    }
    tell(&format!("error: {}{}", message(error), hint(error)));
    let is_usage = matches!(kind, Some(ErrorKind::Parameter { .. })) || error.is::<UsageError>();
    if is_usage { 2 } else { 1 }
}

/// What to do about a missing file of a folder that is a sweep, not a result.
fn hint(error: &anyhow::Error) -> String {
    let path_of = |cause: &(dyn Error + 'static)| {
        let of_result =
            cause.downcast_ref::<docsphere_result::Error>().and_then(docsphere_result::Error::path);
        let path = of_result.or_else(|| cause.downcast_ref::<docsphere::Error>()?.path());
        path.map(Path::to_owned)
    };
    let missing = error.chain().find_map(path_of).filter(|path| !path.exists());
    let folder =
        missing.as_deref().and_then(Path::parent).filter(|folder| folder.join(names::SWEEP).is_file());
    let Some(folder) = folder else { return String::new() };
    let steps = fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok().filter(|name| names::is_step_folder(name))?;
        name.rsplit_once('-')?.1.parse::<usize>().ok()
    });
    let step = steps.min().map_or("k-20".to_owned(), names::step_folder);
    let (shown, step) = (folder.display(), folder.join(step));
    format!("; {shown} is a sweep: give one of its results, such as {}", step.display())
}

/// Prints the output of the command-line parser for these words: help, the version, or an error.
pub(crate) fn report_usage(error: clap::Error, words: &[OsString]) -> u8 {
    let code = u8::try_from(error.exit_code()).unwrap_or(2);
    // The parser repeats arguments as typed, between its own colours. With escaped arguments its
    // message is the same, and harmless.
    let words = words.iter().map(|word| OsString::from(&*escaped(&word.to_string_lossy())));
    let error = match Cli::read(words) {
        Err(BadWords::Typed(error)) => error,
        _ => error,
    };
    match error.print() {
        Err(cause) if !error.use_stderr() && cause.kind() != io::ErrorKind::BrokenPipe => {
            tell(&format!("error: standard output: cannot write: {cause}"));
            1
        }
        _ => code,
    }
}

/// The library error that this error is, or that caused a failure with a file of a result.
fn library_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a docsphere::Error> {
    let of_result = || error.downcast_ref::<docsphere_result::Error>()?.library();
    error.downcast_ref::<docsphere::Error>().or_else(of_result)
}

/// The error and its causes, without repetition.
fn message(error: &anyhow::Error) -> String {
    let mut message = String::new();
    for cause in error.chain() {
        let (text, is_whole) = match (library_error(cause), cause.downcast_ref::<docsphere_result::Error>()) {
            (Some(error), outer) => {
                let text = in_words_of_the_command(error);
                let path = outer.and_then(docsphere_result::Error::path);
                (path.map_or(text.clone(), |path| format!("{}: {text}", path.display())), true)
            }
            (None, _) => (cause.to_string(), false),
        };
        // Many errors end with the text of their cause.
        if !message.ends_with(&text) {
            if !message.is_empty() {
                message.push_str(": ");
            }
            message.push_str(&text);
        }
        if is_whole {
            break;
        }
    }
    message
}

/// The message with the command's options in place of the library's, which the user does not know.
pub(crate) fn in_words_of_the_command(error: &docsphere::Error) -> String {
    let text = match error.kind() {
        ErrorKind::Parameter { name, expected, got } => {
            format!("{} must be {}, got {got}", option(name), with_options(expected))
        }
        ErrorKind::Mismatch { what, expected, got } => {
            format!("{} must be {}, got {got}", option(what), with_options(expected))
        }
        ErrorKind::Record { format, expected, found } => format!(
            "bad {format} record: expected {expected}, found {}; mend it, or leave such records out with --skip-bad-records",
            with_options(found)
        ),
        ErrorKind::Malformed { format, expected, found } => {
            format!("not valid {format}: expected {expected}, found {}", with_options(found))
        }
        ErrorKind::MissingField { field, option: name, found } => {
            let option = option(name);
            format!("there is no field \"{field}\"; the fields are {found}; {option} names the field to take")
        }
        ErrorKind::Encoding { .. } => error.to_string().replace("; encoding names", "; --encoding names"),
        ErrorKind::Memory { what, needed, limit } => memory::too_much(what, *needed, *limit),
        ErrorKind::Device { device, problem } => {
            format!("--device {device}: {problem}; --device cpu works on every machine")
        }
        ErrorKind::Unsupported { what, hint } => {
            let hint = hint.replace("state the format:", "name it with --format:");
            let hint = hint.replace("keep needs records", "--keep needs records");
            let hint =
                hint.replace("with glob, or set skip_bad_records", "with --glob, or give --skip-bad-records");
            format!("{what} is not supported; {hint}")
        }
        _ => return error.to_string(),
    };
    match (error.path(), error.line()) {
        (Some(path), Some(line)) => format!("{}:{line}: {text}", path.display()),
        (Some(path), None) => format!("{}: {text}", path.display()),
        (None, _) => text,
    }
}

/// The command's name for an option of the library; other words are returned unchanged.
fn option(name: &str) -> &str {
    match name {
        "n_clusters" => "-k",
        "n_groups" => "--groups",
        "init" => "--init",
        "n_init" => "--n-init",
        "candidates" => "--candidates",
        "fine" => "--fine",
        "variation" => "--variation",
        "rounds" => "--rounds",
        "refine" => "--refine",
        "effort" => "--effort",
        "max_iter" => "--max-iter",
        "tol" => "--tol",
        "seed" => "--seed",
        "strategy" => "--strategy",
        "device" => "--device",
        "lambdas" => "--lambdas",
        "index_min_changed" => "--index-min-changed",
        "n_threads" => "--threads",
        "stability" => "--stability",
        "stability_sample" => "--stability-sample",
        "checkpoint_every" => "--checkpoint-every",
        "inputs" => "INPUT",
        "format" => "--format",
        "text_fields" => "--text-field",
        "id_field" => "--id-field",
        "keep" => "--keep",
        "date_field" => "--date-field",
        "delimiter" => "--delimiter",
        "quote" => "--quote",
        "sheet" => "--sheet",
        "encoding" => "--encoding",
        "html" => "--html",
        "glob" => "--glob",
        "unspaced" => "--unspaced",
        "hyphens" => "--hyphens",
        "segmentation" => "--segmentation",
        "stop_words" => "--stop-words",
        "ngrams" => "--ngrams",
        "stemmer" => "--stem",
        "language" => "--language",
        "min_chars" => "--min-chars",
        "min_df" => "--min-df",
        "max_df" => "--max-df",
        "max_terms" => "--max-terms",
        "m" => "--top",
        other => other,
    }
}

/// The same within a sentence.
fn with_options(sentence: &str) -> String {
    sentence
        .replace("at least min_df", "at least --min-df")
        .replace("set quote to none", "give --quote none")
        .replace("needs the option language", "needs --language")
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn a_cause_is_named_once() {
        let missing = || io::Error::new(io::ErrorKind::NotFound, "no such file");
        let error = docsphere::Model::load("there/is/no.docsphere").unwrap_err();
        assert_eq!(
            message(&error.into()),
            "there/is/no.docsphere: cannot read: No such file or directory (os error 2)"
        );
        let error = Err::<(), _>(missing()).context("a.txt: cannot read").unwrap_err();
        assert_eq!(message(&error), "a.txt: cannot read: no such file");
    }

    #[test]
    fn options_are_named_as_they_are_typed() {
        let error = docsphere::SphericalKMeans::params(2).n_threads(0).check().unwrap_err();
        assert_eq!(message(&error.into()), "--threads must be from 1 to 4096, got 0");
    }
}

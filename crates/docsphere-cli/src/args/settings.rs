//! The settings of a run: its options, as typed or by default.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use docsphere_result::Setting;

/// Headings of options that affect where and how results are written, but not the results.
const LEFT_OUT: [&str; 3] = ["Output", "Report", "Long runs"];

/// The exceptions: options under these headings that do affect the result.
const KEPT: [&str; 2] = ["min-similarity", "time-limit"];

/// The options that were typed.
pub(crate) fn typed_options(command: &Command, matches: &ArgMatches) -> Vec<Setting> {
    command
        .get_arguments()
        .filter(|arg| is_typed(arg, matches))
        .filter_map(|arg| setting(arg, matches))
        .collect()
}

fn is_typed(arg: &Arg, matches: &ArgMatches) -> bool {
    let id = arg.get_id().as_str();
    // clap's own options, such as --help, have no source.
    let is_known = matches.try_contains_id(id).is_ok();
    is_known && matches.value_source(id) == Some(ValueSource::CommandLine)
}

/// An option with its values, typed or by default.
fn setting(arg: &Arg, matches: &ArgMatches) -> Option<Setting> {
    let values = matches.try_get_raw(arg.get_id().as_str()).ok()??;
    let mut values: Vec<String> = values.map(|value| value.to_string_lossy().into_owned()).collect();
    let name = match arg.get_long() {
        Some(long) => format!("--{long}"),
        None => arg.get_value_names()?.first()?.to_string(),
    };
    if !arg.get_action().takes_values() {
        if values == ["false"] {
            return None;
        }
        values.clear();
    }
    Some(Setting { name, values })
}

/// The options of a command that were typed or have a default, except those under `LEFT_OUT` and
/// under the headings in `left_out`.
pub(crate) fn settings_of(command: &Command, matches: &ArgMatches, left_out: &[&str]) -> Vec<Setting> {
    let is_typed = |arg: &Arg| is_typed(arg, matches);
    let is_wanted = |arg: &&Arg| {
        let heading = arg.get_help_heading().unwrap_or_default();
        let is_left_out = LEFT_OUT.contains(&heading) || left_out.contains(&heading);
        let is_kept = arg.get_long().is_some_and(|long| KEPT.contains(&long));
        // A default that conflicts with a typed option does not apply.
        let is_replaced = || {
            !is_typed(arg)
                && command.get_arguments().any(|other| {
                    is_typed(other)
                        && command.get_arg_conflicts_with(other).iter().any(|c| c.get_id() == arg.get_id())
                })
        };
        let is_about_file = arg.get_id() == "config";
        (!is_left_out || is_kept) && !is_about_file && !is_replaced()
    };
    command.get_arguments().filter(is_wanted).filter_map(|arg| setting(arg, matches)).collect()
}

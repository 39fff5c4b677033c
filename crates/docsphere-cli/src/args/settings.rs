//! What a run was told: every option that has a say in the result, as typed or by default.

use clap::{ArgMatches, Command};
use serde::{Deserialize, Serialize};

/// Headings of options that have no say in the result.
const LEFT_OUT: [&str; 3] = ["Output", "Report", "Long runs"];

/// An option and its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Setting {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// All options of a command that were typed or have a default.
pub(crate) fn settings_of(command: &Command, matches: &ArgMatches) -> Vec<Setting> {
    let setting = |arg: &clap::Arg| {
        let values = matches.try_get_raw(arg.get_id().as_str()).ok()??;
        let values: Vec<String> = values.map(|value| value.to_string_lossy().into_owned()).collect();
        let name = match arg.get_long() {
            Some(long) => format!("--{long}"),
            None => arg.get_value_names()?.first()?.to_string(),
        };
        let is_off = !arg.get_action().takes_values() && values == ["false"];
        (!is_off).then(|| Setting { name, value: values.join(" ") })
    };
    let has_a_say =
        |arg: &&clap::Arg| arg.get_help_heading().is_none_or(|heading| !LEFT_OUT.contains(&heading));
    command.get_arguments().filter(has_a_say).filter_map(setting).collect()
}

//! The binary `docsphere`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(docsphere_cli::run(std::env::args_os().collect()))
}

//! Crashes at named points, for the tests of crash safety. Not in release builds.
//!
//! `DOCSPHERE_FAIL_AT=NAME:N` ends the process without cleanup when it passes the point NAME for
//! the N-th time; with `DOCSPHERE_FAIL_SIGNAL=INT` it gets this signal there instead, and time to
//! act on it. `DOCSPHERE_FAIL_LIST=FILE` appends the name of each point that it passes to a
//! file.

use std::collections::HashMap;
use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::Duration;

/// Activates the fail points if the environment asks for it.
pub(crate) fn listen() {
    if let Ok(file) = env::var("DOCSPHERE_FAIL_LIST") {
        docsphere::watch_fail_points(move |name| {
            let list = OpenOptions::new().create(true).append(true).open(&file);
            // In one piece: several threads pass points at the same time.
            let _ = list.and_then(|mut list| list.write_all(format!("{name}\n").as_bytes()));
        });
    } else if let Ok(wanted) = env::var("DOCSPHERE_FAIL_AT") {
        let (name, number) = wanted.rsplit_once(':').expect("DOCSPHERE_FAIL_AT=NAME:N");
        let (name, number): (String, u64) =
            (name.to_owned(), number.parse().expect("a number after the colon"));
        let signal = env::var("DOCSPHERE_FAIL_SIGNAL").ok();
        let passed = Mutex::new(HashMap::<&str, u64>::new());
        docsphere::watch_fail_points(move |place| {
            let mut passed = passed.lock().unwrap_or_else(PoisonError::into_inner);
            let n = passed.entry(place).or_default();
            *n += 1;
            if place != name || *n != number {
                return;
            }
            let Some(signal) = &signal else { std::process::abort() };
            let process = std::process::id().to_string();
            let sent = Command::new("kill").args([&format!("-{signal}"), &process]).status();
            assert!(sent.is_ok_and(|status| status.success()), "cannot send {signal}");
            sleep(Duration::from_millis(50));
        });
    }
}

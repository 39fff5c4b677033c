//! Crashes at named places, for the tests of crash safety. Not in release builds.
//!
//! `DOCSPHERE_FAIL_AT=NAME:N` ends the process when it passes the place NAME for the N-th time,
//! without clearing up. `DOCSPHERE_FAIL_LIST=FILE` adds the name of each place that it passes to a
//! file.

use std::collections::HashMap;
use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// Begins to watch if the environment asks for it.
pub(crate) fn listen() {
    if let Ok(file) = env::var("DOCSPHERE_FAIL_LIST") {
        docsphere::watch_fail_points(move |name| {
            let list = OpenOptions::new().create(true).append(true).open(&file);
            let _ = list.and_then(|mut list| writeln!(list, "{name}"));
        });
    } else if let Ok(wanted) = env::var("DOCSPHERE_FAIL_AT") {
        let (name, number) = wanted.rsplit_once(':').expect("DOCSPHERE_FAIL_AT=NAME:N");
        let (name, number): (String, u64) =
            (name.to_owned(), number.parse().expect("a number after the colon"));
        let passed = Mutex::new(HashMap::<&str, u64>::new());
        docsphere::watch_fail_points(move |place| {
            let mut passed = passed.lock().unwrap_or_else(PoisonError::into_inner);
            let n = passed.entry(place).or_default();
            *n += 1;
            if place == name && *n == number {
                std::process::abort();
            }
        });
    }
}

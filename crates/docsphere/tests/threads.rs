//! The threads on which the library works.

use std::env;
use std::ops::ControlFlow;
use std::process::Command;

use docsphere::{
    Corpus, CorpusOptions, Event, FitOptions, SphericalKMeans, Vectorizer, all_cores, on_threads,
};

/// The size of each pool without an explicit number of threads.
#[test]
fn a_pool_has_one_thread_per_core_by_default() {
    let mut seen = Vec::new();
    let mut observer = |_: &Event<'_>| {
        seen.push(rayon::current_num_threads());
        ControlFlow::Continue(())
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("texts.txt");
    std::fs::write(&path, "cats purr\ncats sleep\nstocks fall\nstocks rise\n").unwrap();
    let corpus = Corpus::open([&path], CorpusOptions::default()).unwrap();
    let rows = Vectorizer::new().fit_watched(&corpus, &mut observer).unwrap().rows;
    let options = FitOptions::default().observer(&mut observer);
    SphericalKMeans::params(2).fit_with(&rows, options).unwrap();
    seen.push(on_threads(None, rayon::current_num_threads).unwrap());
    assert!(seen.len() >= 4, "{seen:?}");
    assert!(seen.iter().all(|&n_threads| n_threads == all_cores()), "{seen:?}, not {}", all_cores());
}

/// The same in a process in which rayon's variables request another number.
#[test]
fn the_environment_has_no_say_in_the_number_of_threads() {
    let other = (all_cores() + 1).to_string();
    let run = Command::new(env::current_exe().unwrap())
        .args(["--exact", "threads::a_pool_has_one_thread_per_core_by_default"])
        .env("RAYON_NUM_THREADS", &other)
        .env("RAYON_RS_NUM_CPUS", &other)
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && output.contains("1 passed"), "{output}");
}

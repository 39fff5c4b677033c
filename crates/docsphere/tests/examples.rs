//! The examples of `examples/` run to completion; each has its own assertions.

#[path = "../examples/cluster_csr.rs"]
mod cluster_csr;
#[cfg(feature = "text")]
#[path = "../examples/cluster_texts.rs"]
mod cluster_texts;
#[path = "../examples/resume.rs"]
mod resume;
#[path = "../examples/watch_and_stop.rs"]
mod watch_and_stop;

#[test]
fn cluster_csr() {
    cluster_csr::main().unwrap();
}

#[cfg(feature = "text")]
#[test]
fn cluster_texts() {
    cluster_texts::main().unwrap();
}

#[test]
fn resume() {
    resume::main().unwrap();
}

#[test]
fn watch_and_stop() {
    watch_and_stop::main().unwrap();
}

//! Bytes to a checkpoint, and a checkpoint that loads to the end of its run: an error or a result,
//! never a panic.
#![no_main]

use std::sync::LazyLock;

use docsphere::{Checkpoint, FitOptions, Strategy, UnitRows};
use docsphere_fuzz::{ScratchFile, checkpoints};
use libfuzzer_sys::fuzz_target;

static FILE: LazyLock<ScratchFile> = LazyLock::new(|| ScratchFile::new("run.checkpoint"));
static ROWS: LazyLock<UnitRows<'static>> = LazyLock::new(checkpoints::rows);

fuzz_target!(|data: &[u8]| {
    load_and_continue(data);
    if let Some(resealed) = checkpoints::resealed(data) {
        load_and_continue(&resealed);
    }
});

fn load_and_continue(bytes: &[u8]) {
    let Ok(checkpoint) = Checkpoint::load(FILE.holding(bytes)) else { return };
    let _ = checkpoint.n_iter();
    let strategy = Strategy::ALL[bytes.len() % Strategy::ALL.len()];
    let params = checkpoints::params().strategy(strategy).check().expect("valid parameters");
    if let Ok(fit) = params.fit_with(&ROWS, FitOptions::default().resume(checkpoint)) {
        assert_eq!(fit.labels.as_slice().len(), ROWS.n_rows());
        let _ = fit.trace.total();
    }
}

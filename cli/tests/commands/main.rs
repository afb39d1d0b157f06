//! Commands as a shell starts them, without anything from the environment.

#![expect(clippy::expect_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use serde_json::Value;
use tempfile::TempDir;

mod align;
mod data;
mod discover;
mod help;
mod misspelt;
mod notices;
mod planning;
mod prices;
mod reprice;
mod rescore;
mod subset;
mod trust;
mod written;

/// Runs the binary with `arguments`, for a terminal of 100 columns. All runs of the tests are begun by the same user.
fn regatta(arguments: &[&str]) -> Output {
    static STATE: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder"));
    regatta_of(STATE.path(), arguments)
}

/// The same for the user whose state is in the folder `state`.
fn regatta_of(state: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_regatta"))
        .args(arguments)
        .env_clear()
        .env("COLUMNS", "100")
        .env("XDG_STATE_HOME", state)
        .output()
        .expect("the binary starts")
}

/// Standard output and standard error of a command that succeeds.
fn said(arguments: &[&str]) -> (String, String) {
    let output = regatta(arguments);
    let (shown, notes) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{:?}: {notes}", output.status.code());
    (shown, notes)
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("JSON")
}

//! Help texts of the command line.

use std::process::Command;

use super::{regatta, text};

fn help(arguments: &[&str]) -> String {
    text(&regatta(arguments).stdout)
}

#[test]
fn the_commands_are_listed_with_a_line_each() {
    insta::assert_snapshot!(help(&["--help"]));
}

#[test]
fn running_a_sweep_is_explained() {
    insta::assert_snapshot!(help(&["run", "--help"]));
}

#[test]
fn no_secret_is_ever_shown_among_the_defaults() {
    let output = Command::new(env!("CARGO_BIN_EXE_regatta"))
        .args(["worker", "--help"])
        .env_clear()
        .env("AMQP_URL", "amqp://user:hunter2@host")
        .output()
        .expect("the binary starts");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("hunter2"));
}

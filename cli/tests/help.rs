//! What the command line says of itself.

#![expect(clippy::expect_used, reason = "a test that cannot go on has failed")]

use std::process::Command;

fn help(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_regatta"))
        .args(arguments)
        .env_clear()
        .env("COLUMNS", "100")
        .output()
        .expect("the binary starts");
    String::from_utf8(output.stdout).expect("help is text")
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

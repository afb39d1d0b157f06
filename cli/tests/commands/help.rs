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
    for command in ["coordinator", "worker", "scorer", "migrate", "doctor", "submit", "status"] {
        let mut asked = Command::new(env!("CARGO_BIN_EXE_regatta"));
        asked
            .args([command, "--help"])
            .env_clear()
            .env("REGATTA_TOKEN", "hunter2")
            .env("AMQP_URL", "amqp://user:hunter2@host");
        for variable in ["DATABASE_URL", "S3_ENDPOINT", "REGATTA_COORDINATOR", "OTEL_EXPORTER_OTLP_ENDPOINT"] {
            asked.env(variable, "https://user:hunter2@host");
        }
        let output = asked.output().expect("the binary starts");
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.contains("Usage: regatta") && !shown.contains("hunter2"), "{command}: {shown}");
    }
}

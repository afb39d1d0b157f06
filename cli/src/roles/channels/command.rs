//! Commands that are told of nights on their standard input.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use regatta_coordinator::Message;
use serde::Deserialize;

use super::check_variable;
use crate::notice::Program;

/// Longest time-out, in seconds.
const TIMEOUT_S_MAX: u64 = 300;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::roles) struct Declared {
    /// Program and arguments.
    command: Vec<String>,
    /// Seconds after which it is killed.
    #[serde(default = "half_a_minute")]
    timeout_s: u64,
    /// Variables of the coordinator that it gets.
    #[serde(default)]
    pass_env: Vec<String>,
}

const fn half_a_minute() -> u64 {
    30
}

#[derive(Debug)]
pub(super) struct Command(Program);

impl Command {
    pub(super) fn new(declared: Declared) -> anyhow::Result<Self> {
        let mut command = declared.command.into_iter();
        let Some(program) = command.next().filter(|program| !program.is_empty()) else {
            bail!("command is empty; begin it with a program");
        };
        ensure!(
            (1..=TIMEOUT_S_MAX).contains(&declared.timeout_s),
            "timeout_s is {}; it must be from 1 to {TIMEOUT_S_MAX}",
            declared.timeout_s
        );
        for name in &declared.pass_env {
            check_variable(name).context("pass_env")?;
        }
        let timeout = Duration::from_secs(declared.timeout_s);
        Ok(Self(Program { program, arguments: command.collect(), timeout, pass_env: declared.pass_env }))
    }

    pub(super) async fn run(&self, message: &Message) -> anyhow::Result<()> {
        self.0.tell(&message.id, &message.body).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(body: &str) -> Message {
        let at = "2026-11-23T02:00:00Z".parse().unwrap();
        Message { id: "n-1".to_owned(), channel: "command/page".to_owned(), body: body.to_owned(), at }
    }

    fn shell(script: &str) -> Command {
        let command = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
        Command::new(Declared { command, timeout_s: 30, pass_env: Vec::new() }).unwrap()
    }

    #[tokio::test]
    async fn a_command_reads_the_notice_and_sees_no_variable_of_the_coordinator() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("told").display().to_string();
        shell(&format!("cat > {file}; echo \" $REGATTA_NOTICE_ID ${{HOME:-none}}\" >> {file}"))
            .run(&message("{\"event\":\"no_go\"}"))
            .await
            .unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\"event\":\"no_go\"} n-1 none\n");
    }

    #[tokio::test]
    async fn a_command_that_fails_has_not_taken_the_notice() {
        let error = shell("echo no route to pager >&2; exit 3").run(&message("{}")).await.unwrap_err();
        assert_eq!(format!("{error:#}"), "/bin/sh ended with exit status: 3: no route to pager");
    }
}

//! Programs that read a notice on their standard input.

use std::pin::pin;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use futures::future::{Either, select};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process;

/// Bytes of a failed program's standard error that are kept.
const SHOWN_BYTES_MAX: usize = 500;

/// A program with its arguments.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
    /// Time after which it is killed.
    pub(crate) timeout: Duration,
    /// Variables of this process that it gets, beside `PATH` and `LANG`.
    pub(crate) pass_env: Vec<String>,
}

impl Program {
    /// Runs it with `body` on its standard input.
    ///
    /// # Errors
    /// When it cannot be started, takes too long, or exits with another code than 0.
    pub(crate) async fn tell(&self, id: &str, body: &str) -> anyhow::Result<()> {
        let passed = ["PATH", "LANG"].into_iter().chain(self.pass_env.iter().map(String::as_str));
        let mut child = process::Command::new(&self.program)
            .args(&self.arguments)
            .env_clear()
            .envs(passed.filter_map(|name| Some((name, std::env::var_os(name)?))))
            .env("REGATTA_NOTICE_ID", id)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("failed to start {}", self.program))?;
        let (input, errors) = (child.stdin.take(), child.stderr.take());
        let ending = async {
            if let Some(mut input) = input {
                // A program need not read what it is told; its exit code counts.
                let _ = input.write_all(body.as_bytes()).await;
            }
            child.wait().await
        };
        let reading = async {
            let mut said = Vec::new();
            if let Some(mut errors) = errors {
                // What was read until then is told all the same.
                let _ = errors.read_to_end(&mut said).await;
            }
            said
        };
        let told = async {
            let ending = pin!(ending);
            let reading = pin!(reading);
            match select(ending, reading).await {
                // What it has left in the background holds its standard error open, and is not waited for.
                Either::Left((Ok(status), _)) if status.success() => Ok((status, Vec::new())),
                Either::Left((status, reading)) => {
                    let said = reading.await;
                    status.map(|status| (status, said))
                }
                Either::Right((said, ending)) => ending.await.map(|status| (status, said)),
            }
        };
        let Ok(ended) = tokio::time::timeout(self.timeout, told).await else {
            bail!("{} was killed after {} s", self.program, self.timeout.as_secs());
        };
        let (status, said) = ended.with_context(|| format!("failed to run {}", self.program))?;
        if !status.success() {
            let said = said.get(said.len().saturating_sub(SHOWN_BYTES_MAX)..).unwrap_or(&said);
            bail!("{} ended with {status}: {}", self.program, String::from_utf8_lossy(said).trim());
        }
        Ok(())
    }
}

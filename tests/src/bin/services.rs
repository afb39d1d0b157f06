//! Brings up private services: for a command (`services COMMAND ARGUMENTS...`), or until Ctrl-C.

use std::io::Write;
use std::process::{ExitCode, ExitStatus};

use regatta_tests::{HarnessError, Services};
use tokio::signal::unix::{SignalKind, signal};

/// The shell's exit code for a program that it could not start.
const EXIT_NOT_STARTED: u8 = 127;

#[tokio::main]
async fn main() -> ExitCode {
    let mut command: Vec<_> = std::env::args_os().skip(1).collect();
    // `cargo run -- COMMAND` swallows its own, called directly the habit of writing one leaves it here.
    if command.first().is_some_and(|first| first == "--") {
        command.remove(0);
    }
    match run(command).await {
        Ok(code) => code,
        Err(error) => {
            let mut text = format!("services: {error}");
            let mut cause = std::error::Error::source(&error);
            while let Some(inner) = cause {
                text.push_str(&format!(": {inner}"));
                cause = inner.source();
            }
            // With stderr closed there is nobody left to tell.
            let _ = writeln!(std::io::stderr(), "{text}");
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Vec<std::ffi::OsString>) -> Result<ExitCode, HarnessError> {
    let failed = |action: &str| {
        let action = action.to_owned();
        move |source| HarnessError::Io { action, source }
    };
    // Before the services start, so that no signal in between ends us without an answer.
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed("listen for SIGINT"))?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed("listen for SIGTERM"))?;
    let services = tokio::select! {
        started = Services::start() => started?,
        _ = interrupt.recv() => return Ok(ExitCode::from(130)),
        _ = terminate.recv() => return Ok(ExitCode::from(143)),
    };

    let Some((program, arguments)) = command.split_first() else {
        let exports: Vec<String> =
            services.environment().iter().map(|(name, value)| format!("export {name}='{value}'\n")).collect();
        std::io::stdout().write_all(exports.concat().as_bytes()).map_err(failed("write to stdout"))?;
        tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
        return Ok(ExitCode::SUCCESS);
    };

    let mut child = tokio::process::Command::new(program);
    child.args(arguments).envs(services.environment()).kill_on_drop(true);
    let mut child = match child.spawn() {
        Ok(child) => child,
        Err(reason) => {
            let _ = writeln!(std::io::stderr(), "services: failed to run {}: {reason}", program.display());
            return Ok(ExitCode::from(EXIT_NOT_STARTED));
        }
    };
    loop {
        tokio::select! {
            status = child.wait() => return Ok(exit_code(status.map_err(failed("wait for the command"))?)),
            // A terminal sends Ctrl-C to the command as well; it decides when to end.
            _ = interrupt.recv() => {}
            _ = terminate.recv() => return Ok(ExitCode::from(143)),
        }
    }
}

/// The command's own code; 128 and the signal when one ended it, as shells report it.
fn exit_code(status: ExitStatus) -> ExitCode {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().or(status.signal().map(|signal| 128 + signal)).and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

//! Logs go to standard error: lines for people, JSON for machines.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::args::{LogArgs, LogFormat};

pub(crate) fn start(args: &LogArgs) {
    let filter = EnvFilter::try_new(&args.log).unwrap_or_else(|_| EnvFilter::new("warn"));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    // Colours are for terminals.
    let logs = logs.with_ansi(std::io::stderr().is_terminal());
    match args.log_format {
        LogFormat::Text => logs.init(),
        LogFormat::Json => logs.json().init(),
    }
}

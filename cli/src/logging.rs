//! Logs go to standard error: lines for people, JSON for machines.

use tracing_subscriber::EnvFilter;

use crate::args::{LogArgs, LogFormat};

pub(crate) fn start(args: &LogArgs) {
    let filter = EnvFilter::try_new(&args.log).unwrap_or_else(|_| EnvFilter::new("warn"));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    match args.log_format {
        LogFormat::Text => logs.init(),
        LogFormat::Json => logs.json().init(),
    }
}

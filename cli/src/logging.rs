//! Logs go to standard error: lines for people, JSON for machines.

use std::io::IsTerminal;

use tracing::Level;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::args::{LogArgs, LogFormat};

/// Dependencies that log what they send, passwords and whole messages included, in more detail than this. No filter gets more of them: logs
/// are read by people who may not read transcripts and keys.
const TALKATIVE: [(&str, Level); 5] = [
    ("lapin", Level::DEBUG),
    ("amq_protocol", Level::DEBUG),
    ("tcp_stream", Level::DEBUG),
    ("aws_", Level::DEBUG),
    ("tokio_postgres", Level::INFO),
];

pub(crate) fn start(args: &LogArgs) {
    let filter = EnvFilter::try_new(&args.log).unwrap_or_else(|_| EnvFilter::new("warn"));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    // Colours are for terminals.
    let logs = logs.with_ansi(std::io::stderr().is_terminal());
    let discreet = filter_fn(|metadata| is_discreet(metadata.target(), *metadata.level()));
    match args.log_format {
        LogFormat::Text => logs.finish().with(discreet).init(),
        LogFormat::Json => logs.json().finish().with(discreet).init(),
    }
}

/// `true` for what may be logged: `level` of `target` is within what [`TALKATIVE`] allows.
fn is_discreet(target: &str, level: Level) -> bool {
    TALKATIVE.iter().all(|(talkative, most)| !target.starts_with(talkative) || level <= *most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tells_passwords_and_messages_is_not_logged_whatever_is_asked_for() {
        for (target, level, expected) in [
            ("lapin::channel", Level::DEBUG, true),
            ("lapin::internal_rpc", Level::TRACE, false),
            ("amq_protocol_tcp", Level::TRACE, false),
            ("tokio_postgres::query", Level::INFO, true),
            ("tokio_postgres::query", Level::DEBUG, false),
            ("aws_smithy_runtime::client::http", Level::TRACE, false),
            ("regatta_worker", Level::TRACE, true),
            ("hyper_util::client", Level::TRACE, true),
        ] {
            assert_eq!(is_discreet(target, level), expected, "{target} {level}");
        }
    }
}

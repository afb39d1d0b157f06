//! Logs go to standard error: lines for people, JSON for machines.

use std::fmt;
use std::io::IsTerminal;

use tracing::Level;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{DefaultFields, Writer};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::args::{LogArgs, LogFormat};
use crate::output;

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
    let filter = EnvFilter::try_new(with_sessions(&args.log)).unwrap_or_else(|_| EnvFilter::new(with_sessions("warn")));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| output::Above).with_target(false);
    // Colours are for terminals.
    let logs = logs.with_ansi(std::io::stderr().is_terminal());
    let discreet = filter_fn(|metadata| is_discreet(metadata.target(), *metadata.level()));
    match args.log_format {
        LogFormat::Text => logs.fmt_fields(PrintableFields).finish().with(discreet).init(),
        LogFormat::Json => logs.json().with_writer(|| output::Printable(output::Above)).finish().with(discreet).init(),
    }
}

/// Begins the lines of a field after its first, so that none of them passes for an event of its own.
const FURTHER_LINE: &str = "\n    ";

/// Message and fields as text that commands no terminal: agents, models and providers wrote some of it. The library does so for messages alone.
struct PrintableFields;

impl<'writer> FormatFields<'writer> for PrintableFields {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut text = String::new();
        DefaultFields::new().format_fields(Writer::new(&mut text), fields)?;
        writer.write_str(&output::printable(&text).replace('\n', FURTHER_LINE))
    }
}

/// The filter `asked`, by which lines about a session say which one, whatever parts of the program it names.
fn with_sessions(asked: &str) -> String {
    let asked = if asked.trim().is_empty() { "error" } else { asked };
    format!("{asked},{}=error", regatta_traces::SESSION_TARGET)
}

/// `true` for what may be logged: `level` of `target` is within what [`TALKATIVE`] allows.
fn is_discreet(target: &str, level: Level) -> bool {
    TALKATIVE.iter().all(|(talkative, most)| !target.starts_with(talkative) || level <= *most)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use regatta_proto::{CellIndex, ItemIndex, SessionKey};
    use serde_json::{Value, json};

    use super::*;

    /// Lines that were written.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn key() -> SessionKey {
        SessionKey { sweep: "s".parse().unwrap(), cell: CellIndex(0), item: ItemIndex(7) }
    }

    #[test]
    fn a_line_of_json_about_a_session_has_its_names_as_fields_and_an_attempt_where_one_is_known() {
        // As workers and scorers know it, and as a coordinator does not.
        for (attempt, expected) in [(Some(2_u32), json!(2)), (None, json!(null))] {
            let lines = Lines::default();
            let writer = lines.clone();
            let filter = EnvFilter::try_new(with_sessions("warn")).unwrap();
            let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(move || writer.clone());
            tracing::subscriber::with_default(logs.json().finish(), || {
                regatta_traces::session_span(&key(), attempt).in_scope(|| tracing::warn!(tries = 3, "it begins anew"));
            });
            let line: Value = serde_json::from_slice(&lines.0.lock().unwrap()).unwrap();
            assert_eq!(
                (&line["level"], &line["fields"]),
                (&json!("WARN"), &json!({ "message": "it begins anew", "tries": 3 }))
            );
            let about = &line["span"];
            let names = (&about["name"], &about["sweep"], &about["cell"], &about["session"]);
            assert_eq!(names, (&json!("session"), &json!("s"), &json!(0), &json!("s/c0/i7")));
            assert_eq!(about["attempt"], expected);
        }
    }

    #[test]
    fn lines_about_a_session_name_it_whatever_parts_of_the_program_a_filter_names() {
        let key = key();
        for asked in ["", "info", "regatta=error", "off,regatta=warn"] {
            let lines = Lines::default();
            let writer = lines.clone();
            let filter = EnvFilter::try_new(with_sessions(asked)).unwrap();
            let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(move || writer.clone()).finish();
            tracing::subscriber::with_default(logs, || {
                regatta_traces::session_span(&key, 1).in_scope(|| tracing::error!(target: "regatta", "it failed"));
            });
            let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
            assert!(text.contains("it failed") && text.contains("s/c0/i7"), "{asked}: {text}");
        }
    }

    #[test]
    fn what_others_wrote_commands_no_terminal_and_begins_no_line_of_a_log() {
        let errors = "\u{1b}]0;owned\u{7}\u{9b}2J\nERROR forged";
        let say = || tracing::warn!(%errors, "an agent said {errors}");
        let lines = Lines::default();
        let writer = lines.clone();
        let text = tracing_subscriber::fmt().fmt_fields(PrintableFields).with_ansi(false);
        tracing::subscriber::with_default(text.with_writer(move || writer.clone()).finish(), say);
        let told = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert!(!told.contains(|c: char| c.is_control() && c != '\n'), "{told:?}");
        assert!(told.contains("errors=\\u001b]0;owned\\u0007\\u009b2J"), "{told:?}");
        assert!(told.contains("\n    ERROR forged") && !told.contains("\nERROR"), "{told:?}");

        let lines = Lines::default();
        let writer = lines.clone();
        let json = tracing_subscriber::fmt().json().with_writer(move || output::Printable(writer.clone()));
        tracing::subscriber::with_default(json.finish(), say);
        let told = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert_eq!(told.matches(char::is_control).count(), 1, "the end of its one line: {told:?}");
        let line: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(line["fields"]["errors"], errors, "a document stays what it is");
    }

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

//! `regatta audit`: who asked a coordinator for what, and what came of it.

use std::process::ExitCode;

use comfy_table::{Table, presets};
use regatta_backends::AuditRow;

use crate::args::AuditArgs;
use crate::client::Client;
use crate::output;
use crate::plain_table::fitted;

pub(crate) async fn run(args: AuditArgs) -> anyhow::Result<ExitCode> {
    let mut entries = Client::new(&args.client)?.audit(args.before, args.limit).await?;
    if let Some(owner) = &args.owner {
        entries.retain(|entry| entry.actor == *owner);
    }
    output::line(&if args.json { serde_json::to_string_pretty(&entries)? } else { table(&entries) });
    Ok(ExitCode::SUCCESS)
}

/// One line an entry.
fn table(entries: &[AuditRow]) -> String {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["number", "at", "who", "by", "action", "of", "result"]);
    for entry in entries {
        let (subject, result) = match &entry.result {
            Some(result) if result.detail.is_empty() => (&result.subject, result.outcome.to_string()),
            Some(result) => (&result.subject, format!("{}: {}", result.outcome, result.detail)),
            None => (&entry.subject, "under way, or its coordinator ended".to_owned()),
        };
        table.add_row([
            entry.number.to_string(),
            entry.at.to_string(),
            entry.actor.clone(),
            entry.credential.clone(),
            entry.action.clone(),
            subject.clone(),
            result,
        ]);
    }
    fitted(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_says_who_did_what_and_what_came_of_it() {
        let entry = |number: u64, action: &str, result: serde_json::Value| -> AuditRow {
            serde_json::from_value(serde_json::json!({
                "number": number, "at": "2026-01-02T03:04:05Z", "actor": "alice", "credential": "token 0a1b2c3d4e5f",
                "action": action, "subject": "/v1/sweeps", "result": result,
            }))
            .unwrap()
        };
        let result = |outcome: &str, subject: &str, detail: &str| serde_json::json!({ "at": "2026-01-02T03:04:06Z", "outcome": outcome, "subject": subject, "detail": detail });
        insta::assert_snapshot!(table(&[
            entry(3, "cancel", serde_json::Value::Null),
            entry(2, "resume", result("refused", "s-1", "403: sweep s-1 belongs to bob")),
            entry(1, "submit", result("done", "s-2", "")),
        ]));
    }
}

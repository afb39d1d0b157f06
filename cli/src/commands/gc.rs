//! `regatta gc`: remove what retention does not keep, and what nothing refers to; without `--apply`, only say it.

use std::process::ExitCode;

use comfy_table::{Table, presets};
use regatta_coordinator::{GcRequest, GcResult, Goes, Retention, UnusedObjects};
use regatta_proto::{binary_size, counted};

use crate::args::GcArgs;
use crate::client::Client;
use crate::output;

pub(crate) async fn run(args: GcArgs) -> anyhow::Result<ExitCode> {
    let client = Client::new(&args.client)?;
    let keep = Retention { days: args.days, nights: args.nights, transcripts_days: args.transcripts_days };
    let keep = (keep != Retention::default()).then_some(keep);
    let mut result = client.collect(&GcRequest { keep, apply: args.apply }).await?;
    // A request removes a few, so that none takes too long.
    while args.apply && (result.left > 0 || result.unused.left) {
        let mut more = client.collect(&GcRequest { keep, apply: args.apply }).await?;
        let is_stuck = more.left > 0 && more.going.is_empty();
        anyhow::ensure!(!is_stuck, "{} sweeps are left that cannot be removed", more.left);
        more.going = [result.going, more.going].concat();
        let unused = std::mem::replace(&mut more.unused, result.unused);
        more.unused.add(unused);
        result = more;
    }
    output::line(&if args.json { serde_json::to_string_pretty(&result)? } else { rendered(&result) });
    Ok(ExitCode::SUCCESS)
}

fn rendered(result: &GcResult) -> String {
    let goes = if result.applied { "gone" } else { "would go" };
    let unused = unused(&result.unused, goes);
    if result.going.is_empty() && unused.is_empty() {
        return format!("nothing {goes}; {} sweeps are kept", result.kept);
    }
    let hint = if result.applied { "" } else { "; nothing was removed: give --apply" };
    if result.going.is_empty() {
        return format!("no sweep {goes}; {} sweeps are kept{unused}{hint}", result.kept);
    }
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY).set_header(["sweep", "schedule", "ended", goes, "objects"]);
    for going in &result.going {
        let what = match going.goes {
            Goes::Everything => "everything",
            Goes::Transcripts => "transcripts",
        };
        let schedule = going.schedule.as_ref().map_or_else(String::new, ToString::to_string);
        let (ended, objects) = (going.ended_at.to_string(), going.objects.to_string());
        table.add_row([going.sweep.to_string(), schedule, ended, what.to_owned(), objects]);
    }
    let objects: u64 = result.going.iter().map(|going| going.objects).sum();
    format!(
        "{table}\n{} sweeps and {objects} objects {goes}, {} sweeps are kept whole{unused}{hint}",
        result.going.len(),
        result.kept
    )
}

/// Objects that nothing refers to, and who is charged less for it, as a further line; empty if there are none.
fn unused(unused: &UnusedObjects, goes: &str) -> String {
    if *unused == UnusedObjects::default() {
        return String::new();
    }
    let objects = counted(unused.objects, "object", "objects");
    let more = if unused.left { " and more" } else { "" };
    let credits = unused.credited.iter().map(|(owner, bytes)| format!("{owner} {}", binary_size(*bytes)));
    let credits = Vec::from_iter(credits).join(", ");
    let credited = if credits.is_empty() { String::new() } else { format!("; stored less by: {credits}") };
    format!("\n{objects} ({}){more} that nothing refers to {goes}{credited}", binary_size(unused.bytes))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_would_go_is_listed_with_what_to_do() {
        let result: GcResult = serde_json::from_value(json!({
            "going": [
                { "sweep": "nightly-20260801T020000Z-0a1b2c3d", "schedule": "nightly", "ended_at": "2026-08-01T02:31:07Z", "goes": "everything", "objects": 214 },
                { "sweep": "trial-99aabbcc", "ended_at": "2026-11-01T10:00:00Z", "goes": "transcripts", "objects": 12 },
            ],
            "kept": 31, "applied": false, "left": 0,
            "unused": { "objects": 3, "bytes": 7_340_032, "credited": { "alice": 5_242_880, "bob": 4096 }, "left": true },
        }))
        .unwrap();
        let objects = GcResult { going: Vec::new(), ..result.clone() };
        // As a coordinator of the version before tells it, which knows of no such objects.
        let nothing: GcResult =
            serde_json::from_value(json!({ "going": [], "kept": 31, "applied": true, "left": 0 })).unwrap();
        insta::assert_snapshot!([&result, &objects, &nothing].map(rendered).join("\n\n"));
    }
}

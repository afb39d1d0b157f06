//! `regatta gc`: remove what retention does not keep; without `--apply`, only say it.

use std::process::ExitCode;

use comfy_table::{Table, presets};
use regatta_coordinator::{GcRequest, GcResult, Goes, Retention};

use crate::args::GcArgs;
use crate::client::Client;
use crate::output;

pub(crate) async fn run(args: GcArgs) -> anyhow::Result<ExitCode> {
    let client = Client::new(&args.client)?;
    let keep = Retention { days: args.days, nights: args.nights, transcripts_days: args.transcripts_days };
    let keep = (keep != Retention::default()).then_some(keep);
    let mut result = client.collect(&GcRequest { keep, apply: args.apply }).await?;
    // A request removes a few, so that none takes too long.
    while result.left > 0 {
        let more = client.collect(&GcRequest { keep, apply: args.apply }).await?;
        anyhow::ensure!(!more.going.is_empty(), "{} sweeps are left that cannot be removed", more.left);
        let going = [result.going, more.going].concat();
        result = GcResult { going, ..more };
    }
    output::line(&if args.json { serde_json::to_string_pretty(&result)? } else { rendered(&result) });
    Ok(ExitCode::SUCCESS)
}

fn rendered(result: &GcResult) -> String {
    let goes = if result.applied { "gone" } else { "would go" };
    if result.going.is_empty() {
        return format!("nothing {goes}; {} sweeps are kept", result.kept);
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
    let hint = if result.applied { "" } else { "; nothing was removed: give --apply" };
    format!(
        "{table}\n{} sweeps and {objects} objects {goes}, {} sweeps are kept whole{hint}",
        result.going.len(),
        result.kept
    )
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
        }))
        .unwrap();
        let nothing = GcResult { going: Vec::new(), applied: true, ..result.clone() };
        insta::assert_snapshot!(format!("{}\n\n{}", rendered(&result), rendered(&nothing)));
    }
}

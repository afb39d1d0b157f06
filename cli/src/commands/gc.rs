//! `regatta gc`: remove what retention does not keep, what nothing refers to, and cached responses that are old; without `--apply`, only say it.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use anyhow::anyhow;
use comfy_table::{Table, presets};
use regatta_backends::Blobs;
use regatta_coordinator::{
    CachedWish, GcRequest, GcResult, Goes, OldResponses, Retention, UnusedObjects, kept_since, remove_old_responses,
};
use regatta_proto::{Clock, SystemClock, binary_size, causes, counted};

use crate::args::GcArgs;
use crate::client::Client;
use crate::exit::BadConfiguration;
use crate::output;
use crate::plain_table::fitted;

pub(crate) async fn run(args: GcArgs) -> anyhow::Result<ExitCode> {
    if let Some((directory, days)) = args.cache_dir.as_deref().zip(args.cached_days) {
        let found = of_directory(directory, days, args.apply).await?;
        output::line(&if args.json { serde_json::to_string_pretty(&found)? } else { alone(&found, args.apply) });
        return Ok(ExitCode::SUCCESS);
    }
    let client = Client::new(&args.client)?;
    let keep = Retention { days: args.days, nights: args.nights, transcripts_days: args.transcripts_days };
    let keep = (keep != Retention::default()).then_some(keep);
    let cached = args.cached_days.map(|days| CachedWish { days, from: 0 });
    let mut result = client.collect(&GcRequest { keep, cached, apply: args.apply }).await?;
    let request = GcRequest { keep, cached: None, apply: args.apply };
    // A request removes a few, so that none takes too long.
    while args.apply && (result.left > 0 || result.unused.left) {
        let more = match client.collect(&request).await {
            Ok(more) => more,
            Err(error) => {
                result.problems.push(causes(error.as_ref()));
                break;
            }
        };
        let is_stuck = more.left > 0 && more.going.is_empty();
        result = joined(result, more);
        if is_stuck {
            break;
        }
    }
    // A request looks through some folders alone.
    while let Some((days, from)) = args.cached_days.zip(result.cached.next) {
        let request = GcRequest { keep: None, cached: Some(CachedWish { days, from }), apply: args.apply };
        match client.collect(&request).await {
            Ok(more) => {
                result.cached.add(&more.cached);
                add_problems(&mut result.problems, more.problems);
            }
            Err(error) => {
                result.problems.push(causes(error.as_ref()));
                break;
            }
        }
    }
    output::line(&if args.json { serde_json::to_string_pretty(&result)? } else { rendered(&result) });
    failure(&result).map_or(Ok(ExitCode::SUCCESS), |failure| Err(anyhow!(failure)))
}

/// The results of two requests, one after the other.
fn joined(before: GcResult, more: GcResult) -> GcResult {
    let mut unused = before.unused;
    unused.add(more.unused);
    let mut problems = before.problems;
    add_problems(&mut problems, more.problems);
    GcResult {
        going: [before.going, more.going].concat(),
        unused,
        cached: before.cached,
        problems,
        kept: more.kept,
        applied: more.applied,
        left: more.left,
    }
}

/// Adds those of the problems that are not known yet.
fn add_problems(known: &mut Vec<String>, more: Vec<String>) {
    let before: BTreeSet<String> = known.iter().cloned().collect();
    known.extend(more.into_iter().filter(|problem| !before.contains(problem)));
}

/// Old responses in the cache directory of runs on this machine, removed if that is wished.
async fn of_directory(directory: &Path, days: u32, is_applied: bool) -> anyhow::Result<OldResponses> {
    if !directory.is_dir() {
        return Err(BadConfiguration(format!(
            "{} is no directory, so it has no cached responses",
            directory.display()
        ))
        .into());
    }
    let (blobs, before) = (Blobs::directory(directory)?, kept_since(SystemClock.now(), days));
    let mut found = OldResponses::default();
    for folder in 0..=u8::MAX {
        remove_old_responses(&blobs, folder, before, is_applied, &mut found).await?;
    }
    Ok(found)
}

/// Reasons why what nobody keeps was not all removed, if it was not.
fn failure(result: &GcResult) -> Option<String> {
    let left = (result.applied && result.left > 0).then(|| {
        let sweeps = counted(result.left, "sweep", "sweeps");
        format!(
            "up to {sweeps} that nobody keeps were not removed, and objects that nothing refers to were not looked at"
        )
    });
    let problems: Vec<&str> = left.iter().chain(&result.problems).map(String::as_str).collect();
    (!problems.is_empty()).then(|| problems.join("\n"))
}

fn rendered(result: &GcResult) -> String {
    let goes = if result.applied { "gone" } else { "would go" };
    let unused = format!("{}{}", unused(&result.unused, goes), cached(&result.cached, goes));
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
        "{}\n{} sweeps and {objects} objects {goes}, {} sweeps are kept whole{unused}{hint}",
        fitted(table),
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

/// Old responses of a directory, where nothing else is looked at.
fn alone(found: &OldResponses, is_applied: bool) -> String {
    let goes = if is_applied { "gone" } else { "would go" };
    let hint = if is_applied || found.is_nothing() { "" } else { "; nothing was removed: give --apply" };
    if found.is_nothing() {
        format!("no cached response {goes}")
    } else {
        format!("{}{hint}", cached(found, goes).trim_start())
    }
}

/// Old responses as a further line; empty if there are none.
fn cached(found: &OldResponses, goes: &str) -> String {
    if found.objects == 0 {
        return String::new();
    }
    let responses = counted(found.objects, "cached response", "cached responses");
    format!("\n{responses} ({}) {goes}", binary_size(found.bytes))
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
    fn result(more: serde_json::Value) -> GcResult {
        let mut document = json!({ "going": [], "kept": 3, "applied": true, "left": 0 });
        document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(document).unwrap()
    }

    #[test]
    fn old_responses_are_a_line_of_their_own_and_are_counted_over_all_requests() {
        let old = |objects: u64, next: Option<u8>| OldResponses { objects, bytes: 2048 * objects, next };
        let mut found = result(json!({}));
        found.cached = old(2, Some(9));
        found.cached.add(&old(1, None));
        assert_eq!(rendered(&found), "no sweep gone; 3 sweeps are kept\n3 cached responses (6.0 KiB) gone");
        let more = result(json!({ "cached": { "objects": 7, "bytes": 7 } }));
        assert_eq!(joined(found.clone(), more).cached, found.cached, "requests that go on with sweeps look at none");
        assert_eq!(
            alone(&old(1, None), false),
            "1 cached response (2.0 KiB) would go; nothing was removed: give --apply"
        );
        assert_eq!(alone(&OldResponses::default(), true), "no cached response gone");
    }

    #[tokio::test]
    async fn of_a_cache_directory_responses_go_by_their_age_and_files_of_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::directory(folder.path()).unwrap();
        let key = regatta_backends::blobs::response_key(&regatta_proto::Digest::of(b"question"));
        let beside = format!("{}notes.txt", regatta_backends::blobs::response_folder(7));
        for key in [&key, &beside] {
            blobs.put(key, "answer".into()).await.unwrap();
            let file = std::fs::File::options().write(true).open(folder.path().join(key)).unwrap();
            file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        }
        assert_eq!(of_directory(folder.path(), 30, false).await.unwrap().objects, 1);
        assert!(blobs.get(&key).await.unwrap().is_some(), "nothing goes unless it is told to");
        assert_eq!(of_directory(folder.path(), 30, true).await.unwrap().objects, 1);
        assert_eq!(blobs.list("answers/").await.unwrap(), [beside]);
        assert!(of_directory(&folder.path().join("nowhere"), 30, true).await.is_err());
    }

    #[test]
    fn what_could_not_be_removed_is_a_failure_that_says_why_once_each() {
        let going = |sweep: &str| json!([{ "sweep": sweep, "ended_at": "2026-08-01T02:31:07Z", "goes": "everything", "objects": 2 }]);
        let first = result(json!({ "going": going("a"), "left": 1, "problems": ["no key", "no lock"] }));
        let second =
            result(json!({ "going": going("b"), "unused": { "objects": 2, "bytes": 9, "credited": {}, "left": false },
                                    "problems": ["no lock", "no manifest"] }));
        let all = joined(first.clone(), second);
        assert_eq!(all.going.iter().map(|going| going.sweep.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((all.left, all.kept, all.unused.objects), (0, 3, 2));
        assert_eq!(failure(&all).as_deref(), Some("no key\nno lock\nno manifest"));
        let text = failure(&first).unwrap();
        assert!(text.starts_with("up to 1 sweep that nobody keeps were not removed, and"), "{text}");
        assert_eq!(failure(&result(json!({}))), None);
    }
}

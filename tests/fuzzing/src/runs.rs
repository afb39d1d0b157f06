//! Directories of runs that somebody hands on, and what is made of them for terminals and in the formats of others.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regatta_export::{Beside, Export, Format, Run};
use regatta_proto::Digest;
use regatta_report::{Measures, Summary, USUAL_WIDTH, render_decision, render_tables};
use serde_json::Value;

use crate::edits::edited;
use crate::input::Input;

/// Files of a run, in the order of an input's records.
const FILES: [&str; 4] = ["sweep.lock.yaml", "summary.json", "results.jsonl", "attempts.jsonl"];
/// Stands for the segment of transcripts, which is named after its content.
const SEGMENT_MARK: &str = "\u{1d}";

/// A run that can be read is written in all formats, or refused with a sentence.
pub(crate) fn run(input: Input<'_>) {
    let (folder, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let records: Vec<_> = input.texts().collect();
    let transcripts = zstd::bulk::compress(records.get(FILES.len()).map_or(b"", |lines| lines.as_bytes()), 1).unwrap();
    let segment = format!("transcripts/{}.jsonl.zst", Digest::of(&transcripts).to_string().split_at(16).0);
    for (name, content) in FILES.iter().zip(&records) {
        std::fs::write(folder.path().join(name), content.replace(SEGMENT_MARK, &segment)).unwrap();
    }
    if records.len() > FILES.len() {
        std::fs::create_dir(folder.path().join("transcripts")).unwrap();
        std::fs::write(folder.path().join(&segment), transcripts).unwrap();
    }
    let Ok(run) = Run::open(folder.path()) else { return };
    let has_transcripts = run.has_transcripts().unwrap_or(false);
    let all = [Format::Eval, Format::Parquet, Format::Csv, Format::Otlp];
    let formats: BTreeSet<Format> =
        all.into_iter().filter(|format| has_transcripts || !format.needs_transcripts()).collect();
    let Ok(mut export) = Export::begin(run, out.path(), &formats, true) else { return };
    while let Ok(Some(session)) = export.next_session() {
        if export.write(&session, &Beside::default()).is_err() {
            return;
        }
    }
    let _ = export.finish();
}

/// Summaries of a sweep that decided when to stop, and of one that ran to its end.
pub(crate) static SUMMARIES: LazyLock<[Value; 2]> = LazyLock::new(|| {
    [include_str!("../data/summary_adaptive.json"), include_str!("../data/summary_plain.json")]
        .map(|text| serde_json::from_str(text).unwrap())
});

/// A summary is shown, whatever its numbers are, and written as it can be read again.
pub(crate) fn summary(mut input: Input<'_>) {
    let document = match input.byte() % 3 {
        0 => input.0.to_vec(),
        number => serde_json::to_vec(&edited(SUMMARIES[usize::from(number) - 1].clone(), input)).unwrap(),
    };
    if let Ok(measures) = Measures::from_json(&document) {
        let written = serde_json::to_vec(&measures).unwrap();
        assert_eq!(serde_json::to_vec(&Measures::from_json(&written).unwrap()).unwrap(), written);
    }
    if let Ok(summary) = Summary::from_json(&document) {
        let written = serde_json::to_vec(&summary).unwrap();
        assert_eq!(serde_json::to_vec(&Summary::from_json(&written).unwrap()).unwrap(), written);
        drop(render_tables(&summary, USUAL_WIDTH));
        drop(render_decision(&summary, USUAL_WIDTH));
    }
}

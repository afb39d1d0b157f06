//! A small run, with everything that is hard to tell: in each format, and read back.

mod fixture;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use regatta_proto::Question;
use serde_json::Value;
use zip::ZipArchive;

use self::fixture::SmallRun;
use super::*;

const ALL: [Format; 4] = [Format::Eval, Format::Parquet, Format::Csv, Format::Otlp];

/// Exports the run in `directory`, and gives the names of the files that were written.
fn export(directory: &Path, to: &Path) -> Result<Vec<String>, ExportError> {
    let formats = BTreeSet::from(ALL);
    let mut export = Export::begin(Run::open(directory)?, to, &formats, true)?;
    while let Some(session) = export.next_session()? {
        let verdict = VerdictRow {
            number: 0,
            question: Question::Similarity { left: vec!["a".to_owned()], right: vec!["b".to_owned()] },
            judge: "e/judge".parse().unwrap(),
            is_swapped: false,
            verdict: None,
        };
        export.write(&session, &Beside { target: Some("right".to_owned()), verdicts: vec![verdict] })?;
    }
    let written = export.finish()?;
    Ok(written.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect())
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// The documents of a log, by name.
fn documents(log: &Path) -> Vec<(String, Value)> {
    let mut zip = ZipArchive::new(File::open(log).unwrap()).unwrap();
    let mut documents = Vec::new();
    for at in 0..zip.len() {
        let mut member = zip.by_index(at).unwrap();
        let mut content = String::new();
        member.read_to_string(&mut content).unwrap();
        documents.push((member.name().unwrap().into_owned(), serde_json::from_str(&content).unwrap()));
    }
    documents
}

/// Columns of a Parquet file, each with its values.
fn columns(path: &Path) -> Vec<(String, Vec<Field>)> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let mut columns: Vec<(String, Vec<Field>)> = Vec::new();
    for row in reader.get_row_iter(None).unwrap() {
        for (at, (name, field)) in row.unwrap().into_columns().into_iter().enumerate() {
            if columns.len() == at {
                columns.push((name, Vec::new()));
            }
            columns[at].1.push(field);
        }
    }
    columns
}

fn values(path: &Path, name: &str) -> Vec<Field> {
    columns(path).into_iter().find(|(column, _)| column == name).unwrap().1
}

#[test]
fn tables_have_a_row_each_and_nothing_where_nothing_is_known() {
    let run = SmallRun::new();
    let to = tempfile::tempdir().unwrap();
    export(run.path(), to.path()).unwrap();
    for table in ["sessions", "attempts", "calls", "verdicts"] {
        insta::assert_snapshot!(table, text(&to.path().join(format!("{table}.csv"))));
    }
}

#[test]
fn an_unknown_price_is_null_and_money_is_an_integer() {
    let run = SmallRun::new();
    let to = tempfile::tempdir().unwrap();
    export(run.path(), to.path()).unwrap();
    let sessions = to.path().join("sessions.parquet");
    // One that is priced, one that was refused before anything was paid, one with a call of unknown price, one that was not run.
    assert_eq!(values(&sessions, "cost_nanodollars"), [Field::Long(42_000), Field::Long(0), Field::Null, Field::Null]);
    assert_eq!(values(&sessions, "official.f1"), [Field::Double(0.1), Field::Null, Field::Double(1.0), Field::Null]);
    assert_eq!(values(&sessions, "flag.truncated")[0], Field::Bool(true));
    let started = values(&to.path().join("attempts.parquet"), "started_at");
    assert_eq!(started[0], Field::TimestampMicros(1_767_225_600_000_001));
}

#[test]
fn tokens_that_nobody_told_are_null_and_no_part_of_a_sum() {
    let run = SmallRun::new();
    let attempts = run.path().join("attempts.jsonl");
    let mut lines: Vec<serde_json::Value> =
        text(&attempts).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines[3]["known_usage"] = serde_json::json!({"input": 100, "output": 0, "unmetered_calls": 1});
    lines[3]["usage"] = serde_json::Value::Null;
    std::fs::write(&attempts, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let to = tempfile::tempdir().unwrap();
    export(run.path(), to.path()).unwrap();
    for column in ["input_tokens", "output_tokens"] {
        let of_attempts = values(&to.path().join("attempts.parquet"), column);
        assert!(of_attempts[2] != Field::Null && of_attempts[3] == Field::Null, "{of_attempts:?}");
        // The session has both of these attempts.
        let of_sessions = values(&to.path().join("sessions.parquet"), column);
        assert!(of_sessions[0] != Field::Null && of_sessions[2] == Field::Null, "{of_sessions:?}");
    }
}

#[test]
fn both_forms_of_a_table_have_the_same_columns_and_rows() {
    let run = SmallRun::new();
    let to = tempfile::tempdir().unwrap();
    export(run.path(), to.path()).unwrap();
    for table in ["sessions", "attempts", "calls", "verdicts"] {
        let of_parquet = columns(&to.path().join(format!("{table}.parquet")));
        let mut csv = csv::Reader::from_path(to.path().join(format!("{table}.csv"))).unwrap();
        let names: Vec<String> = csv.headers().unwrap().iter().map(str::to_owned).collect();
        assert_eq!(of_parquet.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), names);
        for (row, record) in csv.records().enumerate() {
            for ((name, fields), value) in of_parquet.iter().zip(record.unwrap().iter()) {
                let is_empty =
                    matches!(&fields[row], Field::Null) || matches!(&fields[row], Field::Str(text) if text.is_empty());
                assert_eq!(value.is_empty(), is_empty, "{table}: {name} of row {row}");
            }
        }
    }
}

#[test]
fn a_call_that_two_transcripts_of_a_session_hold_is_one_row() {
    let run = SmallRun::new();
    let to = tempfile::tempdir().unwrap();
    export(run.path(), to.path()).unwrap();
    let calls = to.path().join("calls.parquet");
    let answered = values(&calls, "answered");
    assert_eq!(answered.iter().filter(|field| **field == Field::Bool(true)).count(), 4);
    assert_eq!(answered.len(), 5, "and the one that was given up");
}

#[test]
fn a_log_has_a_sample_for_each_session_that_was_tried() {
    let run = SmallRun::new();
    let to = tempfile::tempdir().unwrap();
    let written = export(run.path(), to.path()).unwrap();
    let logs: Vec<&String> = written.iter().filter(|name| name.ends_with(".eval")).collect();
    let [log] = logs.as_slice() else { panic!("{logs:?}") };
    let documents = documents(&to.path().join(log));
    let names: Vec<&str> = documents.iter().map(|(name, _)| name.as_str()).collect();
    insta::assert_json_snapshot!("log", documents.iter().map(|(name, document)| (name, document)).collect::<Vec<_>>());
    assert_eq!(
        names,
        [
            "_journal/start.json",
            "samples/tea_epoch_1.json",
            "samples/odd, \"one\"_epoch_1.json",
            "samples/tea_epoch_2.json",
            "summaries.json",
            "header.json"
        ]
    );
}

#[test]
fn a_trace_has_a_span_for_each_call_below_that_of_its_attempt() {
    let run = SmallRun::new();
    let to = tempfile::tempdir().unwrap();
    export(run.path(), to.path()).unwrap();
    let traces = text(&to.path().join("traces.jsonl"));
    let lines: Vec<Value> = traces.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3, "nothing was tried of the last session");
    insta::assert_json_snapshot!("traces", lines);
}

#[test]
fn the_same_run_makes_the_same_bytes() {
    let run = SmallRun::new();
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let written = export(run.path(), one.path()).unwrap();
    assert_eq!(export(run.path(), other.path()).unwrap(), written);
    for name in written {
        let bytes = |folder: &Path| std::fs::read(folder.join(&name)).unwrap();
        assert!(bytes(one.path()) == bytes(other.path()), "{name}");
    }
}

#[test]
fn a_transcript_of_another_attempt_is_refused() {
    let run = SmallRun::new();
    let attempts = run.path().join("attempts.jsonl");
    std::fs::write(&attempts, text(&attempts).replace("\"id\":\"w-1\"", "\"id\":\"w-9\"")).unwrap();
    let to = tempfile::tempdir().unwrap();
    let error = export(run.path(), to.path()).unwrap_err().to_string();
    assert!(error.ends_with("line 0 is of the attempt w-1, not w-9"), "{error}");
}

#[test]
fn a_segment_that_is_missing_or_damaged_is_an_error_with_its_name() {
    let run = SmallRun::new();
    let to = tempfile::tempdir().unwrap();
    let segment = run.segment();
    std::fs::write(&segment, b"damaged").unwrap();
    let error = export(run.path(), to.path()).unwrap_err();
    assert_eq!(error.to_string(), format!("failed to read {}", segment.display()));
    std::fs::remove_file(&segment).unwrap();
    assert!(matches!(export(run.path(), to.path()), Err(ExportError::Read { path, .. }) if path == segment));
}

#[test]
fn a_summary_with_more_scores_than_sessions_is_refused_with_the_row() {
    for (right, wrong, told) in [
        ("\"measured\":2", "\"measured\":5", "rows[0] has 5 sessions with a score, of 4"),
        ("\"scored\":2", "\"scored\":9", "rows[0].metrics[0] has 9 sessions with a score, of 4"),
    ] {
        let run = SmallRun::new();
        let summary = run.path().join("summary.json");
        std::fs::write(&summary, text(&summary).replace(right, wrong)).unwrap();
        let to = tempfile::tempdir().unwrap();
        let error = export(run.path(), to.path()).unwrap_err().to_string();
        assert!(error.ends_with(told), "{error}");
    }
}

#[test]
fn a_line_that_cannot_be_read_is_named() {
    let run = SmallRun::new();
    let results = run.path().join("results.jsonl");
    std::fs::write(&results, format!("{}{{\"cell\":0}}\n", text(&results))).unwrap();
    let to = tempfile::tempdir().unwrap();
    let error = export(run.path(), to.path()).unwrap_err().to_string();
    assert!(error.contains("results.jsonl, line 5: missing field `benchmark`"), "{error}");
}

#[test]
fn attempts_that_are_not_in_the_order_of_the_grid_are_refused() {
    let run = SmallRun::new();
    let attempts = run.path().join("attempts.jsonl");
    let lines = text(&attempts);
    let turned: Vec<&str> = lines.lines().rev().collect();
    std::fs::write(&attempts, turned.join("\n")).unwrap();
    let to = tempfile::tempdir().unwrap();
    let error = export(run.path(), to.path()).unwrap_err().to_string();
    assert!(error.ends_with("attempts.jsonl, line 3: it is of cell 0 and comes after cell 1"), "{error}");
}

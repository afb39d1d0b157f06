//! Limits of what a coordinator that many people share takes in: files, bytes, cells, sessions.

use std::collections::{BTreeMap, BTreeSet};

use regatta_backends::Blobs;
use regatta_llm::RecordedVerdicts;
use regatta_memory::parsed_bytes;
use regatta_proto::{BenchmarkLock, BenchmarkName, CELLS_MAX, Digest, EndpointName, Snapshot};

use crate::{CoordinatorError, PlanError};

/// Most files of a data set.
const FILES_MAX: usize = 10_000;
/// Most bytes of all data sets and recorded verdicts of a submission: they are in memory while it is planned, and while it runs.
const DATA_BYTES_MAX: u64 = 256 << 20;
/// Bytes that a field of a table takes in memory beside its text: its place among the others of its row, and a key.
const FIELD_BYTES: u64 = 272;
/// Longest path of a file, in bytes.
const PATH_BYTES_MAX: usize = 700;
/// Most sessions of a sweep.
const SESSIONS_MAX: u64 = 20_000_000;

fn too_much(field: String, problem: String) -> Result<(), PlanError> {
    Err(PlanError::Field { field, problem })
}

/// The files of a submission, with `recorded_bytes` of recorded verdicts, are few and small enough, and named once each.
///
/// # Errors
/// With the field, and the limit.
pub(crate) fn check_data<'a>(
    data: impl IntoIterator<Item = (&'a BenchmarkName, &'a Snapshot)>,
    recorded_bytes: u64,
) -> Result<(), PlanError> {
    let mut bytes = recorded_bytes;
    for (name, snapshot) in data {
        let place = format!("data.{name}");
        if snapshot.files.len() > FILES_MAX {
            return too_much(place, format!("lists {} files, at most {FILES_MAX} are allowed", snapshot.files.len()));
        }
        let mut paths = BTreeSet::new();
        for file in &snapshot.files {
            let is_inside = file.path.split('/').all(|part| !matches!(part, "" | "." | ".."));
            if !is_inside || file.path.len() > PATH_BYTES_MAX || file.path.chars().any(|c| c.is_control() || c == '\\')
            {
                return too_much(place, format!("{:?} is no path within a folder", file.path));
            }
            if !paths.insert(&file.path) {
                return too_much(place, format!("lists {:?} twice", file.path));
            }
            // The same content is in memory once for each of its paths.
            bytes = bytes.saturating_add(file.size);
        }
    }
    if bytes > DATA_BYTES_MAX {
        return too_much(
            "data".to_owned(),
            format!(
                "has {bytes} bytes in all, at most {DATA_BYTES_MAX} are allowed; leave out files that the benchmark does not need"
            ),
        );
    }
    Ok(())
}

/// Form of a file, where small values take many times their text once they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    Json,
    JsonLines,
    Table,
}

impl Form {
    fn of(path: &str) -> Option<Self> {
        match path.rsplit_once('.')?.1 {
            "json" => Some(Self::Json),
            // What was Parquet keeps its name, and has become JSONL in the folder that it comes from.
            "jsonl" | "parquet" => Some(Self::JsonLines),
            "csv" => Some(Self::Table),
            _ => None,
        }
    }

    /// Memory that `content` takes once it is parsed, in bytes; an upper bound.
    fn memory(self, content: &[u8]) -> u64 {
        match self {
            Self::Json => parsed_bytes(content),
            Self::JsonLines => content.split(|byte| *byte == b'\n').map(parsed_bytes).sum(),
            Self::Table => {
                let fields = content.iter().filter(|byte| matches!(byte, b',' | b'\n' | b'\r')).count() as u64;
                content.len() as u64 + fields * FIELD_BYTES
            }
        }
    }
}

/// The data sets of a submission, which are stored, take no more than `most` bytes of memory once they are parsed: a process that has no more
/// would end when it loads them, and again whenever it is started. Takes as long as reading them.
///
/// # Errors
/// With the limit, or when a file cannot be read.
pub(crate) async fn check_memory(
    blobs: &Blobs,
    data: &BTreeMap<BenchmarkName, Snapshot>,
    most: u64,
) -> Result<(), CoordinatorError> {
    let mut known: BTreeMap<(Digest, Form), u64> = BTreeMap::new();
    let mut bytes = 0_u64;
    for file in data.values().flat_map(|snapshot| &snapshot.files) {
        let taken = match Form::of(&file.path) {
            None => file.size,
            Some(form) => {
                let found = known.get(&(file.digest, form)).copied();
                match found {
                    Some(taken) => taken,
                    None => {
                        let taken = memory_of(blobs, &file.digest, form).await?;
                        known.insert((file.digest, form), taken);
                        taken
                    }
                }
            }
        };
        bytes = bytes.saturating_add(taken);
        if bytes > most {
            let problem = format!(
                "may take more than {bytes} bytes of memory once it is parsed, at most {most} are allowed here; leave out files and columns \
                 that the benchmark does not need, or have the operator give coordinators more memory"
            );
            return Err(PlanError::Field { field: "data".to_owned(), problem }.into());
        }
    }
    Ok(())
}

async fn memory_of(blobs: &Blobs, digest: &Digest, form: Form) -> Result<u64, CoordinatorError> {
    let content = blobs.get_content(digest).await?;
    let counting = tokio::task::spawn_blocking(move || form.memory(&content));
    counting.await.map_err(|error| {
        let problem = format!("failed to read the file of the digest {digest}: {error}");
        PlanError::Field { field: "data".to_owned(), problem }.into()
    })
}

/// The recorded verdicts of a submission, which are stored, can be read by workers: with others each worker would try for ever to open the
/// endpoint, and the sweep never end. Takes seconds; time and memory are bounded by the sizes that [`check_data`] and the reader allow.
///
/// # Errors
/// With the endpoint, and the line.
pub(crate) async fn check_recorded(
    blobs: &Blobs,
    recorded: &BTreeMap<EndpointName, Digest>,
) -> Result<(), CoordinatorError> {
    let by_digest: BTreeMap<&Digest, &EndpointName> = recorded.iter().map(|(name, digest)| (digest, name)).collect();
    for (digest, name) in by_digest {
        let content = blobs.get_content(digest).await?;
        let parsing = tokio::task::spawn_blocking(move || RecordedVerdicts::parse("", &content).map(drop));
        let problem = match parsing.await {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => format!("line {} of the verdicts: {}", error.line, error.problem),
            Err(error) => format!("failed to read the verdicts: {error}"),
        };
        return Err(PlanError::Field { field: format!("endpoints.{name}.path"), problem }.into());
    }
    Ok(())
}

/// The grid of a sweep is not larger than what can be planned and watched.
///
/// # Errors
/// With the numbers, and the limit.
pub(crate) fn check_grid<'a>(
    benchmarks: impl IntoIterator<Item = &'a BenchmarkLock>,
    models: usize,
    trials: u16,
) -> Result<(), PlanError> {
    let each = (models as u64).saturating_mul(u64::from(trials));
    let (mut settings, mut items) = (0_u64, 0_u64);
    for benchmark in benchmarks {
        settings += benchmark.settings.len() as u64;
        items = items.saturating_add(benchmark.items.values().map(|count| u64::from(*count)).sum());
    }
    for (what, count, most) in
        [("cells", settings.saturating_mul(each), CELLS_MAX), ("sessions", items.saturating_mul(each), SESSIONS_MAX)]
    {
        if count > most {
            return too_much(
                "trials".to_owned(),
                format!(
                    "the sweep has {count} {what} ({models} models, {trials} trials), at most {most} are allowed; split it into several"
                ),
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use regatta_proto::{Digest, FileEntry};

    use super::*;

    fn data(files: impl IntoIterator<Item = (String, u64)>) -> Result<(), PlanError> {
        let entry = |(path, size)| FileEntry { path, digest: Digest::of(b"x"), size };
        let snapshot = Snapshot { files: files.into_iter().map(entry).collect() };
        check_data([(&"b".parse().unwrap(), &snapshot)], 0)
    }

    #[test]
    fn one_file_that_is_listed_often_counts_each_time() {
        let listed = |times: u64| data((0..times).map(|number| (format!("f{number}"), 20 << 20)));
        assert!(listed(12).is_ok());
        let error = listed(80).unwrap_err().to_string();
        assert_eq!(
            error,
            "data: has 1677721600 bytes in all, at most 268435456 are allowed; leave out files that the benchmark does not need"
        );
        assert!(data([("f".to_owned(), 1), ("f".to_owned(), 1)]).is_err());
        assert!(data([("f".to_owned(), u64::MAX), ("g".to_owned(), u64::MAX)]).is_err());
        assert!(data((0..=FILES_MAX).map(|number| (number.to_string(), 0))).is_err());
    }

    #[test]
    fn small_values_count_with_the_memory_that_they_take() {
        let numbers = format!("{{\"a\":[{}]}}\n", vec!["0"; 1000].join(","));
        let line = Form::JsonLines.memory(numbers.as_bytes());
        assert!(line > 100 * 1000, "{line}");
        assert_eq!(Form::JsonLines.memory(numbers.repeat(3).as_bytes()), 3 * line);
        assert_eq!(Form::Json.memory(br#"["a long text, and nothing else"]"#), 353);
        let empty = format!("a,b\n{}", ",\n".repeat(1000));
        assert_eq!(Form::Table.memory(empty.as_bytes()), 2004 + 2002 * FIELD_BYTES);
        assert_eq!(Form::Table.memory(empty.replace('\n', "\r").as_bytes()), 2004 + 2002 * FIELD_BYTES);
        assert_eq!((Form::of("a/b.jsonl"), Form::of("a.json/b.zip")), (Some(Form::JsonLines), None));
        assert_eq!(Form::of("rows.parquet"), Some(Form::JsonLines), "which it has become");
    }

    #[test]
    fn a_path_that_leads_out_of_its_folder_is_refused() {
        for bad in ["../x", "/etc/passwd", "a/../../b", "a//b", "a\\b", "a\u{1b}b", ""] {
            assert!(data([(bad.to_owned(), 1)]).is_err(), "{bad:?}");
        }
        assert!(data([("a/b.json".to_owned(), 1)]).is_ok());
    }

    #[test]
    fn a_grid_that_nobody_could_watch_is_refused() {
        let benchmark = |items: u32| -> BenchmarkLock {
            serde_json::from_value(serde_json::json!({
                "dataset": Digest::of(b""), "settings": ["one"], "evaluators": [], "items": { "one": items },
            }))
            .unwrap()
        };
        assert!(check_grid([&benchmark(100)], 20, 10).is_ok());
        let error = check_grid([&benchmark(1)], 1500, 1000).unwrap_err().to_string();
        assert!(error.starts_with("trials: the sweep has 1500000 cells"), "{error}");
        assert!(check_grid([&benchmark(4_000_000)], 6, 1).is_err());
    }
}

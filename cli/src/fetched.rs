//! A coordinator's sweep on this machine: its files as they are, or the whole of it as a run.

mod whole;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use jiff::Timestamp;
use regatta_files::own_folder;
use regatta_proto::SweepId;
use regatta_viewer::annotations::{Annotation, FILE_NAME, FOLDER};

use crate::client::Client;
use crate::exit::{BadConfiguration, refused};

pub(crate) use self::whole::{Reach, copy};

/// Documents of a run; all but the transcripts, and what people annotated.
const FILES: [&str; 10] = [
    "sweep.lock.yaml",
    "results.jsonl",
    "metrics.json",
    "metrics.csv",
    "comparisons.csv",
    "measures.json",
    "attempts.jsonl",
    "summary.json",
    "report.md",
    "report.html",
];

/// Fetches what `sweep` has left behind into `directory`, and names the files, or the folder of many.
pub(crate) async fn fetch(
    client: &Client,
    sweep: &SweepId,
    directory: &Path,
    with_transcripts: bool,
) -> anyhow::Result<Vec<PathBuf>> {
    std::fs::create_dir_all(directory).with_context(|| format!("failed to create {}", directory.display()))?;
    let mut written = Vec::new();
    for name in FILES {
        let Some(content) = client.file(sweep, name).await? else {
            return Err(BadConfiguration(format!("sweep {sweep} has no {name} yet; wait for its end")).into());
        };
        written.push(write(directory.join(name), &content)?);
    }
    let names = client.files(sweep).await?;
    // The tables of the benchmarks' papers; which there are depends on the sweep.
    let is_table = |name: &&String| name.starts_with("table-") && name.ends_with(".csv") && !name.contains(['/', '\\']);
    for name in names.iter().filter(is_table) {
        let content = client.file(sweep, name).await?.with_context(|| format!("{name} has gone meanwhile"))?;
        written.push(write(directory.join(name), &content)?);
    }
    written.extend(annotations(client, sweep, directory, &names).await?);
    if with_transcripts {
        written.push(transcripts(client, sweep, directory, &names).await?);
    }
    Ok(written)
}

/// Writes what people annotated on the coordinator's pages to the file of annotations of the run in `directory`, beside what they said here;
/// `None` where there is nothing.
async fn annotations(
    client: &Client,
    sweep: &SweepId,
    directory: &Path,
    names: &[String],
) -> anyhow::Result<Option<PathBuf>> {
    let mut annotated: Vec<&String> = names.iter().filter(|name| name.starts_with(FOLDER)).collect();
    if annotated.is_empty() {
        return Ok(None);
    }
    // They are named by their times.
    annotated.sort_unstable();
    let mut fetched = Vec::new();
    for name in annotated {
        let content = client.file(sweep, name).await?.with_context(|| format!("{name} has gone meanwhile"))?;
        fetched.extend_from_slice(&content);
        fetched.push(b'\n');
    }
    let path = directory.join(FILE_NAME);
    let here = match std::fs::read(&path) {
        Ok(here) => here,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error).with_context(|| format!("failed to read {}", path.display())),
    };
    write(path, &merged(&here, &fetched)).map(Some)
}

/// The lines that are `here`, in their order, and those that were `fetched` and are not, each after the last one that is not younger: of a person's
/// lines about a session the last one counts.
fn merged(here: &[u8], fetched: &[u8]) -> Vec<u8> {
    let known: BTreeSet<&[u8]> = lines(here).collect();
    let mut dated: Vec<(Option<Timestamp>, &[u8])> = Vec::new();
    let new: Vec<&[u8]> = lines(fetched).filter(|line| !known.contains(line)).collect();
    for part in [new, lines(here).collect()] {
        let mut last = None;
        for line in part {
            // A line without a time, or that cannot be read, stays behind the one before it.
            last = last.max(serde_json::from_slice::<Annotation>(line).ok().and_then(|annotation| annotation.at));
            dated.push((last, line));
        }
    }
    // What is edited here comes after what it was made of.
    dated.sort_by_key(|(at, _)| *at);
    dated.into_iter().flat_map(|(_, line)| [line, b"\n"]).flatten().copied().collect()
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty())
}

/// Every message of every session, as compressed segments. Fetched one after the other: they can be large.
async fn transcripts(client: &Client, sweep: &SweepId, directory: &Path, names: &[String]) -> anyhow::Result<PathBuf> {
    let directory = directory.join("transcripts");
    own_folder(&directory).map_err(refused)?;
    let segments = names.iter().filter_map(|name| Some((name, name.strip_prefix("transcripts/")?)));
    for (name, segment) in segments.filter(|(_, segment)| !segment.contains(['/', '\\'])) {
        let content = client.file(sweep, name).await?.with_context(|| format!("{name} has gone meanwhile"))?;
        write(directory.join(segment), &content)?;
    }
    Ok(directory)
}

fn write(path: PathBuf, content: &[u8]) -> anyhow::Result<PathBuf> {
    regatta_files::write(&path, content).with_context(|| format!("failed to write {}", path.display()))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of ann's of the second `at`.
    fn line(at: u32, note: &str) -> String {
        let session = r#""by":"ann","benchmark":"b","setting":"s","model":"e/m","item":"i""#;
        format!("{{\"at\":\"2026-01-01T00:00:{at:02}Z\",{session},\"note\":\"{note}\"}}\n")
    }

    #[test]
    fn what_people_said_here_is_not_lost_when_a_sweep_is_fetched_again() {
        let (first, later) = (line(1, "there"), line(5, "there again"));
        let (here, edited) = (line(3, "here"), line(1, "there, edited"));
        let merge = |here: &str, fetched: &str| String::from_utf8(merged(here.as_bytes(), fetched.as_bytes())).unwrap();
        let fetched = format!("{first}{later}");
        assert_eq!(merge("", &fetched), fetched);
        assert_eq!(merge(&fetched, &fetched), fetched, "nothing is there twice");
        assert_eq!(merge(&format!("{first}{here}"), &fetched), format!("{first}{here}{later}"));
        assert_eq!(merge(&edited, &first), format!("{first}{edited}"), "who edits a line has the last word");
    }

    #[test]
    fn lines_without_a_time_and_others_that_cannot_be_read_stay_where_they_are() {
        let merge = |here: &str, fetched: &str| String::from_utf8(merged(here.as_bytes(), fetched.as_bytes())).unwrap();
        let (before, after) = (line(2, "before"), line(9, "after"));
        let here = format!("no annotation\n{after}{before}no more");
        let merged = merge(&here, &line(4, "there"));
        assert_eq!(merged, format!("no annotation\n{}{after}{before}no more\n", line(4, "there")));
    }
}

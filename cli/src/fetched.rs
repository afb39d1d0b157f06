//! A coordinator's sweep on this machine: its files as they are, or the whole of it as a run.

mod whole;

use std::path::{Path, PathBuf};

use anyhow::Context;
use regatta_files::own_folder;
use regatta_proto::SweepId;
use regatta_viewer::annotations::{FILE_NAME, FOLDER};

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

/// Writes what people annotated on the coordinator's pages to the file of annotations of the run in `directory`; `None` where there is nothing.
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
    let mut lines = Vec::new();
    for name in annotated {
        let content = client.file(sweep, name).await?.with_context(|| format!("{name} has gone meanwhile"))?;
        lines.extend_from_slice(&content);
        lines.push(b'\n');
    }
    write(directory.join(FILE_NAME), &lines).map(Some)
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

//! `regatta export`: fetch what a sweep has left behind.

use std::process::ExitCode;

use anyhow::Context;

use crate::args::ExportArgs;
use crate::client::Client;
use crate::exit::BadConfiguration;
use crate::output;
use crate::private_files;

/// Everything but the transcripts.
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

pub(crate) async fn run(args: ExportArgs) -> anyhow::Result<ExitCode> {
    let client = Client::new(&args.client)?;
    std::fs::create_dir_all(&args.output).with_context(|| format!("failed to create {}", args.output.display()))?;
    for name in FILES {
        let Some(content) = client.file(&args.sweep, name).await? else {
            return Err(BadConfiguration(format!("sweep {} has no {name} yet; wait for its end", args.sweep)).into());
        };
        let path = args.output.join(name);
        private_files::write(&path, &content).with_context(|| format!("failed to write {}", path.display()))?;
        output::line(&path.display().to_string());
    }
    tables(&client, &args).await?;
    if args.transcripts {
        transcripts(&client, &args).await?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The tables of the benchmarks' papers; which there are depends on the sweep.
async fn tables(client: &Client, args: &ExportArgs) -> anyhow::Result<()> {
    let names = client.files(&args.sweep).await?;
    let is_table = |name: &&String| name.starts_with("table-") && name.ends_with(".csv") && !name.contains(['/', '\\']);
    for name in names.iter().filter(is_table) {
        let content = client.file(&args.sweep, name).await?.with_context(|| format!("{name} has gone meanwhile"))?;
        let path = args.output.join(name);
        private_files::write(&path, &content).with_context(|| format!("failed to write {}", path.display()))?;
        output::line(&path.display().to_string());
    }
    Ok(())
}

/// Every message of every session, as compressed segments. Fetched one after the other: they can be large.
async fn transcripts(client: &Client, args: &ExportArgs) -> anyhow::Result<()> {
    let directory = args.output.join("transcripts");
    std::fs::create_dir_all(&directory).with_context(|| format!("failed to create {}", directory.display()))?;
    let names = client.files(&args.sweep).await?;
    let segments = names.iter().filter_map(|name| Some((name, name.strip_prefix("transcripts/")?)));
    for (name, segment) in segments.filter(|(_, segment)| !segment.contains(['/', '\\'])) {
        let content = client.file(&args.sweep, name).await?.with_context(|| format!("{name} has gone meanwhile"))?;
        let path = directory.join(segment);
        private_files::write(&path, &content).with_context(|| format!("failed to write {}", path.display()))?;
    }
    output::line(&directory.display().to_string());
    Ok(())
}

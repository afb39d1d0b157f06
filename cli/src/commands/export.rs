//! `regatta export`: fetch what a sweep has left behind.

use std::process::ExitCode;

use anyhow::Context;

use crate::args::ExportArgs;
use crate::client::Client;
use crate::exit::BadConfiguration;
use crate::output;

/// Everything but the transcripts, which stay in the blob store.
const FILES: [&str; 8] = [
    "sweep.lock.yaml",
    "results.jsonl",
    "metrics.json",
    "metrics.csv",
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
        std::fs::write(&path, content).with_context(|| format!("failed to write {}", path.display()))?;
        output::line(&path.display().to_string());
    }
    Ok(ExitCode::SUCCESS)
}

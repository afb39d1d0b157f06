//! `regatta show`: the sessions of a run, or one of them as a person reads it: what was said, the scores, and pictures of it.

mod conversation;
mod page;
mod text;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use comfy_table::{Table, TableComponent, presets};
use regatta_backends::Blobs;
use regatta_benchmarks::{Picture, Suite};
use regatta_catalog::{Catalog, StoredTranscript};
use regatta_proto::{AttemptId, BenchmarkName, Cell, ItemId, ItemIndex, SweepLock, Transcript};
use serde::Deserialize;

use self::conversation::{Part, parts};
use crate::args::ShowArgs;
use crate::benchmarks::BENCHMARKS;
use crate::commands::reprice::lock;
use crate::data::{benchmark, read_dataset};
use crate::exit::{BadConfiguration, bad_configuration};
use crate::output;
use crate::results::{self, ResultLine, Scores};
use crate::transcripts::{self, Session};

/// Everything about a session that is shown.
struct Shown {
    /// Benchmark, setting, model, trial and item.
    title: String,
    /// How it ended.
    ending: String,
    scores: Scores,
    parts: Vec<Part>,
    pictures: Vec<Picture>,
}

/// A line of `attempts.jsonl`, as far as it says what an attempt was about.
#[derive(Deserialize)]
struct AttemptLine {
    id: AttemptId,
    item: Option<ItemId>,
}

pub(crate) async fn run(args: ShowArgs) -> anyhow::Result<ExitCode> {
    let lock = lock(&args.run).map_err(bad_configuration)?;
    let known = Known::read(&args.run).map_err(bad_configuration)?;
    let [cell, item] = args.session[..] else {
        output::line(&known.list(&args.run)?);
        return Ok(ExitCode::SUCCESS);
    };
    let cells = lock.cells();
    let found = latest(&args.run, Session { cell, item })?;
    let (Some(cell), Some(stored)) = (cells.get(cell as usize), found) else {
        return Err(BadConfiguration(format!(
            "there is no transcript of cell {cell}, item {item}; `regatta show {}` lists those that there are",
            args.run.display()
        ))
        .into());
    };
    let pictures =
        pictures(&args, &lock, cell, ItemIndex(item), &stored.transcript).await.map_err(bad_configuration)?;
    let shown = Shown::new(cell, item, known.result(&stored), &stored.transcript, pictures);
    match &args.output {
        Some(path) => {
            std::fs::write(path, page::html(&shown)).with_context(|| format!("failed to write {}", path.display()))?;
            output::line(&path.display().to_string());
        }
        None => output::line(&text::text(&shown)),
    }
    Ok(ExitCode::SUCCESS)
}

/// What the run's files say of its sessions besides the transcripts.
struct Known {
    results: BTreeMap<(u32, ItemId), ResultLine>,
    items: HashMap<AttemptId, ItemId>,
}

impl Known {
    fn read(run: &Path) -> anyhow::Result<Self> {
        let results = results::read(run)?.into_iter().map(|line| ((line.cell, line.item.clone()), line)).collect();
        let attempts: Vec<AttemptLine> = results::read_lines(&run.join("attempts.jsonl"))?;
        Ok(Self { results, items: attempts.into_iter().filter_map(|line| Some((line.id, line.item?))).collect() })
    }

    fn result(&self, stored: &StoredTranscript) -> Option<&ResultLine> {
        let item = self.items.get(&stored.attempt_id)?;
        self.results.get(&(stored.cell, item.clone()))
    }

    /// The sessions that have a transcript, in order.
    fn list(&self, run: &Path) -> anyhow::Result<String> {
        let mut sessions: BTreeMap<Session, Option<&ResultLine>> = BTreeMap::new();
        transcripts::read_stored(run, |stored| {
            let session = Session { cell: stored.cell, item: stored.position };
            sessions.insert(session, self.result(&stored));
        })?;
        let mut table = Table::new();
        table
            .load_preset(presets::UTF8_HORIZONTAL_ONLY)
            .remove_style(TableComponent::HorizontalLines)
            .remove_style(TableComponent::MiddleIntersections);
        table.set_header(["cell", "item", "benchmark", "setting", "model", "trial", "id", "outcome", "scores"]);
        for (session, result) in sessions {
            let mut row = vec![session.cell.to_string(), session.item.to_string()];
            if let Some(line) = result {
                row.extend([line.benchmark.to_string(), line.setting.to_string(), line.model.to_string()]);
                row.extend([line.trial.to_string(), line.item.to_string(), line.ending()]);
                row.push(line.scores.iter().flat_map(text::scores).collect::<Vec<_>>().join("; "));
            }
            table.add_row(row);
        }
        Ok(table.to_string())
    }
}

/// The transcript of the last attempt at `session`.
fn latest(run: &Path, session: Session) -> anyhow::Result<Option<StoredTranscript>> {
    let mut found: Option<StoredTranscript> = None;
    transcripts::read_stored(run, |stored| {
        let is_it = session == Session { cell: stored.cell, item: stored.position };
        if is_it && found.as_ref().is_none_or(|earlier| earlier.attempt <= stored.attempt) {
            found = Some(stored);
        }
    })?;
    Ok(found)
}

impl Shown {
    fn new(
        cell: &Cell,
        item: u32,
        result: Option<&ResultLine>,
        transcript: &Transcript,
        pictures: Vec<Picture>,
    ) -> Self {
        let Cell { benchmark, setting, model, trial, .. } = cell;
        let id = result.map_or_else(|| format!("number {item}"), |line| line.item.to_string());
        Self {
            title: format!("{benchmark} {setting}, {model}, trial {}, item {id}", trial.0),
            ending: result.map_or_else(|| "not recorded".to_owned(), ResultLine::ending),
            scores: result.and_then(|line| line.scores.clone()).unwrap_or_default(),
            parts: parts(transcript),
            pictures,
        }
    }
}

/// What the benchmark draws of the session. Says so when its data are not at hand.
async fn pictures(
    args: &ShowArgs,
    lock: &SweepLock,
    cell: &Cell,
    item: ItemIndex,
    transcript: &Transcript,
) -> anyhow::Result<Vec<Picture>> {
    let Some(suite) = suite(&args.run, lock, &cell.benchmark, &args.data).await? else {
        output::note(&format!(
            "pictures are left out: the run does not have the data of {name} with it; give them with --data {name}=DIR",
            name = cell.benchmark
        ));
        return Ok(Vec::new());
    };
    Ok(suite.pictures(item, &cell.setting, transcript))
}

/// The run's data set of benchmark `name`: as given, or from the run's own store.
async fn suite(
    run: &Path,
    lock: &SweepLock,
    name: &BenchmarkName,
    given: &[(BenchmarkName, PathBuf)],
) -> anyhow::Result<Option<Arc<dyn Suite>>> {
    let locked = lock.benchmarks.get(name).with_context(|| format!("the run's lock has no benchmark {name}"))?;
    if let Some((_, directory)) = given.iter().find(|(of, _)| of == name) {
        let files = read_dataset(name, directory)?;
        if files.snapshot().digest() != locked.dataset {
            anyhow::bail!("{} does not hold the data that the run was made with", directory.display());
        }
        return Ok(Some(benchmark(name)?.load(&files)?));
    }
    let blobs = run.join("store/blobs");
    if !blobs.is_dir() {
        return Ok(None);
    }
    let catalog = Catalog::new(Blobs::directory(blobs).context("failed to open the run's blob store")?, BENCHMARKS);
    Ok(Some(catalog.suite(name, &locked.dataset).await?))
}

#[cfg(test)]
mod tests;

//! `regatta show`: the sessions of a run, or one of them as a person reads it: what was said, the scores, and pictures of it.

mod listing;
mod page;
mod text;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use regatta_backends::Blobs;
use regatta_benchmarks::{Picture, Suite};
use regatta_catalog::{Catalog, CatalogError, StoredTranscript};
use regatta_proto::{BenchmarkName, Cell, ItemId, ItemIndex, SweepLock, Transcript, counted, did_you_mean};
use regatta_viewer::conversation::{Part, parts};

use self::listing::{Known, Wanted};
use crate::args::ShowArgs;
use crate::benchmarks::{BENCHMARKS, READ_BENCHMARKS};
use crate::commands::reprice::lock;
use crate::data::{benchmark, read_dataset};
use crate::exit::{BadConfiguration, bad_configuration};
use crate::output;
use crate::results::{ResultLine, Scores};
use crate::run_directory;
use crate::transcripts;

/// A session as it is shown.
struct Shown {
    /// Benchmark, setting, model, trial and item.
    title: String,
    /// Outcome of the session, as one line.
    ending: String,
    scores: Scores,
    parts: Vec<Part>,
    pictures: Vec<Picture>,
}

/// Request of the command line.
#[derive(Debug, PartialEq)]
enum Asked {
    /// Sessions, of one cell or item or of all.
    List {
        cell: Option<u32>,
        item: Option<ItemId>,
    },
    One {
        cell: u32,
        item: Which,
    },
}

/// An item as a person names it: by its position in the data set, or by its id.
#[derive(Debug, PartialEq)]
enum Which {
    Position(u32),
    Id(ItemId),
}

pub(crate) async fn run(mut args: ShowArgs) -> anyhow::Result<ExitCode> {
    args.run = run_directory::named(&args.run)?;
    if args.jsonl {
        transcripts::each_line(&args.run, output::line)?;
        return Ok(ExitCode::SUCCESS);
    }
    let lock = lock(&args.run).map_err(bad_configuration)?;
    let known = Known::read(&args.run).map_err(bad_configuration)?;
    let cells = lock.cells();
    match asked(&args.session, &known.items(), cells.len())? {
        Asked::List { cell, item } => {
            if args.output.is_some() {
                return Err(
                    BadConfiguration("--output writes one session: name its cell and its item".to_owned()).into()
                );
            }
            let wanted = Wanted::new(&args.filters, &known, (cell, item))?;
            let listing = known.list(&args.run, &wanted)?;
            if listing.shown == 0 {
                output::note("no session matches the filters");
                return Ok(ExitCode::SUCCESS);
            }
            output::line(&listing.table);
            listing.refused.iter().for_each(|sentence| output::note(sentence));
            if listing.shown < listing.all {
                output::note(&format!(
                    "{} of {}; one of them: regatta show {} CELL ITEM",
                    listing.shown,
                    counted(listing.all as u64, "session", "sessions"),
                    args.run.display()
                ));
            }
        }
        Asked::One { cell, item } => one(&args, &lock, &known, cells.get(cell as usize), (cell, item)).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A word alone is an item, if there is one of that id, or a cell.
fn asked(words: &[String], items: &BTreeSet<&ItemId>, cells: usize) -> anyhow::Result<Asked> {
    let id = |word: &String| word.parse::<ItemId>().ok().filter(|item| items.contains(item));
    let cell = |word: &String| word.parse::<u32>().ok().filter(|cell| (*cell as usize) < cells);
    let no_item = |word: &str| {
        let meant = did_you_mean(word, items.iter().map(|item| item.as_str()));
        BadConfiguration(format!("no session of the run is about an item {word:?}{meant}"))
    };
    match words {
        [] => Ok(Asked::List { cell: None, item: None }),
        [word] => match (id(word), cell(word)) {
            (Some(item), _) => Ok(Asked::List { cell: None, item: Some(item) }),
            (None, Some(cell)) => Ok(Asked::List { cell: Some(cell), item: None }),
            (None, None) => Err(no_item(word).into()),
        },
        [of, word, ..] => {
            let problem = || format!("there is no cell {of:?}; the run has cells 0 to {}", cells.saturating_sub(1));
            let cell = cell(of).with_context(problem).map_err(bad_configuration)?;
            let item = match (word.parse().ok(), id(word)) {
                (Some(position), _) => Which::Position(position),
                (None, Some(item)) => Which::Id(item),
                (None, None) => return Err(no_item(word).into()),
            };
            Ok(Asked::One { cell, item })
        }
    }
}

/// Shows one session, or writes it.
async fn one(
    args: &ShowArgs,
    lock: &SweepLock,
    known: &Known,
    cell: Option<&Cell>,
    (number, item): (u32, Which),
) -> anyhow::Result<()> {
    let (Some(cell), Some(stored)) = (cell, latest(&args.run, known, number, &item)?) else {
        let item = match item {
            Which::Position(position) => position.to_string(),
            Which::Id(id) => id.to_string(),
        };
        return Err(BadConfiguration(format!(
            "there is no transcript of cell {number}, item {item}; `regatta show {}` lists those that there are",
            args.run.display()
        ))
        .into());
    };
    let item = stored.position;
    let pictures = pictures(args, lock, cell, ItemIndex(item), &stored.transcript).await.map_err(bad_configuration)?;
    let shown = Shown::new(cell, item, known.result(&stored), &stored.transcript, pictures);
    match &args.output {
        Some(path) => {
            regatta_files::write(path, page::html(&shown))
                .with_context(|| format!("failed to write {}", path.display()))?;
            output::line(&path.display().to_string());
        }
        None => output::line(&text::text(&shown)),
    }
    Ok(())
}

/// The transcript of the last attempt at a session.
fn latest(run: &Path, known: &Known, cell: u32, item: &Which) -> anyhow::Result<Option<StoredTranscript>> {
    let mut found: Option<StoredTranscript> = None;
    transcripts::read_stored(run, |stored| {
        let is_item = match item {
            Which::Position(position) => stored.position == *position,
            Which::Id(id) => known.result(&stored).is_some_and(|line| line.item == *id),
        };
        let is_it = stored.cell == cell && is_item;
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

/// Pictures that the benchmark draws of the session; none, and a note, when the run's data are not available.
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
    let catalog =
        Catalog::new(Blobs::directory(blobs).context("failed to open the run's blob store")?, READ_BENCHMARKS);
    match catalog.suite(name, &locked.dataset).await {
        Ok(suite) => Ok(Some(suite)),
        // A run may be anybody's, so the program of its benchmark is not started; and it draws no pictures.
        Err(CatalogError::Data(_)) if BENCHMARKS.find_built_in(name).is_none() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;

//! `regatta export`: a run in the formats of others, or a sweep's files as they are.

mod beside;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use regatta_export::{Export, Format, Run};
use regatta_proto::SystemClock;
use regatta_viewer::{Access, AnnotationUse, Directories, Source, router, write_site};
use tokio_util::sync::CancellationToken;

use self::beside::Stores;
use crate::args::{ExportArgs, ExportFormat};
use crate::benchmarks::READ_BENCHMARKS;
use crate::client::Client;
use crate::commands::reprice::lock;
use crate::exit::{BadConfiguration, bad_configuration};
use crate::fetched::{Reach, copy, fetch};
use crate::output;
use crate::run_directory;

pub(crate) async fn run(args: ExportArgs) -> anyhow::Result<ExitCode> {
    let directory = run_directory::find(Path::new(&args.run));
    if args.formats.is_empty() {
        if let Some(directory) = directory {
            let problem = format!(
                "{} is on this machine as it is; name a format of others to write it in: --format eval,parquet,csv,otlp,site",
                directory.display()
            );
            return Err(BadConfiguration(problem).into());
        }
        return Ok(told(&fetched(&args).await?));
    }
    std::fs::create_dir_all(&args.output).with_context(|| format!("failed to create {}", args.output.display()))?;
    let files = match directory {
        Some(directory) => write(&directory, &args).await?,
        None => {
            let folder = tempfile::tempdir().context("failed to create a folder for the sweep")?;
            let sweep = run_directory::sweep_named(&args.run, &args.client)?;
            let directory = folder.path().join(sweep.as_str());
            let copied = copy(&Client::new(&args.client)?, &sweep, &directory).await;
            match copied.map_err(|error| run_directory::nor_a_sweep(&args.run, &args.client, error))? {
                Reach::Whole => {}
                Reach::Files(problem) => output::note(&problem),
            }
            write(&directory, &args).await?
        }
    };
    Ok(told(&files))
}

fn told(files: &[PathBuf]) -> ExitCode {
    files.iter().for_each(|file| output::line(&file.display().to_string()));
    ExitCode::SUCCESS
}

/// Fetches the files of the sweep that `args` name, and names them.
async fn fetched(args: &ExportArgs) -> anyhow::Result<Vec<PathBuf>> {
    let sweep = run_directory::sweep_named(&args.run, &args.client)?;
    let fetched = fetch(&Client::new(&args.client)?, &sweep, &args.output, args.transcripts).await;
    fetched.map_err(|error| run_directory::nor_a_sweep(&args.run, &args.client, error))
}

/// Writes the run in `directory` in all formats, and names the files.
async fn write(directory: &Path, args: &ExportArgs) -> anyhow::Result<Vec<PathBuf>> {
    let lock = lock(directory).map_err(bad_configuration)?;
    let run = Run::open(directory).map_err(bad_configuration)?;
    let formats: BTreeSet<Format> = args.formats.iter().filter_map(|format| of(*format)).collect();
    if !run.has_transcripts()? {
        if formats.iter().any(|format| format.needs_transcripts()) {
            let problem =
                format!("{} has no transcripts any more, of which eval and otlp are made", directory.display());
            return Err(BadConfiguration(problem).into());
        }
        output::note("the table of calls is left out: the run has no transcripts any more");
    }
    let mut files = Vec::new();
    if !formats.is_empty() {
        let stores = Stores::open(directory, &lock, &args.data).await?;
        let mut export = Export::begin(run, &args.output, &formats, stores.have_verdicts())?;
        while let Some(session) = export.next_session()? {
            let beside = stores.beside(&session, formats.contains(&Format::Eval)).await?;
            export.write(&session, &beside)?;
        }
        files = export.finish()?;
    }
    if args.formats.contains(&ExportFormat::Site) {
        files.push(site(directory, &args.output.join("site")).await?);
    }
    Ok(files)
}

/// Writes the pages of the run in `directory` into the folder `to`, and names the first of them.
async fn site(directory: &Path, to: &Path) -> anyhow::Result<PathBuf> {
    // A site is for people who do not have the run, and says nothing of who annotated it.
    let directories = Directories::new(vec![directory.to_owned()], |_| READ_BENCHMARKS, AnnotationUse::Hidden);
    let Some(name) = directories.found().into_keys().next() else {
        let problem = "a site is made of the stores of a run, with its data, and these cannot be read here; the pages of a coordinator's sweeps are at its /ui";
        return Err(BadConfiguration(problem.to_owned()).into());
    };
    let source = Source::Directories(Arc::new(directories));
    let routes = router(source, Access::loopback(), Arc::new(SystemClock), CancellationToken::new());
    write_site(routes, &name, to).await.with_context(|| format!("failed to write the site {}", to.display()))?;
    Ok(to.join("index.html"))
}

/// Formats of sessions one by one; a site is pages of the whole.
const fn of(format: ExportFormat) -> Option<Format> {
    match format {
        ExportFormat::Eval => Some(Format::Eval),
        ExportFormat::Parquet => Some(Format::Parquet),
        ExportFormat::Csv => Some(Format::Csv),
        ExportFormat::Otlp => Some(Format::Otlp),
        ExportFormat::Site => None,
    }
}

//! `regatta import`: other harnesses' tasks as folders that declare a benchmark, and their answers as predictions.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use regatta_benchmarks::Benchmark as _;
use regatta_declared::{InspectFields, InspectOptions};
use regatta_export::predictions::Predictions;
use regatta_proto::{BenchmarkName, FileSet, SweepId, counted};

use crate::args::{ImportArgs, ImportFrom, InspectArgs, LmEvalArgs, PredictionsArgs};
use crate::benchmarks::{BENCHMARKS, OF_PERSON};
use crate::data::read_file;
use crate::exit::bad_configuration;
use crate::output;

/// Name of the file that declares a benchmark.
const DEFINITION: &str = "benchmark.yaml";
/// Name of the spec that runs it with simulated models.
const SPEC: &str = "sweep.yaml";
/// Name of benchmark and sweep where the folder's is none.
const NO_NAME: &str = "imported";
/// Largest task, in bytes.
const TASK_BYTES_MAX: u64 = 1 << 20;

pub(crate) fn run(args: ImportArgs) -> anyhow::Result<ExitCode> {
    match args.from {
        ImportFrom::LmEval(args) => lm_eval(&args).map_err(bad_configuration),
        ImportFrom::Inspect(args) => inspect(&args).map_err(bad_configuration),
        ImportFrom::Predictions(args) => predictions(&args).map_err(bad_configuration),
    }
}

fn lm_eval(args: &LmEvalArgs) -> anyhow::Result<ExitCode> {
    let (task, folder) = (args.task.display(), &args.output);
    check_is_new(folder)?;
    let bytes = std::fs::metadata(&args.task).with_context(|| format!("failed to read {task}"))?.len();
    if bytes > TASK_BYTES_MAX {
        bail!("{task} has {bytes} bytes, at most {TASK_BYTES_MAX} are read");
    }
    let text = std::fs::read_to_string(&args.task).with_context(|| format!("failed to read {task}"))?;
    let mut files = BTreeMap::new();
    for (split, file) in &args.splits {
        let suffix = file.extension().and_then(|suffix| suffix.to_str()).unwrap_or_default();
        files.insert(split.clone(), format!("{split}.{suffix}"));
    }
    let imported = regatta_declared::lm_eval(&text, &files).map_err(|problem| anyhow::anyhow!("{task}: {problem}"))?;
    let mut benchmark = FileSet::from_origin(folder.display().to_string());
    for (split, file) in &args.splits {
        let Some(name) = files.get(split) else { continue };
        benchmark.insert(name.clone(), read_file(file)?);
    }
    let yaml = format!("# Imported from a task of lm-evaluation-harness.\n{}", imported.yaml);
    benchmark.insert(DEFINITION, yaml.into_bytes());
    finish(&args.task, folder, benchmark, &imported.notes, 1)
}

fn inspect(args: &InspectArgs) -> anyhow::Result<ExitCode> {
    let (file, folder) = (args.file.display(), &args.output);
    check_is_new(folder)?;
    let fields = InspectFields {
        input: args.input.clone(),
        target: args.target.clone(),
        choices: args.choices.clone(),
        id: args.id.clone(),
        metadata: args.metadata.clone(),
        sandbox: args.sandbox.clone(),
        files: args.files.clone(),
        setup: args.setup.clone(),
    };
    let options = InspectOptions {
        fields,
        solvers: args.solvers.clone(),
        scorers: args.scorers.clone(),
        leave_out: args.leave_out.clone(),
    };
    let name = args.file.file_name().unwrap_or(args.file.as_os_str()).to_string_lossy();
    let imported = regatta_declared::inspect(&name, &read_file(&args.file)?, &options)
        .map_err(|problem| anyhow::anyhow!("{file}: {problem}"))?;
    let mut benchmark = FileSet::from_origin(folder.display().to_string());
    benchmark.insert(imported.data_file, imported.data.into_bytes());
    let yaml = format!("# Imported from samples of Inspect.\n{}", imported.yaml);
    benchmark.insert(DEFINITION, yaml.into_bytes());
    finish(&args.file, folder, benchmark, &imported.notes, imported.epochs)
}

fn check_is_new(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        bail!("{} is there already; name another folder with --output", folder.display());
    }
    Ok(())
}

/// Writes the benchmark that was made of the file at `from`, and a spec that runs it.
fn finish(
    from: &Path,
    folder: &Path,
    mut benchmark: FileSet,
    notes: &[String],
    trials: u64,
) -> anyhow::Result<ExitCode> {
    // Before anything is written: a folder that is there would be in the way of the next try.
    let suite = OF_PERSON.load(&benchmark);
    let suite =
        suite.with_context(|| format!("{} makes no benchmark that can be read; nothing is written", from.display()))?;
    benchmark.insert(SPEC, spec(folder, trials).into_bytes());
    write(folder, &benchmark)?;
    notes.iter().for_each(|note| output::line(&format!("note: {note}")));
    let items = counted(suite.items().len() as u64, "item", "items");
    let at = folder.display();
    output::line(&format!(
        "{at}: {items}; look at it with regatta check {at}, and run it with regatta run {at}/{SPEC}"
    ));
    Ok(ExitCode::SUCCESS)
}

/// A spec that runs the benchmark in its folder with simulated models.
fn spec(folder: &Path, trials: u64) -> String {
    let of_folder = folder.file_name().and_then(|name| name.to_str()).unwrap_or(NO_NAME);
    let is_free = |name: &BenchmarkName| BENCHMARKS.find_built_in(name).is_none();
    // The id of the sweep is longer than its name.
    let is_name = BenchmarkName::new(of_folder).is_ok_and(|name| is_free(&name))
        && SweepId::new(format!("{of_folder}-00000000")).is_ok();
    let name = if is_name { of_folder } else { NO_NAME };
    format!(
        "# Runs the benchmark of this folder with simulated models: no key, no network.\n\
         name: {name:?}\n\
         seed: 1\n\
         trials: {trials}\n\
         benchmarks:\n  {name:?}: {{ data: . }}\n\
         endpoints:\n  sim: {{ kind: simulated }}\n\
         models:\n  \
         - {{ id: sim/oracle, price: {{ input_per_mtok: 0, output_per_mtok: 0 }} }}\n  \
         - {{ id: sim/noisy-0.3, price: {{ input_per_mtok: 0, output_per_mtok: 0 }} }}\n"
    )
}

/// Writes `files` into the new `folder`, which is removed again where one of them cannot be written.
fn write(folder: &Path, files: &FileSet) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("failed to create {}", folder.display()))?;
    files.iter().try_for_each(|(name, content)| {
        let written = regatta_files::write(&folder.join(name), content);
        written.with_context(|| format!("failed to write {name} into {}", folder.display())).inspect_err(|_| {
            // The error that led here is the one that is told.
            let _ = std::fs::remove_dir_all(folder);
        })
    })
}

fn predictions(args: &PredictionsArgs) -> anyhow::Result<ExitCode> {
    let file = args.file.display();
    let content = std::fs::read(&args.file).with_context(|| format!("failed to read {file}"))?;
    let read = match Predictions::is_log(&content) {
        true => Predictions::of_log(&content, args.epoch),
        false if args.epoch.is_some() => bail!("{file} is no log of Inspect, and has no epochs"),
        false => Predictions::of_lines(&content, &args.item, &args.answer),
    };
    let read = read.with_context(|| format!("failed to read {file}"))?;
    regatta_files::write(&args.output, read.to_lines())
        .with_context(|| format!("failed to write {}", args.output.display()))?;
    if let Some(note) = left_out(&read) {
        output::note(&note);
    }
    output::line(&format!("{}: {} predictions", args.output.display(), read.predictions.len()));
    Ok(ExitCode::SUCCESS)
}

/// Says that samples are left out, if some are.
pub(super) fn left_out(read: &Predictions) -> Option<String> {
    let failed = read.failed;
    (failed > 0)
        .then(|| format!("{failed} samples ended with an error; they say nothing about the model, and are left out"))
}

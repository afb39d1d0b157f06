//! `regatta score`: predictions or a golden case, without any model.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use regatta_benchmarks::{RecordedVerdicts, score_predictions};
use regatta_export::predictions::Predictions;
use regatta_proto::{BenchmarkName, Evaluator};
use serde_json::Value;

use super::import::left_out;
use crate::args::ScoreArgs;
use crate::benchmarks::BENCHMARKS;
use crate::data::{benchmark, read_dataset, read_files};
use crate::exit::bad_configuration;
use crate::output;

pub(crate) fn run(args: ScoreArgs) -> anyhow::Result<ExitCode> {
    match (&args.case, &args.benchmark, &args.predictions) {
        (Some(case), _, _) => score_case(case, &args).map_err(bad_configuration),
        (None, Some(benchmark), Some(predictions)) => {
            score_file(benchmark, predictions, &args).map_err(bad_configuration)
        }
        _ => anyhow::bail!("give a benchmark and --predictions, or --case"),
    }
}

fn score_file(name: &BenchmarkName, predictions: &Path, args: &ScoreArgs) -> anyhow::Result<ExitCode> {
    let benchmark = benchmark(name)?;
    let known = benchmark.evaluators();
    let usual = || known.iter().copied().find(|one| *one == Evaluator::Official).or_else(|| known.first().copied());
    let evaluator = args.evaluator.or_else(usual).with_context(|| format!("{name} has no evaluators"))?;
    if !known.contains(&evaluator) {
        anyhow::bail!("{name} has no evaluator {evaluator}");
    }
    let suite = benchmark.load(&read_dataset(name, &args.data)?)?;
    if let Some(setting) = &args.setting {
        suite.select(setting, &[], Some(1))?;
    }
    let verdicts = match &args.verdicts {
        Some(path) => RecordedVerdicts::read(&path.display().to_string(), &read(path)?)?,
        None => RecordedVerdicts::default(),
    };
    let content = in_lines(read(predictions)?).with_context(|| format!("failed to read {}", predictions.display()))?;
    let predicted = suite.read_predictions(&predictions.display().to_string(), &content)?;
    let scored = score_predictions(&*suite, args.setting.as_ref(), evaluator, &predicted, &verdicts)?;
    let document = serde_json::to_value(&scored)?;
    write(&args.out, &document)?;
    output::line(&serde_json::to_string_pretty(&document["aggregate"])?);
    Ok(ExitCode::SUCCESS)
}

/// A log of another harness as the lines that every benchmark reads; anything else as it is.
fn in_lines(content: Vec<u8>) -> anyhow::Result<Vec<u8>> {
    if !Predictions::is_log(&content) {
        return Ok(content);
    }
    let read = Predictions::of_log(&content, None)
        .context("`regatta import predictions` makes predictions of one epoch of a log")?;
    if let Some(note) = left_out(&read) {
        output::note(&note);
    }
    Ok(read.to_lines().into_bytes())
}

fn score_case(case: &Path, args: &ScoreArgs) -> anyhow::Result<ExitCode> {
    // The expected files are what the output is compared with; reading them here would make every comparison worthless.
    let files = read_files(case, &|path| !path.starts_with("expected"))?;
    let data = read_files(&args.data, &|path| BENCHMARKS.all().iter().any(|benchmark| benchmark.wants(path)))?;
    let scored = BENCHMARKS.score_case(&files, &data)?;
    std::fs::create_dir_all(&args.out).with_context(|| format!("failed to create {}", args.out.display()))?;
    for (name, document) in scored {
        write(&args.out.join(&name), &document)?;
        output::line(&args.out.join(name).display().to_string());
    }
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("failed to read {}", path.display()))
}

fn write(path: &Path, document: &Value) -> anyhow::Result<()> {
    regatta_files::write(path, serde_json::to_vec_pretty(document)?)
        .with_context(|| format!("failed to write {}", path.display()))
}

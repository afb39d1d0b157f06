//! `regatta score`: predictions or a golden case. No model is asked but a judge, where one is given.

mod judge;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use regatta_benchmarks::{
    NotPredicted, OpenQuestion, PredictionsError, RecordedVerdicts, open_questions, score_predictions,
};
use regatta_export::predictions::Predictions;
use regatta_proto::{BenchmarkName, Evaluator, SweepState, counted};
use serde_json::Value;

use self::judge::Judge;
use super::import::left_out;
use crate::args::ScoreArgs;
use crate::benchmarks::BENCHMARKS;
use crate::data::{benchmark, read_dataset, read_files};
use crate::exit::bad_configuration;
use crate::output;

/// Items that are named where they have no prediction.
const NAMED: usize = 5;

pub(crate) async fn run(args: ScoreArgs) -> anyhow::Result<ExitCode> {
    match (&args.case, &args.benchmark, &args.predictions) {
        (Some(case), _, _) => score_case(case, &args).map_err(bad_configuration),
        (None, Some(benchmark), Some(predictions)) => {
            score_file(benchmark, predictions, &args).await.map_err(bad_configuration)
        }
        _ => anyhow::bail!("give a benchmark and --predictions, or --case"),
    }
}

async fn score_file(name: &BenchmarkName, predictions: &Path, args: &ScoreArgs) -> anyhow::Result<ExitCode> {
    let benchmark = benchmark(name)?;
    let known = benchmark.evaluators();
    let usual = || known.iter().copied().find(|one| *one == Evaluator::Official).or_else(|| known.first().copied());
    let evaluator = args.evaluator.or_else(usual).with_context(|| format!("{name} has no evaluators"))?;
    if !known.contains(&evaluator) {
        let known: Vec<String> = known.iter().map(ToString::to_string).collect();
        anyhow::bail!("{name} has no evaluator {evaluator}; known: {}", known.join(", "));
    }
    let suite = benchmark.load(&read_dataset(name, &args.data)?)?;
    if let Some(setting) = &args.setting {
        suite.select(setting, &[], Some(1))?;
    }
    let mut verdicts = match &args.verdicts {
        Some(path) => RecordedVerdicts::read(&path.display().to_string(), &read(path)?)?,
        None => RecordedVerdicts::default(),
    };
    let content = in_lines(read(predictions)?).with_context(|| format!("failed to read {}", predictions.display()))?;
    let predicted = suite.read_predictions(&predictions.display().to_string(), &content)?;
    let incomplete = ExitCode::from(SweepState::Incomplete.exit_code());
    let open =
        |verdicts: &RecordedVerdicts| open_questions(&*suite, args.setting.as_ref(), evaluator, &predicted, verdicts);
    if let Some(file) = &args.questions {
        let questions = open(&verdicts)?;
        if !questions.is_empty() {
            write_questions(file, &questions)?;
            return Ok(incomplete);
        }
    }
    if let Some(id) = &args.judge {
        let mut judge = Judge::open(id, args)?;
        loop {
            let questions = open(&verdicts)?;
            if questions.is_empty() {
                break;
            }
            if let Some(problem) = judge.answer(&questions, &mut verdicts).await {
                output::note(&judge.bill());
                output::error(&problem);
                return Ok(incomplete);
            }
        }
        output::note(&judge.bill());
    }
    let scored = score_predictions(&*suite, args.setting.as_ref(), evaluator, &predicted, &verdicts);
    let scored = scored.map_err(|error| {
        let needs_judge =
            matches!(error, PredictionsError::MissingVerdict { .. } | PredictionsError::MissingJudgement { .. });
        let error = anyhow::Error::from(error);
        if needs_judge && args.verdicts.is_none() {
            return error.context(format!(
                "{evaluator} of {name} needs a judge's verdicts: give recorded ones with --verdicts FILE, have them asked for with --judge \
                 ENDPOINT/MODEL, or write the questions down with --questions FILE"
            ));
        }
        error
    })?;
    let document = serde_json::to_value(&scored)?;
    write(&args.out, &document)?;
    output::line(&serde_json::to_string_pretty(&document["aggregate"])?);
    if let Some(note) = not_predicted(&scored.not_predicted) {
        output::note(&note);
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes open questions down, a line each, and says what to do with them.
fn write_questions(file: &Path, questions: &[OpenQuestion]) -> anyhow::Result<()> {
    let mut lines = String::new();
    for question in questions {
        lines.push_str(&question.to_line().to_string());
        lines.push('\n');
    }
    let place = file.display();
    regatta_files::write(file, lines).with_context(|| format!("failed to write {place}"))?;
    output::note(&format!(
        "{} no recorded verdict, so nothing is scored; add to each line of {place} its answer (`sim`, `response` or `responses`), and give \
         the lines with --verdicts",
        counted(questions.len() as u64, "question has", "questions have")
    ));
    Ok(())
}

/// A note on items without a prediction, which the means leave out.
fn not_predicted(of: &NotPredicted) -> Option<String> {
    let some = of.ids.iter().take(NAMED).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let more = if of.count > NAMED { ", …" } else { "" };
    (of.count > 0).then(|| {
        let items = counted(of.count as u64, "item has", "items have");
        format!("{items} no prediction and no part in these means: {some}{more}")
    })
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

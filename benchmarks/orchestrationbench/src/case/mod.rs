//! Golden cases of every kind (docs/benchmarks/orchestrationbench.md §11).

mod predictions;
mod replay;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use regatta_proto::{Evaluator, FileSet};
use serde_json::{Value, json};

pub(crate) use self::predictions::{Prediction, read_good, read_predictions};
use self::replay::Replay;
use super::aggregate::{aggregate_official, aggregate_paper, run_record, scenario_record};
use super::data::{Data, Language, load};
use super::extraction::score_unit_parse;
use super::judge::Judging;
use super::plan::score_unit_ged;
use super::scoring::PAPER_JUDGES;
use regatta_benchmarks::case::{Case, PREDICTIONS_FILE, case_place, predictions, verdicts};
use regatta_benchmarks::source_location::{SourceLocation, kind_of};
use regatta_benchmarks::{DataError, RecordedVerdicts};

/// Scores a case and returns its outputs by file name; a case of kind `protocol` has none. Vectors of single
/// functions need no data.
///
/// # Errors
/// When an input or the data cannot be read, or a judgement is not recorded.
pub(crate) fn score_case(case: &Case, files: &FileSet, data: &FileSet) -> Result<BTreeMap<String, Value>, DataError> {
    let mut outputs = BTreeMap::new();
    for (file, evaluator) in &case.outputs {
        let output = match (case.kind.as_str(), evaluator) {
            ("predictions", Evaluator::Official) => official(case, files, &load(data)?)?,
            ("predictions", Evaluator::Paper) => paper(case, files, &load(data)?)?,
            ("unit_parse", Evaluator::Official) => score_unit_parse(files)?,
            ("unit_ged", Evaluator::Official) => score_unit_ged(files)?,
            ("predictions" | "unit_parse" | "unit_ged" | "protocol", _) => {
                let problem = format!("a case of kind {} has no evaluator {evaluator}", case.kind);
                return Err(case_place(files).error("outputs", problem));
            }
            (other, _) => {
                let problem = format!("{other:?} is unknown; known: predictions, unit_parse, unit_ged, protocol");
                return Err(case_place(files).error("kind", problem));
            }
        };
        outputs.insert(file.clone(), output);
    }
    Ok(outputs)
}

fn official(case: &Case, files: &FileSet, data: &Data) -> Result<Value, DataError> {
    let inputs = Inputs::read(case, files, data)?;
    let replay = inputs.replay(files, data)?;
    let (scenarios, items) = replay.official(inputs.judging())?;
    let aggregate = aggregate_official(&scenarios);
    let mut runs = serde_json::Map::new();
    for scenario in &scenarios {
        for (number, run) in scenario.runs.iter().enumerate() {
            let name = format!("{}/{}/{}", inputs.language.name(), scenario.id, number + 1);
            runs.insert(name, run_record(run));
        }
    }
    let records = scenarios.iter().map(|scenario| (scenario.id.clone(), scenario_record(scenario)));
    Ok(json!({
        "evaluator": Evaluator::Official,
        "language": inputs.language.name(),
        "num_runs": inputs.runs,
        "judge": if inputs.is_judged { "recorded" } else { "skip" },
        "aggregate": {
            "overall_statistics": aggregate.overall_statistics,
            "unrounded_means": aggregate.unrounded_means,
        },
        "scenarios": records.collect::<serde_json::Map<_, _>>(),
        "runs": runs,
        "items": items,
    }))
}

fn paper(case: &Case, files: &FileSet, data: &Data) -> Result<Value, DataError> {
    let inputs = Inputs::read(case, files, data)?;
    let replay = inputs.replay(files, data)?;
    let judges = match inputs.verdicts.judges_of_arguments() {
        0 => PAPER_JUDGES,
        judges => judges,
    };
    let (scenarios, items) = replay.paper(inputs.judging(), judges)?;
    let aggregate = aggregate_paper(&scenarios);
    let records = scenarios.iter().map(|scenario| (scenario.id.clone(), json!({ "plan": scenario.plan() })));
    Ok(json!({
        "evaluator": Evaluator::Paper,
        "language": inputs.language.name(),
        "num_runs": inputs.runs,
        "aggregate": aggregate.aggregate,
        "scenarios": records.collect::<serde_json::Map<_, _>>(),
        "items": items,
    }))
}

/// Inputs of a case of kind `predictions`.
struct Inputs {
    language: Language,
    runs: u32,
    is_judged: bool,
    verdicts: RecordedVerdicts,
    predictions: Vec<Prediction>,
}

impl Inputs {
    fn read(case: &Case, files: &FileSet, data: &Data) -> Result<Self, DataError> {
        let place = case_place(files);
        let read = read_predictions(data, files.origin(), PREDICTIONS_FILE, predictions(files)?)?;
        let language = match case.params.get("language") {
            Some(name) => name
                .as_str()
                .and_then(Language::named)
                .ok_or_else(|| place.error("params.language", format!("must be \"EN\" or \"KO\", is {name}")))?,
            None => read.first().map_or(Language::En, |prediction| prediction.scenario.language),
        };
        let runs = match case.params.get("num_runs") {
            Some(runs) => {
                runs.as_u64().and_then(|runs| u32::try_from(runs).ok()).filter(|runs| *runs > 0).ok_or_else(|| {
                    place.error("params.num_runs", format!("must be a number of runs, from 1; is {runs}"))
                })?
            }
            None => read.iter().map(|prediction| prediction.run).max().unwrap_or(1),
        };
        let is_judged = match case.params.get("judge").map(|judge| judge.as_str().ok_or_else(|| kind_of(judge))) {
            Some(Ok("recorded")) => true,
            Some(Ok("skip")) => false,
            Some(other) => {
                let problem = format!("must be \"recorded\" or \"skip\", is {other:?}");
                return Err(place.error("params.judge", problem));
            }
            None => files.get("judge.jsonl").is_some(),
        };
        Ok(Self { language, runs, is_judged, verdicts: verdicts(files)?, predictions: read })
    }

    fn judging(&self) -> Judging<'_> {
        if self.is_judged { Judging::Verdicts(&self.verdicts) } else { Judging::Skip }
    }

    fn replay<'a>(&'a self, files: &'a FileSet, data: &'a Data) -> Result<Replay<'a>, DataError> {
        let file = SourceLocation::file(files.origin(), PREDICTIONS_FILE);
        for prediction in &self.predictions {
            let place = file.line(prediction.line);
            if prediction.scenario.language != self.language {
                let problem = format!("{} is not of the case's language {}", prediction.item, self.language.name());
                return Err(place.error("item", problem));
            }
            if prediction.run > self.runs {
                let problem =
                    format!("{} is of run {}, but the case has {}", prediction.item, prediction.run, self.runs);
                return Err(place.error("item", problem));
            }
        }
        Ok(Replay::new(data, file, &self.predictions, self.runs, &self.verdicts))
    }
}

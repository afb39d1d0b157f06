//! Matching of the cells of two runs by benchmark, setting and model.

use std::fmt;

use regatta_proto::{BenchmarkName, ModelRef, Setting, did_you_mean};
use serde::Serialize;

use crate::ended_run::EndedRun;
use crate::exit::BadConfiguration;

/// A benchmark and setting that both runs have, with the models that are compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct MatchedCell {
    pub(crate) benchmark: BenchmarkName,
    pub(crate) setting: Setting,
    pub(crate) model_a: ModelRef,
    pub(crate) model_b: ModelRef,
    /// `true` if answers of either came from a simulated endpoint.
    pub(crate) simulated: bool,
}

/// Models that the command line names.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chosen {
    pub(crate) a: Option<ModelRef>,
    pub(crate) b: Option<ModelRef>,
}

impl fmt::Display for MatchedCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} · {} · {}", self.benchmark, self.setting, self.model_a)?;
        if self.model_a != self.model_b {
            write!(f, " → {}", self.model_b)?;
        }
        if self.simulated { f.write_str(" (simulated)") } else { Ok(()) }
    }
}

/// The cells of both runs that are compared: benchmark and setting by name; models as chosen, else by name, else the only one of each.
pub(crate) fn matched(a: &EndedRun, b: &EndedRun, chosen: &Chosen) -> anyhow::Result<Vec<MatchedCell>> {
    let models = models(a, b, chosen)?;
    let mut cells = Vec::new();
    for (benchmark, of_a) in &a.lock.benchmarks {
        let Some(of_b) = b.lock.benchmarks.get(benchmark) else { continue };
        for setting in of_a.settings.iter().filter(|setting| of_b.settings.contains(setting)) {
            cells.extend(models.iter().map(|(model_a, model_b)| {
                MatchedCell {
                    benchmark: benchmark.clone(),
                    setting: setting.clone(),
                    model_a: model_a.clone(),
                    model_b: model_b.clone(),
                    simulated: [(a, model_a), (b, model_b)]
                        .iter()
                        .any(|(run, model)| run.row(benchmark, setting, model).is_some_and(|row| row.simulated)),
                }
            }));
        }
    }
    if cells.is_empty() {
        return Err(BadConfiguration(format!(
            "{} and {} have no benchmark and setting in common; they have {} and {}",
            a.name,
            b.name,
            settings(a),
            settings(b)
        ))
        .into());
    }
    Ok(cells)
}

fn settings(run: &EndedRun) -> String {
    let of =
        run.lock.benchmarks.iter().flat_map(|(name, lock)| lock.settings.iter().map(move |at| format!("{name} {at}")));
    of.collect::<Vec<_>>().join(", ")
}

fn models(a: &EndedRun, b: &EndedRun, chosen: &Chosen) -> anyhow::Result<Vec<(ModelRef, ModelRef)>> {
    let of = |run: &EndedRun| run.lock.models.iter().map(|model| model.id.clone()).collect::<Vec<_>>();
    let (of_a, of_b) = (of(a), of(b));
    let names = |of: &[ModelRef]| of.iter().map(ModelRef::to_string).collect::<Vec<_>>().join(", ");
    let one = |run: &EndedRun, of: &[ModelRef], chosen: &ModelRef, option: &str| match of.contains(chosen) {
        true => Ok(chosen.clone()),
        false => {
            let (name, known) = (chosen.to_string(), names(of));
            let meant = did_you_mean(&name, known.split(", "));
            Err(BadConfiguration(format!("{} has no model {name} ({option}); it has {known}{meant}", run.name)))
        }
    };
    match (&chosen.a, &chosen.b) {
        (Some(in_a), Some(in_b)) => Ok(vec![(one(a, &of_a, in_a, "--model-a")?, one(b, &of_b, in_b, "--model-b")?)]),
        (Some(in_a), None) if of_b.len() == 1 => Ok(vec![(one(a, &of_a, in_a, "--model-a")?, of_b[0].clone())]),
        (None, Some(in_b)) if of_a.len() == 1 => Ok(vec![(of_a[0].clone(), one(b, &of_b, in_b, "--model-b")?)]),
        (Some(both), None) | (None, Some(both)) => {
            Ok(vec![(one(a, &of_a, both, "--model-a")?, one(b, &of_b, both, "--model-b")?)])
        }
        (None, None) => {
            let both: Vec<_> =
                of_a.iter().filter(|model| of_b.contains(model)).cloned().map(|id| (id.clone(), id)).collect();
            match (both.is_empty(), of_a.as_slice(), of_b.as_slice()) {
                (false, _, _) => Ok(both),
                (true, [in_a], [in_b]) => Ok(vec![(in_a.clone(), in_b.clone())]),
                (true, _, _) => Err(BadConfiguration(format!(
                    "{} has {} and {} has {}: no model of the same name; choose with --model-a and --model-b",
                    a.name,
                    names(&of_a),
                    b.name,
                    names(&of_b)
                ))
                .into()),
            }
        }
    }
}

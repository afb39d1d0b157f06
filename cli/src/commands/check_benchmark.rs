//! `regatta check` of a folder with a `benchmark.yaml`: what it declares, whether its golds are right, and its first prompt.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use regatta_benchmarks::{Benchmark as _, RecordedVerdicts, Scoring, Suite};
use regatta_benchmarks::{Persona, default_setting};
use regatta_proto::{
    BenchmarkName, ChatRequest, Evaluator, ItemIndex, Role, SessionSeed, Setting, Transcript, counted,
};

use super::first_prompt::first_prompt;
use crate::benchmarks::OF_PERSON;
use crate::data::read_dataset;
use crate::exit::bad_configuration;
use crate::output;

/// Items whose gold is scored.
const ITEMS_TRIED: u32 = 10_000;
/// Items that are named where a gold is wrong.
const NAMED_MAX: usize = 5;

/// The folder that `path` means, if it means a benchmark rather than a spec.
pub(super) fn folder(path: &Path) -> Option<PathBuf> {
    const FILE: &str = "benchmark.yaml";
    if path.is_dir() && path.join(FILE).is_file() {
        return Some(path.to_owned());
    }
    let is_one = path.file_name().is_some_and(|name| name == FILE);
    is_one.then(|| path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new(".")).to_owned())
}

pub(super) fn run(folder: &Path) -> anyhow::Result<ExitCode> {
    describe(folder).map_err(bad_configuration)
}

fn describe(folder: &Path) -> anyhow::Result<ExitCode> {
    let any_name: BenchmarkName = OF_PERSON.name();
    let suite = OF_PERSON.load(&read_dataset(&any_name, folder)?)?;
    let settings = suite.declared_settings();
    let setting = default_setting(&OF_PERSON, &*suite).context("a benchmark has a setting")?;
    let tasks: std::collections::BTreeSet<_> = suite.items().iter().map(|item| &item.task).collect();
    let metrics = suite.metrics(&setting, Evaluator::Declared);
    let names: Vec<&str> = settings.iter().map(Setting::as_str).collect();
    output::line(&format!(
        "{}: {}, {}, settings {}, metrics {}",
        folder.display(),
        counted(suite.items().len() as u64, "item", "items"),
        counted(tasks.len() as u64, "task", "tasks"),
        names.join(", "),
        metrics.iter().map(|metric| metric.name.as_str()).collect::<Vec<_>>().join(", ")
    ));
    golds(&*suite, &setting).iter().for_each(|line| output::line(line));
    if let Some(prompt) = first_prompt(&*suite, &setting, ItemIndex(0)) {
        output::line(&prompt);
    }
    Ok(ExitCode::SUCCESS)
}

/// A line for each scorer that finds a right reply wrong: then the answers are not read as the gold is written. What judges say of it,
/// nobody knows yet.
fn golds(suite: &dyn Suite, setting: &Setting) -> Vec<String> {
    let mut wrong: std::collections::BTreeMap<String, Vec<&str>> = std::collections::BTreeMap::new();
    for (index, item) in (0..ITEMS_TRIED).map(ItemIndex).zip(suite.items()) {
        let nothing = ChatRequest::default();
        let reply = suite.simulate(index, setting, Role::Agent, Persona::Oracle, SessionSeed(0), &nothing);
        // Calls of tools have no text that could be recorded.
        let Some(text) = reply.text.as_deref() else { continue };
        let transcript = Transcript::of_recorded(Some(text));
        let scoring = suite.score(index, &[Evaluator::Declared], &transcript, &RecordedVerdicts::default());
        let Scoring::Scored(mut scores) = scoring else { continue };
        let Some(score) = scores.remove(&Evaluator::Declared) else { continue };
        for metric in suite.metrics(setting, Evaluator::Declared) {
            let regatta_benchmarks::Measure::Mean { value } = metric.measure else { continue };
            if metric.headline && score.values.get(&value).is_some_and(|value| *value < 1.0) {
                wrong.entry(metric.name).or_default().push(item.id.as_str());
            }
        }
    }
    let line = |(metric, items): (String, Vec<&str>)| {
        let some = items.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join(", ");
        let more = if items.len() > NAMED_MAX { ", …" } else { "" };
        format!(
            "warning: a right reply has less than the whole {metric} in {} ({some}{more}); is the answer read as it is written? \
             `simulate.reply` says how a right reply looks",
            counted(items.len() as u64, "item", "items")
        )
    };
    wrong.into_iter().map(line).collect()
}

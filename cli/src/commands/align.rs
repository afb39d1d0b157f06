//! `regatta align`: how well the judge of a run agrees with people who rated its sessions.

mod audit;
mod ratings;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use regatta_benchmarks::{PaperEntry, PaperTable};
use regatta_flowbench::{JudgedSession, judge_alignment};
use regatta_proto::{Evaluator, SweepLock, did_you_mean};
use regatta_report::Measures;
use regatta_viewer::annotations::SessionName;

use self::audit::Judged;
use self::ratings::{Kind, Ratings};
use crate::args::AlignArgs;
use crate::exit::{BadConfiguration, bad_configuration};
use crate::output;
use crate::plain_table::{fitted, plain_table};
use crate::results::{self, ResultLine};
use crate::run_directory;

pub(crate) fn run(mut args: AlignArgs) -> anyhow::Result<ExitCode> {
    args.run = run_directory::named(&args.run)?;
    run_directory::check_ended(&args.run)?;
    // A file that is not there is told of first.
    let file = args.ratings.as_ref().map(|file| read_ratings(file)).transpose()?;
    let results = results::read(&args.run).map_err(bad_configuration)?;
    let evaluator = evaluator(&results, &args)?;
    let ratings = match file {
        Some(ratings) => ratings,
        None => {
            let is_judged = |line: &&ResultLine| score_of(line, evaluator, &args.score).is_some();
            let judged = results.iter().filter(is_judged).map(session_name).collect();
            let kind = if args.marks { Kind::Marks } else { Kind::Ratings };
            ratings::of_annotations(&args.run, &judged, kind)?
        }
    };
    if args.audit {
        audit(&args, &results, evaluator, &ratings)?;
        return Ok(ExitCode::SUCCESS);
    }
    let judged: Vec<JudgedSession> =
        results.into_iter().filter_map(|line| judged(line, evaluator, &args.score)).collect();
    let file = ratings.file.display().to_string();
    let table = judge_alignment(&file, &ratings.content, &judged).map_err(bad_configuration)?;
    if args.json {
        output::line(&serde_json::to_string_pretty(&table)?);
    } else {
        output::line(&render(&table));
        table.notes.iter().for_each(|note| output::note(note));
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what the people of `ratings` would have said of all sessions.
fn audit(args: &AlignArgs, results: &[ResultLine], evaluator: Evaluator, ratings: &Ratings) -> anyhow::Result<()> {
    let text = |name: &str| {
        let path = args.run.join(name);
        std::fs::read_to_string(&path)
            .with_context(|| format!("failed to read {}", path.display()))
            .map_err(bad_configuration)
    };
    let lock = SweepLock::from_yaml(&text("sweep.lock.yaml")?).context("failed to read sweep.lock.yaml")?;
    if lock.decide.is_some() {
        let problem = format!(
            "{} is a run with a question (decide): which sessions it has hangs on the judge's scores, so that nothing follows from a sample of them",
            args.run.display()
        );
        return Err(BadConfiguration(problem).into());
    }
    let measures = Measures::from_json(text("measures.json")?.as_bytes()).context("failed to read measures.json")?;
    let judged = Judged { results, measures: &measures, evaluator, score: &args.score, level: lock.level };
    let audits = judged.audits(ratings)?;
    if args.json {
        output::line(&serde_json::to_string_pretty(&audits)?);
    } else {
        output::line(&audits.render());
    }
    audits.notes().iter().for_each(|note| output::note(note));
    Ok(())
}

/// The evaluator that is asked for, or the only one that has such scores.
fn evaluator(results: &[ResultLine], args: &AlignArgs) -> anyhow::Result<Evaluator> {
    let scores = results.iter().filter_map(|line| line.scores.as_ref()).flatten();
    let found: BTreeSet<Evaluator> =
        scores.filter(|(_, values)| values.contains_key(&args.score)).map(|(evaluator, _)| *evaluator).collect();
    let names = || found.iter().map(Evaluator::to_string).collect::<Vec<_>>().join(", ");
    let problem = match (args.evaluator, found.first()) {
        (_, None) => no_score(results, args),
        (Some(asked), _) if found.contains(&asked) => return Ok(asked),
        (Some(asked), _) => format!("{asked} gave no score named {:?}; there are those of {}", args.score, names()),
        (None, Some(only)) if found.len() == 1 => return Ok(*only),
        (None, _) => format!("there are scores of {}: choose one with --evaluator", names()),
    };
    Err(BadConfiguration(problem).into())
}

fn read_ratings(file: &Path) -> anyhow::Result<Ratings> {
    let content = std::fs::read_to_string(file)
        .with_context(|| format!("failed to read {}", file.display()))
        .map_err(bad_configuration)?;
    Ok(Ratings { file: file.to_owned(), content })
}

fn score_of(line: &ResultLine, evaluator: Evaluator, score: &str) -> Option<f64> {
    line.scores.as_ref()?.get(&evaluator)?.get(score).copied()
}

fn session_name(line: &ResultLine) -> SessionName {
    SessionName {
        benchmark: line.benchmark.clone(),
        setting: line.setting.clone(),
        model: line.model.clone(),
        trial: line.trial,
        item: line.item.clone(),
    }
}

/// Says that no session has the score that was asked for, and which ones there are.
fn no_score(results: &[ResultLine], args: &AlignArgs) -> String {
    let scores = results.iter().filter_map(|line| line.scores.as_ref()).flat_map(|scores| scores.values());
    let known: BTreeSet<&str> = scores.flat_map(|values| values.keys()).map(String::as_str).collect();
    let meant = did_you_mean(&args.score, known.iter().copied());
    let known = match known.is_empty() {
        true => "no session has any".to_owned(),
        false => format!("choose with --score one of {}", known.into_iter().collect::<Vec<_>>().join(", ")),
    };
    format!("no session of {} has a score named {:?}; {known}{meant}", args.run.display(), args.score)
}

fn judged(line: ResultLine, evaluator: Evaluator, score: &str) -> Option<JudgedSession> {
    let score = score_of(&line, evaluator, score)?;
    Some(JudgedSession { setting: line.setting, model: line.model, trial: line.trial, item: line.item, score })
}

fn render(of: &PaperTable) -> String {
    let mut table = plain_table();
    // With blanks, so that a header can be broken where there is no room for it.
    let labels = of.columns.iter().map(|column| column.label.replace('–', " – "));
    table.set_header(of.keys.iter().cloned().chain(labels));
    for row in &of.rows {
        table.add_row(row.keys.iter().cloned().chain(row.entries.iter().map(entry)));
    }
    format!("{}\n{}", of.title, fitted(table))
}

/// `0.84 [0.71, 0.91], paper 0.88`.
fn entry(entry: &PaperEntry) -> String {
    let mut text = entry.ours.value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"));
    if let (Some(low), Some(high)) = (entry.ours.low, entry.ours.high) {
        text.push_str(&format!(" [{low:.2}, {high:.2}]"));
    }
    if let Some(published) = entry.published {
        text.push_str(&format!(", paper {published:.2}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_intervals_and_the_papers_numbers() {
        let judged = |number: u32| JudgedSession {
            setting: "session/cross/code".parse().unwrap(),
            model: "openai/gpt-4-turbo".parse().unwrap(),
            trial: 0,
            item: format!("s-{number}").parse().unwrap(),
            score: f64::from(number % 3),
        };
        let line = |number: u32| {
            format!(
                r#"{{"setting": "session/cross/code", "model": "openai/gpt-4-turbo", "item": "s-{number}", "ratings": {{"ann": {}, "bob": {}}}}}"#,
                number % 3,
                number % 2
            )
        };
        let sessions: Vec<JudgedSession> = (0..6).map(judged).collect();
        let content: Vec<String> = (0..6).map(line).collect();
        let table = judge_alignment("ratings.jsonl", &content.join("\n"), &sessions).unwrap();
        insta::assert_snapshot!(render(&table));
    }
}

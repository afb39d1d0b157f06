//! `regatta align --audit`: scores as people would have given them to all sessions, from their ratings of some.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use regatta_benchmarks::{Measure, Unit};
use regatta_deciding::Audit;
use regatta_proto::{BenchmarkName, Evaluator, ItemId, Level, ModelRef, Setting, counted};
use regatta_report::statistics::audited_sessions;
use regatta_report::{Audited, AuditedNumber, GapMeans, Measures, MetricDefinition};
use serde::{Deserialize, Serialize};

use super::ratings::Ratings;
use crate::commands::compare::number;
use crate::exit::BadConfiguration;
use crate::plain_table::{fitted, plain_table};
use crate::results::ResultLine;

/// Intervals of fewer rated sessions cover too rarely where people and judge differ in a few of them alone.
const RATED_FEW: usize = regatta_proto::Audit::ITEMS_MIN;

/// Sessions of a run with a score of its judge.
pub(super) struct Judged<'r> {
    pub(super) results: &'r [ResultLine],
    pub(super) measures: &'r Measures,
    pub(super) evaluator: Evaluator,
    pub(super) score: &'r str,
    pub(super) level: Level,
}

/// Estimates of a score, as people would have it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Audits {
    evaluator: Evaluator,
    score: String,
    rows: Vec<AuditedRow>,
    /// Rated sessions that the judge gave no score to after an answer of the model.
    left_out: u64,
}

/// The score of a model in a setting. Values are in the metric's own scale.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct AuditedRow {
    benchmark: BenchmarkName,
    setting: Setting,
    model: ModelRef,
    unit: Unit,
    /// Sessions that the judge scored.
    sessions: usize,
    /// Number of them that people rated.
    rated: usize,
    /// Mean of the judge's scores.
    judge: f64,
    /// `None` where too few are rated for an interval.
    audited: Option<Audited>,
    /// Means of the judge's scores of the rated sessions and of the others, where these are further apart than chance explains.
    gap: Option<GapMeans>,
}

/// A line of ratings.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RatedSession {
    setting: Setting,
    model: ModelRef,
    #[serde(default)]
    trial: u16,
    item: ItemId,
    /// By name of the person, in the scale of the score.
    ratings: BTreeMap<String, f64>,
}

type Key<'k> = (&'k Setting, &'k ModelRef, u16, &'k ItemId);
type Place<'k> = (&'k BenchmarkName, &'k Setting, &'k ModelRef);

/// A session with a score of the judge.
struct Session<'r> {
    line: &'r ResultLine,
    unit: Unit,
    range: (f64, f64),
    score: f64,
}

impl<'r> Judged<'r> {
    /// Corrects the mean of the score of each model in each setting that has rated sessions.
    ///
    /// # Errors
    /// When the score is no mean over items with two ends, or a rating is of no session of the run, beyond these ends, or given twice.
    pub(super) fn audits(&self, ratings: &Ratings) -> anyhow::Result<Audits> {
        let sessions = self.sessions()?;
        let lines = read(&ratings.file, &ratings.content)?;
        let known: BTreeSet<Key<'_>> = self.results.iter().map(key).collect();
        let mut rated: BTreeMap<Key<'_>, f64> = BTreeMap::new();
        let mut left_out = 0;
        for (number, line) in &lines {
            let wrong =
                |problem: String| BadConfiguration(format!("{}, line {number}: {problem}", ratings.file.display()));
            let RatedSession { setting, model, trial, item, .. } = line;
            let key = (setting, model, *trial, item);
            if !known.contains(&key) {
                let problem = format!("the run has no session of {item} in trial {trial} of {model}, {setting}");
                return Err(wrong(problem).into());
            }
            let Some(session) = sessions.get(&key) else {
                left_out += 1;
                continue;
            };
            let Some(rating) = session.mean(&line.ratings).map_err(wrong)? else { continue };
            if rated.insert(key, rating).is_some() {
                let problem = format!("the session of {item} is rated a second time; put all ratings into one line");
                return Err(wrong(problem).into());
            }
        }
        let mut by_row: BTreeMap<Place<'_>, Vec<(&Session<'_>, Option<f64>)>> = BTreeMap::new();
        for (key, session) in &sessions {
            let ResultLine { benchmark, setting, model, .. } = session.line;
            by_row.entry((benchmark, setting, model)).or_default().push((session, rated.get(key).copied()));
        }
        let rows: Vec<AuditedRow> = by_row.values().filter_map(|of_row| self.row(of_row)).collect();
        if rows.is_empty() {
            let problem = format!("{} rates no session that the judge gave a score to", ratings.file.display());
            return Err(BadConfiguration(problem).into());
        }
        Ok(Audits { evaluator: self.evaluator, score: self.score.to_owned(), rows, left_out })
    }

    /// The metric that is the mean over items of the score, in the setting of `line`.
    fn definition(&self, line: &ResultLine) -> Option<&'r MetricDefinition> {
        let of_setting = self.measures.benchmarks.get(&line.benchmark)?.settings.get(&line.setting)?;
        of_setting.iter().find(|of| match &of.measure {
            Measure::Mean { value } => of.evaluator == self.evaluator && value.as_str() == self.score,
            Measure::Ratio { .. }
            | Measure::F1 { .. }
            | Measure::Pooled { .. }
            | Measure::GroupMean { .. }
            | Measure::Average { .. } => false,
        })
    }

    /// Sessions in which the model answered and the judge gave the score. One that the model's failure ended has the same score by everybody.
    fn sessions(&self) -> anyhow::Result<BTreeMap<Key<'r>, Session<'r>>> {
        let mut sessions = BTreeMap::new();
        for line in self.results.iter().filter(|line| line.outcome == "measured") {
            let Some(definition) = self.definition(line) else { continue };
            let (Some(low), Some(high)) = (definition.low, definition.high) else { continue };
            let contribution = line.scores.as_ref().and_then(|scores| definition.contribution(scores));
            let Some(score) = contribution.and_then(|contribution| contribution.value()) else { continue };
            let session = Session { line, unit: definition.unit, range: (low, high), score };
            if sessions.insert(key(line), session).is_some() {
                let problem = format!(
                    "two benchmarks of the run have a session of {} in {}, which ratings do not tell apart",
                    line.item, line.setting
                );
                return Err(BadConfiguration(problem).into());
            }
        }
        if sessions.is_empty() {
            let problem = format!(
                "no metric of {} is a mean over items of {:?} with a least and a largest value, and no other is corrected; choose another --score",
                self.evaluator, self.score
            );
            return Err(BadConfiguration(problem).into());
        }
        Ok(sessions)
    }

    /// The estimate from the sessions of a model in a setting, each with what people say of it; `None` where they rated none.
    fn row(&self, sessions: &[(&Session<'r>, Option<f64>)]) -> Option<AuditedRow> {
        let (first, _) = sessions.first()?;
        let rated = sessions.iter().filter(|(_, rating)| rating.is_some()).count();
        if rated == 0 {
            return None;
        }
        let ResultLine { benchmark, setting, model, .. } = first.line;
        let groups = self.measures.benchmarks.get(benchmark).map(|measures| &measures.groups);
        let mut clusters: BTreeMap<(bool, &str), u32> = BTreeMap::new();
        let mut audits = Vec::with_capacity(sessions.len());
        for (session, rating) in sessions {
            let item = &session.line.item;
            let group = groups.and_then(|groups| groups.get(item));
            let name = group.map_or((false, item.as_str()), |group| (true, group.as_str()));
            let next = clusters.len() as u32;
            let cluster = *clusters.entry(name).or_insert(next);
            audits.push(Audit { cluster, cheap: session.score, expensive: *rating });
        }
        let (audited, gap) = audited_sessions(&audits, first.range, self.level);
        Some(AuditedRow {
            benchmark: benchmark.clone(),
            setting: setting.clone(),
            model: model.clone(),
            unit: first.unit,
            sessions: sessions.len(),
            rated,
            judge: audits.iter().map(|audit| audit.cheap).sum::<f64>() / audits.len() as f64,
            audited,
            gap,
        })
    }
}

impl Session<'_> {
    /// Mean of what people say of the session; `None` where nobody says anything.
    fn mean(&self, ratings: &BTreeMap<String, f64>) -> Result<Option<f64>, String> {
        let (low, high) = self.range;
        match ratings.iter().find(|(_, rating)| !(low..=high).contains(*rating)) {
            Some((person, rating)) => {
                Err(format!("{rating} of {person} is not in the scale of the score, {low} to {high}"))
            }
            None if ratings.is_empty() => Ok(None),
            None => Ok(Some(ratings.values().sum::<f64>() / ratings.len() as f64)),
        }
    }
}

fn key(line: &ResultLine) -> Key<'_> {
    (&line.setting, &line.model, line.trial, &line.item)
}

/// The lines of `content`, which is that of `file`, with their numbers.
fn read(file: &Path, content: &str) -> anyhow::Result<Vec<(usize, RatedSession)>> {
    let lines = (1..).zip(content.lines()).filter(|(_, line)| !line.trim().is_empty());
    let rated = |(number, line): (usize, &str)| -> anyhow::Result<(usize, RatedSession)> {
        let rated = serde_json::from_str(line);
        Ok((number, rated.map_err(|error| BadConfiguration(format!("{}, line {number}: {error}", file.display())))?))
    };
    lines.map(rated).collect()
}

impl Audits {
    /// A table with a line for each model and setting.
    pub(super) fn render(&self) -> String {
        let mut table = plain_table();
        table.set_header([
            "model",
            "setting",
            "judge",
            "as people",
            "people alone",
            "bias of the judge",
            "rated",
            "worth",
        ]);
        for row in &self.rows {
            let mut cells =
                vec![row.model.to_string(), format!("{} {}", row.benchmark, row.setting), number(row.judge, row.unit)];
            cells.extend(match &row.audited {
                Some(audited) => [audited.estimate, audited.alone, audited.bias].map(|of| with_interval(&of, row.unit)),
                None => ["–", "–", "–"].map(str::to_owned),
            });
            cells.push(format!("{} of {}", row.rated, row.sessions));
            cells.push(row.audited.as_ref().map_or_else(|| "–".to_owned(), worth));
            table.add_row(cells);
        }
        format!("{} ({}), as people would have it\n{}", self.score, self.evaluator, fitted(table))
    }

    /// Sentences on what the estimates stand on.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "an estimate holds if the rated sessions are a random sample of those that the judge scored, as `Sample of` on the run's page \
             draws one, and were rated without a look at the judge's scores"
                .to_owned(),
        ];
        for row in &self.rows {
            let place = format!("{} in {} {}", row.model, row.benchmark, row.setting);
            if let Some(gap) = &row.gap {
                notes.push(format!(
                    "{place}: the rated sessions are no random sample; the judge gives {} to them and {} to the others",
                    number(gap.audited, row.unit),
                    number(gap.missing, row.unit)
                ));
            }
            if row.audited.is_none() {
                notes.push(format!(
                    "{place}: no interval follows from {}; rate sessions of more items",
                    counted(row.rated as u64, "rated session", "rated sessions")
                ));
            } else if row.rated < RATED_FEW {
                notes
                    .push(format!("{place}: of fewer than {RATED_FEW} rated sessions an interval may hold too rarely"));
            }
        }
        if self.left_out > 0 {
            let sessions = counted(self.left_out, "rated session", "rated sessions");
            notes.push(format!("{sessions} without a score of the judge after an answer left out"));
        }
        notes
    }
}

/// Rated sessions that would give the same interval without the judge.
fn worth(of: &Audited) -> String {
    format!("{:.0} sessions", (of.saving * f64::from(of.items)).floor())
}

fn with_interval(of: &AuditedNumber, unit: Unit) -> String {
    format!("{} [{}, {}]", number(of.value, unit), number(of.low, unit), number(of.high, unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ended_run::EndedRun;
    use crate::ended_run::testing::{Made, right};

    /// A run of 100 sessions, of which the judge calls the first 60 right.
    fn run() -> EndedRun {
        Made { scores: right(60, 100), ..Made::default() }.run("runs/rated")
    }

    fn judged<'r>(run: &'r EndedRun, score: &'r str) -> Judged<'r> {
        Judged {
            results: &run.results,
            measures: &run.measures,
            evaluator: Evaluator::Official,
            score,
            level: Level::USUAL,
        }
    }

    fn line(at: usize, ratings: &str) -> String {
        format!(
            r#"{{"setting": "two-shot", "model": "openai/gpt-5", "item": "item-{at:03}", "ratings": {{{ratings}}}}}"#
        )
    }

    fn ratings(lines: &[String]) -> Ratings {
        Ratings { file: "ratings.jsonl".into(), content: lines.join("\n") }
    }

    /// Two people rate the sessions at which `is_rated` holds: they agree with the judge, but for one in five of what it calls right.
    fn people(is_rated: impl Fn(usize) -> bool) -> Ratings {
        let said = |at: usize| {
            let rating = u8::from(at < 60 && !at.is_multiple_of(10));
            line(at, &format!(r#""ann": {rating}, "bob": {rating}"#))
        };
        ratings(&(0..100).filter(|at| is_rated(*at)).map(said).collect::<Vec<_>>())
    }

    fn problem(ratings: &Ratings) -> String {
        judged(&run(), "success").audits(ratings).unwrap_err().to_string()
    }

    #[test]
    fn ratings_of_a_sample_correct_the_judge_of_all_and_say_its_bias() {
        let run = run();
        let found = judged(&run, "success").audits(&people(|at| at.is_multiple_of(2))).unwrap();
        let row = &found.rows[0];
        let audited = row.audited.unwrap();
        assert_eq!((found.rows.len(), row.sessions, row.rated, row.gap), (1, 100, 50, None));
        // 24 of the 50 are right as people have it, and 30 as the judge has it.
        assert!((row.judge - 0.6).abs() < 1e-9 && (audited.alone.value - 0.48).abs() < 1e-9, "{row:?}");
        assert!((audited.estimate.value - 0.48).abs() < 1e-9 && (audited.bias.value - 0.12).abs() < 1e-9, "{row:?}");
        assert!(audited.estimate.high - audited.estimate.low < audited.alone.high - audited.alone.low, "{row:?}");
        let shown = found.render();
        assert!(shown.starts_with("success (official), as people would have it\n"), "{shown}");
        assert!(shown.contains("60.0") && shown.contains("48.0 [") && shown.contains("50 of 100"), "{shown}");
        assert!(shown.lines().all(|line| line.trim_end().chars().count() <= 100), "as wide as a terminal: {shown}");
        let notes = found.notes();
        assert!(notes.len() == 1 && notes[0].contains("a random sample"), "{notes:?}");
    }

    #[test]
    fn sessions_that_people_picked_are_called_no_random_sample() {
        let run = run();
        let found = judged(&run, "success").audits(&people(|at| at < 40)).unwrap();
        let notes = found.notes().join("\n");
        assert!(
            notes.contains("the rated sessions are no random sample; the judge gives 100.0 to them and 33.3 to"),
            "{notes}"
        );
    }

    #[test]
    fn few_ratings_are_said_to_be_few() {
        let run = run();
        let of = |count: usize| judged(&run, "success").audits(&people(|at| at >= 100 - count)).unwrap();
        assert!(of(20).notes().join("\n").contains("of fewer than 30 rated sessions an interval may hold too rarely"));
        let one = of(1);
        assert!(one.notes().join("\n").contains("no interval follows from 1 rated session;"), "{one:?}");
        assert!(one.render().contains('–'));
    }

    #[test]
    fn a_session_that_the_models_failure_ended_is_no_part_of_what_is_estimated() {
        let mut run = run();
        run.results[99].outcome = "model_failure".to_owned();
        let found = judged(&run, "success").audits(&people(|at| at % 3 == 0)).unwrap();
        assert_eq!((found.rows[0].sessions, found.left_out), (99, 1));
        assert!(
            found.notes().join("\n").contains("1 rated session without a score of the judge after an answer left out")
        );
    }

    #[test]
    fn ratings_that_cannot_be_taken_are_errors_with_their_line() {
        let good = line(1, r#""ann": 1"#);
        let of = |second: &str| problem(&ratings(&[good.clone(), second.to_owned()]));
        assert_eq!(
            of(&line(2, r#""ann": 7"#)),
            "ratings.jsonl, line 2: 7 of ann is not in the scale of the score, 0 to 1"
        );
        assert!(of(&line(1, r#""bob": 1"#)).contains("line 2: the session of item-001 is rated a second time"));
        assert!(of(&line(100, r#""ann": 1"#)).contains("line 2: the run has no session of item-100 in trial 0"));
        assert!(of("{").starts_with("ratings.jsonl, line 2: EOF"));
        assert!(problem(&ratings(&[])).contains("rates no session that the judge gave a score to"));
    }

    #[test]
    fn a_score_that_is_no_mean_over_items_is_refused() {
        let run = run();
        let error = judged(&run, "other").audits(&people(|at| at < 50)).unwrap_err().to_string();
        assert!(error.starts_with("no metric of official is a mean over items of \"other\""), "{error}");
    }
}

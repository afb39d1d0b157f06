//! From a sweep's rows, given cell by cell, to every document it leaves behind. Knows neither ledger nor store nor clock.

mod agent_ends;
mod aggregates;
pub(crate) mod comparisons;
mod csv_text;
mod error;
mod filtered;
mod flag_counts;
mod group;
mod jackknife;
mod lines;
mod metrics;
pub(crate) mod partition;
mod per_session;
mod results;
mod sampled;
mod spending;
mod tables;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use regatta_backends::{
    AttemptRow, AttemptState, CallSums, CellProgress, JudgeCosts, MetricRow, SessionRow, SweepCost, TranscriptRef,
};
use regatta_catalog::Sweep;
use regatta_proto::{Cause, Cell, CellIndex, ItemIndex, ModelRef, Money, Outcome, SweepState};

use self::agent_ends::agent_notes;
use self::comparisons as pairs_csv;
pub use self::error::TabulationError;
use self::flag_counts::{cached_note, flag_notes};
use self::group::Group;
pub(crate) use self::group::{GroupResult, deciding_key, is_simulated};
use self::per_session::Usages;
#[cfg(test)]
pub(crate) use self::sampled::SampledSessions;
use self::spending::SessionEnd;
use crate::canaries::CanaryAnswers;
use crate::comparison::comparisons;
use crate::decided::Deciding;
use crate::decision::alternatives;
use crate::durations::{Durations, is_answered, running_seconds};
use crate::failures::{Failure, Place, place};
use crate::findings::{findings, simulated_audits};
use crate::pairs::{Ranking, families, rankings};
use crate::report::{Report, missing_audits};
use crate::runs::Measures;
use crate::standings::standings;
use crate::summary::{
    AuditFindings, BenchmarkTable, JudgeSpending, Judging, LeaderboardRow, SessionCounts, Spending, Summary,
    SummaryMetric,
};
use crate::tradeoffs::Amounts;

/// Names of the documents that every sweep leaves behind; tables of its benchmarks come on top.
pub const DOCUMENTS: [&str; 10] = [
    "attempts.jsonl",
    "comparisons.csv",
    "measures.json",
    "metrics.csv",
    "metrics.json",
    "report.html",
    "report.md",
    "results.jsonl",
    "summary.json",
    "sweep.lock.yaml",
];

/// Collects a sweep's sessions in the order of its cells.
pub struct Tabulation<'s> {
    sweep: &'s Sweep,
    /// Contests of an adaptive sweep, with the sessions that were bought.
    deciding: Deciding<'s>,
    results: Vec<u8>,
    open: Option<Group<'s>>,
    groups: Vec<GroupResult>,
    counting: HashMap<Place, Counting>,
    /// Sessions with a score.
    scored: HashSet<Place>,
    /// Few distinct lists are shared by many sessions.
    served: HashSet<Arc<[String]>>,
}

/// The attempt of a session that counts.
struct Counting {
    number: u32,
    /// Models and versions that answered it, one line each.
    served: Arc<[String]>,
}

/// Facts about a sweep beside its scores, for the documents.
pub struct Circumstances {
    /// State in which it ends.
    pub state: SweepState,
    /// When it was submitted.
    pub created_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// All attempts at its sessions.
    pub attempts: Vec<AttemptRow>,
    /// Known and possible cost.
    pub cost: SweepCost,
    /// Spending of each judge.
    pub judges: Vec<JudgeCosts>,
    /// Sums over the calls of each cell.
    pub calls: Vec<(CellIndex, CallSums)>,
    /// Message of the failure of each session that [`Tabulation::examples`] names, if it has one.
    pub said: BTreeMap<Place, String>,
    /// Answers to the items that every run asks.
    pub canaries: Vec<CanaryAnswers>,
}

/// Documents and metrics that a sweep leaves behind.
pub struct Documents {
    /// Contents of the documents, with their names.
    pub files: Vec<(String, Vec<u8>)>,
    /// Metrics, as the ledger keeps them.
    pub metrics: Vec<MetricRow>,
}

impl<'s> Tabulation<'s> {
    /// A tabulation of `sweep`, whose cells have sessions as `progress` says.
    ///
    /// # Errors
    /// When the sweep asks what cannot be decided.
    pub fn new(sweep: &'s Sweep, progress: &[CellProgress]) -> Result<Self, TabulationError> {
        Ok(Self {
            sweep,
            deciding: Deciding::new(sweep, progress)?,
            results: Vec::new(),
            open: None,
            groups: Vec::new(),
            counting: HashMap::new(),
            scored: HashSet::new(),
            served: HashSet::new(),
        })
    }

    /// Adds the settled sessions of the next cell.
    ///
    /// # Errors
    /// When stored scores are none, or a line cannot be written.
    pub fn add(&mut self, cell: &'s Cell, rows: &[SessionRow]) -> Result<(), TabulationError> {
        for row in rows.iter().filter(|row| !row.served.is_empty()) {
            let known = self.served.get(row.served.as_slice()).cloned();
            let served = known.unwrap_or_else(|| Arc::from(row.served.as_slice()));
            self.served.insert(served.clone());
            self.counting.insert((cell.index, row.item), Counting { number: row.attempt, served });
        }
        let scored = rows.iter().filter(|row| match row.outcome {
            Outcome::Measured | Outcome::ModelFailure { .. } => true,
            Outcome::NotMeasured { .. } => false,
        });
        self.scored.extend(scored.map(|row| (cell.index, row.item)));
        if cell.trial.0 == 0 {
            self.groups.extend(self.open.take().map(Group::finish));
            self.open = Group::new(self.sweep, cell);
        }
        self.deciding.add(cell, rows);
        match &mut self.open {
            Some(group) => group.add(cell, rows, self.deciding.bought(cell), &mut self.results),
            None => Ok(()),
        }
    }

    /// All sessions added so far.
    fn sessions(&self) -> SessionCounts {
        let mut sessions = SessionCounts::default();
        self.groups.iter().for_each(|group| sessions.add(&group.sessions));
        self.open.iter().for_each(|group| sessions.add(group.sessions()));
        sessions
    }

    /// The state in which the sweep ends, when all cells were added.
    #[must_use]
    pub fn end_state(&self) -> SweepState {
        let sessions = self.sessions();
        if sessions.scored() == sessions.total {
            SweepState::Complete
        } else if self.out_of_budget() > 0 || (sessions.not_run > 0 && self.sweep.lock.budget_usd.is_some()) {
            SweepState::StoppedByBudget
        } else {
            SweepState::Incomplete
        }
    }

    /// Sessions added so far that were not measured because a budget was used up.
    fn out_of_budget(&self) -> u64 {
        let finished = self.groups.iter().map(|group| &group.outcomes);
        let all = finished.chain(self.open.iter().map(Group::outcomes));
        all.filter_map(|outcomes| outcomes.get(&("not_measured", Cause::Budget.as_str()))).sum()
    }

    /// A session of each way not to end well, of each benchmark, setting and model added so far.
    #[must_use]
    pub fn examples(&self) -> Vec<(CellIndex, ItemIndex, TranscriptRef)> {
        let finished = self.groups.iter().map(|group| &group.examples);
        finished.chain(self.open.iter().map(Group::examples)).flat_map(|of| of.values().cloned()).collect()
    }

    /// The numbers of every benchmark, setting and model, when all cells were added.
    pub(crate) fn into_groups(mut self) -> Vec<GroupResult> {
        self.groups.extend(self.open.take().map(Group::finish));
        self.groups
    }

    /// Sums over the answered sessions among those added so far.
    pub(crate) fn usages(&self, attempts: &[AttemptRow]) -> Usages {
        let cut_off = cut_off(attempts);
        let answered: HashSet<Place> = self.scored.difference(&cut_off).copied().collect();
        Usages::of(attempts, &answered)
    }

    /// The documents, when all cells were added.
    ///
    /// # Errors
    /// When a document cannot be written as JSON, YAML or CSV.
    pub fn finish(mut self, circumstances: &Circumstances) -> Result<Documents, TabulationError> {
        self.groups.extend(self.open.take().map(Group::finish));
        self.groups.sort_by_key(|group| self.sweep.lock.place(&group.first));
        let attempts = spending::lines(self.sweep, &circumstances.attempts, |attempt| {
            let counting = self.counting.get(&(attempt.key.cell, attempt.key.item))?;
            (counting.number == attempt.number).then_some(&*counting.served)
        })?;
        let tables = tables::tables(self.sweep, &self.groups, &self.usages(&circumstances.attempts));
        let metrics = metrics::json(self.sweep, &self.groups, &tables)?;
        let csv_of = |table| Ok((tables::file_name(table), tables::csv(table)?));
        let of_tables = tables.iter().map(csv_of).collect::<Result<Vec<_>, TabulationError>>()?;
        let summary = self.summary(circumstances, tables);
        let report = Report::new(&summary, &self.groups, self.sweep);
        let named = [
            ("sweep.lock.yaml", self.sweep.lock.to_yaml()?.into_bytes()),
            ("metrics.json", metrics),
            ("metrics.csv", metrics::csv(self.sweep, &self.groups)?),
            ("comparisons.csv", pairs_csv::csv(&summary.pairs)?),
            ("measures.json", lines::document("measures.json", &Measures::of(self.sweep, &self.groups))?),
            ("attempts.jsonl", attempts),
            ("report.md", report.markdown().into_bytes()),
            ("report.html", report.html().into_bytes()),
            ("results.jsonl", self.results),
        ];
        let mut files = of_tables;
        files.extend(named.map(|(name, content)| (name.to_owned(), content)));
        // Last: whoever sees it sees all the others.
        files.push(("summary.json".to_owned(), lines::document("summary.json", &summary)?));
        Ok(Documents { files, metrics: metrics::ledger_rows(&self.groups) })
    }

    fn summary(&self, circumstances: &Circumstances, tables: Vec<BenchmarkTable>) -> Summary {
        let lock = &self.sweep.lock;
        let mut by_cell: BTreeMap<CellIndex, Spending> = BTreeMap::new();
        let cut_off = cut_off(&circumstances.attempts);
        for attempt in &circumstances.attempts {
            let end = match place(attempt) {
                place if !self.scored.contains(&place) => SessionEnd::Unscored,
                place if cut_off.contains(&place) => SessionEnd::CutOff,
                _ => SessionEnd::Answered,
            };
            by_cell.entry(attempt.key.cell).or_default().add(&spending::spending(attempt, end));
        }
        let sessions = self.sessions();
        let mut spent = Spending::default();
        by_cell.values().for_each(|cell| spent.add(cell));
        // Tests of samples of a fixed size do not hold for one whose size hangs on what was seen; the sequences do.
        let is_adaptive = lock.decide.is_some();
        let pairs = if is_adaptive { Vec::new() } else { families(self.sweep, &self.groups) };
        let ranks = if is_adaptive { Vec::new() } else { rankings(&self.groups, &pairs, lock.level) };
        let durations = Durations::new(&circumstances.attempts, &self.scored, &circumstances.calls);
        let rows = self.rows(&by_cell, &ranks, &durations, &circumstances.said);
        let models: Vec<ModelRef> = lock.models.iter().map(|model| model.id.clone()).collect();
        let mut standings = standings(&models, &rows, &pairs, lock.level, |model| {
            let of_model = self.groups.iter().filter(|group| group.first.model == *model);
            let cells: Vec<CellIndex> = of_model.flat_map(cells_of).collect();
            (durations.of_sessions(&cells), durations.of_calls(&cells))
        });
        if is_adaptive {
            standings.iter_mut().for_each(|standing| (standing.rank, standing.groups) = (None, String::new()));
        }
        let comparisons = comparisons(self.sweep, &self.groups, &rows, &circumstances.calls);
        let replaced = if is_adaptive { Vec::new() } else { alternatives(&comparisons, &standings) };
        let amounts = Amounts::new(&circumstances.attempts, &self.scored, &circumstances.calls);
        let tradeoffs = amounts.tradeoffs(&self.groups, &replaced, lock.level);
        let judges: Vec<JudgeSpending> = circumstances.judges.iter().map(JudgeSpending::from).collect();
        let judging = judges.iter().fold(Judging::default(), |mut sum, of| {
            sum.usage += of.usage;
            sum.cost += of.cost;
            sum
        });
        let audits = findings(self.sweep, &self.groups, &judges);
        let wall = circumstances.ended_at.duration_since(circumstances.created_at);
        let all_calls = all_calls(&circumstances.calls);
        Summary {
            v: Summary::VERSION,
            sweep: self.sweep.id.clone(),
            state: circumstances.state,
            regatta: lock.regatta.clone(),
            created_at: circumstances.created_at,
            ended_at: circumstances.ended_at,
            wall_seconds: (wall.as_millis().max(0) as f64) / 1000.0,
            running_seconds: running_seconds(&circumstances.attempts),
            trials: lock.trials,
            level: lock.level,
            coverage_min: lock.coverage_min,
            sessions,
            spending: spent,
            failed_tries: all_calls.failed,
            saved: all_calls.saved,
            reported: all_calls.reported,
            others: all_calls.others,
            judging,
            at_most: (circumstances.cost.in_doubt() > Money::ZERO).then_some(circumstances.cost.at_most),
            decided: self.deciding.decided(&by_cell, judging.cost, circumstances.state),
            notes: self.notes(&rows, &sessions, &audits),
            audits,
            judges,
            comparisons,
            standings,
            tradeoffs,
            rows,
            pairs,
            ranks,
            tables,
            canaries: circumstances.canaries.clone(),
        }
    }

    fn rows(
        &self,
        spent: &BTreeMap<CellIndex, Spending>,
        ranks: &[Ranking],
        durations: &Durations<'_>,
        said: &BTreeMap<Place, String>,
    ) -> Vec<LeaderboardRow> {
        let of_group = |group| self.row(group, spent, durations, said);
        let mut rows: Vec<LeaderboardRow> = self.groups.iter().map(of_group).collect();
        let setting = |row: &LeaderboardRow| {
            let same =
                |group: &GroupResult| group.first.benchmark == row.benchmark && group.first.setting == row.setting;
            self.groups.iter().position(same)
        };
        // Without a value, last.
        let rank = |row: &LeaderboardRow| {
            let is_of =
                |of: &&Ranking| of.benchmark == row.benchmark && of.setting == row.setting && of.model == row.model;
            ranks.iter().find(is_of).map_or((u32::MAX, u32::MAX), |of| (of.rank.best, of.rank.worst))
        };
        // Stable: models that are tied stay in the order of the lock, since their values differ by chance.
        rows.sort_by_key(|row| (setting(row), rank(row)));
        rows
    }

    fn row(
        &self,
        group: &GroupResult,
        spent: &BTreeMap<CellIndex, Spending>,
        durations: &Durations<'_>,
        said: &BTreeMap<Place, String>,
    ) -> LeaderboardRow {
        let cells: Vec<CellIndex> = cells_of(group).collect();
        let mut spending = Spending::default();
        for cell in &group.cells {
            spending.add(spent.get(&cell.cell.index).unwrap_or(&Spending::default()));
        }
        let metrics = group.keys.iter().zip(&group.estimates).enumerate();
        LeaderboardRow {
            benchmark: group.first.benchmark.clone(),
            setting: group.first.setting.clone(),
            model: group.first.model.clone(),
            simulated: group.simulated,
            judge: self.sweep.benchmark(&group.first).and_then(|lock| Some(lock.judge.as_ref()?.name())),
            items: group.items,
            sessions: group.sessions,
            coverage: coverage(group),
            metrics: metrics
                .map(|(at, ((evaluator, metric), estimate))| SummaryMetric {
                    evaluator: *evaluator,
                    metric: metric.name.clone(),
                    unit: metric.unit,
                    better: metric.better,
                    of_sums: metric.measure.is_of_sums(),
                    headline: group.headline.contains(&at),
                    estimate: *estimate,
                    passes: group.passes[at].clone(),
                })
                .collect(),
            flags: group.flags.clone(),
            filtered: group.filtered.clone(),
            failures: failures(group, said),
            cached: durations.cached(&cells),
            session_seconds: durations.of_sessions(&cells),
            seconds_in_calls: durations.in_calls(&cells),
            call_seconds: durations.of_calls(&cells),
            spending,
        }
    }

    fn notes(&self, rows: &[LeaderboardRow], sessions: &SessionCounts, audits: &[AuditFindings]) -> Vec<String> {
        let mut notes = Vec::new();
        let mut simulated: Vec<String> = Vec::new();
        for row in rows.iter().filter(|row| row.simulated) {
            let model = row.model.to_string();
            if !simulated.contains(&model) {
                simulated.push(model);
            }
        }
        if !simulated.is_empty() {
            notes.push(format!("Simulated, not real models: {}.", simulated.join(", ")));
        }
        for (benchmark, lock) in &self.sweep.lock.benchmarks {
            let Some(judge) = &lock.judge else { continue };
            if !judge.ids().into_iter().any(|member| is_simulated(self.sweep, member)) {
                continue;
            }
            notes.push(format!(
                "The judge of {benchmark}, {judge}, is simulated: scores are not comparable with published ones."
            ));
        }
        notes.extend(simulated_audits(self.sweep));
        for group in self.groups.iter().filter(|group| group.served.len() > 1) {
            let answers = group.served.iter().map(|(label, sessions)| format!("{label} ({sessions})"));
            notes.push(format!(
                "{} was answered by different things, and its numbers mix them: {}.",
                group.first.model,
                answers.collect::<Vec<_>>().join(", ")
            ));
        }
        if self.sweep.lock.decide.is_some() {
            notes.push(
                "The sweep stopped by what it saw: its sequences hold whenever it stopped, but intervals beside single values are those of \
                 samples whose size was fixed beforehand."
                    .to_owned(),
            );
        }
        let missing = sessions.total - sessions.scored();
        if missing > 0 {
            let what_follows = match sessions.scored() {
                0 => "there are no values.",
                _ => {
                    "values are means over the others, and intervals reach from where these would be if all the rest were wrong to where they would be if all were right."
                }
            };
            notes.push(format!(
                "{missing} of {} sessions have no score ({} not measured, {} not run): {what_follows}",
                sessions.total, sessions.not_measured, sessions.not_run
            ));
        }
        notes.extend(self.groups.iter().flat_map(ungraded_notes));
        notes.extend(missing_audits(audits));
        notes.extend(rows.iter().filter(|row| row.cached > 0).map(cached_note));
        notes.extend(rows.iter().flat_map(flag_notes));
        notes.extend(agent_notes(&self.groups, rows));
        let poison = ("not_measured", Cause::Poison.as_str());
        let poisoned: u64 = self.groups.iter().filter_map(|group| group.outcomes.get(&poison)).sum();
        if let Some((cell, item)) = self.groups.iter().find_map(|group| group.poisoned) {
            notes.push(format!(
                "The requests of {poisoned} sessions failed again and again and are not sent any more. `regatta replay DIRECTORY` lists \
                 them; `regatta replay DIRECTORY {cell} {item}` sends the first of them once more."
            ));
        }
        if self.groups.iter().any(|group| is_partial(self.sweep, &group.first)) {
            notes.push(
                "Only a part of the data set was run: averages are not comparable with published ones.".to_owned(),
            );
        }
        notes
    }
}

/// Counts the cached answers of `attempts` that an older version recorded: there are none where its cell has none.
pub fn count_cached(attempts: &mut [AttemptRow], calls: &[(CellIndex, CallSums)]) {
    let with_cached: BTreeSet<CellIndex> =
        calls.iter().filter(|(_, sums)| sums.from_cache > 0).map(|(cell, _)| *cell).collect();
    for attempt in attempts.iter_mut().filter(|attempt| !with_cached.contains(&attempt.key.cell)) {
        attempt.cached_calls.get_or_insert(0);
    }
}

/// `true` if `cell` runs fewer items than its data set has for its setting. A limit that all items are within makes no part of them.
fn is_partial(sweep: &Sweep, cell: &Cell) -> bool {
    let all = sweep.suite(cell).and_then(|suite| suite.select(&cell.setting, &[], None).ok());
    all.is_some_and(|all| sweep.selected(cell).len() < all.len())
}

/// The part of the sessions that has a value of every metric on leaderboards, as far as one should be there.
fn coverage(group: &GroupResult) -> f64 {
    let of_headline = group.headline.iter().filter_map(|at| group.estimates.get(*at)).map(|estimate| estimate.coverage);
    of_headline.fold(group.sessions.coverage(), f64::min)
}

/// Grades that are flagged as missing, in so many sessions with a score.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Lacking<'a> {
    flags: Vec<&'a str>,
    sessions: u64,
}

/// A warning for the metrics on leaderboards that sessions with a score should have a value of, and have none: one for all that lack the
/// same grade.
fn ungraded_notes(group: &GroupResult) -> Vec<String> {
    let unscored = group.sessions.total - group.sessions.scored();
    let mut lacking: BTreeMap<Lacking<'_>, Vec<(&str, bool)>> = BTreeMap::new();
    for at in &group.headline {
        let ((_, metric), estimate) = (&group.keys[*at], &group.estimates[*at]);
        let sessions = u64::from(estimate.total - estimate.scored).saturating_sub(unscored);
        if sessions > 0 {
            let flags = metric.missing_if.values().map(String::as_str).collect();
            let metrics = lacking.entry(Lacking { flags, sessions }).or_default();
            metrics.push((&metric.name, estimate.value.is_some()));
        }
    }
    let note = |(Lacking { flags, sessions }, metrics): (Lacking<'_>, Vec<(&str, bool)>)| {
        let names: Vec<&str> = metrics.iter().map(|(name, _)| *name).collect();
        let (them, its) = if names.len() == 1 { ("it", "its") } else { ("them", "their") };
        let what_follows = match metrics.iter().all(|(_, has_value)| !has_value) {
            true if names.len() == 1 => "it has no value.".to_owned(),
            true => "they have no values.".to_owned(),
            false => format!(
                "as far as it needs them, {its} value is that of the others, and {its} interval reaches over all that these could have had."
            ),
        };
        format!(
            "{} in {} {}: {sessions} of {} sessions have a score without {} ({}), and are missing in {them}: {what_follows}",
            group.first.model,
            group.first.benchmark,
            group.first.setting,
            group.sessions.total,
            names.join(", "),
            flags.join(", ")
        )
    };
    lacking.into_iter().map(note).collect()
}

/// Sessions whose attempt that counts a filter or the length of the context ended, or that has no score.
fn cut_off(attempts: &[AttemptRow]) -> HashSet<Place> {
    let is_cut_off = |attempt: &&AttemptRow| {
        attempt.state == AttemptState::Recorded && !attempt.outcome.as_ref().is_some_and(is_answered)
    };
    attempts.iter().filter(is_cut_off).map(place).collect()
}

fn cells_of(group: &GroupResult) -> impl Iterator<Item = CellIndex> {
    group.cells.iter().map(|cell| cell.cell.index)
}

/// Sessions of `group` that did not end well, the commonest way first.
fn failures(group: &GroupResult, said: &BTreeMap<Place, String>) -> Vec<Failure> {
    let ends = group.outcomes.iter().filter(|((outcome, _), _)| *outcome != Outcome::Measured.as_str());
    let failure = |(way, sessions): (&(&'static str, &'static str), &u64)| {
        let example = group.examples.get(way).and_then(|(cell, item, _)| said.get(&(*cell, *item)));
        Failure { outcome: way.0.to_owned(), cause: way.1.to_owned(), sessions: *sessions, said: example.cloned() }
    };
    let mut found: Vec<Failure> = ends.map(failure).collect();
    found.sort_by_key(|failure| std::cmp::Reverse(failure.sessions));
    found
}

/// Sums over the calls of all cells.
fn all_calls(calls: &[(CellIndex, CallSums)]) -> CallSums {
    let mut all = CallSums::default();
    calls.iter().for_each(|(_, sums)| all.merge(sums));
    all
}

#[cfg(test)]
pub(crate) mod tests;

//! `regatta rescore`: the stored sessions of a run, scored again with other evaluators or judges. No agent is asked anything, and nothing
//! in the old run changes.

mod difference;
pub(crate) mod until;
mod wish;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use regatta_backends::{AttemptRow, SessionRow};
use regatta_catalog::{StoredTranscript, Sweep};
use regatta_coordinator::{BudgetChange, JudgeCalls, Resumption};
use regatta_proto::{
    Attempt, AttemptId, Cause, CellIndex, ItemIndex, Money, Outcome, SessionKey, SessionOutcome, SweepLock, SweepSpec,
    SweepState, Transcript, WorkerId,
};
use regatta_scorer::{Bill, Rescoring};
use tempfile::TempDir;

use self::difference::Difference;
use self::until::Shares;
use super::check::Planned;
use super::run::store;
use crate::args::RescoreArgs;
use crate::client::Client;
use crate::embedded::{Embedded, Fewer};
use crate::exit::{BadConfiguration, bad_configuration, of_state};
use crate::fetched::{self, Reach};
use crate::output;
use crate::run_directory::{self, RUNS, beside};
use crate::signals::Leaving;
use crate::spec::{Loaded, check_judges, judges};
use crate::transcripts::{read_file, segments};
use crate::trust::{self, Rights, Wish};

/// A session of a run.
type Key = (CellIndex, ItemIndex);

/// Sessions without a transcript that are recorded at once.
const AT_ONCE: usize = 256;
/// File of the changes, in the directory of the new run.
const CHANGES: &str = "rescored.json";
/// End of the new directory's name, behind that of the old one.
const RESCORED: &str = "-rescored";
/// Exit code when judges would have to be asked, and nobody has agreed to that.
const NOT_AGREED: u8 = 2;

pub(crate) async fn run(args: RescoreArgs) -> anyhow::Result<ExitCode> {
    let wanted = args.until;
    let grows = match (&wanted, &args.spec) {
        (None, Some(spec)) => until::grows(spec).map_err(bad_configuration)?,
        (wanted, _) => wanted.is_some(),
    };
    if grows {
        return until::run(args, wanted).await;
    }
    Ok(match once(&args, None).await? {
        Ok(rescored) => {
            rescored.show();
            of_state(rescored.state)
        }
        Err(code) => code,
    })
}

/// A round of a rescoring in rounds, each of which scores the run of the one before.
#[derive(Clone, Copy)]
struct Round<'r> {
    /// Audits that it makes, instead of those of the spec.
    shares: &'r Shares,
    /// Directory of the run that the first round has scored; `None` in that round.
    first: Option<&'r Path>,
    /// Budget of the run that the rounds are a part of, its sessions included.
    budget: Option<f64>,
    /// The same, as it was raised since.
    raised: Option<Money>,
    /// `true` where the rounds are a part of a run: then their directories go on with a spec that has changed, as that of the run does.
    is_of_run: bool,
    /// Signals since the first round, or the run that the rounds are a part of; `None` before anything was asked.
    leaving: Option<&'r Leaving>,
}

/// A run that was scored again.
struct Rescored {
    /// The run that it was scored from.
    from: Place,
    directory: PathBuf,
    state: SweepState,
    lock: SweepLock,
    /// Budget that it has ended with.
    budget: Option<Money>,
    leaving: Leaving,
    /// Changes from the old run, as they are shown.
    difference: String,
    /// `true` where they are JSON.
    is_json: bool,
}

impl Rescored {
    fn show(&self) {
        output::line(&self.difference);
        if !self.is_json {
            output::note(&format!(
                "{} · report: {} · every change: {}",
                self.state,
                self.directory.join("report.html").display(),
                self.directory.join(CHANGES).display()
            ));
        }
    }
}

/// Scores the run again, by itself or as a round. An exit code where judges would have to be asked, and nobody has agreed to that, or where the
/// process was told to leave.
async fn once(args: &RescoreArgs, round: Option<Round<'_>>) -> anyhow::Result<Result<Rescored, ExitCode>> {
    let place = Place::find(args).await?;
    let directory = args.output.clone().unwrap_or_else(|| place.output.clone());
    let old = Run::open(&place.directory, trust_wish(args)).await?;
    let rights = &old.run.rights;
    if !rights.is_own {
        trust::tell_of_foreign(&args.run);
    }
    let mut loaded = wish::spec(args, &old.run, &old.sweep).await.map_err(bad_configuration)?;
    if let Some(Round { shares, .. }) = round {
        shares.enter(&mut loaded.spec, &old.sweep.lock)?;
    }
    let first = round.and_then(|round| round.first);
    let planned = Planned::from(wish::copy(&loaded), rights.benchmarks).await?;
    refuse_other_items(&old.sweep, &planned.sweep)?;
    let mut rescoring = Rescoring::new(old.run.ledger(), &old.sweep, &planned.sweep);
    let spent = old.visit(&planned.sweep, &mut rescoring).await?;
    let (calls, text) = price(&planned.sweep, &rescoring);
    output::note(&text);
    if calls > 0 {
        if !rights.is_own {
            trust::check_simulated(judges(&loaded.spec))?;
        }
        check_judges(&loaded.spec, &rights.policy)?;
    }
    let of_run = round.and_then(|round| round.budget);
    if calls > 0 && !args.yes && args.budget.is_none() {
        output::note("nothing was asked; ask with --yes, or for at most so many dollars with --budget");
        return Ok(Err(ExitCode::from(NOT_AGREED)));
    }
    // A budget is of the whole sweep, and what its sessions have cost already counts.
    let loaded = match args.budget {
        Some(dollars) => wish::with_budget(loaded, spent, dollars)?,
        None => Loaded { spec: SweepSpec { budget_usd: of_run, ..loaded.spec }, ..loaded },
    };
    let leaving = match round.and_then(|round| round.leaving) {
        Some(leaving) => leaving.clone(),
        None => Leaving::on_signals()?,
    };
    // Whoever stopped the process between two rounds wants nothing more to be paid for.
    if leaving.drain.is_cancelled() {
        return Ok(Err(interrupted()));
    }
    let (state, budget) = conclude(args, &old, loaded, &directory, round, &leaving).await?;
    if !state.is_end() {
        return Ok(Err(interrupted()));
    }
    let difference = Difference::between(first.unwrap_or(&place.directory), &directory)?;
    let path = directory.join(CHANGES);
    regatta_files::write(&path, serde_json::to_vec_pretty(&difference)?)
        .with_context(|| format!("failed to write {}", path.display()))?;
    let lock = planned.sweep.lock.clone();
    let difference = if args.json { serde_json::to_string_pretty(&difference)? } else { difference.render() };
    Ok(Ok(Rescored { from: place, directory, state, lock, budget, leaving, difference, is_json: args.json }))
}

/// Says that the process leaves before the new run has ended, and returns the exit code of that.
fn interrupted() -> ExitCode {
    output::note("interrupted; the same command continues where it stopped");
    of_state(SweepState::Incomplete)
}

fn trust_wish(args: &RescoreArgs) -> Wish<'_> {
    Wish { trusts: args.trust.trust, policy: args.policy.file.as_deref() }
}

/// Directories of the old run and, unless told otherwise, the new one.
struct Place {
    directory: PathBuf,
    output: PathBuf,
    /// Holds the copy of a coordinator's sweep as long as it is needed.
    _copy: Option<TempDir>,
}

impl Place {
    async fn find(args: &RescoreArgs) -> anyhow::Result<Self> {
        if let Some(directory) = run_directory::find(Path::new(&args.run)) {
            let output = beside(&directory, RESCORED);
            return Ok(Self { directory, output, _copy: None });
        }
        let sweep = run_directory::sweep_named(&args.run, &args.client)?;
        let folder = tempfile::tempdir().context("failed to create a folder for the sweep")?;
        let directory = folder.path().join(sweep.as_str());
        let copied = fetched::copy(&Client::new(&args.client)?, &sweep, &directory).await;
        match copied.map_err(|error| run_directory::nor_a_sweep(&args.run, &args.client, error))? {
            Reach::Whole => {}
            Reach::Files(problem) => return Err(BadConfiguration(problem).into()),
        }
        let output = beside(&Path::new(RUNS).join(sweep.as_str()), RESCORED);
        Ok(Self { directory, output, _copy: Some(folder) })
    }
}

/// Both sweeps have the same sessions.
fn refuse_other_items(old: &Sweep, new: &Sweep) -> anyhow::Result<()> {
    for (one, other) in old.cells().iter().zip(new.cells()) {
        let ids = |sweep: &Sweep, cell| -> Vec<_> {
            let selected = sweep.selected(cell).iter();
            selected.map(|index| (*index, sweep.item(cell, *index).map(|item| item.id.clone()))).collect()
        };
        if one != other || ids(old, one) != ids(new, other) {
            let problem = format!("{} {} has other items with this data than the run has", one.benchmark, one.setting);
            return Err(BadConfiguration(format!("{problem}; only judges and their prompts may differ")).into());
        }
    }
    Ok(())
}

/// Calls that are left to be made, and a sentence on their price.
fn price(sweep: &Sweep, rescoring: &Rescoring<'_>) -> (u64, String) {
    let mut all = JudgeCalls::NONE;
    for (judge, asked) in rescoring.questions() {
        if let Some(model) = sweep.lock.judge(judge) {
            all += JudgeCalls::of(&asked.question, &model, &sweep.lock, None);
        }
    }
    let known = rescoring.verdicts();
    let money = |money: Option<Money>| money.map_or_else(|| "unknown".to_owned(), |money| money.to_string());
    let text = match all.calls {
        0 => format!("{known} verdicts are known, and nothing has to be asked"),
        calls => format!(
            "{known} verdicts are known; {calls} questions are to be asked, and what their answers lead to: {} tokens in, about {}, at \
             most {}",
            all.input_tokens,
            money(all.cost),
            money(all.at_most)
        ),
    };
    (all.calls, text)
}

/// Records the old sessions in the new directory, has judges asked, and writes the reports. What judges have cost the old run is a part of the new
/// one's bill in later rounds. Returns the state of the new run, and its budget.
async fn conclude(
    args: &RescoreArgs,
    old: &Run,
    loaded: Loaded,
    directory: &Path,
    round: Option<Round<'_>>,
    leaving: &Leaving,
) -> anyhow::Result<(SweepState, Option<Money>)> {
    let goes_on = round.is_some_and(|round| round.first.is_some());
    // The new run is no more trusted than the old one.
    let rights = old.run.rights.clone();
    let run = Embedded::open_with(directory, None, args.prices.as_deref(), |_| Ok(rights)).await?;
    let sweep = run.coordinator.plan(store(&run, loaded).await?).await.map_err(bad_configuration)?;
    if run.rights.is_own {
        trust::remember(&sweep.digest);
    }
    if round.is_some_and(|round| round.is_of_run) {
        if let Some(change) = Box::pin(run.change_to(&sweep, Fewer::Refuse)).await? {
            Box::pin(run.change(change, &sweep)).await?;
        }
    } else {
        run.refuse_another(&sweep).await?;
    }
    run.coordinator.enter(&sweep).await?;
    let row = run.ledger().sweep(&sweep.id).await?.context("the ledger does not have the sweep that was entered")?;
    let raised = round.and_then(|round| round.raised);
    let raised = raised.filter(|raised| row.budget.is_some_and(|present| present < *raised));
    let mut resumption = Resumption { budget: raised.map(BudgetChange::To) };
    if row.state == SweepState::Running {
        let mut rescoring = Rescoring::new(old.run.ledger(), &old.sweep, &sweep);
        old.visit(&sweep, &mut rescoring).await?;
        let bill = if goes_on { Bill::Carried } else { Bill::Elsewhere };
        rescoring.carry_over(run.ledger(), bill).await?;
        if goes_on {
            run.enter_judges(old.run.ledger().costs_by_judge(&old.sweep.id).await?, &sweep).await?;
        }
        // Every session is recorded before anything is dispatched, so that no agent is asked.
        old.record(&run, &sweep).await?;
        if resumption.budget.is_some() {
            run.coordinator.resume(&sweep.id, std::mem::take(&mut resumption)).await.map_err(bad_configuration)?;
        }
    }
    let state = run.execute(&sweep, resumption, leaving).await?;
    Ok((state, raised.or(row.budget)))
}

/// The run that is scored again.
struct Run {
    directory: PathBuf,
    run: Embedded,
    sweep: Arc<Sweep>,
    /// Sessions that have ended.
    sessions: BTreeMap<Key, SessionRow>,
}

impl Run {
    async fn open(directory: &Path, wish: Wish<'_>) -> anyhow::Result<Self> {
        let no_run = || {
            let problem = format!("{} is not the directory of an embedded run", directory.display());
            BadConfiguration(format!(
                "{problem}; a sweep of a coordinator is named by its id, not by what was exported"
            ))
        };
        if !directory.join("store/ledger.sqlite").exists() {
            return Err(no_run().into());
        }
        let run = Embedded::open_with(directory, None, None, |locks| Rights::of(locks, wish)).await?;
        let sweep = run.held().await.map_err(bad_configuration)?.ok_or_else(no_run)?;
        let state = run.state(&sweep).await?;
        if !state.is_end() {
            let problem = format!("the run in {} is {state}; let it end first", directory.display());
            return Err(BadConfiguration(problem).into());
        }
        let mut sessions = BTreeMap::new();
        for cell in sweep.cells() {
            for row in run.ledger().sessions(&sweep.id, cell.index).await? {
                sessions.insert((cell.index, row.item), row);
            }
        }
        Ok(Self { directory: directory.to_owned(), run, sweep, sessions })
    }

    /// The sessions of a segment whose transcripts are of the attempt that counts, and that are not in `seen`.
    fn read(&self, segment: &Path, seen: &mut BTreeSet<Key>) -> anyhow::Result<Vec<(Key, Transcript)>> {
        let mut found = Vec::new();
        read_file(segment, |stored| {
            let StoredTranscript { cell, position, attempt, transcript, .. } = stored;
            let key = (CellIndex(cell), ItemIndex(position));
            let counts = self.sessions.get(&key).is_some_and(|row| row.attempt == attempt);
            // A report that came twice is in two segments.
            if counts && seen.insert(key) {
                found.push((key, transcript));
            }
        })?;
        Ok(found)
    }

    /// Has `rescoring` look at every session that was measured. Returns what the sessions have cost, failed tries at their worst included.
    async fn visit(&self, new: &Sweep, rescoring: &mut Rescoring<'_>) -> anyhow::Result<Money> {
        let (mut seen, mut spent) = (BTreeSet::new(), Money::ZERO);
        for segment in segments(&self.directory)? {
            for (key, transcript) in self.read(&segment, &mut seen)? {
                let Some(row) = self.sessions.get(&key) else { continue };
                let totals = transcript.totals_of(row.attempt);
                spent += totals.cost.known + totals.maybe_spent;
                if outcome(row) == Outcome::Measured {
                    let cell = new.cell(key.0).context("the new sweep lacks a cell of the old one")?;
                    rescoring.add(cell, key.1, &transcript).await?;
                }
            }
        }
        Ok(spent)
    }

    /// Records all sessions as those of `sweep` in `run`. What has no transcript is not measured there either.
    async fn record(&self, run: &Embedded, sweep: &Sweep) -> anyhow::Result<()> {
        let attempts = self.run.ledger().attempts(&self.sweep.id).await?;
        let attempts: BTreeMap<(Key, u32), AttemptRow> =
            attempts.into_iter().map(|row| (((row.key.cell, row.key.item), row.number), row)).collect();
        let mut seen = BTreeSet::new();
        for segment in segments(&self.directory)? {
            let mut batch = Vec::new();
            for (key, transcript) in self.read(&segment, &mut seen)? {
                let Some(row) = self.sessions.get(&key) else { continue };
                let attempt = attempts.get(&(key, row.attempt));
                batch.push(session(sweep, key, outcome(row), attempt, row.attempt, transcript)?);
            }
            run.take_over(sweep, batch).await?;
        }
        let mut rest = Vec::new();
        for cell in sweep.cells() {
            let keys = sweep.selected(cell).iter().map(|item| (cell.index, *item));
            for key in keys.filter(|key| !seen.contains(key)) {
                let ended = self.sessions.get(&key).map(outcome);
                let ended = ended.filter(|ended| matches!(ended, Outcome::NotMeasured { .. }));
                // Nobody ran it, and nobody does now.
                let ended = ended.unwrap_or(Outcome::NotMeasured { cause: Cause::Cancelled });
                rest.push(session(sweep, key, ended, None, 1, Transcript::default())?);
            }
        }
        while !rest.is_empty() {
            let batch = rest.split_off(rest.len().saturating_sub(AT_ONCE));
            run.take_over(sweep, batch).await?;
        }
        Ok(())
    }
}

/// End of a session before it was scored: the old scoring does not count again.
fn outcome(row: &SessionRow) -> Outcome {
    match &row.outcome {
        Outcome::NotMeasured { cause: Cause::JudgeUnavailable | Cause::TranscriptUnfit } => Outcome::Measured,
        ended => ended.clone(),
    }
}

fn session(
    sweep: &Sweep,
    (cell, item): Key,
    outcome: Outcome,
    attempt: Option<&AttemptRow>,
    number: u32,
    transcript: Transcript,
) -> anyhow::Result<SessionOutcome> {
    let attempt = match attempt {
        Some(row) => Attempt {
            id: row.id.clone(),
            number,
            worker: row.worker.clone(),
            started_at: row.started_at,
            ended_at: row.ended_at.unwrap_or(row.started_at),
        },
        None => Attempt {
            id: AttemptId::new(format!("none-{}-{}", cell.0, item.0))?,
            number,
            worker: WorkerId::new("rescore")?,
            started_at: jiff::Timestamp::UNIX_EPOCH,
            ended_at: jiff::Timestamp::UNIX_EPOCH,
        },
    };
    let key = SessionKey { sweep: sweep.id.clone(), cell, item };
    Ok(SessionOutcome { key, lock: sweep.digest, attempt, outcome, transcript })
}

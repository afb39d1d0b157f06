//! The run that a plan takes its variance and usage of: a directory, or a coordinator's sweep.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::Context;
use regatta_proto::{CellIndex, CostSum, ItemId, Money, Usage};
use regatta_scorer::{JudgeBill, Judging, Pilot, PilotCell, Ran, SessionScores, Spent, Summary, read_pilot};

use crate::args::ClientArgs;
use crate::embedded::Embedded;
use crate::ended_run::{Answers, EndedRun};
use crate::exit::{BadConfiguration, bad_configuration};
use crate::results::ResultLine;

/// Reads `what` as a pilot: an embedded run from its ledger, whether it has ended or not, and everything else from the documents that it has
/// left behind.
pub(super) async fn read(what: &str, client: &ClientArgs) -> anyhow::Result<Pilot> {
    let directory = Path::new(what);
    if !directory.join("store/ledger.sqlite").exists() {
        return Ok(of_documents(&EndedRun::open(what, client).await.map_err(bad_configuration)?));
    }
    let run = Embedded::open(directory, None, None).await?;
    let no_run = || BadConfiguration(format!("{what} is not the directory of an embedded run"));
    let sweep = run.held().await.map_err(bad_configuration)?.ok_or_else(no_run)?;
    read_pilot(run.ledger(), &sweep).await.with_context(|| format!("failed to read the pilot {what}"))
}

fn of_documents(run: &EndedRun) -> Pilot {
    let no_groups = BTreeMap::new();
    let spent = spent(run);
    let mut cells: Vec<PilotCell<'_>> = Vec::new();
    let mut ran = Ran::new();
    for first in run.lock.cells().into_iter().filter(|cell| cell.trial.0 == 0) {
        let measures = run.measures.benchmarks.get(&first.benchmark);
        let definitions = measures.and_then(|of| of.settings.get(&first.setting)).map_or(&[][..], Vec::as_slice);
        let lines: Vec<&ResultLine> = run.sessions(&first.benchmark, &first.setting, &first.model).collect();
        let sessions = lines.iter().map(|line| SessionScores {
            item: &line.item,
            trial: line.trial,
            scores: line.scores.as_ref(),
        });
        let sessions = sessions.collect();
        let mut sums = Spent::default();
        let ran = ran.entry((first.benchmark.clone(), first.setting.clone())).or_default();
        for line in lines.iter().filter(|line| line.outcome != NOT_RUN) {
            match spent.get(&(CellIndex(line.cell), &line.item)) {
                Some(Session::Paid(of)) => {
                    *ran += 1;
                    sums.sessions += 1;
                    sums.usage += of.usage;
                    sums.cost += of.cost;
                }
                Some(Session::Cached) => {}
                None => {
                    *ran += 1;
                    sums.sessions += 1;
                }
            }
        }
        cells.push(PilotCell {
            definitions,
            groups: measures.map_or(&no_groups, |of| &of.groups),
            sessions,
            spent: sums,
            benchmark: first.benchmark,
            setting: first.setting,
            model: first.model,
        });
    }
    Pilot::of_cells(run.summary.sweep.clone(), &cells, bills(run, &ran))
}

/// Bills of the judges. Runs of early versions have one of all together.
fn bills(run: &EndedRun, ran: &Ran) -> Vec<JudgeBill> {
    let Summary { judges, judging, .. } = &run.summary;
    if judges.is_empty() && *judging != Judging::default() {
        return vec![JudgeBill::new(None, judging.usage, judging.cost, &run.lock, ran)];
    }
    judges.iter().map(|of| JudgeBill::new(Some(&of.judge), of.usage, of.cost, &run.lock, ran)).collect()
}

/// Outcome in `results.jsonl` of a session that nobody ran.
const NOT_RUN: &str = "not_run";

/// Spending of the attempts at a session, but those that were repeated or lost.
enum Session {
    Paid(Spent),
    /// Answers of it came from the response cache, or may have: the next one takes more.
    Cached,
}

fn spent(run: &EndedRun) -> HashMap<(CellIndex, &ItemId), Session> {
    let cells = run.lock.cells();
    let cells = cells.iter().map(|cell| run.may_be_cached(&cell.benchmark, &cell.setting, &cell.model));
    let may_be_cached: Vec<bool> = cells.collect();
    let mut spent: HashMap<(CellIndex, &ItemId), Session> = HashMap::new();
    for attempt in run.attempts.iter().filter(|attempt| !attempt.wasted) {
        let Some(item) = &attempt.item else { continue };
        let of = spent.entry((CellIndex(attempt.cell), item)).or_insert(Session::Paid(Spent::default()));
        match (&mut *of, attempt.answers(may_be_cached.get(attempt.cell as usize).is_none_or(|may_be| *may_be))) {
            // Filters end some of the next sessions too.
            (Session::Paid(of), Answers::Own | Answers::Nothing | Answers::CutOff(_)) => {
                of.usage += Usage::of_fields(attempt.usage, attempt.known_usage);
                of.cost += match attempt.cost_nanodollars {
                    Some(known) => CostSum { known, unknown_calls: 0 },
                    None => CostSum { known: Money::ZERO, unknown_calls: 1 },
                };
            }
            (of, Answers::Cached) => *of = Session::Cached,
            (Session::Cached, Answers::Own | Answers::Nothing | Answers::CutOff(_)) => {}
        }
    }
    spent
}

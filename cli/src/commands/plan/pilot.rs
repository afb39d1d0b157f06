//! The run that a plan takes its variance and usage of: a directory, or a coordinator's sweep.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::Context;
use regatta_proto::{CellIndex, CostSum, ItemId, Money, Usage};
use regatta_report::{Pilot, PilotCell, SessionScores, Spent};
use regatta_scorer::read_pilot;

use crate::args::ClientArgs;
use crate::embedded::Embedded;
use crate::ended_run::{Answers, EndedRun};
use crate::exit::{BadConfiguration, bad_configuration};
use crate::results::ResultLine;
use crate::run_directory;
use crate::trust::{Rights, Wish};

/// Reads `what` as a pilot: an embedded run from its ledger, whether it has ended or not, and everything else from the documents that it has
/// left behind.
pub(super) async fn read(what: &str, client: &ClientArgs) -> anyhow::Result<Pilot> {
    let found = run_directory::find(Path::new(what));
    let Some(directory) = found.filter(|directory| run_directory::has_ledger(directory)) else {
        return Ok(of_documents(&EndedRun::open(what, client).await.map_err(bad_configuration)?));
    };
    let wish = Wish { trusts: false, policy: None };
    let run = Embedded::open_with(&directory, None, None, |locks| Rights::of(locks, wish)).await?;
    let no_run = || BadConfiguration(format!("{what} is not the directory of an embedded run"));
    let sweep = run.held().await.map_err(bad_configuration)?.ok_or_else(no_run)?;
    read_pilot(run.ledger(), &sweep).await.with_context(|| format!("failed to read the pilot {what}"))
}

fn of_documents(run: &EndedRun) -> Pilot {
    let no_groups = BTreeMap::new();
    let spent = spent(run);
    let mut cells: Vec<PilotCell<'_>> = Vec::new();
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
        // Whoever had no score, was cut short or answered by the cache took less than the next sessions will.
        for line in lines.iter().filter(|line| line.scores.is_some() && line.cut_off().is_none()) {
            if let Some(Session::Paid(of)) = spent.get(&(CellIndex(line.cell), &line.item)) {
                sums.sessions += 1;
                sums.usage += of.usage;
                sums.cost += of.cost;
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
    Pilot::of_cells(&run.summary, &run.lock, &cells)
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ended_run::testing::{Made, right};

    /// Spending of the only model of `run`.
    fn spent_of(run: &EndedRun) -> Spent {
        *of_documents(run).spent.values().next().unwrap()
    }

    /// Ends the session of every item from `first` on as `outcome` and `cause` say, before any call was answered.
    fn end(run: &mut EndedRun, first: usize, outcome: &str, cause: &str) {
        for at in first..run.results.len() {
            (run.results[at].outcome, run.results[at].cause) = (outcome.to_owned(), Some(cause.to_owned()));
            let attempt = &mut run.attempts[at];
            (attempt.calls, attempt.usage, attempt.latency_us) = (0, Some(Usage::default()), None);
            attempt.cost_nanodollars = Some(Money::ZERO);
        }
    }

    #[test]
    fn sessions_without_a_score_and_those_that_were_cut_short_are_none_of_no_cost() {
        for (outcome, cause) in
            [("not_measured", "timeout"), ("model_failure", "content_filter"), ("model_failure", "context_length")]
        {
            for first in [2, 0] {
                let scored = if outcome == "not_measured" { first } else { 10 };
                let scores = right(10, 10).into_iter().enumerate().map(|(at, score)| score.filter(|_| at < scored));
                let mut run = Made { scores: scores.collect(), ..Made::default() }.run("pilot");
                end(&mut run, first, outcome, cause);
                let found = spent_of(&run);
                let expected = (first as u64, Money(2_000_000 * first as u64), 1_100 * first as u64);
                assert_eq!((found.sessions, found.cost.known, found.usage.total()), expected, "{outcome} {cause}");
            }
        }
    }

    #[test]
    fn sessions_of_the_response_cache_are_left_out() {
        let run = Made { scores: right(10, 10), cached: 10, ..Made::default() }.run("pilot");
        assert_eq!(spent_of(&run), Spent::default());
    }
}

//! `regatta drift`: what changed from night to night, told apart by what was served.

mod canaries;
mod finding;
mod known;
mod observing;
mod pacing;
mod parts;
mod plotting;
mod rendering;

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::Context;
use jiff::Timestamp;
use regatta_backends::TickState;
use regatta_coordinator::TickStatus;
use regatta_proto::{ScheduleName, SweepId, SweepState};
use serde::Serialize;

use self::canaries::{Canaries, History};
use self::finding::{Finding, Moved, Paced};
use self::observing::Observed;
use self::plotting::Plots;
use crate::args::{ClientArgs, DriftArgs};
use crate::client::Client;
use crate::ended_run::EndedRun;
use crate::exit::{BadConfiguration, bad_configuration};
use crate::output;

/// Ticks that are looked through for nights: many may be missed, or refused.
pub(crate) const TICKS_MAX: u32 = 5_000;

/// Changes over some nights.
#[derive(Debug, Serialize)]
struct Drift {
    /// The schedule, or the first run.
    of: String,
    nights: Vec<Night>,
}

/// A night, and what is different from the one before.
#[derive(Debug, Serialize)]
struct Night {
    run: String,
    ended_at: Timestamp,
    /// Causes, each of its kind; empty for the first night, and for one that is like the one before.
    findings: Vec<Finding>,
    /// Headline metrics that moved, by more than chance.
    scores: Vec<Moved>,
    /// Median times that are others than the night before; they have no test.
    times: Vec<Paced>,
    /// Canaries that this night and the one before have answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    canaries: Vec<Canaries>,
}

pub(crate) async fn run(args: DriftArgs) -> anyhow::Result<ExitCode> {
    let runs = match &args.of[..] {
        [schedule] => nights_of(schedule, args.nights, &args.client).await?,
        runs => runs.to_vec(),
    };
    let Some(first) = runs.first() else {
        return Err(BadConfiguration(format!("{} has no night that ended with results yet", args.of[0])).into());
    };
    let mut nights = Nights::of(args.of.first().unwrap_or(first).clone());
    for name in &runs {
        nights.add(EndedRun::open(name, &args.client).await.map_err(bad_configuration)?)?;
    }
    let Nights { drift, plots, .. } = nights;
    if let Some(path) = &args.html {
        let page = plots.page(&drift).html();
        regatta_files::write(path, page).with_context(|| format!("failed to write {}", path.display()))?;
    }
    output::line(&if args.json { serde_json::to_string_pretty(&drift)? } else { rendering::text(&drift) });
    Ok(ExitCode::SUCCESS)
}

/// Nights that are told of one after the other, from the oldest to the newest. Two runs are in memory at a time.
pub(crate) struct Nights {
    drift: Drift,
    before: Option<EndedRun>,
    history: History,
    plots: Plots,
}

impl Nights {
    /// No night yet, of the schedule or the run `of`.
    pub(crate) fn of(of: String) -> Self {
        Self {
            drift: Drift { of, nights: Vec::new() },
            before: None,
            history: History::default(),
            plots: Plots::default(),
        }
    }

    /// Tells what is different in `now` from the night before.
    pub(crate) fn add(&mut self, now: EndedRun) -> anyhow::Result<()> {
        let told = night(self.before.as_ref(), &now, &mut self.history)?;
        self.plots.add(&now, &told);
        self.drift.nights.push(told);
        self.before = Some(now);
        Ok(())
    }

    /// The page with the drawings.
    #[cfg(feature = "cluster")]
    pub(crate) fn page(self) -> String {
        self.plots.page(&self.drift).html()
    }
}

/// Sweeps of `ticks` that have ended with results, in the same order.
pub(crate) fn ended(ticks: Vec<TickStatus>) -> impl Iterator<Item = SweepId> {
    let has_results = |state: SweepState| match state {
        SweepState::Complete | SweepState::Incomplete | SweepState::StoppedByBudget => true,
        SweepState::Running | SweepState::Tabulating | SweepState::Cancelled => false,
    };
    let ended = ticks.into_iter().filter(move |tick| {
        tick.state == TickState::Ended && tick.outcome.as_ref().is_some_and(|outcome| has_results(outcome.state))
    });
    ended.filter_map(|tick| tick.sweep)
}

fn night(before: Option<&EndedRun>, now: &EndedRun, history: &mut History) -> anyhow::Result<Night> {
    let Observed { findings, scores, times, canaries } = match before {
        Some(before) => observing::observe(before, now, history)?,
        None => Observed::default(),
    };
    Ok(Night { run: now.name.clone(), ended_at: now.summary.ended_at, findings, scores, times, canaries })
}

/// Sweeps of the last nights of a schedule that have results, oldest first.
async fn nights_of(schedule: &str, nights: u32, client: &ClientArgs) -> anyhow::Result<Vec<String>> {
    let name: ScheduleName = schedule.parse().map_err(|error| {
        BadConfiguration(format!("{schedule:?} is no schedule ({error}); name one, or two runs or more"))
    })?;
    let client = Client::new(client)?;
    let ticks = client.history(&name, TICKS_MAX).await?;
    // A night's row outlives its sweep, which retention may have removed.
    let there: BTreeSet<SweepId> = client.sweeps().await?.into_iter().map(|row| row.id).collect();
    let kept = ended(ticks).filter(|sweep| there.contains(sweep));
    let mut sweeps: Vec<String> = kept.take(nights as usize).map(|sweep| sweep.to_string()).collect();
    sweeps.reverse();
    Ok(sweeps)
}

#[cfg(test)]
mod tests;

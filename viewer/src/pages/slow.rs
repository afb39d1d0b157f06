//! Why a run is slow: the time of its sessions by what took it, and what waits now.

use std::collections::BTreeMap;
use std::iter::Sum;
use std::ops::AddAssign;
use std::sync::Arc;

use maud::{Markup, html};
use regatta_backends::{AttemptTimes, CallSums};
use regatta_catalog::Sweep;
use regatta_proto::CellIndex;

use crate::page::scrolled;
use crate::problem::Problem;
use crate::progress::Progress;
use crate::source::Run;
use crate::{Viewer, address, numbers};

/// Time of sessions that have ended, in microseconds, by what took it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Took {
    /// Calls that models answered, of all roles.
    provider: u64,
    /// Waits of calls for limits, money, an endpoint that is up, and retries.
    limits: u64,
    /// Tries that failed.
    failed: u64,
    /// The rest: agents' programs, tools, and the workers themselves.
    here: u64,
}

/// The part of the time that a sentence is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Provider,
    Limits,
    Failed,
    Here,
}

impl Part {
    const ALL: [Self; 4] = [Self::Provider, Self::Limits, Self::Failed, Self::Here];

    const fn name(self) -> &'static str {
        match self {
            Self::Provider => "Provider's answers",
            Self::Limits => "Limits, money, retries",
            Self::Failed => "Failed tries",
            Self::Here => "Agent, tools, worker",
        }
    }

    /// The part in words, for a run in which it is the most, with what would make it less.
    const fn advice(self) -> &'static str {
        match self {
            Self::Provider => {
                "the provider answering: more calls at once make the run shorter as far as limits allow, and a session shorter only a faster model"
            }
            Self::Limits => {
                "waiting before calls: for the endpoint's limits, money of the budget, or the pause after a failed try; higher limits, where the provider grants them, make the run shorter"
            }
            Self::Failed => "tries that failed: their causes are below, and the provider's words in the sessions",
            Self::Here => {
                "outside of calls: agents' programs, tools and the workers themselves; more workers or processors make the run shorter"
            }
        }
    }
}

impl Took {
    fn of(times: &AttemptTimes, calls: &CallSums) -> Self {
        let (limits, failed) = (calls.held_up.waited_us, calls.held_up.failed_us);
        let in_calls = times.answering_us.saturating_add(limits).saturating_add(failed);
        // Calls of a session that run at the same time last longer together than the session.
        Self { provider: times.answering_us, limits, failed, here: times.lasted_us.saturating_sub(in_calls) }
    }

    const fn part(&self, part: Part) -> u64 {
        match part {
            Part::Provider => self.provider,
            Part::Limits => self.limits,
            Part::Failed => self.failed,
            Part::Here => self.here,
        }
    }

    fn whole(&self) -> u64 {
        Part::ALL.into_iter().map(|part| self.part(part)).fold(0, u64::saturating_add)
    }

    /// The largest part; `None` where no time is known.
    fn most(&self) -> Option<Part> {
        Part::ALL.into_iter().filter(|part| self.part(*part) > 0).max_by_key(|part| self.part(*part))
    }
}

impl AddAssign for Took {
    fn add_assign(&mut self, other: Self) {
        self.provider = self.provider.saturating_add(other.provider);
        self.limits = self.limits.saturating_add(other.limits);
        self.failed = self.failed.saturating_add(other.failed);
        self.here = self.here.saturating_add(other.here);
    }
}

impl Sum for Took {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, one| {
            sum += one;
            sum
        })
    }
}

/// Times of the attempts of `run` by cell, remembered while nothing is recorded.
async fn times(viewer: &Viewer, run: &Run, progress: &Progress) -> Result<Arc<[AttemptTimes]>, Problem> {
    let id = &run.row.id;
    let read = async { Ok::<Arc<[AttemptTimes]>, Problem>(Arc::from(run.store.ledger.attempt_times(id).await?)) };
    viewer.times.get(format!("{} {id}", run.name), &progress.fingerprint(run.state()), read).await
}

/// The section's content: the time so far by model, and what waits.
pub(super) async fn section(
    viewer: &Viewer,
    run: &Run,
    sweep: &Sweep,
    progress: &Progress,
    calls: &[(CellIndex, CallSums)],
) -> Result<Markup, Problem> {
    let times = times(viewer, run, progress).await?;
    let none = CallSums::default();
    let mut models: BTreeMap<String, Took> = BTreeMap::new();
    for of_cell in times.iter() {
        let Some(cell) = sweep.cell(of_cell.cell) else { continue };
        let calls = calls.iter().find(|(index, _)| *index == of_cell.cell).map_or(&none, |(_, sums)| sums);
        *models.entry(cell.model.to_string()).or_default() += Took::of(of_cell, calls);
    }
    let mut errors = BTreeMap::new();
    for (class, count) in calls.iter().flat_map(|(_, sums)| &sums.errors) {
        let sum = errors.entry(class.as_str()).or_insert(0_u64);
        *sum = sum.saturating_add(*count);
    }
    Ok(html! {
        (took(&models))
        (waits(run, progress, &errors))
    })
}

fn took(models: &BTreeMap<String, Took>) -> Markup {
    let all: Took = models.values().copied().sum();
    let Some(most) = all.most() else { return html! { p { "No session has ended yet." } } };
    html! {
        p { "Of the time of sessions that have ended, " b { (numbers::percent(all.part(most), all.whole())) } " was " (most.advice()) "." }
        (scrolled("Time by model", html! {
            table {
                thead { tr {
                    th scope="col" { "Model" } th.number scope="col" { "Time of sessions" }
                    @for part in Part::ALL { th.number scope="col" { (part.name()) } }
                } }
                tbody {
                    @for (model, took) in models {
                        tr {
                            th scope="row" { (model) }
                            td.number { (numbers::micros(took.whole())) }
                            @for part in Part::ALL { td.number { (numbers::percent(took.part(part), took.whole())) } }
                        }
                    }
                }
            }
        }))
    }
}

fn waits(run: &Run, progress: &Progress, errors: &BTreeMap<&str, u64>) -> Markup {
    let totals = &progress.totals;
    let (with_workers, awaiting) =
        (totals.dispatched.saturating_sub(totals.recorded), totals.recorded.saturating_sub(totals.settled));
    html! {
        dl.facts {
            dt { "Not given to workers yet" } dd { (numbers::counted(totals.items.saturating_sub(totals.dispatched), "session", "sessions")) }
            dt { (if run.interrupted.is_some() { "Under way when it was interrupted" } else { "Queued or under way" }) } dd { (numbers::counted(with_workers, "session", "sessions")) }
            dt { "Judges: waiting for verdicts" }
            dd {
                (numbers::counted(awaiting, "session", "sessions"))
                @if awaiting > 0 { ", " (numbers::percent(awaiting, totals.recorded)) " of those that have ended" }
            }
            dt { "Failed tries at calls" }
            dd {
                @if errors.is_empty() { "none" }
                @for (class, count) in errors { span.tag.flag { (class.replace('_', " ")) " " (numbers::count(*count)) } " " }
            }
        }
        p.hint { a href={ (address::run(&run.name)) "/endpoints" } { "Latency, errors and limits by endpoint" } }
    }
}

#[cfg(test)]
mod tests {
    use regatta_backends::HeldUp;

    use super::*;

    fn took_of(lasted_us: u64, answering_us: u64, held_up: HeldUp) -> Took {
        let times = AttemptTimes { cell: CellIndex(0), attempts: 4, lasted_us, answering_us };
        Took::of(&times, &CallSums { held_up, ..CallSums::default() })
    }

    #[test]
    fn time_of_sessions_that_is_in_no_call_was_the_agents_and_its_tools() {
        let found = took_of(10_000_000, 6_000_000, HeldUp { waited_us: 2_000_000, failed_us: 500_000 });
        assert_eq!(found, Took { provider: 6_000_000, limits: 2_000_000, failed: 500_000, here: 1_500_000 });
        assert_eq!(found.whole(), 10_000_000);
    }

    #[test]
    fn calls_at_the_same_time_leave_nothing_for_the_agent() {
        let found = took_of(4_000_000, 9_000_000, HeldUp::default());
        assert_eq!((found.here, found.whole(), found.most()), (0, 9_000_000, Some(Part::Provider)));
    }

    #[test]
    fn a_run_is_told_what_took_the_most_of_its_time_and_each_model_its_own() {
        let provider = took_of(1_000_000, 900_000, HeldUp::default());
        let limits = took_of(9_000_000, 1_000_000, HeldUp { waited_us: 7_000_000, failed_us: 0 });
        let models = BTreeMap::from([("h/fast".to_owned(), provider), ("h/throttled".to_owned(), limits)]);
        let shown = took(&models).into_string();
        assert!(shown.contains("<b>70\u{202f}%</b> was waiting before calls: for the endpoint"), "{shown}");
        assert!(shown.contains("h/fast") && shown.contains("90\u{202f}%"), "{shown}");
        assert!(shown.contains("h/throttled") && shown.contains("77.8\u{202f}%"), "{shown}");
    }

    #[test]
    fn a_run_of_which_no_session_has_ended_has_no_times() {
        assert_eq!(took(&BTreeMap::new()).into_string(), "<p>No session has ended yet.</p>");
    }
}

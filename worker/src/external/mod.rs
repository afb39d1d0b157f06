//! Sessions that somebody else's agent does: it is started or called, asks its models through the bridge, and everything it does there
//! is recorded.
//!
//! An agent has no memory that we could hand over, so one that is started again begins anew. What it asks then that it had asked before is
//! answered from the transcript: no call is paid twice. In a conversation it is started for each of its turns, and what came before the turn is
//! given to it as messages.

mod answer_file;
mod briefing;
mod budget;
mod clock;
mod container;
mod course;
mod desk;
mod failures;
mod kept;
mod pipes;
mod places;
mod pods;
mod post;
mod presence;
mod program;
mod recorded;
mod running;
mod services;
pub(crate) mod shared;
mod starts;
mod stop;

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use regatta_benchmarks::DelegatedTask;
use regatta_proto::{
    Cause, Ended as AgentEnded, Event, ExternalAgent, HowEnded, Money, Outcome, SessionKey, Started, Transcript,
};
use tokio::time::Instant;

use crate::session::{Ended, Session};
use briefing::{Addresses, Briefing};
use budget::Budget;
use desk::Desk;
use kept::Strays;
use running::Running;
use shared::Runnable;
use starts::{times_lost, times_started};
use stop::Stop;

pub use presence::check_agent;

/// Most starts in one turn (of one answer, in one session), whatever ended them. An agent that asks something else each time, and takes longer than workers keep a
/// session, would be started for ever.
const STARTS_MAX: usize = 64;

impl Session<'_> {
    /// Has an external agent do `task`, a session or a turn of one, and appends to `transcript` what it did. `None` when it has ended by itself or at a limit of its
    /// own: then the session goes on.
    pub(crate) async fn delegate(&self, task: &DelegatedTask, transcript: &mut Transcript) -> Option<Ended> {
        let name = &task.agent;
        let Some(agent) = self.sweep.lock.agents.get(name) else {
            // The plan sees to it that there is one.
            tracing::error!(agent = %name, cell = %self.cell.index, "a session needs an external agent that its sweep does not have");
            return Some(not_measured(Cause::Internal));
        };
        // It would begin anew elsewhere, and has limits of its own.
        self.holder.stay();
        // It may take long to begin, and what its earlier turns have cost is paid.
        if transcript.calls().next().is_some() {
            self.checkpoint.keep(transcript);
        }
        let Some(last_start) = self.hand_over_after.checked_sub(longest(agent)).filter(|time| !time.is_zero()) else {
            let (startup_s, deadline_s, hand_over_after) = (agent.startup_s, agent.deadline_s, self.hand_over_after);
            tracing::error!(
                agent = %name, startup_s, deadline_s, ?hand_over_after,
                "an external agent may take as long as workers keep a session; lower its startup_s or deadline_s, or let workers keep sessions longer"
            );
            return Some(not_measured(Cause::AgentLost));
        };
        // Begun later, it would be interrupted before its time is over: another attempt has all of its time again.
        let last_start = self.begun + last_start;
        let place = self.external.places.take(&self.sweep.id, name, agent.concurrency);
        let _place = tokio::select! {
            biased;
            () = self.interrupt.cancelled() => return Some(Ended::Interrupted),
            place = place => place,
            () = tokio::time::sleep_until(last_start) => return Some(Ended::Interrupted),
        };
        if (self.is_cancelled)() {
            let totals = transcript.totals_of(self.attempt.number());
            let is_free = totals.cost.known == Money::ZERO && totals.maybe_spent == Money::ZERO;
            // What an earlier task of this attempt has cost is to be reported.
            return Some(if is_free { Ended::Dropped } else { Ended::Interrupted });
        }
        if let Some(why) = self.external.failures.held(&self.sweep.id, self.cell.index) {
            let ended = AgentEnded { how: HowEnded::NotStarted, output: "".into(), is_cut: false, errors: why.into() };
            transcript.events.push(Event::Ended(Box::new(ended)));
            return Some(not_measured(Cause::AgentLost));
        }
        loop {
            let budget = match self.next_start(task, agent, last_start, transcript) {
                ControlFlow::Continue(budget) => budget,
                ControlFlow::Break(end) => return end,
            };
            let (ended, ruin) = match self.start_agent(task, agent, transcript, budget).await {
                Ok(ended) => ended,
                Err(error) => {
                    tracing::error!(%error, agent = %name, "failed to start the bridge that external agents ask their models at");
                    return Some(not_measured(Cause::AgentLost));
                }
            };
            self.learn(&ended, ruin);
            // Counted when it is here: an agent whose output waits for room might keep others waiting for as long as it runs.
            self.holder.keep(ended.output.len() as u64);
            let (how, errors) = (ended.how, ended.errors.clone());
            transcript.events.push(Event::Ended(Box::new(ended)));
            if let Some(cause) = ruin {
                return Some(not_measured(cause));
            }
            if let ControlFlow::Break(end) = self.after(task, how, &errors) {
                return end;
            }
        }
    }

    /// Room for the next start of the agent, or how `task` ends without one.
    fn next_start(
        &self,
        task: &DelegatedTask,
        agent: &ExternalAgent,
        last_start: Instant,
        transcript: &mut Transcript,
    ) -> ControlFlow<Option<Ended>, Arc<Budget>> {
        let (name, item) = (&task.agent, &self.item.id);
        if self.interrupt.is_cancelled() || Instant::now() >= last_start {
            return ControlFlow::Break(Some(Ended::Interrupted));
        }
        if times_started(transcript) >= STARTS_MAX {
            tracing::error!(agent = %name, %item, starts = STARTS_MAX, "an external agent never came to its end before its worker left");
            return ControlFlow::Break(Some(not_measured(Cause::AgentLost)));
        }
        if times_lost(transcript) >= usize::from(agent.starts_max) {
            tracing::error!(
                agent = %name, %item, starts = agent.starts_max,
                "an external agent was killed each time it was started, or asked something else each time before its worker left"
            );
            self.learn_killed(transcript);
            return ControlFlow::Break(Some(not_measured(Cause::AgentLost)));
        }
        let budget = Arc::new(Budget::after(transcript, agent));
        if !budget.fits(0) && !budget.would_fit_alone(0) {
            tracing::warn!(agent = %name, %item, "an external agent has recorded so much in its turns that it gets no further one");
            self.leave_out(task, transcript);
            return ControlFlow::Break(None);
        }
        if !budget.fits(0) {
            tracing::error!(agent = %name, %item, "earlier starts of an external agent left no room for what it does");
            return ControlFlow::Break(Some(not_measured(Cause::AgentLost)));
        }
        ControlFlow::Continue(budget)
    }

    /// Goes on after an end that is followed by another start; breaks with the end of `task`.
    fn after(&self, task: &DelegatedTask, how: HowEnded, errors: &str) -> ControlFlow<Option<Ended>> {
        let (name, item) = (&task.agent, &self.item.id);
        match how {
            HowEnded::Interrupted => ControlFlow::Break(Some(Ended::Interrupted)),
            HowEnded::Killed(signal) => {
                tracing::warn!(agent = %name, %item, signal, %errors, "an external agent was killed by somebody else");
                ControlFlow::Continue(())
            }
            HowEnded::OutOfMemory => {
                tracing::error!(agent = %name, %item, %errors, "an external agent used more memory than its limit; raise `memory_mb` of its limits");
                ControlFlow::Break(Some(not_measured(Cause::AgentLost)))
            }
            HowEnded::NotStarted => {
                tracing::error!(agent = %name, %item, %errors, "failed to start or to reach an external agent");
                ControlFlow::Break(Some(not_measured(Cause::AgentLost)))
            }
            HowEnded::Exited(_) | HowEnded::Deadline | HowEnded::TooMuchOutput => ControlFlow::Break(None),
        }
    }

    /// Records a turn in which the agent says nothing, because its own earlier ones left no room.
    fn leave_out(&self, task: &DelegatedTask, transcript: &mut Transcript) {
        let started = Started { agent: task.agent.clone(), attempt: self.attempt.number() };
        let errors = "its earlier turns left no room for another one".into();
        let ended = AgentEnded { how: HowEnded::TooMuchOutput, output: "".into(), is_cut: true, errors };
        transcript.events.extend([Event::Started(started), Event::Ended(Box::new(ended))]);
    }

    /// Remembers whether agents of the cell come to anything.
    fn learn(&self, ended: &AgentEnded, ruin: Option<Cause>) {
        let (sweep, cell) = (&self.sweep.id, self.cell.index);
        match (ended.how, ruin) {
            (HowEnded::NotStarted | HowEnded::OutOfMemory, _) | (_, Some(Cause::AgentLost)) => {
                self.external.failures.failed(sweep, cell, ended)
            }
            (HowEnded::Exited(_) | HowEnded::Deadline | HowEnded::TooMuchOutput, None) => {
                self.external.failures.worked(sweep, cell);
            }
            // Trouble of ours, or of somebody else, says nothing about the agent.
            (HowEnded::Exited(_) | HowEnded::Deadline | HowEnded::TooMuchOutput, Some(_))
            | (HowEnded::Killed(_) | HowEnded::Interrupted, _) => {}
        }
    }

    /// Remembers an agent that was killed each time: one kill says nothing about it, and a program that crashes says the same every time.
    fn learn_killed(&self, transcript: &Transcript) {
        let last = transcript.events.iter().rev().find_map(|event| match event {
            Event::Ended(ended) => Some(ended),
            _ => None,
        });
        if let Some(ended) = last.filter(|ended| matches!(ended.how, HowEnded::Killed(_))) {
            self.external.failures.failed(&self.sweep.id, self.cell.index, ended);
        }
    }

    /// Starts the agent once. Returns how it ended, and what keeps the session from being measured whatever the agent made of it.
    async fn start_agent(
        &self,
        task: &DelegatedTask,
        agent: &ExternalAgent,
        transcript: &mut Transcript,
        budget: Arc<Budget>,
    ) -> io::Result<(AgentEnded, Option<Cause>)> {
        let bridge = self.external.bridge().await?;
        let stop = Stop::default();
        let is_again = times_started(transcript) > 0;
        let mut running = Running::new(self, agent, &stop, transcript, budget.clone());
        running.begin(Started { agent: task.agent.clone(), attempt: self.attempt.number() });
        let (desk, mut notes) = Desk::open(self, budget);
        let open = bridge.open(Arc::new(desk));
        let strays = Strays::of(&open);
        let runnable = self.external.runnable(&task.agent, agent, is_again);
        let (base, authorities) = match &runnable {
            Runnable::Service(_) | Runnable::Process(_) | Runnable::Kept { .. } => {
                (open.base_url().to_owned(), self.external.authorities.as_ref())
            }
            // Its way to the bridge is no network, and not encrypted.
            Runnable::Container(..) => (open.base_url_at(container::ORIGIN), None),
            Runnable::Pod(..) => (open.base_url().to_owned(), self.external.pods.authorities()),
        };
        let addresses = Addresses::of(&base, &self.cell.model.model);
        let briefing = Briefing::new(task.input.clone(), &addresses, authorities);
        let mut calls = FuturesUnordered::new();
        let mut ended = {
            let session = SessionKey { sweep: self.sweep.id.clone(), cell: self.cell.index, item: self.index };
            let run = self.external.run(bridge, (agent, runnable), &session, (&briefing, &strays), &stop);
            tokio::pin!(run);
            loop {
                let is_free = stop.why().is_none();
                tokio::select! {
                    biased;
                    () = self.interrupt.cancelled(), if is_free => stop.now(HowEnded::Interrupted),
                    Some(done) = calls.next() => running.settle(done),
                    Some(note) = notes.recv() => calls.extend(running.take(note)),
                    ended = &mut run => break ended,
                    () = until(running.runs_out()), if is_free => stop.now(HowEnded::Deadline),
                }
            }
        };
        // Whoever still asks at its address, is told that the session is over.
        drop(open);
        running.ended();
        notes.close();
        while let Some(note) = notes.recv().await {
            calls.extend(running.take(note));
        }
        // What is under way is paid.
        while let Some(done) = calls.next().await {
            running.settle(done);
        }
        if running.is_idle() && is_unable(agent, ended.how) {
            ended.errors = format!("it did nothing and {}\n{}", ended.how, ended.errors).into();
            ended.how = HowEnded::NotStarted;
        }
        if running.is_idle() && strays.are_found() && has_done_its_own(ended.how) {
            let why = "it asked at the address of an earlier session: each session has a `base_url` and an `api_key` of its own";
            ended.errors = format!("{}{why}\n", ended.errors).into();
            ended.how = HowEnded::NotStarted;
        }
        let ruin = match running.ruin() {
            None if running.is_at_a_loss() && has_done_its_own(ended.how) => Some(Cause::RequestRefused),
            None if running.course().is_lost(has_failed(agent, ended.how), &ended) => {
                self.log_lost(task, &ended, running.missed_route());
                Some(Cause::AgentLost)
            }
            ruin => ruin,
        };
        Ok((ended, ruin))
    }

    /// Warns of an agent that failed; of the same failure again it only says that at a lower level.
    fn log_lost(&self, task: &DelegatedTask, ended: &AgentEnded, missed_route: Option<&str>) {
        let (agent, item, how, errors) = (&task.agent, &self.item.id, ended.how, &ended.errors);
        if self.external.failures.is_news(&self.sweep.id, ended) {
            tracing::warn!(
                %agent, %item, ?how, missed_route, %errors,
                "an external agent failed before it had asked its model, or for want of a route, or it did and said nothing; its session is not \
                 measured, nor are others that end alike"
            );
        } else {
            tracing::debug!(%agent, %item, ?how, missed_route, %errors, "an external agent failed as one before it did");
        }
    }
}

/// The deadline is never before the agent has begun.
async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// `true` if the agent says by the way it ended that it did not do what it was to do.
const fn has_failed(agent: &ExternalAgent, how: HowEnded) -> bool {
    match (how, &agent.url) {
        (HowEnded::Exited(status), Some(_)) => status < 200 || status > 299,
        (HowEnded::Exited(code), None) => code != 0,
        // A flood is stopped, as a hang is.
        (HowEnded::Deadline | HowEnded::TooMuchOutput, _) => true,
        // What else ends an agent is judged by itself: it is started again, lost, or scored.
        (HowEnded::Killed(_) | HowEnded::OutOfMemory | HowEnded::NotStarted | HowEnded::Interrupted, _) => false,
    }
}

/// `true` for an end that nobody else has brought about.
const fn has_done_its_own(how: HowEnded) -> bool {
    match how {
        HowEnded::Exited(_) | HowEnded::Deadline | HowEnded::TooMuchOutput => true,
        HowEnded::Killed(_) | HowEnded::OutOfMemory | HowEnded::NotStarted | HowEnded::Interrupted => false,
    }
}

/// True if `how` shows that an agent which has done nothing never began: its address or its program was not available.
fn is_unable(agent: &ExternalAgent, how: HowEnded) -> bool {
    match (how, &agent.url) {
        (HowEnded::Exited(status), Some(_)) => post::is_unable(status),
        (HowEnded::Exited(code), None) => program::is_unable(code),
        _ => false,
    }
}

const fn not_measured(cause: Cause) -> Ended {
    Ended::Over(Outcome::NotMeasured { cause })
}

/// Longest that one start of an agent takes, waits left out.
const fn longest(agent: &ExternalAgent) -> Duration {
    Duration::from_secs(agent.startup_s as u64 + agent.deadline_s as u64)
}

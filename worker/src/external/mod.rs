//! Sessions that somebody else's agent does: it is started or called, asks its models through the bridge, and everything it does there
//! is recorded.
//!
//! An agent has no memory that we could hand over, so one that is started again begins anew. What it asks then that it had asked before is
//! answered from the transcript: no call is paid twice.

mod briefing;
mod clock;
mod desk;
mod group;
mod pipes;
mod places;
mod post;
mod program;
mod recorded;
mod running;
mod stop;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use regatta_benchmarks::Errand;
use regatta_bridge::Bridge;
use regatta_proto::{Cause, Ended as AgentEnded, Event, ExternalAgent, HowEnded, Outcome, Started, Transcript};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::session::{Ended, Session};
use briefing::{Addresses, Briefing};
use desk::Desk;
use places::Places;
use running::Running;
use stop::Stop;

/// Most starts in one session, whatever ended them. An agent that asks something else each time, and takes longer than workers keep a
/// session, would be started for ever.
const STARTS_MAX: usize = 64;

/// What all external agents of a worker share.
pub(crate) struct External {
    listen: SocketAddr,
    /// Started with the first agent.
    bridge: OnceCell<Bridge>,
    places: Places,
    /// Where commands get the variables that are passed on to them.
    variables: Arc<BTreeMap<String, String>>,
}

impl External {
    pub(crate) fn new(listen: SocketAddr, variables: Arc<BTreeMap<String, String>>) -> Self {
        Self { listen, bridge: OnceCell::new(), places: Places::default(), variables }
    }

    async fn bridge(&self) -> io::Result<&Bridge> {
        self.bridge.get_or_try_init(|| Bridge::start(self.listen)).await
    }

    async fn run(&self, agent: &ExternalAgent, briefing: &Briefing, stop: &Stop) -> AgentEnded {
        match &agent.url {
            Some(url) => post::run(agent, url, briefing, stop).await,
            None => program::run(agent, briefing, &self.variables, stop).await,
        }
    }
}

impl Session<'_> {
    /// Has an external agent do `errand`, and appends to `transcript` what it did. `None` when it has ended by itself or at a limit of its
    /// own: then the session goes on.
    pub(crate) async fn delegate(&self, errand: &Errand, transcript: &mut Transcript) -> Option<Ended> {
        let (name, item) = (&errand.agent, &self.item.id);
        let Some(agent) = self.sweep.lock.agents.get(name) else {
            // The plan sees to it that there is one.
            tracing::error!(agent = %name, cell = %self.cell.index, "a session needs an external agent that its sweep does not have");
            return Some(not_measured(Cause::Internal));
        };
        let place = self.external.places.take(&self.sweep.id, name, agent.concurrency);
        let _place = tokio::select! {
            biased;
            () = self.interrupt.cancelled() => return Some(Ended::Interrupted),
            place = place => place,
        };
        loop {
            if self.interrupt.is_cancelled() {
                return Some(Ended::Interrupted);
            }
            if times_started(transcript) >= STARTS_MAX {
                tracing::error!(agent = %name, %item, starts = STARTS_MAX, "an external agent never came to its end before its worker left");
                return Some(not_measured(Cause::AgentLost));
            }
            if times_killed(transcript) >= usize::from(agent.starts_max) {
                tracing::error!(agent = %name, %item, starts = agent.starts_max, "an external agent was killed each time it was started");
                return Some(not_measured(Cause::AgentLost));
            }
            let (ended, ruin) = match self.start_agent(errand, agent, transcript).await {
                Ok(ended) => ended,
                Err(error) => {
                    tracing::error!(%error, agent = %name, "failed to start the bridge that external agents ask their models at");
                    return Some(not_measured(Cause::AgentLost));
                }
            };
            let (how, errors) = (ended.how, ended.errors.clone());
            transcript.events.push(Event::Ended(Box::new(ended)));
            if let Some(cause) = ruin {
                return Some(not_measured(cause));
            }
            match how {
                HowEnded::Interrupted => return Some(Ended::Interrupted),
                HowEnded::Killed(signal) => {
                    tracing::warn!(agent = %name, %item, signal, %errors, "an external agent was killed by somebody else");
                }
                HowEnded::NotStarted => {
                    tracing::error!(agent = %name, %item, %errors, "failed to start or to reach an external agent");
                    return Some(not_measured(Cause::AgentLost));
                }
                HowEnded::Exited(_) | HowEnded::Deadline | HowEnded::TooMuchOutput => return None,
            }
        }
    }

    /// Starts the agent once. Returns how it ended, and what keeps the session from being measured whatever the agent made of it.
    async fn start_agent(
        &self,
        errand: &Errand,
        agent: &ExternalAgent,
        transcript: &mut Transcript,
    ) -> io::Result<(AgentEnded, Option<Cause>)> {
        let bridge = self.external.bridge().await?;
        let stop = Stop::default();
        let mut running = Running::new(self, agent, &stop, transcript);
        running.begin(Started { agent: errand.agent.clone(), attempt: self.attempt.number() });
        let (desk, mut notes) = Desk::open(self);
        let open = bridge.open(Arc::new(desk));
        let briefing = Briefing::new(errand.input.clone(), &Addresses::of(&open, &self.cell.model.model));
        let mut calls = FuturesUnordered::new();
        let ended = {
            let run = self.external.run(agent, &briefing, &stop);
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
        Ok((ended, running.ruin()))
    }
}

/// The deadline is never before the agent has begun.
async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// How often agents of the session were started, in all its attempts.
fn times_started(transcript: &Transcript) -> usize {
    transcript.events.iter().filter(|event| matches!(event, Event::Started(_))).count()
}

/// How often agents of the session were killed, in all its attempts.
fn times_killed(transcript: &Transcript) -> usize {
    let is_killed = |event: &&Event| matches!(event, Event::Ended(ended) if matches!(ended.how, HowEnded::Killed(_)));
    transcript.events.iter().filter(is_killed).count()
}

const fn not_measured(cause: Cause) -> Ended {
    Ended::Over(Outcome::NotMeasured { cause })
}

/// The deadline of an agent.
const fn deadline(agent: &ExternalAgent) -> Duration {
    Duration::from_secs(agent.deadline_s as u64)
}

//! One start of an agent: its calls are made, everything is recorded.

use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use regatta_benchmarks::delegated;
use regatta_bridge::{Answered, Refused};
use regatta_llm::CallError;
use regatta_proto::{
    Call, Cause, ChatRequest, Digest, ErrorClass, Event, ExternalAgent, FailedCall, HowEnded, Outcome, Role, Started,
    Transcript, Try,
};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::budget::{Budget, size};
use super::clock::Clock;
use super::course::{Course, Requests};
use super::desk::{Note, over};
use super::recorded::{Recorded, Replayed, key};
use super::stop::Stop;
use crate::attempts::CallMeter;
use crate::session::Session;

/// Most refusals of one start that are recorded.
const REFUSALS_KEPT: u32 = 100;

/// The session as it is while its agent runs.
pub(super) struct Running<'s> {
    session: &'s Session<'s>,
    agent: &'s ExternalAgent,
    stop: &'s Stop,
    transcript: &'s mut Transcript,
    recorded: Recorded,
    clock: Clock,
    /// Fires when no call may try once more.
    interrupt: CancellationToken,
    has_ended: bool,
    /// Calls asked for by this start.
    asked: u32,
    /// Calls asked for in earlier turns of the conversation, which count against the limit of its session.
    asked_earlier: u32,
    /// Calls refused to this start without having been made, as far as they are recorded.
    refused: u32,
    /// Number of times that each request was asked in this start.
    repeats: HashMap<Digest, u32>,
    /// The same of the turns before it: what is asked again in another turn is another sample, as if a model were asked.
    repeats_earlier: HashMap<Digest, u32>,
    /// Number of the agent's next action. Actions are recorded in this order, however long they take: a score must not depend on who
    /// answers first, and the n-th answer of a transcript is that to the n-th request.
    numbers: u32,
    /// Number of the first event that is not recorded yet; all before it are in the transcript.
    recorded_to: u32,
    /// Events by their numbers that are settled while one before them is not; `None` where nothing is to be recorded.
    early: BTreeMap<u32, Option<Event>>,
    budget: Arc<Budget>,
    replayed: Replayed,
    /// Keys of what was asked in calls that are under way, by their numbers.
    under_way: BTreeMap<u32, Digest>,
    /// Meters of the calls that are not yet recorded, by their numbers.
    meters: HashMap<u32, Arc<CallMeter<'s>>>,
    /// Meters of calls that are recorded and not yet in the books.
    recorded_meters: Vec<Arc<CallMeter<'s>>>,
    ruin: Option<Cause>,
    /// The agent's last request to a model was refused for what it said, and it has asked none since.
    is_at_a_loss: bool,
    /// A route that it asked for and that the bridge does not have.
    missed_route: Option<String>,
}

/// A call that is over.
pub(super) struct Done {
    number: u32,
    result: Result<Call, CallError>,
    reply: oneshot::Sender<Result<Answered, Refused>>,
}

impl<'s> Running<'s> {
    pub(super) fn new(
        session: &'s Session<'s>,
        agent: &'s ExternalAgent,
        stop: &'s Stop,
        transcript: &'s mut Transcript,
        budget: Arc<Budget>,
    ) -> Self {
        let repeats_earlier = asked_in_turns(transcript);
        Self {
            session,
            agent,
            stop,
            recorded: Recorded::of(transcript),
            asked_earlier: repeats_earlier.values().sum(),
            transcript,
            clock: Clock::start(seconds(agent.startup_s), seconds(agent.deadline_s)),
            interrupt: session.interrupt.child_token(),
            has_ended: false,
            asked: 0,
            refused: 0,
            repeats: HashMap::new(),
            repeats_earlier,
            numbers: 0,
            recorded_to: 0,
            under_way: BTreeMap::new(),
            early: BTreeMap::new(),
            budget,
            replayed: Replayed::default(),
            meters: HashMap::new(),
            recorded_meters: Vec::new(),
            ruin: None,
            is_at_a_loss: false,
            missed_route: None,
        }
    }

    pub(super) fn begin(&mut self, started: Started) {
        self.transcript.events.push(Event::Started(started));
    }

    /// When the agent's time is over, as far as that can be said.
    pub(super) fn runs_out(&self) -> Option<Instant> {
        self.clock.runs_out()
    }

    /// The agent is gone: calls that are under way are no longer repeated, and no further ones are made.
    pub(super) fn ended(&mut self) {
        self.has_ended = true;
        self.interrupt.cancel();
    }

    /// The cause for which the session cannot be measured, whatever the agent does; `None` if there is none.
    pub(super) const fn ruin(&self) -> Option<Cause> {
        self.ruin
    }

    /// `true` if the agent came to its end by a request that was refused for what it said: it asked nothing else after that, and what it did
    /// says nothing about its model.
    pub(super) const fn is_at_a_loss(&self) -> bool {
        self.is_at_a_loss
    }

    /// True if the agent has made no request at all, of a model or a tool.
    pub(super) const fn is_idle(&self) -> bool {
        self.numbers == 0
    }

    /// The requests of the agent so far.
    pub(super) const fn course(&self) -> Course {
        let requests = match (self.numbers, self.asked) {
            (0, _) => Requests::None,
            (_, 0) => Requests::Others,
            (_, _) => Requests::Model,
        };
        Course { requests, has_asked_earlier: self.asked_earlier > 0, missed_route: self.missed_route.is_some() }
    }

    /// The route of the bridge that the agent asked for in vain.
    pub(super) fn missed_route(&self) -> Option<&str> {
        self.missed_route.as_deref()
    }

    /// Takes note of what the agent did. Returns the call that has to be made for it, if one has.
    pub(super) fn take(&mut self, note: Note) -> Option<BoxFuture<'s, Done>> {
        match note {
            Note::Exchange(exchange) => {
                let number = self.number();
                self.record(number, Some(Event::Exchange(Box::new(exchange))));
            }
            Note::Unreadable(message) => {
                self.refuse(ErrorClass::BadRequest, 400, message);
                self.is_at_a_loss = true;
            }
            Note::NoSuchRoute(route) => {
                self.missed_route.get_or_insert(route);
            }
            Note::Crowded => self.spoil(Cause::AgentLost),
            Note::Call(request, reply) => match self.ask(request) {
                Ok(Asked::Made(number, call)) => {
                    return Some(call.map(move |result| Done { number, result, reply }).boxed());
                }
                Ok(Asked::Known(call)) => tell(reply, Ok(answered(&call))),
                Err(refused) => tell(reply, Err(refused)),
            },
        }
        None
    }

    fn ask(&mut self, mut request: ChatRequest) -> Result<Asked<'s>, Refused> {
        if self.has_ended || self.stop.why().is_some() {
            return Err(over());
        }
        if self.asked.saturating_add(self.asked_earlier) >= self.agent.calls_max {
            let message = format!("this session may make {} model calls, and has made them", self.agent.calls_max);
            return Err(self.refuse(ErrorClass::RateLimited, 429, message));
        }
        let session = self.session;
        let Some(player) = session.resolve(Role::Agent, &mut request) else {
            self.spoil(Cause::Internal);
            return Err(over());
        };
        let (key, bytes) = key(&request);
        if !self.budget.fits(bytes) {
            if self.budget.would_fit_alone(bytes) {
                self.spoil(Cause::AgentLost);
                return Err(over());
            }
            let message = "the requests and answers of this session are too large".to_owned();
            return Err(self.refuse(ErrorClass::RateLimited, 429, message));
        }
        self.budget.take(bytes);
        session.holder.keep(bytes);
        self.is_at_a_loss = false;
        let number = self.number();
        let repeats = self.repeats.entry(key).or_default();
        let repeat = *repeats;
        *repeats += 1;
        self.asked += 1;
        let attempt = session.attempt.number();
        if let Some(known) = self.recorded.answer(self.transcript, &key, repeat, attempt) {
            let took = self.replayed.beyond(&known);
            self.clock.replayed(took);
            self.budget.take(size(&known.call.reply));
            self.record(number, Some(Event::Call(known.call.clone())));
            return Ok(Asked::Known(known.call));
        }
        if self.transcript.calls().next().is_some() {
            session.checkpoint.keep(self.transcript);
        }
        let repeat = repeat + self.repeats_earlier.get(&key).copied().unwrap_or_default();
        let meter = session.meter();
        self.meters.insert(number, Arc::clone(&meter));
        self.clock.asked();
        let interrupt = self.interrupt.clone();
        let call =
            async move { session.ask(player, Role::Agent, &request, repeat, (&interrupt, &meter)).await }.boxed();
        self.under_way.insert(number, key);
        Ok(Asked::Made(number, call))
    }

    /// A call that is not made. The first ones are recorded; the others have no number, because numbers are kept while an earlier call is
    /// under way, and nothing but time limits how often an agent is refused.
    fn refuse(&mut self, class: ErrorClass, status: u16, message: String) -> Refused {
        if self.refused < REFUSALS_KEPT {
            self.refused += 1;
            let failed = Event::Failed(FailedCall {
                role: Role::Agent,
                attempt: self.session.attempt.number(),
                model: self.session.cell.model.clone(),
                tries: vec![Try::not_sent(class, message.clone())],
                request: None,
                asked: None,
            });
            let number = self.number();
            self.record(number, Some(failed));
        }
        Refused { status: Some(status), ..Refused::new(class, message) }
    }

    fn number(&mut self) -> u32 {
        self.clock.begin();
        let number = self.numbers;
        self.numbers += 1;
        number
    }

    /// Settles `number` with its event, if it has one, and records all events that no unsettled one precedes.
    fn record(&mut self, number: u32, event: Option<Event>) {
        self.early.insert(number, event);
        while let Some(event) = self.early.remove(&self.recorded_to) {
            self.recorded_meters.extend(self.meters.remove(&self.recorded_to));
            self.recorded_to += 1;
            self.transcript.events.extend(event);
        }
    }

    /// Records a call that is over, and tells the agent what came of it.
    pub(super) fn settle(&mut self, done: Done) {
        let Done { number, result, reply } = done;
        let asked = self.under_way.remove(&number);
        let served = match &result {
            Ok(call) if !call.from_cache => Duration::from_micros(call.latency_us),
            Ok(_) | Err(_) => Duration::ZERO,
        };
        self.clock.answered(served);
        let (event, told) = match result {
            Ok(call) => {
                let told = answered(&call);
                self.budget.take(size(&call.reply));
                (Some(Event::Call(Box::new(call))), Ok(told))
            }
            Err(CallError::Interrupted(failed)) => {
                ((!failed.tries.is_empty()).then_some(Event::Failed(FailedCall { asked, ..failed })), Err(over()))
            }
            Err(CallError::Failed(failed)) => {
                let refused = self.refusal(&failed);
                (Some(Event::Failed(FailedCall { asked, ..failed })), Err(refused))
            }
        };
        self.record(number, event);
        self.report();
        tell(reply, told);
    }

    /// The answer to the agent for a call that was given up. A failure of the model, and a request that is refused for what it says, are the
    /// agent's to cope with; any other failure says nothing about the agent, so the session is stopped.
    fn refusal(&mut self, failed: &FailedCall) -> Refused {
        let Some(last) = failed.tries.last() else {
            self.spoil(Cause::Internal);
            return over();
        };
        if last.class == ErrorClass::BadRequest {
            // Its request may be at fault, as at the provider itself, and it may know another one. After its end it waits for no answer.
            self.is_at_a_loss |= !self.has_ended;
            return Refused::new(last.class, last.detail.clone());
        }
        match Outcome::of_failure(last.class, self.session.sweep.lock.filtered) {
            Outcome::NotMeasured { cause } => {
                self.spoil(cause);
                over()
            }
            Outcome::ModelFailure { .. } | Outcome::Measured => Refused::new(last.class, last.detail.clone()),
        }
    }

    /// The first reason is the one that counts.
    fn spoil(&mut self, cause: Cause) {
        // What comes after the agent's own end changes nothing any more.
        if !self.has_ended {
            self.ruin.get_or_insert(cause);
            self.stop.now(HowEnded::Interrupted);
        }
    }

    fn report(&mut self) {
        self.session.record(self.transcript, &mem::take(&mut self.recorded_meters));
    }
}

/// Number of times that an agent asked each request in those of its turns that are over.
fn asked_in_turns(transcript: &Transcript) -> HashMap<Digest, u32> {
    let mut asked = HashMap::new();
    for event in delegated::turns(transcript).iter().flat_map(|turn| turn.events) {
        let key = match event {
            Event::Call(call) => key(&call.request).0,
            Event::Failed(FailedCall { asked: Some(asked), .. }) => *asked,
            // A refusal was never asked of a model.
            Event::Failed(_)
            | Event::Started(_)
            | Event::Recorded(_)
            | Event::Exchange(_)
            | Event::Ended(_)
            | Event::BenchmarkFailed(_) => continue,
        };
        *asked.entry(key).or_default() += 1;
    }
    asked
}

const fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(seconds as u64)
}

/// Result of a request: a call under way, or an answer that is already recorded.
enum Asked<'s> {
    /// A new call with its number.
    Made(u32, BoxFuture<'s, Result<Call, CallError>>),
    /// The recorded call of an earlier start.
    Known(Box<Call>),
}

fn answered(call: &Call) -> Answered {
    Answered { reply: call.reply.clone(), usage: call.usage, model: call.model.model.clone() }
}

fn tell(reply: oneshot::Sender<Result<Answered, Refused>>, told: Result<Answered, Refused>) {
    // The agent may have gone.
    let _ = reply.send(told);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_asked_in_earlier_turns_counts_and_what_is_under_way_does_not() {
        let call = |role: &str, text: &str| {
            json!({ "call": {
                "role": role, "attempt": 1, "model": "sim/a", "request": { "messages": [{ "role": "user", "content": text }] },
                "reply": { "text": "x", "finish": "stop" }, "usage": { "input": 0, "output": 0 }, "cost": null, "latency_us": 0,
            } })
        };
        let started = || json!({ "started": { "agent": "mine", "attempt": 1 } });
        let exited = || json!({ "ended": { "how": { "exited": 0 }, "output": "x" } });
        let asked = |text: &str| {
            key(&serde_json::from_value(json!({ "messages": [{ "role": "user", "content": text }] })).unwrap()).0
        };
        let refused = json!({ "failed": { "role": "agent", "attempt": 1, "model": "sim/a", "tries": [] } });
        let failed =
            json!({ "failed": { "role": "agent", "attempt": 1, "model": "sim/a", "tries": [], "asked": asked("b") } });
        let first = [call("user", "a"), started(), call("agent", "a"), refused, failed, call("agent", "a"), exited()];
        let second = [call("user", "a"), started(), call("agent", "a")];
        let events = [&first[..], &second].concat();
        let talk: Transcript = serde_json::from_value(json!({ "events": events })).unwrap();
        assert_eq!(asked_in_turns(&talk), HashMap::from([(asked("a"), 2), (asked("b"), 1)]));
    }
}

//! One start of an agent: its calls are made, everything is recorded.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use regatta_bridge::{Answered, Refused};
use regatta_llm::CallError;
use regatta_proto::{
    Call, Cause, ChatRequest, Digest, ErrorClass, Event, ExternalAgent, FailedCall, HowEnded, Money, Outcome, Role,
    Started, Transcript,
};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::clock::Clock;
use super::deadline;
use super::desk::{Note, over};
use super::recorded::{Recorded, key};
use super::stop::Stop;
use crate::session::{Session, worst_case};

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
    /// Of each request, how often it was asked and how far that is recorded.
    lines: HashMap<Digest, Line>,
    /// What the calls that are not yet recorded may cost at most, by their numbers.
    at_most: HashMap<u32, Option<Money>>,
    ruin: Option<Cause>,
}

/// Equal requests are recorded in the order in which they were asked, so that the n-th answer of a transcript is that to the n-th request.
#[derive(Default)]
struct Line {
    asked: u32,
    recorded: u32,
    /// Answered, but one that was asked before is not.
    early: BTreeMap<u32, (u32, Option<Event>)>,
}

/// A call by its place among all calls of the start, and among those that are equal.
#[derive(Clone, Copy)]
struct Place {
    number: u32,
    key: Digest,
    repeat: u32,
}

/// A call that is over.
pub(super) struct Done {
    place: Place,
    result: Result<Call, CallError>,
    reply: oneshot::Sender<Result<Answered, Refused>>,
}

impl<'s> Running<'s> {
    pub(super) fn new(
        session: &'s Session<'s>,
        agent: &'s ExternalAgent,
        stop: &'s Stop,
        transcript: &'s mut Transcript,
    ) -> Self {
        Self {
            session,
            agent,
            stop,
            recorded: Recorded::of(transcript),
            transcript,
            clock: Clock::start(deadline(agent)),
            interrupt: session.interrupt.child_token(),
            has_ended: false,
            asked: 0,
            lines: HashMap::new(),
            at_most: HashMap::new(),
            ruin: None,
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

    /// Why the session cannot be measured, whatever the agent made of it.
    pub(super) const fn ruin(&self) -> Option<Cause> {
        self.ruin
    }

    /// Takes note of what the agent did. Returns the call that has to be made for it, if one has.
    pub(super) fn take(&mut self, note: Note) -> Option<BoxFuture<'s, Done>> {
        match note {
            Note::Exchange(exchange) => {
                self.transcript.events.push(Event::Exchange(Box::new(exchange)));
                None
            }
            Note::Call(request, reply) => match self.ask(request) {
                Ok(Asked::Made(place, call)) => Some(call.map(move |result| Done { place, result, reply }).boxed()),
                Ok(Asked::Known(place, call)) => {
                    self.settle(Done { place, result: Ok(*call), reply });
                    None
                }
                Err(refused) => {
                    tell(reply, Err(refused));
                    None
                }
            },
        }
    }

    fn ask(&mut self, mut request: ChatRequest) -> Result<Asked<'s>, Refused> {
        if self.has_ended || self.stop.why().is_some() {
            return Err(over());
        }
        if self.asked >= self.agent.calls_max {
            let message = format!("this session may make {} model calls, and has made them", self.agent.calls_max);
            return Err(Refused { status: Some(429), ..Refused::new(ErrorClass::RateLimited, message) });
        }
        let session = self.session;
        let Some(player) = session.dress(Role::Agent, &mut request) else {
            self.spoil(Cause::Internal);
            return Err(over());
        };
        let key = key(&request);
        let line = self.lines.entry(key).or_default();
        let place = Place { number: self.asked, key, repeat: line.asked };
        line.asked += 1;
        self.asked += 1;
        let attempt = session.attempt.number();
        if let Some(known) = self.recorded.answer(self.transcript, &key, place.repeat, attempt) {
            self.at_most.insert(place.number, Some(Money::ZERO));
            self.clock.asked();
            return Ok(Asked::Known(place, Box::new(known)));
        }
        self.at_most.insert(place.number, player.price().map(|price| worst_case(&request, price)));
        self.clock.asked();
        self.report();
        let interrupt = self.interrupt.clone();
        let call = async move { session.ask(player, Role::Agent, &request, place.repeat, &interrupt).await }.boxed();
        Ok(Asked::Made(place, call))
    }

    /// Records a call that is over, and tells the agent what came of it.
    pub(super) fn settle(&mut self, done: Done) {
        let Done { place, result, reply } = done;
        let served = match &result {
            Ok(call) if !call.from_cache => Duration::from_micros(call.latency_us),
            Ok(_) | Err(_) => Duration::ZERO,
        };
        self.clock.answered(served);
        let (event, told) = match result {
            Ok(call) => {
                let answered =
                    Answered { reply: call.reply.clone(), usage: call.usage, model: call.model.model.clone() };
                (Some(Event::Call(Box::new(call))), Ok(answered))
            }
            Err(CallError::Interrupted(failed)) => {
                ((!failed.tries.is_empty()).then_some(Event::Failed(failed)), Err(over()))
            }
            Err(CallError::Failed(failed)) => {
                let refused = self.refusal(&failed);
                (Some(Event::Failed(failed)), Err(refused))
            }
        };
        let line = self.lines.entry(place.key).or_default();
        line.early.insert(place.repeat, (place.number, event));
        while let Some((number, event)) = line.early.remove(&line.recorded) {
            line.recorded += 1;
            self.at_most.remove(&number);
            self.transcript.events.extend(event);
        }
        self.report();
        tell(reply, told);
    }

    /// What the agent is told of a call that was given up. What the model made impossible is the agent's to live with; everything else
    /// says nothing about it, so it is stopped.
    fn refusal(&mut self, failed: &FailedCall) -> Refused {
        let Some(last) = failed.tries.last() else {
            self.spoil(Cause::Internal);
            return over();
        };
        match Outcome::of_failure(last.class) {
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

    fn report(&self) {
        let in_flight = self.at_most.values().try_fold(Money::ZERO, |sum, one| one.map(|one| sum + one));
        self.session.report(self.transcript, in_flight);
    }
}

/// What becomes of a request.
enum Asked<'s> {
    /// It is asked.
    Made(Place, BoxFuture<'s, Result<Call, CallError>>),
    /// It was answered before.
    Known(Place, Box<Call>),
}

fn tell(reply: oneshot::Sender<Result<Answered, Refused>>, told: Result<Answered, Refused>) {
    // The agent may have gone.
    let _ = reply.send(told);
}

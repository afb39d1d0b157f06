//! A worker's side of a pool without its task and its calls, for simulations of fleets: time, requests and answers are the simulation's.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use regatta_proto::{Limits, PoolReply, PoolRequest, Share, Signals, SweepId, WorkerId};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Permit;
use super::leasing::PATIENCE;
use super::party::{Line, Taken, Waiter};
use super::state::{Asked, Due, State};

/// One sweep's calls in one worker, in flight and waiting, with the leases that the worker holds for them.
#[derive(Debug)]
pub struct SimulatedHolder {
    state: State,
    sweep: SweepId,
    party: u64,
    request: PoolRequest,
    asked: Option<Asked>,
    /// A call stands in line for as long as somebody could receive its permit.
    waiting: VecDeque<oneshot::Receiver<Permit>>,
}

/// A call in flight.
#[derive(Debug)]
pub struct SimulatedCall(Taken);

impl SimulatedHolder {
    /// Time after which a worker gives a request to the store up.
    pub const PATIENCE: Duration = PATIENCE;

    /// A worker that holds nothing and wants nothing.
    #[must_use]
    pub fn open(pool: String, holder: WorkerId, limits: Limits, sweep: SweepId, now: Instant) -> Self {
        let mut state = State::new(limits, BTreeMap::new(), now);
        let party = state.party(&sweep, "", Share::default());
        let request = PoolRequest {
            pool,
            holder,
            limits,
            model_limits: BTreeMap::new(),
            parties: Vec::new(),
            signals: Signals::default(),
        };
        Self { state, sweep, party, request, asked: None, waiting: VecDeque::new() }
    }

    /// A further call waits, behind the others.
    pub fn wait(&mut self) {
        let (sender, receiver) = oneshot::channel();
        // A party is forgotten when nobody needs it.
        self.party = self.state.party(&self.sweep, "", Share::default());
        self.state.enqueue(self.party, Waiter { tokens: 0, sender }, Line::New, false);
        self.waiting.push_back(receiver);
    }

    /// Begins the call that has waited for longest, if there is one and it may be sent.
    pub fn begin(&mut self, now: Instant) -> Option<SimulatedCall> {
        let (_, taken) = self.state.next(self.party, now)?;
        self.waiting.pop_front();
        Some(SimulatedCall(taken))
    }

    /// Ends a call with an answer.
    pub fn answered(&mut self, call: &SimulatedCall) {
        self.state.finish(&call.0, call.0.tokens);
        self.state.heard.answered();
    }

    /// When it asks the store next, if nothing changes before; `None` if it need not. Not to be called while it waits for an answer.
    pub fn asks_at(&mut self, now: Instant) -> Option<Instant> {
        match self.state.look(now) {
            Due::Ask => Some(now),
            Due::Look(at) => at,
        }
    }

    /// The request to the store. Until [`Self::hear`] or [`Self::give_up`] nothing is used beyond what it tells.
    pub fn ask(&mut self, now: Instant) -> PoolRequest {
        self.asked = Some(self.state.tell(&mut self.request, now));
        self.request.clone()
    }

    /// Takes the store's answer. `jitter` is 0 to 1.
    pub fn hear(&mut self, reply: &PoolReply, jitter: f64) {
        if let Some(asked) = self.asked.take() {
            self.state.granted(&asked, &self.request, reply, jitter);
        }
    }

    /// Gives the request up. `jitter` is 0 to 1.
    pub fn give_up(&mut self, now: Instant, jitter: f64) {
        if let Some(asked) = self.asked.take() {
            self.state.unanswered(&asked, &self.request, now, jitter);
        }
    }
}

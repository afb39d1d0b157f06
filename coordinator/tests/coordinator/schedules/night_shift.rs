//! A stage with schedules: a gate that says what the test wants, a messenger that keeps what it is given.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use regatta_backends::{Blobs, Ledger, NewSchedule, TickState};
use regatta_coordinator::{
    GateError, GateJudgement, GateQuestion, Message, Messenger, NightGate, NightVerdict, ScheduleRequest, ScheduleSpec,
    Scheduling, TickStatus,
};
use regatta_proto::{
    CellIndex, Clock, Money, OwnerName, ScheduleName, SessionJob, SessionKey, SweepId, SweepState, Transcript,
};
use serde_json::{Value, json};

use crate::stage::{Process, Stage, spec};

/// A gate that gives the verdicts it was told to, in turn, and keeps what it was asked.
#[derive(Default)]
pub(crate) struct Gate {
    pub(crate) verdicts: Mutex<Vec<Result<NightVerdict, GateError>>>,
    pub(crate) asked: Mutex<Vec<GateQuestion>>,
    /// Scores by the order of questions; 0.5 beyond.
    pub(crate) scores: Mutex<Vec<f64>>,
}

impl NightGate for Gate {
    fn check(&self, policy: &str) -> Result<(), String> {
        if policy.contains("metrics") { Ok(()) } else { Err("metrics is missing".to_owned()) }
    }

    fn judge<'a>(&'a self, question: &'a GateQuestion) -> BoxFuture<'a, Result<GateJudgement, GateError>> {
        let mut asked = self.asked.lock().unwrap();
        asked.push(question.clone());
        let score = self.scores.lock().unwrap().get(asked.len() - 1).copied().unwrap_or(0.5);
        let mut verdicts = self.verdicts.lock().unwrap();
        let verdict = match &question.baseline {
            Some(_) if verdicts.is_empty() => Ok(Some(NightVerdict::Go)),
            Some(_) => verdicts.remove(0).map(Some),
            None => Ok(None),
        };
        let document = json!({ "verdict": verdict.clone().ok().flatten(), "night": question.night });
        let judged = verdict.map(|verdict| GateJudgement { verdict, score: Some(score), document });
        async move { judged }.boxed()
    }
}

/// A messenger of one webhook, `ci`, and one command, `page`.
#[derive(Default)]
pub(crate) struct Postman {
    pub(crate) taken: Mutex<Vec<Message>>,
    /// Messages that are refused before one is taken.
    pub(crate) refuses: Mutex<u32>,
}

impl Messenger for Postman {
    fn knows(&self, channel: &str) -> Result<(), String> {
        if ["webhook/ci", "command/page"].contains(&channel) { Ok(()) } else { Err(format!("there is no {channel}")) }
    }

    fn send<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), String>> {
        let mut refuses = self.refuses.lock().unwrap();
        let result = if *refuses > 0 {
            *refuses -= 1;
            Err("503 Service Unavailable".to_owned())
        } else {
            self.taken.lock().unwrap().push(message.clone());
            Ok(())
        };
        async move { result }.boxed()
    }
}

impl Postman {
    pub(crate) fn bodies(&self) -> Vec<Value> {
        self.taken.lock().unwrap().iter().map(|message| serde_json::from_str(&message.body).unwrap()).collect()
    }

    /// Notices that were sent, as `event tick`.
    pub(crate) fn told(&self) -> Vec<String> {
        let word = |body: &Value, field: &str| body[field].as_str().unwrap().to_owned();
        self.bodies().iter().map(|body| format!("{} {}", word(body, "event"), word(body, "tick"))).collect()
    }
}

pub(crate) struct NightShift {
    pub(crate) stage: Stage,
    pub(crate) gate: Arc<Gate>,
    pub(crate) postman: Arc<Postman>,
}

impl NightShift {
    /// A stage at `now`, whose ledger and blobs are in memory.
    pub(crate) async fn at(now: &str) -> Self {
        let mut shift = Self::on_disk(now).await;
        shift.stage.ledger = Ledger::in_memory().unwrap();
        shift.stage.in_memory = Some(Blobs::memory());
        shift
    }

    /// A stage at `now`.
    pub(crate) async fn on_disk(now: &str) -> Self {
        let mut stage = Stage::set().await;
        let (gate, postman) = (Arc::new(Gate::default()), Arc::new(Postman::default()));
        stage.scheduling = Some(Scheduling { gate: gate.clone(), messenger: postman.clone() });
        stage.clock.advance(now.parse::<Timestamp>().unwrap().duration_since(Timestamp::UNIX_EPOCH));
        Self { stage, gate, postman }
    }

    /// Writes the schedule `nightly` with `more`; its spec has two sessions.
    pub(crate) async fn schedule(&self, process: &Process, more: Value) -> ScheduleName {
        let request = self.request(more).await;
        let seen = self.stage.ledger.schedule(&request.schedule.name).await.unwrap();
        process.coordinator.put_schedule(request, None, seen.as_ref()).await.unwrap().name
    }

    /// Puts the schedule `name` into the ledger, whatever its document is.
    pub(crate) async fn keep(&self, name: &str, document: String, owner: Option<&OwnerName>) {
        let (name, owner, at) = (name.parse().unwrap(), owner.cloned(), self.stage.clock_now());
        let new = NewSchedule { name, document, owner, at, inputs: BTreeSet::new() };
        self.stage.ledger.put_schedule(&new, None).await.unwrap();
    }

    pub(crate) async fn request(&self, more: Value) -> ScheduleRequest {
        let mut document = json!({ "name": "nightly", "cron": "* * * * *" });
        document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ScheduleRequest {
            schedule: ScheduleSpec::from_value(document).unwrap(),
            submission: self.stage.submission(&spec("s", 2, "")).await,
            replace: false,
        }
    }

    pub(crate) fn pass(&self, seconds: i64) {
        self.stage.clock.advance(SignedDuration::from_secs(seconds));
    }

    /// Ends the sweep that runs, as a scorer does.
    pub(crate) async fn end_sweeps(&self, state: SweepState) {
        let now = self.stage.clock.now();
        for tick in self.stage.ledger.open_ticks(&"nightly".parse().unwrap()).await.unwrap() {
            // A sweep that its owner's quota refused was never entered.
            if let Some(sweep) = tick.sweep
                && self.stage.ledger.sweep(&sweep).await.unwrap().is_some()
            {
                self.stage.end(&sweep, state, now).await;
            }
        }
    }

    /// Notes a cost of the sweep that runs.
    pub(crate) async fn spend(&self, sweep: &SweepId, dollars: f64) {
        let row = self.stage.ledger.sweep(sweep).await.unwrap().unwrap();
        let process = self.stage.process();
        let planned = process.coordinator.catalog().sweep(&row.lock).await.unwrap();
        let cost = Money::from_dollars(dollars).unwrap();
        let item = planned.selected(&planned.cells()[0])[0];
        let key = SessionKey { sweep: planned.id.clone(), cell: CellIndex(0), item };
        let (lock, transcript) = (planned.digest, Transcript::default());
        let job = SessionJob { key, lock, attempt: 1, generation: 0, transcript };
        self.stage.finish(&planned, &[job], cost).await;
    }

    pub(crate) async fn history(&self, process: &Process) -> Vec<TickStatus> {
        process.coordinator.history(&"nightly".parse().unwrap(), 10_000).await.unwrap()
    }

    /// `tick state` from the oldest on.
    pub(crate) async fn states(&self, process: &Process) -> Vec<String> {
        let history = self.history(process).await;
        let shown = |tick: &TickStatus| {
            let more =
                if tick.stands_for > 1 { format!(" ({} from {})", tick.stands_for, tick.since) } else { String::new() };
            format!("{} {}{more}", tick.at, tick.state)
        };
        history.iter().rev().map(shown).collect()
    }

    pub(crate) async fn count(&self, process: &Process, state: TickState) -> u32 {
        self.history(process).await.iter().filter(|tick| tick.state == state).map(|tick| tick.stands_for).sum()
    }
}

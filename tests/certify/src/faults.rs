//! Does each fault, and undoes it.

use std::time::Duration;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use regatta_tests::Traffic;
use rustix::process::Signal;
use tokio::time::{Instant, sleep};

use crate::endpoint::{Endpoint, Lost, Mood};
use crate::evidence::{InFlight, Struck};
use crate::fleet::{Fleet, Role};
use crate::ledger::{LedgerView, SessionPlace};
use crate::plan::Fault;
use crate::{CertifyError, broker};

/// Time for which connections are cut, answers lost, the endpoint hung.
const BRIEFLY: Duration = Duration::from_secs(5);
/// Longer than leases of slots and of leadership, ten seconds each.
const LEASES_AWAY: Duration = Duration::from_secs(13);
/// Time that the broker gets to put back what those had not acknowledged that are cut off.
pub(crate) const PUT_BACK: Duration = Duration::from_secs(1);
/// Time in which a sweep that was cancelled can be resumed, whatever else is down meanwhile.
const RESUMED_WITHIN: Duration = Duration::from_mins(10);
/// Delay of each piece in a slow network.
const SLOW: Duration = Duration::from_millis(80);
/// A call that was answered so lately may not be stored yet: outcomes are published within a quarter of a second, and checkpoints written at once.
pub(crate) const UNREPORTED: Duration = Duration::from_millis(1_500);
/// The same for the last call of a session so far, whose report the broker confirms only once it is on the broker's disk, beside builds too.
pub(crate) const UNCONFIRMED: Duration = Duration::from_secs(4);
/// The same for a judge's call: a job has several questions, and is reported once all are answered.
pub(crate) const UNREPORTED_JUDGES: Duration = Duration::from_secs(30);
/// Time in which a process notices that its connections are closed, on a busy machine: a conversation began a call 0.1 s after its worker had logged the
/// loss, at a load of 14. Calls that it begins until then were cut off too.
const NOTICED: Duration = Duration::from_secs(1);

/// Effect of a fault.
pub(crate) struct Done {
    /// To whom.
    pub(crate) target: String,
    /// When what was in flight was lost, in milliseconds since the books were opened.
    at_ms: Option<u64>,
    /// Calls under way in what was killed or cut off.
    pub(crate) in_flight: InFlight,
    /// Another coordinator led while the one that had led was stopped or cut off, and alive.
    pub(crate) had_two_leaders: bool,
    /// Sessions whose messages were thrown away.
    pub(crate) thrown_away: Vec<SessionPlace>,
}

impl Done {
    fn to(target: impl Into<String>) -> Self {
        let in_flight = InFlight::default();
        Self { target: target.into(), at_ms: None, in_flight, had_two_leaders: false, thrown_away: Vec::new() }
    }

    fn at(at_ms: u64, target: impl Into<String>) -> Self {
        Self { at_ms: Some(at_ms), ..Self::to(target) }
    }

    /// Sessions of the calls under way.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = String> {
        self.in_flight.calls.keys().cloned()
    }

    /// The same as evidence about a fault that was begun and ended at these times.
    pub(crate) fn struck(
        self,
        fault: Fault,
        (begun_ms, ended_ms): (u64, u64),
        recovered_after_ms: Option<u64>,
    ) -> Struck {
        let Self { target, at_ms, in_flight, had_two_leaders, thrown_away: _ } = self;
        let at_ms = at_ms.unwrap_or(begun_ms);
        Struck { fault, target, at_ms, ended_ms, recovered_after_ms, in_flight, had_two_leaders }
    }
}

/// Does `fault` to the deployment, and undoes it; what is done to a sweep is done to `sweep`.
pub(crate) async fn strike(
    fault: Fault,
    fleet: &mut Fleet<'_>,
    endpoint: &Endpoint,
    sweep: &str,
    rng: &mut ChaCha8Rng,
) -> Result<Done, CertifyError> {
    match fault {
        Fault::KillWorker => kill(Role::Worker, fleet, endpoint, rng).await,
        Fault::KillScorer => kill(Role::Scorer, fleet, endpoint, rng).await,
        Fault::DrainWorker => {
            let position = one(Role::Worker, fleet, rng)?;
            let target = fleet.members[position].name.clone();
            fleet.drain(position).await?;
            fleet.add(Role::Worker).await?;
            Ok(Done::to(target))
        }
        Fault::PauseWorker => {
            let position = one(Role::Worker, fleet, rng)?;
            pause(position, fleet, endpoint).await
        }
        Fault::KillLeader => {
            let position = leader(fleet).await?;
            let target = fleet.members[position].name.clone();
            fleet.kill(position).await?;
            fleet.add(Role::Coordinator).await?;
            Ok(Done::to(target))
        }
        Fault::PauseLeader => {
            let position = leader(fleet).await?;
            pause(position, fleet, endpoint).await
        }
        Fault::KillBroker => {
            let broker = fleet.services.rabbitmq().ok_or_else(|| foreign("RabbitMQ"))?;
            let at_ms = endpoint.now_ms();
            broker.kill().await?;
            let lost = noticed(at_ms, endpoint).await;
            let in_flight = of_all_workers(fleet, endpoint, lost)?;
            broker.restart().await?;
            Ok(Done { in_flight, ..Done::at(at_ms, "RabbitMQ") })
        }
        Fault::KillDatabase => {
            let database = fleet.services.postgres().ok_or_else(|| foreign("PostgreSQL"))?;
            database.kill().await?;
            database.restart().await?;
            Ok(Done::to("PostgreSQL"))
        }
        Fault::CutWorkerFromBroker => {
            let position = one(Role::Worker, fleet, rng)?;
            let member = &fleet.members[position];
            let at_ms = endpoint.now_ms();
            member.broker.set(Traffic::IsCut);
            let lost = noticed(at_ms, endpoint).await;
            let in_flight = member.in_flight(endpoint, lost)?;
            sleep(BRIEFLY).await;
            member.broker.set(Traffic::Passes);
            Ok(Done { in_flight, ..Done::at(at_ms, member.name.clone()) })
        }
        Fault::CutWorkerFromDatabase => {
            let member = &fleet.members[one(Role::Worker, fleet, rng)?];
            member.database.set(Traffic::IsCut);
            sleep(BRIEFLY).await;
            member.database.set(Traffic::Passes);
            Ok(Done::to(member.name.clone()))
        }
        Fault::CutLeaderFromDatabase | Fault::CutLeaderFromBroker => {
            let position = leader(fleet).await?;
            let member = &fleet.members[position];
            let way = if fault == Fault::CutLeaderFromBroker { &member.broker } else { &member.database };
            way.set(Traffic::IsCut);
            sleep(LEASES_AWAY).await;
            let had_two_leaders = fleet.leader_but(Some(position)).await.is_some();
            way.set(Traffic::Passes);
            Ok(Done { had_two_leaders, ..Done::to(member.name.clone()) })
        }
        Fault::CutScorersFromBroker | Fault::CutScorersFromDatabase => {
            let scorers = fleet.positions(Role::Scorer);
            let ways = || {
                scorers.iter().map(|position| {
                    let member = &fleet.members[*position];
                    if fault == Fault::CutScorersFromBroker { &member.broker } else { &member.database }
                })
            };
            ways().for_each(|way| way.set(Traffic::IsCut));
            sleep(BRIEFLY).await;
            ways().for_each(|way| way.set(Traffic::Passes));
            Ok(Done::to("scorers"))
        }
        Fault::LoseLedgerAnswers | Fault::LoseBucketAnswers => {
            let scorers = fleet.positions(Role::Scorer);
            let ways = || {
                scorers.iter().map(|position| {
                    let member = &fleet.members[*position];
                    if fault == Fault::LoseLedgerAnswers { &member.database } else { &member.bucket }
                })
            };
            ways().for_each(|way| way.set(Traffic::LosesAnswers));
            sleep(BRIEFLY).await;
            ways().for_each(|way| way.set(Traffic::Passes));
            Ok(Done::to("scorers"))
        }
        Fault::CutBucket => {
            fleet.members.iter().for_each(|member| member.bucket.set(Traffic::IsCut));
            sleep(BRIEFLY).await;
            fleet.members.iter().for_each(|member| member.bucket.set(Traffic::Passes));
            Ok(Done::to("all"))
        }
        Fault::SlowNetwork => {
            fleet.set_all(Traffic::Takes(SLOW));
            sleep(BRIEFLY).await;
            fleet.set_all(Traffic::Passes);
            Ok(Done::to("all"))
        }
        Fault::ReadOnlyDatabase => {
            let ledger = LedgerView::of(&fleet.stores.database_url);
            ledger.set_read_only(true).await?;
            sleep(BRIEFLY).await;
            ledger.set_read_only(false).await?;
            Ok(Done::to("PostgreSQL"))
        }
        Fault::FullDatabase => {
            let ledger = LedgerView::of(&fleet.stores.database_url);
            ledger.fill().await?;
            sleep(BRIEFLY).await;
            ledger.make_room().await?;
            Ok(Done::to("PostgreSQL"))
        }
        Fault::FullBucket => {
            let server = fleet.services.s3_server().ok_or_else(|| foreign("the S3 server"))?;
            server.set_full(true);
            sleep(BRIEFLY).await;
            server.set_full(false);
            Ok(Done::to("bucket"))
        }
        Fault::LockHolder => {
            LedgerView::of(&fleet.stores.database_url).hold_lock(BRIEFLY).await?;
            Ok(Done::to("sessions, attempts"))
        }
        Fault::Refusals | Fault::HungEndpoint => {
            endpoint.set(if fault == Fault::Refusals { Mood::Refuses } else { Mood::Hangs });
            sleep(BRIEFLY).await;
            endpoint.set(Mood::Answers);
            Ok(Done::to("endpoint"))
        }
        Fault::CancelAndResume => {
            let begun = Instant::now();
            let cancelled = fleet.client(&["cancel", sweep]).await?;
            // It had just ended, and is not resumed.
            if !cancelled.status.success() {
                return Ok(Done::to(sweep));
            }
            // Workers close the endpoints of a sweep that is cancelled, and open them anew.
            let workers = fleet.positions(Role::Worker).len();
            fleet.endpoints_opened.extend(std::iter::repeat_n(begun, workers));
            // Refused while a store is away.
            loop {
                let resumed = fleet.client(&["resume", sweep]).await?;
                if resumed.status.success() {
                    break;
                }
                if begun.elapsed() > RESUMED_WITHIN {
                    let refusal = String::from_utf8_lossy(&resumed.stderr);
                    return Err(CertifyError::Broken(format!("{sweep} cannot be resumed: {}", refusal.trim())));
                }
                sleep(Duration::from_millis(100)).await;
            }
            Ok(Done::to(sweep))
        }
        Fault::PurgeJobs => {
            // A batch that was handed in is known by its message alone: whoever throws that away pays for it again.
            let queues = LedgerView::of(&fleet.stores.database_url).queues(&[sweep.to_owned()]).await?;
            let workers = fleet.positions(Role::Worker);
            let set = |traffic| workers.iter().for_each(|position| fleet.members[*position].broker.set(traffic));
            // Workers take a whole window as soon as it is published: without this their queue would be empty.
            let at_ms = endpoint.now_ms();
            set(Traffic::IsCut);
            let lost = noticed(at_ms, endpoint).await;
            let in_flight = of_all_workers(fleet, endpoint, lost)?;
            sleep(PUT_BACK).await;
            let taken = broker::take(&fleet.stores.broker_url, &queues).await?;
            set(Traffic::Passes);
            let mut thrown_away = Vec::new();
            for message in &taken {
                thrown_away.extend(broker::sessions(message)?);
            }
            Ok(Done { in_flight, thrown_away, ..Done::at(at_ms, format!("{} messages", taken.len())) })
        }
    }
}

fn one(role: Role, fleet: &Fleet<'_>, rng: &mut ChaCha8Rng) -> Result<usize, CertifyError> {
    let positions = fleet.positions(role);
    if positions.is_empty() {
        return Err(CertifyError::Broken(format!("there is no {} to hurt", role.name())));
    }
    Ok(positions[rng.random_range(0..positions.len())])
}

/// Waits for a leader: one fault after another may leave none for some seconds.
async fn leader(fleet: &Fleet<'_>) -> Result<usize, CertifyError> {
    for _ in 0..150 {
        if let Some(position) = fleet.leader_but(None).await {
            return Ok(position);
        }
        sleep(Duration::from_millis(200)).await;
    }
    Err(CertifyError::Broken("no coordinator has led for half a minute".to_owned()))
}

async fn kill(
    role: Role,
    fleet: &mut Fleet<'_>,
    endpoint: &Endpoint,
    rng: &mut ChaCha8Rng,
) -> Result<Done, CertifyError> {
    let position = one(role, fleet, rng)?;
    let member = &fleet.members[position];
    let target = member.name.clone();
    // It does nothing any more while its connections are looked at.
    member.signal(Signal::STOP)?;
    let at_ms = endpoint.now_ms();
    let in_flight = member.in_flight_when_stopped(endpoint, at_ms).await?;
    fleet.kill(position).await?;
    fleet.add(role).await?;
    Ok(Done { in_flight, ..Done::at(at_ms, target) })
}

async fn pause(position: usize, fleet: &Fleet<'_>, endpoint: &Endpoint) -> Result<Done, CertifyError> {
    let member = &fleet.members[position];
    member.signal(Signal::STOP)?;
    let at_ms = endpoint.now_ms();
    let in_flight = member.in_flight_when_stopped(endpoint, at_ms).await?;
    sleep(LEASES_AWAY).await;
    let is_leader = member.role == Role::Coordinator;
    let had_two_leaders = is_leader && fleet.leader_but(Some(position)).await.is_some();
    member.signal(Signal::CONT)?;
    Ok(Done { in_flight, had_two_leaders, ..Done::at(at_ms, member.name.clone()) })
}

/// The loss of processes that were cut off at `at_ms` and are alive, once they have had time to notice.
async fn noticed(at_ms: u64, endpoint: &Endpoint) -> Lost {
    sleep(NOTICED).await;
    Lost { at_ms, noticed_ms: endpoint.now_ms() }
}

fn of_all_workers(fleet: &Fleet<'_>, endpoint: &Endpoint, lost: Lost) -> Result<InFlight, CertifyError> {
    let mut in_flight = InFlight::default();
    for position in fleet.positions(Role::Worker) {
        in_flight.add(&fleet.members[position].in_flight(endpoint, lost)?);
    }
    Ok(in_flight)
}

fn foreign(service: &str) -> CertifyError {
    CertifyError::Broken(format!("{service} is not ours to kill; leave its variable out, and a private one is started"))
}

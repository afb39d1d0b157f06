//! Of two coordinators the one that leads is killed, stopped and cut off, again and again within one sweep.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stdout, reason = "what was measured is for whoever runs the tests")]

mod coordinators;
mod dispatches;

use std::collections::BTreeMap;
use std::time::Duration;

use coordinators::{Coordinators, Fault, Ledger};
use dispatches::Dispatches;
use regatta_tests::referee::Referee;
use regatta_tests::{Deployment, unique_name};

/// Longest time from a fault to another leader's term, by the database's clock, which docs/deploying.md promises: a lease of ten seconds, and
/// what a standby takes to notice.
const SUCCESSION_MAX: Duration = Duration::from_secs(15);
/// Sessions between two faults, and after the last: several times what queues and workers hold.
const SESSIONS_A_FAULT: u64 = 60;

/// A sweep during which the leader suffers `faults`, one after the other.
async fn sweep_with(faults: &[Fault]) {
    let deployment = Deployment::traced().await.unwrap();
    let referee = Referee::start(u64::MAX, Duration::ZERO).await.unwrap();
    let sessions = SESSIONS_A_FAULT * (faults.len() as u64 + 1);
    let spec = referee.spec(deployment.folder.path(), &unique_name("leaders"), sessions, "").unwrap();
    let expected = deployment.results_of_one_process(&spec).await.unwrap();
    referee.begin_new_books(Duration::from_millis(100));

    let mut dispatches = Dispatches::of(deployment.amqp_url()).await;
    let ledger = Ledger::of(&deployment).await;
    let mut coordinators = Coordinators::start(&deployment).await;
    let _others = [
        deployment.start("worker").await.unwrap(),
        deployment.start("worker").await.unwrap(),
        deployment.start("scorer").await.unwrap(),
    ];
    let id = deployment.submit(&spec).await.unwrap();
    let mut took: BTreeMap<Fault, Vec<Duration>> = BTreeMap::new();
    for (number, fault) in faults.iter().enumerate() {
        ledger.has_recorded(SESSIONS_A_FAULT * number as u64 + SESSIONS_A_FAULT / 2).await;
        took.entry(*fault).or_default().push(coordinators.suffer(*fault, &ledger).await);
    }
    let (code, directory) = deployment.finish(&id).await.unwrap();

    let mut all: Vec<Duration> = took.values().flatten().copied().collect();
    all.sort_unstable();
    let (median, worst) = (all[(all.len() - 1) / 2], all[all.len() - 1]);
    println!("another leader after, median: {median:.1?}, worst: {worst:.1?}; {took:.1?}");
    assert_eq!(code, Some(0));
    assert_eq!(std::fs::read_to_string(directory.join("results.jsonl")).unwrap(), expected);
    assert_eq!(dispatches.more_than_once(sessions).await, BTreeMap::new(), "sessions that were dispatched again");
    assert_eq!((referee.calls(), referee.repeated()), (sessions, 0), "one call a session");
    assert!(worst <= SUCCESSION_MAX, "another leader after {worst:?}, more than {SUCCESSION_MAX:?}: {took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_dispatched_twice_when_the_leader_is_killed() {
    sweep_with(&[Fault::Killed]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_dispatched_twice_when_the_leader_is_stopped_and_wakes_up_under_another() {
    sweep_with(&[Fault::Stopped]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_dispatched_twice_when_the_leader_is_cut_off_from_the_database() {
    sweep_with(&[Fault::CutFromDatabase]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_dispatched_twice_when_the_leader_is_cut_off_from_the_broker() {
    sweep_with(&[Fault::CutFromBroker]).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: a lease of ten seconds ends ten times"]
async fn nothing_is_dispatched_twice_when_ten_leaders_fall_within_one_sweep() {
    use Fault::{CutFromBroker, CutFromDatabase, Killed, Stopped};
    let round = [Killed, Stopped, CutFromDatabase, CutFromBroker];
    let ten: Vec<Fault> = round.into_iter().cycle().take(10).collect();
    sweep_with(&ten).await;
}

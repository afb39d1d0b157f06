//! A ledger and a bucket that were backed up in the middle of a sweep are restored beside an empty broker, and the sweep ends as if nothing
//! had happened.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stdout, reason = "what was measured is for whoever runs the tests")]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use regatta_tests::deployment_roles::connect;
use regatta_tests::referee::{CONCURRENCY, Referee};
use regatta_tests::regatta::Process;
use regatta_tests::waiting::until;
use regatta_tests::{Deployment, S3Config, Services, unique_name};
use serde_json::Value;

/// Sessions, and calls of each.
const CONVERSATIONS: (u64, u64) = (120, 3);
const CALLS: u64 = CONVERSATIONS.0 * CONVERSATIONS.1;
/// Calls that are answered until the first part is backed up, and until the second is.
const ANSWERED: (u64, u64) = (150, 300);
/// Most sessions of two workers at once. Each may have had all calls but its last, which is why fewer have ended than calls were answered for.
const AT_ONCE: u64 = 2 * 2 * CONCURRENCY;

/// Sessions that have ended at least, in whatever order so many calls were made.
const fn ended(answered: u64) -> u64 {
    (answered - AT_ONCE * (CONVERSATIONS.1 - 1)) / CONVERSATIONS.1
}

async fn start(deployment: &Deployment) -> Vec<Process> {
    let mut roles = Vec::new();
    for role in ["coordinator", "scorer", "worker", "worker"] {
        roles.push(deployment.start(role).await.unwrap());
    }
    roles
}

/// The part of a deployment that is backed up first, while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    Ledger,
    Bucket,
}

/// A deployment that was lost in the middle of a sweep, and its backup.
struct Disaster {
    referee: Referee,
    /// Undisturbed results of one process.
    expected: String,
    sweep: String,
    ledger: PathBuf,
    bucket: S3Config,
    /// Keeps the backup.
    _lost: Deployment,
}

impl Disaster {
    async fn after_backup(first: First) -> Self {
        let lost = Deployment::new().await.unwrap();
        let referee = Referee::start(u64::MAX, Duration::ZERO).await.unwrap();
        let spec = referee.conversations(lost.folder.path(), &unique_name("restored"), CONVERSATIONS, "").unwrap();
        let expected = lost.results_of_one_process(&spec).await.unwrap();
        referee.begin_new_books(Duration::from_millis(50));
        referee.answer(ANSWERED.0);
        let roles = start(&lost).await;
        let sweep = lost.submit(&spec).await.unwrap();
        lost.wait_for(&sweep, ended(ANSWERED.0)).await.unwrap();
        // The sweep goes on between the two: more sessions end than calls were answered for before.
        const { assert!(ended(ANSWERED.1) > ANSWERED.0 / CONVERSATIONS.1) }
        let meanwhile = async || {
            referee.answer(ANSWERED.1);
            lost.wait_for(&sweep, ended(ANSWERED.1)).await.unwrap();
        };
        let (ledger, bucket) = match first {
            First::Ledger => {
                until_told(&lost, ANSWERED.0).await;
                let ledger = lost.dump_ledger("ledger").await.unwrap();
                meanwhile().await;
                (ledger, lost.copy_bucket().await.unwrap())
            }
            First::Bucket => {
                let bucket = lost.copy_bucket().await.unwrap();
                meanwhile().await;
                (lost.dump_ledger("ledger").await.unwrap(), bucket)
            }
        };
        for role in roles {
            role.kill().await.unwrap();
        }
        referee.answer_all();
        Self { referee, expected, sweep, ledger, bucket, _lost: lost }
    }

    async fn restored(&self, services: &Services) -> Deployment {
        let restored = Deployment::restored(services, &self.ledger, &self.bucket).await.unwrap();
        let ledger = connect(restored.database_url()).await.unwrap();
        // A restore takes minutes: by then nobody takes a worker for alive that told of a session just before the backup.
        ledger.execute("UPDATE attempts SET seen_at = seen_at - interval '5 minutes'", &[]).await.unwrap();
        restored
    }

    /// The restored sweep ends as if it had never been lost, and makes only the calls again that its ledger does not know.
    async fn ends_undisturbed(&self, restored: &Deployment) {
        let before = self.referee.calls();
        let (code, directory) = restored.finish(&self.sweep).await.unwrap();
        assert_eq!(code, Some(0));
        let read = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap();
        let attempts: Vec<Value> =
            read("attempts.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        // Attempts that ran when the ledger was dumped; whoever goes on from a checkpoint of one makes it a handover.
        let cut_off: Vec<&Value> =
            attempts.iter().filter(|attempt| attempt["state"] == "lost" || attempt["state"] == "handed_over").collect();
        let lost = attempts.iter().filter(|attempt| attempt["state"] == "lost");
        let lost_calls: u64 = lost.map(|attempt| attempt["calls"].as_u64().unwrap()).sum();
        let (calls, repeated) = (self.referee.calls(), self.referee.repeated());
        println!(
            "{before} calls before the disaster, {calls} in all: {repeated} of them again; {} attempts were cut off, and the report counts \
             {lost_calls} calls as lost",
            cut_off.len()
        );
        assert_eq!(read("results.jsonl"), self.expected);
        assert_eq!(calls, CALLS + repeated, "a call that nobody needs was made");
        assert!(!cut_off.is_empty(), "sessions were under way when the ledger was dumped");
        assert!(lost_calls <= repeated, "what the report counts as lost was paid for");
        // Calls of an attempt that another one goes on from are not made again, and no waste.
        let begins_anew = !cut_off.iter().any(|attempt| attempt["state"] == "handed_over");
        assert!(!begins_anew || lost_calls > 0, "calls that are made again are counted as waste: {cut_off:?}");
        let wasted: Vec<&Value> = attempts.iter().filter(|attempt| attempt["wasted"] == true).collect();
        let wasted_calls: u64 = wasted.iter().map(|attempt| attempt["calls"].as_u64().unwrap()).sum();
        let summary: Value = serde_json::from_str(&read("summary.json")).unwrap();
        assert_eq!(
            summary["spending"]["wasted_attempts"],
            wasted.len(),
            "every attempt that was lost is told of as waste"
        );
        assert_eq!((wasted.len() as u64, wasted_calls), wasted_in_ledger(restored, &self.sweep).await);
    }
}

/// Waits until the ledger knows of all `calls` that were answered, some of them in attempts that are under way.
async fn until_told(deployment: &Deployment, calls: u64) {
    let ledger = connect(deployment.database_url()).await.unwrap();
    let is_told = until(format!("{calls} calls in the ledger"), async || {
        let told = "SELECT coalesce(sum(calls), 0)::BIGINT, count(*) FILTER (WHERE state = 'open' AND calls > 0) \
                    FROM attempts";
        let row = ledger.query_one(told, &[]).await.unwrap();
        let (all, under_way) = (row.get::<_, i64>(0).cast_unsigned(), row.get::<_, i64>(1));
        if all == calls && under_way > 0 {
            Ok(())
        } else {
            Err(format!("{all}, {under_way} attempts under way with some"))
        }
    });
    is_told.await.unwrap();
}

/// Attempts of `sweep` that the ledger knows as repeated or lost, and their calls.
async fn wasted_in_ledger(deployment: &Deployment, sweep: &str) -> (u64, u64) {
    let ledger = connect(deployment.database_url()).await.unwrap();
    let wasted = "SELECT count(*), coalesce(sum(attempts.calls), 0)::BIGINT FROM attempts \
                  JOIN sweeps ON sweeps.number = attempts.sweep \
                  WHERE sweeps.id = $1 AND attempts.state IN ('lost', 'waste')";
    let row = ledger.query_one(wasted, &[&sweep]).await.unwrap();
    (row.get::<_, i64>(0).cast_unsigned(), row.get::<_, i64>(1).cast_unsigned())
}

/// Segments of transcripts that the ledger names and the bucket lacks.
async fn missing_segments(deployment: &Deployment) -> BTreeSet<String> {
    let ledger = connect(deployment.database_url()).await.unwrap();
    let named = "SELECT DISTINCT 'sweeps/' || sweeps.id || '/' || segment FROM attempts \
                 JOIN sweeps ON sweeps.number = attempts.sweep WHERE segment IS NOT NULL";
    let named: BTreeSet<String> = ledger.query(named, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
    assert!(!named.is_empty(), "nothing was recorded");
    let there = deployment.s3().keys().await.unwrap();
    named.difference(&there).cloned().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_that_is_restored_and_resumed_gives_the_same_bytes() {
    let disaster = Disaster::after_backup(First::Ledger).await;
    let restored = disaster.restored(Services::shared().await.unwrap()).await;
    assert_eq!(missing_segments(&restored).await, BTreeSet::new());
    // However long the roles take to start, the sweep goes on until it is cancelled.
    disaster.referee.answer(disaster.referee.calls());
    let _roles = start(&restored).await;
    let id = disaster.sweep.as_str();
    assert!(restored.run(&["cancel", id]).await.unwrap().status.success());
    disaster.referee.answer_all();
    restored.resume(id).await.unwrap();
    disaster.ends_undisturbed(&restored).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes two minutes: jobs count as lost after 75 seconds"]
async fn a_sweep_that_is_restored_into_fresh_services_goes_on_by_itself() {
    let disaster = Disaster::after_backup(First::Ledger).await;
    let services = Services::start().await.unwrap();
    let restored = disaster.restored(&services).await;
    let _roles = start(&restored).await;
    disaster.ends_undisturbed(&restored).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_was_copied_before_the_ledger_lacks_transcripts_that_the_ledger_names() {
    let disaster = Disaster::after_backup(First::Bucket).await;
    let restored = disaster.restored(Services::shared().await.unwrap()).await;
    assert!(!missing_segments(&restored).await.is_empty());
}

//! A storm: processes and stores are killed at random moments for as long as it lasts, whether or not the one before has recovered.

use std::path::Path;
use std::time::Duration;

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use regatta_tests::Services;
use tokio::time::{Instant, sleep};

use crate::certificate::SeedReport;
use crate::checks::check;
use crate::evidence::Struck;
use crate::faults::strike;
use crate::fleet::Fleet;
use crate::history::{Watch, collect, is_over, ms, submit};
use crate::workload::{CONCURRENCY, Workload};
use crate::{CertifyError, Fault, Options};

/// Roles and the broker are killed all the time.
const OFTEN: &[Fault] =
    &[Fault::KillWorker, Fault::KillWorker, Fault::KillLeader, Fault::KillScorer, Fault::KillBroker];
/// After a crash of the database nothing new is sent for ten seconds, until all workers have told what is under way; more often than this the
/// sweep would stand still.
const DATABASE_EVERY: Duration = Duration::from_secs(60);
/// Time between two kills, in milliseconds.
const BETWEEN_MS: std::ops::Range<u64> = 500..8_000;
/// Part of a storm, in percent, that a sweep takes if nothing is killed: what is killed takes the rest.
const UNDISTURBED_PERCENT: u64 = 90;

/// Delay of each answer with which the workload takes as long as the storm.
pub(crate) fn delay(workload: &Workload, length: Duration) -> Duration {
    let calls = workload.live.calls();
    let time_ms = length.as_millis() as u64 * UNDISTURBED_PERCENT / 100 * u64::from(CONCURRENCY);
    Duration::from_millis(time_ms / calls.max(1))
}

/// One storm over a deployment.
pub(crate) async fn deployed(
    options: &Options,
    length: Duration,
    services: &Services,
    workload: &Workload,
    folder: &Path,
) -> Result<SeedReport, CertifyError> {
    let folder = folder.join("storm-deployed");
    std::fs::create_dir_all(&folder).map_err(CertifyError::file(&folder))?;
    let mut fleet = Fleet::start(&options.binary, workload.agent.as_ref(), services, folder.clone()).await?;
    let sweeps = submit(&fleet, workload, &folder, &format!("storm-{}", options.seed)).await?;
    let (begun, watch) = (Instant::now(), Watch::of(fleet.stores.database_url.clone()));
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    let (mut struck, mut database_at) = (Vec::new(), begun + DATABASE_EVERY / 2);
    while begun.elapsed() < length && !watch.standing().as_ref().is_some_and(is_over) {
        sleep(Duration::from_millis(rng.random_range(BETWEEN_MS))).await;
        let is_database_due = Instant::now() >= database_at;
        let drawn = OFTEN.choose(&mut rng).copied().unwrap_or(Fault::KillWorker);
        let fault = if is_database_due { Fault::KillDatabase } else { drawn };
        if is_database_due {
            database_at += DATABASE_EVERY;
        }
        let at_ms = ms(begun);
        let done = strike(fault, &mut fleet, &workload.endpoint, &sweeps[0], &mut rng).await?;
        let (target, in_flight, ended_ms) = (done.target, done.in_flight, ms(begun));
        let had_two_leaders = done.had_two_leaders;
        struck.push(Struck { fault, target, at_ms, ended_ms, recovered_after_ms: None, in_flight, had_two_leaders });
    }
    // What is killed again before it has recovered says nothing of recovery.
    let last = struck.len().saturating_sub(1);
    for (number, one) in struck.iter_mut().enumerate() {
        one.recovered_after_ms = if number == last { watch.recovery(begun).await } else { Some(0) };
    }
    let last_fault_ms = struck.last().map_or(0, |struck| struck.ended_ms);
    let end = watch.until(begun, is_over).await;
    let took = begun.elapsed();
    let silence = watch.longest_silence(last_fault_ms);
    let evidence = collect(&mut fleet, workload, &folder, &sweeps, end, struck, silence).await?;
    Ok(SeedReport::new(options.seed, took, &workload.both, &evidence, check(&workload.both, &evidence)))
}

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
use crate::faults::strike;
use crate::fleet::Fleet;
use crate::history::{Watch, collect, is_over, ms, submit};
use crate::workload::Workload;
use crate::{CertifyError, Fault, Options};

/// Roles and the broker are killed all the time.
const OFTEN: &[Fault] =
    &[Fault::KillWorker, Fault::KillWorker, Fault::KillLeader, Fault::KillScorer, Fault::KillBroker];
/// After a crash of the database nothing new is sent until all workers have told what is under way, for ten seconds at most; more often than this the
/// sweep would stand still.
const DATABASE_EVERY: Duration = Duration::from_secs(60);
/// Time between two kills, in milliseconds.
const BETWEEN_MS: std::ops::Range<u64> = 500..8_000;
/// Part of a storm, in percent, that a sweep takes if nothing is killed: what is killed takes the rest.
const UNDISTURBED_PERCENT: u32 = 90;

/// Time that a sweep takes undisturbed in a storm of this length.
pub(crate) fn undisturbed(length: Duration) -> Duration {
    length * UNDISTURBED_PERCENT / 100
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
    let begun = workload.endpoint.open_books();
    let sweeps = submit(&fleet, workload, &folder, &format!("storm-{}", options.seed)).await?;
    let watch = Watch::of(fleet.stores.database_url.clone(), begun);
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    let (mut struck, mut last, mut database_at) = (Vec::new(), Vec::new(), begun + DATABASE_EVERY / 2);
    while begun.elapsed() < length && !watch.standing().as_ref().is_some_and(is_over) {
        sleep(Duration::from_millis(rng.random_range(BETWEEN_MS))).await;
        let is_database_due = Instant::now() >= database_at;
        let drawn = OFTEN.choose(&mut rng).copied().unwrap_or(Fault::KillWorker);
        let fault = if is_database_due { Fault::KillDatabase } else { drawn };
        if is_database_due {
            database_at += DATABASE_EVERY;
        }
        let (met, at_ms) = (workload.endpoint.waiting(), ms(begun));
        let done = strike(fault, &mut fleet, &workload.endpoint, &sweeps[0], &mut rng).await?;
        last = met.into_iter().chain(done.sessions()).collect();
        // What is killed again before it has recovered says nothing of recovery; silence, and standing still until the next fault, are measured.
        struck.push(done.struck(fault, (at_ms, ms(begun)), Some(0)));
    }
    if let Some(one) = struck.last_mut() {
        one.recovered_after_ms = watch.recovery(last.into_iter(), one.ended_ms, &workload.endpoint).await;
    }
    let end = watch.until(is_over).await;
    let took = begun.elapsed();
    let evidence = collect(&mut fleet, workload, &folder, &sweeps, end, struck, watch.progress_ms()).await?;
    Ok(SeedReport::new(options.seed, took, &workload.both, &evidence, check(&workload.both, &evidence)))
}

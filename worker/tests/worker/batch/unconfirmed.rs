//! Intents that the broker has stored and does not confirm, as while it is short of memory.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures::future::BoxFuture;
use regatta_backends::faults::{Fate, Trouble};

use super::{MEASURED, lane};

/// Publishes of jobs that are not confirmed.
const UNCONFIRMED: usize = 2;

/// A broker that stores jobs, and confirms none of the first few.
#[derive(Default)]
struct Reluctant {
    stored: AtomicUsize,
    is_storing: AtomicBool,
}

impl Fate for Reluctant {
    fn loses(&self) -> bool {
        self.stored.fetch_add(1, Ordering::SeqCst);
        self.is_storing.store(true, Ordering::SeqCst);
        false
    }

    fn after(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        let fails = self.is_storing.swap(false, Ordering::SeqCst) && self.stored.load(Ordering::SeqCst) <= UNCONFIRMED;
        Box::pin(std::future::ready(if fails { Err(Trouble) } else { Ok(()) }))
    }
}

/// Batches that the provider gets for two sessions of `cell` whose intent is not confirmed at first, and ids of the attempts that are reported.
async fn handed_in(cell: usize) -> (usize, BTreeSet<String>) {
    let (stage, server) = lane(2).await;
    stage.publish([stage.job(cell, 0), stage.job(cell, 1)]).await;
    stage.tell(vec![stage.route.clone()], Vec::new()).await;
    let mut reports = stage.reports().await;
    let worker = stage.start_behind("w", Arc::new(Reluctant::default()));
    let mut attempts = BTreeSet::new();
    // The broker has an intent of both as often as it was published.
    for _ in 0..2 * (1 + UNCONFIRMED) {
        let outcome = reports.outcome().await;
        assert_eq!(outcome.outcome, MEASURED);
        attempts.insert(outcome.attempt.id.to_string());
    }
    worker.leave().await;
    (server.batches().len(), attempts)
}

#[tokio::test(start_paused = true)]
async fn an_intent_that_is_not_confirmed_is_published_again_and_handed_in_once() {
    let (batches, attempts) = handed_in(0).await;
    assert_eq!((batches, attempts.len()), (1, 2), "{attempts:?}");
}

/// Nobody could be certain that copies are handed in once, nor count what more of them cost. The second model has no price.
#[tokio::test(start_paused = true)]
async fn sessions_whose_intent_is_not_confirmed_become_another_batch_where_no_account_counts_their_money() {
    let (batches, attempts) = handed_in(1).await;
    assert_eq!((batches, attempts.len()), (1 + UNCONFIRMED, 2 * (1 + UNCONFIRMED)), "{attempts:?}");
}

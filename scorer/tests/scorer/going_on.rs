//! A store that fails some of its calls: a batch goes on with what is left of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use regatta_backends::faults::{Fate, Trouble};
use regatta_proto::{AttemptTotals, Partition, Report};
use tokio::time::Instant;

use crate::aside::IsAway;
use crate::stage::{ITEMS, Stage, attempt, report, until};

/// Sessions that were handed over and are told of in one batch.
const HANDED_OVER: u32 = 60;

/// A store that fails every so manieth call.
struct FailsEvery {
    nth: u64,
    calls: AtomicU64,
}

impl Fate for FailsEvery {
    fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        let number = 1 + self.calls.fetch_add(1, Ordering::Relaxed);
        async move { if number.is_multiple_of(self.nth) { Err(Trouble) } else { Ok(()) } }.boxed()
    }
}

fn handed_over(stage: &Stage, number: u32) -> Report {
    let key = stage.key(0, number as usize % ITEMS);
    let attempt = attempt(&key, 1 + number);
    Report::HandedOver { key, attempt, totals: AttemptTotals::default(), taken_over: false }
}

#[tokio::test(start_paused = true)]
async fn what_is_recorded_is_not_recorded_again_for_a_call_that_failed_later_in_its_batch() {
    let stage = Stage::set().await.in_memory().await;
    let ledger = Arc::new(FailsEvery { nth: 10, calls: AtomicU64::new(0) });
    let mut reports: Vec<Report> = (0..HANDED_OVER).map(|number| handed_over(&stage, number)).collect();
    reports.push(report(&stage.session(1, 0)));
    reports.push(Report::Echo { sweep: stage.sweep.id.clone(), number: 1, waited: false, partition: Partition::WHOLE });
    let running = stage.scorer_of_stores(ledger.clone(), Arc::<IsAway>::default()).await;
    let before = ledger.calls.load(Ordering::Relaxed);
    let begun = Instant::now();
    stage.queue.publish_reports(reports).await.unwrap();
    until(async || stage.ledger.sweep(&stage.sweep.id).await.unwrap().unwrap().echo == 1).await;
    let (lasted, calls) = (begun.elapsed(), ledger.calls.load(Ordering::Relaxed) - before);
    assert!(lasted < Duration::from_secs(20), "{lasted:?}");
    // One in ten again, the session's with those before it, and a look at the ledger every so often.
    assert!(calls < 2 * u64::from(HANDED_OVER), "{calls} calls");
    running.end().await;
    assert_eq!(stage.queue.dead_letters().await.unwrap(), 0);
}

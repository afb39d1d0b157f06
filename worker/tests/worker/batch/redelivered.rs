//! Sessions that are delivered again while they wait for their batch, as after their worker stood still for longer than the broker waits.

use std::collections::BTreeSet;
use std::sync::Arc;

use regatta_proto::Report;

use super::{MEASURED, lane};
use crate::stage::Cable;

#[tokio::test(start_paused = true)]
async fn sessions_that_are_delivered_again_while_they_wait_for_their_batch_are_paid_for_once() {
    let (stage, server) = lane(4).await;
    stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
    let mut reports = stage.reports().await;
    stage.tell(vec![stage.route.clone()], Vec::new()).await;
    let cable = Arc::new(Cable::default());
    let worker = stage.start_behind("w", cable.clone());
    let (mut gathered, mut is_cut) = (BTreeSet::new(), false);
    let (mut measured, mut parted) = (BTreeSet::new(), BTreeSet::new());
    while measured.len() < 2 {
        match reports.next().await {
            Report::Progress(progress) => {
                if !is_cut {
                    gathered.extend(progress.open.into_iter().map(|open| open.id));
                }
                if gathered.len() == 2 && !is_cut {
                    // Both come again, and fill the batch in which they wait.
                    is_cut = true;
                    cable.cut();
                }
            }
            Report::HandedOver { attempt, .. } => {
                parted.insert(attempt.id);
            }
            Report::Session(outcome) => {
                assert_eq!(outcome.outcome, MEASURED);
                assert!(measured.insert(outcome.key.item), "{:?} twice", outcome.key);
            }
            other => panic!("{other:?}"),
        }
    }
    worker.leave().await;
    let lines: Vec<usize> = server.batches().iter().map(|batch| batch.lines.len()).collect();
    assert_eq!(lines, [2]);
    assert!(parted.is_superset(&gathered), "attempts of which was told end");
    assert_eq!(stage.waiting().await, 0);
}

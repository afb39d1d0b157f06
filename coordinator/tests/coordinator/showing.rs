//! Numbers that operators are shown.

use std::time::Duration;

use regatta_proto::{Report, WorkerId};

use crate::stage::{Stage, queue_of, spec};

#[tokio::test]
async fn who_leads_shows_it_with_the_sweeps_and_their_budgets() {
    let stage = Stage::set().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 3, "budget_usd: 12")).await;
    let (metrics, id) = (&process.metrics, sweep.id.as_str());
    stage.until(async || metrics.budget.with_label_values(&[id]).get() == 12.0).await;
    stage.until(async || metrics.window.with_label_values(&[&queue_of(&sweep)]).get() > 0).await;
    assert_eq!((metrics.leads.get(), metrics.sweeps_running.get()), (1, 1));
    process.end().await;
}

#[tokio::test]
async fn who_stands_by_shows_no_sweep_and_no_lead() {
    let stage = Stage::set().await;
    let other: WorkerId = "other".parse().unwrap();
    stage.ledger.lead(&other, Duration::from_secs(3600)).await.unwrap().expect("nobody else leads");
    let process = stage.process();
    stage.submit(&process, &spec("s", 3, "budget_usd: 12")).await;
    process.metrics.leads.set(1);
    let mut process = process;
    process.work();
    let metrics = process.metrics.clone();
    tokio::time::timeout(Duration::from_secs(60), async {
        while metrics.leads.get() != 0 {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("a standby says that it does not lead");
    assert_eq!(metrics.sweeps_running.get(), 0);
    process.end().await;
}

#[tokio::test]
async fn a_survey_counts_what_waits_in_the_queues_of_all_and_fails_without_them() {
    let stage = Stage::set().await;
    let process = stage.process();
    let sweep = stage.submit(&process, &spec("s", 1, "")).await;
    stage.queue.publish_reports(vec![Report::Tabulate { sweep: sweep.id.clone(), lock: sweep.digest }]).await.unwrap();
    process.coordinator.survey().await.unwrap();
    assert_eq!((process.metrics.reports_waiting.get(), process.metrics.dead_letters.get()), (1, 0));
    stage.queue.close();
    assert!(process.coordinator.survey().await.is_err());
}

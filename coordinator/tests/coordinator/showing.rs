//! Numbers that operators are shown.

use std::time::Duration;

use regatta_proto::{Money, Report, WorkerId};

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
    stage
        .queue
        .publish_reports(vec![Report::Tabulate { sweep: sweep.id.clone(), lock: sweep.digest, generation: None }])
        .await
        .unwrap();
    process.coordinator.survey().await.unwrap();
    assert_eq!((process.metrics.reports_waiting.get(), process.metrics.dead_letters.get()), (1, 0));
    stage.queue.close();
    assert!(process.coordinator.survey().await.is_err());
}

#[tokio::test]
async fn the_cost_at_the_end_is_forecast_unless_results_decide_how_many_sessions_there_are() {
    let other = "  - { id: sim/noisy-0.5, max_tokens: 1000, price: { input_per_mtok: 0, output_per_mtok: 1000 } }\n";
    for (name, more, is_forecast) in
        [("fixed", "trials: 4\n", true), ("adaptive", "decide: { question: best, margin: 2pp, rounds: 2 }\n", false)]
    {
        let stage = Stage::set().await;
        let process = stage.start();
        let sweep = stage.submit(&process, &spec(name, 20, &format!("{other}{more}"))).await;
        let status = async || process.coordinator.status(&sweep.id).await.unwrap();
        let jobs = stage.take(&sweep, 8).await;
        stage.finish(&sweep, &jobs, Money(5)).await;
        if is_forecast {
            // Four sessions each, or eight of a single one, are not enough of both models.
            stage.until(async || status().await.at_least.is_some()).await;
            // Two thirds of the sessions are of both, in whatever order they come.
            for _ in 0..7 {
                let jobs = stage.take(&sweep, 8).await;
                stage.finish(&sweep, &jobs, Money(5)).await;
            }
            stage.until(async || status().await.forecast.is_some()).await;
        }
        let status = status().await;
        assert_eq!((status.forecast.is_some(), status.at_least), (is_forecast, None), "{name}");
        process.end().await;
    }
}

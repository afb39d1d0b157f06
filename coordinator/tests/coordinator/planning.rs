use regatta_proto::{Evaluator, Judge, ModelSpec};

use crate::stage::{Stage, spec};

#[tokio::test]
async fn a_lock_has_every_default_resolved() {
    let stage = Stage::set().await;
    let text = spec("s", 3, "").replace(", limits: { concurrency: 2 }", "");
    let submission = stage.submission(&text).await;
    let mut lock = stage.process().coordinator.plan(submission).await.unwrap().lock.clone();
    assert_eq!(lock.regatta, env!("CARGO_PKG_VERSION"));
    lock.regatta = "[version]".to_owned();
    insta::assert_json_snapshot!(lock);
}

#[tokio::test]
async fn the_same_spec_is_the_same_sweep_and_nothing_new() {
    let stage = Stage::set().await;
    let process = stage.process();
    let submission = stage.submission(&spec("s", 3, "")).await;
    let first = process.coordinator.submit(submission.clone(), None).await.unwrap();
    let shards = stage.ledger.shards(&first.id).await.unwrap();
    let second = process.coordinator.submit(submission, None).await.unwrap();
    assert!(first.created && !second.created);
    assert_eq!((&second.id, second.sessions), (&first.id, first.sessions));
    assert_eq!(stage.ledger.sweeps().await.unwrap().len(), 1);
    assert_eq!(stage.ledger.shards(&first.id).await.unwrap(), shards);
}

#[tokio::test]
async fn another_seed_is_another_sweep() {
    let stage = Stage::set().await;
    let process = stage.process();
    let first = stage.submit(&process, &spec("s", 3, "seed: 1")).await;
    let second = stage.submit(&process, &spec("s", 3, "seed: 2")).await;
    assert_ne!(first.id, second.id);
}

#[tokio::test]
async fn every_selected_item_is_in_exactly_one_shard_and_no_shard_is_empty() {
    let mut stage = Stage::set().await;
    for (window, more) in [(4096, ""), (16, ""), (1, ""), (4096, "budget_usd: 9"), (40, "trials: 3")] {
        stage.config.window = window;
        let name = format!("s{window}-{}", more.len());
        let sweep = stage.submit(&stage.process(), &spec(&name, 5, more)).await;
        for cell in sweep.cells() {
            let mut covered = 0;
            for shard in stage.ledger.shards(&sweep.id).await.unwrap() {
                if shard.cell == cell.index {
                    assert_eq!(shard.first, covered, "window {window}");
                    assert!(shard.count > 0 && shard.count <= window);
                    covered += shard.count;
                }
            }
            assert_eq!(covered as usize, sweep.selected(cell).len());
        }
    }
}

#[tokio::test]
async fn a_planned_sweep_is_not_yet_in_the_ledger() {
    let stage = Stage::set().await;
    let process = stage.process();
    let sweep = process.coordinator.plan(stage.submission(&spec("s", 3, "")).await).await.unwrap();
    assert_eq!(sweep.lock.benchmarks.values().next().unwrap().evaluators, [Evaluator::Official, Evaluator::Paper]);
    assert!(stage.ledger.sweeps().await.unwrap().is_empty());
    assert!(process.coordinator.enter(&sweep).await.unwrap().created);
}

#[tokio::test]
async fn a_judge_that_is_written_with_nothing_but_its_price_can_be_read_back_by_everybody() {
    let stage = Stage::set().await;
    let mut submission = stage.submission(&spec("s", 3, "")).await;
    let model = submission.spec.models[0].id.clone();
    let price: regatta_proto::Price = serde_json::from_str(r#"{"input_per_mtok": 1, "output_per_mtok": 2}"#).unwrap();
    for benchmark in submission.spec.benchmarks.values_mut() {
        benchmark.judge_price = None;
        benchmark.judge =
            Some(Judge::Model(Box::new(ModelSpec { price: Some(price.clone()), ..ModelSpec::from(model.clone()) })));
    }
    let planned = stage.process().coordinator.plan(submission).await.unwrap();
    let read = stage.process().coordinator.catalog().sweep(&planned.digest).await.unwrap();
    assert_eq!((&read.id, read.digest), (&planned.id, planned.digest));
    let benchmark = read.lock.benchmarks.values().next().unwrap();
    assert_eq!(benchmark.judge, Some(Judge::Plain(model)));
    assert!(benchmark.judge_price.is_some());
}

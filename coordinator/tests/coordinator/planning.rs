use bytes::Bytes;
use regatta_catalog::Sweep;
use regatta_coordinator::Submission;
use regatta_proto::{CacheMode, Digest, EndpointKind, EndpointName, EndpointSpec, Evaluator, Judge, ModelSpec};

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

/// As nights are planned, and runs scored anew, whose specs were accepted before.
#[tokio::test]
async fn a_spec_beyond_the_bounds_is_planned_but_not_taken_in() {
    let stage = Stage::set().await;
    let process = stage.process();
    let mut submission = stage.submission(&spec("s", 3, "")).await;
    let endpoint = submission.spec.endpoints.values_mut().next().unwrap();
    endpoint.headers = (0..33).map(|number| (format!("x-{number}"), "1".to_owned())).collect();
    process.coordinator.plan(submission.clone()).await.unwrap();
    let error = process.coordinator.submit(submission, None).await.unwrap_err().to_string();
    assert!(error.contains("headers"), "{error}");
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

/// Plans `submission` at a coordinator of a deployment; returns why it is refused.
async fn refused(stage: &Stage, submission: Submission) -> String {
    stage.process().coordinator.plan(submission).await.map(drop).unwrap_err().to_string()
}

/// Verdicts that workers can read.
const VERDICTS: &str = r#"{"pred_texts": ["a"], "gold_texts": ["b"], "sim": [[0.5]]}"#;

/// A spec whose judge answers from recorded verdicts.
fn judged_by_records() -> String {
    let endpoint = "  rec: { kind: recorded, path: /dev/zero }\nmodels:";
    spec("s", 3, "").replace("judge: sim/lexical", "judge: rec/any").replace("models:", endpoint)
}

#[tokio::test]
async fn a_deployment_takes_no_path_of_a_spec_but_the_digest_of_a_stored_file() {
    let stage = Stage::set().await;
    let (bytes, large) = (Bytes::from_static(VERDICTS.as_bytes()), Bytes::from(vec![b' '; 4 << 20]));
    let name = "rec".parse().unwrap();
    let mut submission = stage.submission(&judged_by_records()).await;
    let error = refused(&stage, submission.clone()).await;
    assert!(error.starts_with("endpoints.rec.path: ") && error.contains("regatta submit"), "{error}");
    submission.recorded.insert(name, Digest::of(&bytes));
    let error = refused(&stage, submission.clone()).await;
    assert!(error.starts_with("endpoints.rec.path: ") && error.contains("is not stored"), "{error}");
    stage.blobs().put_content(bytes).await.unwrap();
    let planned = stage.process().coordinator.plan(submission.clone()).await.unwrap();
    assert!(planned.lock.endpoints.values().any(|endpoint| endpoint.content.is_some()));

    // Each listing counts, as for data.
    let stored = stage.blobs().put_content(large).await.unwrap();
    for number in 0..65 {
        let endpoint = EndpointSpec { path: Some("x".into()), ..EndpointSpec::of_kind(EndpointKind::Recorded) };
        submission.spec.endpoints.insert(format!("more{number}").parse().unwrap(), endpoint);
        submission.recorded.insert(format!("more{number}").parse().unwrap(), stored);
    }
    let error = refused(&stage, submission).await;
    assert!(error.starts_with("data: has ") && error.contains("at most 268435456 are allowed"), "{error}");
}

#[tokio::test]
async fn verdicts_that_no_worker_could_read_are_refused_before_the_sweep_is_taken() {
    let stage = Stage::set().await;
    let mut submission = stage.submission(&judged_by_records()).await;
    let name: EndpointName = "rec".parse().unwrap();
    for (content, problem) in [
        (format!("{VERDICTS}\n{{\"pred_texts\": [\"a\""), "line 2 of the verdicts: not a verdict: EOF"),
        // Files of verdicts may have such lines, which endpoints cannot answer from.
        (r#"{"item": "i", "response": "x"}"#.to_owned(), "line 1 of the verdicts: a line holds either"),
    ] {
        let stored = stage.blobs().put_content(content.into()).await.unwrap();
        submission.recorded.insert(name.clone(), stored);
        let error = refused(&stage, submission.clone()).await;
        assert!(error.starts_with("endpoints.rec.path: ") && error.contains(problem), "{error}");
    }
}

#[tokio::test]
async fn a_deployment_takes_no_directory_of_a_spec_for_an_encoder() {
    let stage = Stage::set().await;
    let text = judged_by_records().replace("kind: recorded, path: /dev/zero", "kind: encoder, path: /etc");
    let error = refused(&stage, stage.submission(&text).await).await;
    assert!(error.starts_with("endpoints.rec.path: "), "{error}");
    assert!(error.contains("policy file (encoders)") && error.contains("registered: rec"), "{error}");
}

#[tokio::test]
async fn a_file_that_is_larger_than_it_is_said_to_be_is_refused() {
    let stage = Stage::set().await;
    let honest = stage.submission(&spec("s", 3, "")).await;
    for size in [0, 1] {
        let mut lying = honest.clone();
        let files = &mut lying.data.values_mut().next().unwrap().files;
        files[0].size = size;
        let (path, error) = (files[0].path.clone(), refused(&stage, lying).await);
        assert!(error.starts_with("data.worfbench: ") && error.contains(&path), "{error}");
        assert!(error.contains(&format!("is said to have {size} bytes")), "{error}");
    }
    stage.process().coordinator.plan(honest).await.unwrap();
}

#[tokio::test]
async fn data_that_takes_more_memory_once_it_is_parsed_than_there_is_for_it_is_refused() {
    let mut stage = Stage::set().await;
    let submission = stage.submission(&spec("s", 3, "")).await;
    stage.process().coordinator.plan(submission.clone()).await.unwrap();
    stage.config.data_memory = Some(1000);
    let error = refused(&stage, submission).await;
    assert!(
        error.starts_with("data: may take more than ") && error.contains("at most 1000 are allowed here"),
        "{error}"
    );
}

#[tokio::test]
async fn canaries_are_the_same_items_whatever_the_limit_and_are_never_answered_by_the_response_cache() {
    let stage = Stage::set().await;
    let process = stage.process();
    let mut chosen = Vec::new();
    for (name, sessions) in [("few", 1), ("many", 4)] {
        let text = spec(name, sessions, "cache: read_write\n").replace("{ limit:", "{ canaries: 3, limit:");
        let sweep = stage.submit(&process, &text).await;
        let cell = &sweep.cells()[0];
        let canaries: Vec<_> =
            sweep.selected(cell).iter().copied().filter(|item| sweep.is_canary(cell, *item)).collect();
        assert_eq!(canaries.len(), 3, "{name}");
        for item in sweep.selected(cell) {
            let mode = if canaries.contains(item) { CacheMode::Refresh } else { CacheMode::ReadWrite };
            assert_eq!(sweep.cache(cell, *item), mode, "{name}: {item:?}");
        }
        chosen.push(canaries);
    }
    assert_eq!(chosen[0], chosen[1]);
}

/// Ids of the items that `sweep` runs, by name.
fn run_by(sweep: &Sweep) -> Vec<String> {
    let cell = &sweep.cells()[0];
    let id = |item| sweep.item(cell, item).unwrap().id.to_string();
    let mut run: Vec<String> = sweep.selected(cell).iter().copied().map(id).collect();
    run.sort();
    run
}

/// A spec of the two tasks that lists `items`.
fn listing(items: &str) -> String {
    spec("s", 3, "").replace("limit: 'first:3'", &format!("items: {items}"))
}

#[tokio::test]
async fn listed_items_are_run_and_no_others_and_their_order_makes_no_other_sweep() {
    let stage = Stage::set().await;
    let process = stage.process();
    let one = stage.submission(&listing("[wikihow_mini2, lumos_mini3]")).await;
    let other = stage.submission(&listing("[lumos_mini3, wikihow_mini2]")).await;
    let planned = process.coordinator.plan(one.clone()).await.unwrap();
    assert_eq!(run_by(&planned), ["lumos_mini3", "wikihow_mini2"]);
    // Whoever reads the lock selects the same ones.
    let read = process.coordinator.catalog().sweep(&planned.digest).await.unwrap();
    assert_eq!(run_by(&read), run_by(&planned));
    let first = process.coordinator.submit(one, None).await.unwrap();
    let second = process.coordinator.submit(other, None).await.unwrap();
    assert!(first.created && !second.created);
    assert_eq!(first.id, second.id);
}

#[tokio::test]
async fn canaries_are_asked_beside_listed_items() {
    let stage = Stage::set().await;
    let submission = stage.submission(&listing("[lumos_mini3], canaries: 4")).await;
    let run = run_by(&stage.process().coordinator.plan(submission).await.unwrap());
    assert!(run.contains(&"lumos_mini3".to_owned()) && (4..=5).contains(&run.len()), "{run:?}");
}

#[tokio::test]
async fn an_item_that_the_data_or_the_tasks_do_not_have_is_refused_with_its_place_in_the_list() {
    let stage = Stage::set().await;
    let refused = async |items: &str| refused(&stage, stage.submission(&listing(items)).await).await;
    assert_eq!(
        refused("[lumos_mini1, lumos_mni2]").await,
        "benchmarks.worfbench.items[1]: the data has no item \"lumos_mni2\"; did you mean \"lumos_mini2\"?"
    );
    assert_eq!(
        refused("[lumos_mini1, os_mini1]").await,
        "benchmarks.worfbench.items[1]: \"os_mini1\" is in none of the settings and tasks that are run; leave it out, or run its own"
    );
}

#[tokio::test]
async fn a_misspelt_setting_is_guessed_behind_an_agent_too_and_only_one_that_agents_do() {
    let stage = Stage::set().await;
    let guess = async |setting: &str| {
        let text = spec("s", 3, "").replace("{ limit:", &format!("{{ settings: [{setting}], limit:"));
        let agents = if setting.starts_with("external/") { "agents: { mine: { registered: mine } }\n" } else { "" };
        let text = text.replace("endpoints:", &format!("{agents}endpoints:"));
        let error = refused(&stage, stage.submission(&text).await).await;
        assert!(error.starts_with("benchmarks.worfbench.settings[0]: unknown setting"), "{error}");
        error.split_once("did you mean ").map(|(_, guess)| guess.to_owned()).unwrap_or_default()
    };
    assert_eq!(guess("two-sht").await, "\"two-shot\"?");
    assert_eq!(guess("external/mine/two-sht").await, "\"external/mine/two-shot\"?");
    assert_eq!(
        guess("external/mine/zero-shot").await,
        "\"external/mine/two-shot\"?",
        "an agent has no shots by itself"
    );
    assert_eq!(guess("external/mine/everything").await, "");
}

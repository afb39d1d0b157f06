//! Anthropic's message batches.

use std::time::Duration;

use regatta_proto::{Price, SimulatedBatches, Simulation};
use regatta_simulator::BatchCounters;
use serde_json::{Value, json};

use crate::harness::{Harness, Read, config, read, simulating};
use crate::three_items::{LONG, ODD, PLAIN, gold};

const BATCHES: &str = "/messages/batches";

fn line(custom_id: &str, model: &str, id: &str) -> Value {
    let session =
        json!({"regatta_benchmark": "worfbench", "regatta_item": id, "regatta_trial": "0", "regatta_seed": "1"});
    let params = json!({
        "model": model, "max_tokens": 1000, "messages": [{"role": "user", "content": "go on"}],
        "metadata": {"user_id": session.to_string()}
    });
    json!({"custom_id": custom_id, "params": params})
}

async fn create(harness: &Harness, requests: &[Value]) -> Read {
    read(harness.post(BATCHES, &json!({"requests": requests}))).await
}

async fn get(harness: &Harness, route: &str) -> Read {
    read(harness.client.get(format!("{}{BATCHES}{route}", harness.endpoint.url()))).await
}

async fn ended(harness: &Harness, batch: &Value) -> Value {
    loop {
        let batch = get(harness, &format!("/{}", batch["id"].as_str().unwrap())).await.json();
        if batch["processing_status"] == "ended" {
            return batch;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn results(harness: &Harness, batch: &Value) -> Vec<Value> {
    let answer = read(harness.client.get(batch["results_url"].as_str().unwrap())).await;
    answer.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The snapshot of a batch, without the port in its address.
fn shown(batch: &Value) -> String {
    let mut batch = batch.clone();
    if let Some(url) = batch["results_url"].as_str() {
        let path = url.split_once("/v1").unwrap().1.to_owned();
        batch["results_url"] = format!("http://HOST/v1{path}").into();
    }
    serde_json::to_string_pretty(&batch).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_worked_off_after_its_delay() {
    let harness = Harness::start(config()).await;
    let created = create(&harness, &[line("a", "oracle", PLAIN), line("b", "oracle", LONG)]).await.json();
    insta::assert_snapshot!("created", shown(&created));
    let batch = ended(&harness, &created).await;
    insta::assert_snapshot!("ended", shown(&batch));
    let lines = results(&harness, &batch).await;
    insta::assert_snapshot!("line", serde_json::to_string_pretty(&lines[1]).unwrap());
    let read: Vec<_> = lines
        .iter()
        .map(|line| (line["custom_id"].as_str().unwrap(), line["result"]["message"]["content"][0]["text"].clone()))
        .collect();
    assert_eq!(read, [("b", gold(LONG).into()), ("a", gold(PLAIN).into())]);
    let counters = harness.endpoint.counters();
    assert_eq!(counters.batches, BatchCounters { created: 1, answered: 2, ..BatchCounters::default() });
    assert_eq!(counters.answers[&"worfbench".parse().unwrap()].values().sum::<u64>(), 2);
}

#[tokio::test(start_paused = true)]
async fn lines_fail_and_expire_in_the_shape_of_anthropic() {
    let batch = SimulatedBatches { failed: 0.4, expired: 0.4, ..SimulatedBatches::default() };
    let prices = [("oracle".to_owned(), Price::per_mtok(1.0, 1.0))].into();
    let harness = Harness::start(simulating(Simulation { batch, prices, ..Simulation::default() })).await;
    let mut requests: Vec<Value> = (0..40).map(|n| line(&format!("line-{n}"), "oracle", PLAIN)).collect();
    requests.push(line("unknown", "gpt-4o", PLAIN));
    let created = create(&harness, &requests).await.json();
    let batch = ended(&harness, &created).await;
    let lines = results(&harness, &batch).await;
    let of = |kind: &str| lines.iter().filter(|line| line["result"]["type"] == kind).count();
    let (succeeded, errored, expired) = (of("succeeded"), of("errored"), of("expired"));
    assert!(succeeded > 3 && errored > 8 && expired > 8, "{succeeded} {errored} {expired}");
    let counts =
        json!({"processing": 0, "succeeded": succeeded, "errored": errored, "canceled": 0, "expired": expired});
    assert_eq!(batch["request_counts"], counts);
    assert_eq!(lines[0]["custom_id"], "unknown");
    let kind = |line: &Value| line["result"]["error"]["error"]["type"].as_str().unwrap_or_default().to_owned();
    assert_eq!(kind(&lines[0]), "not_found_error");
    assert_eq!(lines[1..].iter().filter(|line| kind(line) == "api_error").count(), errored - 1);
    // Only answered requests are billed, at the plain price, because there is none for batches.
    assert_eq!(harness.endpoint.counters().total_billed().delivered.0, 5_000 * succeeded as u64);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_batch_answers_nothing_more() {
    let batch = SimulatedBatches { delay_ms: 3_600_000, ..SimulatedBatches::default() };
    let harness = Harness::start(simulating(Simulation { batch, ..Simulation::default() })).await;
    let created = create(&harness, &[line("a", "oracle", ODD)]).await.json();
    let id = created["id"].as_str().unwrap();
    let early = get(&harness, &format!("/{id}/results")).await;
    assert_eq!((early.status.as_u16(), &early.json()["error"]["type"]), (404, &json!("not_found_error")));
    let cancelled = read(harness.post(&format!("{BATCHES}/{id}/cancel"), &json!({}))).await.json();
    assert_eq!(cancelled["processing_status"], "canceling");
    let batch = ended(&harness, &created).await;
    assert_eq!(batch["request_counts"]["canceled"], 1);
    assert_eq!(results(&harness, &batch).await, [json!({"custom_id": "a", "result": {"type": "canceled"}})]);
    let again = read(harness.post(&format!("{BATCHES}/{id}/cancel"), &json!({}))).await;
    assert_eq!(again.status, 409, "{}", again.text);
}

#[tokio::test]
async fn batches_are_listed_newest_first_and_apart_from_those_of_openai() {
    let harness = Harness::start(config()).await;
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.insert(0, create(&harness, &[line("a", "oracle", PLAIN)]).await.json()["id"].as_str().unwrap().to_owned());
    }
    let listed = async |query: &str| {
        let page = get(&harness, query).await.json();
        let data = page["data"].as_array().unwrap();
        let ids: Vec<String> = data.iter().map(|batch| batch["id"].as_str().unwrap().to_owned()).collect();
        (ids, page["has_more"].as_bool().unwrap())
    };
    assert_eq!(listed("?limit=3").await, (ids[..3].to_vec(), true));
    assert_eq!(listed(&format!("?limit=3&after_id={}", ids[2])).await, (ids[3..].to_vec(), false));
    assert_eq!(listed(&format!("?limit=2&before_id={}", ids[3])).await, (ids[1..3].to_vec(), true));
    assert_eq!(listed("").await, (ids.clone(), false));
    let theirs = read(harness.client.get(format!("{}/batches", harness.endpoint.url()))).await.json();
    assert_eq!(theirs["data"], json!([]));
    let as_theirs = read(harness.client.get(format!("{}/batches/{}", harness.endpoint.url(), ids[0]))).await;
    assert_eq!(as_theirs.status, 404);
}

#[tokio::test]
async fn what_cannot_be_is_refused_with_a_reason() {
    let harness = Harness::start(config()).await;
    let answers = [
        create(&harness, &[]).await,
        create(&harness, &[line("a", "oracle", PLAIN), line("a", "oracle", ODD)]).await,
        create(&harness, &[line("not a name", "oracle", PLAIN)]).await,
        create(&harness, &[json!({"custom_id": "a"})]).await,
        get(&harness, "/msgbatch_1").await,
        get(&harness, "/a/b/c").await,
    ];
    insta::assert_snapshot!(answers.map(|answer| format!("{} {}", answer.status.as_u16(), answer.text)).join("\n"));
}

#[tokio::test(start_paused = true)]
async fn batches_do_not_keep_an_endpoint_from_stopping() {
    let batch = SimulatedBatches { delay_ms: 3_600_000, ..SimulatedBatches::default() };
    let harness = Harness::start(simulating(Simulation { batch, ..Simulation::default() })).await;
    create(&harness, &[line("a", "oracle", PLAIN)]).await.json();
    let Harness { endpoint, client } = harness;
    drop(client);
    let start = tokio::time::Instant::now();
    endpoint.shutdown().await;
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

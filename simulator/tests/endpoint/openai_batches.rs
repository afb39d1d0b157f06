//! OpenAI's batches and files.

use std::time::Duration;

use regatta_proto::{Money, Price, SimulatedBatches, Simulation};
use regatta_simulator::BatchCounters;
use serde_json::{Value, json};

use crate::harness::{Harness, Read, config, read, read_answer, simulating};
use crate::three_items::{LONG, ODD, PLAIN, gold, prompt};

const CHAT: &str = "/v1/chat/completions";

fn line(custom_id: &str, model: &str, id: &str) -> Value {
    let metadata =
        json!({"regatta_benchmark": "worfbench", "regatta_item": id, "regatta_trial": "0", "regatta_seed": "1"});
    let messages = json!([{"role": "user", "content": "go on"}]);
    let body = json!({"model": model, "messages": messages, "metadata": metadata});
    json!({"custom_id": custom_id, "method": "POST", "url": CHAT, "body": body})
}

fn lines(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

impl Harness {
    async fn upload(&self, purpose: &str, content: &str) -> Read {
        let body = format!(
            "--sep\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\n{purpose}\r\n--sep\r\n\
             Content-Disposition: form-data; name=\"file\"; filename=\"in.jsonl\"\r\n\
             Content-Type: application/jsonl\r\n\r\n{content}\r\n--sep--\r\n"
        );
        let request = self.client.post(format!("{}/files", self.endpoint.url())).body(body);
        read(request.header("content-type", "multipart/form-data; boundary=sep")).await
    }

    async fn get(&self, route: &str) -> Read {
        read(self.client.get(format!("{}{route}", self.endpoint.url()))).await
    }

    async fn create(&self, content: &str, fields: &Value) -> Read {
        let file = self.upload("batch", content).await.json();
        let mut body = json!({"input_file_id": file["id"], "endpoint": CHAT, "completion_window": "24h"});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        read(self.post("/batches", &body)).await
    }

    /// The batch once it has ended.
    async fn ended(&self, batch: &Value) -> Value {
        let route = format!("/batches/{}", batch["id"].as_str().unwrap());
        loop {
            let batch = self.get(&route).await.json();
            if !["in_progress", "cancelling"].contains(&batch["status"].as_str().unwrap()) {
                return batch;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The lines of a result file; empty if there is no file.
    async fn results(&self, file: &Value) -> Vec<Value> {
        let Some(file) = file.as_str() else { return Vec::new() };
        let content = self.get(&format!("/files/{file}/content")).await.text;
        content.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn batches(batch: SimulatedBatches) -> Simulation {
    Simulation { batch, ..Simulation::default() }
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_worked_off_after_its_delay() {
    let harness = Harness::start(config()).await;
    let content = lines(&[line("a", "oracle", PLAIN), line("b", "oracle", ODD), line("c", "oracle", LONG)]);
    let created = harness.create(&content, &json!({"metadata": {"regatta_batch": "nightly"}})).await.json();
    assert_eq!((&created["status"], &created["request_counts"]["total"]), (&json!("in_progress"), &json!(3)));
    assert_eq!(harness.endpoint.counters().total_requests(), 0);

    let batch = harness.ended(&created).await;
    insta::assert_snapshot!(serde_json::to_string_pretty(&batch).unwrap());
    let output = harness.results(&batch["output_file_id"]).await;
    let read: Vec<_> = output
        .iter()
        .map(|line| {
            (line["custom_id"].as_str().unwrap(), line["response"]["body"]["choices"][0]["message"]["content"].clone())
        })
        .collect();
    assert_eq!(read, [("c", gold(LONG).into()), ("b", gold(ODD).into()), ("a", gold(PLAIN).into())]);
    insta::assert_snapshot!("line", serde_json::to_string_pretty(&output[2]).unwrap());

    let counters = harness.endpoint.counters();
    assert_eq!(counters.batches, BatchCounters { created: 1, answered: 3, ..BatchCounters::default() });
    assert_eq!((counters.total_requests(), counters.total_answered()), (3, 3));
    assert_eq!(counters.answers[&"worfbench".parse().unwrap()].values().sum::<u64>(), 3);
    assert!(counters.arrivals.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_line_is_answered_as_a_request_of_its_own_would_be_at_the_price_of_batches() {
    let price =
        Price { variants: [("batch".to_owned(), Price::per_mtok(1.0, 2.0))].into(), ..Price::per_mtok(2.0, 4.0) };
    let simulation =
        Simulation { prices: [("noisy-0.5".to_owned(), price)].into(), report_cost: true, ..Simulation::default() };
    let harness = Harness::start(simulating(simulation)).await;
    let line = line("a", "noisy-0.5", PLAIN);
    let live = read(harness.post("/chat/completions", &line["body"])).await.json();
    let before = harness.endpoint.counters().total_billed().delivered;

    let batch = harness.create(&lines(&[line]), &json!({})).await.json();
    let output = harness.results(&harness.ended(&batch).await["output_file_id"]).await;
    let batched = &output[0]["response"]["body"];
    assert_eq!(batched["choices"], live["choices"]);
    assert_eq!(batched["usage"]["cost"].as_f64().unwrap() * 2.0, live["usage"]["cost"].as_f64().unwrap());
    let billed = harness.endpoint.counters().total_billed();
    assert_eq!((billed.delivered.0 - before.0) * 2, before.0);
    assert_eq!(billed.lost, Money::ZERO);
}

#[tokio::test(start_paused = true)]
async fn some_lines_fail_and_some_expire() {
    let batch = SimulatedBatches { delay_ms: 1_000, failed: 0.3, expired: 0.3 };
    let harness = Harness::start(simulating(batches(batch))).await;
    let all: Vec<Value> = (0..60).map(|n| line(&format!("line-{n}"), "oracle", PLAIN)).collect();
    let created = harness.create(&lines(&all), &json!({})).await.json();
    let batch = harness.ended(&created).await;
    assert_eq!(batch["status"], "expired");
    let output = harness.results(&batch["output_file_id"]).await;
    let errors = harness.results(&batch["error_file_id"]).await;
    let (expired, failed): (Vec<&Value>, Vec<&Value>) = errors.iter().partition(|line| line["response"].is_null());
    assert!(expired.iter().all(|line| line["error"]["code"] == "batch_expired"));
    assert!(failed.iter().all(|line| line["response"]["status_code"] == 500));
    assert!(failed.iter().all(|line| line["response"]["body"]["error"]["type"] == "server_error"));
    assert!(output.len() > 10 && expired.len() > 8 && failed.len() > 8);
    assert_eq!(output.len() + errors.len(), 60);
    let counts = json!({"total": 60, "completed": output.len(), "failed": errors.len()});
    assert_eq!(batch["request_counts"], counts);
    let counters = harness.endpoint.counters();
    let expected = BatchCounters {
        created: 1,
        answered: output.len() as u64,
        failed: failed.len() as u64,
        expired: expired.len() as u64,
        cancelled: 0,
    };
    assert_eq!(counters.batches, expected);
    assert_eq!(counters.delivered.output, 3 * expected.answered);
}

#[tokio::test(start_paused = true)]
async fn a_line_at_fault_is_an_error_of_its_own() {
    let harness = Harness::start(config()).await;
    let content = lines(&[line("good", "oracle", PLAIN), line("bad", "gpt-4o", PLAIN)]);
    let created = harness.create(&content, &json!({})).await.json();
    let batch = harness.ended(&created).await;
    assert_eq!(batch["status"], "completed");
    let errors = harness.results(&batch["error_file_id"]).await;
    assert_eq!((&errors[0]["custom_id"], &errors[0]["response"]["status_code"]), (&json!("bad"), &json!(404)));
    assert_eq!(errors[0]["response"]["body"]["error"]["code"], "model_not_found");
    assert_eq!(harness.endpoint.counters().refused, 1);
}

#[tokio::test(start_paused = true)]
async fn responses_and_embeddings_come_in_batches_too() {
    let harness = Harness::start(config()).await;
    for (route, body, pointer, expected) in [
        (
            "/v1/responses",
            json!({"model": "oracle", "input": prompt(ODD)}),
            "/output/0/content/0/text",
            json!(gold(ODD)),
        ),
        ("/v1/embeddings", json!({"model": "lexical", "input": "open"}), "/usage/prompt_tokens", json!(1)),
    ] {
        let content = lines(&[json!({"custom_id": "a", "method": "POST", "url": route, "body": body})]);
        let created = harness.create(&content, &json!({"endpoint": route})).await.json();
        let output = harness.results(&harness.ended(&created).await["output_file_id"]).await;
        assert_eq!(output[0]["response"]["body"].pointer(pointer), Some(&expected), "{}", output[0]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_batch_answers_nothing_more() {
    let hour = SimulatedBatches { delay_ms: 3_600_000, ..SimulatedBatches::default() };
    let harness = Harness::start(simulating(batches(hour))).await;
    let created = harness.create(&lines(&[line("a", "oracle", PLAIN)]), &json!({})).await.json();
    let cancel = || harness.post(&format!("/batches/{}/cancel", created["id"].as_str().unwrap()), &json!({}));
    assert_eq!(read(cancel()).await.json()["status"], "cancelling");
    let batch = harness.ended(&created).await;
    assert_eq!((&batch["status"], &batch["output_file_id"]), (&json!("cancelled"), &Value::Null));
    let errors = harness.results(&batch["error_file_id"]).await;
    assert_eq!(errors[0]["error"]["code"], "batch_cancelled");
    let again = read(cancel()).await;
    assert_eq!(again.status, 409, "{}", again.text);
    let counters = harness.endpoint.counters();
    assert_eq!((counters.batches.cancelled, counters.total_requests()), (1, 0));
}

#[tokio::test]
async fn batches_are_listed_newest_first_with_their_metadata() {
    let harness = Harness::start(config()).await;
    for name in ["one", "two", "three"] {
        let fields = json!({"metadata": {"name": name}});
        harness.create(&lines(&[line("a", "oracle", PLAIN)]), &fields).await.json();
    }
    let names = |page: &Value| -> Vec<String> {
        let data = page["data"].as_array().unwrap();
        data.iter().map(|batch| batch["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let first = harness.get("/batches?limit=2").await.json();
    assert_eq!((names(&first), &first["has_more"]), (vec!["three".into(), "two".into()], &json!(true)));
    assert_eq!(first["last_id"], first["data"][1]["id"]);
    let second = harness.get(&format!("/batches?limit=2&after={}", first["last_id"].as_str().unwrap())).await.json();
    assert_eq!((names(&second), &second["has_more"]), (vec!["one".into()], &json!(false)));
    assert_eq!(names(&harness.get("/batches").await.json()).len(), 3);
}

#[tokio::test]
async fn a_file_that_is_not_one_of_requests_fails_its_batch() {
    let harness = Harness::start(config()).await;
    let mut wrong_url = line("url", "oracle", PLAIN);
    wrong_url["url"] = "/v1/responses".into();
    let mut wrong_method = line("method", "oracle", PLAIN);
    wrong_method["method"] = "GET".into();
    let content = format!(
        "{}\n\n{}\n{{\n{}\n{}\n",
        line("a", "oracle", PLAIN),
        line("a", "oracle", ODD),
        wrong_url,
        wrong_method
    );
    let failed = harness.create(&content, &json!({})).await.json();
    assert_eq!((&failed["status"], &failed["output_file_id"]), (&json!("failed"), &Value::Null));
    let empty = harness.create("\n", &json!({})).await.json();
    let mistakes =
        [failed["errors"]["data"].as_array().unwrap().as_slice(), empty["errors"]["data"].as_array().unwrap()];
    let mistakes: Vec<String> = mistakes.concat().iter().map(Value::to_string).collect();
    insta::assert_snapshot!(mistakes.join("\n"));
    assert_eq!(harness.ended(&failed).await["status"], "failed");
}

#[tokio::test]
async fn an_uploaded_file_can_be_had_back() {
    let harness = Harness::start(config()).await;
    let content = lines(&[line("a", "oracle", PLAIN)]);
    let file = harness.upload("batch", &content).await.json();
    insta::assert_snapshot!(serde_json::to_string_pretty(&file).unwrap());
    let route = format!("/files/{}", file["id"].as_str().unwrap());
    assert_eq!(harness.get(&route).await.json(), file);
    assert_eq!(harness.get(&format!("{route}/content")).await.text, content);
}

#[tokio::test]
async fn uploaded_files_are_listed_page_by_page() {
    let harness = Harness::start(config()).await;
    let mut ids = Vec::new();
    for content in ["a", "b", "c"] {
        ids.push(harness.upload("batch", content).await.json()["id"].as_str().unwrap().to_owned());
    }
    let listed = |list: &Value| -> Vec<String> {
        list["data"].as_array().unwrap().iter().map(|file| file["id"].as_str().unwrap().to_owned()).collect()
    };
    let first = harness.get("/files?limit=2&purpose=batch").await.json();
    assert_eq!((&first["object"], &first["has_more"]), (&json!("list"), &json!(true)));
    let last = first["last_id"].as_str().unwrap();
    let second = harness.get(&format!("/files?limit=2&after={last}")).await.json();
    let mut found = [listed(&first), listed(&second)].concat();
    found.sort_unstable();
    ids.sort_unstable();
    assert_eq!((found, &second["has_more"]), (ids, &json!(false)));
    assert_eq!(listed(&harness.get("/files?purpose=batch_output").await.json()), Vec::<String>::new());
}

#[tokio::test]
async fn what_cannot_be_is_refused_with_a_reason() {
    let harness = Harness::start(config()).await;
    let good = lines(&[line("a", "oracle", PLAIN)]);
    let many: serde_json::Map<String, Value> = (0..17).map(|n| (format!("key {n}"), json!("x"))).collect();
    let put = harness.client.put(format!("{}/batches", harness.endpoint.url()));
    let answers = [
        harness.upload("fine-tune", &good).await,
        read(harness.post("/files", &json!({}))).await,
        harness.create(&good, &json!({"completion_window": "1h"})).await,
        harness.create(&good, &json!({"endpoint": "/v1/completions"})).await,
        harness.create(&good, &json!({"endpoint": "/v1/messages"})).await,
        harness.create(&good, &json!({"metadata": many})).await,
        harness.create(&good, &json!({"input_file_id": "file-1"})).await,
        harness.create(&good, &json!({"input_file_id": 1})).await,
        harness.get("/files/file-1").await,
        harness.get("/batches/batch_1").await,
        harness.get("/batches?limit=1000").await,
        read_answer(put.send().await.unwrap()).await,
    ];
    let messages = answers
        .map(|answer| format!("{} {}", answer.status.as_u16(), answer.json()["error"]["message"].as_str().unwrap()));
    insta::assert_snapshot!(messages.join("\n"));
    assert_eq!(harness.endpoint.counters().batches.created, 0);
}

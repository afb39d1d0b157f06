//! A real benchmark behind the endpoint: the miniature WorFBench of the examples.

use std::sync::Arc;

use regatta_benchmarks::{Benchmark, Persona, Step, Suite};
use regatta_proto::{ChatRequest, ItemIndex, Role, SessionSeed, Setting, Transcript};
use regatta_simulator::{Config, SimulatedSuite};
use serde_json::{Value, json};

use crate::harness::{Harness, config, read};

fn worfbench() -> &'static dyn Benchmark {
    &regatta_worfbench::WorfBench
}

fn miniature() -> Arc<dyn Suite> {
    worfbench().load(&regatta_benchmark_testing::miniature(worfbench())).unwrap()
}

fn first_request(suite: &dyn Suite, item: ItemIndex, setting: &Setting) -> ChatRequest {
    match suite.next(item, setting, &Transcript::default()) {
        Step::Ask(_, request) => request,
        other => panic!("the session of item {item} begins with {other:?}"),
    }
}

fn wire(model: &str, request: &ChatRequest) -> Value {
    let messages = serde_json::to_value(&request.messages).unwrap();
    json!({"model": model, "messages": messages})
}

#[tokio::test]
async fn the_oracle_answers_every_item_of_the_miniature_with_its_gold() {
    let suite = miniature();
    let simulated = SimulatedSuite {
        benchmark: "worfbench".parse().unwrap(),
        default_setting: worfbench().settings().into_iter().next(),
        suite: suite.clone(),
    };
    let harness = Harness::start(Config { suites: vec![simulated], ..config() }).await;
    for setting in worfbench().settings() {
        let items = suite.select(&setting, &[], None).unwrap();
        assert!(!items.is_empty());
        for item in items {
            let request = first_request(&*suite, item, &setting);
            let gold = |item| {
                let reply = suite.simulate(item, &setting, Role::Agent, Persona::Oracle, SessionSeed(0), &request);
                reply.text.unwrap().to_string()
            };

            let unnamed = read(harness.post("/chat/completions", &wire("oracle", &request))).await;
            assert_eq!(unnamed.content(), gold(suite.recognise(&request).unwrap()));

            let id: String = suite.items()[item.0 as usize].id.as_str().bytes().map(|b| format!("%{b:02X}")).collect();
            let named = harness
                .post("/chat/completions", &wire("oracle", &request))
                .header("x-regatta-benchmark", "worfbench")
                .header("x-regatta-item", id);
            assert_eq!(read(named).await.content(), gold(item));
        }
    }
}

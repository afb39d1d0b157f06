//! The endpoint's bills, against the costs that it reports and its prices.

use regatta_proto::{Circumstances, Faults, Money, Price, Simulation, Usage};
use regatta_simulator::BilledNanodollars;
use serde_json::{Value, json};

use crate::harness::{Harness, read, simulating};
use crate::three_items::{LONG, ODD, PLAIN};

/// A price with decimals that do not fit into nano-dollars per token, so that rounding matters.
fn price() -> Price {
    Price { cached_input_per_mtok: Some(0.0777), ..Price::per_mtok(0.3333, 1.7777) }
}

fn priced() -> Simulation {
    Simulation {
        prices: [("oracle".to_owned(), price())].into(),
        report_cost: true,
        cached_fraction: 0.5,
        ..Simulation::default()
    }
}

fn usage_of(answer: &Value) -> Usage {
    Usage {
        input: answer["usage"]["prompt_tokens"].as_u64().unwrap(),
        cached_input: answer["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap(),
        output: answer["usage"]["completion_tokens"].as_u64().unwrap(),
        ..Usage::default()
    }
}

#[tokio::test]
async fn every_answer_tells_its_cost_and_the_costs_add_up_to_what_was_billed() {
    let harness = Harness::start(simulating(priced())).await;
    let mut told = Money::ZERO;
    for id in [PLAIN, LONG, ODD, PLAIN] {
        let answer = read(harness.ask("oracle", id)).await.json();
        let cost = Money::from_dollars(answer["usage"]["cost"].as_f64().unwrap()).unwrap();
        assert_eq!(Some(cost), price().cost(&usage_of(&answer), &Circumstances::default()));
        assert!(cost > Money::ZERO);
        told += cost;
    }
    let counters = harness.endpoint.counters();
    assert_eq!(counters.total_billed(), BilledNanodollars { delivered: told, lost: Money::ZERO });
    assert_eq!(counters.billed_nanodollars["oracle"], counters.total_billed());
}

#[tokio::test]
async fn a_share_of_the_prompt_is_reported_as_cached_and_charged_as_such() {
    let harness = Harness::start(simulating(priced())).await;
    let answer = read(harness.ask("oracle", ODD)).await.json();
    assert_eq!(usage_of(&answer), Usage { input: 5, cached_input: 2, output: 5, ..Usage::default() });
    // Three tokens of prompt, two cached ones, and five generated ones, in millionths of a dollar.
    let cost = 3.0 * 0.3333 + 2.0 * 0.0777 + 5.0 * 1.7777;
    assert_eq!(harness.endpoint.counters().total_billed().delivered, Money((cost * 1e3_f64).round() as u64));
    assert_eq!(harness.endpoint.counters().delivered.cached_input, 2);
}

#[tokio::test]
async fn a_model_without_a_price_tells_no_cost_and_bills_nothing() {
    let harness = Harness::start(simulating(priced())).await;
    let answer = read(harness.ask("noisy-0", PLAIN)).await.json();
    assert_eq!(answer["usage"]["cost"], Value::Null);
    assert!(harness.endpoint.counters().billed_nanodollars.is_empty());
}

#[tokio::test]
async fn what_did_not_arrive_is_billed_apart() {
    let faults = Faults { truncated: 0.5, server_error: 0.25, ..Faults::default() };
    let harness = Harness::start(simulating(Simulation { faults, ..priced() })).await;
    let mut told = Money::ZERO;
    for seed in 0..40 {
        let answer = harness.ask_by_header("oracle", PLAIN, seed).send().await.unwrap();
        let Ok(answer) = answer.json::<Value>().await else { continue };
        told += answer["usage"]["cost"].as_f64().and_then(Money::from_dollars).unwrap_or_default();
    }
    let counters = harness.endpoint.counters();
    let BilledNanodollars { delivered, lost } = counters.total_billed();
    let (answered, truncated) = (counters.total_answered(), counters.faults["truncated"]);
    assert!(answered > 0 && truncated > 0 && counters.faults["server_error"] > 0);
    assert_eq!(delivered, told);
    // All answers are equal, so money is proportional to their number.
    assert_eq!(lost.0 * answered, delivered.0 * truncated);
}

#[tokio::test]
async fn embeddings_are_billed_too() {
    let prices = [("lexical".to_owned(), Price::per_mtok(1.0, 0.0))].into();
    let simulation = Simulation { prices, report_cost: true, ..Simulation::default() };
    let harness = Harness::start(simulating(simulation)).await;
    let body = json!({"model": "lexical", "input": ["open the drawer", "close the drawer"]});
    let answer = read(harness.post("/embeddings", &body)).await.json();
    assert_eq!(answer["usage"], json!({"prompt_tokens": 8, "total_tokens": 8, "cost": 0.000008}));
    assert_eq!(harness.endpoint.counters().total_billed().delivered, Money(8_000));
}

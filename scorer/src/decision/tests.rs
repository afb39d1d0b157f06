use std::collections::BTreeMap;

use regatta_proto::{CostSum, Money};

use super::*;
use crate::comparison::{Comparison, Percentiles, Provider};
use crate::failures::Failure;
use crate::finish::tests::harness::{all_measured, documents, lock, summary, sweep, sweep_of_both};
use crate::statistics::Difference;

/// Two models of one benchmark, of which no comparison has been made yet.
fn two() -> Summary {
    summary(&documents(&sweep(lock(&["x/one", "x/two"])), &all_measured))
}

/// The same with a difference of the first from the second, and what a session of each costs and lasts.
fn compared(difference: (f64, f64, f64), p_holm: f64, dollars: [f64; 2], seconds: [f64; 2]) -> Summary {
    let mut summary = two();
    let pair = &mut summary.pairs[0].pairs[0];
    let (value, low, high) = difference;
    pair.difference = Difference { value, low: Some(low), high: Some(high), ..pair.difference };
    pair.p_holm = p_holm;
    for (at, name) in ["x/one", "x/two"].into_iter().enumerate() {
        let standing = summary.standings.iter_mut().find(|of| of.model.to_string() == name).unwrap();
        standing.cost_per_session = Money::from_dollars(dollars[at]);
        let p50 = seconds[at];
        standing.session_seconds = Some(Percentiles { p50, p90: p50, p99: p50 });
    }
    summary
}

fn provider(model: &str, of: &Summary) -> Provider {
    Provider {
        model: model.parse().unwrap(),
        simulated: false,
        quality: Vec::new(),
        sessions: of.sessions,
        cost: CostSum::default(),
        cost_per_session: None,
        cost_per_success: None,
        calls: 0,
        latency: None,
        first_token: None,
        tokens_per_second: None,
        errors: BTreeMap::new(),
        served: BTreeMap::new(),
    }
}

#[test]
fn an_alternative_is_told_with_its_quality_money_and_time() {
    let found = compared((0.01, -0.02, 0.04), 0.4, [0.01, 0.0026], [1.0, 4.3]);
    assert_eq!(
        sentences(&found),
        ["x/two, against x/one: same quality within ±0.040, 74 % cheaper, 4.3× slower at p50."]
    );
}

#[test]
fn a_family_has_one_sentence_on_all_endpoints_that_serve_it() {
    let mut found = compared((0.01, -0.02, 0.04), 0.4, [0.01, 0.0026], [1.0, 4.3]);
    let providers = ["x/one", "x/two"].map(|model| provider(model, &found)).to_vec();
    let (benchmark, setting) = (found.rows[0].benchmark.clone(), found.rows[0].setting.clone());
    found.comparisons.push(Comparison { benchmark, setting, family: "llama".to_owned(), providers });
    assert_eq!(
        sentences(&found),
        ["llama, against x/one: x/two: same quality within ±0.040, 74 % cheaper, 4.3× slower at p50."]
    );
}

#[test]
fn a_wide_interval_is_not_called_the_same_and_a_difference_has_its_size() {
    let of = |difference, p_holm| sentences(&compared(difference, p_holm, [1.0, 1.0], [1.0, 1.0])).remove(0);
    assert_eq!(
        of((0.1, -0.2, 0.4), 0.4),
        "x/two, against x/one: no difference in quality seen, within ±0.400, same cost, as fast at p50."
    );
    assert_eq!(
        of((0.31, 0.27, 0.36), 0.01),
        "x/two, against x/one: worse by 0.310 [0.270, 0.360], same cost, as fast at p50."
    );
    // Ahead in the ranking, it is what the other is compared with.
    let mut better = compared((-0.31, -0.36, 0.01), 0.01, [2.0, 7.0], [3.0, 1.5]);
    better.standings.reverse();
    assert_eq!(
        sentences(&better),
        ["x/one, against x/two: worse by 0.310 [-0.010, 0.360], 71 % cheaper, 2.0× slower at p50."]
    );
}

#[test]
fn what_too_little_was_measured_of_or_nobody_knows_the_price_of_is_not_compared() {
    let mut found = compared((0.31, 0.27, 0.36), 0.01, [1.0, 1.0], [1.0, 1.0]);
    found.rows[1].metrics.iter_mut().for_each(|metric| metric.estimate.withheld = true);
    found.standings[0].cost_per_session = None;
    found.standings[1].session_seconds = None;
    assert_eq!(
        sentences(&found),
        ["x/two, against x/one: too little measured to compare quality (less than 80.0 %), cost unknown."]
    );
}

#[test]
fn waits_that_make_sessions_slower_than_their_calls_are_told_apart() {
    let mut found = compared((0.01, -0.02, 0.04), 0.4, [1.0, 1.0], [1.0, 4.3]);
    for standing in &mut found.standings {
        standing.call_seconds = Some(Percentiles { p50: 0.5, p90: 0.5, p99: 0.5 });
    }
    assert_eq!(
        sentences(&found),
        [
            "x/two, against x/one: same quality within ±0.040, same cost, a session 4.3× slower and a call as fast at p50."
        ]
    );
}

#[test]
fn over_several_benchmarks_it_is_said_where_a_model_is_worse() {
    let models = ["x/one", "x/two"];
    let mut found = summary(&documents(&sweep_of_both(lock(&models)), &all_measured));
    for standing in &mut found.standings {
        (standing.session_seconds, standing.cost_per_session) = (None, Some(Money(1)));
    }
    for (family, p_holm) in found.pairs.iter_mut().zip([0.001, 0.9]) {
        let pair = &mut family.pairs[0];
        let worse = Difference { value: 0.2, low: Some(0.1), high: Some(0.3), ..pair.difference };
        (pair.difference, pair.p_holm) = (worse, p_holm);
    }
    assert_eq!(
        sentences(&found),
        [
            "x/two, against x/one: worse in dialogues · turn/text by 20.0 [10.0, 30.0] points, no difference seen in 1 other setting, \
             same cost."
        ]
    );
}

#[test]
fn failures_are_summed_by_cause_with_the_providers_words_and_the_commonest_first() {
    let mut found = two();
    let failure = |outcome: &str, cause: &str, sessions, said: Option<&str>| Failure {
        outcome: outcome.to_owned(),
        cause: cause.to_owned(),
        sessions,
        said: said.map(str::to_owned),
    };
    found.rows[0].failures = vec![failure("not_run", "", 2, None)];
    found.rows[1].failures = vec![
        failure("not_measured", "auth", 500, Some("HTTP 401: Incorrect API key")),
        failure("model_failure", "context_length", 1, None),
    ];
    assert_eq!(
        failures(&found),
        [
            "x/two: 500 × auth, HTTP 401: Incorrect API key",
            "x/one: 2 × not run",
            "x/two: 1 × context_length (counts as wrong)"
        ]
    );
}

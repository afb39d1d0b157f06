//! Sums of calls.

use proptest::prelude::*;
use regatta_proto::{ChatRequest, FailedCall, Finish, Lane, Reply, Role, Usage};

use super::*;

fn call(attempt: u32, latency_us: u64) -> Call {
    Call {
        role: Role::Agent,
        attempt,
        model: "lab/model".parse().unwrap(),
        request: ChatRequest::default(),
        reply: Reply::of_text(Some("yes"), Finish::Stop),
        tries: vec![],
        usage: Usage { input: 7, output: 11, ..Usage::default() },
        raw_usage: None,
        cost: Some(Money(40)),
        reported_cost: None,
        served: Served { model: Some("model-2026".to_owned()), ..Served::default() },
        latency_us,
        first_token_us: None,
        waited_us: 0,
        at: None,
        lane: Lane::Live,
        from_cache: false,
        saved: None,
    }
}

fn failed(class: ErrorClass) -> Try {
    Try { latency_us: 5, ..Try::not_sent(class, String::new()) }
}

fn transcript(calls: impl IntoIterator<Item = Call>) -> Transcript {
    Transcript { events: calls.into_iter().map(|call| Event::Call(Box::new(call))).collect() }
}

fn model(served: &Served) -> Option<String> {
    served.model.clone()
}

fn sums(calls: impl IntoIterator<Item = Call>) -> CallSums {
    CallSums::of(&transcript(calls), 1, model)
}

fn about(found: Option<f64>, expected: f64) -> bool {
    found.is_some_and(|found| (found / expected - 1.0).abs() <= 0.01)
}

#[test]
fn time_and_speed_of_a_streamed_answer_are_told_apart() {
    let streamed = Call { first_token_us: Some(500_000), ..call(1, 1_500_000) };
    let sums = sums([streamed]);
    assert!(about(sums.latency.quantile(0.5), 1.5));
    assert!(about(sums.first_token.quantile(0.5), 0.5));
    assert!(about(sums.tokens_per_second.quantile(0.5), 10.0), "the first token's time is not the others'");
}

#[test]
fn what_others_than_the_agent_say_is_counted_by_role_and_in_nothing_else() {
    let failed = Try { usage: Some(Usage::default()), cost: Some(Money(3)), ..failed(ErrorClass::Server) };
    let user = |cost| Call { role: Role::User, cost, ..call(1, 1_000_000) };
    let calls = [
        Call { tries: vec![failed], ..user(Some(Money(5))) },
        user(None),
        Call { from_cache: true, ..user(Some(Money(7))) },
        Call { role: Role::Environment, cost: Some(Money(11)), ..call(1, 1_000_000) },
    ];
    let mut all = sums(calls.clone());
    let user = OtherCalls { calls: 3, failed_tries: 1, cost: CostSum { known: Money(8), unknown_calls: 1 } };
    let environment = OtherCalls { calls: 1, failed_tries: 0, cost: CostSum { known: Money(11), unknown_calls: 0 } };
    let others = BTreeMap::from([(Role::User, user), (Role::Environment, environment)]);
    let held_up = HeldUp { waited_us: 0, failed_us: 5 };
    assert_eq!(all, CallSums { others, held_up, ..CallSums::default() });
    all.merge(&sums([call(1, 1_000_000)]));
    all.merge(&sums(calls));
    assert_eq!((all.calls, all.others[&Role::User].calls, all.others[&Role::User].cost.known), (1, 6, Money(16)));
}

#[test]
fn an_answer_in_one_piece_has_no_first_token_and_no_speed() {
    let sums = sums([call(1, 2_000_000)]);
    assert_eq!((sums.latency.count(), sums.first_token.count(), sums.tokens_per_second.count()), (1, 0, 0));
}

#[test]
fn an_answer_of_one_token_has_no_speed() {
    let one = Usage { output: 1, ..Usage::default() };
    let streamed = Call { usage: one, first_token_us: Some(3), ..call(1, 3) };
    assert_eq!(sums([streamed, call(1, 0)]).tokens_per_second.count(), 0);
}

#[test]
fn answers_from_the_cache_are_in_no_sum_of_time_or_money() {
    let cached = Call { from_cache: true, reported_cost: Some(Money(5)), first_token_us: Some(1), ..call(1, 9) };
    let sums = sums([cached, Call { first_token_us: Some(1), ..call(1, 1_000_000) }]);
    assert_eq!((sums.calls, sums.from_cache, sums.served["model-2026"]), (2, 1, 2));
    assert_eq!((sums.latency.count(), sums.first_token.count(), sums.tokens_per_second.count()), (1, 1, 1));
    assert_eq!(sums.reported, ReportedCost::default());
}

#[test]
fn batched_calls_have_a_latency_and_no_speed() {
    let sums = sums([Call { lane: Lane::Batch, first_token_us: Some(1), ..call(1, 3_600_000_000) }]);
    assert_eq!((sums.calls, sums.batched, sums.latency.count(), sums.tokens_per_second.count()), (1, 1, 1, 0));
}

#[test]
fn costs_that_providers_tell_stand_beside_ours_of_the_same_calls() {
    let told = |theirs, ours| Call { reported_cost: Some(Money(theirs)), cost: ours, ..call(1, 1) };
    let sums = sums([told(30, Some(Money(40))), told(50, Some(Money(41))), told(7, None), call(1, 1)]);
    let expected =
        ReportedCost { calls: 2, theirs: Money(80), ours: Money(81), unpriced_calls: 1, unpriced_theirs: Money(7) };
    assert_eq!(sums.reported, expected);
}

#[test]
fn failed_tries_are_counted_by_class_whether_or_not_an_answer_came() {
    use ErrorClass::{RateLimited, Server, Timeout};
    let answered = Call { tries: vec![failed(RateLimited), failed(RateLimited)], ..call(1, 1) };
    let mut transcript = transcript([answered]);
    let gave_up = |attempt, tries| FailedCall {
        role: Role::Agent,
        attempt,
        model: "lab/model".parse().unwrap(),
        tries,
        request: None,
        asked: None,
    };
    transcript.events.push(Event::Failed(gave_up(1, vec![failed(Server), failed(RateLimited)])));
    transcript.events.push(Event::Failed(gave_up(2, vec![failed(Timeout)])));
    let sums = CallSums::by_attempt(&transcript, model);
    assert_eq!((sums[&1].calls, &sums[&1].errors), (1, &BTreeMap::from([(RateLimited, 3), (Server, 1)])));
    assert_eq!(sums[&1].failed, CostSum::default(), "none of them was billed");
    assert_eq!((sums[&2].calls, &sums[&2].errors), (0, &BTreeMap::from([(Timeout, 1)])));
}

#[test]
fn time_in_which_calls_of_any_role_waited_or_failed_is_summed() {
    let late = Try { waited_us: 2_000, latency_us: 30_000, ..failed(ErrorClass::Server) };
    let answered = Call { waited_us: 500_000, tries: vec![late], ..call(1, 1_000_000) };
    let mut found = sums([answered, Call { role: Role::User, waited_us: 40_000, ..call(1, 9) }]);
    assert_eq!(found.held_up, HeldUp { waited_us: 542_000, failed_us: 30_000 });
    found.merge(&found.clone());
    assert_eq!(found.held_up, HeldUp { waited_us: 1_084_000, failed_us: 60_000 });
}

#[test]
fn what_the_response_cache_saved_is_summed_as_far_as_it_is_known() {
    let cached = |saved| Call { from_cache: true, cost: Some(Money::ZERO), saved, ..call(1, 1) };
    let user = Call { role: Role::User, ..cached(Some(Money(5))) };
    let mut found = sums([cached(Some(Money(40))), cached(None), user, call(1, 1)]);
    assert_eq!((found.from_cache, found.saved), (2, SavedCost { calls: 2, cost: Money(45) }));
    found.merge(&found.clone());
    assert_eq!(found.saved, SavedCost { calls: 4, cost: Money(90) });
}

#[test]
fn an_answer_that_was_billed_and_could_not_be_used_is_paid_for_nothing_and_one_that_a_filter_withheld_is_not() {
    let billed = |class| Try { usage: Some(Usage::default()), cost: Some(Money(117)), ..failed(class) };
    let tries = vec![billed(ErrorClass::BadResponse), failed(ErrorClass::Server), billed(ErrorClass::ContentFilter)];
    let mut found = sums([Call { tries, ..call(1, 1) }]);
    assert_eq!(found.failed, CostSum { known: Money(117), unknown_calls: 0 });
    found.merge(&found.clone());
    assert_eq!(found.failed.known, Money(234));
}

#[test]
fn calls_belong_to_the_attempt_that_made_them() {
    let sums = CallSums::by_attempt(&transcript([call(1, 1), call(3, 1), call(3, 1)]), model);
    assert_eq!(sums.iter().map(|(attempt, sums)| (*attempt, sums.calls)).collect::<Vec<_>>(), [(1, 1), (3, 2)]);
    assert_eq!(CallSums::of(&transcript([call(1, 1)]), 2, model), CallSums::default());
}

#[test]
fn names_of_what_answered_are_few_and_short() {
    let named = |name: String| Call { served: Served { model: Some(name), ..Served::default() }, ..call(1, 1) };
    let many = sums((0..100).map(|n| named(format!("model {n:03}"))));
    assert_eq!((many.served.len(), many.served["(others)"], many.served["model 063"]), (65, 36, 1));
    let long = sums([named("é".repeat(1000))]);
    assert_eq!(long.served.keys().map(|name| name.chars().count()).collect::<Vec<_>>(), [160]);
}

#[test]
fn what_is_written_is_read_again_and_looks_the_same() {
    let written = sums([Call { tries: vec![failed(ErrorClass::RateLimited)], ..call(1, 1_000_000) }]);
    let text = serde_json::to_string(&written).unwrap();
    assert_eq!(
        text,
        concat!(
            r#"{"calls":1,"from_cache":0,"batched":0,"latency":{"bins":{"0":1},"millionths":1000000},"#,
            r#""first_token":{"bins":{},"millionths":0},"#,
            r#""tokens_per_second":{"bins":{},"millionths":0},"errors":{"rate_limited":1},"#,
            r#""held_up":{"waited_us":0,"failed_us":5},"#,
            r#""reported":{"calls":0,"theirs":0,"ours":0,"unpriced_calls":0,"unpriced_theirs":0},"#,
            r#""served":{"model-2026":1}}"#
        )
    );
    assert_eq!(serde_json::from_str::<CallSums>(&text).unwrap(), written);
    assert_eq!(serde_json::from_str::<CallSums>("{}").unwrap(), CallSums::default());
}

#[test]
fn counts_of_others_that_no_sum_holds_do_not_begin_anew() {
    let most = OtherCalls { calls: u64::MAX, failed_tries: u64::MAX, ..OtherCalls::default() };
    let foreign = CallSums {
        calls: u64::MAX,
        from_cache: u64::MAX,
        batched: u64::MAX,
        errors: BTreeMap::from([(ErrorClass::Server, u64::MAX)]),
        saved: SavedCost { calls: u64::MAX, cost: Money(u64::MAX) },
        reported: ReportedCost { calls: u64::MAX, unpriced_calls: u64::MAX, ..ReportedCost::default() },
        served: BTreeMap::from([("model".to_owned(), u64::MAX)]),
        others: BTreeMap::from([(Role::User, most)]),
        ..CallSums::default()
    };
    let mut sum = foreign.clone();
    sum.merge(&foreign);
    assert_eq!(sum, foreign);
}

fn any_call() -> impl Strategy<Value = Call> {
    let class = prop_oneof![Just(ErrorClass::Server), Just(ErrorClass::Timeout)];
    let money = || proptest::option::of((0..9_u64).prop_map(Money));
    // More names than are stored.
    (
        0..200_u32,
        0..9_000_000_u64,
        proptest::option::of(0..9_000_000_u64),
        any::<bool>(),
        any::<bool>(),
        class,
        money(),
        money(),
    )
        .prop_map(|(name, latency_us, first_token_us, from_cache, is_live, class, cost, reported_cost)| Call {
            served: Served { model: Some(format!("model {name}")), ..Served::default() },
            first_token_us,
            from_cache,
            lane: if is_live { Lane::Live } else { Lane::Batch },
            tries: vec![failed(class)],
            waited_us: latency_us / 3,
            cost,
            reported_cost,
            ..call(1, latency_us)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn sums_of_parts_are_the_sum_of_the_whole_in_any_order(
        calls in proptest::collection::vec(any_call(), 0..200),
        cuts in (0..200_usize, 0..200_usize),
    ) {
        let (one, two) = (cuts.0.min(calls.len()), cuts.1.min(calls.len()));
        let parts = [&calls[..one.min(two)], &calls[one.min(two)..one.max(two)], &calls[one.max(two)..]];
        let [a, b, c] = parts.map(|part| sums(part.iter().cloned()));
        let merged = |first: &CallSums, then: &CallSums| {
            let mut all = first.clone();
            all.merge(then);
            all
        };
        let whole = sums(calls.iter().cloned());
        prop_assert_eq!(&merged(&merged(&a, &b), &c), &whole);
        prop_assert_eq!(&merged(&c, &merged(&b, &a)), &whole);
        prop_assert_eq!(whole.calls, calls.len() as u64);
        prop_assert_eq!(whole.served.values().sum::<u64>(), whole.calls);
    }
}

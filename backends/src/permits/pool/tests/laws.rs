use proptest::prelude::*;

use super::fleet::{Arrival, Outcome, Scene, Work, run};
use super::*;

const ONE: fn(&Arrival) -> u64 = |_| 1;
const TOKENS: fn(&Arrival) -> u64 = |arrival| arrival.tokens;

fn work() -> impl Strategy<Value = Work> {
    let sweep = prop::sample::select(vec!["a", "b", "c"]);
    let model = prop::sample::select(vec!["m", "n"]);
    let shares = (1_u32..5, 0_i32..2).prop_map(|(weight, priority)| Share { weight, priority });
    let time = (0_u64..90_000, 20_000_u64..200_000);
    let calls = (1_u32..400, 1_u64..3_000, 1_u64..=100, 1_u64..20_000);
    (sweep, model, shares, time, calls).prop_map(
        |(sweep, model, share, (from_ms, for_ms), (backlog, tokens, least, latency))| Work {
            model,
            share,
            from_ms,
            to_ms: from_ms + for_ms,
            backlog,
            tokens,
            taken_percent: (least, 100),
            latency_ms: (1, latency),
            ..Work::of(sweep)
        },
    )
}

prop_compose! {
    /// Anything that may happen, but for calls that take more than was estimated and clocks that go wrong.
    fn scene()(
        seed in any::<u64>(),
        workers in 1_usize..6,
        concurrency in 1_u32..200,
        requests_per_minute in prop::option::of(1_u32..1500),
        tokens_per_minute in prop::option::of(3_000_u64..500_000),
        of_model in prop::option::of((prop::option::of(1_u32..50), prop::option::of(1_u32..300), prop::option::of(3_000_u64..100_000))),
        mut work in prop::collection::vec(work(), 1..4),
        deaths in prop::collection::vec((0_usize..6, 0_u64..150_000), 0..4),
        store_ms in 0_u64..400,
        arrival_ms in 0_u64..=MARGIN_MS,
    ) -> Scene {
        let model_limits = of_model.map(|(concurrency, requests_per_minute, tokens_per_minute)| {
            ("n".to_owned(), ModelLimits { concurrency, requests_per_minute, tokens_per_minute })
        });
        let mut seen = Vec::new();
        work.retain(|work| {
            let is_new = !seen.contains(&(work.sweep, work.model));
            seen.push((work.sweep, work.model));
            is_new
        });
        Scene {
            seed,
            model_limits: model_limits.into_iter().collect(),
            deaths: deaths.into_iter().map(|(worker, at)| (worker % workers, at)).collect(),
            store_ms: (0, store_ms),
            arrival_ms: (0, arrival_ms),
            ..Scene::of(workers, limits(concurrency, requests_per_minute, tokens_per_minute), work)
        }
    }
}

fn of_model<'a>(scene: &'a Scene, model: &'a str, amount: fn(&Arrival) -> u64) -> impl Fn(&Arrival) -> u64 + 'a {
    move |arrival| if scene.work[arrival.work].model == model { amount(arrival) } else { 0 }
}

fn check_limits(scene: &Scene, outcome: &Outcome) -> Result<(), TestCaseError> {
    prop_assert!(outcome.most_in_flight <= scene.limits.concurrency);
    if let Some(limit) = scene.limits.requests_per_minute {
        prop_assert!(
            outcome.most_in_a_minute(ONE) <= u64::from(limit),
            "{} of {limit} requests",
            outcome.most_in_a_minute(ONE)
        );
    }
    if let Some(limit) = scene.limits.tokens_per_minute {
        prop_assert!(
            outcome.most_in_a_minute(TOKENS) <= limit,
            "{} of {limit} tokens",
            outcome.most_in_a_minute(TOKENS)
        );
    }
    for (model, limits) in &scene.model_limits {
        let most = outcome.most_of_model.get(model.as_str()).copied().unwrap_or(0);
        prop_assert!(limits.concurrency.is_none_or(|limit| most <= limit));
        let requests = outcome.most_in_a_minute(of_model(scene, model, ONE));
        prop_assert!(
            limits.requests_per_minute.is_none_or(|limit| requests <= u64::from(limit)),
            "{requests} of {limits:?}"
        );
        let tokens = outcome.most_in_a_minute(of_model(scene, model, TOKENS));
        prop_assert!(limits.tokens_per_minute.is_none_or(|limit| tokens <= limit), "{tokens} of {limits:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn no_limit_is_ever_exceeded_in_any_minute(scene in scene()) {
        let outcome = run(scene.clone());
        check_limits(&scene, &outcome)?;
    }

    #[test]
    fn nearly_all_of_the_requests_are_used_while_there_is_work(
        seed in any::<u64>(), workers in 1_usize..9, limit in 60_u32..3000, latency in 1_u64..3_000, store in 0_u64..100,
    ) {
        let work = vec![Work { latency_ms: (1, latency), ..Work::of("a") }];
        let scene = Scene { seed, store_ms: (0, store), until_ms: 400_000, ..Scene::of(workers, limits(2 * limit, limit, None), work) };
        let outcome = run(scene.clone());
        check_limits(&scene, &outcome)?;
        used(&outcome, u64::from(limit), ONE)?;
    }

    #[test]
    fn nearly_all_of_the_tokens_are_used_while_there_is_work(
        seed in any::<u64>(), workers in 1_usize..9, calls in 200_u64..3000, tokens in 1_u64..5_000, least in 80_u64..=100, latency in 1_u64..2_000,
    ) {
        let work = vec![Work { tokens, taken_percent: (least, 100), latency_ms: (1, latency), ..Work::of("a") }];
        let scene = Scene { seed, until_ms: 400_000, ..Scene::of(workers, limits(5_000, None, calls * tokens), work) };
        let outcome = run(scene.clone());
        check_limits(&scene, &outcome)?;
        used(&outcome, calls * tokens, TOKENS)?;
    }
}

/// At least 95 per cent of `limit` a minute. What is granted in one go may be used in one go, so the measure is when the first of the
/// fifth minute's worth arrives: four times 60 s after the first of all, if nothing were lost.
fn used(outcome: &Outcome, limit: u64, amount: fn(&Arrival) -> u64) -> Result<(), TestCaseError> {
    let (mut sum, first) = (0, outcome.arrivals[0].at);
    let fifth = outcome.arrivals.iter().find(|arrival| {
        sum += amount(arrival);
        sum > 4 * limit
    });
    let took = fifth.map(|arrival| arrival.at - first);
    prop_assert!(took.is_some_and(|took| took as f64 <= 4.0 * 60_000.0 / 0.95), "{took:?}");
    Ok(())
}

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
    let least = prop_oneof![Just(100), 1_u64..100];
    let sizes = prop_oneof![Just((100, 100)), (1_u64..100, 100_u64..500)];
    let calls = (1_u32..400, 1_u64..3_000, least, 1_u64..20_000, sizes);
    (sweep, model, shares, time, calls).prop_map(
        |(sweep, model, share, (from_ms, for_ms), (backlog, tokens, least, latency, sizes_percent))| Work {
            sizes_percent,
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
        crashes in prop::collection::vec((0_u64..150_000, prop_oneof![Just(0), 0_u64..40_000]), 0..3),
        outages in prop::collection::vec((0_u64..150_000, 0_u64..40_000), 0..3),
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
            crashes,
            outages,
            store_ms: (0, store_ms),
            arrival_ms: (0, arrival_ms),
            ..Scene::of(workers, limits(concurrency, requests_per_minute, tokens_per_minute), work)
        }
    }
}

fn of_model<'a>(scene: &'a Scene, model: &'a str, amount: fn(&Arrival) -> u64) -> impl Fn(&Arrival) -> u64 + 'a {
    move |arrival| if scene.work[arrival.work].model == model { amount(arrival) } else { 0 }
}

/// By how much a minute may have more tokens than its limit, when calls take less than was estimated: nobody says which calls a correction
/// is of, and one may be taken for an older or newer one.
fn in_doubt(scene: &Scene) -> u64 {
    scene
        .work
        .iter()
        .map(|work| work.tokens * work.sizes_percent.1 / 100 * (100 - work.taken_percent.0) / 100)
        .max()
        .unwrap_or(0)
}

fn check_limits(scene: &Scene, outcome: &Outcome) -> Result<(), TestCaseError> {
    let in_doubt = in_doubt(scene);
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
            outcome.most_of_several_in_a_minute(TOKENS) <= limit + in_doubt,
            "{} of {limit} tokens",
            outcome.most_of_several_in_a_minute(TOKENS)
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
        let tokens = outcome.most_of_several_in_a_minute(of_model(scene, model, TOKENS));
        prop_assert!(limits.tokens_per_minute.is_none_or(|limit| tokens <= limit + in_doubt), "{tokens} of {limits:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_limit_is_ever_exceeded_in_any_minute(scene in scene()) {
        let outcome = run(scene.clone());
        check_limits(&scene, &outcome)?;
    }

    // Calls take longer than slots are kept for the silent.
    #[test]
    fn no_slot_is_filled_twice_when_nobody_reached_the_store_for_a_while(
        seed in any::<u64>(), workers in 2_usize..6, slots in 2_u32..40,
        outages in prop::collection::vec((5_000_u64..120_000, 0_u64..60_000), 1..4),
    ) {
        let work = vec![Work { latency_ms: (1_000, 90_000), ..Work::of("a") }];
        let scene = Scene { seed, outages, ..Scene::of(workers, limits(slots, None, None), work) };
        check_limits(&scene, &run(scene.clone()))?;
    }

    // Workers die, too, and others begin.
    #[test]
    fn no_slot_is_filled_twice_after_crashes_of_the_store(
        seed in any::<u64>(), workers in 2_usize..6, slots in 2_u32..40, deaths in prop::collection::vec((0_usize..6, 0_u64..150_000), 0..3),
        crashes in prop::collection::vec((0_u64..150_000, prop_oneof![Just(0), 0_u64..40_000]), 1..4), backlog in 1_u32..20,
        outages in prop::collection::vec((0_u64..150_000, 0_u64..30_000), 0..4),
    ) {
        let work = vec![Work { latency_ms: (1_000, 90_000), backlog, ..Work::of("a") }];
        let deaths = deaths.into_iter().map(|(worker, at)| (worker % workers, at)).collect();
        let scene = Scene { seed, crashes, outages, deaths, ..Scene::of(workers, limits(slots, None, None), work) };
        check_limits(&scene, &run(scene.clone()))?;
    }

    #[test]
    fn no_limit_is_exceeded_by_one_process_that_is_killed_and_begun_again(
        scene in scene(), restarts in prop::collection::vec(0_u64..150_000, 1..8),
    ) {
        let scene = Scene { crashes: Vec::new(), restarts, ..scene };
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

    // Calls of at least a hundred tokens: of a smaller one, four fifths in whole tokens may be much less, of one token nothing.
    #[test]
    fn nearly_all_of_the_tokens_are_used_while_there_is_work(
        seed in any::<u64>(), workers in 1_usize..9, calls in 200_u64..3000, tokens in 100_u64..5_000, least in 80_u64..=100, latency in 1_u64..2_000,
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

/// `part` of `whole`, in per cent.
fn percent(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}

/// Share of each sweep, in per cent, in the requests that arrived from `from` until before `to`.
fn parts(scene: &Scene, outcome: &Outcome, (from, to): (u64, u64), amount: fn(&Arrival) -> u64) -> Vec<f64> {
    let all = outcome.between(from, to, amount);
    let of =
        |work: usize| outcome.between(from, to, move |arrival| if arrival.work == work { amount(arrival) } else { 0 });
    (0..scene.work.len()).map(|work| percent(of(work), all)).collect()
}

/// Sweeps that always have work, of these weights and tokens a call.
fn backlogged(weights: &[(u32, u64)]) -> Vec<Work> {
    let named = ["a", "b", "c"].iter().zip(weights);
    named.map(|(sweep, (weight, tokens))| Work { tokens: *tokens, ..Work::of(sweep).weighing(*weight) }).collect()
}

fn check_parts(parts: &[f64], weights: &[(u32, u64)], within: f64) -> Result<(), TestCaseError> {
    let all: u32 = weights.iter().map(|(weight, _)| weight).sum();
    for ((weight, _), part) in weights.iter().zip(parts) {
        let due = percent(u64::from(*weight), u64::from(all));
        prop_assert!((due - part).abs() <= within, "{parts:?} of {weights:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn sweeps_share_requests_by_weight(
        seed in any::<u64>(), workers in 1_usize..7, limit in 200_u32..2000, weights in prop::collection::vec((1_u32..5, 1_u64..900), 2..=3),
    ) {
        let scene = Scene { seed, ..Scene::of(workers, limits(limit, limit, None), backlogged(&weights)) };
        let outcome = run(scene.clone());
        for minute in 0..3 {
            let span = (minute * 61_750, (minute + 1) * 61_750);
            check_parts(&parts(&scene, &outcome, span, ONE), &weights, 5.0)?;
        }
    }

    #[test]
    fn sweeps_share_tokens_by_weight(
        seed in any::<u64>(), workers in 1_usize..7, limit in 100_000_u64..900_000, weights in prop::collection::vec((1_u32..5, 1_u64..900), 2..=3),
    ) {
        let scene = Scene { seed, ..Scene::of(workers, limits(500, None, limit), backlogged(&weights)) };
        let outcome = run(scene.clone());
        // Sweeps whose calls take few tokens may have to lend the part that they lack slots to use.
        let able = |tokens: u64| tokens * 500 > limit / 20;
        prop_assume!(weights.iter().all(|(_, tokens)| able(*tokens)));
        for minute in 0..3 {
            let span = (minute * 61_750, (minute + 1) * 61_750);
            check_parts(&parts(&scene, &outcome, span, TOKENS), &weights, 5.0)?;
        }
    }

    #[test]
    fn sweeps_share_slots_by_weight(
        seed in any::<u64>(), workers in 1_usize..7, slots in 4_u32..200, latency in 500_u64..4_000, weights in prop::collection::vec((1_u32..5, 1_u64..2), 2..=3),
    ) {
        let latency_ms = (latency / 2, latency);
        let work = backlogged(&weights).into_iter().map(|work| Work { latency_ms, ..work }).collect();
        let scene = Scene { seed, ..Scene::of(workers, limits(slots, None, None), work) };
        let outcome = run(scene.clone());
        check_limits(&scene, &outcome)?;
        check_parts(&parts(&scene, &outcome, (60_000, 180_000), ONE), &weights, 5.0)?;
    }

    #[test]
    fn a_sweep_that_comes_late_has_its_share_within_a_window(
        seed in any::<u64>(), workers in 1_usize..7, limit in 200_u32..2000, from_ms in 1_000_u64..61_000, weights in (1_u32..5, 1_u32..5),
    ) {
        let weights = [(weights.0, 100), (weights.1, 100)];
        let mut work = backlogged(&weights);
        work[1].from_ms = from_ms;
        let scene = Scene { seed, until_ms: 200_000, ..Scene::of(workers, limits(limit, limit, None), work) };
        let outcome = run(scene.clone());
        let span = (from_ms + 62_000, from_ms + 62_000 + 61_750);
        check_parts(&parts(&scene, &outcome, span, ONE), &weights, 5.0)?;
    }

    #[test]
    fn slots_are_busy_while_there_is_work(
        seed in any::<u64>(), workers in 1_usize..9, each in 1_u32..30, latency in 1_000_u64..4_000, sweeps in 1_usize..=3,
    ) {
        let work = backlogged(&[(1, 1), (2, 1), (3, 1)][..sweeps]).into_iter().map(|work| Work { latency_ms: (latency, latency), ..work }).collect();
        let slots = each * workers as u32 * sweeps as u32;
        let scene = Scene { seed, ..Scene::of(workers, limits(slots, None, None), work) };
        let outcome = run(scene.clone());
        check_limits(&scene, &outcome)?;
        let ideal = u64::from(slots) * 120_000 / latency;
        let part = percent(outcome.between(60_000, 180_000, ONE), ideal);
        prop_assert!(part > 88.0, "{part} per cent of {ideal} calls");
    }

    #[test]
    fn what_a_sweep_cannot_use_goes_to_the_others(
        seed in any::<u64>(), workers in 1_usize..7, limit in 400_u32..1500, slots in 1_u32..6, weights in (1_u32..6, 1_u32..6),
    ) {
        // The first has so few slots that it can use a part of its share only.
        let weights = [(weights.0, 100), (weights.1, 100)];
        let mut work = backlogged(&weights);
        (work[0].model, work[0].latency_ms) = ("n", (3_000, 5_000));
        let few = ModelLimits { concurrency: Some(slots), ..ModelLimits::default() };
        let model_limits = BTreeMap::from([("n".to_owned(), few)]);
        let scene = Scene { seed, model_limits, until_ms: 400_000, ..Scene::of(workers, limits(2 * limit, limit, None), work) };
        let outcome = run(scene.clone());
        check_limits(&scene, &outcome)?;
        used(&outcome, u64::from(limit), ONE)?;
        // By the fourth minute the first does what it can.
        let able = u64::from(slots) * 60_000 / 4_000;
        let did = outcome.between(240_000, 360_000, |arrival| u64::from(arrival.work == 0)) / 2;
        prop_assert!(percent(did, able) > 60.0, "{did} of {able}");
    }

    #[test]
    fn no_worker_starves(
        seed in any::<u64>(), workers in 2_usize..12, slots in 2_u32..100, requests_per_minute in prop::option::of(60_u32..600),
    ) {
        let work = vec![Work { latency_ms: (500, 1_500), ..Work::of("a") }];
        let scene = Scene { seed, until_ms: 300_000, ..Scene::of(workers, limits(slots, requests_per_minute, None), work) };
        let outcome = run(scene.clone());
        let each = outcome.between(62_000, 300_000, ONE) / workers as u64;
        for worker in 0..workers {
            let did = outcome.between(62_000, 300_000, |arrival| u64::from(arrival.worker == worker));
            prop_assert!(percent(did, each) > 40.0, "{did} where {each} are fair");
        }
    }

    #[test]
    fn after_a_death_everything_is_back_within_one_lease(
        seed in any::<u64>(), workers in 2_usize..6, slots in 20_u32..100, death in 30_000_u64..60_000, dead in 0_usize..6,
    ) {
        let work = vec![Work { latency_ms: (1_000, 1_000), ..Work::of("a") }];
        let deaths = vec![(dead % workers, death)];
        let scene = Scene { seed, deaths, ..Scene::of(workers, limits(slots, None, None), work) };
        let outcome = run(scene.clone());
        check_limits(&scene, &outcome)?;
        let per_second = |from: u64, to: u64| outcome.between(from, to, ONE) as f64 * 1000.0 / (to - from) as f64;
        let (before, after) = (per_second(10_000, 30_000), per_second(death + 12_000, death + 32_000));
        prop_assert!(after > 0.93 * before, "{after} after {before}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn a_crash_of_the_store_costs_moments_and_a_fiftieth_of_a_minute(
        seed in any::<u64>(), workers in 1_usize..7, limit in 200_u32..2000, crash in 1_000_u64..60_000,
    ) {
        // Calls come evenly, at half of the limit.
        let latency_ms = (1_000, 1_000);
        let slots = (limit / 120).max(1);
        let work = vec![Work { latency_ms, ..Work::of("a") }];
        let scene = Scene { seed, crashes: vec![(crash, 0)], ..Scene::of(workers, limits(slots, limit, None), work) };
        let outcome = run(scene.clone());
        check_limits(&scene, &outcome)?;
        let per_second = |from: u64, to: u64| outcome.between(from, to, ONE) as f64 * 1000.0 / (to - from) as f64;
        let after = per_second(crash + 3_000, crash + 23_000);
        prop_assert!(after > 0.8 * f64::from(slots), "{after} of {slots} a second");
    }
}

#[test]
fn a_process_that_is_killed_every_ten_seconds_uses_most_of_its_limit() {
    let work = vec![Work { latency_ms: (200, 400), ..Work::of("a") }];
    let restarts = (1..30).map(|number| number * 10_000).collect();
    let scene = Scene { restarts, until_ms: 310_000, ..Scene::of(1, limits(100, 1_000, None), work) };
    let used = percent(run(scene).between(0, 5 * 61_750, ONE), 5 * 1_000);
    assert!(used > 80.0, "{used} per cent");
}

#[test]
fn calls_of_any_size_have_their_turn() {
    let big = Work { model: "n", tokens: 20_000, ..Work::of("a") };
    let between =
        |scene: Scene, work: usize| run(scene).between(60_000, 540_000, |arrival| u64::from(arrival.work == work));
    for other in [Work::of("a"), Work::of("b")] {
        let scene = Scene { until_ms: 540_000, ..Scene::of(4, limits(100, None, 60_000), vec![big.clone(), other]) };
        assert!(between(scene.clone(), 0) >= 8, "a third of the window");
        assert!(between(scene, 1) >= 8);
    }
    // Larger than its sweep's share, than the window, and than both.
    for tokens in [50_000, 60_000, 200_000] {
        let work = vec![Work { tokens, ..Work::of("a") }, Work::of("b")];
        let scene = Scene { until_ms: 540_000, ..Scene::of(4, limits(100, None, 60_000), work) };
        assert!(between(scene.clone(), 0) >= 2, "{tokens}");
        assert!(between(scene, 1) >= 8, "{tokens}");
    }
}

#[test]
fn calls_of_different_sizes_use_the_window_too() {
    // Workers, tokens a minute, part of it that is used, in per cent.
    for (workers, limit, used) in [(4, 60_000, 93.0), (20, 60_000, 93.0), (20, 600_000, 95.0), (20, 6_000, 70.0)] {
        let work = vec![Work { tokens: 600, sizes_percent: (1, 199), ..Work::of("a") }];
        let scene = Scene { until_ms: 400_000, ..Scene::of(workers, limits(100, None, limit), work) };
        let outcome = run(scene.clone());
        // From the first grant to the end of the sixth window.
        let all = outcome.between(0, 6 * 61_750, TOKENS) * 60_000 / (6 * 61_750);
        assert!(percent(all, limit) > used, "{} per cent of {limit} with {workers} workers", percent(all, limit));
    }
}

#[test]
fn the_state_stays_small() {
    let work = vec![Work::of("a"), Work { model: "n", ..Work::of("a") }, Work::of("b")];
    let outcome = run(Scene { until_ms: 65_000, ..Scene::of(50, limits(1_000, 30_000, None), work) });
    assert!(outcome.state_bytes < 40_000, "{}", outcome.state_bytes);
}

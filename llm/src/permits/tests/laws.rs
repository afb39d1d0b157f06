//! Limits hold in random scenarios.

use super::*;

/// One call of a random test.
#[derive(Debug, Clone)]
struct Plan {
    worker: usize,
    sweep: usize,
    comes_ms: u64,
    patience_ms: u64,
    lasts_ms: u64,
    tokens: u64,
    ends: Ends,
}

#[derive(Debug, Clone, Copy)]
enum Ends {
    Answered,
    Refused,
    Cancelled,
    Unsent,
}

fn plan() -> impl Strategy<Value = Plan> {
    let ends = prop_oneof![
        6 => Just(Ends::Answered),
        1 => Just(Ends::Refused),
        1 => Just(Ends::Cancelled),
        1 => Just(Ends::Unsent),
    ];
    let patience = prop_oneof![3 => Just(u64::MAX), 1 => 0u64..2_000];
    (0usize..3, 0usize..2, 0u64..20_000, patience, 1u64..3_000, 1u64..300, ends).prop_map(
        |(worker, sweep, comes_ms, patience_ms, lasts_ms, tokens, ends)| Plan {
            worker,
            sweep,
            comes_ms,
            patience_ms,
            lasts_ms,
            tokens,
            ends,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn whatever_happens_limits_hold_and_everybody_gets_a_turn(
        plans in prop::collection::vec(plan(), 1..150),
        concurrency in 1u32..8,
        requests in prop::option::of(20u32..200),
        tokens in prop::option::of(2_000u64..20_000),
        delay_ms in 0u64..40,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let limits = Limits { concurrency, requests_per_minute: requests, tokens_per_minute: tokens };
            let store = FakeStore::default();
            store.answers_after(Duration::from_millis(delay_ms));
            let workers: Vec<_> = (0..3).map(|_| governor(&store, &spec(limits))).collect();
            let sweeps = [sweep("a"), sweep("b")];
            let (running, log) = (AtomicU32::new(0), Mutex::new(Vec::new()));
            let calls = plans.iter().map(|plan| {
                let (governor, sweep, running, log) = (&workers[plan.worker], &sweeps[plan.sweep], &running, &log);
                async move {
                    sleep(Duration::from_millis(plan.comes_ms)).await;
                    let ask = Ask { tokens: plan.tokens, ..ask(sweep) };
                    let patience = Duration::from_millis(plan.patience_ms.min(3_600_000 * 24));
                    let Ok(mut permit) = timeout(patience, governor.acquire(&ask)).await else { return };
                    assert!(running.fetch_add(1, Ordering::SeqCst) < concurrency);
                    if matches!(plan.ends, Ends::Unsent) {
                        running.fetch_sub(1, Ordering::SeqCst);
                        return;
                    }
                    assert!(permit.sent());
                    log.lock().unwrap().push((Instant::now(), plan.tokens));
                    let _refused = matches!(plan.ends, Ends::Refused).then(|| governor.refused(&ask, "no"));
                    sleep(Duration::from_millis(plan.lasts_ms)).await;
                    running.fetch_sub(1, Ordering::SeqCst);
                    match plan.ends {
                        Ends::Cancelled => drop(permit),
                        Ends::Refused => permit.failed(plan.tokens),
                        _ => permit.answered(Some(plan.tokens)),
                    }
                }
            });
            // No call waits for ever: the longest possible wait is for the minutes and slots that all others need.
            timeout(Duration::from_secs(4 * 3600), join_all(calls)).await.unwrap();
            store.assert_obeyed();
            let log = log.into_inner().unwrap();
            if let (Some(limit), false) = (requests, log.is_empty()) {
                assert!(busiest_minute(&log, |_| 1) <= u64::from(limit));
            }
            if let (Some(limit), false) = (tokens, log.is_empty()) {
                assert!(busiest_minute(&log, |tokens| tokens) <= limit);
            }
            for governor in &workers {
                assert_eq!(governor.pool.locked().in_flight(), 0);
            }
        });
    }
}

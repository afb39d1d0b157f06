//! Nights in which calls took longer, and whose doing that was.

use super::*;

/// The drift between a usual night and `slow`, which is twice as slow unless it says otherwise.
fn after_a_usual_night(slow: EndedRun) -> Night {
    drift(&[night("n-1", made(), "j"), slow]).nights.remove(1)
}

fn slow() -> EndedRun {
    night("n-2", Made { latency_us: 3_000_000, ..made() }, "j")
}

#[test]
fn a_slow_provider_is_measured_by_the_same_tokens_and_without_them_by_the_same_calls() {
    let of_tokens = after_a_usual_night(slow());
    assert_eq!(findings(&of_tokens), [(Cause::Provider, format!("{CELL}: time per output token: 7.7 ms → 15.4 ms"))]);
    assert_eq!(of_tokens.findings[0].evidence, Evidence::Measured);
    let mut unknown = slow();
    unknown.attempts.iter_mut().for_each(|attempt| attempt.usage = None);
    assert_eq!(
        findings(&after_a_usual_night(unknown)),
        [(Cause::Provider, format!("{CELL}: time per call: 1.54 s → 3.08 s"))]
    );
}

#[test]
fn a_slow_provider_is_no_reason_for_worse_scores() {
    let worse = night("n-2", Made { latency_us: 3_000_000, scores: right(100, 200), ..made() }, "j");
    let found: Vec<Cause> = after_a_usual_night(worse).findings.iter().map(|finding| finding.cause).collect();
    assert_eq!(found, [Cause::Provider, Cause::Unexplained]);
}

#[test]
fn limits_that_changed_are_the_harness_and_no_slow_provider() {
    let mut limited = slow();
    for endpoint in limited.lock.endpoints.values_mut() {
        endpoint.limits.concurrency += 100;
    }
    let found = after_a_usual_night(limited);
    let named: Vec<(Cause, &str)> = found.findings.iter().map(|of| (of.cause, of.what.as_str())).collect();
    assert_eq!(named, [(Cause::Harness, "endpoint openai, limits, concurrency")]);
    assert_eq!(found.times.len(), 1, "times are shown, whatever they come from");
    let mut shared = slow();
    shared.lock.share.weight = 3;
    assert_eq!(
        findings(&after_a_usual_night(shared)),
        [(Cause::Harness, "share of endpoints, weight: 1 → 3".to_owned())]
    );
}

#[test]
fn another_version_a_response_cache_and_a_batch_leave_it_open_who_was_slow() {
    let newer = night("n-2", Made { regatta: "0.2.0", latency_us: 3_000_000, ..made() }, "j");
    let found: Vec<Cause> = after_a_usual_night(newer).findings.iter().map(|finding| finding.cause).collect();
    assert_eq!(found, [Cause::Harness]);
    let cached = night("n-2", Made { cached: 50, latency_us: 3_000_000, ..made() }, "j");
    assert!(after_a_usual_night(cached).findings.is_empty());
    let batch = |mut run: EndedRun| {
        run.lock.endpoints.values_mut().for_each(|endpoint| endpoint.lane = regatta_proto::Lane::Batch);
        run
    };
    let drift = drift(&[batch(night("n-1", made(), "j")), batch(slow())]);
    assert_eq!(causes(&drift), [vec![], vec![]]);
}

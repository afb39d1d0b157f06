use super::*;

fn refused() -> Signals {
    Signals { refused: 3, reason: "slow down".to_owned(), ..Signals::default() }
}

fn answered() -> Signals {
    Signals { answered: 1, ..Signals::default() }
}

fn hold(hold_ms: u64) -> Signals {
    Signals { hold_ms: Some(hold_ms), reason: "reset".to_owned(), ..Signals::default() }
}

/// Hears `signals` at `now_ms`, with a call in flight.
fn hear(steering: &mut Steering, now_ms: u64, signals: &Signals) -> usize {
    steering.hear(now_ms, now_ms, signals, 1)
}

#[test]
fn the_first_refusal_after_a_quiet_time_decreases_at_once_and_its_burst_only_once() {
    let mut steering = Steering::default();
    assert_eq!([0, 10, 1_999].map(|now| hear(&mut steering, now, &refused())), [1, 0, 0]);
    assert_eq!(steering.factor(), 0.7);
}

#[test]
fn refusals_that_go_on_decrease_once_an_epoch() {
    let mut steering = Steering::default();
    // Each decrease settles for 2 s; then it takes 3.5 s to hear of twenty calls.
    let decreases: Vec<u64> = (0..30).filter(|half| hear(&mut steering, half * 500, &refused()) > 0).collect();
    assert_eq!(decreases, [0, 10, 20]);
    assert_eq!(steering.factor(), 0.343);
}

#[test]
fn a_round_trip_passes_between_decreases() {
    let mut steering = Steering::default();
    // 100 calls in flight, 50 answered in 10 s: 20 s a call.
    for second in 0..=10 {
        steering.hear(second * 1000, 0, &Signals { answered: 5, ..Signals::default() }, 100);
    }
    let many = Signals { refused: 10, answered: 10, ..Signals::default() };
    let decreases: Vec<u64> = (11..=60).filter(|second| steering.hear(second * 1000, 0, &many, 100) > 0).collect();
    assert_eq!(decreases[0], 11);
    assert!(decreases.windows(2).all(|two| two[1] - two[0] >= 18), "{decreases:?}");
}

#[test]
fn quiet_times_recover_quickly_to_where_refusals_began_and_then_step_by_step() {
    let mut steering = Steering::default();
    for burst in 0..4 {
        hear(&mut steering, burst * 12_000, &refused());
    }
    assert_eq!(steering.factor(), 0.2401);
    let factors: Vec<f64> = (4..=7)
        .map(|step| {
            hear(&mut steering, step * 12_000, &answered());
            (steering.factor() * 1000.0).round() / 1000.0
        })
        .collect();
    assert_eq!(factors, [0.48, 0.9, 0.99, 1.0]);
}

#[test]
fn silence_is_no_good_sign() {
    let mut steering = Steering::default();
    hear(&mut steering, 0, &refused());
    hear(&mut steering, 60_000, &Signals::default());
    assert_eq!(steering.factor(), 0.7);
}

#[test]
fn refusals_never_decrease_below_a_twentieth() {
    let mut steering = Steering::default();
    for burst in 0..100 {
        hear(&mut steering, burst * 12_000, &refused());
    }
    assert_eq!(steering.factor(), 0.05);
}

#[test]
fn the_longest_hold_counts_and_is_told_once() {
    let mut steering = Steering::default();
    let made = [(0, 30_000), (100, 30_000), (200, 5_000), (300, 60_000)]
        .map(|(now, for_ms)| hear(&mut steering, now, &hold(for_ms)));
    assert_eq!(made, [1, 0, 0, 1]);
    assert_eq!(steering.held_for_ms(300), 60_000);
    assert_eq!(steering.held_for_ms(60_300), 0);
    hear(&mut steering, 60_300, &hold(u64::MAX));
    assert_eq!(steering.held_for_ms(60_300), HOLD_MAX_MS);
    assert_eq!(steering.factor(), 1.0);
}

#[test]
fn changes_are_remembered_with_their_reasons_and_are_bounded() {
    let mut steering = Steering::default();
    steering.hear(0, 77, &refused(), 0);
    let change = Change { at_ms: 77, from: 1.0, to: 0.7, reason: "3 of 3 refused: slow down".to_owned() };
    assert_eq!(steering.changes().iter().collect::<Vec<_>>(), [&change]);
    let long = Signals { reason: "ü".repeat(5_000), ..hold(2_000) };
    for burst in 1..300 {
        steering.hear(burst * 10_000, burst, &long, 0);
    }
    assert_eq!(steering.changes().len(), CHANGES_MAX);
    assert!(steering.changes().iter().all(|change| change.reason.len() < REASON_MAX + 30));
}

#[test]
fn what_an_older_version_stored_is_read() {
    let old =
        r#"{"factor":0.7,"decreased_ms":5,"quiet_since_ms":5,"has_answered":true,"hold_until_ms":9,"changes":[]}"#;
    let steering: Steering = serde_json::from_str(old).unwrap();
    assert_eq!((steering.factor(), steering.held_for_ms(0)), (0.7, 9));
}

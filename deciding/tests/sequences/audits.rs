//! Estimates that an audit corrects.

use regatta_deciding::simulation::Draws;
use regatta_deciding::{Audit, AuditError, Corrected, audited_mean, further_audits};

const SAMPLES: u64 = 1500;
/// About the quantile 0.975 of Student's distribution with 78 or 79 degrees of freedom (scipy.stats.t).
const CRITICAL: f64 = 1.990_45;

/// A cheap judge's score of an item whose true score is `truth`.
type Cheap = fn(f64, &mut Draws) -> f64;

/// 600 items of which 80 are audited; the expensive judge says the truth, 0 or 1, which is 1 with probability 0.6.
fn sample(seed: u64, cheap: Cheap) -> Vec<Audit> {
    sample_of(seed, cheap, 80, 0.6)
}

/// The same of which so many are `audited`, and with this probability of 1.
fn sample_of(seed: u64, cheap: Cheap, audited: u32, right: f64) -> Vec<Audit> {
    let mut draws = Draws::new(seed);
    let item = |cluster: u32| {
        let truth = f64::from(u8::from(draws.uniform() < right));
        let cheap = cheap(truth, &mut draws);
        // Independent items: the first ones are as random a part as any.
        Audit { cluster, cheap, expensive: (cluster < audited).then_some(truth) }
    };
    (0..600).map(item).collect()
}

const JUDGES: [(&str, Cheap); 4] = [
    ("exact", |truth, _| truth),
    ("biased", |truth, draws| if draws.uniform() < 0.3 { 1.0 } else { truth }),
    ("noisy", |truth, draws| if draws.uniform() < 0.4 { 1.0 - truth } else { truth }),
    ("blind", |_, draws| f64::from(u8::from(draws.uniform() < 0.9))),
];

#[test]
fn a_corrected_estimate_covers_whatever_the_cheap_judge_is_like_and_is_never_wider_than_the_audit() {
    for (name, cheap) in JUDGES {
        let mut covered = 0;
        let mut saving = 0.0;
        for seed in 0..SAMPLES {
            let found = audited_mean(&sample(seed, cheap), 1.0, |_| CRITICAL).unwrap();
            assert!(found.estimate.half <= found.alone.half, "{name}");
            covered += u32::from(found.estimate.interval().contains(0.6));
            saving += found.saving() / SAMPLES as f64;
        }
        let coverage = f64::from(covered) / SAMPLES as f64;
        // A judge that was right everywhere might have erred where nobody looked, so its intervals are longer than it would need.
        let most = if name == "exact" { 1.0 } else { 0.97 };
        assert!((0.93..=most).contains(&coverage), "{name}: {coverage}, saving {saving}");
    }
}

/// Student's critical value, by the first terms of its expansion around that of the normal distribution.
fn critical(freedom: f64) -> f64 {
    let z: f64 = 1.959_963_985;
    let (cube, fifth) = (z.powi(3), z.powi(5));
    z + (cube + z) / (4.0 * freedom) + (5.0 * fifth + 16.0 * cube + 3.0 * z) / (96.0 * freedom * freedom)
}

/// The estimate at which an audit of `all` ends that goes on until half of its interval is at most `wanted`, and the rounds that it takes.
fn ended(all: &[Audit], wanted: f64) -> (Corrected, u64) {
    let (mut audited, mut rounds) = (50, 0);
    loop {
        let drawn = |(at, item): (usize, &Audit)| Audit { expensive: item.expensive.filter(|_| at < audited), ..*item };
        let items: Vec<Audit> = all.iter().enumerate().map(drawn).collect();
        let found = audited_mean(&items, 1.0, critical).unwrap();
        rounds += 1;
        match further_audits(audited, found.estimate.half, wanted) {
            Some(more) if audited < all.len() => audited = more.min(all.len()),
            Some(_) | None => return (found, rounds),
        }
    }
}

#[test]
fn audits_that_go_on_until_the_interval_is_narrow_enough_cover_too() {
    const WANTED: f64 = 0.08;
    for (name, cheap) in &JUDGES[1..] {
        let (mut covered, mut rounds) = (0, 0);
        for seed in 0..SAMPLES {
            let (found, taken) = ended(&sample_of(seed, *cheap, 600, 0.6), WANTED);
            rounds += taken;
            assert!(found.estimate.half <= WANTED, "{name}: all 600 are more than enough");
            covered += u32::from(found.estimate.interval().contains(0.6));
        }
        let coverage = f64::from(covered) / SAMPLES as f64;
        assert!((0.92..=0.975).contains(&coverage), "{name}: {coverage}");
        assert!(rounds < 5 * SAMPLES, "{name}: {rounds} rounds of {SAMPLES} audits");
    }
}

#[test]
fn audits_of_a_model_that_is_nearly_always_right_go_on_until_they_would_have_seen_it_wrong() {
    // Of the first fifty answers all are right in one sample of five, and the interval is narrow then.
    let (_, biased) = JUDGES[1];
    let covers = |seed: u64| ended(&sample_of(seed, biased, 600, 0.97), 0.03).0.estimate.interval().contains(0.97);
    let covered = (0..SAMPLES).filter(|seed| covers(*seed)).count();
    let coverage = covered as f64 / SAMPLES as f64;
    assert!((0.9..=0.98).contains(&coverage), "{coverage}");
}

#[test]
fn an_audit_grows_by_what_its_width_lacks_and_ends_a_little_below_the_one_that_is_wanted() {
    assert_eq!(further_audits(100, 0.049, 0.06), None, "0.049 · 1.2 is less than that");
    assert_eq!(further_audits(100, 0.055, 0.06), Some(128), "1.05 · 1.1² · 100");
    assert_eq!(further_audits(100, 0.5, 0.06), Some(400), "no more than four times as many at once");
    assert_eq!(further_audits(100, 0.055, 0.0), Some(400), "never narrow enough");
    assert_eq!(further_audits(50, 0.01, 0.03), Some(100), "what one item in 33 has is seen in 100");
    assert_eq!(further_audits(100, 0.01, 0.03), None);
}

#[test]
fn a_judge_that_favours_a_model_is_found_out_by_the_audit_of_that_model() {
    // Of this model it calls three of ten wrong answers right.
    let favoured = sample(3, |truth, draws| if draws.uniform() < 0.3 { 1.0 } else { truth });
    let found = audited_mean(&favoured, 1.0, |_| CRITICAL).unwrap();
    assert!(found.bias.interval().low > 0.03, "{found:?}");
    assert!((found.estimate.value - 0.6).abs() < 0.15, "{found:?}");
}

#[test]
fn one_audited_cluster_says_nothing() {
    let items =
        [Audit { cluster: 0, cheap: 1.0, expensive: Some(1.0) }, Audit { cluster: 1, cheap: 0.0, expensive: None }];
    assert_eq!(audited_mean(&items, 1.0, |_| CRITICAL), Err(AuditError::TooFewClusters { audited: 1 }));
}

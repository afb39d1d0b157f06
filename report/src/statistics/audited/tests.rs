use rand_chacha::rand_core::RngCore;
use regatta_benchmarks::Metric;
use regatta_proto::rng;

use super::*;
use crate::statistics::Sample;

/// Draws from a seed; uniform in 0..1.
struct Draws(rand_chacha::ChaCha8Rng);

impl Draws {
    fn new(seed: u64) -> Self {
        Self(rng(seed, "audits"))
    }

    fn uniform(&mut self) -> f64 {
        f64::from(self.0.next_u32()) / 4_294_967_296.0
    }

    fn happens(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }
}

/// Shares of wrong answers that a cheap judge calls right, and of right ones that it calls wrong.
#[derive(Clone, Copy)]
struct Errs {
    lenient: f64,
    strict: f64,
}

impl Errs {
    fn judge(self, truth: f64, draws: &mut Draws) -> f64 {
        let is_wrong = draws.happens(if truth > 0.5 { self.strict } else { self.lenient });
        if is_wrong { 1.0 - truth } else { truth }
    }
}

const BIASED: (&str, Errs) = ("biased", Errs { lenient: 0.3, strict: 0.0 });
const NOISY: (&str, Errs) = ("noisy", Errs { lenient: 0.15, strict: 0.15 });
const BLIND: (&str, Errs) = ("blind", Errs { lenient: 0.9, strict: 0.1 });
/// Errs so rarely that an audit may see nothing of it.
const GOOD: (&str, Errs) = ("good", Errs { lenient: 0.05, strict: 0.02 });

fn metric() -> Metric {
    Metric::mean("right")
}

/// Clusters of `size` items each; the items of one have a common chance to be right, `alike` apart at most. The first ones are audited:
/// clusters are drawn at random, so they are as random a part as any.
fn sample(seed: u64, [clusters, audited, size]: [u32; 3], alike: f64, errs: Errs) -> Vec<(usize, Audit)> {
    let mut draws = Draws::new(seed);
    let mut items = Vec::new();
    for cluster in 0..clusters {
        let chance = 0.6 + alike * (draws.uniform() - 0.5);
        for _ in 0..size {
            let truth = f64::from(u8::from(draws.happens(chance)));
            let cheap = errs.judge(truth, &mut draws);
            items.push((items.len(), Audit { cluster, cheap, expensive: (cluster < audited).then_some(truth) }));
        }
    }
    items
}

/// Share of `samples` whose interval holds `truth`, and the mean of what their audits are worth.
fn coverage(samples: u64, truth: f64, found: impl Fn(u64) -> Audited) -> (f64, f64) {
    let (mut covered, mut saving) = (0.0, 0.0);
    for seed in 0..samples {
        let Audited { estimate, alone, saving: of_one, .. } = found(seed);
        assert!(estimate.high - estimate.low <= alone.high - alone.low + 1e-12, "{seed}: {estimate:?}, {alone:?}");
        covered += f64::from(u8::from(estimate.low <= truth && truth <= estimate.high));
        saving += of_one;
    }
    (covered / samples as f64, saving / samples as f64)
}

#[test]
fn intervals_cover_whatever_the_cheap_judge_is_like_and_are_never_longer_than_those_of_the_audit() {
    let mut found = Vec::new();
    for (name, errs) in [BIASED, NOISY, BLIND] {
        for shape in [[600, 80, 1], [1000, 100, 1], [300, 60, 1]] {
            let of = |seed| audited_value(&metric(), &sample(seed, shape, 0.0, errs), Level::USUAL).unwrap();
            let (covered, saving) = coverage(2000, 0.6, of);
            assert!((0.93..=0.97).contains(&covered), "{name} {shape:?}: {covered}");
            found.push(format!("{name} {shape:?}: {:.1} %, worth {saving:.2} times its items", 100.0 * covered));
        }
    }
    insta::assert_snapshot!(found.join("\n"));
}

#[test]
fn intervals_over_clusters_cover() {
    let shape = [150, 40, 4];
    let of = |seed| audited_value(&metric(), &sample(seed, shape, 0.8, NOISY.1), Level::USUAL).unwrap();
    let (covered, _) = coverage(2000, 0.6, of);
    assert!((0.93..=0.97).contains(&covered), "{covered}");
}

#[test]
fn the_smallest_audits_and_rare_errors_cover_no_less_than_they_say() {
    for (name, errs) in [BIASED, NOISY, BLIND, GOOD] {
        let of = |seed| audited_value(&metric(), &sample(seed, [200, 30, 1], 0.0, errs), Level::USUAL).unwrap();
        let (covered, _) = coverage(2000, 0.6, of);
        assert!(covered >= 0.93, "{name}: {covered}");
    }
}

/// Two models of which the cheap judge favours the first: both are right in 0.6 of the items, half of these common to them.
fn favoured(seed: u64, audited: usize) -> [Vec<(usize, Audit)>; 2] {
    let mut draws = Draws::new(seed);
    let mut models = [Vec::new(), Vec::new()];
    for at in 0..600 {
        let common = draws.happens(0.5);
        let truth = draws.happens(0.6);
        for (model, errs) in
            models.iter_mut().zip([Errs { lenient: 0.4, strict: 0.0 }, Errs { lenient: 0.0, strict: 0.1 }])
        {
            let own = draws.happens(0.6);
            let truth = f64::from(u8::from(if common { truth } else { own }));
            let cheap = errs.judge(truth, &mut draws);
            model.push((at, Audit { cluster: at as u32, cheap, expensive: (at < audited).then_some(truth) }));
        }
    }
    models
}

#[test]
fn a_judge_that_favours_a_model_moves_no_corrected_difference() {
    let difference = |seed| {
        let [one, other] = favoured(seed, 80);
        audited_difference(&metric(), &one, &other, Level::USUAL).unwrap()
    };
    let (covered, _) = coverage(2000, 0.0, difference);
    assert!((0.93..=0.97).contains(&covered), "{covered}");
    let of_one = difference(1);
    assert!(of_one.bias.low > 0.05, "the bias in favour of a model is seen: {of_one:?}");
    let uncorrected = |seed| {
        let means = favoured(seed, 80).map(|model| model.iter().map(|(_, item)| item.cheap).sum::<f64>() / 600.0);
        means[0] - means[1]
    };
    assert!(uncorrected(1) > 0.1, "without the correction the first model would have won");
}

#[test]
fn biases_cover() {
    let of = |seed| {
        let found = audited_value(&metric(), &sample(seed, [600, 80, 1], 0.0, BIASED.1), Level::USUAL).unwrap();
        Audited { estimate: found.bias, alone: found.bias, ..found }
    };
    let (covered, _) = coverage(2000, 0.12, of);
    assert!((0.93..=0.98).contains(&covered), "{covered}");
}

#[test]
fn a_judge_that_says_nothing_gets_no_weight_and_one_that_agrees_gets_much() {
    let constant: Vec<_> =
        sample(1, [600, 80, 1], 0.0, GOOD.1).into_iter().map(|(at, item)| (at, Audit { cheap: 1.0, ..item })).collect();
    let found = audited_value(&metric(), &constant, Level::USUAL).unwrap();
    assert_eq!((found.weight, found.estimate, found.saving), (0.0, found.alone, 1.0));
    let good = audited_value(&metric(), &sample(1, [600, 80, 1], 0.0, GOOD.1), Level::USUAL).unwrap();
    assert!(good.weight > 0.7 && good.saving > 1.5, "{good:?}");
}

#[test]
fn an_audit_of_everything_is_what_its_judge_says() {
    let found = audited_value(&metric(), &sample(5, [100, 100, 1], 0.0, NOISY.1), Level::USUAL).unwrap();
    assert_eq!((found.weight, found.items), (0.0, 100));
    assert_eq!(found.estimate, found.alone);
}

#[test]
fn one_audited_item_corrects_nothing_and_no_interval_leaves_the_range() {
    assert_eq!(audited_value(&metric(), &sample(1, [50, 1, 1], 0.0, GOOD.1), Level::USUAL), None);
    let all_right: Vec<_> =
        (0..40).map(|at| (at, Audit { cluster: at as u32, cheap: 1.0, expensive: (at < 10).then_some(1.0) })).collect();
    let found = audited_value(&metric(), &all_right, Level::USUAL).unwrap();
    assert_eq!((found.estimate.value, found.estimate.high), (1.0, 1.0));
    assert!(found.estimate.low < 1.0, "ten audits that agree prove nothing: {found:?}");
}

#[test]
fn items_have_the_mean_of_their_trials_by_either_judge_and_those_without_a_score_are_left_out() {
    let scored = |top| Sample::Scored { top, bottom: 1.0 };
    let missing = Sample::Missing { weight: 1.0 };
    let by_judge: Vec<Trials> =
        vec![vec![vec![scored(1.0), scored(0.0), missing], vec![scored(0.0), scored(0.0), missing]]];
    let not_audited = Sample::NotBought;
    let by_audit: Vec<Trials> =
        vec![vec![vec![scored(1.0), not_audited, missing], vec![scored(1.0), not_audited, missing]]];
    let found = audits(&metric(), (&by_judge, &by_audit), &[0, 1, 2], &[0, 1, 2]).unwrap();
    let expected = [
        (0, Audit { cluster: 0, cheap: 0.5, expensive: Some(1.0) }),
        (1, Audit { cluster: 1, cheap: 0.0, expensive: None }),
    ];
    assert_eq!(found, expected);
}
